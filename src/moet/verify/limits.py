"""Time limits, and how far a search is."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable
from functools import cached_property
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.jit import clock

Progress = Callable[[float, str], None]
"""Called with the share of the work that is done, as far as one can tell, and a note."""


class Deadline:
    """A moment after which a search gives up; never, if ``timeout`` (seconds) is None. Compiling does not count."""

    def __init__(self, timeout: float | None) -> None:
        if timeout is not None and not (isinstance(timeout, Real) and timeout >= 0):
            raise InputError(f"timeout must be a number of seconds, at least 0, or None, got {timeout!r}")
        self.timeout = timeout
        self._start = clock()
        self._end = math.inf if timeout is None else self._start + timeout

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return clock() - self._start

    @property
    def left(self) -> float:
        """Seconds until the deadline, not below 0; infinite without one."""
        return max(0.0, self._end - clock())

    @property
    def passed(self) -> bool:
        """Whether time is up; at once if the timeout is 0."""
        return clock() >= self._end

    @cached_property
    def flag(self) -> NDArray[np.bool_]:
        """One value that turns true when time is up, for compiled code, which cannot look at a clock."""
        flag = np.array([self.passed])
        if self.timeout is not None and not flag[0] and self.left < threading.TIMEOUT_MAX:
            over = threading.Event()
            threading.Thread(target=_raise_flag, args=(flag, self._end, over), daemon=True).start()
            weakref.finalize(self, over.set)
        return flag

    @property
    def reason(self) -> str:
        """What to tell the user when time was up."""
        return f"the time limit of {self.timeout:g} s was reached; allow more, or ask about a smaller domain"


def _raise_flag(flag: NDArray[np.bool_], end: float, over: threading.Event) -> None:
    """Set ``flag`` when the clock, which may stand still, shows ``end``; unless nobody needs it any more."""
    while (left := end - clock()) > 0:
        if over.wait(left):
            return
    flag.fill(True)
