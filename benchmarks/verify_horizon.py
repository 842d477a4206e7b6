"""How far ahead, on which system and for which policies safety is proved; every proof is checked exactly.

    python benchmarks/verify_horizon.py [--seconds 1000] [--results results.json]

The published policy is read from the folder that MOET_DATA names. Questions that are not decided in the time limit are
listed as unknown.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from harness import Results, Row, cpu_seconds, machine, show, single_threaded
from policies import published_policy

from moet import Mixture, MoETClassifier, Tree
from moet.verify import Proved, Unknown, safe, systems
from moet.verify.loops.sets.propagate import proven_ranges

GAIN = np.array([5.778, 11.041, 96.362, 25.0])
"""A well-damped linear policy: push right iff GAIN·x > 0."""


def damped_policy() -> Mixture:
    """Two experts and a linear gate."""
    return Mixture([GAIN * 0, GAIN], [0.0, 0.0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], classes=[0, 1])


def distilled_policy(n_experts: int = 4, max_depth: int = 1) -> Mixture:
    """A mixture fitted to a teacher like LQR but stiffer far from the centre, which takes four experts."""

    def teacher(states: np.ndarray) -> np.ndarray:
        far = states[:, 0] - np.clip(states[:, 0], -0.25, 0.25)
        return (states @ GAIN + 8 * far > 0).astype(int)

    random = np.random.default_rng(0)
    system = systems.cartpole()
    wide = np.array([0.6, 0.5, 0.08, 0.5])
    states = random.uniform(-0.05, 0.05, (400, 4))
    seen = []
    for _ in range(60):
        seen.append(states)
        actions = np.where(random.random(400) < 0.2, 1 - teacher(states), teacher(states))
        states = system.successor(states, actions)
        lost = (np.abs(states[:, 2]) > 0.2) | (np.abs(states[:, 0]) > 1) | (random.random(400) < 0.02)
        states = np.where(lost[:, None], random.uniform(-wide, wide, (400, 4)), states)
    X = np.concatenate(seen)
    student = MoETClassifier(n_experts, max_depth, prediction="hard", random_state=0)
    return student.fit(X, teacher(X)).mixture_


def upright_policy(gain: tuple[float, float] = (8.0, 2.0), rest: float = 0.5) -> Mixture:
    """Three experts for the pendulum: push against gain·(sine, speed) unless that is between ±rest."""
    row = np.array([0.0, *gain])
    leaves = [Tree.leaf(np.eye(3)[action]) for action in (2, 1, 0)]
    return Mixture([-row, 0 * row, row], [0.0, rest, 0.0], leaves, classes=["negative", "none", "positive"])


POLICIES: dict[str, Callable[[], Mixture]] = {
    "published": published_policy,
    "two experts": damped_policy,
    "E4-D1": distilled_policy,
    "E4-D2": lambda: distilled_policy(max_depth=2),
    "three experts": upright_policy,
    "three experts, stiff": lambda: upright_policy((12.0, 3.0), 0.3),
}

SYSTEMS: dict[str, Callable[[], systems.System]] = {
    "cartpole_published": systems.cartpole_published,
    "cartpole_linear": systems.cartpole_linear,
    "cartpole": systems.cartpole,
    "cartpole, angle 0.1": lambda: systems.cartpole(angle="0.1"),
    "cartpole, sensor noise 1e-5": lambda: systems.cartpole(sensor_noise=1e-5),
    "pendulum": systems.pendulum,
}

QUESTIONS = [
    *(("published", "cartpole_published", steps) for steps in (10, 20, 50)),
    *(("published", "cartpole_linear", steps) for steps in (10, 20, 50, 200)),
    ("published", "cartpole, angle 0.1", 50),
    ("published", "cartpole", 100),
    *((policy, "cartpole, sensor noise 1e-5", None) for policy in ("two experts", "E4-D1", "E4-D2")),
    *((policy, "cartpole", None) for policy in ("E4-D1", "E4-D2")),
    *(("three experts", "pendulum", steps) for steps in (5, 50, 200, None)),
    ("three experts, stiff", "pendulum", None),
    ("published", "cartpole", 200),
    ("published", "cartpole_linear", None),
]
"""Policy, system and steps; None is for ever. The last two are not expected to be decided."""


def slack(mixture: Mixture, system: systems.System) -> float:
    """Smallest slack of a gate comparison that the observation error gives rise to."""
    error = np.array([float(e) for e in system.observation_error])
    weights = mixture.gate_weights
    return min(float(np.abs(weights[i] - weights[j]) @ error) for i in range(len(weights)) for j in range(i))


def horizon(policy: str, system: str, steps: int | None, seconds: float) -> Row:
    """Decide one question, with one thread; what is decided was checked."""
    mixture, subject = POLICIES[policy](), SYSTEMS[system]()
    verdict, decide = cpu_seconds(lambda: safe(mixture, subject, steps, cpu_limit=seconds, workers=1))
    found: Row = {"verdict": type(verdict).__name__, "decide": decide, "slack": slack(mixture, subject)}
    found["nodes"] = int(verdict.effort.get("nodes", 0))
    if isinstance(verdict, Unknown):
        found["reason"] = verdict.reason
    if isinstance(verdict, Proved):
        found["decide"], found["check"] = verdict.effort["search_seconds"], verdict.effort["check_seconds"]
        if verdict.certificate.kind in ("blocks", "invariant"):
            found["ranges"] = proven_ranges(verdict.certificate, subject)
    return found


def line(row: Row) -> list[object]:
    """One row of the table."""
    extent = {name: f"{max(map(abs, sides)):.4f}" for name, sides in row.get("ranges", {}).items()}
    return [
        *(row["policy"], row["system"], "ever" if row["steps"] is None else row["steps"], row["verdict"]),
        *(extent.get("angle", extent.get("sin_angle", "-")), extent.get("position", "-"), row["slack"], row["nodes"]),
        *(row["decide"], row.get("check", "-")),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1000.0, help="limit of CPU time per question")
    parser.add_argument("--results", type=Path, help="file to keep the figures in")
    options = parser.parse_args()
    single_threaded()
    results = Results(options.results)
    safe(damped_policy(), systems.cartpole_published(), steps=2)  # compile
    safe(damped_policy(), systems.cartpole(), steps=2)
    rows = [
        results.measure(horizon, policy=policy, system=system, steps=steps, seconds=options.seconds)
        for policy, system, steps in QUESTIONS
    ]
    columns = ["policy", "system", "T", "verdict", "|angle|", "|position|", "slack", "nodes", "decide s", "check s"]
    show(f"Safety of closed loops; {machine()}", columns, map(line, rows))


if __name__ == "__main__":
    main()
