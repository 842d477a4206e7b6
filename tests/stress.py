"""Repeat the tests that depend on other processes beside busy cores: ``python tests/stress.py TIMES [FILE ...]``.

Files of tests are repeated one after the other, those that send signals first, each test so many times in a row in one
process. A file that fails is left, the others go on, and the exit code says so. With ``--record FILE`` what has passed
is kept, and not repeated by the next call; delete the file when the code has changed. Other arguments go to pytest,
such as ``-k interrupt``.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
BUSY = [sys.executable, "-c", "import os\nparent = os.getppid()\nwhile os.getppid() == parent: sum(range(10**6))"]
SHARE = 5
"""Repetitions in one process; after it they are recorded."""

DANGEROUS = ("stopped(", "os.kill", "socket", "browser", "workers=")
"""What files of tests do that may go wrong, the worst first."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """This file is the plugin of the processes that it starts, too."""
    parser.addoption("--repeat", type=int, default=1)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    metafunc.fixturenames.append("repetition")
    metafunc.parametrize("repetition", range(metafunc.config.getoption("repeat")))


def files_of_tests() -> list[str]:
    """Files with the mark ``processes``, the most dangerous first."""

    def rank(path: Path) -> tuple[int, str]:
        text = path.read_text(encoding="utf-8")
        return next((k for k, word in enumerate(DANGEROUS) if word in text), len(DANGEROUS)), str(path)

    marked = [path for path in TESTS.rglob("test_*.py") if "mark.processes" in path.read_text(encoding="utf-8")]
    return [str(path.relative_to(TESTS.parent)) for path in sorted(marked, key=rank)]


def repeated(file: str, times: int, options: list[str]) -> bool:
    """Whether all tests of a file pass so many times; so does a file of which no test is chosen."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "tests.stress", f"--repeat={times}", "-m", "processes"]
    fine = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    return subprocess.call([*command, *options, file], cwd=TESTS.parent) in fine


def main(times: int, record: Path | None, files: list[str], options: list[str]) -> int:
    passed: dict[str, int] = {}
    with suppress(FileNotFoundError):
        passed = json.loads(record.read_text()) if record else {}
    failed = []
    with ExitStack() as busy:
        for _ in range((os.cpu_count() or 1) - int(os.getloadavg()[0])):
            busy.callback(subprocess.Popen(BUSY).kill)
        for file in files:
            while (done := passed.get(file, 0)) < times and file not in failed:
                print(f"{time.strftime('%H:%M:%S')} {file}: {done} of {times}", flush=True)
                if repeated(file, min(SHARE, times - done), options):
                    passed[file] = min(done + SHARE, times)
                else:
                    failed.append(file)
                if record:
                    record.write_text(json.dumps(passed, indent=1))
    print(f"failed: {', '.join(failed)}" if failed else f"all passed {times} times")
    return len(failed) > 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("times", type=int)
    parser.add_argument("--record", type=Path)
    known, others = parser.parse_known_args()
    every = files_of_tests()
    chosen = [file for file in every if file in others]
    sys.exit(main(known.times, known.record, chosen or every, [one for one in others if one not in chosen]))
