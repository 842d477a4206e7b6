"""``always`` and ``equivalent`` on hard models."""

import math

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from moet import Mixture, MoETClassifier, Tree, save, verify
from moet.errors import InputError, ModelError
from moet.verify import Box, Proved, Refuted, Unknown, always, equivalent
from tests.random_models import random_mixture

from .small import half_planes, rounding_victim, scaled, single, stump

CUBE = Box.from_bounds(-np.ones(3), np.ones(3))


def test_always_proves_what_holds_and_the_checker_agrees():
    falling_right = Box(theta=(0.15, 0.2), theta_dot=(0.5, None))
    verdict = always(half_planes(), falling_right, ["right"])
    assert isinstance(verdict, Proved)
    assert verdict
    assert verdict.band is None
    assert verify.check(verdict.certificate, half_planes())


def test_always_shows_an_input_that_is_answered_otherwise():
    model = half_planes()
    verdict = always(model, Box(theta=(-1, 1), theta_dot=(-1, 1)), ["right"])
    assert isinstance(verdict, Refuted)
    assert not verdict
    assert verdict.answers == (model.act(verdict.point),) == ("left",)
    assert np.all(np.abs(verdict.point) <= 1)


def test_a_counterexample_in_a_corner_that_sampling_never_hits():
    corner = half_planes((1.0, 1.0), -2 + 1e-9)
    verdict = always(corner, Box(theta=(-1, 1), theta_dot=(-1, 1)), ["left"])
    assert isinstance(verdict, Refuted)
    assert corner.act(verdict.point) == "right"
    assert verdict.effort["regions"] > 0


def test_thresholds_belong_to_the_left():
    model = single(stump(0, 0.5, 0, 1))
    assert always(model, Box(theta=(None, 0.5)), ["left"])
    assert always(model, Box(theta=(np.nextafter(0.5, 1), None)), ["right"])
    for box in (Box(theta=(0.5, 1.0)), Box(theta=(0.0, np.nextafter(0.5, 1)))):
        assert isinstance(always(model, box, ["right"]), Refuted) or isinstance(always(model, box, ["left"]), Refuted)
    point = always(model, Box(theta=(0.5, 0.6)), ["right"])
    assert isinstance(point, Refuted)
    assert point.point[0] == 0.5


