from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier

from moet import Mixture, Tree
from moet.errors import InputError
from moet.model.ccp import cost_complexity_prune
from moet.model.prune import _is_dominated, idle_leaves, possible_experts, prune_tree
from moet.model.regression.mixture import RegressionMixture
from moet.model.regression.tree import RegressionTree

from .strategies import bits, hard_points, mixtures

SEEDS = st.integers(0, 2**32 - 1)
HUGE = float(np.finfo(np.float64).max)


def build(node):
    """Tree from nested tuples (feature, threshold, left, right); a leaf is its class, one of three."""
    rows = []

    def add(node):
        at = len(rows)
        rows.append(None)
        if isinstance(node, int):
            rows[at] = (-1, 0.0, -1, -1, np.eye(3)[node])
        else:
            feature, threshold, left, right = node
            rows[at] = (feature, threshold, add(left), add(right), [0.2, 0.3, 0.5])
        return at

    add(node)
    return Tree(*(list(column) for column in zip(*rows, strict=True)))


def nested(tree, node=0):
    """Inverse of ``build``."""
    if tree.feature[node] == -1:
        return int(tree.value[node].argmax())
    children = (nested(tree, child) for child in (tree.left[node], tree.right[node]))
    return (int(tree.feature[node]), float(tree.threshold[node]), *children)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (1, 1),
        ((0, 1.0, 0, 1), (0, 1.0, 0, 1)),
        # the same class on both sides, also once the branches are pruned
        ((0, 1.0, 2, 2), 2),
        ((0, 1.0, 1, (1, 0.0, 1, 1)), 1),
        ((0, 1.0, (0, 0.0, 1, 1), (1, 0.0, 0, 1)), (0, 1.0, 1, (1, 0.0, 0, 1))),
        # a test that an earlier one on the path has answered
        ((0, 1.0, (0, 2.0, 0, 1), 2), (0, 1.0, 0, 2)),
        ((0, 1.0, (0, 1.0, 0, 1), 2), (0, 1.0, 0, 2)),
        ((0, 1.0, 2, (0, 1.0, 0, 1)), (0, 1.0, 2, 1)),
        ((0, 1.0, 2, (0, 0.5, 0, 1)), (0, 1.0, 2, 1)),
        ((0, 0.0, 2, (0, -0.0, 0, 1)), (0, 0.0, 2, 1)),
        ((0, 1.0, (0, 3.0, (0, 2.0, 0, 1), 2), 2), (0, 1.0, 0, 2)),
        ((0, 1.0, 2, (0, -1.0, 0, (0, 0.0, 0, 1))), (0, 1.0, 2, 1)),
        # a test on the same feature that still matters, and one on another feature
        ((0, 1.0, (0, 0.5, 0, 1), 2), (0, 1.0, (0, 0.5, 0, 1), 2)),
        ((0, 1.0, (1, 2.0, 0, 1), 2), (0, 1.0, (1, 2.0, 0, 1), 2)),
        # a chain of skipped tests that makes both sides alike
        ((0, 1.0, (0, 2.0, (0, 3.0, 1, 0), 2), 1), 1),
        # no finite number is larger than the largest, but one is as small as the smallest
        ((0, HUGE, 0, 1), 0),
        ((0, -HUGE, 0, 1), (0, -HUGE, 0, 1)),
    ],
)
def test_branches_that_cannot_matter_go(before, after):
    assert nested(prune_tree(build(before))) == after


def test_a_merged_leaf_speaks_for_its_class():
    def stump(root):
        return Tree([0, -1, -1], [0.0, 0, 0], [1, -1, -1], [2, -1, -1], [root, [0.6, 0.4], [0.9, 0.1]])

    assert prune_tree(stump([0.7, 0.3])) == Tree.leaf([0.7, 0.3])
    assert prune_tree(stump([0.3, 0.7])) == Tree.leaf([0.6, 0.4])


def test_very_deep_trees_are_no_problem():
    n = 5000
    chain = np.arange(1, 2 * n, 2)
    feature, threshold = np.full(2 * n + 1, -1), np.zeros(2 * n + 1)
    left, right = np.full(2 * n + 1, -1), np.full(2 * n + 1, -1)
    feature[chain - 1], threshold[chain - 1], left[chain - 1], right[chain - 1] = 0, np.arange(n), chain, chain + 1
    value = np.eye(2)[np.arange(2 * n + 1) % 2]
    tree = Tree(feature, threshold, left, right, value)
    assert prune_tree(tree).depth == tree.depth == n


@pytest.mark.slow
@given(mixtures(), SEEDS)
@settings(max_examples=150)
def test_pruning_keeps_every_hard_answer(mixture, seed):
    mixture = replace(mixture, prediction="hard")
    pruned = mixture.prune()
    X = hard_points(mixture, seed)
    before, after, chosen = mixture.predict_hard(X), pruned.predict(X), mixture.expert(X)
    for x, a, b, j in zip(X, before, after, chosen, strict=True):
        assert a == b or exact_logit(mixture, j, x) < max(exact_logit(mixture, k, x) for k in range(mixture.n_experts))


