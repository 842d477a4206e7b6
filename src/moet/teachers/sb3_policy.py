"""What the parameters of a Stable-Baselines3 policy mean, from their names alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.errors import TeacherError
from moet.teachers.network import Activation, Layer, Network

Kind = Literal["q_values", "quantiles", "logits"]
"""Output of the network that chooses actions: that of DQN, of QR-DQN, or of PPO and A2C."""

_MARKS: dict[str, Kind] = {
    "q_net.q_net.0.weight": "q_values",
    "quantile_net.quantile_net.0.weight": "quantiles",
    "action_net.weight": "logits",
}
"""A parameter that every policy of a kind has and no other."""

_MODULES: dict[Kind, str] = {
    "q_values": "stable_baselines3.dqn.policies",
    "quantiles": "sb3_contrib.qrdqn.policies",
    "logits": "stable_baselines3.common.policies",
}
"""Where the policies are defined whose computation is known here."""

_ACTIVATIONS: dict[str, Activation] = {
    "torch.nn.modules.activation.ReLU": "relu",
    "torch.nn.modules.activation.ELU": "elu",
    "torch.nn.modules.activation.Tanh": "tanh",
}
_DEFAULT_ACTIVATIONS: dict[Kind, Activation] = {"q_values": "relu", "quantiles": "relu", "logits": "tanh"}

FLATTEN = "stable_baselines3.common.torch_layers.FlattenExtractor"
"""The features extractor that changes nothing: the default of all policies for rows of numbers."""

_IDLE = ("q_net_target.", "quantile_net_target.", "mlp_extractor.value_net.", "value_net.")
"""Beginnings of the names of parameters that take no part in choosing an action."""


class NotPlainError(TeacherError):
    """A policy that may compute something else than a multi-layer perceptron."""


class Policy(NamedTuple):
    """A policy, whether it is alive or was found in a file.

    Attributes
    ----------
    state : mapping
        Parameters by name.
    module : str
        Module that defines the class of the policy.
    activation : str or None
        Full name of its class; None if none was asked for.
    extractor : str
        Full name of the class of the features extractor.
    n_features, n_actions, n_quantiles : int
        Length of an observation, number of actions, and of quantiles for each (QR-DQN only).
    """

    state: Mapping[str, NDArray[Any]]
    module: str
    activation: str | None
    extractor: str
    n_features: int
    n_actions: int
    n_quantiles: int


def network_of(policy: Policy, **normalization: Any) -> Network:
    """Return the network by which ``policy`` chooses its actions.

    Raises
    ------
    NotPlainError
        If the policy may compute something else than a multi-layer perceptron.
    """
    kind = kind_of(policy.state)
    if policy.module != _MODULES[kind]:
        raise NotPlainError(f"its policy is defined in {policy.module}, so it is not known what it computes")
    if policy.extractor != FLATTEN:
        raise NotPlainError(f"its features extractor is {policy.extractor}, not the one that changes nothing")
    if policy.activation not in (None, *_ACTIVATIONS):
        raise NotPlainError(f"its activation is {policy.activation}; known are {', '.join(_ACTIVATIONS)}")
    hidden, head = _layers(policy.state, kind)
    if kind == "quantiles":
        head = _mean_of_quantiles(head, policy.n_quantiles, policy.n_actions)
    network = Network(
        hidden=hidden,
        head=[head],
        activation=_ACTIVATIONS[policy.activation] if policy.activation else _DEFAULT_ACTIVATIONS[kind],
        meaning="logits" if kind == "logits" else "q_values",
        **normalization,
    )
    for what, says, has in (
        ("observations of {} numbers", policy.n_features, network.n_inputs),
        ("{} actions", policy.n_actions, network.n_outputs),
    ):
        if says != has:
            raise TeacherError(f"its spaces say {what.format(says)}, its network is for {what.format(has)}")
    return network


def kind_of(state: Mapping[str, NDArray[Any]]) -> Kind:
    """What the network in ``state`` gives."""
    kinds = [kind for mark, kind in _MARKS.items() if mark in state]
    if len(kinds) != 1:
        raise NotPlainError(
            "it is no policy of DQN, QR-DQN, PPO or A2C with fully connected layers; "
            f"its parameters are {_listed(list(state)) or 'none'}"
        )
    return kinds[0]


def length_of_observation(space: str, shape: Sequence[int]) -> int:
    """Length of an observation, given the name of its space's class and its shape."""
    if space != "Box" or len(shape) != 1:
        raise TeacherError(f"it sees a {space} of shape {tuple(shape)}; a teacher sees rows: a Box of shape (n,)")
    return shape[0]


def number_of_actions(space: str, n: int | None) -> int:
    """Number of actions, given the name of their space's class and its ``n``."""
    if space != "Discrete" or n is None:
        raise TeacherError(f"its actions are a {space}; a teacher chooses one of a few: Discrete")
    return n


def _layers(state: Mapping[str, NDArray[Any]], kind: Kind) -> tuple[list[Layer], Layer]:
    """Hidden layers and output layer. Every parameter must be one of theirs, or play no part."""
    rest = {name: array for name, array in state.items() if not name.startswith(_IDLE)}
    match kind:
        case "q_values":
            *hidden, head = _sequential(rest, "q_net.q_net")
        case "quantiles":
            *hidden, head = _sequential(rest, "quantile_net.quantile_net")
        case "logits":
            # layers that policy and value share were possible before version 1.8
            hidden = _sequential(rest, "mlp_extractor.shared_net") + _sequential(rest, "mlp_extractor.policy_net")
            head = _linear(rest, "action_net")
    if rest:
        raise NotPlainError(f"it has parameters beyond those of fully connected layers: {_listed(list(rest))}")
    return hidden, head


def _sequential(state: dict[str, NDArray[Any]], name: str) -> list[Layer]:
    """Take out the layers 0, 2, 4, ...: those between have no parameters, they are the activations."""
    layers: list[Layer] = []
    while f"{name}.{2 * len(layers)}.weight" in state:
        layers.append(_linear(state, f"{name}.{2 * len(layers)}"))
    return layers


def _linear(state: dict[str, NDArray[Any]], name: str) -> Layer:
    weight, bias = state.pop(f"{name}.weight"), state.pop(f"{name}.bias", None)
    if weight.ndim != 2 or weight.size == 0:
        raise NotPlainError(f"{name} is no fully connected layer: its weight has shape {weight.shape}")
    return Layer(weight.T, np.zeros(len(weight)) if bias is None else bias)


def _mean_of_quantiles(layer: Layer, n_quantiles: int, n_actions: int) -> Layer:
    """The layer that gives the mean of each action's quantiles, which is as linear as they are."""
    if layer.bias.shape != (n_quantiles * n_actions,):
        raise TeacherError(f"it has {layer.kernel.shape[1]} outputs, not {n_quantiles} for each of {n_actions} actions")
    kernel = layer.kernel.astype(np.float64).reshape(-1, n_quantiles, n_actions)
    return Layer(kernel.mean(axis=1), layer.bias.astype(np.float64).reshape(n_quantiles, n_actions).mean(axis=0))


def _listed(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
