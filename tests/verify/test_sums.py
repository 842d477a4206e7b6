"""Questions about sums of trees: soft mixtures whose gate gives all experts the same weight."""

from array import array
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tables import random_tree

from moet import Box, Column, Mixture, Schema, Tree, verify
from moet.errors import CertificateError
from moet.model.file import digest
from moet.verify import Certificate, Closest, Proved, Refuted, Unknown
from moet.verify.arguments import is_sum
from moet.verify.exact import exactly
from moet.verify.sums.exact import ExactSum

SQUARE = Box.from_bounds([-3.0, -3.0], [4.0, 4.0])


def votes(seed, *, n_features=2, n_trees=9, n_classes=2, depth=3):
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, n_features, n_classes, depth) for _ in range(n_trees)]
    names = ["a", "b", "c"][:n_classes]
    return Mixture(np.zeros((n_trees, n_features)), np.zeros(n_trees), trees, names, prediction="soft")


def cells(model):
    """An input of every cell of a sum of trees, and the least numbers of its cell."""
    places = []
    for k in range(model.n_features):
        cuts = sorted({t for tree in model.trees for f, t in zip(tree.feature, tree.threshold, strict=True) if f == k})
        places.append([(cuts[0] - 1.0 if cuts else 0.0, -np.inf), *((np.nextafter(t, np.inf), t) for t in cuts)])
    return [tuple(zip(*cell, strict=True)) for cell in product(*places)]


def sides(model, bottom):
    """The upper sides of the cell with these lower ones."""
    tops = []
    for k, low in enumerate(bottom):
        cuts = sorted({t for tree in model.trees for f, t in zip(tree.feature, tree.threshold, strict=True) if f == k})
        tops.append(next((t for t in cuts if t > low), np.inf))
    return np.array(tops)


def rebuilt(certificate, change):
    """The same claim with other records."""
    other = Certificate(certificate.kind, certificate.claim)
    for codes, refs, numbers in certificate._read_blocks():
        other.add(*change(bytearray(codes), array("i", refs)), numbers)
    return other


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(12))
def test_always_is_right_about_every_cell_of_an_open_domain(seed, n_classes):
    model = votes(seed, n_classes=n_classes)
    answers = set(model.predict(np.array([point for point, _ in cells(model)])).tolist())
    for label in model.classes.tolist():
        verdict = verify.always(model, answers=[label])
        assert isinstance(verdict, Proved if answers == {label} else Refuted)
        assert not isinstance(verdict, Refuted) or model.predict(verdict.point[None, :])[0] != label


@pytest.mark.parametrize("norm", ["linf", "l1"])
@pytest.mark.parametrize("seed", range(15))
def test_closest_is_the_nearest_of_all_cells(seed, norm):
    model = votes(seed, n_classes=2 + seed % 2)
    x = np.random.default_rng(seed).uniform(-2, 3, 2)
    own = model.predict(x[None, :])[0]
    distances = [np.inf]
    for point, bottom in cells(model):
        if model.predict(np.array([point]))[0] != own:
            low, high = np.array(bottom), sides(model, bottom)
            away = np.maximum(np.maximum(low - x, x - high), 0.0)
            distances.append(away.max() if norm == "linf" else away.sum())
    found = verify.closest(model, x, norm)
    assert isinstance(found, Closest)
    assert found.checked
    assert found.distance == pytest.approx(min(distances), rel=1e-9)
    assert found.point_distance == pytest.approx(min(distances), rel=1e-9)
    if found.point is not None:
        assert model.predict(found.point[None, :])[0] != own


def test_a_distance_that_is_claimed_too_large_is_refused():
    model = votes(3)
    found = verify.closest(model, [0.3, 0.3], domain=SQUARE)
    assert verify.check(found.certificate, model)
    further = found.certificate.claim | {"distance": "3"}
    with pytest.raises(CertificateError, match="do not rule the answer out"):
        verify.check(found.certificate.claiming("closest", further), model)


