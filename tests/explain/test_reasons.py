"""Reasons for one answer: every number is checked against the model itself."""

import math
import re

import numpy as np
import pytest

from moet import Box, Mixture, Schema, Tree, explain
from moet.errors import InputError
from moet.model.schema import Column
from moet.verify import Unknown
from tests.random_models import random_mixture

SIZES = [(n_experts, depth) for n_experts in (1, 2, 5) for depth in (0, 3)]


def stump(threshold: float, feature: int = 0) -> Tree:
    return Tree([feature, -1, -1], [threshold, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [0.75, 0.25], [0.1, 0.9]])


def two_experts(prediction="hard") -> Mixture:
    """Expert 1 answers where angle + speed > 1."""
    return Mixture(
        [[0.0, 0.0], [2.0, 2.0]],
        [0, -2],
        [stump(0.5), stump(3.0, 1)],
        ["left", "right"],
        ["angle", "speed"],
        prediction,
    )


@pytest.fixture(params=[(size, prediction) for size in SIZES for prediction in ("hard", "soft")], ids=str)
def cases(request):
    """Some inputs with their reasons."""
    (n_experts, depth), prediction = request.param
    mixture = random_mixture(n_experts + 10 * depth, n_experts, depth, prediction=prediction)
    inputs = np.random.default_rng(1).normal(size=(8, 3))
    return mixture, [(x, explain.why(mixture, x, timeout=0)) for x in inputs]


def test_the_answer_and_its_probabilities_are_the_models(cases):
    mixture, explained = cases
    for x, why in explained:
        assert why.answer == mixture.act(x)
        assert why.probabilities == tuple(mixture.predict_proba([x])[0].tolist())
        assert why.x == tuple(x.tolist())


def test_the_contest_is_between_the_two_largest_logits(cases):
    mixture, explained = cases
    for x, why in explained:
        logits = mixture.gate_weights @ x + mixture.gate_bias
        assert [o.expert for o in why.opinions] == np.argsort(-logits).tolist()
        assert why.opinions[0].expert == mixture.expert([x])[0]
        assert [o.logit for o in why.opinions] == pytest.approx(np.sort(logits)[::-1].tolist())
        if mixture.n_experts == 1:
            assert why.contest is None
            continue
        contest = why.contest
        first, second = why.opinions[:2]
        assert (contest.winner, contest.rival) == (first.expert, second.expert)
        assert contest.margin == first.logit - second.logit >= 0
        assert contest.bias + sum(contest.pulls) == pytest.approx(contest.margin)
        for k, value in enumerate(contest.ties_at):
            moved = x.copy()
            moved[k] = value
            scores = mixture.gate_weights @ moved + mixture.gate_bias
            assert scores[contest.winner] == pytest.approx(scores[contest.rival], abs=1e-9)


def test_the_path_leads_to_the_leaf_and_every_test_flips_where_it_says(cases):
    mixture, explained = cases
    for x, why in explained:
        for opinion in why.opinions:
            tree, node = mixture.trees[opinion.expert], 0
            for check in opinion.path:
                assert check.node == node
                assert (check.feature, check.threshold) == (tree.feature[node], tree.threshold[node])
                goes_left = x[check.feature] <= check.threshold
                assert check.passed == goes_left
                assert (check.flips_at <= check.threshold) != goes_left
                assert (math.nextafter(check.flips_at, check.value) <= check.threshold) == goes_left
                assert check.distance == abs(check.flips_at - x[check.feature])
                node = tree.left[node] if goes_left else tree.right[node]
            assert tree.feature[node] == -1
            assert opinion.leaf == node
            assert opinion.probabilities == tuple(tree.value[node].tolist())


def test_votes_add_up(cases):
    mixture, explained = cases
    for _, why in explained:
        weights = [o.weight for o in why.opinions]
        assert sum(weights) == pytest.approx(1)
        assert sum(why.shares()) == pytest.approx(1)
        if mixture.prediction == "soft":
            votes = sum(w * np.array(o.probabilities) for w, o in zip(weights, why.opinions, strict=True))
            assert votes == pytest.approx(np.array(why.probabilities))
            c = why.classes.index(why.answer)
            assert why.shares()[0] == pytest.approx(weights[0] * why.opinions[0].probabilities[c] / votes[c])
        else:
            assert why.shares()[0] == 1


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_the_nearest_other_answer(norm):
    model = two_experts()
    why = explain.why(model, [0.75, 0.0], norm=norm)
    assert why.answer == "right"
    assert why.closest.answer == model.act(why.closest.point) == "left"
    # to the threshold of expert 0, or into the region of expert 1, where speed <= 3 is left
    assert why.closest.distance == pytest.approx({"l1": 0.25, "linf": 0.125}[norm])
    assert explain.why(model, [0.75, 0.0], domain=Box(angle=(0.6, 0.9), speed=(0, 0.05))).closest.point is None


