"""Dueling double DQN with n-step returns."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from moet.envs.task import Task
from moet.teachers.activations import Activation
from moet.teachers.network import Network
from moet.teachers.train.explore import Explorer, Schedule
from moet.teachers.train.learner import Recipe
from moet.teachers.train.networks import ScoreNetwork, as_tensor
from moet.teachers.train.patience import cut_off_idle
from moet.teachers.train.replay import Replay
from moet.teachers.train.stream import Stream


@dataclass(frozen=True, kw_only=True)
class DQNRecipe(Recipe):
    """Hyper-parameters of :class:`DQN`; those of every run are in :class:`Recipe`.

    Attributes
    ----------
    activation : {"relu", "elu", "tanh"}
        Of the hidden layers.
    streams : tuple of int
        Widths of hidden layers that value and advantages have for themselves.
    exploration : Schedule
        How often random actions begin.
    hold : int
        A random action is held for 1 to ``hold`` steps.
    slots : int
        Episodes that are played side by side.
    leg : int
        Steps between two evaluations, at which all episodes begin anew.
    warmup : int
        Steps before learning begins.
    memory : int
        Steps to remember.
    updates : int
        Updates after one step in every slot.
    batch : int
        Steps drawn from memory for an update.
    learning_rate : tuple of two floats
        Of Adam, at the beginning and at the end of the run; geometric in between.
    target_every : int
        Updates after which the network that judges the future is brought up to date.
    average : float or None
        Evaluate an exponential average of the weights, which moves by this share at each update; None evaluates
        the weights themselves.
    discount : float
        Weight of the next reward beside this one.
    n_steps : tuple of int
        Steps until the judgement of the future, for equal parts of the run.
    huber : float
        Errors grow linearly beyond this.
    reward_scale, step_cost : float
        Rewards are multiplied by the first, and the second is taken off at each step.
    reward_ends : bool
        A reward ends what an action is credited with, as a point does in a ball game; the episode goes on.
    patience : int or None
        In play to learn from, cut an episode off after this many steps without any reward.
    features : str or None
        How a weight file names the features of the task, which the network sees; None if it sees observations.
    """

    activation: Activation = "relu"
    streams: tuple[int, ...] = ()
    exploration: Schedule
    hold: int = 1
    slots: int = 16
    leg: int = 20_000
    warmup: int = 2_000
    memory: int = 100_000
    updates: int = 2
    batch: int = 128
    learning_rate: tuple[float, float] = (1e-3, 1e-3)
    target_every: int = 500
    average: float | None = None
    discount: float = 0.99
    n_steps: tuple[int, ...] = (3,)
    huber: float = 1.0
    reward_scale: float = 1.0
    step_cost: float = 0.0
    reward_ends: bool = False
    patience: int | None = None
    features: str | None = None

    def learner(self, task: Task, seed: int) -> DQN:
        """Someone who knows nothing yet."""
        return DQN(task, self, seed)


class DQN:
    """Learns what each action is worth, from its own past play."""

    def __init__(self, task: Task, recipe: DQNRecipe, seed: int) -> None:
        self.steps = 0
        self._updates = 0
        self._recipe = recipe
        self._rng = np.random.default_rng(seed)
        self._n_actions = len(task.action_names)
        self._view = task.view
        self._stream = Stream(cut_off_idle(task, recipe.patience), recipe.slots)
        self._replay = Replay(recipe.memory // recipe.slots, recipe.slots, len(recipe.scale))
        self._online = ScoreNetwork(
            recipe.scale,
            recipe.hidden,
            self._n_actions,
            activation=recipe.activation,
            dueling=True,
            streams=recipe.streams,
            rng=self._rng,
        )
        self._target = copy.deepcopy(self._online)
        self._average = copy.deepcopy(self._online)
        self._optimizer = torch.optim.Adam(self._online.parameters, eps=1e-5, fused=True)

    def advance(self) -> None:
        """Learn for one leg."""
        recipe = self._recipe
        explorer = Explorer(recipe.slots, self._n_actions, recipe.hold)
        self._stream.begin(self._rng)
        ticks = recipe.leg // recipe.slots
        for tick in range(1, ticks + 1):
            self._play(explorer, last=tick == ticks)
            if self.steps >= recipe.warmup:
                n_steps = recipe.n_steps[min(int(self._progress * len(recipe.n_steps)), len(recipe.n_steps) - 1)]
                for group in self._optimizer.param_groups:
                    start, end = recipe.learning_rate
                    group["lr"] = start * (end / start) ** min(1.0, self._progress)
                for _ in range(recipe.updates):
                    self._update(n_steps)

    def network(self) -> Network:
        """What was learned so far."""
        network = self._online if self._recipe.average is None else self._average
        return network.export(self._recipe.features)

    def state(self) -> dict[str, Any]:
        """Everything that the rest of the run depends on."""
        return {
            "steps": self.steps,
            "updates": self._updates,
            "rng": self._rng.bit_generator.state,
            "online": self._online.parameters,
            "target": self._target.parameters,
            "average": self._average.parameters,
            "optimizer": self._optimizer.state_dict(),
            "replay": self._replay.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to a state that :meth:`state` gave."""
        self.steps = state["steps"]
        self._updates = state["updates"]
        self._rng.bit_generator.state = state["rng"]
        self._online.move_towards(state["online"], 1.0)
        self._target.move_towards(state["target"], 1.0)
        self._average.move_towards(state["average"], 1.0)
        self._optimizer.load_state_dict(state["optimizer"])
        self._replay.restore(state["replay"])

    def close(self) -> None:
        """Give back what the episodes hold."""
        self._stream.close()

    @property
    def _progress(self) -> float:
        return self.steps / self._recipe.steps

    def _play(self, explorer: Explorer, *, last: bool) -> None:
        """Take one step in every slot and remember it; after the ``last`` one of a leg all episodes are cut off."""
        recipe = self._recipe
        seen = self._view(self._stream.observations)
        with torch.inference_mode():
            greedy = self._online(as_tensor(seen)).argmax(dim=1).numpy()
        actions = explorer.disturb(greedy, recipe.exploration.rates(self._progress, recipe.slots), self._rng)
        step = self._stream.step(actions, self._rng)
        explorer.forget(step.terminated | step.truncated)
        terminated = step.terminated | (step.rewards != 0) if recipe.reward_ends else step.terminated
        self._replay.add(
            seen,
            actions,
            step.rewards * recipe.reward_scale - recipe.step_cost,
            self._view(step.observations),
            terminated,
            terminated | step.truncated | last,
        )
        self.steps += recipe.slots

    def _update(self, n_steps: int) -> None:
        recipe = self._recipe
        sample = self._replay.sample(self._rng, recipe.batch, n_steps, recipe.discount)
        with torch.no_grad():
            following = as_tensor(sample.next_observations)
            best = self._online(following).argmax(dim=1, keepdim=True)
            future = self._target(following).gather(1, best)[:, 0]
            goals = torch.from_numpy(sample.returns) + torch.from_numpy(sample.discounts) * future
        scores = self._online(as_tensor(sample.observations))
        chosen = scores.gather(1, torch.from_numpy(sample.actions)[:, None])[:, 0]
        loss = nn.functional.huber_loss(chosen, goals, delta=recipe.huber)
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()
        self._updates += 1
        if recipe.average is not None:
            self._average.move_towards(self._online.parameters, recipe.average)
        if self._updates % recipe.target_every == 0:
            self._target.move_towards(self._online.parameters, 1.0)
