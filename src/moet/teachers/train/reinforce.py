"""REINFORCE: whole episodes, and a baseline that knows how much time has passed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from moet.envs.rollout import Episodes, play
from moet.envs.task import Floats, Task
from moet.teachers.activations import Activation
from moet.teachers.network import Network
from moet.teachers.train.learner import Recipe
from moet.teachers.train.networks import ScoreNetwork, as_tensor
from moet.teachers.train.stream import training_seeds


@dataclass(frozen=True, kw_only=True)
class ReinforceRecipe(Recipe):
    """Hyper-parameters of :class:`Reinforce`; those of every run are in :class:`Recipe`.

    Attributes
    ----------
    activation : {"relu", "elu", "tanh"}
        Of the hidden layers.
    learning_rate : float
        Of Adam.
    discount : float
        Weight of the next reward beside this one.
    episodes : int
        Whole episodes behind one update.
    updates : int
        Updates between two evaluations.
    """

    activation: Activation = "tanh"
    learning_rate: float = 0.02
    discount: float = 0.99
    episodes: int = 50
    updates: int = 10

    def learner(self, task: Task, seed: int) -> Reinforce:
        """Someone who knows nothing yet."""
        return Reinforce(task, self, seed)


class Reinforce:
    """Learns a stochastic policy by following the gradient of its reward."""

    def __init__(self, task: Task, recipe: ReinforceRecipe, seed: int) -> None:
        self.steps = 0
        self._task = task
        self._recipe = recipe
        self._rng = np.random.default_rng(seed)
        self._network = ScoreNetwork(
            recipe.scale,
            recipe.hidden,
            len(task.action_names),
            activation=recipe.activation,
            dueling=False,
            rng=self._rng,
        )
        self._optimizer = torch.optim.Adam(self._network.parameters, recipe.learning_rate)

    def advance(self) -> None:
        """Learn until the next evaluation."""
        for _ in range(self._recipe.updates):
            episodes = play(self._draw, self._task, training_seeds(self._rng, self._recipe.episodes))
            self._update(episodes)
            self.steps += len(episodes.rewards)

    def network(self) -> Network:
        """What was learned so far."""
        return self._network.export()

    def state(self) -> dict[str, Any]:
        """Everything that the rest of the run depends on."""
        return {
            "steps": self.steps,
            "rng": self._rng.bit_generator.state,
            "network": self._network.parameters,
            "optimizer": self._optimizer.state_dict(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to a state that :meth:`state` gave."""
        self.steps = state["steps"]
        self._rng.bit_generator.state = state["rng"]
        self._network.move_towards(state["network"], 1.0)
        self._optimizer.load_state_dict(state["optimizer"])

    def close(self) -> None:
        """Nothing is held between updates."""

    def _draw(self, observations: Floats) -> NDArray[np.int64]:
        """An action for each observation, drawn as the network says (the largest of logits plus Gumbel noise)."""
        with torch.inference_mode():
            logits = self._network(as_tensor(observations)).numpy()
        return np.argmax(logits + self._rng.gumbel(size=logits.shape), axis=1)

    def _update(self, episodes: Episodes) -> None:
        advantages = standardised_advantages(episodes.rewards, episodes.lengths, self._recipe.discount)
        log_probabilities = torch.log_softmax(self._network(as_tensor(episodes.observations)), dim=1)
        chosen = log_probabilities.gather(1, torch.from_numpy(episodes.actions)[:, None])[:, 0]
        loss = -(chosen * as_tensor(advantages)).mean()
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()


def standardised_advantages(rewards: Floats, lengths: NDArray[np.int64], discount: float) -> Floats:
    """How much better the rest of each episode went than that of the others at the same time, in standard deviations.

    Parameters
    ----------
    rewards : array of float, shape (n_steps,)
        Of all steps, one episode after the other.
    lengths : array of int, shape (n_episodes,)
        Number of steps of each episode.
    discount : float
        Weight of the next reward beside this one.
    """
    episode = np.repeat(np.arange(len(lengths)), lengths)
    time = np.arange(len(rewards)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    returns = np.zeros((lengths.max() + 1, len(lengths)))
    returns[time, episode] = rewards
    for t in reversed(range(lengths.max())):
        returns[t] += discount * returns[t + 1]
    baseline = np.bincount(time, returns[time, episode]) / np.bincount(time)
    advantages = returns[time, episode] - baseline[time]
    return advantages / (advantages.std() + 1e-8)