def test_as_text():
    assert str(explain.why(two_experts(), [0.75, -0.25], units={"angle": "rad"})).splitlines() == [
        "right, answered by expert 0 alone",
        "",
        "gate: expert 0 beats expert 1 by 1",
        "               value  pulls for 0  ties at",
        "  angle [rad]   0.75         -1.5     1.25",
        "  speed        -0.25         +0.5     0.25",
        "  (constant)                   +2",
        "",
        "path in expert 0:",
        "               value         flips after a change of",
        "  angle [rad]   0.75  > 0.5                    -0.25",
        "  leaf: right (0.90)",
        "",
        "nearest other answer: left, 0.25 away",
        "               from   to  change",
        "  angle [rad]  0.75  0.5   -0.25",
    ]


def test_a_vote_as_text():
    lines = str(explain.why(two_experts("soft"), [0.75, 0.0], timeout=0)).splitlines()
    assert lines[0] == "right, by a vote of 2 experts: right 0.65, left 0.35"
    assert lines[lines.index("votes:") : lines.index("votes:") + 4] == [
        "votes:",
        "            weight  left  right  share of right",
        "  expert 0    0.62  0.10   0.90            0.86",
        "  expert 1    0.38  0.75   0.25            0.14",
    ]
    assert lines[-1].startswith("nearest other answer: unknown (the distance lies between")


def test_experts_without_weight_are_counted_not_listed():
    model = Mixture([[0.0], [40.0], [0.0]], [0, 0, 0], [stump(0.5)] * 3, ["left", "right"], prediction="soft")
    text = str(explain.why(model, [1.0], timeout=0))
    assert "expert 1    1.00  0.10   0.90" in text
    assert "  expert 0 " not in text
    assert "2 more experts with 8.5e-18 together" in text


def test_of_many_features_those_that_pull_most_are_listed():
    weights = np.zeros((2, 20))
    weights[1] = np.arange(20) / 10
    text = str(explain.why(Mixture(weights, [0, 5], [stump(0.5)] * 2, ["left", "right"]), np.ones(20), timeout=0))
    shown = [line.split()[0] for line in text.splitlines() if line.startswith("  x")]
    assert shown == [f"x{k}" for k in range(8, 20)] + ["x0"]  # the last one is the test in the tree
    assert ["(8", "more)", "+2.8"] in [line.split() for line in text.splitlines()]


def test_a_tie_is_told():
    text = str(explain.why(Mixture(np.zeros((2, 1)), [0, 0], [stump(0.5)] * 2, ["left", "right"]), [1.0], timeout=0))
    assert "gate: expert 0 beats expert 1 by being the first: their scores are equal" in text
    assert "  x0              1            0        -" in text.splitlines()


def test_a_single_tree_has_no_gate_and_may_have_no_other_answer():
    why = explain.why(Mixture([[0.0]], [0], [Tree.leaf([1.0, 0.0])], ["left", "right"]), [2.0])
    assert str(why).splitlines() == [
        "left",
        "",
        "path:",
        "  leaf: left (1.00)",
        "",
        "nearest other answer: there is none",
    ]
    assert isinstance(explain.why(two_experts(), [0.0, 0.0], timeout=0).closest, Unknown)


@pytest.mark.parametrize(
    ("x", "message"),
    [([1.0], "2 numbers"), ([1.0, math.nan], "finite"), (["a", 1], "numbers"), ([1e150, 1e149], "overflows")],
)
def test_inputs_that_cannot_be_explained(x, message):
    model = Mixture([[0, 0], [1e200, 1]], [0, 0], [stump(0.5)] * 2, ["left", "right"])
    with pytest.raises(InputError, match=message):
        explain.why(model, x)


