"""Networks whose outputs are the action itself."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from moet.errors import TeacherError
from moet.jit import OPTIONS
from moet.teachers.checks import as_observations, finite_actions
from moet.teachers.network import Network
from moet.teachers.teacher import CheckedTeacher, Floats


class ContinuousTeacher(CheckedTeacher):
    """A network that answers with numbers, one row per observation.

    Parameters
    ----------
    network : Network
        Its outputs, of meaning ``"actions"``, are what the agent would do on average.
    low, high : array of float, shape (n_outputs,)
        Between what an action lies; infinite where there is no limit.
    squash : bool
        Whether outputs are brought between the bounds by tanh, as SAC and TD3 do; otherwise they are cut off there.
    limit : float or None
        Outputs are kept between −limit and limit first, as state-dependent exploration (gSDE) does.
    """

    continuous = True
    has_scores = False

    def __init__(
        self, network: Network, low: ArrayLike, high: ArrayLike, *, squash: bool = False, limit: float | None = None
    ) -> None:
        self.low, self.high = np.array(low, np.float64), np.array(high, np.float64)
        shape = (network.n_outputs,)
        if self.low.shape != shape or self.high.shape != shape or not np.all(self.low < self.high):
            raise TeacherError(f"the bounds of {network.n_outputs} actions must be ordered, got {low!r} and {high!r}")
        if squash and not np.isfinite([self.low, self.high]).all():
            raise TeacherError(f"actions squashed between their bounds need finite ones, got {low!r} and {high!r}")
        self.network = network
        self.squash = squash
        self.limit = limit
        self.n_features = network.n_inputs
        settings = repr((self.low.tolist(), self.high.tolist(), squash, limit))
        self.digest = hashlib.sha256(f"{network.digest} {settings}".encode()).hexdigest()

    def __repr__(self) -> str:
        return f"ContinuousTeacher({self.network!r}, {'squashed' if self.squash else 'clipped'})"

    def scores(self, observations: Floats) -> Floats:
        """There are none: actions are not few enough to be scored."""
        raise TeacherError("a teacher with continuous actions has no scores")

    def act(self, observations: Floats) -> Floats:
        """The action for each observation, one row of numbers."""
        rows = as_observations(observations, self.n_features)
        limit = math.inf if self.limit is None else self.limit
        outputs = finite_actions(self.network.outputs(rows))
        return _bounded(outputs, self.low, self.high, self.squash, limit)


@njit(**OPTIONS)
def _bounded(outputs: Any, low: Any, high: Any, squash: bool, limit: float) -> Any:
    n_rows, n_outputs = outputs.shape
    actions = np.empty((n_rows, n_outputs))
    for r in range(n_rows):
        for k in range(n_outputs):
            value = min(max(outputs[r, k], -limit), limit)
            if squash:
                value = low[k] + 0.5 * (math.tanh(value) + 1.0) * (high[k] - low[k])
            actions[r, k] = min(max(value, low[k]), high[k])
    return actions
