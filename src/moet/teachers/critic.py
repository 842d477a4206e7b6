"""What an agent with continuous actions believes its actions are worth."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from moet.teachers.checks import finite_scores
from moet.teachers.network import Network
from moet.teachers.teacher import Floats

MOST_ACTIONS, MOST_LEVELS = 16, 7
"""Actions that are tried in a state, and numbers of one dimension of them: critics are large, and states many."""


class Critic:
    """Networks that score a state together with an action, as SAC, TQC, TD3 and DDPG have them.

    Parameters
    ----------
    networks : sequence of Network
        Each from (observation, action between −1 and 1) to one number.
    low, high : array of float, shape (n_numbers,)
        Bounds of actions.
    cautious : bool
        The least of the networks' scores counts, as in SAC and TD3; otherwise their mean, as in TQC.
    """

    def __init__(self, networks: Sequence[Network], low: ArrayLike, high: ArrayLike, *, cautious: bool) -> None:
        self.networks = tuple(networks)
        self.low, self.high = np.asarray(low, np.float64), np.asarray(high, np.float64)
        self.cautious = cautious
        self._grid = action_grid(len(self.low))

    def scores(self, observations: Floats, actions: Floats) -> Floats:
        """Worth of one action in each state."""
        scaled = 2 * (actions - self.low) / (self.high - self.low) - 1
        inputs = np.ascontiguousarray(np.hstack([observations, scaled]))
        found = np.stack([network.outputs(inputs)[:, 0] for network in self.networks])
        return finite_scores((found.min(axis=0) if self.cautious else found.mean(axis=0))[:, None])[:, 0]

    def grid_scores(self, observations: Floats) -> Floats:
        """Worth of every action of a grid, one row per state."""
        actions = self.low + (self._grid + 1) / 2 * (self.high - self.low)
        return np.stack([self.scores(observations, np.tile(action, (len(observations), 1))) for action in actions], 1)

    def regret(self, observations: Floats, actions: Floats, wanted: Floats) -> Floats:
        """What each action costs beside the best that is known: one of the grid, the agent's own, or itself."""
        chosen = self.scores(observations, actions)
        best = np.maximum(self.grid_scores(observations).max(axis=1), self.scores(observations, wanted))
        return np.maximum(best - chosen, 0.0)


def action_grid(n_numbers: int) -> Floats:
    """Actions between −1 and 1 that stand for all: a grid, or corners of it where there are too many dimensions."""
    if 2**n_numbers > MOST_ACTIONS:
        return np.random.default_rng(0).choice([-1.0, 1.0], size=(MOST_ACTIONS, n_numbers))
    levels = max(2, min(MOST_LEVELS, int(MOST_ACTIONS ** (1 / n_numbers) + 1e-9)))
    return np.array(list(product(np.linspace(-1, 1, levels), repeat=n_numbers)))
