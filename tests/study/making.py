"""Outcomes made up for tests; their models are real."""

from typing import Any

from moet import Mixture, Tree
from moet.study.outcome import Family, Measured, Outcome


def policy(experts: int = 2) -> Mixture:
    """Leaves behind a gate; one expert always goes left."""
    leaves = [Tree.leaf([1.0, 0.0]), Tree.leaf([0.0, 1.0])]
    weights = [[float(j), -1.0] for j in range(experts)]
    return Mixture(weights, [0.0] * experts, [leaves[j % 2] for j in range(experts)], ["left", "right"], ["x", "<b>y"])


def measured(reward: float, fidelity: float) -> Measured:
    return Measured(reward, (reward - 1.0, reward + 1.0), fidelity, 10)


def outcome(
    family: Family,
    before: tuple[float, float],
    after: tuple[float, float] | None = None,
    *,
    depth: int = 3,
    experts: int = 2,
    **others: Any,
) -> Outcome:
    """Reward and fidelity, before and after re-evaluation; unchanged by default."""
    experts = 1 if family == "VIPER" else experts
    made: dict[str, Any] = {
        "task": "cartpole",
        "settings": {"gate": "default"},
        "seed": 0,
        "teacher_reward": 200.0,
        "leaves": experts,
        "parameters": 10,
        "seconds": 1.5,
        "model": policy(experts),
    }
    return Outcome(
        family=family,
        experts=experts,
        depth=depth,
        before=measured(*before),
        after=measured(*(after or before)),
        **made | others,
    )
