"""What a teacher is: anything that acts, and preferably says how much each action is worth."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Teacher(ABC):
    """An agent that answers batches of observations.

    Attributes
    ----------
    n_features, n_actions : int or None
        What it expects and how many actions it knows; None if it cannot say.
    has_scores : bool
        Whether :meth:`scores` may be called. Without scores all states are equally important.
    digest : str
        SHA-256 of what the agent is made of, in hexadecimal; empty if it cannot be told.
    """

    n_features: int | None = None
    n_actions: int | None = None
    has_scores: bool = True
    digest: str = ""

    @abstractmethod
    def scores(self, observations: Floats) -> Floats:
        """Worth of each action, one row per observation: Q values, or clipped log-probabilities."""

    def act(self, observations: Floats) -> NDArray[np.int64]:
        """Best action for each observation, the first one among equals."""
        return np.argmax(self.scores(observations), axis=1).astype(np.int64)

    @classmethod
    def from_arrays(cls, path: str | Path) -> Teacher:
        """Read a network from a ``.npz`` file of plain arrays; nothing in it is executed."""
        from moet.teachers.arrays import read_network

        return read_network(path)

    @classmethod
    def from_sb3(cls, model: Any, *, normalize: Any = None, trust: bool = False) -> Teacher:
        """Take an agent of Stable-Baselines3: a live model, or the path of its ``.zip``.

        Parameters
        ----------
        model : model or path
            DQN, QR-DQN, PPO or A2C with an MLP policy.
        normalize : VecNormalize, path or None
            Statistics that the agent's observations were normalised with.
        trust : bool
            Load the file with Stable-Baselines3 itself, which executes code in it. By default only numbers are read.
        """
        from moet.teachers.sb3 import read_sb3

        return read_sb3(model, normalize=normalize, trust=trust)

    @classmethod
    def from_callable(
        cls,
        act: Callable[[Floats], Any] | None = None,
        *,
        scores: Callable[[Floats], Any] | None = None,
        n_features: int | None = None,
        n_actions: int | None = None,
    ) -> Teacher:
        """Wrap functions from batches of observations to actions, to scores, or both."""
        from moet.teachers.adapters import CallableTeacher

        return CallableTeacher(act, scores=scores, n_features=n_features, n_actions=n_actions)

    @classmethod
    def from_predictor(cls, model: Any, *, n_actions: int | None = None) -> Teacher:
        """Wrap a fitted model with ``predict`` as in scikit-learn, whose classes are action numbers.

        Parameters
        ----------
        model : classifier
            If it also has ``predict_proba``, scores are clipped log-probabilities.
        n_actions : int or None
            How many actions there are, if the model has not seen the last of them.
        """
        from moet.teachers.adapters import PredictorTeacher

        return PredictorTeacher(model, n_actions=n_actions)
