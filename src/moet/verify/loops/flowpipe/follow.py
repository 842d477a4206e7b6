"""A set of states led from sample to sample, until all that is required of it has been seen."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.model.regression.mixture import RegressionMixture
from moet.verify.limits import Deadline, Stopped
from moet.verify.loops.flowpipe.conditions import Checked, Where
from moet.verify.loops.flowpipe.failed import Failed, NotHome, TooManyJumps
from moet.verify.loops.flowpipe.forms import OVERFLOWS, Unbounded
from moet.verify.loops.flowpipe.goals import GoalParts, cut_at_goal, kept
from moet.verify.loops.flowpipe.integrate import Points, Slopes
from moet.verify.loops.flowpipe.motion import Motion
from moet.verify.loops.flowpipe.pace import Pace
from moet.verify.loops.flowpipe.parting import parts_ways
from moet.verify.loops.flowpipe.picard import DEGREE
from moet.verify.loops.flowpipe.policy import Acting, Case, Law, Leaf, Seen, still_answering
from moet.verify.loops.flowpipe.reduce import reduced
from moet.verify.loops.flowpipe.script import ASIDE, CASES, CURVED, END, GOAL, REDUCED, RELAXED, Script
from moet.verify.loops.flowpipe.turning import Beginning, Turning
from moet.verify.spec import Condition, Requirement
from moet.verify.systems.sampled import SampledSystem
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

_COLUMNS_PER_STATE, _COLUMNS_IF_MANY, _MANY_STATES = 40, 10, 12
"""Columns of a set, per state, beyond which older ones are put together; fewer where there are many states, for the
checker's work on a step grows with their cube."""

_PATIENCE = 60
"""Steps for which a set may come no nearer to where it is to come home."""

FEW_BRANCHES, MANY_BRANCHES = 100, 400
"""Sets that one part may be cut into where the policy jumps: at first, and where nothing else does."""

MOST_STEPS = 100_000


class Home(NamedTuple):
    """A parallelotope, middle + frame·[-1, 1]^d."""

    middle: Floats
    frame: Floats
    inverse: Floats


class _Aim(NamedTuple):
    """What a set is followed for, at which pace, how many of its columns are never put together, and up to when."""

    spec: list[Checked]
    home: Home | None
    at_home: bool
    pace: Pace
    n_first: int
    until: int | None = None


