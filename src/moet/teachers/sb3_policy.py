"""What the parameters of a Stable-Baselines3 policy mean, from their names alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.envs.combinations import number_of_combinations
from moet.errors import TeacherError
from moet.teachers.activations import TORCH, Activation
from moet.teachers.continuous import ContinuousTeacher
from moet.teachers.critic import Critic
from moet.teachers.network import Layer, Meaning, Network, NetworkTeacher
from moet.teachers.sb3_renorm import without_norms
from moet.teachers.sb3_spaces import WRAP, Actions
from moet.teachers.teacher import Teacher

Kind = Literal["q_values", "quantiles", "actor_critic", "ars", "sac", "td3"]
"""Which network chooses actions: of DQN, of QR-DQN, of PPO, A2C and TRPO, of ARS, of SAC, TQC and CrossQ, or of TD3."""

MASKED = "sb3_contrib.common.maskable.policies"
"""Where MaskablePPO's policies are defined, which may be told that some actions are out of the question."""

_MODULES: dict[Kind, tuple[str, ...]] = {
    "q_values": ("stable_baselines3.dqn.policies",),
    "quantiles": ("sb3_contrib.qrdqn.policies",),
    "actor_critic": ("stable_baselines3.common.policies", MASKED),
    "ars": ("sb3_contrib.ars.policies",),
    "sac": ("stable_baselines3.sac.policies", "sb3_contrib.tqc.policies", "sb3_contrib.crossq.policies"),
    "td3": ("stable_baselines3.td3.policies",),
}
"""Where the policies are defined whose computation is known here."""

_ACTIVATIONS: dict[str, Activation] = {f"torch.nn.modules.activation.{name}": known for name, known in TORCH.items()}

FLATTEN = "stable_baselines3.common.torch_layers.FlattenExtractor"
COMBINED = "stable_baselines3.common.torch_layers.CombinedExtractor"
"""The features extractors that change nothing: the default of all policies for rows of numbers, and for several."""

