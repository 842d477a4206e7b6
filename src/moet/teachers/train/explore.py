"""How often, and for how long, play in each slot is random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Actions = NDArray[np.int64]


class Schedule(Protocol):
    """Says how probable it is that a random action begins."""

    def rates(self, progress: float, slots: int) -> NDArray[np.float64]:
        """Probability in each slot, when this share of the run is over."""
        ...


@dataclass(frozen=True)
class Decay:
    """The same rate in all slots, falling in a line to ``end`` during the first ``share`` of the run."""

    share: float
    end: float
    start: float = 1.0

    def rates(self, progress: float, slots: int) -> NDArray[np.float64]:
        """Probability in each slot, when this share of the run is over."""
        return np.full(slots, self.start + (self.end - self.start) * min(1.0, progress / self.share))


@dataclass(frozen=True)
class Ladder:
    """A rate for each slot, the same all the time: from ``high`` down in equal ratios, and ``low`` in the last quarter.

    Slots that play almost without noise see the long rallies that noise would end; the others keep looking around.
    """

    high: float
    ratio: float
    low: float

    def rates(self, progress: float, slots: int) -> NDArray[np.float64]:
        """Probability in each slot, whatever the progress."""
        rates = self.high * self.ratio ** np.linspace(0.0, 1.0, slots)
        rates[slots - slots // 4 :] = self.low
        return rates


class Explorer:
    """Random actions that are held for a while: single ones cancel out in a system with inertia.

    Parameters
    ----------
    slots, n_actions : int
        How much is played at once, and with what.
    longest : int
        A random action is held for 1 to ``longest`` steps.
    """

    def __init__(self, slots: int, n_actions: int, longest: int) -> None:
        self._n_actions = n_actions
        self._longest = longest
        self._left = np.zeros(slots, dtype=np.int64)
        self._held = np.zeros(slots, dtype=np.int64)

    def disturb(self, actions: Actions, rates: NDArray[np.float64], rng: np.random.Generator) -> Actions:
        """Replace the actions of slots in which a random one is going on or begins, with probability ``rates``."""
        begins = (self._left == 0) & (rng.random(len(actions)) < rates)
        count = int(begins.sum())
        if count:
            self._left[begins] = rng.integers(1, self._longest + 1, count)
            self._held[begins] = rng.integers(self._n_actions, size=count)
        random = self._left > 0
        self._left[random] -= 1
        return np.where(random, self._held, actions)

    def forget(self, ended: NDArray[np.bool_]) -> None:
        """Hold nothing in slots whose episode ended."""
        self._left[ended] = 0
