"""Repeat the tests that depend on other processes beside busy cores: ``python tests/stress.py TIMES [FILE ...]``.

Files of tests are repeated one after the other, those that send signals first, each time in a process of its own, for
tests of a file may share a server that remembers. A file that fails is left, the others go on, and the exit code says
so. With ``--record FILE`` what has passed is kept, and not repeated by the next call; delete the file when the code has
changed. Other arguments go to pytest, such as ``-k interrupt``.
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
DANGEROUS = ("stopped(", "os.kill", "socket", "browser", "workers=")
"""What files of tests do that may go wrong, the worst first."""


def files_of_tests() -> list[str]:
    """Files with the mark ``processes``, the most dangerous first."""

    def rank(path: Path) -> tuple[int, str]:
        text = path.read_text(encoding="utf-8")
        return next((k for k, word in enumerate(DANGEROUS) if word in text), len(DANGEROUS)), str(path)

    marked = [path for path in TESTS.rglob("test_*.py") if "mark.processes" in path.read_text(encoding="utf-8")]
    return [str(path.relative_to(TESTS.parent)) for path in sorted(marked, key=rank)]


def passes(file: str, options: list[str]) -> bool:
    """Whether all tests of a file pass; so does a file of which no test is chosen."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "processes", *options, file]
    return subprocess.call(command, cwd=TESTS.parent) in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


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
                if passes(file, options):
                    passed[file] = done + 1
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
