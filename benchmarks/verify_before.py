"""How long today's checks of proofs by paths take beside the searches of an earlier commit, and beside today's.

    python benchmarks/verify_before.py [--commit 0e44d14] [--repeats 100]

The wish that a check take at most three times its search was made of the searches of commit 0e44d14, which checked
nothing inside a question. Its sources are taken from git, and asked in a process of their own about the policies of
the second table of ``verify.py``; then today's are, in this one. CPU seconds of one thread, the least of some calls:
other work on the machine makes searches, which are short and compiled, slower by more than checks.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import console, machine, search_and_check, show, single_threaded
from verify import GRID, STEPS, fitted

from moet import load, save
from moet.verify import safe, systems

ROOT = Path(__file__).parents[1]
SEARCHES = """
import json, sys, time
from moet import load
from moet.verify import safe, systems

def seconds(ask):
    start = time.process_time()
    ask()
    return time.process_time() - start

found = []
for path in sys.argv[3:]:
    mixture, system = load(path), systems.cartpole_published()
    ask = lambda: safe(mixture, system, steps=int(sys.argv[2]))
    ask()
    found.append(min(seconds(ask) for _ in range(int(sys.argv[1]))))
print(json.dumps(found))
"""


def searches_of(commit: str, repeats: int, models: list[Path], folder: Path) -> list[float]:
    """Seconds of the searches of a commit."""
    packed = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=packed, check=True)
    settings = {**os.environ, "PYTHONPATH": str(folder / "src"), "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    command = [sys.executable, "-c", SEARCHES, str(repeats), str(STEPS), *map(str, models)]
    return json.loads(subprocess.run(command, env=settings, stdout=subprocess.PIPE, check=True).stdout)


def today(path: Path, repeats: int) -> tuple[float, float]:
    """Seconds of search and check."""
    mixture, system = load(path), systems.cartpole_published()
    safe(mixture, system, steps=STEPS)
    calls = [search_and_check(lambda: safe(mixture, system, steps=STEPS)) for _ in range(repeats)]
    _, searches, checks = zip(*calls, strict=True)
    return min(searches), min(checks)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", default="0e44d14", help="whose searches to compare with")
    parser.add_argument("--repeats", type=int, default=100, help="calls of each, of which the least counts")
    options = parser.parse_args()
    single_threaded()
    console.print(machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = [folder / f"{experts}-{depth}.moet.json" for experts, depth in GRID]
        for path, (experts, depth) in zip(models, GRID, strict=True):
            save(fitted(experts, depth, rough=True), path)
        before = searches_of(options.commit, options.repeats, models, folder)
        now = [today(path, options.repeats) for path in models]
    rows = [
        (experts, depth, 1e3 * then, 1e3 * search, 1e3 * check, check / search, check / then)
        for (experts, depth), then, (search, check) in zip(GRID, before, now, strict=True)
    ]
    columns = ("experts", "depth", "search then, ms", "search, ms", "check, ms", "check / search", "check / then")
    show(f"{options.commit} and today", columns, rows)
    for name, place in (("search", 5), ("search then", 6)):
        within = sum(round(row[place], 1) <= 3.0 for row in rows)
        console.print(
            f"check / {name}: {within} of {len(rows)} within 3, at most {max(row[place] for row in rows):.2f}"
        )


if __name__ == "__main__":
    main()
