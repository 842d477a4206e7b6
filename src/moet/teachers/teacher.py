"""What a teacher is: anything that acts, and preferably says how much each action is worth."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from moet.teachers.activations import Activation
    from moet.teachers.critic import Critic

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
    continuous : bool
        Whether an action is a row of numbers instead of one of a few.
    low, high : array, shape (n_outputs,), or None
        Between what the numbers of a continuous action lie; infinite where the agent does not say. None for others.
    critic : Critic or None
        What continuous actions are worth, if the agent has an opinion about that.

    Examples
    --------
    >>> from moet.teachers import Teacher
    >>> agent = Teacher.from_callable(lambda rows: (rows[:, 0] > 0).astype(int))
    >>> agent.act([[-1.0], [2.0]])
    array([0, 1])
    """

    n_features: int | None = None
    n_actions: int | None = None
    has_scores: bool = True
    digest: str = ""
    continuous: bool = False
    low: Floats | None = None
    high: Floats | None = None
    critic: Critic | None = None

    @abstractmethod
    def scores(self, observations: Floats) -> Floats:
        """Worth of each action, one row per observation: Q values, or clipped log-probabilities."""

    def act(self, observations: Floats) -> NDArray[Any]:
        """Best action for each observation: its number, the first one among equals, or a row if it is continuous."""
        return first_best(self.scores(observations))

    def act_and_score(self, observations: Floats) -> tuple[NDArray[Any], Floats]:
        """What :meth:`act` and :meth:`scores` answer, from one pass where that is possible."""
        if type(self).act is not Teacher.act:
            return self.act(observations), self.scores(observations)
        scores = self.scores(observations)
        return first_best(scores), scores

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
            DQN, QR-DQN, PPO, A2C, TRPO or ARS with fully connected layers; also with continuous actions, and then
            SAC, TQC, TD3 and DDPG too.
        normalize : VecNormalize, path or None
            Statistics that the agent's observations were normalised with: ``vecnormalize.pkl`` as it was saved, of
            which only the numbers are read, or a ``.npz`` of them.
        trust : bool
            Load the zip with Stable-Baselines3 itself, which executes code in it. By default only numbers are read.
        """
        from moet.teachers.sb3 import read_sb3

        return read_sb3(model, normalize=normalize, trust=trust)

    @classmethod
    def from_folder(cls, path: str | Path) -> Teacher:
        """Take an agent from a folder of the Hugging Face hub: the zip of Stable-Baselines3 in it, with its statistics.

        Parameters
        ----------
        path : path
            As ``huggingface_sb3`` and RL Zoo lay it out; nothing in it is executed.
        """
        from moet.teachers.folder import read_folder

        return read_folder(path)

    @classmethod
    def from_onnx(
        cls,
        path: str | Path,
        *,
        continuous: bool = False,
        meaning: Literal["logits", "q_values"] = "logits",
        normalize: Any = None,
    ) -> Teacher:
        """Read a network from an ONNX file, which holds nothing that could be executed.

        A multi-layer perceptron is computed here, needs no onnxruntime and has a digest; anything else is asked through
        onnxruntime. The first output counts.

        Parameters
        ----------
        path : path
        continuous : bool
            Whether the outputs are the action, as they are; otherwise the action is that of the largest output.
        meaning : {"logits", "q_values"}
            What the outputs are worth, where actions are chosen by them.
        normalize : path or None
            Statistics that observations were normalised with, as for :meth:`from_sb3`.
        """
        from moet.teachers.onnx_file import read_onnx

        return read_onnx(path, continuous=continuous, meaning=meaning, normalize=normalize)

    @classmethod
    def from_torch(
        cls,
        source: Any,
        *,
        activation: Activation | None = None,
        part: str | None = None,
        continuous: bool | None = None,
        meaning: Literal["logits", "q_values"] = "logits",
        normalize: Any = None,
    ) -> Teacher:
        """Take a network of PyTorch; of a file, only numbers are read.

        Parameters
        ----------
        source : torch.nn.Module, mapping or path
            A live module; its ``state_dict()``; or a file of either, such as CleanRL and TorchScript write.
        activation : {"tanh", "relu", "elu", "silu", "gelu", ...}, optional
            What stands between the layers, where names of parameters are all that is known.
        part : str, optional
            How the names of the parameters begin that act, or the entry of a checkpoint they are in.
        continuous : bool, optional
            Whether the outputs are the action; by default if the parameters say so.
        meaning : {"logits", "q_values"}
            What the outputs are worth, where actions are chosen by them.
        normalize : path or None
            Statistics that observations were normalised with, as for :meth:`from_sb3`.
        """
        from moet.teachers.torch_file import read_torch

        return read_torch(
            source, activation=activation, part=part, continuous=continuous, meaning=meaning, normalize=normalize
        )

    @classmethod
    def from_callable(
        cls,
        act: Callable[[Floats], Any] | None = None,
        *,
        scores: Callable[[Floats], Any] | None = None,
        n_features: int | None = None,
        n_actions: int | None = None,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
    ) -> Teacher:
        """Wrap functions from batches of observations to actions, to scores, or both.

        With ``low`` and ``high``, actions are continuous: one row of numbers per observation, between these bounds.
        """
        from moet.teachers.adapters import CallableTeacher

        return CallableTeacher(act, scores=scores, n_features=n_features, n_actions=n_actions, low=low, high=high)

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


class CheckedTeacher(Teacher):
    """A teacher that checks by itself what it is asked and what it answers, as far as it knows the sizes."""

    def told(self, n_features: int | None, n_actions: int | None) -> Self:
        """The same teacher, which knows the sizes of a task; None is no news."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)  # no copy(): a session of onnxruntime refuses that
        other.n_features = self.n_features if n_features is None else n_features
        other.n_actions = self.n_actions if n_actions is None else n_actions
        return other


def first_best(scores: Floats) -> NDArray[np.int64]:
    """Number of the largest score of every row, the first one among equals."""
    return np.argmax(scores, axis=1).astype(np.int64)
