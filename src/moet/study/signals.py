"""Stopping by Ctrl-C, SIGTERM or a terminal that is closed, where it does no harm."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Stop:
    """The wish of a user, or of a scheduler, that this process ends."""

    def __init__(self) -> None:
        self._wanted = False
        self._safe = False

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Where a wish, also one from before, raises KeyboardInterrupt; elsewhere it waits."""
        self._safe = True
        try:
            if self._wanted:
                raise KeyboardInterrupt
            yield
        finally:
            self._safe = False

    def _receive(self, number: int, frame: Any) -> None:
        self._wanted = True
        if self._safe:
            self._safe = False  # once: what is done about it is not interrupted again
            raise KeyboardInterrupt


@contextmanager
def stop_requests() -> Iterator[Stop]:
    """Take these signals as wishes; SIGTERM is how schedulers end jobs, and `nohup` ignores that of the terminal."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():  # only that one is told of signals
        yield stop
        return
    wishes = [signal.SIGTERM, signal.SIGINT]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        wishes.append(signal.SIGHUP)
    before = [(number, signal.signal(number, stop._receive)) for number in wishes]
    try:
        yield stop
    finally:
        for number, handler in before:
            signal.signal(number, handler)
