"""From which depth on deeper trees no longer help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from moet.study.outcome import Outcome

NOISE = 2.0
"""Two means differ only if they do by more than this many standard errors of their difference."""


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation of what several runs came to.

    Attributes
    ----------
    mean, std : float
        The deviation is that of a sample (divided by n − 1), 0 for a single run.
    runs : int
        How many.
    """

    mean: float
    std: float
    runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of some numbers."""
        return cls(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0, len(values))

    def clearly_below(self, other: Spread) -> bool:
        """Whether the other mean is higher, and by more than noise."""
        error = np.sqrt(self.std**2 / self.runs + other.std**2 / other.runs)
        return bool(other.mean > self.mean + NOISE * error)


@dataclass(frozen=True)
class Saturation:
    """What VIPER's trees reach, depth by depth, on fresh episodes.

    Attributes
    ----------
    depths : tuple of int
        Greatest depths that were allowed, ascending.
    reward, fidelity : tuple of Spread
        Over the seeds, one per depth.
    reward_depth, fidelity_depth : int or None
        The least depth that no deeper tree is clearly above. None if that is the deepest one tried: then nothing shows
        that yet deeper trees would not help.
    """

    depths: tuple[int, ...]
    reward: tuple[Spread, ...]
    fidelity: tuple[Spread, ...]
    reward_depth: int | None
    fidelity_depth: int | None

    @property
    def depth(self) -> int | None:
        """The paper's performance saturation depth: from there on depth helps neither reward nor fidelity."""
        if self.reward_depth is None or self.fidelity_depth is None:
            return None
        return max(self.reward_depth, self.fidelity_depth)


def find_saturation(outcomes: Sequence[Outcome]) -> Saturation | None:
    """Saturation of the VIPER trees among the outcomes of one task; None if there are none.

    The paper reads the depth "after which further increasing maximum depth does not help" from its plots; here it is
    the least depth that no deeper one beats by more than two standard errors.
    """
    by_depth: dict[int, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.family == "VIPER":
            by_depth.setdefault(outcome.depth, []).append(outcome)
    if not by_depth:
        return None
    depths = tuple(sorted(by_depth))
    reward = tuple(Spread.of([o.after.reward for o in by_depth[depth]]) for depth in depths)
    fidelity = tuple(Spread.of([o.after.fidelity for o in by_depth[depth]]) for depth in depths)
    return Saturation(depths, reward, fidelity, _saturates(depths, reward), _saturates(depths, fidelity))


def _saturates(depths: Sequence[int], levels: Sequence[Spread]) -> int | None:
    for k, level in enumerate(levels[:-1]):
        if not any(level.clearly_below(deeper) for deeper in levels[k + 1 :]):
            return depths[k]
    return None
