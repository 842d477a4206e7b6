"""Where a signal can get lost, and that it does not."""

import _thread
import ast
import contextlib
import functools
import operator
import os
import signal
import sys
import threading
import time

import pytest

from moet.cli.interrupts import PAUSE, heard
from tests.processes import run

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]  # a signal that is not heard is a test that hangs


@pytest.fixture
def silent():
    """A pipe that nobody writes to."""
    reading, writing = os.pipe()
    yield reading
    os.close(writing)
    os.close(reading)


def test_a_signal_just_before_a_system_call_is_heard(silent):
    steps = [_thread.interrupt_main, functools.partial(os.read, silent, 1)]
    with pytest.raises(KeyboardInterrupt), heard():
        list(map(operator.call, steps))  # from one to the other, Python has no instruction before which it would look


class Interrupted:
    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


class Broken:
    def __del__(self) -> None:
        raise ValueError("broken")


def test_an_interrupt_in_a_finaliser_is_not_swallowed(silent, capsys):
    with pytest.raises(KeyboardInterrupt), heard():
        os.read(silent, 1 if Interrupted() else 0)  # gone before it is read
    assert capsys.readouterr().err == ""


def interrupted_and_swallowed() -> None:
    with contextlib.suppress(BaseException):
        signal.raise_signal(signal.SIGINT)


def test_an_interrupt_that_somebody_catches_is_raised_again(silent):
    with pytest.raises(KeyboardInterrupt), heard():
        list(map(operator.call, [interrupted_and_swallowed, functools.partial(os.read, silent, 1)]))


def test_what_is_done_about_an_interrupt_is_not_interrupted():
    done = []

    def work():
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            time.sleep(3 * PAUSE)
            try:
                raise ValueError("in the middle of it")
            except ValueError:
                time.sleep(3 * PAUSE)
            done.append(True)

    with pytest.raises(KeyboardInterrupt), heard():
        work()
    assert done


def test_other_errors_in_finalisers_are_reported_as_before(monkeypatch):
    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: reported.append(what.exc_type))
    with heard():
        Broken()
    assert reported == [ValueError]


def test_a_handler_that_raises_nothing_lets_the_call_go_on(monkeypatch):
    reading, writing = os.pipe()
    came = []

    def handler(number, frame):
        came.append(number)
        os.write(writing, b"x")

    before = signal.signal(signal.SIGTERM, handler)
    try:
        with heard():
            steps = [functools.partial(_thread.interrupt_main, signal.SIGTERM), functools.partial(os.read, reading, 1)]
            assert list(map(operator.call, steps)) == [None, b"x"]
    finally:
        signal.signal(signal.SIGTERM, before)
        os.close(reading)
        os.close(writing)
    assert came == [signal.SIGTERM]


def test_nothing_of_it_stays():
    def around():
        return signal.getsignal(signal.SIGURG), sys.unraisablehook, threading.active_count()

    before = around()
    with heard():
        assert around() != before
    assert around() == before
    assert signal.set_wakeup_fd(-1) == -1


def test_elsewhere_than_in_the_main_thread_nothing_happens():
    found = []

    def look():
        with heard():
            found.append(signal.getsignal(signal.SIGURG))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join(60)
    assert found == [signal.getsignal(signal.SIGURG)]


PRELUDE = """
import os, random, signal, sys, time
from pathlib import Path
from moet.cli.interrupts import PAUSE, heard

def ended(child, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.0005)
    os.kill(child, signal.SIGKILL)
"""


def test_a_forked_child_does_not_ring_for_its_parent():
    code = """
with heard():
    child = os.fork()
    if not child:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            os._exit(130)
    print(ended(child))
"""
    assert run([sys.executable, "-c", PRELUDE + code], check=True).stdout == "130\n"


def test_interrupts_at_random_moments_of_reading_a_pipe_are_all_heard(tmp_path):
    """Without help, about one in two hundred is not."""
    os.mkfifo(tmp_path / "fifo")
    code = """
fifo, codes = Path(sys.argv[1]), []
generator = random.Random(0)
for _ in range(300):
    child = os.fork()
    if not child:
        try:
            with heard():
                fifo.read_bytes()
        except KeyboardInterrupt:
            os._exit(130)
    writer = os.open(fifo, os.O_WRONLY)  # returns once it is read
    end = time.perf_counter() + generator.choice([0, 0, 1e-5, 1e-4]) * generator.random()
    while time.perf_counter() < end:
        pass
    os.kill(child, signal.SIGINT)
    codes.append(ended(child))
    os.close(writer)
print(set(codes))
"""
    assert run([sys.executable, "-c", PRELUDE + code, tmp_path / "fifo"], check=True).stdout == "{130}\n"


IMPORTING = """
import contextlib, signal, sys
class Swallowing:
    def find_spec(self, name, path=None, target=None):
        if name == "moet.cli.app":
            with contextlib.suppress(BaseException):
                signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Swallowing())
sys.argv = ["moet", "--help"]
from moet.__main__ import main
"""


def test_an_interrupt_while_the_command_is_imported_ends_it_though_somebody_swallows_it():
    ended = run([sys.executable, "-c", f"{IMPORTING}\nmain()"])
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "moet: interrupted\n")


@pytest.mark.parametrize("way", ["signal.SIG_IGN", "lambda *_: None"])
def test_an_interrupt_that_is_handled_otherwise_is_left_to_that(way):
    ended = run([sys.executable, "-c", f"{IMPORTING}\nsignal.signal(signal.SIGINT, {way})\nmain()"])
    assert ended.returncode == 0
    assert "Usage" in ended.stdout


def test_what_python_imports_before_an_interrupt_is_caught_is_there_already():
    """``typing`` takes longer than all else: an interrupt in it would end in a traceback."""
    code = "import sys; before = set(sys.modules); import moet.__main__; print({*sys.modules} - before)"
    new = ast.literal_eval(run([sys.executable, "-c", code], check=True).stdout)
    assert not new & {"typing", "re", "signal", "enum", "collections"}
