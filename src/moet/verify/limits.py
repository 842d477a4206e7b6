"""Limits of a search: CPU time, wall-clock time, and how far it is."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.jit import THREADS_HAVE_CLOCKS, clock, cpu_clock_of_this_thread, cpu_seconds_of_compiling

Progress = Callable[[float, str], None]
"""Called with the share of the work that is done, as far as one can tell, and a note."""

_LOOK = 0.05
"""Seconds between two looks at the clocks while compiled code runs."""


class Stopped(Exception):
    """A search cannot go on; the message says why."""


class Deadline:
    """What ends a search: seconds of the wall clock (``timeout``), or of CPU time of its threads (``cpu_limit``).

    CPU time does not depend on what else the machine is busy with, so the same question has the same answer. Compiling
    does not count. None is no limit.
    """

    def __init__(self, timeout: float | None = None, cpu_limit: float | None = None) -> None:
        self.timeout = _seconds(timeout, "timeout")
        self.cpu_limit = _seconds(cpu_limit, "cpu_limit")
        self._start = clock()
        self._compiling_start = cpu_seconds_of_compiling()
        self._cpu_spent = 0.0  # by threads that have ended
        self._cpu_clocks = [cpu_clock_of_this_thread()]
        self._lock = threading.Lock()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return clock() - self._start

    @property
    def cpu_seconds(self) -> float:
        """Seconds of CPU time since the start."""
        with self._lock:
            spent = self._cpu_spent + sum(clock() for clock in self._cpu_clocks)
        compiling = cpu_seconds_of_compiling() - self._compiling_start
        return max(0.0, spent - compiling)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Let the calling thread, which is another than that of the search, count, too."""
        clock = cpu_clock_of_this_thread() if THREADS_HAVE_CLOCKS else lambda: 0.0
        with self._lock:
            self._cpu_clocks.append(clock)
        try:
            yield
        finally:
            with self._lock:
                self._cpu_clocks.remove(clock)
                self._cpu_spent += clock()

    @property
    def left(self) -> float:
        """Seconds until the deadline at the earliest, not below 0; infinite without one."""
        return max(0.0, min(self.timeout - self.seconds, self.cpu_limit - self.cpu_seconds))

    def part(self, share: float, most: float = math.inf) -> Deadline:
        """One for a share of what is left, at most so many seconds of CPU time, that does not outlast this one."""
        return Deadline(max(0.0, self.timeout - self.seconds), min(most, share * self.left))

    @property
    def passed(self) -> bool:
        """Whether time is up; at once if a limit is 0."""
        return self.seconds >= self.timeout or self.cpu_seconds >= self.cpu_limit

    @cached_property
    def flag(self) -> NDArray[np.bool_]:
        """One value that turns true when time is up, for compiled code, which cannot look at a clock."""
        flag = np.array([self.passed])
        if not flag[0] and self.left < threading.TIMEOUT_MAX:
            over = threading.Event()
            left = weakref.WeakMethod(self._time_left)
            threading.Thread(target=_raise_flag, args=(flag, left, over), daemon=True).start()
            weakref.finalize(self, over.set)
        return flag

    def _time_left(self) -> float:
        return 0.0 if self.passed else self.left

    def look(self) -> None:
        """Raise Stopped if time is up."""
        if self.passed:
            raise Stopped(self.reason)

    @property
    def reason(self) -> str:
        """What to tell the user when time was up."""
        if self.seconds >= self.timeout:
            return f"the time limit of {self.timeout:g} s was reached; allow more, or ask about a smaller domain"
        return f"the limit of {self.cpu_limit:g} s of CPU time was reached; allow more, or ask about a smaller domain"


def _seconds(value: float | None, name: str) -> float:
    if value is None:
        return math.inf
    if isinstance(value, bool) or not (isinstance(value, Real) and value >= 0):
        raise InputError(f"{name} must be a number of seconds, at least 0, or None, got {value!r}")
    return float(value)


def _raise_flag(flag: NDArray[np.bool_], left: Callable[[], Callable[[], float] | None], over: threading.Event) -> None:
    """Set ``flag`` when the clocks, which may stand still, say so; unless nobody needs it any more."""
    while (time_left := left()) is not None and (wait := time_left()) > 0:
        del time_left  # it would keep the deadline alive
        if over.wait(max(wait, _LOOK)):
            return
    flag.fill(True)
