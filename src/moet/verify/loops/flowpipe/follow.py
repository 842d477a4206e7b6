"""A set of states led from sample to sample, until all that is required of it has been seen."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.model.regression.mixture import RegressionMixture
from moet.verify.checker.certificate import Certificate
from moet.verify.limits import Deadline, Stopped
from moet.verify.loops.flowpipe.conditions import Checked, Where
from moet.verify.loops.flowpipe.forms import Unbounded, on_box
from moet.verify.loops.flowpipe.integrate import Points, Slopes, moved, tube
from moet.verify.loops.flowpipe.policy import Acting, Case, Law, Leaf
from moet.verify.spec import Condition, Requirement
from moet.verify.systems.sampled import SampledSystem
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

PART, SPLIT, END, CASES = 64, 65, 66, 67
_RELAXED, _REDUCED = 1, 2

_COLUMNS_PER_STATE, _COLUMNS_IF_MANY, _MANY_STATES = 40, 10, 12
"""Columns of a set, per state, beyond which older ones are put together; fewer where there are many states, for the
checker's work on a step grows with their cube."""

_AHEAD = (0, 5, 20, 60)
_MOST_GROWTH = 1e8
"""Steps ahead at which boxes are compared, as long as nothing grows more than this."""

_PATIENCE = 60
"""Steps for which a set may come no nearer to where it is to come home."""

_MOST_BRANCHES = 400
"""Sets that one part may be cut into where the policy jumps; beyond this the part itself is cut."""

MOST_STEPS = 100_000


class Failed(Exception):
    """A set does not meet a requirement; ``row`` is what it outgrew, ``columns`` are those of the set then."""

    def __init__(self, time: float, reason: str, excess: float, row: Floats, columns: Floats) -> None:
        super().__init__(reason)
        self.time, self.excess, self.row, self.columns = time, excess, row, columns


class NotHome(Failed):
    """A set does not come home; ``reach`` says how far it is out along each side when it is nearest, 1 being there."""

    def __init__(self, time: float, reach: Floats, columns: Floats) -> None:
        worst = np.eye(len(reach))[int(np.argmax(reach))]
        reason = "runs are not yet in the set that they are to come back to"
        super().__init__(time, reason, float(reach.max() - 1), worst, columns)
        self.reach = reach


class Home(NamedTuple):
    """A parallelotope, middle + frame·[-1, 1]^d."""

    middle: Floats
    frame: Floats
    inverse: Floats


@dataclass
class Script:
    """Records of a proof."""

    codes: array[int] = field(default_factory=lambda: array("B"))
    refs: array[int] = field(default_factory=lambda: array("i"))
    numbers: array[float] = field(default_factory=lambda: array("d"))

    def add(self, code: int, refs: list[int] | None = None, numbers: Floats | None = None) -> None:
        """Append a code and what comes with it."""
        self.codes.append(code)
        self.more(refs or [], numbers)

    def more(self, refs: list[int], numbers: Floats | None = None) -> None:
        """Append what comes with the last code."""
        self.refs.extend(refs)
        if numbers is not None:
            self.numbers.extend(numbers.ravel().tolist())

    def append(self, other: Script) -> None:
        """Append the records of another one."""
        self.codes.extend(other.codes)
        self.refs.extend(other.refs)
        self.numbers.extend(other.numbers)

    def into(self, certificate: Certificate) -> None:
        """Add these records to a certificate."""
        certificate.add(self.codes, self.refs, self.numbers)


class _Aim(NamedTuple):
    """What a set is followed for, in steps of how many parts, and how many of its columns are never put together."""

    spec: list[Checked]
    home: Home | None
    at_home: bool
    substeps: int
    n_first: int


class _Branch(NamedTuple):
    """A set after some steps, what it has reached, and the leaves that alone answer in it."""

    points: Points
    step: int
    done: set[int]
    only: list[Leaf] | None


