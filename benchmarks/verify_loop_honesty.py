"""Wrong verdicts about closed loops: small loops of random or round numbers, judged by grids, replay and z3.

    python benchmarks/verify_loop_honesty.py [--count 1000] [--first 0] [--no-z3]

Two questions for every seed: does the loop stay safe, does it reach its goal. A proof must agree with runs from a grid
of first states under random extreme disturbances, its certificate must be accepted, and z3 must not find a
counterexample; a refutation must be a run of the deployed policy. The script ends with an error at the first wrong
verdict.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from harness import cpu_seconds, show
from numpy.typing import NDArray

from moet import Mixture, Tree
from moet.verify import Proved, Refuted, Unknown, check, reaches, safe, smtlib
from moet.verify.result import Trace
from moet.verify.systems.conditions import HalfSpace
from moet.verify.systems.discrete import AffineSystem

Z3_SECONDS = 20.0


class SmallLoop(NamedTuple):
    """A policy, what it acts on, and for how long."""

    mixture: Mixture
    system: AffineSystem
    steps: int


def random_loop(rng: np.random.Generator) -> SmallLoop:
    """Up to two states, three actions, four experts of depth three and five steps; disturbed every third time."""
    round_numbers = rng.random() < 0.5

    def number() -> float:
        value = 0.7 * rng.normal()
        return float(np.round(4 * value) / 4 if round_numbers else value)

    n_states, n_actions, n_experts = int(rng.integers(1, 3)), int(rng.integers(2, 4)), int(rng.integers(1, 5))
    states = ["a", "b"][:n_states]
    trees = [random_tree(rng, n_states, int(rng.integers(0, 4)), n_actions, number) for _ in range(n_experts)]
    mixture = Mixture(
        [[number() for _ in states] for _ in trees], [number() for _ in trees], trees, list(range(n_actions))
    )
    system = AffineSystem(
        "small",
        states=states,
        actions=["x", "y", "z"][:n_actions],
        matrix=[[0.8 * number() for _ in states] for _ in states],
        offsets=[[0.5 * number() for _ in states] for _ in range(n_actions)],
        initial={state: sorted([number(), number()]) for state in states},
        safe=[f"-{limit} <= {state} <= {limit}" for state in states for limit in [2 * abs(number()) + 0.25]],
        goal=[f"{state} <= {number() + 0.3}" for state in states],
        disturbance={state: 0.1 * abs(number()) for state in states} if rng.random() < 0.33 else None,
    )
    return SmallLoop(mixture, system, int(rng.integers(0, 6)))


def random_tree(
    rng: np.random.Generator, n_features: int, depth: int, n_classes: int, number: Callable[[], float]
) -> Tree:
    """A tree with splits at random numbers and a random class in every leaf."""
    rows: list[list[float]] = []

    def grow(levels: int) -> int:
        node = len(rows)
        rows.append([-1, 0.0, -1, -1])
        if levels > 0 and rng.random() < 0.8:
            feature, threshold = int(rng.integers(n_features)), number()
            left, right = grow(levels - 1), grow(levels - 1)
            rows[node] = [feature, threshold, left, right]
        return node

    grow(depth)
    feature, threshold, left, right = zip(*rows, strict=True)
    return Tree(feature, threshold, left, right, np.eye(n_classes)[rng.integers(n_classes, size=len(rows))])


def grid_runs(loop: SmallLoop, rng: np.random.Generator) -> NDArray[np.float64]:
    """States (time, run, state) from a grid of first states, under random extreme disturbances."""
    mixture, system, steps = loop
    sides = [np.linspace(float(low), float(high), 300 if system.n_states == 1 else 25) for low, high in system.initial]
    states = [np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, system.n_states)]
    radius = np.array([float(high) for _, high in system.disturbance])
    for _ in range(steps):
        noise = rng.choice([-1, 0, 1], states[-1].shape) * radius
        states.append(system.successor(states[-1], mixture.predict_hard(states[-1])) + noise)
    return np.stack(states)


def holds(conditions: Sequence[HalfSpace], states: NDArray[np.float64], slack: float) -> NDArray[np.bool_]:
    """Whether all conditions hold in each state, give or take a little."""
    rows = np.array([[float(a) for a in condition.coefficients] for condition in conditions])
    return np.all(states @ rows.T <= np.array([float(c.bound) for c in conditions]) + slack, axis=-1)


def assert_is_run(trace: Trace, loop: SmallLoop) -> None:
    """The trace begins in the initial box and follows the deployed policy and the dynamics."""
    mixture, system, _ = loop
    for value, (low, high) in zip(trace.states[0].tolist(), system.initial, strict=True):
        assert low <= value <= high
    for t, action in enumerate(trace.actions):
        assert mixture.act(trace.states[t]) == action
        noise = 0.0 if trace.disturbances is None else trace.disturbances[t]
        expected = system.successor(trace.states[t][None], [action])[0] + noise
        np.testing.assert_allclose(trace.states[t + 1], expected, atol=1e-12)


def judge(seed: int, ask_z3: bool = True) -> list[tuple[str, str]]:
    """Ask both questions about one loop and try to refute the answers; return what they were."""
    rng = np.random.default_rng(seed)
    loop = random_loop(rng)
    mixture, system, steps = loop
    states = grid_runs(loop, rng)
    stays = bool(np.all(holds(system.safe, states, 1e-9)))
    arrives = bool(np.all(np.any(holds(system.goal, states, 1e-9), axis=0)))
    verdicts = {"safe": safe(mixture, system, steps), "reaches": reaches(mixture, system, within=steps)}
    texts = {"safe": smtlib.safe(mixture, system, steps), "reaches": smtlib.reaches(mixture, system, within=steps)}
    for question, seen in (("safe", stays), ("reaches", arrives)):
        verdict = verdicts[question]
        if isinstance(verdict, Proved):
            assert seen, f"loop {seed}: proved {question}, but a run is a counterexample"
            check(verdict.certificate, mixture, system)
        elif isinstance(verdict, Refuted):
            assert_is_run(verdict.trace, loop)
        if ask_z3 and not isinstance(verdict, Unknown):
            opinion = smtlib.solve(texts[question], Z3_SECONDS)
            agree = opinion.status in ("unknown", "unsat" if isinstance(verdict, Proved) else "sat")
            assert agree, f"loop {seed}: {question} is {type(verdict).__name__}, z3 says {opinion}"
    if isinstance(verdicts["safe"], Refuted):
        assert not holds(system.safe, verdicts["safe"].trace.states[-1], -1e-12), f"loop {seed}: the run is safe"
    if isinstance(verdicts["reaches"], Refuted):
        trace = verdicts["reaches"].trace
        assert len(trace.actions) == steps, f"loop {seed}: the run is too short"
        assert not np.any(holds(system.goal, trace.states, -1e-12)), f"loop {seed}: the run meets the goal"
    return [(question, type(verdict).__name__) for question, verdict in verdicts.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="number of loops")
    parser.add_argument("--first", type=int, default=0, help="seed of the first loop")
    parser.add_argument("--no-z3", action="store_true", help="compare with runs only")
    options = parser.parse_args()
    answers: Counter[tuple[str, str]] = Counter()

    def ask_all() -> None:
        for seed in range(options.first, options.first + options.count):
            answers.update(judge(seed, not options.no_z3))

    _, seconds = cpu_seconds(ask_all)
    rows = [(*key, count) for key, count in sorted(answers.items())]
    show(f"{answers.total()} questions, no wrong verdict, {seconds:.0f} CPU s", ("question", "verdict", "count"), rows)


if __name__ == "__main__":
    main()
