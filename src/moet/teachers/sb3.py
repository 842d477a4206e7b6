"""Agents of Stable-Baselines3 as teachers.

An agent is turned into a :class:`~moet.teachers.network.Network` wherever it is a plain multi-layer perceptron: the
teacher then needs no PyTorch, has a digest, and answers alike in batches of any size.
"""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from typing import Any

import numpy as np

from moet.errors import MoetWarning, TeacherError
from moet.teachers.checks import as_observations, finite_scores
from moet.teachers.network import log_probabilities, scaled
from moet.teachers.sb3_normalize import Normalization, read_normalization, statistics_beside
from moet.teachers.sb3_policy import MASKED, Kind, NotPlainError, Policy, kind_of, teacher_of
from moet.teachers.sb3_spaces import WRAP, live_actions, live_length
from moet.teachers.sb3_zip import read_members, read_policy
from moet.teachers.teacher import CheckedTeacher, Floats, Teacher

_LIVE: tuple[Kind, ...] = ("q_values", "quantiles", "actor_critic")
"""Kinds of policies that can be asked through PyTorch if they are no plain networks."""

_ROWS_TRIED, _ROUNDED = 64, 0.05
"""Rows that a live policy is tried on, and the share of answers that rounding may change."""


def read_sb3(model: Any, *, normalize: Any = None, trust: bool = False) -> Teacher:
    """Take an agent of Stable-Baselines3; see :meth:`Teacher.from_sb3`."""
    if not isinstance(model, str | os.PathLike):
        return _teacher_of(model, normalize)
    try:
        if trust:
            return _teacher_of(_load_with_sb3(model), normalize)
        policy = read_policy(model)
        teacher = teacher_of(policy, **read_normalization(normalize, policy.n_features)._asdict())
    except TeacherError as error:
        raise TeacherError(f"cannot read {os.fspath(model)}: {error}{_hint(error, model, trust)}") from error.__cause__
    if normalize is None and policy.normalised:
        _warn_of_missing_statistics(model)
    if policy.module == MASKED:
        _warn_of_masks()
    return teacher


def _hint(error: TeacherError, path: str | os.PathLike[str], trust: bool) -> str:
    """What to do about a policy that may be no plain network."""
    if not isinstance(error, NotPlainError) or trust:
        return ""
    if _is_live_kind(path):
        return "; if you trust its author, load it with trust=True (moet: --trust)"
    return f". {WRAP}, with low= and high= where actions are numbers"


def _warn_of_missing_statistics(path: str | os.PathLike[str]) -> None:
    beside = statistics_beside(path)
    file = "vecnormalize.pkl" if beside is None else os.fspath(beside)
    warnings.warn(
        f"{os.fspath(path)} says that it was trained behind a VecNormalize; without its statistics it sees other "
        f"numbers than it learned with. Give them: --normalize {file}, in Python normalize={file!r}",
        MoetWarning,
        stacklevel=4,
    )


def _warn_of_masks() -> None:
    warnings.warn(
        "it learned with masks (MaskablePPO), which a teacher is not told: here it chooses among all actions. Where a "
        "mask matters, let the environment show it as part of the observation, or do nothing for forbidden actions",
        MoetWarning,
        stacklevel=4,
    )


def _is_live_kind(path: str | os.PathLike[str]) -> bool:
    """Whether Stable-Baselines3 can be asked about the policy in a file, so that to trust it helps."""
    try:
        return kind_of(read_members(path)[1]) in _LIVE
    except NotPlainError:
        return False


class LivePolicy(CheckedTeacher):
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
                case _:
                    outputs = self._policy.get_distribution(inputs).distribution.logits
        values = finite_scores(outputs.cpu().numpy().astype(np.float64))
        return log_probabilities(values) if self._kind == "actor_critic" else values


def _teacher_of(model: Any, normalize: Any) -> Teacher:
    policy: Any = getattr(model, "policy", None)
    if not hasattr(policy, "state_dict"):
        raise TeacherError(f"expected a model of Stable-Baselines3 or the path of its zip file, got {model!r}")
    state = {name: tensor.detach().cpu().double().numpy() for name, tensor in policy.state_dict().items()}
    n_features, actions = live_length(model.observation_space), live_actions(model.action_space)
    if normalize is None:
        normalize = model.get_vec_normalize_env()  # that of the environment it is training in, if any
    normalization = read_normalization(normalize, n_features)
    found = Policy(
        state=state,
        module=type(policy).__module__,
        activation=_full_name(getattr(policy, "activation_fn", None)),
        extractor=_full_name(policy.features_extractor_class),
        n_features=n_features,
        actions=actions,
        n_quantiles=getattr(policy, "n_quantiles", 0),
        squash=bool(getattr(policy, "squash_output", False)),
        mean_limit=float(getattr(getattr(policy, "actor", None), "clip_mean", 2.0)),
        norm_eps=next((float(part.eps) for part in policy.modules() if hasattr(part, "ra_mean")), 0.001),
    )
    if found.module == MASKED:
        _warn_of_masks()
    try:
        teacher = teacher_of(found, **normalization._asdict())
    except NotPlainError as error:
        kind = _live_kind(policy)
        if kind is None or len(actions.counts) != 1:
            raise TeacherError(f"{error}. {WRAP}, with low= and high= where actions are numbers") from None
        teacher = LivePolicy(policy, kind, n_features, actions.counts[0], normalization)
    if policy.observation_space.shape == (n_features,) and len(actions.counts) <= 1:
        _refuse_other_predict(policy, teacher, normalization)
    return teacher


def _refuse_other_predict(policy: Any, teacher: Teacher, normalization: Normalization) -> None:
    """Complain if a policy acts otherwise than its network: its ``predict``, a layer or a hook is somebody's own."""
    rows = np.random.default_rng(0).normal(size=(_ROWS_TRIED, *policy.observation_space.shape))
    predicted, _ = policy.predict(scaled(rows, *normalization).astype(np.float32), deterministic=True)
    acted = teacher.act(rows)
    differs = ~np.isclose(acted, np.reshape(predicted, acted.shape), rtol=1e-3, atol=1e-3)
    if (share := float(np.mean(differs))) > _ROUNDED:
        raise TeacherError(f"its predict answers otherwise than its network, in {share:.0%} of rows drawn. {WRAP}")


def _live_kind(policy: Any) -> Kind | None:
    """What to ask a policy that is no plain network; None if it answers nothing that a teacher needs."""
    if hasattr(policy, "q_net"):
        return "q_values"
    if hasattr(policy, "quantile_net"):
        return "quantiles"
    return "actor_critic" if hasattr(policy, "action_net") and hasattr(policy, "value_net") else None


def _full_name(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}" if isinstance(thing, type) else repr(thing)


def _load_with_sb3(path: str | os.PathLike[str]) -> Any:
    try:
        import stable_baselines3
    except ImportError:
        raise TeacherError("this needs Stable-Baselines3: pip install 'moet[teachers]'") from None
    data, state = read_members(path)
    kind = kind_of(state)
    if kind not in _LIVE:
        raise TeacherError("trust=True does not help with it; leave it out (moet: --trust)")
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