def exact_logit(mixture, j, x):
    terms = (Fraction(w) * Fraction(v) for w, v in zip(mixture.gate_weights[j], x, strict=True))
    return sum(terms, Fraction(mixture.gate_bias[j]))


@given(mixtures(), SEEDS)
@settings(max_examples=60)
def test_pruning_a_soft_mixture_keeps_every_probability_to_the_bit(mixture, seed):
    mixture = replace(mixture, prediction="soft")
    X = hard_points(mixture, seed)
    try:
        before = mixture.predict_proba(X)
    except InputError:  # the gate overflows, before and after
        return
    np.testing.assert_array_equal(mixture.prune().predict_proba(X), before)


def test_a_soft_split_goes_only_if_both_sides_vote_the_same():
    def votes(left, right):
        tree = Tree([0, -1, -1], [1.0, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], left, right])
        return Mixture([[0.0], [1.0]], [0.0, 0.0], [tree, tree], ["a", "b"], prediction="soft")

    kept, gone = votes([0.9, 0.1], [0.8, 0.2]).prune(), votes([0.9, 0.1], [0.9, 0.1]).prune()
    assert (kept.prediction, kept.size.leaves) == ("soft", 4)
    assert (gone.prediction, gone.size.leaves) == ("soft", 2)
    assert idle_leaves(votes([0.9, 0.1], [0.8, 0.2])) == 0
    assert idle_leaves(votes([0.9, 0.1], [0.9, 0.1])) == 2


@given(mixtures())
@settings(max_examples=100)
def test_pruning_again_changes_nothing_and_nothing_grows(mixture):
    pruned = mixture.prune()
    assert pruned.prediction == mixture.prediction
    assert bits(pruned.prune()) == bits(pruned)
    assert all(small <= large for small, large in zip(pruned.size, mixture.size, strict=True))
    assert pruned.classes.tolist() == mixture.classes.tolist()
    assert pruned.feature_names == mixture.feature_names


@pytest.mark.parametrize(
    ("gate", "kept"),
    [
        # rows are (bias, weights...)
        ([(0, 0)], [0]),
        ([(0, 1), (0, -1)], [0, 1]),
        # the first of equals wins; of parallels, the one with the larger bias
        ([(0, 1), (5, 2), (0, 1), (5, 2)], [0, 1]),
        ([(0, 1), (1, 1), (0, -1)], [1, 2]),
        ([(0.0, 1), (-0.0, 1)], [0]),
        # below the maximum of two others everywhere
        ([(1, 1), (0, 0), (1, -1)], [0, 2]),
        # equal to it at one point: in doubt, kept
        ([(0, 1), (0, 0), (0, -1)], [0, 1, 2]),
        # above it in a small and in a remote region
        ([(0, 1), (1e-9, 0), (0, -1)], [0, 1, 2]),
        ([(1, 1), (0, 1 + 1e-12)], [0, 1]),
        ([(1, 1), (0, 1 + 1e-12), (1, -1)], [0, 1, 2]),
        # two dimensions: inside a triangle of three others, then beside it
        ([(1, 1, 0), (1, 0, 1), (1, -1, -1), (0, 0.1, 0.2)], [0, 1, 2]),
        ([(1, 1, 0), (1, 0, 1), (1, -1, -1), (0, 0.6, 0.6)], [0, 1, 2, 3]),
        # features of very different scale, and logits of very different scale
        ([(1, 1e9, 0), (1, 0, 1e-9), (1, -1e9, -1e-9), (0, 1e8, 1e-10)], [0, 1, 2]),
        ([(1e-9, 1e-9), (0, 0), (1e-9, -1e-9)], [0, 2]),
        ([(1e300, 1e300), (0, 0), (1e300, -1e300)], [0, 2]),
        # differences beyond float64: in doubt, kept
        ([(1, 1.7e308), (1, -1.7e308), (0, -1e308)], [0, 1, 2]),
    ],
)
def test_experts_that_never_win_go(gate, kept):
    gate = np.array(gate, dtype=float)
    assert possible_experts(gate[:, 1:], gate[:, 0]) == kept


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=8))
@settings(max_examples=150)
def test_in_one_dimension_the_experts_kept_are_those_of_the_upper_envelope(gate):
    def logit(j, x):
        return gate[j][0] + gate[j][1] * x

    crossings = {Fraction(b - a, w - v) for (a, w), (b, v) in combinations(gate, 2) if w != v}
    inner = sorted(crossings) or [Fraction(0)]
    points = [inner[0] - 1, *inner, *((a + b) / 2 for a, b in pairwise(inner)), inner[-1] + 1]
    logits = [[logit(j, x) for j in range(len(gate))] for x in points]
    winners = {row.index(max(row)) for row in logits}
    never_even_tied = {j for j in range(len(gate)) if all(row[j] < max(row) for row in logits)}
    kept = set(possible_experts(np.array([[w] for _, w in gate], float), np.array([b for b, _ in gate], float)))
    assert winners <= kept
    assert not kept & never_even_tied


