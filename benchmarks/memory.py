"""Peak memory of a large fit beyond the table itself.

python benchmarks/memory.py [--rows 1000000] [--features 20] [--experts 8]
"""

from __future__ import annotations

import argparse
import tracemalloc

from harness import console, machine, single_threaded
from tasks import synthetic

from moet import MoETClassifier


def main() -> None:
    """Fit once and print the peak beside the sizes it is to be compared with."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--experts", type=int, default=8)
    options = parser.parse_args()
    single_threaded()
    MoETClassifier(2, 2, random_state=0).fit(*synthetic(2000, options.features, 2))  # loads the kernels
    X, y = synthetic(options.rows, options.features, 4)
    tracemalloc.start()  # sees NumPy's arrays; what kernels allocate by themselves is a few kilobytes
    MoETClassifier(options.experts, 6, prediction="hard", random_state=0).fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    binned, floats = X.size / 1e6, 8 * options.rows * options.experts / 1e6
    console.print(machine())
    console.print(f"{peak / 1e6:.0f} MB at the peak of the fit, beyond the table's own {X.nbytes / 1e6:.0f} MB")
    console.print(f"4 × the binned matrix: {4 * binned:.0f} MB; one float64 per row and expert: {floats:.0f} MB")


if __name__ == "__main__":
    main()
