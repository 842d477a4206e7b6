"""Repeat the tests that depend on other processes while every core is busy: ``python tests/stress.py TIMES [ARGS]``.

Stops at the first run that fails. Further arguments go to pytest, such as ``-k interrupt`` or ``-n 2``.
"""

import os
import subprocess
import sys
from contextlib import ExitStack

BUSY = [sys.executable, "-c", "import os\nparent = os.getppid()\nwhile os.getppid() == parent: sum(range(10**6))"]


def main(times: int, arguments: list[str]) -> int:
    tests = [sys.executable, "-m", "pytest", "-q", "-m", "processes", *arguments]
    with ExitStack() as busy:
        for _ in range(os.cpu_count() or 1):
            busy.callback(subprocess.Popen(BUSY).kill)
        for k in range(times):
            print(f"run {k + 1} of {times}", flush=True)
            if code := subprocess.call(tests):
                return code
    print(f"all {times} runs passed")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