class Branch(NamedTuple):
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
        self.motion = Motion(system)
        parameters = system.parameters if isinstance(system, SampledSystem) else {}
        self.parameters = np.array(list(parameters.values()), np.float64).reshape(-1, 2)
        self.period = system.period if isinstance(system, SampledSystem) else Fraction(1)
        self._memory = system.memory if isinstance(system, SampledSystem) else {}
        self.last_scheduled = max((len(entries) - 1 for entries in system.schedule.values()), default=0)
        self.last_map = np.eye(self.d)
        self.most_branches, self.cuts = FEW_BRANCHES, self.acting.jumps
        self._turning = Turning(system) if isinstance(system, SampledSystem) else None

    def started(self, middle: Floats, columns: Floats) -> Points:
        """A set as the checker begins with it: each coordinate has a column for what rounding loses."""
        n = len(middle)
        return Points(middle, np.concatenate([columns, np.zeros((n, n))], axis=1), np.zeros(self.d))

    def follow(
        self, middle: Floats, columns: Floats, pace: Pace, home: Home | None = None, at_home: bool = False
    ) -> Script:
        """Lead a set until all is seen; raises Failed where something is missed."""
        script, n = Script(), len(middle)
        aim = _Aim([part for part in self.spec if not at_home or part.end is None], home, at_home, pace, 2 * n)
        self._to_the_end(Branch(self.started(middle, columns), 0, set(), None), aim, script)
        return script

    def one_step(self, branch: Branch, pace: Pace, script: Script) -> list[Branch]:
        """Lead a set for a step and put aside what comes out, unless all is seen of it."""
        aim = _Aim(self.spec, None, False, pace, 2 * len(branch.points.middle), branch.step + 1)
        return self._to_the_end(branch, aim, script)

    def _to_the_end(self, branch: Branch, aim: _Aim, script: Script) -> list[Branch]:
        """Lead a set, and those that it is cut into, as far as it is to go; returns what is put aside."""
        waiting, count = [branch], 0
        aside: list[Branch] = []
        while waiting:
            count += 1
            if count > self.most_branches:
                raise TooManyJumps(waiting[-1].points.columns, self.d)
            waiting += reversed(self._branch(waiting.pop(), aim, script, aside))
        return aside

    def _branch(self, branch: Branch, aim: _Aim, script: Script, aside: list[Branch]) -> list[Branch]:
        """Lead a set until all is seen, or until the policy jumps in it: then it is cut in cases."""
        points, first, done, only = branch
        nearest, patience = np.full(self.d, np.inf), _PATIENCE
        for step in range(first, MOST_STEPS):
            time = step * self.period
            if only is None:
                self._look(points, time, aim.spec, done, aim.at_home)
                if self._ends(points, time, aim, done, step):
                    script.add(END)
                    return []
                if step == aim.until:
                    script.add(ASIDE)
                    aside.append(Branch(points, step, done, None))
                    return []
                parts = self._at_goal(points, time, aim.spec, done)
                if parts is not None:
                    script.add(GOAL, parts.refs)
                    return [Branch(part, step, reached, None) for part, reached in parts.sets]
                cases = self._cases(points, step)
                if len(cases) > 1:
                    return self._cut(points, step, done, cases, script)
            self.deadline.look()
            if aim.home is not None and self._may_be_home(aim, step):
                reach = self._reach(points, aim.home)
                patience = _PATIENCE if reach.max() < 0.99 * nearest.max() else patience - 1
                nearest = reach if reach.max() < nearest.max() else nearest
                if patience < 0:
                    raise NotHome(float(time), nearest, points.columns)
            try:
                points = self._step(points, time, aim, script, only)
            except (Unbounded, *OVERFLOWS) as stop:
                reason = str(stop) if isinstance(stop, Unbounded) else "sets grow beyond the range of float64"
                raise Failed(float(time), reason, np.inf, np.zeros(self.d), points.columns) from None
            only = None
        raise Stopped(f"sets were followed for {MOST_STEPS} steps without an end")

    def _cases(self, points: Points, step: int) -> list[Case]:
        """Where the policy takes which of several laws in a set; nothing if one law is close enough to all of them."""
        if not self.acting.changes:
            return []
        seen = self.acting.seen(points.middle[: self.d], points.columns[: self.d])
        cases = self.acting.cases(seen, self.acting.leaves(seen))
        if self.cuts or len(cases) < 2 or parts_ways(self.acting, points, cases, step):
            return cases
        return []

    def _cut(self, points: Points, step: int, done: set[int], cases: list[Case], script: Script) -> list[Branch]:
        """A branch for each case."""
        sizes = [[len(case.leaves), *(k for leaf in case.leaves for k in (leaf.expert, leaf.node))] for case in cases]
        script.add(CASES, [len(cases), *(ref for refs in sizes for ref in refs)])
        return [Branch(kept(points, case.low, case.high), step, set(done), case.leaves) for case in cases]

    def ends_after(self, middle: Floats, columns: Floats, pace: Pace, steps: int) -> Points:
        """Where a set is after some steps, whatever is required on the way."""
        points, script = Points(middle, columns, np.zeros(self.d)), Script()
        aim = _Aim([], None, False, pace, columns.shape[1])
        for _ in range(steps):
            self.deadline.look()
            points = self._step(points, Fraction(0), aim, script, None)
        return points

    def _ends(self, points: Points, time: Fraction, aim: _Aim, done: set[int], step: int) -> bool:
        """Whether nothing is left to see."""
        home = aim.home
        for k, part in enumerate(aim.spec):
            if part.kind == "reach" and k not in done:
                if part.end is not None and time >= part.end:
                    excess = part.excess(Where([points], np.zeros(self.d)))
                    raise Failed(float(time), "the goal is not reached", *excess, points.columns)
                return False
            if part.kind != "reach" and part.end is not None and part.end > time:
                return False
        if home is None:
            return True
        return self._may_be_home(aim, step) and bool(np.all(self._reach(points, home) <= 1 - 1e-8))

    def _may_be_home(self, aim: _Aim, step: int) -> bool:
        """Whether coming home counts: at home not before a step is made, elsewhere not before schedules have ended."""
        return step > 0 and (aim.at_home or step >= self.last_scheduled)

    def _at_goal(self, points: Points, time: Fraction, spec: list[Checked], done: set[int]) -> GoalParts | None:
        """A set that is partly in a goal, cut at its limits, if that ends the question for the part that is there."""
        open_goals = [k for k, part in enumerate(spec) if part.kind == "reach" and k not in done]
        others = [part for part in spec if part.kind != "reach" and part.end is not None and part.end > time]
        if len(open_goals) != 1 or others:
            return None
        k = open_goals[0]
        if not spec[k].is_linear or time < spec[k].start:
            return None
        return cut_at_goal(points, k, spec[k], done)

    def _reach(self, points: Points, home: Home) -> Floats:
        """How far a set goes along each side of a parallelotope, which ends at 1."""
        away = points.middle[: self.d] - home.middle
        return np.asarray(np.abs(home.inverse @ away) + np.abs(home.inverse @ points.columns[: self.d]).sum(axis=1))

    def _look(self, points: Points, time: Fraction, spec: list[Checked], done: set[int], at_home: bool) -> None:
        where = Where([points], np.zeros(self.d))
        flows = isinstance(self.system, SampledSystem) and not self._memory
        for k, part in enumerate(spec):
            start = Fraction(0) if at_home else part.start
            if start > time or (part.end is not None and part.end < time):
                continue
            if part.kind == "reach":
                if k not in done and part.excess(where).value <= 0:
                    done.add(k)
            elif not flows or time in (start, part.end):
                exactly = not at_home and (time or not part.start)
                self._require(part, where, time, step=int(time / self.period) if exactly else None)
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
        inner, lines = Script(), Script()
        most = _COLUMNS_PER_STATE if self.d <= _MANY_STATES else _COLUMNS_IF_MANY
        if points.columns.shape[1] > aim.n_first + most * self.d:
            code, points = REDUCED, reduced(points, aim.n_first, self.last_map, inner)
        states = points.middle[: self.d], points.columns[: self.d]
        seen = self.acting.seen(*states)
        leaves = self.acting.leaves(seen)
        law = self.acting.law(seen, states, leaves if only is None else still_answering(leaves, only))
        if law.given:
            code |= RELAXED
            _write_law(law, lines)
        acting, n = _with_controls(points, seen, law), len(points.middle)
        step = int(time / self.period) + (self.last_scheduled if aim.at_home else 0)
        parts = aim.pace.at(int(time / self.period))
        curves = self.motion.parts_along_curves(acting, step) if aim.pace.curves else None
        if curves is None:
            inner.more([parts])
        else:
            code, parts = code | CURVED, curves
            inner.more([parts, DEGREE])
        script.add(code)
        script.append(inner)
        script.append(lines)
        if isinstance(self.system, SampledSystem):
            after, matrix = self._flow(acting, time, aim, step, parts, curves is not None)
        else:
            after, matrix = self.motion.jumped(acting, step)
        if not self.system.observe:
            self.last_map = matrix[:, : self.d] + matrix[:, n:] @ law.slopes
        return Points(after.middle[:n], after.columns[:n], np.zeros(self.d))

    def _flow(
        self, points: Points, time: Fraction, aim: _Aim, step: int, parts: int, curves: bool
    ) -> tuple[Points, Floats]:
        """One period of a flow, on the way of which requirements are looked at."""
        h = self.period / parts
        is_first = not time and not aim.at_home and not curves
        beginning = Beginning(self._turning) if is_first and self._turning is not None else None

        def look(k: int, ends: list[Points], bend: Floats, slopes: Slopes | None) -> None:
            if beginning is not None and slopes is not None:
                beginning.goes_on(slopes)
            where, at_end = Where(ends, bend, slopes, beginning), Where(ends[1:], np.zeros(self.d))
            self._between(where, at_end, time + k * h, time + (k + 1) * h, aim.spec, aim.at_home)

        return self.motion.flowed(points, parts, step, curves, look)

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


def _with_controls(points: Points, seen: Seen, law: Law) -> Points:
    """A set of states and parameters, and what the controls are there."""
    controls = law.slopes @ seen.middle + law.values + (law.low + law.high) / 2
    shake = (law.high - law.low) / 2 + np.abs(law.slopes) @ seen.errors
    own = np.concatenate([np.zeros((len(points.middle), len(controls))), np.diag(shake)])
    columns = np.concatenate([np.concatenate([points.columns, law.slopes @ seen.columns]), own], axis=1)
    return Points(np.concatenate([points.middle, controls]), columns, points.box)


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