def test_a_proof_with_a_cut_left_out_or_out_of_range_is_refused():
    model = votes(8, n_features=4, n_trees=40, depth=4)
    found = verify.closest(model, [0.3, 0.3, 0.6, 0.6], "l1")
    assert found.certificate.records().code() == 7  # a cut

    def without_cuts(codes, refs):
        return bytearray([3]), array("i")

    def beyond(codes, refs):
        refs[1] = 1000
        return codes, refs

    def unfinished(codes, refs):
        return codes[:-1], refs

    for change in (without_cuts, beyond, unfinished):
        with pytest.raises(CertificateError):
            verify.check(rebuilt(found.certificate, change), model)


def test_a_proof_about_another_model_is_refused():
    model = votes(0)
    label = model.predict(np.full((1, 2), 0.1))[0]
    verdict = verify.always(model, Box.from_bounds([0.05, 0.05], [0.1, 0.1]), [label])
    other = Mixture(model.gate_weights, model.gate_bias, model.trees[::-1], model.classes, prediction="soft")
    assert verdict.checked
    with pytest.raises(CertificateError, match="model"):
        verify.check(verdict.certificate, other)


@pytest.mark.parametrize("lead", [0.0, 1e-16, 1e-15])
def test_votes_that_tie_within_rounding_are_not_called(lead):
    stump = Tree([0, -1, -1], [0.0, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [0.6, 0.4], [0.5 - lead, 0.5 + lead]])
    model = Mixture(np.zeros((3, 1)), np.zeros(3), [stump] * 3, ["a", "b"], prediction="soft")
    verdict = verify.always(model, Box.from_bounds([-1.0], [1.0]), ["a"])
    shown = model.predict(np.array([[1.0]]))[0]
    assert isinstance(verdict, Refuted) if shown == "b" else "too close to call" in verdict.reason
    found = verify.closest(model, [-1.0])
    if shown == "b":  # nothing is nearer than an input that shows it
        assert found.distance == pytest.approx(1.0)
    else:
        assert isinstance(found, Unknown)
        assert "too close to call" in found.reason


def test_numbers_of_extreme_sizes_are_decided():
    for scale in (1e-300, 1e140):
        stump = Tree([0, -1, -1], [scale, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [0.9, 0.1], [0.1, 0.9]])
        model = Mixture(np.zeros((2, 1)), np.zeros(2), [stump, stump], ["a", "b"], prediction="soft")
        found = verify.closest(model, [0.0])
        assert found.checked
        assert found.distance == pytest.approx(scale, rel=1e-9)
        assert verify.always(model, Box.from_bounds([-np.inf], [scale]), ["a"]).checked


def test_a_gate_of_equal_rows_is_a_sum_and_any_other_is_not():
    model = votes(0)
    same = Mixture(model.gate_weights + 0.3, model.gate_bias - 1.0, model.trees, model.classes, prediction="soft")
    tilted = Mixture(np.eye(9, 2), model.gate_bias, model.trees, model.classes, prediction="soft")
    assert is_sum(model)
    assert is_sum(same)
    assert not is_sum(tilted)
    assert not is_sum(Mixture(model.gate_weights, model.gate_bias, model.trees, model.classes))
    label = model.predict(np.full((1, 2), 0.1))[0]
    tiny = Box.from_bounds([0.05, 0.05], [0.1, 0.1])
    assert verify.always(same, tiny, [label]).checked
    assert "as long as no logit overflows" in verify.always(same, answers=["a", "b"]).claim


def test_exact_sums_are_those_of_fractions():
    model = votes(5, n_classes=3)
    X = np.random.default_rng(0).uniform(-3, 4, (50, 2))
    exact = ExactSum(model)
    assert [exact.answer(exactly(x.tolist())) for x in X] == model.predict_proba(X).argmax(axis=1).tolist()


def schema_model():
    schema = Schema(
        [
            Column("Sex", "category", ("Sex=f", "Sex=m"), categories=("f", "m")),
            Column("Age", "integer", ("Age",), 18, 80),
            Column("Own", "boolean", ("Own",)),
        ]
    )
    value = [[0.5, 0.5], [0.8, 0.2], [0.3, 0.7]]
    age = Tree([2, -1, -1], [40.5, 0, 0], [1, -1, -1], [2, -1, -1], value)
    own = Tree([3, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [0.6, 0.4], [0.4, 0.6]])
    flat = Tree.leaf([0.55, 0.45])
    trees = [age, age, own, flat]
    return Mixture(np.zeros((4, 4)), np.zeros(4), trees, ["bad", "good"], schema=schema, prediction="soft")


