"""What a proof that leads from set to set claims, read with suspicion; standard library only.

The conditions of the system, the template of the sets, and the affine enclosures of one step with the leaves of the
policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache, partial
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.documents.dynamics import Sides, Vector
from moet.verify.checker.documents.model import PlainModel, PlainTree
from moet.verify.checker.documents.system import HalfSpace, PlainSystem
from moet.verify.checker.loops.claims import EnclosureClaim, ascending
from moet.verify.checker.loops.geometry import action_number
from moet.verify.checker.loops.observation import Observation
from moet.verify.checker.loops.sets.enclosures import EnclosureChecker, rounded
from moet.verify.checker.loops.sets.powers import Powers, powers_of, up_to_sign
from moet.verify.checker.meter import Meter


class Conditions:
    """What the system demands of its states: to be in its domain and, unless a goal is all that counts, safe."""

    def __init__(self, system: PlainSystem, must_be_safe: bool = True) -> None:
        self.system = system
        d = self.d = len(system.states)
        self.initial = system.initial
        self.low: list[Fraction | None] = [None] * d
        self.high: list[Fraction | None] = [None] * d
        self.slanted: list[HalfSpace] = []
        for k, side in enumerate(system.domain):
            if side is not None:
                self._narrow(k, *side)
        for row, bound in system.safe if must_be_safe else []:
            used = [k for k in range(d) if row[k]]
            if len(used) > 1:
                self.slanted.append(HalfSpace(row, bound))
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


class Template:
    """Directions of the polytopes, and the intervals of the slice."""

    def __init__(self, slice_: Vector, edges: Vector, directions: list[Vector]) -> None:
        d = len(slice_)
        units = [[Fraction(sign * (i == k)) for i in range(d)] for k in range(d) for sign in (1, -1)]
        self.rows = [*units, slice_, [-value for value in slice_], *directions]
        self.up = 2 * d
        self.cells: list[tuple[Fraction | None, Fraction | None]] = list(
            zip([None, *edges], [*edges, None], strict=True)
        )


class Leaf(NamedTuple):
    """An action, and the guards of it: directions and limits, which are rounded up to integers over 2^BITS."""

    action: int
    guards: list[tuple[int, int]]


class Enclosure:
    """An affine enclosure of one step on a box, and the leaves of the policy as they are on it.

    ``goal`` has the directions and limits of conditions at which runs end.
    """

    def __init__(
        self,
        claim: EnclosureClaim,
        model: PlainModel,
        conditions: Conditions,
        template: Template,
        meter: Meter,
        goal: Sequence[HalfSpace] = (),
    ) -> None:
        d = conditions.d
        system = conditions.system
        self.box = claim.box
        conditions.check_box(self.box, "states of an enclosure")
        self.matrix, self.variable, self.edges = claim.matrix, claim.variable, claim.edges
        low, high = self.box[self.variable]
        if self.edges != [low, high]:  # these may be equal, where the box is flat
            ascending(self.edges, "the edges of an enclosure")
            if len(self.edges) < 2 or low < self.edges[0] or high > self.edges[-1]:
                raise CertificateError("the pieces of an enclosure do not cover its box")
        self._low, self._high = claim.low, claim.high
        self._steps = EnclosureChecker(system, meter)
        self._residuals: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._meter = meter

        self.directions = [*template.rows, *(row for row, _ in conditions.slanted)]
        self.watched = [*range(2 * d), *range(len(template.rows), len(self.directions))]
        self.goal = [(len(self.directions) + i, bound) for i, (_, bound) in enumerate(goal)]
        self.directions += [row for row, _ in goal]
        observation = Observation(system.noise, system.float32)
        self.leaves = leaves_of(model, system.actions, self.box, observation, self.directions, meter)
        self.same = up_to_sign(self.directions)
        self._powers: Powers = []
        self._sizes: dict[int, dict[int, list[int]]] = {}

    def powers(self, n_steps: int) -> Powers:
        """Directions times powers of the matrix, by step, as integers over 2^BITS (off by less than one)."""
        if len(self._powers) <= n_steps:
            place = {q: i for i, q in enumerate(dict.fromkeys(self.same))}
            known = powers_of(self.matrix, [self.directions[q] for q in place], n_steps, self._meter)
            turned = [self.directions[q] != self.directions[same] for q, same in enumerate(self.same)]
            self._powers = [
                [
                    [-value for value in rows[place[same]]] if turned[q] else rows[place[same]]
                    for q, same in enumerate(self.same)
                ]
                for rows in known
            ]
        return self._powers

    def sizes(self, n_steps: int) -> dict[int, list[int]]:
        """Powers of every direction (one of those that are the same up to sign) from the last but one to the first.

        They are in a row, without sign, and no less than the true ones.
        """
        if n_steps not in self._sizes:
            powers = self.powers(n_steps)[:n_steps]
            self._sizes[n_steps] = {
                q: [abs(value) + 1 for rows in reversed(powers) for value in rows[q]] for q in set(self.same)
            }
        return self._sizes[n_steps]

    def residual(self, piece: int, action: int) -> list[tuple[int, int]]:
        """What a step adds to matrix·x in one piece, once that is confirmed."""
        if (piece, action) not in self._residuals:
            low, high = self._low[piece][action], self._high[piece][action]
            box = list(self.box)
            box[self.variable] = self.edges[piece], self.edges[piece + 1]
            self._steps.check(self.matrix, box, action, low, high)
            self._residuals[piece, action] = [(rounded(a)[0], rounded(b)[1]) for a, b in zip(low, high, strict=True)]
        return self._residuals[piece, action]


_PER_FRACTION = 100
"""Units that a difference, a product and a sum of fractions take."""


def leaves_of(
    model: PlainModel,
    actions: list[str],
    box: Sides,
    observation: Observation,
    directions: list[Vector],
    meter: Meter,
) -> list[Leaf]:
    """Leaves of all trees, a subtree of one action as one; the directions of their guards are added to the list."""
    d = len(box)
    meter.hold(len(model.bias) ** 2 * d)
    meter.spend(len(model.bias) ** 2 * (d + 1) * _PER_FRACTION)
    weights = [[Fraction(weight) for weight in row] for row in model.weights]
    bias = [Fraction(value) for value in model.bias]
    largest = [max(abs(low), abs(high)) for low, high in box]
    error = observation.errors(largest)
    seen = [most + e for most, e in zip(largest, error, strict=True)]
    sizes = [
        abs(b) + sum(abs(w) * x for w, x in zip(row, seen, strict=True)) for row, b in zip(weights, bias, strict=True)
    ]
    if max(sizes) >= 2**1020:
        raise CertificateError("the gate's logits may overflow")
    errors = [(d + 2) * Fraction(1, 2**53) * size + Fraction(1, 2**300) for size in sizes]
    number = [action_number(label, actions) for label in model.classes]
    guard = cache(partial(_guard, observation))  # deep trees ask for the same ones again and again
    leaves = []
    for j, tree in enumerate(model.trees):
        rivals = []
        for i in range(len(weights)):
            if i != j:
                row = [a - b for a, b in zip(weights[i], weights[j], strict=True)]
                slack = errors[i] + errors[j] + sum(abs(a) * e for a, e in zip(row, error, strict=True))
                rivals.append((len(directions), rounded(bias[j] - bias[i] + slack)[1]))
                directions.append(row)
        for action, tests in _parts(tree, number, meter):
            meter.hold(2 * (len(rivals) + len(tests)))
            leaves.append(Leaf(action, rivals + [guard(test) for test in tests]))
    return leaves


Test = tuple[int, bool, float]
"""A state, whether it is seen at most (or above) a threshold, and the threshold."""


def _guard(observation: Observation, test: Test) -> tuple[int, int]:
    """Direction and limit of the states that may pass a test."""
    k, below, threshold = test
    if below:
        return 2 * k, rounded(observation.largest_below(k, threshold))[1]
    return 2 * k + 1, rounded(-observation.least_above(k, threshold))[1]


def _parts(tree: PlainTree, number: list[int], meter: Meter) -> list[tuple[int, list[Test]]]:
    """Action and tests of every leaf or subtree of one action, from left to right."""
    common: list[int | None] = [number[label] if label >= 0 else None for label in tree.label]
    for node in reversed(range(len(common))):
        if tree.label[node] < 0 and common[tree.left[node]] == common[tree.right[node]]:
            common[node] = common[tree.left[node]]
    parts = []
    stack: list[tuple[int, list[Test]]] = [(0, [])]
    while stack:
        node, tests = stack.pop()
        action = common[node]
        if action is not None:
            parts.append((action, tests))
            continue
        meter.hold(2 * len(tests) + 2)
        k, threshold = tree.feature[node], tree.threshold[node]
        stack.append((tree.right[node], [*tests, (k, False, threshold)]))
        stack.append((tree.left[node], [*tests, (k, True, threshold)]))
    return parts
