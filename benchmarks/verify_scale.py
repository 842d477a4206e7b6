"""How many states a closed loop may have: safety of random stable systems, with one core and a limit of time.

    python benchmarks/verify_scale.py [--seconds 60] [--seeds 3] [--pushes 0.1 0.3 1] [--results results.json]

A system is random and stable, its three actions push it somewhere each; the policy is a mixture of three experts of
depth 3, fitted to the action after which the state is smallest. The safe set is 1.5 times what simulated runs reach.
Asked is safety for ever, for 100 steps, and for 5 steps of a nonlinear system (oscillators in a ring, coupled by sines
and products). Actions push by random numbers of the size ``--pushes``, first states are up to 1: the harder they push,
the more do paths depend on what the policy decides. Search and check are in seconds of CPU time.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from harness import Results, Row, cpu_seconds, machine, show, single_threaded

from moet import Mixture, MoETClassifier
from moet.verify import Proved, Verdict, check, safe, systems
from moet.verify.loops.simulation import simulate

N_ACTIONS, N_EXPERTS, DEPTH = 3, 3, 3
ROOM = 1.5
"""The safe set, relative to what simulation reached."""

SIZES = {"for ever": (4, 6, 8, 10, 12), "100 steps": (4, 6, 8, 10, 12), "nonlinear": (6, 8, 10, 12)}
STEPS = {"for ever": None, "100 steps": 100, "nonlinear": 5}
_SIMULATED_STEPS = 400


def random_matrix(d: int, random: np.random.Generator) -> np.ndarray:
    """A dense matrix with a spectral radius from 0.8 to 0.95."""
    matrix = random.normal(size=(d, d))
    return matrix * random.uniform(0.8, 0.95) / np.abs(np.linalg.eigvals(matrix)).max()


def fitted_policy(system: systems.System, random: np.random.Generator) -> Mixture:
    """A mixture that imitates who takes the action after which the state is smallest."""
    states = random.uniform(-1.5, 1.5, (2000, system.n_states))
    sizes = [np.linalg.norm(system.successor(states, np.full(len(states), a)), axis=1) for a in range(N_ACTIONS)]
    labels = np.argmin(sizes, axis=0)
    student = MoETClassifier(N_EXPERTS, DEPTH, prediction="hard", random_state=0)
    return student.fit(states, labels).mixture_


def affine(
    d: int, push: float, random: np.random.Generator, safe_sides: np.ndarray | None = None
) -> systems.AffineSystem:
    """A random stable affine system; all states are safe unless sides are given."""
    return systems.AffineSystem(
        f"random {d}",
        matrix=random_matrix(d, random).tolist(),
        offsets=(random.normal(size=(N_ACTIONS, d)) * push).tolist(),
        disturbance=dict.fromkeys(names(d), 0.001),
        **description(d, 1.0, safe_sides),
    )


def oscillators(
    d: int, push: float, random: np.random.Generator, safe_sides: np.ndarray | None = None
) -> systems.NonlinearSystem:
    """Damped pendulums in a ring, pushed by the action, with a product of neighbours."""
    n = d // 2
    step, inputs = {}, {}
    for i in range(n):
        angle, speed, other = f"x{2 * i}", f"x{2 * i + 1}", f"x{2 * ((i + 1) % n)}"
        gain, drag, link, bend = random.uniform([1, 0.3, 0.1, 0], [2, 0.8, 0.4, 0.3]).round(3).tolist()
        pull = f"{gain} * sin({angle}) + {drag} * {speed} + {link} * ({angle} - {other})"
        step[angle] = f"{angle} + 0.1 * {speed}"
        step[speed] = f"{speed} + 0.1 * (push{i} - {pull} + {bend} * {angle} * {other})"
        inputs[f"push{i}"] = [float(value) for value in (5 * push * random.uniform(-1.0, 1.0, N_ACTIONS))]
    return systems.NonlinearSystem(f"ring {d}", step=step, inputs=inputs, **description(d, 0.5, safe_sides))


def names(d: int) -> list[str]:
    """Names of the states."""
    return [f"x{k}" for k in range(d)]


def description(d: int, start: float, safe_sides: np.ndarray | None) -> dict[str, object]:
    """What both kinds of systems have in common: first states within ``start``, a safe box."""
    sides = np.full(d, 1e6) if safe_sides is None else safe_sides
    return {
        "states": names(d),
        "actions": [f"a{k}" for k in range(N_ACTIONS)],
        "initial": dict.fromkeys(names(d), (-start, start)),
        "safe": [f"{-side!r} <= {name} <= {side!r}" for name, side in zip(names(d), sides.tolist(), strict=True)],
    }


def question(kind: str, d: int, seed: int, push: float = 0.1) -> tuple[Mixture, systems.System]:
    """A policy and a system with a safe set 1.5 times what simulation reached."""
    build = oscillators if kind == "nonlinear" else affine
    system = build(d, push, np.random.default_rng((seed, d)))
    mixture = fitted_policy(system, np.random.default_rng((seed, d, 1)))
    n_steps = STEPS[kind] or _SIMULATED_STEPS
    reached = np.abs(simulate(mixture, system, n_steps, n_runs=1000).states).max(axis=(0, 1))
    return mixture, build(d, push, np.random.default_rng((seed, d)), ROOM * reached)


def scale(kind: str, d: int, seed: int, push: float, seconds: float) -> Row:
    """Ask one question."""
    mixture, system = question(kind, d, seed, push)
    verdict: Verdict
    verdict, cpu = cpu_seconds(lambda: safe(mixture, system, STEPS[kind], cpu_limit=seconds, workers=1))
    found: Row = {"verdict": type(verdict).__name__, "cpu": cpu, "nodes": int(verdict.effort.get("nodes", 0))}
    if isinstance(verdict, Proved):
        _, found["check"] = cpu_seconds(lambda: check(verdict.certificate, mixture, system))
        found["search"] = cpu - found["check"]
        found["bytes"] = verdict.certificate.n_bytes
    else:
        found["reason"] = getattr(verdict, "reason", "")
    return found


def line(row: Row) -> list[object]:
    """One row of the table."""
    return [
        *(row["kind"], row["push"], row["d"], row["seed"], row["verdict"], row["nodes"], row["cpu"]),
        *(row.get(name, "-") for name in ("search", "check", "bytes")),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="CPU time per question")
    parser.add_argument("--seeds", type=int, default=3, help="systems of each size")
    parser.add_argument("--pushes", type=float, nargs="+", default=[0.1], help="sizes of the actions' offsets")
    parser.add_argument("--kinds", nargs="+", default=list(STEPS), choices=list(STEPS), help="questions")
    parser.add_argument("--states", type=int, nargs="+", help="numbers of states, instead of all")
    parser.add_argument("--results", type=Path, help="file to keep the figures in")
    options = parser.parse_args()
    single_threaded()
    results = Results(options.results)
    for kind in options.kinds:
        scale(kind, 2, 0, 0.1, 5.0)  # compile
    rows = [
        results.measure(scale, kind=kind, d=d, seed=seed, push=push, seconds=options.seconds)
        for kind in options.kinds
        for push in options.pushes
        for d in options.states or SIZES[kind]
        for seed in range(options.seeds)
    ]
    columns = ["question", "push", "d", "seed", "verdict", "nodes", "CPU s", "search s", "check s", "bytes"]
    show(f"Safety of random stable systems; {machine()}", columns, map(line, rows))


if __name__ == "__main__":
    main()
