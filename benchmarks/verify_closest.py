"""How long the nearest other answer takes in many features: hard mixtures of 8 experts of depth 5 on Fetal health.

    python benchmarks/verify_closest.py [--rows 100] [--seed 0] [--norm linf] [--hard-iter 0]

Models are fitted to the table itself, and to its numbers without a schema; rows were held out, units are raw. CPU
seconds, checks included.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from moet import Mixture, MoETClassifier, verify


def main() -> None:
    """Ask, and print the quantiles."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--norm", default="linf", choices=["linf", "l1"])
    parser.add_argument("--hard-iter", type=int, default=None, help="of MoETClassifier: 0 leaves more leaves")
    arguments = parser.parse_args()
    table = pd.read_csv(Path(os.environ.get("MOET_DATA", "data")) / "fetal_health.csv")
    y = table.pop("fetal_health").to_numpy().astype(int)
    order = np.random.default_rng(arguments.seed).permutation(len(table))
    held_out, rest = order[: arguments.rows], order[arguments.rows :]
    more = {} if arguments.hard_iter is None else {"hard_iter": arguments.hard_iter}
    for name, X in (("table", table.iloc[rest]), ("numbers", table.to_numpy(dtype=np.float64)[rest])):
        model = MoETClassifier(n_experts=8, max_depth=5, prediction="hard", random_state=arguments.seed, **more)
        mixture = model.fit(X, y[rest]).mixture_
        rows = table.to_numpy(dtype=np.float64)[held_out]
        print(f"{name}: {mixture}, {np.mean(mixture.predict(rows) == y[held_out]):.2f} of the rows are right")
        print(f"  {arguments.norm}: {told(mixture, rows, arguments.norm)}")


def told(mixture: Mixture, rows: NDArray[np.float64], norm: Any) -> str:
    """Ask about every row."""
    verify.closest(mixture, rows[0], norm)  # compiles
    seconds, proved = [], 0
    for x in rows:
        start = time.process_time()
        proved += verify.closest(mixture, x, norm).checked
        seconds.append(time.process_time() - start)
    median, most, worst = np.quantile(seconds, (0.5, 0.9, 1.0))
    return f"{proved} of {len(rows)} proved, CPU seconds a row: median {median:.3f}, 90 % {most:.3f}, worst {worst:.3f}"


if __name__ == "__main__":
    main()