@pytest.mark.parametrize(
    ("gate", "proved"),
    [
        ([(0, 0), (1, 1), (1, -1)], True),
        ([(0, 0), (3, 1), (-1, -1)], True),
        ([(0, 0), (0, 1), (0, -1)], False),  # no more than a tie
        ([(0, 5), (1, 1), (1, -1)], False),  # no average of 1 and -1 is 5
        ([(0, 0), (1, 1), (1, 2)], False),
        ([(0, 0), (1, 1)], False),
        ([(0, 0), (1, 1), (1, -1), (1, 2)], False),  # many averages: which one is not decided here
        ([(0, 0)], False),
    ],
)
def test_an_expert_goes_only_with_a_proof(gate, proved):
    gate = np.array(gate, dtype=float)
    assert _is_dominated(0, list(range(1, len(gate))), gate[:, 1:], gate[:, 0]) is proved


@pytest.mark.parametrize("kind", ["labels", "numbers"])
def test_experts_that_all_answer_alike_are_one(kind):
    gate = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], np.zeros(3)
    if kind == "labels":
        same = [Tree.leaf([share, 1 - share]) for share in (0.9, 0.8, 1.0)]
        other = [*same[:2], Tree.leaf([0.1, 0.9])]
        small, large = (Mixture(*gate, trees, ["a", "b"], prediction="hard").prune() for trees in (same, other))
    else:
        same = [RegressionTree.leaf([0.5], slope=[[2.0, -1.0]])] * 3
        other = [*same[:2], RegressionTree.leaf([0.5], slope=[[2.0, 1.0]])]
        small, large = (RegressionMixture(*gate, trees, ["u"], prediction="hard").prune() for trees in (same, other))
    assert small.size.experts == 1
    assert large.size.experts == 3


def test_the_gate_rows_kept_are_unchanged():
    weights = np.array([[0.1, -0.0], [0.1, -0.0], [1 / 3, 5e-324]])
    leaves = [Tree.leaf(p) for p in ([1, 0], [0, 1], [0.4, 0.6])]
    pruned = Mixture(weights, [0.3, 0.2, -0.0], leaves, ["a", "b"]).prune()
    assert pruned.gate_weights.tobytes() == weights[[0, 2]].tobytes()
    assert pruned.gate_bias.tobytes() == np.array([0.3, -0.0]).tobytes()
    assert pruned.trees == (leaves[0], leaves[2])


# cost-complexity pruning


def noisy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    return X, (X[:, 0] * X[:, 1] + rng.normal(scale=0.5, size=400) > 0).astype(int)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize(
    "data", [load_iris(return_X_y=True), load_wine(return_X_y=True), load_breast_cancer(return_X_y=True), noisy()]
)
def test_cost_complexity_pruning_is_that_of_scikit_learn(data, criterion, weighted):
    X, y = data
    sample_weight = np.random.default_rng(0).exponential(size=len(y)) if weighted else None
    full = DecisionTreeClassifier(criterion=criterion, random_state=0).fit(X, y, sample_weight)
    [tree] = Mixture.from_sklearn(full).trees
    alphas = full.cost_complexity_pruning_path(X, y, sample_weight).ccp_alphas
    # between the values at which a branch goes; at those themselves the last bit decides
    between = [(a + b) / 2 for a, b in pairwise([*alphas, 2 * alphas[-1]]) if b - a > 1e-9]
    sizes = set()
    for alpha in between[:: max(1, len(between) // 10)] + between[-1:]:
        theirs = DecisionTreeClassifier(criterion=criterion, random_state=0, ccp_alpha=alpha).fit(X, y, sample_weight)
        ours = cost_complexity_prune(tree, full.tree_.weighted_n_node_samples, alpha, criterion)
        assert (ours,) == Mixture.from_sklearn(theirs).trees
        sizes.add(ours.n_nodes)
    assert len(sizes) > 3
    assert min(sizes) == 1


def test_no_cost_prunes_nothing():
    tree = Tree([0, -1, -1], [0.0, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5]] * 3)
    assert cost_complexity_prune(tree, np.array([2.0, 1.0, 1.0]), 0.0, "gini") == tree


def test_a_tree_without_weight_is_pruned_to_its_root():
    tree = build((0, 1.0, 0, 1))
    assert cost_complexity_prune(tree, np.zeros(3), 0.1, "entropy").n_nodes == 1


def test_a_pruned_policy_remembers_where_it_comes_from():
    mixture = Mixture([[0.0]], [0.0], [Tree.leaf([1.0, 0.0])], classes=[0, 1], provenance={"task": "cartpole"})
    assert mixture.prune().provenance == {"task": "cartpole"}