class Follower:
    """Leads sets of states of a closed loop."""

    def __init__(
        self, model: Mixture | RegressionMixture, system: System, spec: list[Requirement], deadline: Deadline
    ) -> None:
        self.system, self.acting, self.deadline = system, Acting(model, system), deadline
        self.spec = [Checked(part, system) for part in spec]
        self._domain = [Checked(part, system) for part in _inside(system)]
        self.d = system.n_states
        flows = isinstance(system, SampledSystem)
        parameters = system.parameters if isinstance(system, SampledSystem) else {}
        self.parameters = np.array(list(parameters.values()), np.float64).reshape(-1, 2)
        self.period = system.period if isinstance(system, SampledSystem) else Fraction(1)
        self._names = [*system.states, *parameters, *system.controls]
        signals = system.signals if flows and isinstance(system, SampledSystem) else {}
        self._signals = {name: (float((a + b) / 2), float((b - a) / 2)) for name, (a, b) in signals.items()}
        self._disturbance = np.array(system.disturbance, np.float64)
        self.last_map = np.eye(self.d)

    def follow(
        self, middle: Floats, columns: Floats, substeps: int, home: Home | None = None, at_home: bool = False
    ) -> tuple[Script, list[Points]]:
        """Lead a set until all is seen; raises Failed where something is missed."""
        script, n = Script(), len(middle)
        aim = _Aim([part for part in self.spec if not at_home or part.end is None], home, at_home, substeps, 2 * n)
        points = Points(middle, np.concatenate([columns, np.zeros((n, n))], axis=1), np.zeros(self.d))
        waiting, track, count = [_Branch(points, 0, set(), None)], [points], 0
        while waiting:
            count += 1
            if count > _MOST_BRANCHES:
                row = np.zeros(self.d)
                raise Failed(0.0, "the policy jumps in too many places", np.inf, row, waiting[-1].points.columns)
            waiting += reversed(self._branch(waiting.pop(), aim, script, track))
        return script, track

    def _branch(self, branch: _Branch, aim: _Aim, script: Script, track: list[Points]) -> list[_Branch]:
        """Lead a set until all is seen, or until the policy jumps in it: then it is cut in cases."""
        points, first, done, only = branch
        nearest, patience = np.full(self.d, np.inf), _PATIENCE
        for step in range(first, MOST_STEPS):
            time = step * self.period
            if only is None:
                self._look(points, time, aim.spec, done, aim.at_home)
                if self._ends(points, time, aim.spec, done, aim.home, step):
                    script.add(END)
                    return []
                cases = self._cases(points)
                if len(cases) > 1:
                    return self._cut(points, step, done, cases, script)
            self.deadline.look()
            if aim.home is not None:
                reach = self._reach(points, aim.home)
                patience = _PATIENCE if reach.max() < 0.99 * nearest.max() else patience - 1
                nearest = reach if reach.max() < nearest.max() else nearest
                if patience < 0:
                    raise NotHome(float(time), nearest, points.columns)
            try:
                points = self._step(points, time, aim, script, only)
            except Unbounded as stop:
                raise Failed(float(time), str(stop), np.inf, np.zeros(self.d), points.columns) from None
            only = None
            track.append(points)
        raise Stopped(f"sets were followed for {MOST_STEPS} steps without an end")

    def _cases(self, points: Points) -> list[Case]:
        """Where the policy takes which of several constant controls in a set; nothing if its laws may be close."""
        if not self.acting.jumps:
            return []
        seen = self.acting.seen(points.middle[: self.d], points.columns[: self.d])
        return self.acting.cases(seen, self.acting.leaves(seen))

    def _cut(self, points: Points, step: int, done: set[int], cases: list[Case], script: Script) -> list[_Branch]:
        """A branch for each case."""
        sizes = [[len(case.leaves), *(k for leaf in case.leaves for k in (leaf.expert, leaf.node))] for case in cases]
        script.add(CASES, [len(cases), *(ref for refs in sizes for ref in refs)])
        n = len(points.middle)
        branches = []
        for case in cases:
            middle = points.middle + points.columns @ ((case.low + case.high) / 2)
            columns = np.concatenate([points.columns * ((case.high - case.low) / 2), np.zeros((n, n))], axis=1)
            branches.append(_Branch(Points(middle, columns, points.box), step, set(done), case.leaves))
        return branches

    def ends_after(self, middle: Floats, columns: Floats, substeps: int, steps: int) -> Points:
        """Where a set is after some steps, whatever is required on the way."""
        points, script = Points(middle, columns, np.zeros(self.d)), Script()
        aim = _Aim([], None, False, substeps, columns.shape[1])
        for _ in range(steps):
            self.deadline.look()
            points = self._step(points, Fraction(0), aim, script, None)
        return points

    def _ends(
        self, points: Points, time: Fraction, spec: list[Checked], done: set[int], home: Home | None, step: int
    ) -> bool:
        """Whether nothing is left to see."""
        for k, part in enumerate(spec):
            if part.kind == "reach" and k not in done:
                if part.end is not None and time >= part.end:
                    excess = part.excess(Where([points], np.zeros(self.d)))
                    raise Failed(float(time), "the goal is not reached", *excess, points.columns)
                return False
            if part.kind != "reach" and part.end is not None and part.end > time:
                return False
        return home is None or (step > 0 and bool(np.all(self._reach(points, home) <= 1 - 1e-8)))

    def _reach(self, points: Points, home: Home) -> Floats:
        """How far a set goes along each side of a parallelotope, which ends at 1."""
        away = points.middle[: self.d] - home.middle
        return np.asarray(np.abs(home.inverse @ away) + np.abs(home.inverse @ points.columns[: self.d]).sum(axis=1))

    def _look(self, points: Points, time: Fraction, spec: list[Checked], done: set[int], at_home: bool) -> None:
        where = Where([points], np.zeros(self.d))
        flows = isinstance(self.system, SampledSystem)
        for k, part in enumerate(spec):
            start = Fraction(0) if at_home else part.start
            if start > time or (part.end is not None and part.end < time):
                continue
            if part.kind == "reach":
                if k not in done and part.excess(where).value <= 0:
                    done.add(k)
            elif part.kind == "hold" and part.is_linear and not time and not part.start and not at_home:
                pass  # of all first states, that was seen exactly
            elif not flows or time in (start, part.end):
                self._require(part, where, time, step=None if flows or at_home else int(time))
        if not flows or not time:
            for part in self._domain:
                self._require(part, where, time)

    def _require(
        self, part: Checked, where: Where, time: Fraction, known: bool = False, step: int | None = None
    ) -> None:
        excess = part.excess(where, known, step)
        if excess.value > 0:
            reason = "a set that is to be avoided" if part.kind == "avoid" else "a limit"
            raise Failed(float(time), f"{reason} is passed by {excess.value:.3g}", *excess, where.ends[-1].columns)

    def _step(self, points: Points, time: Fraction, aim: _Aim, script: Script, only: list[Leaf] | None) -> Points:
        code = 0
        inner = Script()
        most = _COLUMNS_PER_STATE if self.d <= _MANY_STATES else _COLUMNS_IF_MANY
        if points.columns.shape[1] > aim.n_first + most * self.d:
            code, points = _REDUCED, self._reduced(points, aim.n_first, inner)
        inner.more([aim.substeps])
        states = points.middle[: self.d], points.columns[: self.d]
        seen = self.acting.seen(*states)
        law = self.acting.law(seen, states, self.acting.leaves(seen) if only is None else only)
        if law.given:
            code |= _RELAXED
            _write_law(law, inner)
        script.add(code)
        script.append(inner)
        controls = law.slopes @ seen.middle + law.values + (law.low + law.high) / 2
        shake = (law.high - law.low) / 2 + np.abs(law.slopes) @ seen.errors
        m, n = len(controls), len(points.middle)
        own = np.concatenate([np.zeros((n, m)), np.diag(shake)])
        columns = np.concatenate([np.concatenate([points.columns, law.slopes @ seen.columns]), own], axis=1)
        acting = Points(np.concatenate([points.middle, controls]), columns, np.zeros(self.d))
        if isinstance(self.system, SampledSystem):
            after, matrix = self._flow(acting, time, aim)
        else:
            after, matrix = self._jump(acting)
        if not self.system.observe:
            self.last_map = matrix[:, : self.d] + matrix[:, n:] @ law.slopes
        return Points(after.middle[:n], after.columns[:n], np.zeros(self.d))

    def linearise(self, low: Floats, high: Floats) -> Slopes:
        """Slopes of the equations on a box of states, parameters and controls."""
        middle, radii = (low + high) / 2, (high - low) / 2
        equations = self.system.equations  # type: ignore[attr-defined]
        forms = on_box(equations, self._names, middle, radii, self._signals)
        rows = np.array([form.slopes for form in forms])
        return Slopes(middle, radii, rows, np.array([f.center for f in forms]), np.array([f.radius for f in forms]))

    def _jump(self, points: Points) -> tuple[Points, Floats]:
        slopes = self.linearise(points.middle - points.radii, points.middle + points.radii)
        least, most = self._disturbance.T
        middle = slopes.values + slopes.rows @ (points.middle - slopes.middle) + (least + most) / 2
        box = slopes.rests + (most - least) / 2
        columns = np.concatenate([slopes.rows @ points.columns, np.diag(box)], axis=1)
        return Points(middle, columns, np.zeros(self.d)), slopes.rows

    def _flow(self, points: Points, time: Fraction, aim: _Aim) -> tuple[Points, Floats]:
        h, n = self.period / aim.substeps, len(points.middle)
        total = np.eye(n)
        for k in range(aim.substeps):
            slopes = tube(self.linearise, points, float(h))
            ahead, bend, matrix = moved(points, slopes, float(h))
            total = np.concatenate([matrix @ total, total[self.d :]])
            where, at_end = Where([points, ahead], bend, slopes), Where([ahead], np.zeros(self.d))
            self._between(where, at_end, time + k * h, time + (k + 1) * h, aim.spec, aim.at_home)
            points = ahead
        box = np.concatenate([np.diag(points.box), np.zeros((n - self.d, self.d))])
        columns = np.concatenate([points.columns, box], axis=1)
        return Points(points.middle, columns, np.zeros(self.d)), total[: self.d]

    def _between(
        self, where: Where, at_end: Where, start: Fraction, end: Fraction, spec: list[Checked], at_home: bool
    ) -> None:
        for part in (*spec, *self._domain):
            if part.kind == "reach":
                continue
            begins = Fraction(0) if at_home else part.start
            if begins < end and (part.end is None or part.end > start):
                self._require(part, where, start, known=begins <= start)
            elif begins == end:
                self._require(part, at_end, end)

    def _reduced(self, points: Points, n_first: int, script: Script) -> Points:
        """Put the older half of the columns together, in the coordinates in which that loses least."""
        last = n_first + (points.columns.shape[1] - n_first) // 2
        old = points.columns[: self.d, n_first:last]
        frame = self._frame(old)
        inverse = np.asarray(np.linalg.inv(frame), np.float64)
        script.more([n_first, last])
        script.more([], frame)
        script.more([], inverse)
        sizes = np.abs(inverse @ old).sum(axis=1)
        rest = np.abs(points.columns[self.d :, n_first:last]).sum(axis=1)
        n = len(points.middle)
        box = np.zeros((n, self.d))
        box[: self.d] = frame * sizes
        extra = np.zeros((n, n))
        extra[self.d :, self.d :] = np.diag(rest)
        columns = [points.columns[:, :n_first], box, extra, points.columns[:, last:]]
        return Points(points.middle, np.concatenate(columns, axis=1), points.box)

    def _frame(self, old: Floats) -> Floats:
        """Coordinates in which a box around columns will be smallest, now and after some steps of the loop."""
        size = np.abs(old).sum(axis=1)
        scale = np.where(size > 0, size, 1.0)
        candidates = [np.diag(scale), np.linalg.svd(old / scale[:, None])[0] * scale[:, None]]
        powers = [np.linalg.matrix_power(self.last_map, k) for k in _AHEAD]
        largest = max(float(np.abs(power).max()) for power in powers)
        if not largest < _MOST_GROWTH:
            powers = [np.eye(self.d)]
        for power in powers[1:]:  # a box whose sides are where columns will be wide
            ahead = np.linalg.svd(power @ old / scale[:, None])[0] * scale[:, None]
            if np.linalg.cond(power) < _MOST_GROWTH:
                candidates.append(np.linalg.solve(power, ahead))
        modes = real_modes(self.last_map)
        candidates += [] if modes is None else [modes]
        usable = [frame for frame in candidates if np.linalg.cond(frame / scale[:, None]) < _MOST_GROWTH]
        return min(usable, key=lambda frame: _loss(frame, old, powers))


