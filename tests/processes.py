"""Processes that tests start: each has a limit, and none of them, nor of those that they start, outlives its test."""

import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

LIMIT = 300.0
"""Seconds after which a process is taken to hang; many times what any needs, for machines that are busy."""

AGAIN = 20.0
"""Seconds after which a signal that was not heard is sent again."""

INTERRUPTED = (130, -signal.SIGINT)
"""How an interrupted command ends; Python makes the second of the first if it came while text was being executed."""

PASSES_ON = "MOET_TEST_PROCESS"  # a variable that children inherit, whatever session they begin


def run(command: Sequence[object], *, limit: float = LIMIT, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, as ``subprocess.run`` does."""
    check, said = options.pop("check", False), options.pop("input", None)
    options.setdefault("stdin", subprocess.DEVNULL if said is None else subprocess.PIPE)
    with started(command, **options) as process:
        stdout, stderr = process.communicate(said, timeout=limit)
    result = subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)
    assert not check or result.returncode == 0, result
    return result


@contextmanager
def started(command: Sequence[object], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Begin a program, in a session of its own; what it said can be read until the end, when it is killed."""
    token = uuid.uuid4().hex
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    options["env"] = {**options.get("env", os.environ), PASSES_ON: token}
    process = subprocess.Popen([str(part) for part in command], text=True, start_new_session=True, **options)
    try:
        yield process
    finally:
        kill(process, token)


def kill(process: subprocess.Popen[Any], token: str) -> None:
    """Kill a process, its group, and whatever else was started by them."""
    known = descendants(process.pid)  # while their parents live
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for number in {*known, *carriers(token)}:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    process.wait(LIMIT)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def descendants(number: int) -> list[int]:
    """Children of a process, theirs, and so on; one that was started this moment has no environment to be known by."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    found = [number]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def carriers(token: str) -> list[int]:
    """Processes that inherited a token; none where there is no /proc."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has ended, or is none of ours
            if f"{PASSES_ON}={token}".encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


def stopped(process: subprocess.Popen[str], number: int = signal.SIGINT, limit: float = LIMIT) -> tuple[str, str]:
    """Send a signal until it is heard; return what the process said until its end."""
    end = time.monotonic() + limit
    while True:
        process.send_signal(number)
        try:
            return process.communicate(timeout=AGAIN)
        except subprocess.TimeoutExpired:
            assert time.monotonic() < end, f"{process.args} did not hear signal {number}"


def wait_until(condition: Callable[[], object], limit: float = LIMIT) -> None:
    """Wait for other processes; the limit is for a test that hangs."""
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, "the other processes did nothing"
        time.sleep(0.05)
