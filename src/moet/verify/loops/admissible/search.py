"""The largest set in which one affine law holds a system: the maximal output admissible set ([1]_), as a polytope.

A state is admissible if the run that begins in it keeps all limits, those of the controls included. Each limit, looked
at so many steps ahead, is a half-space; what is implied by those before is left out, and when all of one step is, the
rest is, too. Disturbance and rounding make a limit tighter with every step.

References
----------
.. [1] E. G. Gilbert, K. T. Tan. Linear systems with state and control constraints: the theory and application of
   maximal output admissible sets. IEEE Transactions on Automatic Control 36 (9), 1991.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.file import digest
from moet.model.regression.mixture import RegressionMixture
from moet.verify.checker.certificate import Certificate
from moet.verify.confirm import confirmed
from moet.verify.limits import Deadline, Stopped
from moet.verify.loops.admissible.polytope import Multipliers, Polytope
from moet.verify.loops.admissible.step import Law, Step, Vector, law_on, step_on
from moet.verify.loops.flowpipe.forms import OVERFLOWS, Unbounded
from moet.verify.loops.sets.enclosures import limits_of
from moet.verify.result import Proved, Unknown, Verdict
from moet.verify.spec import Requirement
from moet.verify.systems.description import float_above
from moet.verify.systems.discrete import AffineSystem
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

KIND = "admissible"

_MOST_ROWS = 1500
_MOST_STEPS = 1000
_SHARES = (1.0, 0.5, 0.25, 0.1)
"""Parts of the safe box that are tried for equations that are not affine: the smaller, the closer they are to it."""

_CLEARLY = 1e-9
"""What is implied by so little, relative to its size, counts as not implied: a proof must survive rounding."""

_BEYOND = 1e-3
"""A box around a polytope is larger than it by this share."""


class Limit(NamedTuple):
    """row·x <= bound."""

    row: Vector
    bound: Fraction


def is_asked(mixture: RegressionMixture, system: System, spec: Sequence[Requirement]) -> bool:
    """Whether this is a question about one affine law that sees the states, and linear conditions for ever."""
    return (
        mixture.n_experts == 1
        and mixture.trees[0].n_nodes == 1
        and not system.observe
        and all(part.kind == "hold" and not part.start and part.end is None for part in spec)
        and not any(condition.norms for part in spec for condition in part.conditions)
    )


def held_for_ever(
    mixture: RegressionMixture, system: System, spec: Sequence[Requirement], deadline: Deadline
) -> Verdict:
    """Prove that a law holds a system for ever, by its admissible set."""
    reason = "no admissible set was found"
    for share in _SHARES[:1] if isinstance(system, AffineSystem) else _SHARES:
        try:
            certificate = _Search(mixture, system, spec, deadline).certificate(share)
        except (Stopped, Unbounded) as stop:
            reason = str(stop)
            continue
        except OVERFLOWS:
            reason = "numbers grow beyond the range of float64"
            continue
        found = Proved(certificate=certificate, effort={"seconds": deadline.seconds})
        verdict = confirmed(found, mixture, system, deadline=deadline)
        if isinstance(verdict, Proved):
            return verdict
        reason = verdict.reason
    return Unknown(reason=reason, effort={"seconds": deadline.seconds})


class _Search:
    """Grows the polytope of one law from limits of one step after another."""

    def __init__(
        self, mixture: RegressionMixture, system: System, spec: Sequence[Requirement], deadline: Deadline
    ) -> None:
        self._mixture, self._system, self._spec, self._deadline = mixture, system, spec, deadline
        self._conditions = [
            Limit(list(condition.coefficients), condition.bound) for part in spec for condition in part.conditions
        ]

    def certificate(self, share: float) -> Certificate:
        """A certificate; raises Stopped if there is none."""
        low, high = self._box(share)
        for _ in range(2):
            step = step_on(self._system, self._mixture, *_finite(low, high), self._deadline)
            low, high = low + step.bend, high - step.bend
            law = law_on(self._system, self._mixture, *_finite(low, high))
            base = self._base(step, law)
            grown = _Grown(self._system, step, law, base, low, high, self._deadline)
            if np.all(np.isfinite(low) & np.isfinite(high)):
                return self._written(grown, base)
            low, high = grown.bounding_box()
        raise Stopped("the limits do not bound all states")

    def _box(self, share: float) -> tuple[Floats, Floats]:
        """Sides of the safe set and of the domain; of a part of it around the first states if that is wanted."""
        low, high = limits_of(self._system)
        first = np.array([[float(a), float(b)] for a, b in self._system.initial])
        if share == 1.0:
            return low, high
        middle = first.mean(axis=1)
        return (
            np.minimum(first[:, 0], middle + share * (low - middle)),
            np.maximum(first[:, 1], middle + share * (high - middle)),
        )

    def _base(self, step: Step, law: Law) -> list[Limit]:
        """Limits of states, and of controls, at one time: as the checker asks about them, in its order."""
        found = []
        for row, bound in self._conditions:
            bend = Fraction(float(np.abs(np.array(row, np.float64)) @ step.bend))
            found.append(Limit(row, bound - bend))
        for gain, constant, error, low, high in zip(*law, strict=True):
            row = [Fraction(a) for a in gain.tolist()]
            found.append(Limit(row, Fraction(high) - Fraction(error) - Fraction(constant)))
            found.append(Limit([-a for a in row], Fraction(constant) - Fraction(error) - Fraction(low)))
        return found

    def _written(self, grown: _Grown, base: list[Limit]) -> Certificate:
        claim = {
            "model": digest(self._mixture),
            "system": self._system.digest,
            "name": self._system.name,
            "spec": [part.document() for part in self._spec],
            **grown.document(),
        }
        certificate = Certificate(KIND, claim)
        for limit in (*base, *map(grown.ahead, grown.sides())):
            _write(certificate, grown.multipliers(limit))
        return certificate


def _finite(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """A box for what does not depend on it: sides that are missing are taken to be far away."""
    return np.where(np.isfinite(low), low, -1e3), np.where(np.isfinite(high), high, 1e3)


def _write(certificate: Certificate, multipliers: Multipliers) -> None:
    refs = array("i", [len(multipliers), *multipliers])
    certificate.add(bytes([1]), refs, array("d", multipliers.values()))


class _Grown:
    """The polytope of a law, grown until a step leads from it into it."""

    def __init__(
        self, system: System, step: Step, law: Law, base: list[Limit], low: Floats, high: Floats, deadline: Deadline
    ) -> None:
        self._step, self._law, self._deadline = step, law, deadline
        self._first = np.array([[float(a), float(b)] for a, b in system.initial])
        self._exact_first = system.initial
        self._ends = [_exact_sides(system, low, high, k) for k in range(system.n_states)]
        self.polytope = Polytope(*_finite(low, high))
        gain = [[Fraction(a) for a in row] for row in law.gain.tolist()]
        self._loop = [
            [a + sum((b * k[j] for b, k in zip(inputs, gain, strict=True)), Fraction(0)) for j, a in enumerate(row)]
            for row, inputs in zip(step.matrix, step.inputs, strict=True)
        ]
        constant = [Fraction(a) for a in law.constant.tolist()]
        self._constant = [
            offset + sum((b * c for b, c in zip(inputs, constant, strict=True)), Fraction(0))
            for offset, inputs in zip(step.offset, step.inputs, strict=True)
        ]
        self._images: dict[tuple[Fraction, ...], int] = {}
        self._bounded = bool(np.all(np.isfinite(low) & np.isfinite(high)))
        self._grow(base)
        if self._bounded:
            self._prune()

    def _grow(self, base: list[Limit]) -> None:
        waiting = [limit for limit in base if self._is_new(limit)]
        waiting += [limit for limit in self.sides(only_box=True) if limit not in waiting]
        for _ in range(_MOST_STEPS):
            ahead = [limit for limit in map(self.ahead, waiting) if self._is_new(limit)]
            if not ahead:
                return
            waiting = ahead
        raise Stopped(f"limits matter more than {_MOST_STEPS} steps ahead")

    def _is_new(self, limit: Limit) -> bool:
        """Add a limit unless it is implied."""
        self._deadline.look()
        row = np.array(limit.row, np.float64)
        if not row.any() or self._is_implied(limit, frozenset()):
            return False
        if most_in(self._exact_first, limit.row) > limit.bound:
            raise Stopped("first states are not admissible: the law leads them beyond a limit, or is clipped")
        if len(self.polytope.rows) >= _MOST_ROWS:
            raise Stopped(f"the admissible set has more than {_MOST_ROWS} sides")
        self._images[tuple(limit.row)] = self.polytope.add(limit.row, limit.bound)
        return True

    def _is_implied(self, limit: Limit, without: frozenset[int]) -> bool:
        row = np.array(limit.row, np.float64)
        enough = float(limit.bound) - _CLEARLY * self.polytope.size_of(row)
        if self._bounded and (self._in_box(limit) or self.polytope.most_in_box(row) <= enough):
            return True
        return self.polytope.most(row, without)[0] <= enough

    def _in_box(self, limit: Limit) -> bool:
        """Whether the box alone implies it, exactly."""
        return most_in(self._ends, limit.row) <= limit.bound

    def _prune(self) -> None:
        """Leave out what the others imply, last ones first."""
        gone: set[int] = set()
        for k in reversed(range(len(self.polytope.rows))):
            self._deadline.look()
            limit = Limit(self.polytope.rows[k], self.polytope.limits[k])
            if self._is_implied(limit, frozenset(gone | {k})):
                gone.add(k)
        kept = [
            (r, b)
            for k, (r, b) in enumerate(zip(self.polytope.rows, self.polytope.limits, strict=True))
            if k not in gone
        ]
        self.polytope = Polytope(self.polytope.low, self.polytope.high)
        self._images = {tuple(row): self.polytope.add(row, bound) for row, bound in kept}

    def ahead(self, limit: Limit) -> Limit:
        """What must be so now for a limit to be kept one step later; the row is rounded to float64."""
        exact = [
            sum((a * m[j] for a, m in zip(limit.row, self._loop, strict=True) if a), Fraction(0))
            for j in range(len(limit.row))
        ]
        rounded = [Fraction(float(a)) for a in exact]
        row = np.array(limit.row, np.float64)
        pushes = [
            sum((a * b[k] for a, b in zip(limit.row, self._step.inputs, strict=True) if a), Fraction(0))
            for k in range(len(self._law.error))
        ]
        lost = Fraction(float(np.abs(row) @ self._step.rest))
        lost += sum((abs(p) * Fraction(e) for p, e in zip(pushes, self._law.error.tolist(), strict=True)), Fraction(0))
        largest = np.maximum(np.abs(self.polytope.low), np.abs(self.polytope.high)).tolist()
        lost += sum((abs(a - b) * Fraction(x) for a, b, x in zip(exact, rounded, largest, strict=True)), Fraction(0))
        shift = sum((a * c for a, c in zip(limit.row, self._constant, strict=True) if a), Fraction(0))
        return Limit(rounded, _short(limit.bound - shift - lost * Fraction(1 + 1e-6)))

    def multipliers(self, limit: Limit) -> Multipliers:
        """Multipliers that show a limit in the polytope."""
        place = self._images.get(tuple(limit.row))
        if self._in_box(limit):
            return {}
        if place is not None and self.polytope.limits[place] <= limit.bound:
            return {place: 1.0}
        return self.polytope.most(np.array(limit.row, np.float64))[1]

    def sides(self, *, only_box: bool = False) -> Iterator[Limit]:
        """All conditions of the polytope: those of the box, state by state, then its half-spaces."""
        d = len(self._ends)
        for k, (low, high) in enumerate(self._ends):
            for sign, bound in ((1, high), (-1, -low)):
                if abs(bound) < _FAR:
                    yield Limit([Fraction(sign if i == k else 0) for i in range(d)], bound)
        if not only_box:
            yield from map(Limit, self.polytope.rows, self.polytope.limits)

    def bounding_box(self) -> tuple[Floats, Floats]:
        """A box around the polytope, a little larger."""
        eye = np.eye(len(self._ends))
        high = np.array([self.polytope.most(row)[0] for row in eye])
        low = -np.array([self.polytope.most(-row)[0] for row in eye])
        if max(np.abs(low).max(), np.abs(high).max()) >= float(_FAR) / 2:
            raise Stopped("the limits do not bound all states")
        room = _BEYOND * (high - low)
        return low - room, high + room

    def document(self) -> dict[str, object]:
        """The polytope as plain JSON with exact numbers."""
        return {
            "box": [[str(a), str(b)] for a, b in self._ends],
            "rows": [[float(a) if Fraction(float(a)) == a else str(a) for a in row] for row in self.polytope.rows],
            "limits": [str(bound) for bound in self.polytope.limits],
        }


_FAR = Fraction(1000)


def _exact_sides(system: System, low: Floats, high: Floats, k: int) -> tuple[Fraction, Fraction]:
    """Sides of a box as exact numbers: those of the safe set as they are written."""
    ends = [
        -_FAR if not np.isfinite(low[k]) else Fraction(low[k]),
        _FAR if not np.isfinite(high[k]) else Fraction(high[k]),
    ]
    for half in system.safe:
        used = [j for j, a in enumerate(half.coefficients) if a]
        if used == [k]:
            bound = half.bound / half.coefficients[k]
            side = 1 if half.coefficients[k] > 0 else 0
            if abs(float(bound) - float(ends[side])) <= 1e-12 * max(1.0, abs(float(bound))):
                ends[side] = bound
    return ends[0], ends[1]


def most_in(box: Sequence[tuple[Fraction, Fraction]], row: Vector) -> Fraction:
    """Largest value of row·x in a box."""
    return sum((max(a * low, a * high) for a, (low, high) in zip(row, box, strict=True) if a), Fraction(0))


def _short(value: Fraction) -> Fraction:
    """A number as it is if it is short, else the float64 below it."""
    return value if value.denominator < 2**60 else Fraction(-float_above(-value))
