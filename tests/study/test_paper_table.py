import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet.errors import InputError
from moet.study.paper_table import SmallestTree, gridworld_table

POINTS = [(float(x), float(y)) for x in range(3) for y in range(3)]


def fewest_leaves(points):
    """By plain recursion over all trees."""
    if len(set(points.values())) < 2:
        return 1
    return min(
        fewest_leaves(left) + fewest_leaves(right)
        for axis in range(2)
        for cut in range(2)
        for left in [{p: c for p, c in points.items() if p[axis] <= cut}]
        for right in [{p: c for p, c in points.items() if p[axis] > cut}]
        if left and right
    )


@given(st.dictionaries(st.sampled_from(POINTS), st.sampled_from([1, 4, 7]), min_size=1))
def test_the_smallest_tree_is_right_and_smallest(points):
    X, y = np.array(list(points)), np.array(list(points.values()))
    student = SmallestTree().fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    assert student.predict(X).tolist() == y.tolist()
    assert student.mixture_.size.leaves == fewest_leaves(points)


def test_among_trees_with_as_few_leaves_the_flattest_is_taken():
    X = np.arange(8.0)[:, None]
    assert SmallestTree().fit(X, np.arange(8)).mixture_.size.depth == 3


def test_contradicting_rows_are_refused():
    with pytest.raises(InputError, match="two labels"):
        SmallestTree().fit([[0.0], [0.0]], [1, 2])


def test_two_grids():
    table = gridworld_table([3, 5], seeds=1)
    small, row = table.rows
    assert small[-2:] == [None, None]  # the paper has no such grid
    found = dict(zip((column.title for column in table.columns), row, strict=True))
    assert [found[f"MoËT: {part}"] for part in ("right", "depth", "nodes")] == ["1 of 1", 1, 3]
    assert [found[f"VIPER, smallest tree: {part}"] for part in ("right", "depth", "nodes")] == ["1 of 1", 3, 9]
    assert found["VIPER, greedy tree: nodes"] >= 9
    assert found["VIPER, published: nodes"] == 9


def test_no_seed_no_table():
    with pytest.raises(InputError, match="at least one seed"):
        gridworld_table([5], seeds=0)
