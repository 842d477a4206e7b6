"""Checker of proofs that follow a controlled system through time. Standard library only; the search shares no code.

The first states are cut in halves as the proof says. Each part is a set that is led from sample to sample: what the
policy does on it is one law and how far it may be off, the flow is enclosed in short steps, and every requirement is
looked at in all of them. For a proof for ever the sets end in a *home*, a parallelotope, whose own parts are followed
until they are in it again.
"""

from __future__ import annotations

from fractions import Fraction

from moet.errors import CertificateError
from moet.verify.checker.certificate import Certificate, Records
from moet.verify.checker.documents.dynamics import Flow
from moet.verify.checker.documents.laws import PlainLaws
from moet.verify.checker.documents.reading import plain
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.loops.flowpipe.claims import FlowpipeClaim, Requirement, flowpipe
from moet.verify.checker.loops.flowpipe.conditions import Where, holds, is_outside
from moet.verify.checker.loops.flowpipe.first import Left
from moet.verify.checker.loops.flowpipe.integrate import Slopes, moved, tube
from moet.verify.checker.loops.flowpipe.jump import jumped, remembered
from moet.verify.checker.loops.flowpipe.parts import (
    Home,
    Numbers,
    domain_of,
    part_of,
    read_home,
    read_law,
    start_of,
    where_runs_begin,
    within,
)
from moet.verify.checker.loops.flowpipe.picard import LEAST_DEGREE, MOST_DEGREE, curved
from moet.verify.checker.loops.flowpipe.policy import Leaves, Line, Multipliers, Policy, control_rows, seen
from moet.verify.checker.loops.flowpipe.program import (
    Program,
    features_of,
    last_scheduled,
    memory_names,
    memory_of,
    parameters_of,
    program_of,
)
from moet.verify.checker.loops.flowpipe.sets import (
    Zonotope,
    cut,
    diagonal,
    narrowed,
    reduced,
)
from moet.verify.checker.loops.flowpipe.together import Branch, Stretch, is_in, put_together
from moet.verify.checker.loops.flowpipe.turning import Beginning, Turning
from moet.verify.checker.loops.intervals import ONE
from moet.verify.checker.meter import Meter

PART, SPLIT, END, CASES, NOBODY, GOAL, ASIDE = 64, 65, 66, 67, 68, 69, 70
"""Codes: a part of the first states, two halves of it, the end of what a part is followed for, sets of which each is
where other leaves answer, a part in which no run begins, sets of which one is in a goal and each other is beyond one of
its limits, and a set that is put aside."""

RELAXED, REDUCED, CURVED = 1, 2, 4
"""Bits of the code of a step: a law for several leaves is given; columns are put together before it; runs are followed
along polynomials in time."""

MOST_DEPTH = 64
MOST_COLUMNS = 4000
MOST_SUBSTEPS = 10_000


def check_flowpipes(
    certificate: Certificate, model: PlainLaws, system: PlainSystem, meter: Meter
) -> list[list[Stretch]]:
    """Confirm a proof of this kind; raises CertificateError with the reason if it fails.

    Returns, for every part that was followed, where its runs are.
    """
    return followed(certificate, flowpipe(plain(certificate.claim), model, system), model, system, meter)[1]


def followed(
    certificate: Certificate, claim: FlowpipeClaim, model: PlainLaws, system: PlainSystem, meter: Meter
) -> tuple[Home | None, list[list[Stretch]]]:
    """Confirm a claim with the records of a proof; where a proof for ever ends, and where all runs are."""
    records = certificate.records(meter)
    walk = Walk(claim, model, system, records)
    starts = [start_of([*box, *parameters_of(system)]) for box in system.first.boxes]
    home = read_home(records, starts[0], len(system.states), PART) if claim.for_ever else None
    for start in starts:
        walk.parts(start, home)
    while walk.aside:
        walk.together(starts[0])
    if home is not None:
        walk.parts(home, home)
    records.finish()
    return home, walk.tubes


