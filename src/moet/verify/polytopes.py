"""The regions of a hard mixture: where each leaf of each expert answers, exactly and in raw units."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError
from moet.model.file import as_mixture
from moet.model.mixture import Mixture
from moet.model.text import how_to_harden
from moet.model.tree import LEAF, BaseTree, Tree
from moet.verify.box import Box
from moet.verify.exact import ExactMixture, exactly, rounded
from moet.verify.rational import ZERO, Row, Side, decide

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Polytope:
    """A box and half-spaces, with exact numbers.

    Attributes
    ----------
    lo, hi : array of float, shape (n_features,)
        Sides of the box, infinite where it is open.
    above : array of bool, shape (n_features,)
        Where x > lo is meant rather than x >= lo. Upper sides always belong to the box.
    rows : tuple of Row
        Half-spaces: coefficients·x >= bound, or > where the row is strict.
    """

    lo: Floats
    hi: Floats
    above: NDArray[np.bool_]
    rows: tuple[Row, ...]

    def __contains__(self, x: ArrayLike) -> bool:
        point = np.asarray(x, dtype=np.float64)
        if np.any(point < self.lo) or np.any(point > self.hi) or np.any((point == self.lo) & self.above):
            return False
        exact = exactly(point.tolist())
        for row in self.rows:
            value = sum((c * v for c, v in zip(row.coefficients, exact, strict=True)), Fraction(0))
            if value < row.bound or (row.strict and value == row.bound):
                return False
        return True

    def decide(self, start: list[Fraction], slack: Fraction = ZERO) -> list[Fraction] | dict[int, Fraction]:
        """Find a point that satisfies the rows with some slack, or multipliers of them that prove there is none."""
        rows = [Row(row.coefficients, row.bound + slack, row.strict) for row in self.rows] if slack else self.rows
        lower = [_side(bound, strict) for bound, strict in zip(self.lo.tolist(), self.above.tolist(), strict=True)]
        upper = [_side(bound, False) for bound in self.hi.tolist()]
        return decide(rows, lower, upper, start)

    def halfspaces(self) -> tuple[Floats, Floats]:
        """Rows as floats, A x >= b, for drawing and guessing; rounding and strictness are lost."""
        A = np.array([rounded(row.coefficients) for row in self.rows]).reshape(-1, len(self.lo))
        return A, rounded([row.bound for row in self.rows])


def _side(bound: float, strict: bool) -> Side | None:
    return None if math.isinf(bound) else Side(Fraction(bound), strict)


@dataclass(frozen=True, eq=False)
class Region:
    """Where one leaf answers.

    Attributes
    ----------
    expert : int
    node : int
        The leaf, or the root of a subtree all of whose leaves give the same label.
    label : Any
        What the model answers there.
    polytope : Polytope
    """

    expert: int
    node: int
    label: Any
    polytope: Polytope


def regions(model: Any, domain: Box | None = None) -> list[Region]:
    """Return the regions of a hard model; together they cover the domain, and no two overlap.

    A subtree whose leaves all give the same label counts as one leaf. Regions that tests on the way to the leaf make
    empty are left out; the gate may make others empty, which only a proof can tell.

    Parameters
    ----------
    model : Mixture, classifier, policy, model file or scikit-learn tree
    domain : Box, optional
        All inputs by default.
    """
    mixture = hard_mixture(model)
    lo, hi = (domain or Box()).bounds(mixture.feature_names)
    exact = ExactMixture(mixture)
    labels = mixture.classes.tolist()
    found = []
    for expert, tree in enumerate(mixture.trees):
        only = single_groups(tree, np.arange(len(labels)))
        for cell in cells(tree, only, lo, hi):
            polytope = Polytope(cell.lo, cell.hi, cell.above, tuple(exact.rows(expert)))
            found.append(Region(expert, cell.node, labels[only[cell.node]], polytope))
    return found


def hard_mixture(model: Any) -> Mixture:
    """Return the mixture that ``model`` is or holds; it must be one that answers by its most probable expert."""
    mixture = as_mixture(model)
    if mixture.prediction != "hard":
        raise InputError(
            f"this is about hard models, and this one is soft; {how_to_harden(mixture)}, "
            "or ask a question for soft models"
        )
    return mixture


def single_groups(tree: Tree, group_of_class: NDArray[np.int64]) -> NDArray[np.int64]:
    """For every node the one group that all leaves below it answer with, or -1 if there are several."""
    only = group_of_class[tree.value.argmax(axis=1)]
    # children come after their parent, so backwards every child is known before its parent
    for node in np.flatnonzero(tree.feature != LEAF)[::-1]:
        left, right = only[tree.left[node]], only[tree.right[node]]
        only[node] = left if left == right else -1
    return only


class Cell(NamedTuple):
    """Part of a box that tests of a tree single out, with the node they lead to."""

    node: int
    lo: Floats
    hi: Floats
    above: NDArray[np.bool_]

    @property
    def is_empty(self) -> bool:
        """Whether no real number satisfies some of the tests."""
        return bool(np.any((self.lo > self.hi) | ((self.lo == self.hi) & self.above)))


def cells(tree: BaseTree, only: NDArray[np.int64], lo: Floats, hi: Floats) -> Iterator[Cell]:
    """Topmost nodes of a single group, from left to right; unreachable ones are left out."""
    stack = [Cell(0, lo, hi, np.zeros(len(lo), dtype=bool))]
    while stack:
        cell = stack.pop()
        if cell.is_empty:
            continue
        if only[cell.node] != -1:
            yield cell
        else:
            stack += reversed(children(tree, cell))


def children(tree: BaseTree, cell: Cell) -> tuple[Cell, Cell]:
    """Parts of a cell on either side of the test at its node."""
    feature, threshold = tree.feature[cell.node], tree.threshold[cell.node]
    lo, hi, above = cell.lo.copy(), cell.hi.copy(), cell.above.copy()
    hi[feature] = min(hi[feature], threshold)
    if threshold >= lo[feature]:
        lo[feature], above[feature] = threshold, True
    left = Cell(int(tree.left[cell.node]), cell.lo, hi, cell.above)
    right = Cell(int(tree.right[cell.node]), lo, cell.hi, above)
    return left, right