def _loss(frame: Floats, columns: Floats, powers: list[Floats]) -> float:
    """How much larger a box around columns in the coordinates of a frame is than they are, now and later."""
    box = frame * np.abs(np.linalg.inv(frame) @ columns).sum(axis=1)
    ratios = [np.abs(power @ box).sum(axis=1) / (np.abs(power @ columns).sum(axis=1) + 1e-300) for power in powers]
    return float(np.mean([ratio.mean() for ratio in ratios]))


def real_modes(matrix: Floats) -> Floats | None:
    """Real and imaginary parts of the eigenvectors; None if they are nearly dependent."""
    values, vectors = np.linalg.eig(matrix)
    columns = []
    for value, vector in zip(values, vectors.T, strict=True):
        if value.imag > 0:
            columns += [vector.real, vector.imag]
        elif value.imag == 0:
            columns.append(vector.real)
    frame = np.array(columns).T
    if frame.shape != matrix.shape or np.linalg.cond(frame) > 1e6:
        return None
    return np.asarray(frame / np.abs(frame).max(axis=0))


def _write_law(law: Law, script: Script) -> None:
    numbers = np.concatenate([law.values[:, None], law.slopes], axis=1)
    script.more([len(law.multipliers)], numbers)
    for part in law.multipliers:
        script.more(list(part[:6]), np.array([part.factor]))


def _inside(system: System) -> list[Requirement]:
    """The requirement that runs stay where the description of the system holds."""
    conditions = []
    for k, side in enumerate(system.domain):
        if side is not None:
            for sign, bound in ((1, side[1]), (-1, -side[0])):
                row = tuple(Fraction(sign if i == k else 0) for i in range(system.n_states))
                conditions.append(Condition(row, bound))
    return [Requirement("hold", Fraction(0), None, tuple(conditions))] if conditions else []
