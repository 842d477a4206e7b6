"""A shield in C beside the one in Python: the same decisions, and what one takes.

    python benchmarks/shield_c.py --states 1000000

States are those of runs behind the shield with a random agent and one on the brink, and random ones in its box. Printed
are the differences between C and Python, CPU nanoseconds of a decision on average, and the longest one by the clock,
each the least of several runs so that other processes do not count.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from shield import GAINS, law

from moet.shield import Shield
from moet.shield.c import c
from moet.verify import safe, systems

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "shield.h"
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
int main(int argc, char **argv)
{
    const int n = atoi(argv[1]);
    double (*rows)[5] = malloc(n * sizeof *rows);
    int *answers = malloc(n * sizeof *answers);
    double *least = malloc(n * sizeof *least), best = 1e300, worst = 0, empty = 1e300;
    (void)argc;
    if (fread(rows, sizeof *rows, n, stdin) != (size_t)n) return 1;
    for (int round = 0; round < 9; round++) {
        const double start = clock();
        for (int i = 0; i < n; i++) answers[i] = shield_act(rows[i], (int)rows[i][4]);
        const double end = clock();
        if (end - start < best) best = end - start;
        for (int i = 0; i < n; i++) {
            const double a = now();
            answers[i] = shield_act(rows[i], (int)rows[i][4]);
            const double b = now();
            if (round == 0 || b - a < least[i]) least[i] = b - a;
            const double e = now();
            if (e - b < empty) empty = e - b;
        }
    }
    for (int i = 0; i < n; i++) if (least[i] - empty > worst) worst = least[i] - empty;
    fprintf(stderr, "%.1f ns on average, %.0f ns the longest\\n", best * 1e9 / CLOCKS_PER_SEC / n, worst);
    return fwrite(answers, sizeof *answers, n, stdout) != (size_t)n;
}
"""


def states_of_runs(shield: Shield, count: int, seed: int = 0) -> np.ndarray:
    """States and wanted actions: runs behind the shield, and random states."""
    random = np.random.default_rng(seed)
    n_runs = 500
    x, rows = random.uniform(-0.05, 0.05, (n_runs, 4)), []
    lean = random.choice([-1, 0, 1], n_runs)
    while sum(map(len, rows)) < count * 3 // 4:
        seen = x.astype(np.float32).astype(np.float64)
        wanted = np.where(lean == 0, random.integers(0, 2, n_runs), lean > 0).astype(np.int64)
        rows.append(np.hstack([seen, wanted[:, None]]))
        x = shield.system.successor(x, shield.act_many(seen, wanted))
    low, high = shield.tables.bottom, shield.tables.top
    n_random = count - sum(map(len, rows))
    rows.append(np.hstack([random.uniform(low, high, (n_random, 4)), random.integers(0, 2, (n_random, 1))]))
    return np.concatenate(rows)[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=int, default=1_000_000)
    parser.add_argument("--ahead", type=int, nargs="+", default=[1, 10, 30])
    options = parser.parse_args()
    system, policy = systems.cartpole(), law(GAINS)
    proof = safe(policy, system, steps=None).certificate
    for ahead in options.ahead:
        shield = Shield(proof, policy, system, steps=ahead)
        rows = states_of_runs(shield, options.states)
        with tempfile.TemporaryDirectory() as folder:
            header, source, program = (Path(folder, name) for name in ("shield.h", "main.c", "main"))
            header.write_text(c(shield))
            source.write_text(MAIN)
            subprocess.run(["cc", "-std=gnu99", "-O2", str(source), "-o", str(program), "-lm"], check=True)
            done = subprocess.run([program, str(len(rows))], input=rows.tobytes(), capture_output=True, check=True)
        taken = shield.act_many(rows[:, :4], rows[:, 4].astype(np.int64))
        different = np.count_nonzero(taken != np.frombuffer(done.stdout, np.int32))
        size = len(c(shield)) / 1000
        print(
            f"{ahead} ahead: {different} of {len(rows):,} differ; {done.stderr.decode().strip()}; header {size:.0f} KB"
        )


if __name__ == "__main__":
    main()
