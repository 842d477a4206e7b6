"""Agents of Stable-Baselines3 as teachers.

An agent is turned into a :class:`~moet.teachers.network.Network` wherever it is a plain multi-layer perceptron: the
teacher then needs no PyTorch, has a digest, and answers alike in batches of any size.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import numpy as np

from moet.errors import TeacherError
from moet.teachers.checks import as_observations, finite_scores
from moet.teachers.network import NetworkTeacher, log_probabilities, scaled
from moet.teachers.sb3_normalize import Normalization, read_normalization
from moet.teachers.sb3_policy import (
    Kind,
    NotPlainError,
    Policy,
    kind_of,
    length_of_observation,
    network_of,
    number_of_actions,
)
from moet.teachers.sb3_zip import read_members, read_policy
from moet.teachers.teacher import Floats, Teacher


def read_sb3(model: Any, *, normalize: Any = None, trust: bool = False) -> Teacher:
    """Take an agent of Stable-Baselines3; see :meth:`Teacher.from_sb3`."""
    if not isinstance(model, str | os.PathLike):
        return _teacher_of(model, normalize, trust)
    try:
        if trust:
            return _teacher_of(_load_with_sb3(model), normalize, trust)
        policy = read_policy(model)
        normalization = read_normalization(normalize, policy.n_features, trust)
        return NetworkTeacher(network_of(policy, **normalization._asdict()))
    except TeacherError as error:
        trust_helps = isinstance(error, NotPlainError) and not trust
        hint = "; if you trust its author, load it with trust=True" if trust_helps else ""
        raise TeacherError(f"cannot read {os.fspath(model)}: {error}{hint}") from error.__cause__


class LivePolicy(Teacher):
    """A policy that is more than a plain network, asked through PyTorch."""

    def __init__(self, policy: Any, kind: Kind, n_features: int, n_actions: int, normalization: Normalization) -> None:
        self.n_features = n_features
        self.n_actions = n_actions
        self._policy = policy
        self._kind = kind
        self._normalization = normalization

    def scores(self, observations: Floats) -> Floats:
        """Q values, means of quantiles, or clipped log-probabilities."""
        import torch

        rows = scaled(as_observations(observations, self.n_features), *self._normalization)
        self._policy.set_training_mode(False)
        with torch.no_grad():
            inputs = torch.as_tensor(rows, dtype=torch.float32, device=self._policy.device)
            match self._kind:
                case "q_values":
                    outputs = self._policy.q_net(inputs)
                case "quantiles":
                    outputs = self._policy.quantile_net(inputs).mean(dim=1)
                case "logits":
                    outputs = self._policy.get_distribution(inputs).distribution.logits
        values = finite_scores(outputs.cpu().numpy().astype(np.float64))
        return log_probabilities(values) if self._kind == "logits" else values


def _teacher_of(model: Any, normalize: Any, trust: bool) -> Teacher:
    policy: Any = getattr(model, "policy", None)
    if not hasattr(policy, "state_dict"):
        raise TeacherError(f"expected a model of Stable-Baselines3 or the path of its zip file, got {model!r}")
    kind = _live_kind(policy)
    seen, actions = model.observation_space, model.action_space
    n_features = length_of_observation(type(seen).__name__, seen.shape or ())
    n_actions = number_of_actions(type(actions).__name__, getattr(actions, "n", None))
    if normalize is None:
        normalize = model.get_vec_normalize_env()  # that of the environment it is training in, if any
    normalization = read_normalization(normalize, n_features, trust)
    found = Policy(
        state={name: tensor.detach().cpu().double().numpy() for name, tensor in policy.state_dict().items()},
        module=type(policy).__module__,
        activation=_full_name(getattr(policy, "activation_fn", None)),
        extractor=_full_name(policy.features_extractor_class),
        n_features=n_features,
        n_actions=n_actions,
        n_quantiles=getattr(policy, "n_quantiles", 0),
    )
    try:
        return NetworkTeacher(network_of(found, **normalization._asdict()))
    except NotPlainError:
        return LivePolicy(policy, kind, n_features, n_actions, normalization)


def _live_kind(policy: Any) -> Kind:
    if hasattr(policy, "q_net"):
        return "q_values"
    if hasattr(policy, "quantile_net"):
        return "quantiles"
    if hasattr(policy, "action_net") and not hasattr(policy, "lstm_actor"):
        return "logits"
    raise TeacherError(
        f"a {type(policy).__name__} is no policy of DQN, QR-DQN, PPO or A2C; Teacher.from_callable takes any function"
    )


def _full_name(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}" if isinstance(thing, type) else repr(thing)


def _load_with_sb3(path: str | os.PathLike[str]) -> Any:
    try:
        import stable_baselines3
    except ImportError:
        raise TeacherError("this needs Stable-Baselines3: pip install 'moet[teachers]'") from None
    data, state = read_members(path)
    kind = kind_of(state)
    if kind == "quantiles":
        try:
            algorithm = import_module("sb3_contrib").QRDQN
        except ImportError:
            raise TeacherError("QR-DQN needs more than Stable-Baselines3: pip install sb3-contrib") from None
    elif kind == "q_values":
        algorithm = stable_baselines3.DQN
    else:
        algorithm = stable_baselines3.PPO if "clip_range" in data else stable_baselines3.A2C
    try:
        return algorithm.load(path, device="cpu")
    except Exception as error:  # code of the file's author may raise anything
        raise TeacherError(f"Stable-Baselines3 cannot load it: {error}") from error