_IDLE = (
    *("q_net_target.", "quantile_net_target.", "mlp_extractor.value_net.", "value_net."),
    *("critic.", "critic_target.", "actor_target.", "log_std", "actor.log_std", "sde_features_extractor."),
)
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
    n_features : int
        Length of an observation.
    actions : Actions
        What it can do.
    n_quantiles : int
        Number of quantiles for each action (QR-DQN only).
    squash : bool
        Whether tanh brings continuous actions between their bounds, where the algorithm leaves the choice.
    mean_limit : float
        Means of actions are kept within this (SAC, TQC and CrossQ with gSDE only).
    norm_eps : float
        What is added to the variances of normalisations (CrossQ only).
    normalised : bool
        Whether it is known to have been trained behind a VecNormalize.
    """

    state: Mapping[str, NDArray[Any]]
    module: str
    activation: str | None
    extractor: str
    n_features: int
    actions: Actions
    n_quantiles: int = 0
    squash: bool = False
    mean_limit: float = 2.0
    norm_eps: float = 0.001
    normalised: bool = False


def teacher_of(policy: Policy, **normalization: Any) -> Teacher:
    """Return the teacher that acts as ``policy`` does.

    Raises
    ------
    NotPlainError
        If the policy may compute something else than a multi-layer perceptron.
    """
    kind = kind_of(policy.state)
    _check_known(policy, kind)
    if any(name.endswith(".ra_mean") for name in policy.state):
        policy = policy._replace(state=without_norms(policy.state, policy.norm_eps))
    hidden, head = _layers(policy.state, kind)
    counts, continuous = policy.actions.counts, policy.actions.continuous
    if kind == "quantiles":
        head = _mean_of_quantiles(head, policy.n_quantiles, sum(counts))
    elif len(counts) > 1 or policy.actions.binary:
        head = _combinations(_yes_or_no(head) if policy.actions.binary else head, counts)
    meaning: Meaning = "actions" if continuous else "logits" if kind == "actor_critic" else "q_values"
    network = Network(
        hidden=hidden,
        head=[head],
        activation=_ACTIVATIONS[policy.activation] if policy.activation else _default_activation(kind),
        meaning=meaning,
        **normalization,
    )
    n_outputs = int(np.prod(counts)) if policy.actions.low is None else len(policy.actions.low)
    for what, says, has in (
        ("observations of {} numbers", policy.n_features, network.n_inputs),
        ("actions of {} numbers" if continuous else "{} actions", n_outputs, network.n_outputs),
    ):
        if says != has:
            raise TeacherError(f"its spaces say {what.format(says)}, its network is for {what.format(has)}")
    if policy.actions.low is None or policy.actions.high is None:
        return NetworkTeacher(network)
    squash = kind in ("sac", "td3") or policy.squash
    limit = policy.mean_limit if kind == "sac" and "actor.mu.0.weight" in policy.state else None
    teacher = ContinuousTeacher(network, policy.actions.low, policy.actions.high, squash=squash, limit=limit)
    if kind in ("sac", "td3"):
        teacher.critic = _critic(policy, network, normalization)
    return teacher


def _critic(policy: Policy, actor: Network, normalization: Mapping[str, Any]) -> Critic | None:
    """The networks that judged the actor; None if they are not there, or no plain networks."""
    low, high = policy.actions.low, policy.actions.high
    assert low is not None
    assert high is not None
    state = {name: array for name, array in policy.state.items() if name.startswith("critic.")}
    padding = {"offset": np.zeros(len(low)), "scale": np.ones(len(low))}  # actions are not normalised
    inputs: dict[str, Any] = {
        name: np.append(part, padding[name]) if name in padding and part is not None else part
        for name, part in normalization.items()
    }
    networks: list[Network] = []
    quantiles = False
    try:
        while layers := _sequential(state, f"critic.qf{len(networks)}"):
            *hidden, head = layers
            quantiles |= len(head.bias) > 1  # TQC's, whose mean is as linear as they are
            head = Layer(head.kernel.mean(axis=1, keepdims=True), head.bias.mean(keepdims=True))
            networks.append(Network(hidden, [head], activation=actor.activation, meaning="q_values", **inputs))
    except TeacherError:
        return None
    if state or not networks or any(one.n_inputs != actor.n_inputs + len(low) for one in networks):
        return None
    return Critic(networks, low, high, cautious=not quantiles)


def kind_of(state: Mapping[str, NDArray[Any]]) -> Kind:
    """Which network in ``state`` chooses the actions."""
    if any(name.startswith("lstm_actor") for name in state):
        raise TeacherError(
            "it is recurrent: it acts by what it saw before, while a tree acts by what it sees now. Train an agent "
            "without memory, or one that sees the last few observations (VecFrameStack), and take that"
        )
    marks: dict[Kind, bool] = {
        "q_values": "q_net.q_net.0.weight" in state,
        "quantiles": "quantile_net.quantile_net.0.weight" in state,
        "actor_critic": "action_net.weight" in state and "value_net.weight" in state,
        "ars": ("action_net.weight" in state or "action_net.0.weight" in state) and "value_net.weight" not in state,
        "sac": any(name.startswith("actor.log_std") for name in state),
        "td3": "actor.mu.0.weight" in state and not any(name.startswith("actor.log_std") for name in state),
    }
    kinds = [kind for kind, present in marks.items() if present]
    if len(kinds) != 1:
        raise NotPlainError(
            "it is no policy of DQN, QR-DQN, PPO, A2C, TRPO, ARS, SAC, TQC, CrossQ, TD3 or DDPG with fully connected "
            f"layers; its parameters are {_listed(list(state)) or 'none'}"
        )
    return kinds[0]


def _check_known(policy: Policy, kind: Kind) -> None:
    if any(".cnn." in name for name in policy.state):
        raise TeacherError(
            "it looks at images, by convolutions; a tree needs a few numbers that mean something: give the task "
            f"features= of what is seen, and the agent as a function of images. {WRAP}"
        )
    if policy.module not in _MODULES[kind]:
        raise NotPlainError(f"its policy is defined in {policy.module}, so it is not known what it computes")
    if policy.extractor not in (FLATTEN, COMBINED):
        raise NotPlainError(f"its features extractor is {policy.extractor}, not the one that changes nothing")
    if policy.activation not in (None, *_ACTIVATIONS):
        raise NotPlainError(f"its activation is {policy.activation}; known are PyTorch's {', '.join(TORCH)}")


def _default_activation(kind: Kind) -> Activation:
    return "tanh" if kind == "actor_critic" else "relu"


def _layers(state: Mapping[str, NDArray[Any]], kind: Kind) -> tuple[list[Layer], Layer]:
    """Hidden layers and output layer. Every parameter must be one of theirs, or play no part."""
    rest = {name: array for name, array in state.items() if not name.startswith(_IDLE)}
    match kind:
        case "q_values":
            *hidden, head = _sequential(rest, "q_net.q_net")
        case "quantiles":
            *hidden, head = _sequential(rest, "quantile_net.quantile_net")
        case "actor_critic":
            # layers that policy and value share were possible before version 1.8
            hidden = _sequential(rest, "mlp_extractor.shared_net") + _sequential(rest, "mlp_extractor.policy_net")
            head = _linear(rest, "action_net")
        case "ars":
            linear = "action_net.weight" in rest
            *hidden, head = [_linear(rest, "action_net")] if linear else _sequential(rest, "action_net")
        case "sac":
            hidden = _sequential(rest, "actor.latent_pi")
            head = _linear(rest, "actor.mu.0" if "actor.mu.0.weight" in rest else "actor.mu")
        case "td3":
            *hidden, head = _sequential(rest, "actor.mu")
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
    if f"{name}.weight" not in state:
        raise NotPlainError(f"it has no layer {name}")
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


def _yes_or_no(layer: Layer) -> Layer:
    """The layer that gives two logits where one spoke for yes: 0 for no, and that one."""
    kernel, bias = np.zeros((len(layer.kernel), 2 * len(layer.bias))), np.zeros(2 * len(layer.bias))
    kernel[:, 1::2], bias[1::2] = layer.kernel, layer.bias
    return Layer(kernel, bias)


def _combinations(layer: Layer, counts: tuple[int, ...]) -> Layer:
    """The layer that gives a logit for every combination of choices: the sum of theirs, as they are independent."""
    if layer.bias.shape != (sum(counts),):
        raise TeacherError(f"it has {layer.kernel.shape[1]} outputs, not {sum(counts)} for choices among {counts}")
    try:
        number_of_combinations(counts, "it")
    except ValueError as error:
        raise TeacherError(str(error)) from None
    first = np.cumsum((0, *counts[:-1]))
    chosen = np.stack([k.ravel() for k in np.indices(counts)]) + first[:, None]
    return Layer(layer.kernel[:, chosen].sum(axis=1), layer.bias[chosen].sum(axis=0))


def _listed(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
