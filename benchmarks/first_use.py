"""What the first fit and predict of a machine cost: compiling the kernels, and starting again once they are cached.

Then commands in processes of their own, once kernels are cached: what everybody waits for all day.

python benchmarks/first_use.py [fit] [commands] [--json out.json]
"""

from __future__ import annotations

import argparse
import contextlib
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
CACHE = os.environ.get("NUMBA_CACHE_DIR", "")
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


MODEL = """
from moet import Mixture, Tree, save
names = ["position", "velocity", "angle", "angular_velocity"]
leaves = [Tree.leaf([1, 0]), Tree.leaf([0, 1])]
gains = [[0.0] * 4, [5.778, 11.041, 96.362, 25.0]]
save(Mixture(gains, [0, 0], leaves, ["left", "right"], names, provenance={"task": "cartpole"}), "p.moet.json")
open("rows.csv", "w").write(",".join(names) + chr(10) + "0,0,0.1,0" + chr(10))
"""
WHERE = "angle>=0.15, angular_velocity>=0.5, -1<=position<=1, -1<=velocity<=1"
COMMANDS = {
    "show": ["show", "p.moet.json"],
    "predict": ["predict", "p.moet.json", "rows.csv"],
    "why": ["why", "p.moet.json", "--at", "0,0,0.1,0"],
    "verify --always": ["verify", "p.moet.json", "--always", "right", "--where", WHERE],
    "verify --system": ["verify", "p.moet.json", "--system", "cartpole_published", "--steps", "10"],
}


def second_use(command: str) -> Row:
    """CPU and wall seconds of a command in a fresh process, the least of three after one that compiles."""
    program = f"import sys; from moet.cli.app import app; sys.argv[1:] = {COMMANDS[command]!r}; app()"
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        run(MODEL, CACHE)
        runs = [run(program, CACHE)[:2] for _ in range(4)][1:]
    return {"cpu": min(cpu for cpu, _ in runs), "wall": min(wall for _, wall in runs)}


def main() -> None:
    """Print the seconds of the three processes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("parts", nargs="*", help="fit, commands; by default both")
    options = parser.parse_args()
    results, parts = Results(options.json), options.parts or ["fit", "commands"]
    console.print(machine())
    for rows in (500, 5000) if "fit" in parts else ():  # small tables need fewer kernels
        row = results.measure(first_use, rows=rows)
        show(
            f"One fit and predict of {rows} rows in a fresh process",
            ["process", "CPU s", "wall s"],
            [[name, row[name]["cpu"], row[name]["wall"]] for name in ("imports alone", "first", "second")],
        )
        console.print(f"the first process said on stderr: {row['first']['stderr'].strip() or 'nothing'}", markup=False)
    rows = {command: results.measure(second_use, command=command) for command in COMMANDS if "commands" in parts}
    show("Commands, kernels cached", ["moet", "CPU s", "wall s"], [[n, r["cpu"], r["wall"]] for n, r in rows.items()])


if __name__ == "__main__":
    main()
