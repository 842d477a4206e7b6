"""How the time of a fit grows with the columns of a table.

python benchmarks/table_columns.py [--columns 125 250 500 1000 2000] [--rows 1500] [--prediction soft] [--seeds 0]
"""

from __future__ import annotations

import argparse

import numpy as np
from harness import Row, cpu_seconds, machine, show, single_threaded
from numpy.typing import NDArray

from moet import MoETClassifier

TEST_ROWS = 5_000


def wide(n_rows: int, n_columns: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Columns of noise, of which the first five decide between three classes."""
    X = np.random.default_rng(seed).normal(size=(n_rows, n_columns))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + X[:, 3] / 2 > 0).astype(np.int64) + (X[:, 4] > 1)


def fit(n_rows: int, n_columns: int, prediction: str, seed: int) -> Row:
    """CPU seconds of one fit of default size, and its accuracy on new rows."""
    model = MoETClassifier(prediction=prediction, random_state=seed)  # type: ignore[arg-type]
    _, cpu = cpu_seconds(lambda: model.fit(*wide(n_rows, n_columns, seed)))
    return {"cpu": cpu, "accuracy": float(model.score(*wide(TEST_ROWS, n_columns, 1_000 + seed)))}


def main() -> None:
    """Print a row per width."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, nargs="+", default=[125, 250, 500, 1000, 2000])
    parser.add_argument("--rows", type=int, default=1_500)
    parser.add_argument("--prediction", choices=("soft", "hard"), default="soft")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    arguments = parser.parse_args()
    single_threaded()
    fit(arguments.rows, 10, arguments.prediction, 0)  # compiles
    rows = []
    for width in arguments.columns:
        found = [fit(arguments.rows, width, arguments.prediction, seed) for seed in arguments.seeds]
        rows.append([width, *(float(np.mean([one[name] for one in found])) for name in ("cpu", "accuracy"))])
    show(f"{arguments.rows} rows; {machine()}", ("columns", "CPU seconds", "accuracy on new rows"), rows)


if __name__ == "__main__":
    main()
