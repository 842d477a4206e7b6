"""Actions that are rows of numbers between bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import TaskError

if TYPE_CHECKING:
    import gymnasium

    Space = gymnasium.Space[Any]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ActionBox:
    """What an action may be, where it is no choice among a few.

    Attributes
    ----------
    low, high : tuple of float
        Bounds of each number of an action, all finite.
    shape : tuple of int
        Shape of what ``env.step`` takes; here an action is always one row.
    dtype : str
        Its type.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    shape: tuple[int, ...]
    dtype: str = "float32"

    @classmethod
    def of(cls, space: Space, name: str) -> ActionBox | None:
        """The box that actions are taken from, None if they are not; ``name`` is the environment's, for errors."""
        from gymnasium.spaces import Box

        if not isinstance(space, Box):
            return None
        if space.dtype.kind != "f" or not math.prod(space.shape):
            raise TaskError(
                f"{name} takes actions from {space}; a policy answers with real numbers, one at least: "
                "wrap it in a gymnasium.ActionWrapper"
            )
        low, high = (bound.astype(np.float64).ravel() for bound in (space.low, space.high))
        if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
            raise TaskError(
                f"{name} takes actions from {space}; each number of an action needs two finite bounds: "
                "wrap it in a gymnasium.ActionWrapper whose action_space has them"
            )
        return cls(tuple(low.tolist()), tuple(high.tolist()), tuple(space.shape), space.dtype.name)

    def __len__(self) -> int:
        return len(self.low)

    def clipped(self, actions: ArrayLike) -> Floats:
        """Actions, one per row, between the bounds."""
        return np.clip(np.asarray(actions, dtype=np.float64), self.low, self.high)

    def in_ranges(self, differences: Floats) -> Floats:
        """Differences of actions in units of the range of each number: 1 is from one bound to the other."""
        return differences / (np.array(self.high) - np.array(self.low))

    def env_action(self, action: ArrayLike) -> NDArray[Any]:
        """What ``env.step`` takes for a row of numbers."""
        return self.clipped(action).astype(self.dtype).reshape(self.shape)

    def env_actions(self, actions: Floats, n_episodes: int) -> NDArray[Any]:
        """The same for the running episodes, one entry each."""
        if actions.shape != (n_episodes, len(self)):
            raise TaskError(
                f"got actions of shape {actions.shape} for {n_episodes} running episodes; "
                f"give each a row of {_numbers(len(self))}"
            )
        if not np.isfinite(actions).all():
            raise TaskError(f"an action holds {actions[~np.isfinite(actions)][0]}, which is not a finite number")
        return self.clipped(actions).astype(self.dtype).reshape(n_episodes, *self.shape)

    def in_words(self) -> str:
        """The bounds, for messages."""
        return f"{_numbers(len(self))} between {_row(self.low)} and {_row(self.high)}"


def _numbers(count: int) -> str:
    return "1 number" if count == 1 else f"{count} numbers"


def _row(bounds: Sequence[float]) -> str:
    return f"[{', '.join(f'{bound:g}' for bound in bounds)}]"