def test_the_questions_of_an_auditor_are_answered_for_sums_of_trees():
    model = schema_model()
    assert verify.ignores(model, ["Sex"]).checked
    assert verify.monotone(model, "Age", answer="good").checked
    assert isinstance(verify.monotone(model, "Age", direction="decreasing", answer="good"), Refuted)
    young = {"Sex": "f", "Age": 30, "Own": "yes"}
    found = verify.recourse(model, young, answer="good", cost={"Age": 1})
    assert found.checked
    assert found.changes == {"Age": (30, 41)}
    assert found.cost == 11.0
    assert verify.recourse(model, young, answer="good", fixed=["Age"]).row is None
    assert verify.recourse(model, young, answer="good", cost={"Age": 1}, at_most=10).row is None
    steady = verify.robust(model, np.array([[1.0, 0, 30, 1]]), {"Age": 9})
    assert steady.checked
    assert steady.kept.tolist() == [True]
    assert verify.closest(model, young).distance == pytest.approx(11.0)
    claim = verify.ignores(model, ["Sex"]).claim
    assert "as deployed" in claim


def test_time_that_is_up_is_no_proof():
    model = votes(4, n_features=6, n_trees=60, depth=5)
    found = verify.closest(model, np.zeros(6), cpu_limit=0.0)
    assert isinstance(found, Unknown)
    assert "limit" in found.reason


def test_an_input_on_a_threshold_is_no_distance_away_from_the_other_answer():
    stump = Tree([0, -1, -1], [0.25, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [0.9, 0.1], [0.1, 0.9]])
    model = Mixture(np.zeros((2, 1)), np.zeros(2), [stump, stump], ["a", "b"], prediction="soft")
    for norm in ("linf", "l1"):
        found = verify.closest(model, [0.25], norm)
        assert (found.distance, found.checked) == (0.0, True)
        assert 0.0 < found.point_distance < 1e-16


def test_an_input_outside_the_domain_is_brought_into_it_where_no_tree_looks():
    stump = Tree([0, -1, -1], [0.25, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [0.9, 0.1], [0.1, 0.9]])
    model = Mixture(np.zeros((2, 2)), np.zeros(2), [stump, stump], ["a", "b"], prediction="soft")
    far = Box.from_bounds([-1.0, 3.0], [1.0, 4.0])
    for norm, distance in (("linf", 3.0), ("l1", 3.25)):
        found = verify.closest(model, [0.0, 0.0], norm, far)
        assert found.checked
        assert found.distance == pytest.approx(distance)
        assert found.point[1] == 3.0


def test_numbers_beside_zero_are_told_apart_without_end_of_halving():
    stump = Tree([0, -1, -1], [5e-324, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [0.9, 0.1], [0.1, 0.9]])
    model = Mixture(np.zeros((2, 1)), np.zeros(2), [stump, stump], ["a", "b"], prediction="soft")
    found = verify.closest(model, [0.0])
    assert found.checked
    assert found.distance <= 5e-324


def test_a_row_that_ties_itself_has_no_other_answer():
    model = Mixture(np.zeros((2, 1)), np.zeros(2), [Tree.leaf([0.5, 0.5])] * 2, ["a", "b"], prediction="soft")
    assert "at the row itself" in verify.closest(model, [0.0]).reason


def shuffled(model, seed):
    """The same sum with its trees in another order, behind another uniform gate."""
    trees = list(model.trees)
    np.random.default_rng(seed).shuffle(trees)
    weights = np.ones((len(trees), model.n_features))
    return Mixture(weights, np.zeros(len(trees)), trees, model.classes, prediction="soft")


