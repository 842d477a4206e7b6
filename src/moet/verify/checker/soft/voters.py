"""Experts that vote, over the variables of a question: the leaves that bodies reach, and gates as integers.

Standard library only. A leaf has sides of some variables: above a first number and at most a second, as places of the
space (:meth:`~moet.verify.checker.rows.body.Space.place`). For two rows that the gate cannot tell apart, the pairs of
leaves of one tree that both may reach take the place of leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.documents.model import PlainModel, PlainTree
from moet.verify.checker.exp_bounds import BITS
from moet.verify.checker.meter import Meter, cost
from moet.verify.checker.rows.body import Body, Space
from moet.verify.checker.rows.gate import Weights

VOTE_BITS = 64
"""Votes are whole numbers in units of 2^-VOTE_BITS, rounded against the claim."""

_LARGEST_LOGIT = 2**1020

Sides = dict[int, tuple[int | None, int | None]]


class Leaf(NamedTuple):
    """A leaf, or a pair of leaves of one tree: its sides, and the node of every row."""

    sides: list[tuple[int, int | None, int | None]]
    nodes: tuple[int, ...]


Live = list[list[Leaf]]
"""Leaves of every tree that a body may reach."""


class Ahead(NamedTuple):
    """A logit less another one, times the scale of the gate; ``numbers`` are the weights of variables in no group."""

    weights: list[int]
    base: int
    numbers: list[tuple[int, int]]


class Voters:
    """The experts of a model, as one row of a space asks them, or as two rows do that they cannot tell apart.

    Parameters
    ----------
    model : PlainModel
    weights : Weights
        The gate of the model.
    space : Space
    row : int
        Whose logits count.
    rows : sequence of int
        Whose leaves count.
    meter : Meter

    Attributes
    ----------
    is_pair : bool
        Whether leaves are pairs of leaves.
    seen : list of bool
        Whether the gate has a weight for a feature.
    """

    def __init__(
        self, model: PlainModel, weights: Weights, space: Space, row: int, rows: Sequence[int], meter: Meter
    ) -> None:
        self._model, self._weights, self._space, self._meter = model, weights, space, meter
        self.variables = space.maps[row]
        self.n_experts, self.is_pair = len(model.trees), len(rows) == 2
        self.leaves: Live = [self._leaves(tree, rows) for tree in model.trees]
        self.seen = [any(row[f] for row in weights.rows) for f in range(len(self.variables))]
        self._doubts = self._doubt()
        bits = weights.scale.bit_length() + space.unit.bit_length()
        self._price = cost(2 * self.n_experts * (2 * len(space.is_whole) + 100), bits + BITS)
        self._ahead: dict[tuple[int, int], Ahead] = {}

    @property
    def scale(self) -> int:
        """What weights are multiplied with."""
        return self._weights.scale

    def spend(self, times: int) -> None:
        """Count the work of some bounds."""
        self._meter.spend(times * self._price)

    def ahead(self, e: int, reference: int) -> Ahead:
        """The logit of an expert less that of another."""
        if (e, reference) not in self._ahead:
            space, weights = self._space, [0] * len(self._space.is_whole)
            self._meter.hold(2 * len(weights))
            for k, w in zip(self.variables, self._weights.ahead(e, reference), strict=True):
                weights[k] += w
            numbers = [(k, w) for k, w in enumerate(weights) if w and space.group[k] < 0]
            self._ahead[e, reference] = Ahead(weights, self._weights.bias[e] - self._weights.bias[reference], numbers)
        return self._ahead[e, reference]

    def doubt(self, e: int, reference: int) -> int:
        """What rounding may change in the share of an expert, relative to it, in units of 2^-BITS."""
        total = self._doubts[e] + self._doubts[reference]
        if total > 1 << BITS:
            raise CertificateError("rounding logits may change the shares of the experts")
        return (1 + self.is_pair) * (2 * total + (6 * (self.n_experts + 16) << (BITS - 50)))

    def lead(self, leaf: Leaf, answer: int, rival: int, tree: int) -> int:
        """Votes for a class less those for another, rounded up; of a pair, plus those of the second row, reversed."""
        value = self._model.trees[tree].value
        first = value[leaf.nodes[0]]
        less = _up(first[answer]) - _down(first[rival])
        if not self.is_pair or leaf.nodes[0] == leaf.nodes[1]:
            return 0 if self.is_pair else less
        second = value[leaf.nodes[1]]
        return less + _up(second[rival]) - _down(second[answer])

    def is_ordered(self, leaf: Leaf, answer: int, rival: int, tree: int) -> bool:
        """Whether the second of two rows has no fewer votes for one class, and no more for the other."""
        first, second = (self._model.trees[tree].value[node] for node in leaf.nodes)
        return first[answer] <= second[answer] and first[rival] >= second[rival]

    def live(self, before: Live, body: Body) -> Live:
        """Which leaves, of those of a larger body, a body may reach."""
        self._meter.spend(4 * sum(map(len, before)))
        return [leaves if len(leaves) == 1 else [leaf for leaf in leaves if _meets(leaf, body)] for leaves in before]

    def _doubt(self) -> list[int]:
        """By how much a float64 logit, or its difference from the largest, may be off, in units of 2^-BITS."""
        space, weights = self._space, self._weights
        low, high, _ = space.body
        reach = [max(abs(low[k]), abs(high[k])) * (space.unit if space.group[k] >= 0 else 1) for k in self.variables]
        unit = weights.scale * space.unit
        self._meter.spend(cost(self.n_experts * len(reach), unit.bit_length()))
        sizes = [
            Fraction(abs(b) * space.unit + sum(abs(w) * x for w, x in zip(row, reach, strict=True)), unit)
            for row, b in zip(weights.rows, weights.bias, strict=True)
        ]
        if max(sizes) >= _LARGEST_LOGIT:
            raise CertificateError("the gate's logits may overflow in the domain")
        errors = [((len(reach) + 3) * size + 2 * max(sizes)) / 2**53 + Fraction(1, 2**300) for size in sizes]
        return [-(-(error.numerator << BITS) // error.denominator) for error in errors]

    def _leaves(self, tree: PlainTree, rows: Sequence[int]) -> list[Leaf]:
        found: list[tuple[Sides, tuple[int, ...]]] = [({}, ())]
        for row in rows:
            found = [(more, (*nodes, node)) for sides, nodes in found for more, node in self._reached(tree, row, sides)]
        possible = [(sides, nodes) for sides, nodes in found if self._is_possible(sides)]
        leaves = [Leaf([(k, *ends) for k, ends in sides.items()], nodes) for sides, nodes in possible]
        return [leaf for leaf in leaves if _meets(leaf, self._space.body)]

    def _reached(self, tree: PlainTree, row: int, start: Sides) -> list[tuple[Sides, int]]:
        """Leaves that a row reaches where it may be at all, and their sides."""
        found: list[tuple[Sides, int]] = []
        waiting: list[tuple[Sides, int]] = [(start, 0)]
        while waiting:
            sides, node = waiting.pop()
            self._meter.spend(20)
            if tree.label[node] >= 0:
                self._meter.hold(20 + 10 * len(sides))
                found.append((sides, node))
                continue
            k = self._space.maps[row][tree.feature[node]]
            place = self._space.place(k, Fraction(tree.threshold[node]))
            low, high = sides.get(k, (None, None))
            if low is None or place > low:
                waiting.append(({**sides, k: (low, place if high is None else min(high, place))}, tree.left[node]))
            if high is None or place < high:
                waiting.append(({**sides, k: (place if low is None else max(low, place), high)}, tree.right[node]))
        return found

    def _is_possible(self, sides: Sides) -> bool:
        """Whether no two variables of a group would be 1, nor the first of a pair in order above the second."""
        group = self._space.group
        chosen = [group[k] for k, (low, _) in sides.items() if group[k] >= 0 and low is not None and low >= 0]
        if len(set(chosen)) < len(chosen):
            return False
        for i, j in self._space.orders:
            low, high = sides.get(i, (None, None))[0], sides.get(j, (None, None))[1]
            if low is not None and high is not None and low >= high:
                return False
        return True


def _meets(leaf: Leaf, body: Body) -> bool:
    """Whether some row of a body may be at a leaf."""
    lows, highs, above = body
    for k, low, high in leaf.sides:
        if low is not None and highs[k] <= low:
            return False
        if high is not None and (lows[k] > high or (lows[k] == high and above[k])):
            return False
    return True


def _up(vote: float) -> int:
    numerator, denominator = vote.as_integer_ratio()
    return -((-numerator << VOTE_BITS) // denominator)


def _down(vote: float) -> int:
    numerator, denominator = vote.as_integer_ratio()
    return (numerator << VOTE_BITS) // denominator
