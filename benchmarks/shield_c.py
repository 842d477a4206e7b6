"""A shield in C beside the one in Python: the same decisions, and what one takes.

    python benchmarks/shield_c.py --states 1000000

The shield is the one that CartPole's equations yield by themselves. States are those of runs behind it, with the
bundled agent, half-trained ones, random pushes, pushes to where the pole falls, the opposite of a safe law, and pushes
one way only, which end on the brink of what is allowed; and random ones in its box. Printed are, for each kind, the
share of actions that is replaced, the differences between C and Python, CPU nanoseconds of a decision on average, and
the longest one by the clock, each the least of several runs so that other processes do not count; and what the time is
spent on: how many steps a decision follows, and what these take with the equations alone, the actions being known; with
the policy, which says what they are; with the box, too. What is missing to a whole decision are tests against the set.
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
/* how far a decision is followed, and the actions on the way, one bit each */
static void follow(const double x[], int action, int *length, unsigned *actions)
{
    double z[4] = {x[0], x[1], x[2], x[3]};
    int failed = 0;
    *length = 0, *actions = 0;
    if (shield_policy(x) == action || !shield_within(x, shield_errors[0])) return;
    for (int k = 1; k < (int)(sizeof shield_errors / sizeof *shield_errors); k++) {
        if (k > 1 && (action = shield_sure_action(z, shield_errors[k - 1] + shield_errors[0])) < 0) return;
        *length = k, *actions |= (unsigned)action << k;
        shield_step(z, action);
        if (!shield_within(z, shield_errors[k]) || shield_in_set(z, shield_errors[k], &failed)) return;
    }
}
/* the same steps with none, one or two of the tests */
static double again(const double x[], int length, unsigned actions, int tests)
{
    double z[4] = {x[0], x[1], x[2], x[3]};
    for (int k = 1; k <= length; k++) {
        int action = actions >> k & 1;
        if (tests > 0 && k > 1) action = shield_sure_action(z, shield_errors[k - 1] + shield_errors[0]);
        shield_step(z, action);
        if (tests > 1 && !shield_within(z, shield_errors[k])) return 0;
    }
    return z[0] + z[3];
}
int main(int argc, char **argv)
{
    const int n = atoi(argv[1]);
    double (*rows)[5] = malloc(n * sizeof *rows);
    int *answers = malloc(n * sizeof *answers), *lengths = malloc(n * sizeof *lengths);
    unsigned *actions = malloc(n * sizeof *actions);
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
    for (int i = 0; i < n; i++) follow(rows[i], (int)rows[i][4], &lengths[i], &actions[i]);
    double steps = 0, parts[3] = {1e300, 1e300, 1e300}, sum = 0;
    for (int i = 0; i < n; i++) steps += lengths[i];
    for (int round = 0; round < 27; round++) {
        const double start = clock();
        for (int i = 0; i < n; i++) sum += again(rows[i], lengths[i], actions[i], round % 3);
        const double end = clock();
        if (end - start < parts[round % 3]) parts[round % 3] = end - start;
    }
    if (sum != sum) return 2;
    const double unit = 1e9 / CLOCKS_PER_SEC / n;
    fprintf(stderr, "%.1f ns on average, %.0f ns the longest; %.2f steps", best * unit, worst, steps / n);
    fprintf(stderr, ", of which the equations take %.1f ns, with the policy %.1f, with the box %.1f\\n",
        parts[0] * unit, parts[1] * unit, parts[2] * unit);
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