class Walk:
    """Follows sets with the records of a proof."""

    def __init__(self, claim: FlowpipeClaim, model: PlainLaws, system: PlainSystem, records: Records) -> None:
        self._claim, self._system, self._records = claim, system, records
        self._meter = records.meter
        self.tubes: list[list[Stretch]] = []
        self.aside: list[Branch] = []
        self._numbers = Numbers(records)
        self._program, self._memory = program_of(system), memory_of(system)
        self._last_scheduled, self._steps_before = last_scheduled(system), 0
        self._memory_places = [system.states.index(name) for name in memory_names(system)]
        self._features = features_of(system)
        self._turning: Turning | None = None
        self._policy = Policy(model, system)
        self._d = len(system.states)
        self._period = system.dynamics.period if isinstance(system.dynamics, Flow) else Fraction(1)
        inside = domain_of(system)
        self._domain = [Requirement("hold", Fraction(0), None, inside)] if inside else []

    def parts(self, start: Home, home: Home | None) -> None:
        """Follow all parts of a set, until they are at home if there is one."""
        n = len(start.middle)
        at_home = home is start
        self._steps_before = self._last_scheduled if at_home else 0  # nothing scheduled changes at home any more
        self._turning = None
        if not at_home and isinstance(self._program, Program) and isinstance(self._system.dynamics, Flow):
            self._turning = Turning(self._system, self._program)
        waiting = [([(-ONE, ONE)] * n, 0)]
        while waiting:
            box, depth = waiting.pop()
            code = self._records.code()
            self._meter.spend(n * n)
            if code == PART:
                left = box if at_home else where_runs_begin(self._system, start, box, self._meter)
                self._follow(part_of(start, box if left is None else left), home, at_home)
            elif code == NOBODY and not at_home:
                if where_runs_begin(self._system, start, box, self._meter) is not None:
                    raise CertificateError("runs may begin in a part of which it is said that none does")
            elif code == SPLIT and depth < MOST_DEPTH:
                (k,) = self._records.refs(1)
                if not 0 <= k < n:
                    raise CertificateError("a part is cut along a state that there is not")
                low, high = box[k]
                middle = (low + high) >> 1
                waiting += [([*box[:k], side, *box[k + 1 :]], depth + 1) for side in ((low, middle), (middle, high))]
            else:
                raise CertificateError(f"code {code} where a part of the first states is due")

    def _follow(self, points: Zonotope, home: Home | None, at_home: bool) -> None:
        spec = [part for part in self._claim.spec if not at_home or part.end is None]
        spec = [part._replace(start=Fraction(0)) if at_home else part for part in spec]
        left = Left(spec, None if at_home else self._system, self._meter)
        self._to_the_end(Branch(points, 0, set(), None, []), left, home)

    def _to_the_end(self, branch: Branch, left: Left, home: Home | None) -> None:
        """Follow a set, and those that it is cut into, until nothing is left to look at or it is put aside."""
        self.tubes.append(branch.tube)
        self._look(branch.points, branch.step * self._period, left.at(branch.step), branch.done)
        self.tubes.pop()
        waiting = [branch]
        while waiting:
            waiting += reversed(self._branch(waiting.pop(), left, home))

    def together(self, start: Home) -> None:
        """Go on with the sets that were put aside. All that is required of each up to then was seen."""
        aside, self.aside = self.aside, []
        left = Left(self._claim.spec, self._system, self._meter)
        for branch in put_together(aside, start, self._d, self._records):
            self._to_the_end(branch, left, None)

    def _branch(self, branch: Branch, left: Left, home: Home | None) -> list[Branch]:
        """Follow a set to its end, or until it is cut in cases."""
        points, step, done, only, tube = branch
        spec = left.spec
        self.tubes.append(tube)
        while (code := self._records.code()) != END:
            if code in (CASES, GOAL) and only is None:  # a case is over after its step
                self.tubes.pop()
                here = branch._replace(points=points, step=step, only=None)
                return self._cases(here) if code == CASES else self._at_goal(here, left.spec)
            if code == ASIDE and only is None and home is None:
                self._meter.hold(len(points.middle) * (len(points.columns) + 1))
                self.aside.append(Branch(points, step, done, None, []))
                return []
            if code & ~(RELAXED | REDUCED | CURVED):
                raise CertificateError(f"code {code} where a step is due")
            if len(points.columns) > MOST_COLUMNS:
                raise CertificateError(f"a set has more than {MOST_COLUMNS} columns")
            points, only = self._step(points, step * self._period, code, spec, only), None
            step += 1
            self._look(points, step * self._period, left.at(step), done)
        if only is not None:
            raise CertificateError("a case ends before its step")
        self._check_end(points, step * self._period, spec, done, home, step)
        return []

    def _cases(self, branch: Branch) -> list[Branch]:
        """Where the leaves of each case may answer."""
        groups: list[Leaves] = []
        (count,) = self._records.refs(1)
        for _ in range(count):
            (size,) = self._records.refs(1)
            refs = self._records.refs(2 * max(0, size))
            groups.append(list(zip(refs[0::2], refs[1::2], strict=True)))
        what = seen(self._system, self._features, branch.points, self._meter)
        found = []
        for group, sides in zip(groups, self._policy.cases(what, groups, self._meter), strict=True):
            self._meter.hold(len(sides) * len(branch.points.middle) + len(branch.tube))
            part = cut(branch.points, sides, self._meter)
            found.append(Branch(part, branch.step, set(branch.done), group, list(branch.tube)))
        return found

    def _at_goal(self, branch: Branch, spec: list[Requirement]) -> list[Branch]:
        """The part of a set that is in a goal, and for each of some of its limits the part that is beyond it.

        Nobody is beyond the other limits.
        """
        k, count = self._records.refs(2)
        beyond = self._records.refs(max(0, count))
        time = branch.step * self._period
        goal = spec[k] if 0 <= k < len(spec) and spec[k].kind == "reach" else None
        if goal is None or goal.end is None or not goal.start <= time <= goal.end:
            raise CertificateError("a set is cut at a goal that there is not, or not at that time")
        if any(condition.norms for condition in goal.conditions):
            raise CertificateError("a set is cut at a goal that has a norm")
        inside = [within(branch.points, c, inside=True, meter=self._meter) for c in goal.conditions]
        found = [self._narrowed(branch, inside)._replace(done=branch.done | {k})]
        for i, condition in enumerate(goal.conditions):
            row = within(branch.points, condition, inside=False, meter=self._meter)
            if i in beyond:
                found.append(self._narrowed(branch, [row]))
            elif narrowed(self._everywhere(branch.points), [row], self._meter) is not None:
                raise CertificateError("runs may be beyond a limit of a goal, and none is followed there")
        return found

    @staticmethod
    def _everywhere(points: Zonotope) -> list[tuple[int, int]]:
        return [(-ONE, ONE)] * len(points.columns)

    def _narrowed(self, branch: Branch, rows: list[tuple[list[int], int]]) -> Branch:
        """What is left of a set where rows are not negative; one point if that is nothing, whatever is said of it."""
        everywhere = self._everywhere(branch.points)
        sides = narrowed(everywhere, rows + rows, self._meter) or [(0, 0)] * len(everywhere)
        self._meter.hold(len(sides) * len(branch.points.middle) + len(branch.tube))
        part = cut(branch.points, sides, self._meter)
        return branch._replace(points=part, done=set(branch.done), tube=list(branch.tube))

    def _check_end(
        self, points: Zonotope, time: Fraction, spec: list[Requirement], done: set[int], home: Home | None, steps: int
    ) -> None:
        for k, part in enumerate(spec):
            if part.kind == "reach" and k not in done:
                raise CertificateError(f"a part is followed up to time {time}, and has not reached its goal")
            if part.kind != "reach" and part.end is not None and part.end > time:
                raise CertificateError(f"a part is followed up to time {time} and not to {part.end}")
        if home is None:
            return
        settled = steps + self._steps_before >= self._last_scheduled
        if steps < 1 or not settled or not is_in(points, home, self._d, self._meter):
            raise CertificateError(f"a part is followed up to time {time}, and is not in the set that it should end in")

    def _look(self, points: Zonotope, time: Fraction, spec: list[Requirement], done: set[int]) -> None:
        """Look at a sample: what begins or ends here, what is to be reached, and all of it in discrete time."""
        where = Where([(points, [0] * self._d)], [0] * self._d, self._meter)
        self._record(where, time, time)
        # a flow is looked at all the time, but memory jumps at a sample
        edges_only = isinstance(self._system.dynamics, Flow) and self._memory is None
        for k, part in enumerate(spec):
            if part.start > time or (part.end is not None and part.end < time):
                continue
            if part.kind == "reach":
                if holds(where, part.conditions, len(points.middle)) is None:
                    done.add(k)
            elif not edges_only or time in (part.start, part.end):
                self._require(where, part, time)
        if not edges_only or not time:
            for part in self._domain:
                self._require(where, part, time)

    def _record(self, where: Where, start: Fraction, end: Fraction) -> None:
        self._meter.hold(2 * self._d)
        self.tubes[-1].append(Stretch(start, end, *where.box(self._d)))

    def _require(self, where: Where, part: Requirement, time: Fraction, known: bool = False) -> None:
        n = len(where.middle)
        if part.kind == "hold":
            reason = holds(where, part.conditions, n, known)
            if reason is not None:
                raise CertificateError(f"at time {float(time):g} {reason}")
        elif not is_outside(where, part.conditions, n):
            raise CertificateError(f"at time {float(time):g} a set that is to be avoided may be entered")

    def _step(
        self, points: Zonotope, time: Fraction, code: int, spec: list[Requirement], only: Leaves | None
    ) -> Zonotope:
        if code & REDUCED:
            points = self._reduced(points)
        (substeps,) = self._records.refs(1)
        if not 0 < substeps <= MOST_SUBSTEPS:
            raise CertificateError(f"a step is taken in {substeps} parts")
        degree = self._degree() if code & CURVED else None
        sizes = self._policy.n_outputs, len(self._system.features)
        lines, multipliers = read_law(self._records, *sizes) if code & RELAXED else (None, {})
        return self.advanced(points, time, substeps, lines, multipliers, spec, only, degree)

    def _degree(self) -> int:
        (degree,) = self._records.refs(1)
        if not LEAST_DEGREE <= degree <= MOST_DEGREE:
            raise CertificateError(f"runs are followed along polynomials of degree {degree}")
        return degree

    def advanced(
        self,
        points: Zonotope,
        time: Fraction,
        substeps: int,
        lines: list[Line] | None,
        multipliers: Multipliers,
        spec: list[Requirement],
        only: Leaves | None = None,
        degree: int | None = None,
    ) -> Zonotope:
        """The set one period later, on the way to which the requirements are looked at."""
        what = seen(self._system, self._features, points, self._meter)
        lines, bounds = self._policy.relaxed(what, lines, multipliers, self._meter, only)
        middles, rows = control_rows(what, lines, bounds)
        n = len(points.middle)
        columns = points.columns + [[0] * n for _ in middles]
        acting = Zonotope(points.middle + middles, [a + b for a, b in zip(columns, rows, strict=True)])
        step = int(time / self._period) + self._steps_before
        if isinstance(self._system.dynamics, Flow):
            after = self._flow(acting, time, substeps, spec, step, degree)
        else:
            if degree is not None:
                raise CertificateError("runs follow polynomials in time where time is discrete")
            after = jumped(self._program.at(step), acting, self._system.disturbance, self._meter)
        return Zonotope(after.middle[:n], [column[:n] for column in after.columns])

    def _flow(
        self,
        points: Zonotope,
        time: Fraction,
        substeps: int,
        spec: list[Requirement],
        step: int,
        degree: int | None,
    ) -> Zonotope:
        """One period in continuous time."""
        d, n = self._d, len(points.middle)
        program, first = self._program.at(step), points
        assert isinstance(program, Program)
        box, h = [0] * d, self._period / substeps
        beginning = None if time or self._turning is None or degree else Beginning(self._turning, self._meter)
        for k in range(substeps):
            slopes = None if degree else self._slopes(program, points, box, h)
            if degree:
                ahead = curved(program, points, box, h, degree, self._meter)
            elif slopes is not None:
                ahead = moved(points, box, slopes, h, self._meter)
                if beginning is not None:
                    beginning.goes_on(slopes)
            where = Where([(points, box), (ahead.points, ahead.box)], ahead.bend, self._meter, slopes, beginning)
            at_end = Where([(ahead.points, ahead.box)], [0] * d, self._meter)
            self.between(where, at_end, time + k * h, time + (k + 1) * h, spec)
            points, box = ahead.points, ahead.box
        if self._memory is not None:
            points, box = remembered(self._memory.at(step), self._memory_places, first, points, box, self._meter)
        return Zonotope(points.middle, points.columns + diagonal(box, n))

    def _slopes(self, program: Program, points: Zonotope, box: list[int], time: Fraction) -> Slopes:
        """Slopes on a box that no solution leaves within a time."""
        radii = [r + b for r, b in zip(points.radii, box + [0] * (len(points.middle) - len(box)), strict=True)]
        low = [m - r for m, r in zip(points.middle, radii, strict=True)]
        high = [m + r for m, r in zip(points.middle, radii, strict=True)]
        return tube(program, low, high, time, self._meter)

    def between(self, where: Where, at_end: Where, start: Fraction, end: Fraction, spec: list[Requirement]) -> None:
        """Look at the requirements from one time to another, and at the end if they begin there."""
        self._record(where, start, end)
        for part in (*spec, *self._domain):
            if part.kind == "reach":
                continue
            if part.start < end and (part.end is None or part.end > start):
                self._require(where, part, start, known=part.start <= start)
            elif part.start == end:
                self._require(at_end, part, end)

    def _reduced(self, points: Zonotope) -> Zonotope:
        first, last = self._records.refs(2)
        if not 0 <= first <= last <= len(points.columns):
            raise CertificateError("columns are put together that there are not")
        n, d = len(points.middle), self._d
        frame, inverse = self._numbers.matrix(d, n), self._numbers.matrix(d, n)
        return reduced(points, first, last, frame, inverse, self._meter)
