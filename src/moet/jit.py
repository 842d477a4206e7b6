"""How this package compiles its kernels.

Those of training write ``a if a < b else b`` instead of ``min(a, b)``: numba compiles ``min``, ``max`` and ``int`` as
functions of their own, anew for every kernel with other options, and the first fit on a machine waits for that.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from numba.core import caching, event

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
"""Options of every kernel: cached on disk, GIL released, C-like division. Never ``fastmath`` for predictions."""

BORROWING: dict[str, Any] = {**OPTIONS, "_nrt": False}
"""Options of kernels that allocate and keep nothing: they need not count references, which is faster and compiles
faster."""

INTERNAL: dict[str, Any] = {**BORROWING, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Options of such kernels that only other kernels call: without the code that unpacks Python's arguments."""

INLINED: dict[str, Any] = {**INTERNAL, "forceinline": True}
"""Options of those that become part of their callers."""


THREADS_HAVE_CLOCKS = hasattr(time, "pthread_getcpuclockid")


def cpu_clock_of_this_thread() -> Callable[[], float]:
    """Clock of the CPU time of the calling thread from now on, which other threads may read, too."""
    if THREADS_HAVE_CLOCKS:
        number = time.pthread_getcpuclockid(threading.get_ident())
        start = time.clock_gettime(number)
        return lambda: time.clock_gettime(number) - start
    begin = time.process_time()  # of all threads
    return lambda: time.process_time() - begin


class _Compiling(event.Listener):
    """Says once per process that kernels are being compiled, and counts the seconds, by the wall clock and of CPU time.

    The compiler makes millions of objects that it keeps to its end: looking for garbage among them again and again
    would take a sixth of its time.
    """

    announced = False
    _depth = 0  # kernels are compiled while those that call them are
    _begin = 0.0
    _seconds = 0.0
    _cpu_seconds = 0.0
    _cpu_clock: Callable[[], float] | None = None
    _paused = False

    def on_start(self, event: Any) -> None:
        ours = (event.data["dispatcher"].py_func.__module__ or "").startswith("moet.")
        if self._depth == 0:
            self._begin = time.perf_counter()
            self._cpu_clock = cpu_clock_of_this_thread()
            if ours and gc.isenabled():
                gc.disable()
                self._paused = True
        self._depth += 1
        if ours and not self.announced:
            self.announced = True
            print("moet: compiling kernels; this happens once and is cached ...", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._seconds += time.perf_counter() - self._begin
            self._cpu_seconds, self._cpu_clock = self.cpu_seconds(), None
            if self._paused:
                gc.enable()
                self._paused = False

    def seconds(self) -> float:
        return self._seconds + (time.perf_counter() - self._begin if self._depth else 0.0)

    def cpu_seconds(self) -> float:
        clock = self._cpu_clock
        return self._cpu_seconds + (0.0 if clock is None else clock())


_load_index: Callable[[Any], dict[Any, str]] = caching.IndexDataCacheFile._load_index


def _index_of_this_version(cache: Any) -> dict[Any, str]:
    """What is compiled already; nothing, if that was an older version whose classes had other names.

    numba reads such names before it asks whether the source is still the same, so without this an upgrade in place
    would end in an AttributeError.
    """
    try:
        return _load_index(cache)
    except (AttributeError, ImportError):
        return {}


setattr(caching.IndexDataCacheFile, "_load_index", _index_of_this_version)  # noqa: B010 - a method to mypy

_compiling = _Compiling()
event.register("numba:compile", _compiling)


def clock() -> float:
    """Seconds on a clock that stands still while kernels are compiled: a time limit is not meant for that."""
    return time.perf_counter() - _compiling.seconds()


def cpu_seconds_of_compiling() -> float:
    """CPU time that compiling kernels has taken in this process."""
    return _compiling.cpu_seconds()
