"""How time and memory of a fit grow with the rows of a table of 20 columns, beside gradient boosting.

python benchmarks/table_rows.py [--rows 250000 500000 1000000] [--models default "8 experts of depth 6" ...]

Every fit has a process of its own, whose largest memory is told; it includes the table. "Parquet" is the whole command
``moet fit big.parquet --target y --experts 8 --depth 6 --soft``, of a file that is written before.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from harness import cpu_seconds, machine, show, single_threaded
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from moet import MoETClassifier

MODELS = ("gradient boosting", "default", "8 experts of depth 6", "60 boosted trees", "Parquet")

PART = 500_000
"""Rows of a file that are written at once."""


BOOSTED: Any = {"training": "boosting", "max_iter": 0, "max_samples": 0.5, "max_features": 0.5}
"""Trees that each see half of the rows and columns, behind a uniform gate."""


def table(n_rows: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Twenty columns, of which five decide between three classes, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 20))
    score = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(3 * X[:, 3]) + rng.normal(size=n_rows) / 2
    return X, (score > 0).astype(np.int64) + (X[:, 4] > 1)


def model(name: str) -> Any:
    """One of ``MODELS``, unfitted."""
    if name == "gradient boosting":
        return HistGradientBoostingClassifier(random_state=0)
    if name == "60 boosted trees":
        return MoETClassifier(60, 6, **BOOSTED, random_state=0)
    return MoETClassifier(random_state=0) if name == "default" else MoETClassifier(8, 6, random_state=0)


def write_parquet(path: Path, n_rows: int) -> None:
    """Such a table in a file, the labels in a column ``y``; every part has a seed of its own."""
    import pyarrow
    from pyarrow import parquet

    def part(start: int) -> pyarrow.Table:
        X, y = table(min(PART, n_rows - start), 3 + start)
        return pyarrow.table({f"x{k}": X[:, k] for k in range(X.shape[1])} | {"y": y})

    with parquet.ParquetWriter(path, part(0).schema) as writer:
        for start in range(0, n_rows, PART):
            writer.write_table(part(start))


def measure_command(n_rows: int) -> tuple[float, float, float]:
    """The same as ``measure`` of the whole command."""
    from moet import load

    with tempfile.TemporaryDirectory() as folder:
        data, model_file = Path(folder) / "big.parquet", Path(folder) / "m.moet.json"
        write_parquet(data, n_rows)
        command = ["-m", "moet", "fit", str(data), "--target", "y", "--experts", "8", "--depth", "6", "--soft"]
        subprocess.run([sys.executable, *command, "-o", str(model_file)], check=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        X, y = table(20_000, 2)
        accuracy = float((load(model_file).predict(X) == y).mean())
    return accuracy, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20


def measure(name: str, n_rows: int) -> tuple[float, float, float]:
    """Accuracy on new rows, CPU seconds and gigabytes of one fit."""
    if name == "Parquet":
        return measure_command(n_rows)
    single_threaded()
    model(name).fit(*table(20_000, 1))  # compiles
    X, y = table(n_rows, 0)
    fitted, cpu = cpu_seconds(lambda: model(name).fit(X, y))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return float(fitted.score(*table(20_000, 2))), cpu, memory


def main() -> None:
    """Print a row per model and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[250_000, 500_000, 1_000_000])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    arguments = parser.parse_args()
    rows = []
    for n_rows in arguments.rows:
        for name in arguments.models:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                rows.append([n_rows, name, *pool.apply(measure, (name, n_rows))])
            print(*rows[-1], flush=True)
    show(machine(), ("rows", "model", "accuracy", "CPU seconds", "GB"), rows)


if __name__ == "__main__":
    main()
