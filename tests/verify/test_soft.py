"""Questions about soft models."""

import numpy as np
import pytest

from moet import Mixture, Tree
from moet.errors import InputError
from moet.verify import Box, Closest, Proved, Refuted, Unknown, always, closest, equivalent
from tests.random_models import random_mixture

from .small import half_planes

SQUARE = Box.from_bounds([-1.0, -1.0], [1.0, 1.0])


def soft(seed: int, **size) -> Mixture:
    return random_mixture(seed, prediction="soft", **({"n_features": 2} | size))


@pytest.mark.parametrize("seed", range(6))
def test_proofs_hold_on_samples_and_counterexamples_replay(seed):
    model = soft(seed)
    rng = np.random.default_rng(seed)
    proved = 0
    for _ in range(15):
        centre, radius = rng.uniform(-1, 1, 2), rng.uniform(0, 0.3)
        label = model.act(centre)
        verdict = always(model, Box.from_bounds(centre - radius, centre + radius), [label], timeout=5)
        X = rng.uniform(centre - radius, centre + radius, (2000, 2))
        if isinstance(verdict, Proved):
            proved += 1
            assert np.all(model.predict(X) == label)
            assert verdict.checked
        else:
            assert isinstance(verdict, Refuted)
            assert model.act(verdict.point) == verdict.answers[0] != label
    assert proved


def test_soft_answers_are_not_hard_ones():
    # two weak experts for "b" outvote the best one for "a"
    gate = np.array([[0.1], [0.0], [0.0]])
    trees = [Tree.leaf([1.0, 0.0]), Tree.leaf([0.0, 1.0]), Tree.leaf([0.0, 1.0])]
    both = [Mixture(gate, np.zeros(3), trees, ["a", "b"], prediction=mode) for mode in ("hard", "soft")]
    box = Box(x0=(0.5, 1.0))
    assert [bool(always(model, box, ["a"])) for model in both] == [True, False]
    assert always(both[1], box, ["b"])
    verdict = equivalent(*both, box)
    assert isinstance(verdict, Refuted)
    assert verdict.answers == ("a", "b")


def test_the_same_function_in_another_guise_is_equivalent():
    model = soft(1)
    gate = np.round(8 * np.column_stack([model.gate_weights, model.gate_bias])) / 8  # so that shifting is exact
    order = [2, 0, 1]
    a = Mixture(gate[:, :2], gate[:, 2], model.trees, model.classes, prediction="soft")
    shifted = gate[order] + [0.5, -2.0, 1.0]
    b = Mixture(shifted[:, :2], shifted[:, 2], [a.trees[j] for j in order], a.classes, prediction="soft")
    assert equivalent(a, b)
    assert equivalent(a, b, SQUARE)
    changed = Mixture(shifted[:, :2], shifted[:, 2] + [0, 0, 0.125], b.trees, b.classes, prediction="soft")
    assert isinstance(equivalent(a, changed, SQUARE), Refuted)
    assert isinstance(equivalent(a, Mixture(2 * a.gate_weights, a.gate_bias, a.trees, a.classes), SQUARE), Refuted)


def test_models_that_agree_where_each_has_one_answer():
    a, b = half_planes((1.0, 0.0), 3.0, "soft"), half_planes((0.0, 1.0), 3.0, "hard")
    assert equivalent(a, b, SQUARE)
    assert isinstance(equivalent(a, b, Box(theta=(-4, 0), theta_dot=(-1, 1))), Refuted)


def test_a_boundary_that_boxes_cannot_resolve_is_unknown():
    a = half_planes((1.0, 0.5), 0.0, "soft")
    b = half_planes((2.0, 1.0), 0.0, "soft")  # the same boundary
    verdict = equivalent(a, b, SQUARE, timeout=0.1)
    assert isinstance(verdict, Unknown)
    assert "remain undecided" in verdict.reason


@pytest.mark.parametrize("norm", ["linf", "l1"])
@pytest.mark.parametrize("seed", range(4))
def test_closest_bounds_the_distance(seed, norm):
    model = soft(seed)
    rng = np.random.default_rng(100 + seed)
    x = rng.uniform(-1, 1, 2)
    found = closest(model, x, norm, SQUARE, timeout=20)
    assert isinstance(found, Closest)
    assert found.distance <= found.point_distance <= found.distance * (1 + 2e-3)
    assert model.act(found.point) == found.answer != model.act(x)
    near = x + found.distance * rng.uniform(-1, 1, (5000, 2)) * (1 if norm == "linf" else 0.5)
    assert np.all(model.predict(np.clip(near, -1, 1)) == model.act(x))


def test_closest_at_a_threshold_is_zero():
    tree = random_mixture(0, n_features=2, depth=1).trees[0]
    value = np.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
    split = Tree(tree.feature, tree.threshold, tree.left, tree.right, value)
    model = Mixture(np.zeros((1, 2)), [0.0], [split], [0, 1], prediction="soft")
    x = np.zeros(2)
    x[tree.feature[0]] = tree.threshold[0]
    found = closest(model, x, domain=SQUARE)
    assert 0 <= found.distance <= found.point_distance < 1e-8


def test_closest_in_the_open_and_nowhere():
    model = half_planes((1.0, 1.0), -1.0, "soft")
    assert closest(model, [0.0, 0.0]).distance == pytest.approx(0.5, rel=1e-3)
    found = closest(model, [0.0, 0.0], domain=Box(theta=(-1, 0), theta_dot=(-1, 0)))
    assert (found.distance, found.point) == (np.inf, None)


def test_an_unbounded_domain_is_an_error():
    with pytest.raises(InputError, match="bounded domain: bound theta_dot"):
        always(half_planes(prediction="soft"), Box(theta=(0, 1)), ["left"])


@pytest.mark.parametrize("prediction", ["hard", "soft"])
def test_bounds_contain_every_answer_in_the_box(prediction):
    from moet.verify.inputs.soft import _Bounds
    from moet.verify.inputs.soft_tree import Boxes

    rng = np.random.default_rng(0)
    for seed in range(20):
        model = random_mixture(seed, n_features=2, prediction=prediction)
        centre, radius = rng.uniform(-1, 1, (30, 2)), rng.uniform(0, 0.5, (30, 2))
        boxes = Boxes(centre - radius, centre + radius, np.zeros((30, 2), dtype=bool), np.arange(30))
        possible, feature, place = _Bounds(model, -2 * np.ones(2), 2 * np.ones(2)).of(boxes)
        for i in range(30):
            X = np.vstack([rng.uniform(boxes.lo[i], boxes.hi[i], (50, 2)), boxes.lo[i], boxes.hi[i]])
            assert set(model.predict(X).tolist()) <= set(np.flatnonzero(possible[i]).tolist())
            assert boxes.lo[i, feature[i]] <= place[i] <= boxes.hi[i, feature[i]]


def test_another_answer_than_at_a_tie_is_a_question_without_an_answer():
    """Two experts with the same gate vote for different classes, so every input is a tie, to the last digit."""
    trees = [Tree.leaf([1.0, 0.0]), Tree.leaf([0.0, 1.0])]
    model = Mixture([[1.0], [1.0]], [0.0, 0.0], trees, ["a", "b"], ["x"], prediction="soft")
    found = closest(model, [0.5], "linf", Box.from_bounds([0.0], [1.0]))
    assert isinstance(found, Unknown)
    assert "does not accept" not in found.reason
