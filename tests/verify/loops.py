"""Closed loops that are quick to decide."""

from __future__ import annotations

import numpy as np

from moet import Mixture, Tree
from moet.verify.systems.discrete import AffineSystem, NonlinearSystem
from moet.verify.systems.system import System


def tank(**changes: object) -> NonlinearSystem:
    """A water tank; see examples/gallery/04_own_plant.py."""
    description = {
        "states": ["level"],
        "actions": ["closed", "open"],
        "inputs": {"inflow": (0, "0.3")},
        "step": {"level": "level + 0.1 * (inflow - 0.15 * sqrt(level))"},
        "initial": {"level": (0.9, 1.1)},
        "safe": ["0.5 <= level <= 1.5"],
        "disturbance": {"level": 0.002},
        "observation_error": {"level": 0.01},
    }
    return NonlinearSystem("tank", **(description | changes))


def thermostat() -> AffineSystem:
    """Two rooms, one heater, a condition on both."""
    return AffineSystem(
        "thermostat",
        states=["here", "there"],
        actions=["off", "on"],
        matrix=[["0.9", "0.08"], ["0.1", "0.88"]],
        offsets=[[0, 0], ["1.2", "0.1"]],
        initial={"here": (19, 20), "there": (18, 19)},
        safe=["15 <= here <= 25", "here + there <= 46"],
        disturbance={"here": "0.05", "there": "0.05"},
    )


def valve(threshold: float = 1.0, opened_below: bool = True) -> Mixture:
    """One tree with one test, for the tank."""
    value = np.eye(2)[[1, 1, 0] if opened_below else [0, 0, 1]]
    tree = Tree([0, -1, -1], [threshold, 0, 0], [1, -1, -1], [2, -1, -1], value)
    return Mixture([[0.0]], [0.0], [tree], classes=["closed", "open"], feature_names=["level"])


def heater() -> Mixture:
    """Two experts: heat if here + there/2 is below 29."""
    weights = np.array([[1.0, 0.5], [0.0, 0.0]])
    return Mixture(weights, [0.0, 29.0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], classes=["off", "on"])


def balancer(sign: float = 1.0) -> Mixture:
    """The well-damped gate for the cart-pole; −1 makes it push the wrong way."""
    gain = sign * np.array([5.778, 11.041, 96.362, 25.0])
    return Mixture([gain * 0, gain], [0.0, 0.0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], classes=["left", "right"])


def leaky_tank() -> NonlinearSystem:
    """A tank that no valve can keep full."""
    return tank(step={"level": "level + 0.1 * (inflow - 0.5 * sqrt(level))"})


def follow(mixture: Mixture, system: System, steps: int, seed: int = 1) -> np.ndarray:
    """States of random runs with random disturbances and observation errors, through the deployed predictor."""
    random = np.random.default_rng(seed)
    low, high = np.array([[float(a), float(b)] for a, b in system.initial]).T
    noise_low, noise_high = np.array([[float(a), float(b)] for a, b in system.disturbance]).T
    error = np.array([float(e) for e in system.observation_error])
    states = [random.uniform(low, high, (500, len(low)))]
    number = dict(zip(mixture.classes.tolist(), system.actions_of(mixture), strict=True))
    for _ in range(steps):
        seen = states[-1] + random.uniform(-error, error, states[-1].shape)
        actions = np.array([number[label] for label in mixture.predict(seen).tolist()])
        noise = np.where(random.random(states[-1].shape) < 0.5, noise_low, noise_high)
        states.append(system.successor(states[-1], actions) + noise)
    return np.array(states)


def drifter(safe: str = "-3.6 <= x <= 3.6") -> AffineSystem:
    """x' = x + 1 or x - 1, from -1 to 1: after three steps in one direction some are beyond 3.6."""
    return AffineSystem(
        "drift",
        states=["x"],
        actions=["left", "right"],
        matrix=[[1]],
        offsets=[[-1], [1]],
        initial={"x": (-1, 1)},
        safe=[safe],
    )