def test_trees_of_any_depth():
    # a chain of tests, x <= 0, x <= 1, ...: far deeper than any balanced tree
    n = 5000
    feature = np.array([0, -1] * n + [-1])
    child = np.arange(2 * n + 1)
    is_leaf = feature == -1
    threshold = np.where(is_leaf, 0.0, child / 2)
    left, right = np.where(is_leaf, -1, child + 1), np.where(is_leaf, -1, child + 2)
    chain = Tree(feature, threshold, left, right, np.eye(2)[(child // 2) % 2])
    model = single(chain, n_features=1, classes=["even", "odd"])
    assert always(model, Box(x0=(1.5, 2.0)), ["even"])
    assert isinstance(always(model, Box(x0=(1.5, 2.5)), ["even"]), Refuted)
    assert equivalent(model, model, Box(x0=(n - 5.5, None)))


def test_the_whole_space_and_all_classes():
    model = random_mixture(0)
    verdict = always(model, answers=[0, 1, 2])
    assert verdict
    assert verify.check(verdict.certificate, model)
    assert isinstance(always(model, answers=[0]), Refuted)


@pytest.mark.parametrize("seed", range(12))
def test_open_domains_are_proved_with_slopes_for_the_rounding_error(seed):
    # far out the answer of a gate is that of its direction; one feature stays open on both sides
    rng = np.random.default_rng(seed)
    w = rng.normal(size=3)
    model = half_planes(w, 0.1)
    sign = np.sign(w)
    lo = np.where(sign > 0, 2.0, -np.inf)
    hi = np.where(sign > 0, np.inf, -2.0)
    verdict = always(model, Box.from_bounds(lo, hi), ["right"])
    assert isinstance(verdict, Proved)
    assert verify.check(verdict.certificate, model)
    lo[0], hi[0] = -np.inf, np.inf
    assert isinstance(always(model, Box.from_bounds(lo, hi), ["right"]), Refuted)


def test_what_only_rounding_decides_is_neither_proved_nor_refuted():
    model, here = rounding_victim(), Box.from_bounds(np.ones(3), np.ones(3))
    assert model.act(np.ones(3)) == "deployed"
    verdict = always(model, here, ["exact"])  # true of real numbers, wrong of the deployed model
    assert isinstance(verdict, Refuted)
    assert verdict.answers == ("deployed",)
    verdict = always(model, here, ["deployed"])  # true of this very predictor, but within its rounding error
    assert isinstance(verdict, Unknown)
    assert "rounding" in verdict.reason


def test_the_edge_of_a_gate_is_not_proved():
    # at theta = -theta_dot the logits tie; "left" wins the tie, but only by rounding luck beside it
    on_the_edge = Box(theta=(0.1, 0.1), theta_dot=(-0.1, -0.1))
    assert isinstance(always(half_planes((1 / 3, 1 / 3)), on_the_edge, ["left"]), Unknown)
    clear = Box(theta=(0.1, 0.1), theta_dot=(-0.1 - 1e-12, -0.1 - 1e-12))
    assert always(half_planes((1 / 3, 1 / 3)), clear, ["left"])


@pytest.mark.parametrize("domain", [CUBE, None])
def test_a_model_is_equivalent_to_its_copy_with_a_scaled_gate(domain):
    model = random_mixture(1, n_experts=5, depth=4)
    for copy in (scaled(model), scaled(model, 0.5)):
        verdict = equivalent(model, copy, domain)
        assert isinstance(verdict, Proved)
        assert verify.check(verdict.certificate, model, copy)
        assert verdict.band == math.inf if domain is None else 0 < verdict.band < 1e-10


def test_pruning_is_proved_to_change_nothing():
    model = random_mixture(2, n_experts=6, n_features=2, depth=3)
    dominated = Mixture(
        np.vstack([model.gate_weights, model.gate_weights[:2].mean(axis=0)]),
        np.append(model.gate_bias, model.gate_bias[:2].mean() - 1),
        [*model.trees, Tree.leaf([0.0, 0.0, 1.0])],
        model.classes,
    )
    pruned = dominated.prune()
    assert pruned.n_experts < dominated.n_experts
    verdict = equivalent(dominated, pruned)
    assert verdict
    assert verify.check(verdict.certificate, dominated, pruned)


def test_different_models_are_told_apart_and_the_point_replays():
    a, b = random_mixture(3), random_mixture(4)
    verdict = equivalent(a, b, CUBE)
    assert isinstance(verdict, Refuted)
    assert verdict.answers == (a.act(verdict.point), b.act(verdict.point))
    assert verdict.answers[0] != verdict.answers[1]


def test_a_difference_in_a_sliver():
    a, b = half_planes((1.0, 0.5)), half_planes((1.0, 0.5), 1e-7)
    verdict = equivalent(a, b, Box(theta=(-1, 1), theta_dot=(-1, 1)))
    assert isinstance(verdict, Refuted)
    assert a.act(verdict.point) != b.act(verdict.point)


def test_ties_are_part_of_the_answer():
    a = half_planes()
    b = Mixture(a.gate_weights[::-1], a.gate_bias[::-1], a.trees[::-1], a.classes, a.feature_names)
    verdict = equivalent(a, b)
    assert isinstance(verdict, Refuted)  # on the line, and nowhere else
    assert verdict.point.sum() == 0
    third = half_planes((1 / 3, 0.1), 0.7)
    swapped = Mixture(third.gate_weights[::-1], third.gate_bias[::-1], third.trees[::-1], third.classes)
    hidden = equivalent(third, swapped, Box.from_bounds([-1e-3, -7.1], [1e-3, -6.9]))
    assert isinstance(hidden, Unknown | Refuted)  # a line that may have no float64 point: never a proof


def test_equivalence_with_respect_to_a_class():
    a = single(stump(0, 0.5, 0, 1, 3), classes=["left", "right", "stay"])
    b = single(stump(0, 0.5, 0, 2, 3), classes=["left", "right", "stay"])
    assert isinstance(equivalent(a, b), Refuted)
    verdict = equivalent(a, b, classes=["left"])
    assert verdict
    assert verify.check(verdict.certificate, a, b)
    assert isinstance(equivalent(a, b, classes=["stay"]), Refuted)


def test_labels_are_compared_by_name_not_by_place():
    a = single(stump(0, 0.5, 0, 1), classes=["left", "right"])
    b = single(stump(0, 0.5, 1, 0), classes=["right", "left"])
    verdict = equivalent(a, b)
    assert verdict
    assert verify.check(verdict.certificate, a, b)


def test_files_classifiers_and_scikit_learn_trees_are_accepted(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 3))
    y = (X @ [1.0, 2.0, -1.0] > 0).astype(int)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    classifier = MoETClassifier(n_experts=2, max_depth=1, prediction="hard", random_state=0).fit(X, y)
    save(classifier, tmp_path / "m.moet.json")
    assert equivalent(tree, Mixture.from_sklearn(tree))
    assert equivalent(classifier, str(tmp_path / "m.moet.json"))
    assert isinstance(equivalent(tree, classifier, CUBE), Refuted)
    assert isinstance(always(tmp_path / "m.moet.json", CUBE, [1]), Refuted)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda m: always(m, CUBE, ["up"]), "no class 'up'"),
        (lambda m: always(m, CUBE, "0"), "list of labels"),
        (lambda m: always(m, CUBE, 0), "list of labels"),
        (lambda m: always(m, CUBE, []), "at least one"),
        (lambda m: always(m, Box(theta=(0, 1)), [0]), "no feature 'theta'"),
        (lambda m: always(m, Box.from_bounds([0], [1]), [0]), "1 features, the model 3"),
        (lambda m: always(m, ([0], [1]), [0]), "must be a Box"),
        (lambda m: always(m, Box(x0=(0, 1e300)), [0]), "leave it open"),
        (lambda m: always(m, CUBE, [0], timeout=-1), "timeout"),
        (lambda m: always(m, CUBE, [0], timeout=math.nan), "timeout"),
        (lambda m: equivalent(m, half_planes(), CUBE), "3 and 2 features"),
        (lambda m: equivalent(m, m, CUBE, classes=[9]), "no class 9"),
        (lambda m: equivalent(m, half_planes((1.0, 2.0, 3.0))), "no class in common"),
    ],
)
def test_wrong_questions_are_errors_with_a_reason(ask, message):
    with pytest.raises(InputError, match=message):
        ask(random_mixture(0))


def test_features_must_have_the_same_names():
    a = half_planes()
    b = Mixture(a.gate_weights, a.gate_bias, a.trees, a.classes, ["theta_dot", "theta"])
    with pytest.raises(InputError, match="different features"):
        equivalent(a, b)
    unnamed = Mixture(a.gate_weights, a.gate_bias, a.trees, a.classes)
    assert equivalent(a, unnamed)


def test_something_else_is_no_model():
    with pytest.raises(ModelError, match="expected a Mixture"):
        always(object(), CUBE, [0])


@pytest.mark.parametrize("prediction", ["hard", "soft"])
def test_no_time_is_no_proof(prediction):
    model = random_mixture(0, prediction=prediction)
    for verdict in (
        always(model, CUBE, [0, 1, 2], timeout=0),
        equivalent(model, model, CUBE, timeout=0),
        verify.closest(model, np.zeros(3), domain=CUBE, timeout=0),
        verify.robustness_radius(model, np.zeros(3), domain=CUBE, timeout=0),
    ):
        assert isinstance(verdict, Unknown)
        assert "time limit" in verdict.reason
        assert not verdict
