"""Small closed loops of random or round numbers, and what a grid of first states says about them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from moet import Mixture, Tree
from moet.verify.result import Trace
from moet.verify.systems.system import AffineSystem


class SmallLoop(NamedTuple):
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


def random_tree(rng: np.random.Generator, n_features: int, depth: int, n_classes: int, number) -> Tree:
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


def grid_runs(loop: SmallLoop, rng: np.random.Generator) -> np.ndarray:
    """States (time, run, state) from a grid of first states, under random extreme disturbances."""
    mixture, system, steps = loop
    sides = [np.linspace(float(low), float(high), 300 if system.n_states == 1 else 25) for low, high in system.initial]
    states = [np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, system.n_states)]
    radius = np.array([float(high) for _, high in system.disturbance])
    for _ in range(steps):
        noise = rng.choice([-1, 0, 1], states[-1].shape) * radius
        states.append(system.successor(states[-1], mixture.predict_hard(states[-1])) + noise)
    return np.stack(states)


def holds(conditions, states: np.ndarray, slack: float) -> np.ndarray:
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
