"""What every way of learning has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

from moet.envs.seeds import Purpose, episode_seeds
from moet.envs.task import Task
from moet.teachers.network import Network


class Learner(Protocol):
    """Someone who plays, learns, and can be asked what was learned.

    A run is a row of legs. Every leg begins with fresh episodes, so between two legs the state of a learner is all
    there is to save: environments such as those of Box2D cannot be saved at all.
    """

    steps: int
    """Steps played so far."""

    def advance(self) -> None:
        """Learn for one leg."""
        ...

    def network(self) -> Network:
        """What was learned so far."""
        ...

    def state(self) -> dict[str, Any]:
        """Everything that the rest of the run depends on."""
        ...

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to a state that :meth:`state` gave."""
        ...

    def close(self) -> None:
        """Give back what the episodes hold."""
        ...


@dataclass(frozen=True)
class Trial:
    """A figure of the final report.

    Attributes
    ----------
    task : str
        What is played, a name in the catalogue.
    episodes : int
        How often.
    target : float
        Mean reward that the teacher is meant to reach.
    """

    task: str
    episodes: int
    target: float


@dataclass(frozen=True, kw_only=True)
class Recipe(ABC):
    """Hyper-parameters of every run.

    Attributes
    ----------
    task : str
        What to learn, a name in the catalogue.
    steps : int
        The run ends with the first leg that reaches this many steps.
    stop : float
        End the run as soon as the mean reward over the selection episodes reaches this.
    selection_episodes : int
        Episodes that each network of the run is judged by.
    selection_consecutive : bool
        Give these episodes consecutive seeds, for a task that then begins in all the ways there are.
    selection_patience : int or None
        Cut them off after this many steps without any reward.
    trials : tuple of Trial
        What the best network is put to in the end.
    hidden : tuple of int
        Widths of the hidden layers.
    scale : tuple of float
        What observations are divided by.
    """

    task: str
    steps: int
    stop: float
    selection_episodes: int = 1000
    selection_consecutive: bool = False
    selection_patience: int | None = None
    trials: tuple[Trial, ...]
    hidden: tuple[int, ...]
    scale: tuple[float, ...]

    def selection_seeds(self, seed: int) -> list[int]:
        """Seeds of the selection episodes of a run."""
        if not self.selection_consecutive:
            return episode_seeds(seed, Purpose.SELECTION, self.selection_episodes)
        (first,) = episode_seeds(seed, Purpose.SELECTION, 1)
        return list(range(first, first + self.selection_episodes))

    @abstractmethod
    def learner(self, task: Task, seed: int) -> Learner:
        """Someone who knows nothing yet."""
