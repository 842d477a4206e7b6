"""All parts of the first states, each followed for itself, in steps and parts as large as they may be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moet.verify.limits import Progress
from moet.verify.loops.flowpipe.failed import Failed, NotHome, TooManyJumps
from moet.verify.loops.flowpipe.follow import FEW_BRANCHES, Follower, Home
from moet.verify.loops.flowpipe.forms import OVERFLOWS, Unbounded
from moet.verify.loops.flowpipe.integrate import Points
from moet.verify.loops.flowpipe.pace import ALONG_CURVES, Pace
from moet.verify.loops.flowpipe.policy import narrowed
from moet.verify.loops.flowpipe.script import NOBODY, PART, SPLIT, Script
from moet.verify.systems.description import Side
from moet.verify.systems.sampled import SampledSystem
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

_MOST_DEPTH = 20
_HOME_DEPTH = 8
"""How often the first states, or a set that is to be led into itself, may be cut in two."""

_WORTH, _LATER = 0.7, 1.3
"""Shorter steps are worth their price if they shrink what is missed to this, or it is missed so much later."""

_ROUNDING = 1e-6
"""Of a time in periods, which is a float64."""


class NotOneByOne(Exception):
    """Parts of the first states had better not be followed each for itself."""


class Parts:
    """Follows parts of the first states of a system.

    Attributes
    ----------
    pace : Pace
        How finely periods are followed: as the last part had to be.
    count : int
        Parts that were followed to the end.
    progress : callable or None
        Told of every one of them.
    """

    def __init__(self, follower: Follower) -> None:
        self.follower: Follower = follower
        self._system: System = follower.system
        self.is_flow = isinstance(follower.system, SampledSystem)
        self.progress: Progress | None = None
        self.pace, self._may_curve = Pace(), self.is_flow
        self.count, self._share = 0, 0.0

    def begin_again(self) -> None:
        """Forget how many parts were followed."""
        self.count, self._share = 0, 0.0

    def first_set(self, box: Sequence[Side]) -> Points | None:
        """The part of a box in which runs begin, if there is one."""
        start = self.start(box)
        begin = self._where_runs_begin(start, *np.outer((-1.0, 1.0), np.ones(len(start.middle))))
        return None if begin is None else self.follower.started(*_part(start, *begin))

    def from_first_states(self, home: Home | None, script: Script) -> None:
        """Follow all parts of all first states, up to a home if there is one."""
        for box in self._system.first.boxes:
            self.all_of(self.start(box), home, False, script)

    def start(self, box: Sequence[Side]) -> Home:
        """A box of first states, with all parameters."""
        sides = np.concatenate([np.array(box, np.float64), self.follower.parameters])
        return Home(sides.mean(axis=1), np.diag((sides[:, 1] - sides[:, 0]) / 2), np.zeros((0, 0)))

    def all_of(self, start: Home, home: Home | None, at_home: bool, script: Script) -> None:
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
                    raise NotOneByOne from failure
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
        where = self._system.first.where
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
        self.count += 1
        self._share += 0.0 if at_home else share
        if self.progress is not None:
            self.progress(min(self._share, 0.99), f"{self.count} parts")

    def _followed(self, middle: Floats, columns: Floats, home: Home | None, at_home: bool) -> Script:
        """Follow a part; along polynomials in time from when on that leads further."""
        try:
            return self._paced(middle, columns, home, at_home)
        except (NotHome, TooManyJumps):
            raise
        except Failed as failure:
            if not self._may_curve:
                raise
            straight, draws = self.pace, self.follower.acting.random.bit_generator
            self._may_curve, before = False, draws.state
            self.pace = ALONG_CURVES
            try:
                return self._paced(middle, columns, home, at_home)
            except Failed as again:
                if again.time > _LATER * failure.time:
                    raise
                self.pace, draws.state = straight, before  # as if it had not been tried
                raise failure from None

    def _paced(self, middle: Floats, columns: Floats, home: Home | None, at_home: bool) -> Script:
        """Follow a part with steps that are as long as they may be."""
        previous: Failed | None = None
        pace = self.pace
        while True:
            try:
                found = self.follower.follow(middle, columns, pace, home, at_home)
            except NotHome:
                raise
            except Failed as failure:
                if isinstance(failure, TooManyJumps) and self.follower.acting.jumps:
                    raise  # where laws are constants, it is not a matter of how fine steps are
                finer = self._finer(pace, failure, previous)
                if finer is None:
                    raise previous or failure from None
                previous, pace = failure, finer
                continue
            self.pace = pace
            return found

    def _finer(self, pace: Pace, failure: Failed, previous: Failed | None) -> Pace | None:
        """Shorter steps, if they help."""
        step = self.step_of(failure)
        helps = previous is None or _is_better(failure, previous)
        # sets that grow beyond all bounds may do so because of any coarse period before
        helps = helps or (np.isinf(failure.excess) and not pace.is_even(step))
        return pace.finer(step) if self.is_flow and helps else None

    @property
    def _may_go_together(self) -> bool:
        return self.follower.most_branches == FEW_BRANCHES

    @property
    def _blurs(self) -> bool:
        """Whether one law was taken for several in wide sets, where cuts may lose less."""
        return self.follower.acting.changes and not self.follower.acting.jumps

    def step_of(self, failure: Failed) -> int:
        """The step in which something was missed."""
        return int(failure.time / float(self.follower.period) + _ROUNDING)

    def after(self, start: Home, steps: int) -> Points | None:
        """Where the first states are after some steps, if sets are small enough to say so."""
        pace: Pace | None = self.pace
        while pace is not None:
            try:
                return self.follower.ends_after(start.middle, start.frame, pace, steps)
            except (Unbounded, *OVERFLOWS):
                pace = pace.finer(steps) if self.is_flow else None
        return None


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
