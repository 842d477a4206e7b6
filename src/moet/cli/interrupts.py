"""Ctrl-C is heard at once, wherever it finds the command.

Python notes a signal when it comes, and runs its handler before its next instruction. Two moments are not covered. One
that comes after the last instruction before a system call and before that call begins is noted, and then forgotten for
as long as the call waits: for ever, if it reads a pipe that nobody writes to. And what a handler raises inside a
finaliser, a callback of compiled code, or an import that takes every error for a missing library, is swallowed there.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

PAUSE = 0.1
"""Seconds between two nudges; a system call that is nudged goes on as if nothing had been."""


@contextlib.contextmanager
def heard() -> Iterator[None]:
    """While this lasts, no signal that has a handler in Python waits for a system call, and no interrupt is swallowed.

    A second thread, told of every signal the moment it comes, nudges the main one until that has looked at what came.
    """
    if not hasattr(signal, "SIGURG") or threading.current_thread() is not threading.main_thread():
        yield  # Windows wakes its system calls by itself, and only the main thread is told of signals
        return
    nudger = _Nudger()
    handlers = {signal.SIGURG: nudger.on_nudge}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        handlers[signal.SIGINT] = nudger.on_interrupt
    before = [(number, signal.signal(number, handler)) for number, handler in handlers.items()]
    hook, sys.unraisablehook = sys.unraisablehook, nudger.on_swallowed
    wakeup = signal.set_wakeup_fd(nudger.bell, warn_on_full_buffer=False)
    nudger.start()
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.set_wakeup_fd(wakeup)
        nudger.end()
        for number, handler in before:
            signal.signal(number, handler)


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
        self._ended = threading.Event()
        self._looked = self._raised = False
        self._report = sys.unraisablehook

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        if not self._ended.is_set():
            self._ended.set()
            os.close(self.bell)
            self._thread.join()
            os.close(self._rung)

    def on_interrupt(self, number: int, frame: FrameType | None) -> None:
        self._raised = True
        raise KeyboardInterrupt

    def on_nudge(self, number: int, frame: FrameType | None) -> None:
        """Signals are handled in the order of their numbers, and those that stop a command have smaller ones."""
        self._looked = True
        if self._raised and not _is_being_handled() and not _is_inside(self.on_swallowed, frame):
            raise KeyboardInterrupt

    def on_swallowed(self, what: Any) -> None:
        """Take what Python cannot raise: an interrupt is raised a moment later, where it is heard."""
        if not issubclass(what.exc_type, KeyboardInterrupt):
            self._report(what)
            return
        self._raised = True
        with contextlib.suppress(BlockingIOError):  # full: it rings already
            os.write(self.bell, bytes([signal.SIGINT]))

    def _run(self) -> None:
        while rung := os.read(self._rung, 4096):
            if any(number != signal.SIGURG for number in rung):
                self._nudge()

    def _nudge(self) -> None:
        self._looked = False
        while (self._raised or not self._looked) and not self._ended.wait(PAUSE):
            signal.pthread_kill(self._main, signal.SIGURG)

    def _leave_to_parent(self) -> None:
        """A child has no second thread, and must not ring for its parent."""
        if not self._ended.is_set():
            self._ended.set()
            signal.set_wakeup_fd(-1)
            sys.unraisablehook = self._report


def _is_being_handled() -> bool:
    """Whether an interrupt is on its way out, and what runs is done about it."""
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _is_inside(method: Any, frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code is not method.__func__.__code__:
        frame = frame.f_back
    return frame is not None
