"""A shield in C beside the one in Python: the same decisions, and what one takes.

    python benchmarks/shield_c.py --states 1000000

The shield is the one that CartPole's equations yield by themselves. States are those of runs behind it, with the
bundled agent, half-trained ones, random pushes, pushes to where the pole falls, the opposite of a safe law, and pushes
one way only, which end on the brink of what is allowed; and random ones in its box. Printed are, for each kind, the
share of actions that is replaced, the differences between C and Python, CPU nanoseconds of a decision on average, and
the longest one by the clock, each the least of several runs so that other processes do not count; and what one step of
the equations takes without any test, actions given: a decision that is refused after n steps takes n times that at
least.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from shield import GAINS

from moet import teachers
from moet.distill.lqr import safe_law
from moet.shield import Shield
from moet.shield.c_header import c
from moet.verify import systems

KINDS = ("bundled", "half-trained", "random", "edge", "anti-policy", "one way", "no run")

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
    double alone = 1e300, sum = 0;
    for (int round = 0; round < 99; round++) {
        double z[4] = {0.01, 0.02, 0.01, -0.01};
        const double start = now();
        for (int i = 0; i < 3000; i++) {
            if (i % 30 == 0) z[0] = 0.01, z[1] = 0.02, z[2] = 0.01 + 1e-9 * z[2], z[3] = -0.01;
            shield_step(z, i & 1);
        }
        const double end = now();
        sum += z[3];
        if (end - start < alone) alone = end - start;
    }
    if (sum != sum) return 2;
    fprintf(stderr, "%.1f ns on average, %.0f ns the longest", best * 1e9 / CLOCKS_PER_SEC / n, worst);
    fprintf(stderr, "; %.1f ns a step of the equations alone\\n", alone / 3000);
    return fwrite(answers, sizeof *answers, n, stdout) != (size_t)n;
}
"""


def states_of_runs(shield: Shield, kind: str, count: int, seed: int = 0) -> np.ndarray:
    """States and wanted actions of runs behind a shield with one kind of agent; or random ones, in no run."""
    random = np.random.default_rng(seed)
    if kind == "no run":
        states = random.uniform(shield.tables.bottom, shield.tables.top, (count, 4))
        return np.hstack([states, random.integers(0, 2, (count, 1))])
    n_runs, teacher = 500, teachers.load("cartpole")
    x, lean = random.uniform(-0.05, 0.05, (n_runs, 4)), random.choice([-1, 1], n_runs)
    gains = np.array(GAINS) * np.exp(random.normal(size=(n_runs, 4)))
    wants = {
        "bundled": lambda seen: np.asarray(teacher.act(seen)),
        "half-trained": lambda seen: (seen * gains).sum(axis=1) > 0,
        "random": lambda seen: random.integers(0, 2, n_runs),
        "edge": lambda seen: seen @ [1 / 2.4, 0.5, 1 / 0.21, 1] < 0,
        "anti-policy": lambda seen: seen @ GAINS <= 0,
        "one way": lambda seen: lean > 0,
    }
    rows: list[np.ndarray] = []
    while len(rows) * n_runs < count:
        seen = x.astype(np.float32).astype(np.float64)
        wanted = wants[kind](seen).astype(np.int64)
        rows.append(np.hstack([seen, wanted[:, None]]))
        x = shield.system.successor(x, shield.act_many(seen, wanted))
    return np.concatenate(rows)[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=int, default=1_000_000, help="in all, for each number of steps ahead")
    parser.add_argument("--ahead", type=int, nargs="+", default=[1, 4, 10, 30])
    options = parser.parse_args()
    law = safe_law(systems.cartpole())
    for ahead in options.ahead:
        shield = Shield(law.verdict.certificate, law.policy, systems.cartpole(), steps=ahead)
        print(f"{ahead} ahead: header {len(c(shield)) / 1000:.0f} KB", flush=True)
        for kind in KINDS:
            rows = states_of_runs(shield, kind, options.states // len(KINDS))
            answers, told = decided_in_c(shield, rows)
            wanted = rows[:, 4].astype(np.int64)
            taken = shield.act_many(rows[:, :4], wanted)
            counts = f"{np.mean(taken != wanted):7.2%} replaced, {np.count_nonzero(taken != answers)} differ"
            print(f"  {kind:<13} {len(rows):>9,} decisions, {counts}; {told}", flush=True)


def decided_in_c(shield: Shield, rows: np.ndarray) -> tuple[np.ndarray, str]:
    """Actions that the compiled header takes, and what it takes to decide."""
    with tempfile.TemporaryDirectory() as folder:
        header, source, program = (Path(folder, name) for name in ("shield.h", "main.c", "main"))
        header.write_text(c(shield))
        source.write_text(MAIN)
        subprocess.run(["cc", "-std=gnu99", "-O2", str(source), "-o", str(program), "-lm"], check=True)
        done = subprocess.run([program, str(len(rows))], input=rows.tobytes(), capture_output=True, check=True)
    return np.frombuffer(done.stdout, np.int32), done.stderr.decode().strip()


if __name__ == "__main__":
    main()