def with_other_votes(model, seed, size):
    """The same tests, the votes of one tree changed."""
    rng, trees = np.random.default_rng(seed), list(model.trees)
    value = trees[0].value * rng.uniform(1.0 - size, 1.0, trees[0].value.shape)
    tree = Tree(
        trees[0].feature, trees[0].threshold, trees[0].left, trees[0].right, value / value.sum(1, keepdims=True)
    )
    return Mixture(model.gate_weights, model.gate_bias, [tree, *trees[1:]], model.classes, prediction="soft")


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("size", [1e-6, 0.3])
def test_two_sums_are_equivalent_if_they_agree_in_every_cell(seed, n_classes, size):
    model = votes(seed, n_classes=n_classes)
    other = with_other_votes(model, seed, size)
    first, second = ExactSum(model), ExactSum(other)
    same = all(first.answer(exactly(x)) == second.answer(exactly(x)) for x, _ in cells(model))
    verdict = verify.equivalent(model, other)
    assert isinstance(verdict, Proved if same else Refuted)
    if not same:
        assert model.predict(verdict.point[None, :]) != other.predict(verdict.point[None, :])


@pytest.mark.parametrize("seed", range(4))
def test_a_sum_is_equivalent_to_itself_in_another_order_without_any_cut(seed):
    model = votes(seed, n_features=6, n_trees=30, n_classes=3, depth=5)
    verdict = verify.equivalent(model, shuffled(model, seed))
    assert verdict.checked
    assert verdict.effort["boxes"] == 6  # one for every pair of classes


def test_a_sum_is_compared_with_one_tree():
    model = votes(1)
    tree = Mixture(np.zeros((1, 2)), np.zeros(1), [model.trees[0]], model.classes)
    verdict = verify.equivalent(tree, model)
    assert isinstance(verdict, Refuted)
    assert verdict.answers == (tree.predict(verdict.point[None, :])[0], model.predict(verdict.point[None, :])[0])
    corner = Box.from_bounds([3.0, 3.0], [4.0, 4.0])
    same = tree.predict([[3.5, 3.5]])[0] == model.predict([[3.5, 3.5]])[0]
    assert bool(verify.equivalent(tree, model, corner)) == same


def test_sums_with_other_classes_are_compared_by_label():
    leaf = [Tree.leaf([0.2, 0.8]), Tree.leaf([0.3, 0.7])]
    first = Mixture(np.zeros((2, 1)), np.zeros(2), leaf, ["a", "b"], prediction="soft")
    second = Mixture(np.zeros((2, 1)), np.zeros(2), leaf[::-1], ["c", "b"], prediction="soft")
    third = Mixture(np.zeros((2, 1)), np.zeros(2), leaf, ["b", "a"], prediction="soft")
    assert verify.equivalent(first, second).checked
    assert isinstance(verify.equivalent(first, third), Refuted)
    assert verify.equivalent(first, third, classes=["b"]).answers == ("b", "a")


def test_votes_that_tie_exactly_are_compared_by_the_order_of_classes():
    tie = Tree.leaf([0.5, 0.5])
    first = Mixture(np.zeros((2, 1)), np.zeros(2), [tie, tie], ["a", "b"], prediction="soft")
    second = Mixture(np.zeros((2, 1)), np.zeros(2), [tie, tie], ["b", "a"], prediction="soft")
    assert verify.equivalent(first, first).checked
    assert verify.equivalent(first, second).answers == ("a", "b")


