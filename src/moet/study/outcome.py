"""What one finished run of a sweep leaves behind; the one thing that reports read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from moet.model.mixture import Mixture

Family = Literal["VIPER", "MoËT", "MoËT_h"]
"""One decision tree, a soft mixture, a hard mixture."""


@dataclass(frozen=True)
class Measured:
    """How a policy did on one set of episodes.

    Attributes
    ----------
    reward : float
        Mean sum of rewards of an episode.
    interval : pair of float
        95 % interval of that mean.
    fidelity : float
        Share of steps in which it acts as its teacher.
    episodes : int
        How many were played.

    Examples
    --------
    >>> from moet.study import Measured
    >>> Measured(reward=199.5, interval=(198.9, 200.0), fidelity=0.99, episodes=50).fidelity
    0.99
    """

    reward: float
    interval: tuple[float, float]
    fidelity: float
    episodes: int


@dataclass(frozen=True)
class Outcome:
    """A configuration, what came out of it, and how it was measured.

    Attributes
    ----------
    task : str
        Name of the task.
    family : {"VIPER", "MoËT", "MoËT_h"}
        What kind of student.
    experts, depth : int
        Its configuration; one expert for a tree.
    settings : dict
        What else was chosen: gate settings, iterations, samples.
    seed : int
        Seed of the run.
    before : Measured
        On the episodes that configurations are compared by.
    after : Measured
        On fresh episodes, which nothing was chosen by.
    teacher_reward : float
        The teacher's mean reward on the fresh episodes.
    leaves, parameters : int
        Size: leaves of all trees; numbers in the model, the gate's included.
    seconds : float
        Time of training.
    verification : dict or None
        ``{"question": ..., "verdict": ..., "seconds": ...}`` where a property of the task can be asked of the model.
    history : list of dict
        One entry per iteration.
    versions : dict
        Of this package and those it computes with.
    model : Mixture
        The policy itself.

    Examples
    --------
    >>> from moet.study import outcomes
    >>> best = max(outcomes("runs/cartpole-quick"), key=lambda one: one.after.reward)  # doctest: +SKIP
    >>> best.family, best.leaves, best.model  # doctest: +SKIP
    """

    task: str
    family: Family
    experts: int
    depth: int
    settings: dict[str, Any]
    seed: int
    before: Measured
    after: Measured
    teacher_reward: float
    leaves: int
    parameters: int
    seconds: float
    model: Mixture
    verification: dict[str, Any] | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def configuration(self) -> str:
        """As the paper writes it: ``D6`` for a tree, ``E4-D3`` for a mixture."""
        return f"D{self.depth}" if self.family == "VIPER" else f"E{self.experts}-D{self.depth}"

    @property
    def training(self) -> str:
        """Name of the gate settings that a mixture was trained with; a tree has none."""
        return "" if self.family == "VIPER" else str(self.settings.get("gate", ""))
