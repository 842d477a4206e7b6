"""Proofs that the cart-pole of the paper stays upright for ten steps: how fast, against the published query in z3.

    python benchmarks/verify.py [--z3-seconds 300] [--plot docs/figures/verification.png] [--results results.json]

Two parts, both sides in one process, kernels compiled before, one thread; seconds are medians of some runs:

1. two-expert policies: time to decide, and to decide and check the certificate, against the paper's nested-if encoding;
2. two to eight experts and one policy of thirty-two, depths 0 to 3: time to decide and to check.

The policies imitate a nonlinear rule on the true dynamics of CartPole. They are fitted as ``MoETClassifier`` does it
by default or, "rough", as in the paper (one random start, gate by Adam, no hard phase); part 2 takes rough ones, which
are harder to decide. With MOET_DATA set, the policy that the paper's authors published is asked about too.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
from harness import Results, console, cpu_seconds, machine, search_and_check, show, single_threaded
from numpy.typing import NDArray
from policies import published_policy

from moet import Mixture, MoETClassifier
from moet.verify import Proved, safe, smtlib, systems

STEPS = 10
REPEATS = 200
"""Of questions that take milliseconds, on machines that do other things, too."""
DEPTHS = (0, 1, 2, 3)
GRID = [(experts, depth) for experts in range(2, 9) for depth in DEPTHS] + [(32, 3)]

Floats = NDArray[np.float64]


def rule(states: Floats) -> NDArray[np.int64]:
    """Push right if the linear rule of the paper says so, bent where the pole turns fast."""
    bend = 4.0 * np.maximum(0.0, np.abs(states[:, 3]) - 0.3) * np.sign(states[:, 2])
    return (states @ [2.1846, 7.2247, 20.647, 25.340] + 1.0 + bend > 0.0).astype(np.int64)


def visited_states(n_rows: int = 20_000, seed: int = 0) -> Floats:
    """States that the rule visits when it is disturbed now and then."""
    rng = np.random.default_rng(seed)
    system = systems.cartpole()
    states = rng.uniform(-0.05, 0.05, (200, 4))
    rows = []
    for _ in range(n_rows // len(states)):
        rows.append(states)
        actions = np.where(rng.random(len(states)) < 0.15, rng.integers(0, 2, len(states)), rule(states))
        states = system.successor(states, actions)
        fallen = (np.abs(states[:, 2]) > 0.2) | (np.abs(states[:, 0]) > 2.0) | (rng.random(len(states)) < 0.005)
        states = np.where(fallen[:, None], rng.uniform(-0.05, 0.05, states.shape), states)
    return np.concatenate(rows)


def fitted(n_experts: int, max_depth: int, rough: bool) -> Mixture:
    """A policy fitted by our recipe or by that of the paper."""
    states = visited_states()
    recipe: dict[str, Any] = {}
    if rough:
        recipe = {"init": "random", "n_init": 1, "gate_solver": "adam", "hard_iter": 0, "max_iter": 20}
    classifier = MoETClassifier(n_experts, max_depth, prediction="hard", random_state=0, **recipe)
    return classifier.fit(states, rule(states)).mixture_


def policy(kind: str, experts: int, depth: int) -> Mixture:
    """One of the policies asked about."""
    return published_policy() if kind == "published" else fitted(experts, depth, kind == "rough")


def ours(kind: str, experts: int, depth: int) -> dict[str, Any]:
    """Search and check of the same calls, medians: the check is timed inside the question, the search is the rest."""
    mixture, system = policy(kind, experts, depth), systems.cartpole_published()
    verdict = safe(mixture, system, steps=STEPS)
    calls = [search_and_check(lambda: safe(mixture, system, steps=STEPS)) for _ in range(REPEATS)]
    _, searches, checks = zip(*calls, strict=True)
    row = {**verdict.effort, "verdict": type(verdict).__name__, "check": None, "bytes": 0}
    row["decide"] = float(np.median(searches))
    if isinstance(verdict, Proved):
        row["bytes"], row["check"] = verdict.certificate.n_bytes, float(np.median(checks))
    return row


def published_query(kind: str, experts: int, depth: int, limit: float) -> dict[str, Any]:
    """The paper's encoding, solved by z3."""
    text = smtlib.safe(policy(kind, experts, depth), systems.cartpole_published(), STEPS, encoding="published")
    opinion, seconds = cpu_seconds(lambda: smtlib.solve(text, timeout=limit))
    return {"z3_verdict": opinion.status, "z3": seconds}


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Times by number of experts, as in the paper's figure on verification times."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.5), layout="constrained")
    panels = {"decide": "to decide, with certificate", "check": "to check the certificate exactly"}
    for axes, (name, title) in zip(figure.subplots(1, 2, sharey=True), panels.items(), strict=True):
        for depth, marker in zip(DEPTHS, "os^D", strict=True):
            line = [row for row in rows if row["depth"] == depth and row["experts"] <= 8 and row[name] is not None]
            axes.semilogy([r["experts"] for r in line], [r[name] for r in line], marker=marker, label=f"depth {depth}")
        axes.set(title=title, xlabel="experts")
        axes.grid(axis="y", alpha=0.3)
    axes.legend()
    figure.supylabel("CPU seconds")
    figure.savefig(path, dpi=150)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--z3-seconds", type=float, default=300.0, help="time limit of z3 per query; 0 leaves it out")
    parser.add_argument("--plot", type=Path, help="file to draw the times to")
    parser.add_argument("--results", type=Path, help="file to keep the figures in")
    options = parser.parse_args()
    single_threaded()
    console.print(machine())
    results = Results(options.results)
    safe(fitted(2, 1, rough=True), systems.cartpole_published(), steps=2)  # compile

    two = [(kind, depth) for kind in ("fitted", "rough") for depth in DEPTHS]
    if "MOET_DATA" in os.environ:
        two.append(("published", 0))
    if options.z3_seconds:
        table = []
        for kind, depth in two:
            row = results.measure(ours, kind=kind, experts=2, depth=depth)
            query = results.measure(published_query, kind=kind, experts=2, depth=depth, limit=options.z3_seconds)
            both = row["decide"] + (row["check"] or 0.0)
            verdicts = (row["verdict"], query["z3_verdict"])
            ratios = (query["z3"] / row["decide"], query["z3"] / both)
            table.append((kind, depth, *verdicts, 1e3 * row["decide"], row["check"], query["z3"], *ratios))
        columns = ("policy", "depth", "ours", "z3", "decide, ms", "check, s", "z3, s", "z3 / decide", "z3 / all")
        show("Part 1: against the published query", columns, table)

    rows = [results.measure(ours, kind="rough", experts=experts, depth=depth) for experts, depth in GRID]
    columns = ("experts", "depth", "verdict", "decide, s", "check, s", "paths", "programs", "certificate, kB")
    show(
        "Part 2: experts and depths",
        columns,
        [
            (
                *(row[name] for name in ("experts", "depth", "verdict", "decide", "check", "paths", "programs")),
                row["bytes"] / 1000,
            )
            for row in rows
        ],
    )
    if options.plot:
        draw(rows, options.plot)


if __name__ == "__main__":
    main()
