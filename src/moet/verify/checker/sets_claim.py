"""What a proof that leads from set to set claims, read with suspicion; standard library only.

The conditions of the system, the template of the sets, and the affine enclosures of one step with the leaves of the
policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.documents import action_number, interval, sized, vector
from moet.verify.checker.enclosures import EnclosureChecker, rounded
from moet.verify.checker.plain import PlainModel, PlainTree

Vector = list[Fraction]


class Conditions:
    """What the system demands of its states: to be in its domain and, unless a goal is all that counts, safe."""

    def __init__(self, system: dict[str, Any], must_be_safe: bool = True) -> None:
        self.document = system
        d = self.d = len(system["states"])
        self.initial = [interval(side) for side in sized(system["initial"], d)]
        self.low: list[Fraction | None] = [None] * d
        self.high: list[Fraction | None] = [None] * d
        self.slanted: list[tuple[Vector, Fraction]] = []
        safe = half_spaces(system["safe"], d) if must_be_safe else []
        for k, side in enumerate(sized(system["domain"], d)):
            if side is not None:
                low, high = interval(side)
                self._narrow(k, low, high)
        for row, bound in safe:
            used = [k for k in range(d) if row[k]]
            if len(used) > 1:
                self.slanted.append((row, bound))
            elif used and row[used[0]] > 0:
                self._narrow(used[0], None, bound / row[used[0]])
            elif used:
                self._narrow(used[0], bound / row[used[0]], None)
            elif bound < 0:
                raise CertificateError("no state is safe")

    def _narrow(self, k: int, low: Fraction | None, high: Fraction | None) -> None:
        before = self.low[k], self.high[k]
        if low is not None:
            self.low[k] = low if before[0] is None else max(before[0], low)
        if high is not None:
            self.high[k] = high if before[1] is None else min(before[1], high)

    def check_box(self, box: list[tuple[Fraction, Fraction]], what: str) -> None:
        """Complain if a box leaves the sides of the safe set or the domain."""
        for k, (low, high) in enumerate(box):
            least, most = self.low[k], self.high[k]
            if (least is not None and low < least) or (most is not None and high > most):
                raise CertificateError(f"{what} leave the safe set or the domain")

    def check_first_states(self) -> None:
        """Complain if a first state is unsafe."""
        self.check_box(self.initial, "first states")
        for row, bound in self.slanted:
            if sum(max(a * low, a * high) for a, (low, high) in zip(row, self.initial, strict=True)) > bound:
                raise CertificateError("first states are unsafe")


def half_spaces(conditions: list[dict[str, Any]], d: int) -> list[tuple[Vector, Fraction]]:
    """Coefficients a and bound b of conditions a·x <= b."""
    return [(vector(part["coefficients"], d), Fraction(part["bound"])) for part in conditions]


class Template:
    """Directions of the polytopes, and the intervals of the slice."""

    def __init__(self, claim: dict[str, Any], d: int) -> None:
        units = [[Fraction(sign * (i == k)) for i in range(d)] for k in range(d) for sign in (1, -1)]
        slice_ = vector(claim["slice"], d)
        directions = [vector(row, d) for row in claim["directions"]]
        self.rows = [*units, slice_, [-value for value in slice_], *directions]
        self.up = 2 * d
        edges = [Fraction(edge) for edge in claim["edges"]]
        if not _ascending(edges):
            raise CertificateError("the edges of the slice are not in order")
        self.cells: list[tuple[Fraction | None, Fraction | None]] = list(
            zip([None, *edges], [*edges, None], strict=True)
        )


class Leaf(NamedTuple):
    """An action, and the guards of it: directions and limits."""

    action: int
    guards: list[tuple[int, Fraction]]


class Enclosure:
    """An affine enclosure of one step on a box, and the leaves of the policy as they are on it.

    ``goal`` has the directions and limits of conditions at which runs end.
    """

    def __init__(
        self,
        part: dict[str, Any],
        model: PlainModel,
        conditions: Conditions,
        template: Template,
        goal: Sequence[tuple[Vector, Fraction]] = (),
    ) -> None:
        d = conditions.d
        system = conditions.document
        self.box = list(zip(vector(part["bottom"], d), vector(part["top"], d), strict=True))
        conditions.check_box(self.box, "states of an enclosure")
        self.matrix = [vector(row, d) for row in sized(part["matrix"], d)]
        self.variable = index_of(part["variable"], self.box)
        self.edges = [Fraction(edge) for edge in part["edges"]]
        low, high = self.box[self.variable]
        whole = self.edges == [low, high]  # also where the box is flat
        if not whole and not (_ascending(self.edges) and self.edges[0] <= low and high <= self.edges[-1]):
            raise CertificateError("the pieces of an enclosure do not cover its box")
        n_actions = len(system["actions"])
        self._low, self._high = (
            [[vector(row, d) for row in sized(rows, n_actions)] for rows in sized(part[side], len(self.edges) - 1)]
            for side in ("low", "high")
        )
        self._steps = EnclosureChecker(system)
        self._residuals: dict[tuple[int, int], list[tuple[int, int]]] = {}

        error = vector(system["observation_error"], d)
        self.directions = [*template.rows, *(row for row, _ in conditions.slanted)]
        self.watched = [*range(2 * d), *range(len(template.rows), len(self.directions))]
        self.goal = [(len(self.directions) + i, bound) for i, (_, bound) in enumerate(goal)]
        self.directions += [row for row, _ in goal]
        self.leaves = leaves_of(model, system["actions"], self.box, error, self.directions)
        self._powers: list[list[list[int]]] = []
        self._exact = self.directions

    def powers(self, n_steps: int) -> list[list[list[int]]]:
        """Directions times powers of the matrix, as integers (off by less than one)."""
        while len(self._powers) <= n_steps:
            if self._powers:
                columns = list(zip(*self.matrix, strict=True))
                self._exact = [
                    [sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in columns]
                    for row in self._exact
                ]
            self._powers.append([[rounded(value)[0] for value in row] for row in self._exact])
        return self._powers

    def residual(self, piece: int, action: int) -> list[tuple[int, int]]:
        """What a step adds to matrix·x in one piece, once that is confirmed."""
        if (piece, action) not in self._residuals:
            low, high = self._low[piece][action], self._high[piece][action]
            box = list(self.box)
            box[self.variable] = self.edges[piece], self.edges[piece + 1]
            self._steps.check(self.matrix, box, action, low, high)
            self._residuals[piece, action] = [(rounded(a)[0], rounded(b)[1]) for a, b in zip(low, high, strict=True)]
        return self._residuals[piece, action]


def leaves_of(
    model: PlainModel, actions: list[str], box: list[tuple[Fraction, Fraction]], error: Vector, directions: list[Vector]
) -> list[Leaf]:
    """Leaves of all trees, a subtree of one action as one; the directions of their guards are added to the list."""
    d = len(box)
    weights = [vector(row, d) for row in model.weights]
    bias = [Fraction(value) for value in model.bias]
    if any(e < 0 for e in error):
        raise CertificateError("an observation error is negative")
    seen = [max(abs(low), abs(high)) + e for (low, high), e in zip(box, error, strict=True)]
    sizes = [
        abs(b) + sum(abs(w) * x for w, x in zip(row, seen, strict=True)) for row, b in zip(weights, bias, strict=True)
    ]
    if max(sizes) >= 2**1020:
        raise CertificateError("the gate's logits may overflow")
    errors = [(d + 2) * Fraction(1, 2**53) * size + Fraction(1, 2**300) for size in sizes]
    number = [action_number(label, actions) for label in model.classes]
    leaves = []
    for j, tree in enumerate(model.trees):
        rivals = []
        for i in range(len(weights)):
            if i != j:
                row = [a - b for a, b in zip(weights[i], weights[j], strict=True)]
                slack = errors[i] + errors[j] + sum(abs(a) * e for a, e in zip(row, error, strict=True))
                rivals.append((len(directions), bias[j] - bias[i] + slack))
                directions.append(row)
        for action, tests in _parts(tree, number):
            guards = [(2 * k + (sign < 0), sign * threshold + error[k]) for k, sign, threshold in tests]
            leaves.append(Leaf(action, rivals + guards))
    return leaves


def _parts(tree: PlainTree, number: list[int]) -> list[tuple[int, list[tuple[int, int, Fraction]]]]:
    """Action and tests (state, sign, threshold) of every leaf or subtree of one action, from left to right."""
    common: list[int | None] = [number[label] if label >= 0 else None for label in tree.label]
    for node in reversed(range(len(common))):
        if tree.label[node] < 0 and common[tree.left[node]] == common[tree.right[node]]:
            common[node] = common[tree.left[node]]
    parts = []
    stack: list[tuple[int, list[tuple[int, int, Fraction]]]] = [(0, [])]
    while stack:
        node, tests = stack.pop()
        action = common[node]
        if action is not None:
            parts.append((action, tests))
            continue
        k, threshold = tree.feature[node], Fraction(tree.threshold[node])
        stack.append((tree.right[node], [*tests, (k, -1, threshold)]))
        stack.append((tree.left[node], [*tests, (k, 1, threshold)]))
    return parts


def _ascending(values: Vector) -> bool:
    return all(a < b for a, b in pairwise(values))


def index_of(value: Any, items: list[Any]) -> int:
    """Return ``value`` if it is the index of an item."""
    if type(value) is not int or not 0 <= value < len(items):
        raise CertificateError(f"there is no item {value!r}")
    return value
