import os
import signal
from contextlib import contextmanager

import pytest

from moet.study.signals import stop_requests

pytestmark = pytest.mark.processes


@contextmanager
def handled(number, handler):
    """Tests may themselves run under `nohup`, or not."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_wish_waits_until_it_does_no_harm(number):
    with handled(number, signal.SIG_DFL), stop_requests() as stop:
        os.kill(os.getpid(), number)
        with pytest.raises(KeyboardInterrupt), stop.interruptible():
            pytest.fail("the wish was forgotten")


def test_what_nohup_ignores_stays_ignored():
    with handled(signal.SIGHUP, signal.SIG_IGN), stop_requests() as stop, stop.interruptible():
        os.kill(os.getpid(), signal.SIGHUP)


def test_a_wish_interrupts_once():
    before = signal.getsignal(signal.SIGTERM)
    cleaned = []

    def work():
        with stop_requests() as stop, stop.interruptible():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            finally:
                os.kill(os.getpid(), signal.SIGTERM)
                cleaned.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert cleaned
    assert signal.getsignal(signal.SIGTERM) is before
