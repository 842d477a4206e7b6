"""Checker of affine enclosures of one step, in integers only. Standard library only; the search does not use it.

For the claim that step(x) − matrix·x lies between two bounds on a box, the box is cut until on every piece either the
plain interval value or the mean value form f(m) + f'(X)·(X − m) shows it. Every state is shown for itself: as long as
several want the same variable cut they share the work, and then they part. Were all of them cut where one of them asks
for it, there would be as many pieces as the product of what each needs.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.documents.dynamics import Affine, Equations
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.loops.equations import Operations
from moet.verify.checker.loops.intervals import BITS, Interval, Undefined, add, negative, rounded, times
from moet.verify.checker.meter import Meter

__all__ = ["BITS", "EnclosureChecker", "rounded"]

MAX_BOXES = 4000
"""Boxes that one claim may be cut into, for each state."""

Box = list[tuple[Fraction, Fraction]]


class _Claim(NamedTuple):
    """What is claimed of one action: rows of the matrix without zeros, and what remains within the bounds."""

    action: int
    rows: list[dict[int, Interval]]
    allowed: list[Interval]


class EnclosureChecker:
    """Checks claims about one step of a system."""

    def __init__(self, system: PlainSystem, meter: Meter) -> None:
        self.disturbance = system.disturbance
        self._meter = meter
        self._affine = system.dynamics if isinstance(system.dynamics, Affine) else None
        if isinstance(system.dynamics, Equations):
            self._operations = Operations(system.states, len(system.actions), system.dynamics)

    def check(
        self, matrix: list[list[Fraction]], box: Box, action: int, low: list[Fraction], high: list[Fraction]
    ) -> None:
        """Confirm that step(x) − matrix·x, with any disturbance, lies between ``low`` and ``high`` for x in the box."""
        allowed = [(a - noise[0], b - noise[1]) for a, b, noise in zip(low, high, self.disturbance, strict=True)]
        if self._affine is not None:
            holds = self._affine_holds(self._affine, matrix, box, action, allowed)
        else:
            rows = [{k: rounded(value) for k, value in enumerate(row) if value} for row in matrix]
            claim = _Claim(action, rows, [(rounded(a)[1], rounded(b)[0]) for a, b in allowed])
            holds = self._holds(claim, [(rounded(a)[0], rounded(b)[1]) for a, b in box])
        if not holds:
            raise CertificateError(f"a model of the step does not hold for action {action}")

    def _affine_holds(
        self,
        affine: Affine,
        matrix: list[list[Fraction]],
        box: Box,
        action: int,
        allowed: list[tuple[Fraction, Fraction]],
    ) -> bool:
        self._meter.spend(100 * len(box) ** 2)
        for row, given, offset, (least, most) in zip(
            affine.matrix, matrix, affine.offsets[action], allowed, strict=True
        ):
            ends = [sorted(((a - b) * x[0], (a - b) * x[1])) for a, b, x in zip(row, given, box, strict=True)]
            if offset + sum(end[0] for end in ends) < least or offset + sum(end[1] for end in ends) > most:
                return False
        return True

    def _holds(self, claim: _Claim, box: list[Interval]) -> bool:
        waiting = [(box, tuple(range(len(box))))]
        n_boxes = [0] * len(box)
        while waiting:
            piece, states = waiting.pop()
            self._meter.spend(20 * self._operations.size * (1 + len(box)))
            apart: dict[int, list[int]] = {}
            for i, variable in self._failing(claim, piece, states):
                n_boxes[i] += 1
                if n_boxes[i] > MAX_BOXES:
                    return False
                apart.setdefault(variable, []).append(i)
            for k, together in apart.items():
                low, high = piece[k]
                middle = (low + high) >> 1
                if not low < middle < high:
                    return False
                for half in ((low, middle), (middle, high)):
                    waiting.append(([*piece[:k], half, *piece[k + 1 :]], tuple(together)))
        return True

    def _failing(self, claim: _Claim, box: list[Interval], states: tuple[int, ...]) -> list[tuple[int, int]]:
        """States whose bounds are not shown on a box, each with the variable to cut for it."""
        operations = self._operations
        try:
            values = operations.values(states, box, claim.action, slopes=True)
            open_ = [
                (i, value, plain)
                for i, value in zip(states, values, strict=True)
                if not _within(plain := _less(value[0], claim.rows[i], box), claim.allowed[i])
            ]
            if not open_:
                return []
            middle = [((low + high) >> 1,) * 2 for low, high in box]
            centre = operations.values(tuple(i for i, _, _ in open_), middle, claim.action, slopes=False)
        except Undefined:
            return [(i, self._widest(box, i, claim)) for i in states]
        failing = []
        for (i, (_, slopes), plain), (value, _) in zip(open_, centre, strict=True):
            if slopes is None:
                failing.append((i, self._widest(box, i, claim)))
                continue
            row = claim.rows[i]
            found = _less(value, row, middle)
            worst = cut = -1
            for k in slopes.keys() | row.keys():
                slope = add(slopes.get(k, (0, 0)), negative(row.get(k, (0, 0))))
                change = times(slope, (box[k][0] - middle[k][0], box[k][1] - middle[k][0]))
                found = add(found, change)
                if change[1] - change[0] > worst:
                    worst, cut = change[1] - change[0], k
            if not _within((max(found[0], plain[0]), min(found[1], plain[1])), claim.allowed[i]):
                failing.append((i, max(cut, 0)))
        return failing

    def _widest(self, box: list[Interval], i: int, claim: _Claim) -> int:
        """Widest variable of a box among those that state i depends on."""
        used = [*self._operations.variables[i], *claim.rows[i]] or [0]
        return max(used, key=lambda k: box[k][1] - box[k][0])


def _less(value: Interval, row: dict[int, Interval], box: list[Interval]) -> Interval:
    """``value`` − row·x for x in the box."""
    for k, factor in row.items():
        value = add(value, negative(times(factor, box[k])))
    return value


def _within(found: Interval, allowed: Interval) -> bool:
    return allowed[0] <= found[0] and found[1] <= allowed[1]
