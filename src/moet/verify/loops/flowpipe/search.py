"""The search for a proof about a controlled system: how fine to follow, what to cut, and where to end for ever."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.model.file import digest
from moet.model.mixture import Mixture
from moet.model.regression.mixture import RegressionMixture
from moet.verify.checker.certificate import Certificate
from moet.verify.confirm import confirmed
from moet.verify.limits import Deadline, Progress, Stopped
from moet.verify.loops.flowpipe.failed import Failed, NotHome, TooManyJumps
from moet.verify.loops.flowpipe.follow import FEW_BRANCHES, MANY_BRANCHES, Follower, Home
from moet.verify.loops.flowpipe.forms import OVERFLOWS, Unbounded
from moet.verify.loops.flowpipe.integrate import Points
from moet.verify.loops.flowpipe.pace import ALONG_CURVES, Pace
from moet.verify.loops.flowpipe.policy import narrowed
from moet.verify.loops.flowpipe.refute import refutation
from moet.verify.loops.flowpipe.rest import Rest
from moet.verify.loops.flowpipe.script import END, NOBODY, PART, SPLIT, Script
from moet.verify.loops.flowpipe.together import follow_together
from moet.verify.result import Proved, Unknown, Verdict
from moet.verify.spec import Requirement
from moet.verify.systems.description import Side
from moet.verify.systems.sampled import SampledSystem
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

KIND = "flowpipe"
_MOST_DEPTH = 20
_HOME_DEPTH = 8
"""How often the first states, or a set that is to be led into itself, may be cut in two."""

_WORTH, _LATER = 0.7, 1.3
"""Shorter steps are worth their price if they shrink what is missed to this, or it is missed so much later."""

_ROUNDING = 1e-6
"""Of a time in periods, which is a float64."""

_MOST_TOGETHER, _SHARE_TOGETHER = (32, 128, 512), 0.4
"""Sets that are led at the same time, where a policy jumps, and the share of the time that this may take."""

_MANY_STEPS = 12
_SHARE_FOR_EVER, _MOST_FOR_EVER = 0.1, 10.0
"""Steps beyond which a policy that jumps is first asked about for ever, for this share of the time and CPU seconds."""

_NOT_FOR_EVER = (
    "ask about some number of steps, narrow the limits of parameters and disturbances (each part can be proved for "
    "itself), or use a law that damps more"
)

_HOMEWARD = (1, 2, 5, 20, 60, 100, 200, 500)
_GROWN, _SLOWLY = 6, 0.7
"""Steps after which the states are tried as a home, how often it is made larger, and the share of what was missed
beyond which a larger one is hardly nearer."""


class _NotOneByOne(Exception):
    """Parts of the first states had better not be followed each for itself."""


class FlowpipeSearch:
    """Searches a proof that all runs of a closed loop meet a specification.

    Parameters
    ----------
    mixture : Mixture or RegressionMixture
        A hard one, whose answers are the system's actions or controls.
    system : System
        With controls.
    spec : sequence of Requirement
    deadline : Deadline
    seed : int
        Of the simulated runs.
    """

    def __init__(
        self,
        mixture: Mixture | RegressionMixture,
        system: System,
        spec: Sequence[Requirement],
        deadline: Deadline,
        seed: int = 0,
    ) -> None:
        self.mixture, self.system, self.spec, self.deadline, self.seed = mixture, system, list(spec), deadline, seed
        self.follower = Follower(mixture, system, self.spec, deadline)
        self._pace = Pace()
        self._may_curve = self._is_flow
        self.n_parts = 0
        self._share = 0.0
        self._progress: Progress | None = None

    def decide(self, progress: Progress | None = None) -> Verdict:
        """Proved, Refuted or Unknown."""
        self._progress = progress
        try:
            refuted = refutation(self.mixture, self.system, self.spec, self.deadline, self.seed)
            if refuted is not None:
                return refuted
            more = self._for_ever_instead()
            if more is not None:
                return more
            script = self._proof()
        except Stopped as stop:
            return Unknown(reason=str(stop), effort=self._effort())
        except Failed as failure:
            return Unknown(reason=self._explained(failure), effort=self._effort())
        return self._confirmed(script)

    def _confirmed(self, script: Script) -> Verdict:
        certificate = Certificate(KIND, self.claim())
        script.into(certificate)
        found = Proved(certificate=certificate, effort=self._effort())
        return confirmed(found, self.mixture, self.system, deadline=self.deadline)

    def _for_ever_instead(self) -> Verdict | None:
        """A proof that what is asked about many steps holds for ever, for a policy that jumps.

        One that goes to and fro at every look cuts sets into ever more parts; a set that is led into itself is cut in
        a few. It is looked for first, for a share of the time.
        """
        ends = [part.end for part in self.spec if part.kind != "reach" and not part.start and part.end is not None]
        is_long = len(ends) == len(self.spec) and max(ends) > _MANY_STEPS * self.follower.period
        if not is_long or not self.follower.acting.jumps:
            return None
        spec = [part._replace(end=None) for part in self.spec]
        limit = self.deadline.part(_SHARE_FOR_EVER, _MOST_FOR_EVER)
        search = FlowpipeSearch(self.mixture, self.system, spec, limit, self.seed)
        try:
            verdict = search._confirmed(search._for_ever(search._start(self.system.initial)))
        except (Stopped, Failed):
            return None
        return verdict if isinstance(verdict, Proved) else None

    def claim(self) -> dict[str, Any]:
        """What is claimed."""
        return {
            "model": digest(self.mixture),
            "system": self.system.digest,
            "name": self.system.name,
            "spec": [part.document() for part in self.spec],
        }

    def _effort(self) -> dict[str, float]:
        return {"seconds": self.deadline.seconds, "parts": self.n_parts, "substeps": max(self._pace.parts)}

    def _proof(self) -> Script:
        if self._is_for_ever:
            return self._for_ever(self._start(self.system.initial))
        script = Script()
        try:
            self._from_first_states(None, script)
        except _NotOneByOne:
            return self._together() or self._cut_where_it_jumps()
        return script

    def _together(self) -> Script | None:
        """All sets led at the same time, some put in one; None if that loses too much, or takes too long."""
        whole = self.deadline
        self.follower.deadline, self.follower.cuts = whole.part(_SHARE_TOGETHER), True
        try:
            return self._led_together([self._first_set(box) for box in self.system.first.boxes])
        except Stopped:
            whole.look()
            return None
        finally:
            self.follower.deadline, self.follower.cuts = whole, self.follower.acting.jumps

    def _led_together(self, starts: list[Points | None]) -> Script | None:
        pace = self._pace
        for most in _MOST_TOGETHER:
            try:
                script = follow_together(self.follower, starts, pace, most)
            except Failed as failure:
                pace = pace.finer(self._step_of(failure)) or pace
                continue
            self.n_parts = script.codes.count(END)
            return script
        return None

    def _first_set(self, box: Sequence[Side]) -> Points | None:
        """The part of a box in which runs begin, if there is one."""
        start = self._start(box)
        begin = self._where_runs_begin(start, *np.outer((-1.0, 1.0), np.ones(len(start.middle))))
        return None if begin is None else self.follower.started(*_part(start, *begin))

    def _cut_where_it_jumps(self) -> Script:
        """Parts of the first states that are small enough to be followed each for itself."""
        self.follower.most_branches, self.n_parts, self._share = MANY_BRANCHES, 0, 0.0
        script = Script()
        self._from_first_states(None, script)
        return script

    def _from_first_states(self, home: Home | None, script: Script) -> None:
        for box in self.system.first.boxes:
            self._parts(self._start(box), home, False, script)

    def _start(self, box: Sequence[Side]) -> Home:
        sides = np.concatenate([np.array(box, np.float64), self.follower.parameters])
        return Home(sides.mean(axis=1), np.diag((sides[:, 1] - sides[:, 0]) / 2), np.zeros((0, 0)))

    def _parts(self, start: Home, home: Home | None, at_home: bool, script: Script) -> None:
        """Follow all parts of a set, cut as finely as needed."""
        n = len(start.middle)
        waiting = [(np.full(n, -1.0), np.full(n, 1.0), 0)]
        while waiting:
            low, high, depth = waiting.pop()
            begin = (low, high) if at_home else self._where_runs_begin(start, low, high)
            if begin is None:
                script.add(NOBODY)
                continue
            middle, columns = _part(start, *begin)
            try:
                found = self._followed(middle, columns, home, at_home)
            except NotHome:
                raise  # a part of it is not nearer
            except Failed as failure:
                if self._may_go_together and (isinstance(failure, TooManyJumps) or self._blurs):
                    raise _NotOneByOne from failure
                k = _most_influential(failure, columns, high - low)
                if k is None or depth >= (_HOME_DEPTH if at_home else _MOST_DEPTH):
                    raise
                script.add(SPLIT, [k])
                cut = (low[k] + high[k]) / 2
                below, above = high.copy(), low.copy()
                below[k], above[k] = cut, cut
                waiting += [(low, below, depth + 1), (above, high, depth + 1)]
                continue
            script.add(PART)
            script.append(found)
            self._count(float(np.prod((high - low) / 2)), at_home)

    def _where_runs_begin(self, start: Home, low: Floats, high: Floats) -> tuple[Floats, Floats] | None:
        """The part of a box of coordinates in which the conditions of first states hold; None if surely nowhere."""
        where = self.system.first.where
        if not where:
            return low, high
        d, n = self.follower.d, len(low)
        rows = -np.array([half.coefficients for half in where], np.float64)
        bounds = np.array([float(half.bound) for half in where])
        columns, levels = rows @ start.frame[:d], rows @ start.middle[:d] + bounds
        slack = 1e-9 * (1 + np.abs(bounds) + np.abs(columns).sum(axis=1))
        if np.any(np.maximum(columns * low, columns * high).sum(axis=1) + levels < -slack):
            return None
        return narrowed(n, columns, levels + slack, (low, high))

    def _count(self, share: float, at_home: bool) -> None:
        self.n_parts += 1
        self._share += 0.0 if at_home else share
        if self._progress is not None:
            self._progress(min(self._share, 0.99), f"{self.n_parts} parts")

    def _followed(self, middle: Floats, columns: Floats, home: Home | None, at_home: bool) -> Script:
        """Follow a part; along polynomials in time from when on that leads further."""
        try:
            return self._paced(middle, columns, home, at_home)
        except (NotHome, TooManyJumps):
            raise
        except Failed as failure:
            if not self._may_curve:
                raise
            self._may_curve, straight = False, self._pace
            self._pace = ALONG_CURVES
            try:
                return self._paced(middle, columns, home, at_home)
            except Failed as again:
                if isinstance(again, TooManyJumps) or again.time > _LATER * failure.time:
                    raise
                self._pace = straight
                raise failure from None

    def _paced(self, middle: Floats, columns: Floats, home: Home | None, at_home: bool) -> Script:
        """Follow a part with steps that are as long as they may be."""
        previous: Failed | None = None
        pace = self._pace
        while True:
            try:
                found = self.follower.follow(middle, columns, pace, home, at_home)
            except NotHome:
                raise
            except Failed as failure:
                finer = self._finer(pace, failure, previous)
                if finer is None:
                    raise previous or failure from None
                previous, pace = failure, finer
                continue
            self._pace = pace
            return found

    def _finer(self, pace: Pace, failure: Failed, previous: Failed | None) -> Pace | None:
        """Shorter steps, if they help."""
        step = self._step_of(failure)
        helps = previous is None or _is_better(failure, previous)
        # sets that grow beyond all bounds may do so because of any coarse period before
        helps = helps or (np.isinf(failure.excess) and not pace.is_even(step))
        return pace.finer(step) if self._is_flow and helps else None

    @property
    def _may_go_together(self) -> bool:
        return self.follower.most_branches == FEW_BRANCHES

    @property
    def _blurs(self) -> bool:
        """Whether one law was taken for several in wide sets, where cuts may lose less."""
        return self.follower.acting.changes and not self.follower.acting.jumps

    def _step_of(self, failure: Failed) -> int:
        return int(failure.time / float(self.follower.period) + _ROUNDING)

    @property
    def _is_flow(self) -> bool:
        return isinstance(self.system, SampledSystem)

    def _for_ever(self, start: Home) -> Script:
        """A home that is reached from the first states, and from itself."""
        self.follower.most_branches = MANY_BRANCHES
        runs = Rest(self.system, self.follower.acting, self.deadline, self.follower.last_scheduled, self.seed)
        center, modes = runs.middle, runs.modes
        reason: Failed | Stopped = Stopped(f"no set was found that the loop leads into itself; {_NOT_FOR_EVER}")
        inverse, d = np.linalg.inv(modes), self.follower.d
        for steps in _HOMEWARD:
            ends = self._after(start, steps)
            if ends is None:
                sizes = np.abs((runs.after(steps) - center) @ inverse.T).max(axis=0)
            else:
                sizes = np.abs(inverse @ (ends.middle[:d] - center)) + np.abs(inverse @ ends.columns[:d]).sum(axis=1)
            if not np.all(np.isfinite(sizes)):
                break
            found = self._grown(start, center, modes, 1.02 * np.maximum(sizes, 1e-6 * max(float(sizes.max()), 1e-6)))
            if isinstance(found, Script):
                return found
            reason = found
        raise reason

    def _grown(self, start: Home, center: Floats, modes: Floats, sizes: Floats) -> Script | Failed:
        """A proof with a home of these sizes or larger, or why there is none."""
        previous = np.inf
        for _ in range(_GROWN):
            home = Home(center, modes * sizes, np.asarray(np.linalg.inv(modes * sizes)))
            try:
                return self._with_home(start, home)
            except NotHome as failure:
                reason: Failed = failure
                sizes = sizes * np.maximum(1.0, 1.1 * failure.reach)
                if _SLOWLY * previous < failure.excess <= previous:
                    break
                previous = failure.excess
            except Failed as failure:
                return failure
        return reason

    def _with_home(self, start: Home, home: Home) -> Script:
        q = len(start.middle) - self.follower.d
        frame = np.zeros((len(start.middle),) * 2)
        frame[: self.follower.d, : self.follower.d] = home.frame
        frame[self.follower.d :, self.follower.d :] = start.frame[self.follower.d :, self.follower.d :]
        whole = Home(np.concatenate([home.middle, start.middle[len(start.middle) - q :]]), frame, home.inverse)
        script, first, second = Script(), Script(), Script()
        script.add(PART, [], np.concatenate([home.middle, home.frame.ravel(), home.inverse.ravel()]))
        self._parts(whole, home, True, second)
        self._from_first_states(home, first)
        script.append(first)
        script.append(second)
        return script

    def _after(self, start: Home, steps: int) -> Points | None:
        """Where the first states are after some steps, if sets are small enough to say so."""
        pace: Pace | None = self._pace
        while pace is not None:
            try:
                return self.follower.ends_after(start.middle, start.frame, pace, steps)
            except (Unbounded, *OVERFLOWS):
                pace = pace.finer(steps) if self._is_flow else None
        return None

    def _explained(self, failure: Failed) -> str:
        names = self.system.states
        blamed = [name for name, a in zip(names, failure.row, strict=False) if abs(a) > 1e-9]
        when = f"time {failure.time:g}" if self._is_flow else f"step {failure.time:g}"
        where = f" (in {', '.join(blamed)})" if blamed else ""
        what_next = (
            "ask about fewer steps or fewer first states, allow more time, or use a policy with fewer or smoother laws"
        )
        return (
            f"the sets that runs are kept in are too wide: at {when} {failure}{where}, after {self.n_parts} parts were "
            f"proved; {_NOT_FOR_EVER if self._is_for_ever else what_next}"
        )

    @property
    def _is_for_ever(self) -> bool:
        reaches = any(part.kind == "reach" for part in self.spec)
        return not reaches and any(part.end is None for part in self.spec)


def _part(start: Home, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Middle and columns of the part of a parallelotope in which its coordinates are between these."""
    return start.middle + start.frame @ ((low + high) / 2), start.frame * ((high - low) / 2)


def _most_influential(failure: Failed, columns: Floats, width: Floats) -> int | None:
    """The variable of the start that matters most for what was missed; None if none matters."""
    d = len(failure.row)
    influence = np.abs(failure.row @ failure.columns[:d, : columns.shape[1]])
    rest = np.abs(failure.row @ failure.columns[:d, columns.shape[1] :]).sum()
    spread = np.abs(columns).max(axis=0)
    # what is no linear function of the start comes from wide sets, wherever they are wide
    wide = np.where(spread > 0, width / 2, 0.0)
    share = wide / max(float(wide.sum()), 1e-300)
    score = influence + rest * share if np.any(failure.row) else share
    return int(np.argmax(score)) if score.max() > 0 else None


def _is_better(failure: Failed, previous: Failed) -> bool:
    """Whether shorter steps helped, or may yet."""
    if not failure.time and np.isinf(failure.excess):
        return True
    if failure.time != previous.time:
        return failure.time > _LATER * previous.time
    return failure.excess < _WORTH * previous.excess
