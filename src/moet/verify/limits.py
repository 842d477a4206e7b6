"""Time limits."""

from __future__ import annotations

import math
import time
from numbers import Real

from moet.errors import InputError


class Deadline:
    """A moment after which a search gives up; never, if ``timeout`` (seconds) is None."""

    def __init__(self, timeout: float | None) -> None:
        if timeout is not None and not (isinstance(timeout, Real) and timeout >= 0):
            raise InputError(f"timeout must be a number of seconds, at least 0, or None, got {timeout!r}")
        self.timeout = timeout
        self._start = time.perf_counter()
        self._end = math.inf if timeout is None else self._start + timeout

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._start

    @property
    def left(self) -> float:
        """Seconds until the deadline, not below 0; infinite without one."""
        return max(0.0, self._end - time.perf_counter())

    @property
    def passed(self) -> bool:
        """Whether time is up; at once if the timeout is 0."""
        return time.perf_counter() >= self._end

    @property
    def reason(self) -> str:
        """What to tell the user when time was up."""
        return f"the time limit of {self.timeout:g} s was reached; allow more, or ask about a smaller domain"
