"""Evolution of small networks whose outputs are the action: what earns more has more descendants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from moet.envs.rollout import play
from moet.envs.seeds import Purpose, episode_seeds
from moet.envs.task import Floats, Task
from moet.evolution import Evolution, careful_mean
from moet.teachers.continuous import ContinuousTeacher
from moet.teachers.network import Layer, Network
from moet.teachers.train.learner import Recipe


@dataclass(frozen=True, kw_only=True)
class EvolutionRecipe(Recipe):
    """Hyper-parameters of :class:`Evolved`; those of every run are in :class:`Recipe`.

    Attributes
    ----------
    population : int
        Networks in a generation.
    episodes : int
        Episodes that each of them plays, the same for all of a generation.
    generations : int
        Generations between two evaluations.
    step : float
        Standard deviation of the first networks' weights.
    tail : float
        Share of the episodes that count as the worst; see :func:`moet.evolution.careful_mean`.
    """

    population: int = 16
    episodes: int = 16
    generations: int = 10
    step: float = 0.5
    tail: float = 0.2

    def learner(self, task: Task, seed: int) -> Evolved:
        """Someone who knows nothing yet."""
        return Evolved(task, self, seed)


class Evolved:
    """Learns by what whole networks earn in whole episodes."""

    def __init__(self, task: Task, recipe: EvolutionRecipe, seed: int) -> None:
        assert task.box is not None
        self.steps = 0
        self._task, self._recipe, self._seed, self._box = task, recipe, seed, task.box
        self._widths = (len(recipe.scale), *recipe.hidden, len(task.box))
        start = np.random.default_rng(seed).normal(size=sum((a + 1) * b for a, b in pairwise(self._widths)))
        start *= 0.3 if recipe.hidden else 0.0  # equal units of a hidden layer would stay equal
        self._search = Evolution(start, recipe.step, population=recipe.population, seed=seed)

    def advance(self) -> None:
        """Learn for one leg."""
        recipe = self._recipe
        for _ in range(recipe.generations):
            first = len(self._search.told) * recipe.episodes
            seeds = episode_seeds(self._seed, Purpose.TRAINING, recipe.episodes, first)
            self._search.tell([self._score(point, seeds) for point in self._search.ask()])

    def network(self) -> Network:
        """What was learned so far."""
        return self._network(self._search.centre)

    def state(self) -> dict[str, Any]:
        """Everything that the rest of the run depends on."""
        return {"steps": self.steps, "told": self._search.told}

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to a state that :meth:`state` gave."""
        self.steps = state["steps"]
        self._search.replay(state["told"])

    def close(self) -> None:
        """Nothing is held."""

    def _score(self, point: Floats, seeds: Sequence[int]) -> float:
        player = ContinuousTeacher(self._network(point), self._box.low, self._box.high)
        episodes = play(player.act, self._task, seeds)
        self.steps += int(episodes.lengths.sum())
        return careful_mean(episodes.returns, self._recipe.tail)

    def _network(self, point: Floats) -> Network:
        *hidden, head = layers_of(point, self._widths)
        range_ = np.array(self._box.high)
        return Network(
            hidden=hidden,
            head=[Layer(head.kernel * range_, head.bias * range_)],
            activation="tanh",
            meaning="actions",
            scale=np.array(self._recipe.scale),
        )


def layers_of(point: Floats, widths: Sequence[int]) -> list[Layer]:
    """Cut a row of numbers into the kernels and biases of layers between these widths."""
    layers, first = [], 0
    for n_in, n_out in pairwise(widths):
        own = point[first : first + (n_in + 1) * n_out].reshape(n_in + 1, n_out)
        layers.append(Layer(own[:-1], own[-1]))
        first += own.size
    return layers
