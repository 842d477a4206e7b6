import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings

from moet import Tree
from moet.errors import ModelError
from moet.model.tree import subtree

from .strategies import trees

STUMP = {
    "feature": [1, -1, -1],
    "threshold": [0.5, 0.0, 0.0],
    "left": [1, -1, -1],
    "right": [2, -1, -1],
    "value": [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]],
}


def test_a_tree_knows_its_size():
    tree = Tree(**STUMP)
    assert (tree.n_nodes, tree.n_leaves, tree.n_classes, tree.depth) == (3, 2, 2, 1)
    assert repr(tree) == "Tree(2 leaves, depth 1)"


def test_a_leaf_is_a_tree():
    tree = Tree.leaf([0.2, 0.8])
    assert (tree.n_nodes, tree.n_leaves, tree.depth) == (1, 1, 0)
    assert tree.value.tolist() == [[0.2, 0.8]]
    assert tree.feature[0] == tree.left[0] == tree.right[0] == -1


def test_depth_is_that_of_the_longest_path():
    value = np.full((5, 1), 1.0)
    tree = Tree([0, -1, 0, -1, -1], [0.0, 0, 1, 0, 0], [1, -1, 3, -1, -1], [2, -1, 4, -1, -1], value)
    assert tree.depth == 2


def test_the_threshold_of_a_leaf_is_ignored():
    tree = Tree(**STUMP | {"threshold": [0.5, np.nan, np.inf]})
    assert tree.threshold.tolist() == [0.5, 0.0, 0.0]


def test_trees_are_compared_by_content():
    assert Tree(**STUMP) == Tree(**STUMP)
    assert Tree(**STUMP) != Tree(**STUMP | {"threshold": [0.6, 0.0, 0.0]})
    assert Tree(**STUMP) != "a tree"


def test_arrays_are_copied_and_frozen():
    threshold = np.array([0.5, 0.0, 0.0])
    tree = Tree(**STUMP | {"threshold": threshold})
    threshold[0] = 9.0
    assert tree.threshold[0] == 0.5
    for name in STUMP:
        with pytest.raises(ValueError, match="read-only"):
            getattr(tree, name)[0] = 0


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))])
def test_copies_are_equal_and_frozen(clone):
    tree = Tree(**STUMP)
    twin = clone(tree)
    assert twin == tree
    assert not twin.value.flags.writeable


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"feature": [0.5, -1, -1]}, "Tree.feature must be a one-dimensional array of integers, got shape"),
        ({"left": [[1], [2, 3]]}, "Tree.left must be a one-dimensional array of integers: "),
        ({"feature": [2**40, -1, -1]}, "Tree.feature has entries beyond 32 bits"),
        ({"threshold": ["a", 0, 0]}, "Tree.threshold must be an array of numbers"),
        ({"threshold": [10**400, 0, 0]}, "Tree.threshold must be an array of numbers"),
        ({"value": [0.5, 1.0, 1.0]}, r"Tree.value must have 2 dimension\(s\)"),
        ({"threshold": [0.5, 0.0]}, "arrays of equal length"),
        (dict.fromkeys(STUMP, np.empty(0, int)) | {"value": np.empty((0, 1))}, "at least one node"),
        ({"value": np.empty((3, 0))}, "one column per class"),
        ({"feature": [-2, -1, -1]}, "Tree.feature must be >= 0, or -1 at a leaf, got -2"),
        ({"left": [1, 2, -1]}, "a leaf .* must have left = right = -1"),
        ({"threshold": [np.inf, 0, 0]}, "Tree.threshold must be finite"),
        ({"left": [0, -1, -1]}, "every child must come after its parent"),
        ({"left": [2, -1, -1]}, "the child of exactly one node"),
        ({"left": [7, -1, -1]}, "the child of exactly one node"),
        ({"value": [[1.5, -0.5], [1, 0], [0, 1]]}, "Tree.value must hold probabilities"),
        ({"value": [[np.nan, 1], [1, 0], [0, 1]]}, "Tree.value must hold probabilities"),
        ({"value": [[1e308, 1e308], [1, 0], [0, 1]]}, "Tree.value must hold probabilities"),
        ({"value": [[0.5, 0.5], [1, 0], [0, 0.9]]}, "row 2 sums to 0.9"),
    ],
)
def test_contradictions_are_refused(wrong, message):
    with pytest.raises(ModelError, match=message):
        Tree(**STUMP | wrong)


@given(trees(n_features=2, n_classes=2))
@settings(max_examples=30)
def test_the_subtree_below_a_node_is_numbered_anew(tree):
    for node in range(tree.n_nodes):
        part = subtree(tree, node, tree.left, tree.right, np.arange(tree.n_nodes))
        stack = [(node, 0)]
        while stack:
            old, new = stack.pop()
            assert part.feature[new] == tree.feature[old]
            assert part.threshold[new] == tree.threshold[old]
            assert np.array_equal(part.value[new], tree.value[old])
            if tree.left[old] != -1:
                stack += [(tree.left[old], part.left[new]), (tree.right[old], part.right[new])]