def test_units_of_unknown_features():
    with pytest.raises(InputError, match="no feature 'angel'; the features are angle, speed"):
        explain.why(two_experts(), [0, 0], units={"angel": "rad"})


def test_a_search_that_needs_bounds_leaves_the_rest_of_the_reasons():
    """Nothing in a soft model of leaves that agree says how far to look."""
    model = Mixture([[0.0], [1.0]], [0, 0], 2 * [Tree.leaf([1.0, 0.0])], ["left", "right"], prediction="soft")
    assert "bounded domain" in explain.why(model, [2.0]).closest.reason
    assert explain.why(model, [2.0], domain=Box(x0=(0, 3))).closest.point is None
    with pytest.raises(InputError, match="no feature"):
        explain.why(model, [2.0], domain=Box(x1=(0, 3)))


def test_ties_beyond_the_range_of_a_column_are_not_told():
    columns = [Column("Age", "integer", ("Age",), 19, 75), Column("Duration", "integer", ("Duration",), 4, 72)]
    trees = [Tree.leaf([1, 0]), Tree.leaf([0, 1])]
    model = Mixture([[0, 0], [1, -1]], [0, 0], trees, ["bad", "good"], schema=Schema(columns))
    told = str(explain.why(model, [30, 70]))
    assert re.search(r"Age +30 +-30 +70\n", told)
    assert re.search(r"Age +20 +-20\n", str(explain.why(model, [20, 80])))  # a tie at 80 is beyond the range


def amount_or_age(prediction="hard") -> Mixture:
    """Bad from 40 years, or from an amount of 9,000, on."""
    columns = [Column("Amount", "number", ("Amount",), 0, 100_000), Column("Age", "integer", ("Age",), 20, 70)]
    grown = Tree([0, 1, -1, -1, -1], [8999.5, 39.5, 0, 0, 0], [1, 2, -1, -1, -1], [4, 3, -1, -1, -1],
                 [[0.5, 0.5], [0.5, 0.5], [1, 0], [0, 1], [0, 1]])  # fmt: skip
    return Mixture([[0, 0]] * 2, [0, 0], [grown] * 2, ["good", "bad"], schema=Schema(columns), prediction=prediction)


@pytest.mark.parametrize("prediction", ["hard", "soft"])
def test_a_column_of_large_numbers_is_near_in_shares_of_its_range(prediction):
    """999.5 of an amount are 1 % of its range, 10 years 20 %."""
    model = amount_or_age(prediction)
    told = explain.why(model, [8000.0, 30])
    assert told.norm == "share"
    assert told.closest.checked
    assert told.closest.point[0] > 8999.5
    assert told.closest.point_distance == pytest.approx(0.009995)
    assert re.search(r"nearest other answer: bad, 0.009995 away \(changes as shares of their ranges\)\n", str(told))
    assert re.search(r"Amount +8000 +9000 +\+1 %$", str(told))
    raw = explain.why(model, [8000.0, 30], norm="l1")
    assert raw.closest.point.tolist() == [8000.0, 40.0]
    assert re.search(r"nearest other answer: bad, 10 away\n", str(raw))
    assert re.search(r"Age +30 +40 +\+20 %$", str(raw))


def test_shares_of_ranges_need_a_table():
    with pytest.raises(InputError, match="schema"):
        explain.why(two_experts(), [0.0, 0.0], norm="share")
    even = amount_or_age("soft")
    uneven = Mixture([[0, 0], [0, 1]], [0, 0], even.trees, ["good", "bad"], schema=even.schema, prediction="soft")
    assert explain.why(uneven, [8000.0, 30], cpu_limit=2.0).norm == "share"


def test_a_vote_of_many_equals_is_counted():
    """Neither the gate nor any one of three hundred trees says much."""
    trees = [Tree.leaf([1.0, 0.0])] * 200 + [Tree.leaf([0.25, 0.75])] * 100
    model = Mixture([[0.0]] * 300, [0.0] * 300, trees, ["left", "right"], prediction="soft")
    lines = str(explain.why(model, [0.0], timeout=0)).splitlines()
    assert "gate: all experts have the same weight" in lines
    assert ["left", "200", "0.75"] in [line.split() for line in lines]
    assert ["right", "100", "0.25"] in [line.split() for line in lines]
    assert not any("path" in line for line in lines)
