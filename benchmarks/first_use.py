"""What the first fit and predict of a machine cost: compiling the kernels, and starting again once they are cached.

python benchmarks/first_use.py [--json out.json]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import Results, Row, console, machine, show

PROGRAM = """
import numpy as np
from moet import MoETClassifier
X = np.random.default_rng(0).normal(size=({rows}, 3))
MoETClassifier(2, 2, max_iter=2, random_state=0).fit(X, (X.sum(axis=1) > 0).astype(int)).predict(X)
"""
IMPORTS = "import numba, numpy, scipy.optimize, sklearn.tree"


def run(program: str, cache: str) -> tuple[float, float, str]:
    """CPU seconds, wall seconds and stderr of a fresh process."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stderr)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall, done.stderr


def first_use(rows: int) -> Row:
    """Start three processes: one that only imports, one with an empty cache, one with what that left."""
    program = PROGRAM.format(rows=rows)
    with tempfile.TemporaryDirectory() as cache:
        run(IMPORTS, cache)
        runs = {"imports alone": run(IMPORTS, cache), "first": run(program, cache), "second": run(program, cache)}
    return {name: {"cpu": cpu, "wall": wall, "stderr": stderr} for name, (cpu, wall, stderr) in runs.items()}


def main() -> None:
    """Print the seconds of the three processes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    results = Results(parser.parse_args().json)
    console.print(machine())
    for rows in (500, 5000):  # small tables need fewer kernels
        row = results.measure(first_use, rows=rows)
        show(
            f"One fit and predict of {rows} rows in a fresh process",
            ["process", "CPU s", "wall s"],
            [[name, row[name]["cpu"], row[name]["wall"]] for name in ("imports alone", "first", "second")],
        )
        console.print(f"the first process said on stderr: {row['first']['stderr'].strip() or 'nothing'}", markup=False)


if __name__ == "__main__":
    main()