@pytest.mark.parametrize("lead", [5e-324, 1e-300, 2.0**-70])
def test_votes_that_differ_by_less_than_float64_tells_are_too_close_to_compare(lead):
    first, second = (
        Mixture(np.zeros((2, 1)), np.zeros(2), [tree, Tree.leaf([0.5, 0.5])], ["a", "b"], prediction="soft")
        for tree in (Tree.leaf([0.5, 0.5]), Tree.leaf([0.5 - lead, 0.5 + lead]))
    )
    tiny = Mixture(
        np.zeros((3, 1)),
        np.zeros(3),
        [Tree.leaf([1.0, lead]), Tree.leaf([0.0, 1.0]), Tree.leaf([0.5, 0.5])],
        ["a", "b"],
        prediction="soft",
    )
    assert verify.equivalent(first, second).checked  # 0.5 + lead is 0.5
    assert "too close to call" in verify.equivalent(first, tiny).reason
    assert "too close to call" in verify.equivalent(tiny, first).reason


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_no_tie_of_votes_is_told_as_a_rejected_proof(seed):
    rng = np.random.default_rng(seed)
    models = [tied_votes(rng) for _ in range(2)]
    norm = str(rng.choice(["linf", "l1"]))
    asked = (
        verify.equivalent(*models),
        verify.equivalent(models[0], shuffled(models[0], seed)),
        verify.always(models[0], answers=["a"]),
        verify.closest(models[0], rng.choice([-1.0, 0.0, 0.25, 3.0], size=2), norm),
    )
    for verdict in asked:
        assert "does not accept" not in str(getattr(verdict, "reason", ""))


def tied_votes(rng):
    """A sum of trees whose votes tie, or nearly so, nearly everywhere."""
    model = votes(int(rng.integers(2**32)), n_trees=4, depth=2)
    trees = []
    for tree in model.trees:
        small = rng.choice([0.0, 0.5, 1.0 / 3.0, 0.1, 2.0**-60, 2.0**-53, 1e-300, 5e-324], size=len(tree.feature))
        value = np.column_stack([1.0 - small, small])[:, :: rng.choice([-1, 1])]
        trees.append(Tree(tree.feature, tree.threshold, tree.left, tree.right, value))
    return Mixture(model.gate_weights, model.gate_bias, trees, model.classes, prediction="soft")


def test_forged_proofs_of_equivalence_are_refused():
    model = votes(2)
    other = with_other_votes(model, 0, 0.9)
    proof = verify.equivalent(model, shuffled(model, 1)).certificate

    def twice(codes, refs):
        refs[1] = refs[0]
        return codes, refs

    def beyond(codes, refs):
        refs[0] = len(model.trees)
        return codes, refs

    def without_partners(codes, refs):
        return codes[1:], refs

    for change in (twice, beyond, without_partners):
        with pytest.raises(CertificateError):
            verify.check(rebuilt(proof, change), model, shuffled(model, 1))
    with pytest.raises(CertificateError, match="model"):
        verify.check(proof, model, other)


def test_a_proof_of_equivalence_does_not_prove_it_of_models_that_differ():
    model = votes(2)
    other = with_other_votes(model, 0, 0.9)
    assert isinstance(verify.equivalent(model, other), Refuted)
    proof = verify.equivalent(model, model).certificate
    forged = proof.claiming("equivalent", proof.claim | {"models": [digest(model), digest(other)]})
    with pytest.raises(CertificateError, match="do not rule the answer out"):
        verify.check(forged, model, other)


def blind_to_x2():
    """Twenty trees about a table of six columns, none of which tests the third."""
    model = votes(5, n_features=6, n_trees=20, n_classes=3, depth=3)
    trees = [Tree(np.where(t.feature == 2, 1, t.feature), t.threshold, t.left, t.right, t.value) for t in model.trees]
    gate = model.gate_weights, model.gate_bias
    schema = Schema([Column(f"x{k}", "number", (f"x{k}",), -3.0, 4.0) for k in range(6)])
    return Mixture(*gate, trees, model.classes, prediction="soft", schema=schema)


def test_a_column_that_no_tree_tests_is_ignored_without_any_cut():
    model = blind_to_x2()
    assert verify.ignores(model, ["x2"]).effort["boxes"] == 3  # one for every pair of classes
    for label in model.classes.tolist():
        verdict = verify.monotone(model, "x2", answer=label)
        assert verdict.checked
        assert verdict.effort["boxes"] == 2


def test_a_proof_that_rows_share_their_leaves_does_not_hold_of_a_column_that_is_tested():
    model = blind_to_x2()
    proof = verify.ignores(model, ["x2"]).certificate
    with pytest.raises(CertificateError, match="do not rule the answer out"):
        verify.check(proof.claiming("ignores", proof.claim | {"columns": ["x1"]}), model)
