"""Ctrl-C is heard at once, wherever it finds the command.

Python notes a signal when it comes, and runs its handler before its next instruction. Two moments are not covered. One
that comes after the last instruction before a system call and before that call begins is noted, and then forgotten for
as long as the call waits: for ever, if it reads a pipe that nobody writes to. And what a handler raises inside a
finaliser, or a callback of compiled code, is printed and swallowed, as every exception is there.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

PAUSE = 0.05
"""Seconds between two nudges; nobody notices, and a system call that is nudged is not slowed."""


@contextlib.contextmanager
def heard() -> Iterator[None]:
    """While this lasts, no signal that has a handler in Python waits for a system call, and no interrupt is swallowed.

    A second thread, told of every signal the moment it comes, nudges the main one until that has looked at what came.
    """
    if not hasattr(signal, "SIGURG") or threading.current_thread() is not threading.main_thread():
        yield  # Windows wakes its system calls by itself, and only the main thread is told of signals
        return
    nudger = _Nudger()
    handler, hook = signal.signal(signal.SIGURG, nudger.on_nudge), sys.unraisablehook
    wakeup = signal.set_wakeup_fd(nudger.bell, warn_on_full_buffer=False)
    sys.unraisablehook = nudger.on_swallowed
    nudger.start()
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.set_wakeup_fd(wakeup)
        nudger.end()
        signal.signal(signal.SIGURG, handler)


class _Nudger:
    """Breaks off what the main thread waits in, so that Python looks for signals; Python then goes on waiting.

    It does so by SIGURG, which nobody uses and everybody ignores: one too many does no harm.
    """

    def __init__(self) -> None:
        self._rung, self.bell = os.pipe()
        os.set_blocking(self.bell, False)
        os.register_at_fork(after_in_child=self._leave_to_parent)
        self._main = threading.main_thread().ident or 0
        self._thread = threading.Thread(target=self._run, name="moet-nudger", daemon=True)
        self._heard = self._swallowed = self._ended = False
        self._print = sys.unraisablehook

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        if not self._ended:
            self._ended = True
            os.close(self.bell)
            self._thread.join()
            os.close(self._rung)

    def on_nudge(self, number: int, frame: FrameType | None) -> None:
        """Signals are handled in the order of their numbers, and those that stop a command have smaller ones."""
        if not self._swallowed:
            self._heard = True
        elif not _inside(self.on_swallowed, frame):  # else it would be swallowed once more
            self._heard, self._swallowed = True, False
            raise KeyboardInterrupt

    def on_swallowed(self, what: Any) -> None:
        """Take what Python cannot raise: an interrupt is raised a moment later, where it is heard."""
        if not issubclass(what.exc_type, KeyboardInterrupt):
            self._print(what)
            return
        self._swallowed = True
        with contextlib.suppress(BlockingIOError):  # full: it rings already
            os.write(self.bell, bytes([signal.SIGINT]))

    def _run(self) -> None:
        while rung := os.read(self._rung, 4096):
            if any(number != signal.SIGURG for number in rung):
                self._nudge()

    def _nudge(self) -> None:
        self._heard = False
        while not (self._heard or self._ended):
            signal.pthread_kill(self._main, signal.SIGURG)
            time.sleep(PAUSE)

    def _leave_to_parent(self) -> None:
        """A child has no second thread, and must not ring for its parent."""
        if not self._ended:
            self._ended = True
            signal.set_wakeup_fd(-1)
            sys.unraisablehook = self._print


def _inside(method: Any, frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code is not method.__func__.__code__:
        frame = frame.f_back
    return frame is not None
