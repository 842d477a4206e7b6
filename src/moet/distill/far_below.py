"""Students that end far below their teacher, told with what to do next."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from moet.distill.policy import Policy
from moet.envs.task import Floats
from moet.errors import FarBelowWarning
from moet.model.file import model_or_none

SHARE = 0.1
"""Of what the teacher earns more than chance, that a student may earn less without a word."""

ERRORS = 3.0
"""Standard errors that the difference must have, so that luck is not told as a failure."""

FAITHFUL = 0.7
"""A student that acts as its teacher in fewer steps plays a game of its own."""

LARGEST = (32, 12)
"""Experts and depth beyond which no larger student is recommended."""


def warn_if_far_below(
    policy: Policy, fidelity: float, student: Floats, teacher: Floats, chance: Callable[[], float]
) -> None:
    """Warn of a student that earns much less than its teacher, or acts otherwise in many states.

    Parameters
    ----------
    policy : Policy
    fidelity : float
        In its own play.
    student, teacher : arrays
        What they earned in the same episodes.
    chance : callable
        Plays them at random and returns the mean; called only if the difference is more than luck.
    """
    if earns_too_little(student, teacher, chance):
        problem = (
            f"the student earns {student.mean():.2f} where its teacher earns {teacher.mean():.2f}, mean of the same "
            f"{len(student)} episodes (fidelity {fidelity:.4f})"
        )
        tuned = "moet tune improves it by reward alone, in Python moet.distill.tune(run.policy)"
        _warn(f"{problem}. {_larger(policy)}; {tuned}")
    elif not policy.task.continuous:
        warn_if_unfaithful(policy, fidelity)


def warn_if_unfaithful(policy: Policy, fidelity: float) -> None:
    """Warn of a student that acts otherwise than its teacher in many states."""
    if fidelity < FAITHFUL:
        problem = f"the student acts as its teacher in {fidelity:.1%} of the steps only: it plays a game of its own"
        _warn(f"{problem}. {_larger(policy)}")


def earns_too_little(student: Floats, teacher: Floats, chance: Callable[[], float]) -> bool:
    """Whether a student earns much less than its teacher in the same episodes."""
    missing = teacher - student
    if missing.mean() <= ERRORS * missing.std() / np.sqrt(len(missing)):
        return False
    gained = teacher.mean() - chance()
    return bool(0 < SHARE * gained < missing.mean())


def _larger(policy: Policy) -> str:
    """A larger student, or more rounds for one that is large."""
    size = _size_beyond(policy.model)
    if size is None:
        more = 2 * policy.task.rounds.iterations
        return f"Try more rounds: moet distill ... --iterations {more}, in Python distill(..., iterations={more})"
    experts, depth = size
    kind = "MoETRegressor" if policy.task.continuous else "MoETClassifier"
    called = f"{kind}(n_experts={experts}, max_depth={depth}, prediction='hard')"
    return f"Try a larger one: moet distill ... --experts {experts} --depth {depth}, in Python {called}"


def _size_beyond(model: Any) -> tuple[int, int] | None:
    """Experts and depth of a model with several times the leaves; None if this one is large enough."""
    known = model_or_none(model)
    experts, depth = (1, 0) if known is None else (known.size.experts, known.size.depth)
    if experts >= LARGEST[0] or depth >= LARGEST[1]:
        return None
    return max(8, 2 * experts), min(max(6, depth + 2), LARGEST[1])


def _warn(message: str) -> None:
    warnings.warn(message, FarBelowWarning, stacklevel=5)
