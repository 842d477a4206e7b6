"""Networks that are a chain of plain operations, made into the networks of this package.

Files of several kinds describe such chains: scaling, dense layers, activations, and at the end what is made of the
outputs. Whatever is linear is folded into the dense layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from moet.errors import TeacherError
from moet.teachers.activations import Activation
from moet.teachers.continuous import ContinuousTeacher
from moet.teachers.network import Layer, Meaning, Network, NetworkTeacher
from moet.teachers.sb3_normalize import Normalization
from moet.teachers.teacher import Floats, Teacher


class NotChainError(TeacherError):
    """A network that is not a chain of operations known here."""


@dataclass(frozen=True)
class Dense:
    """y = x @ kernel + bias."""

    kernel: Floats
    bias: Floats


@dataclass(frozen=True)
class Scale:
    """y = x * factor + shift, number by number."""

    factor: Floats
    shift: Floats


@dataclass(frozen=True)
class Nonlinear:
    """An activation, or what is made of the outputs at the end."""

    name: Activation | Literal["softmax", "argmax"]


@dataclass(frozen=True)
class Clip:
    """y = min(max(x, −limit), limit)."""

    limit: float


Step = Dense | Scale | Nonlinear | Clip


@dataclass
class _Plan:
    """A chain as it is folded up, step by step."""

    layers: list[Dense] = field(default_factory=list)
    activations: list[str] = field(default_factory=list)
    pending: list[Scale] = field(default_factory=list)
    input: Normalization = field(default_factory=Normalization)

    @property
    def open(self) -> bool:
        """Whether the last layer has no activation yet, so that linear steps fold into it."""
        return len(self.layers) > len(self.activations)


def teacher_of_chain(
    steps: Sequence[Step], *, meaning: Meaning, continuous: bool, normalization: Normalization | None = None
) -> Teacher:
    """Return the teacher that computes ``steps``.

    Parameters
    ----------
    steps : sequence of Step
    meaning : {"q_values", "logits"}
        What the outputs are worth, where actions are chosen by them.
    continuous : bool
        Whether the outputs are the action instead.
    normalization : Normalization, optional
        What is done to observations first.

    Raises
    ------
    NotChainError
        If steps stand in an order that no network of this package has.
    """
    plan = _Plan()
    rest = list(steps)
    ending: Nonlinear | None = None
    if rest and isinstance(rest[-1], Nonlinear) and rest[-1].name in ("softmax", "argmax"):
        ending = Nonlinear(rest.pop().name)  # type: ignore[union-attr]
    for step in rest:
        _fold(plan, step)
    normalization = _both(plan.input, normalization)
    if continuous:
        if ending is not None:
            raise TeacherError(f"it ends with {ending.name}, so it chooses one of a few; leave continuous out")
        return _continuous(plan, normalization)
    if plan.pending or not plan.open:
        raise NotChainError("it does not end with a dense layer")
    network = _network(plan, "logits" if ending is not None and ending.name == "softmax" else meaning, normalization)
    return NetworkTeacher(network)


def _fold(plan: _Plan, step: Step) -> None:
    match step:
        case Dense():
            kernel, bias = step.kernel, step.bias
            while plan.pending:
                scale = plan.pending.pop()
                bias = bias + _row(scale.shift, len(kernel)) @ kernel
                kernel = _row(scale.factor, len(kernel))[:, None] * kernel
            if plan.open:
                last = plan.layers.pop()
                kernel, bias = last.kernel @ kernel, last.bias @ kernel + bias
            plan.layers.append(Dense(kernel, bias))
        case Scale() if plan.open:
            last = plan.layers[-1]
            width = len(last.bias)
            factor = _row(step.factor, width)
            plan.layers[-1] = Dense(last.kernel * factor, last.bias * factor + _row(step.shift, width))
        case Scale():
            plan.pending.append(step)
        case Clip() if not plan.layers and plan.input.clip is None:
            plan.input = _input(plan.pending, step.limit)
            plan.pending = []
        case Nonlinear() if plan.open and step.name not in ("softmax", "argmax"):
            plan.activations.append(step.name)
        case _:
            raise NotChainError(f"it has a {type(step).__name__.lower()} step where no plain network has one")


def _row(values: Floats, width: int) -> Floats:
    if len(values) not in (1, width):
        raise NotChainError(f"it computes with {len(values)} numbers where it has {width}")
    return np.broadcast_to(values, width).astype(np.float64)


def _input(scales: list[Scale], limit: float) -> Normalization:
    """Scaling and clipping of inputs: x * f + s is (x − (−s / f)) / (1 / f)."""
    if not scales:
        return Normalization(None, None, limit)
    factor, shift = np.ones(1), np.zeros(1)
    for scale in scales:
        factor, shift = factor * scale.factor, shift * scale.factor + scale.shift
    if not np.all(factor):
        raise NotChainError("it ignores some of its inputs")
    offset, width = np.broadcast_arrays(-shift / factor, 1 / factor)
    return Normalization(np.array(offset), np.array(width), limit)


def _both(own: Normalization, given: Normalization | None) -> Normalization:
    if given is None or all(part is None for part in given):
        return own
    if any(part is not None for part in own):
        raise TeacherError("the network scales and clips its inputs itself; leave normalize out")
    return given


def _network(plan: _Plan, meaning: Meaning, normalization: Normalization) -> Network:
    *hidden, head = plan.layers
    kinds = set(plan.activations[: len(hidden)])
    if len(kinds) > 1:
        raise NotChainError(f"its activations differ: {', '.join(sorted(kinds))}")
    width = len(plan.layers[0].kernel)
    offset, scale = (
        None if part is None else _row(part, width) for part in (normalization.offset, normalization.scale)
    )
    return Network(
        hidden=[Layer(layer.kernel, layer.bias) for layer in hidden],
        head=[Layer(head.kernel, head.bias)],
        activation=next(iter(kinds), "relu"),  # type: ignore[arg-type]
        meaning=meaning,
        offset=offset,
        scale=scale,
        clip=normalization.clip,
    )


def _continuous(plan: _Plan, normalization: Normalization) -> Teacher:
    """Outputs as they are, or brought between bounds by tanh and scaling, as TD3 and SAC do."""
    if not plan.layers:
        raise NotChainError("it has no dense layer")
    width = len(plan.layers[-1].bias)
    if not plan.open and plan.activations[-1] != "tanh":  # ReLUs are the outputs: one more layer that changes nothing
        _fold(plan, Dense(np.eye(width), np.zeros(width)))
    squashed = not plan.open
    network = _network(plan, "actions", normalization)
    if not squashed:
        return ContinuousTeacher(network, np.full(width, -np.inf), np.full(width, np.inf))
    factor, shift = np.ones(width), np.zeros(width)
    for scale in plan.pending:
        factor, shift = factor * _row(scale.factor, width), shift * scale.factor + _row(scale.shift, width)
    if not np.all(factor > 0):
        raise NotChainError("it turns its actions round at the end")
    return ContinuousTeacher(network, shift - factor, shift + factor, squash=True)


def as_row(value: Any) -> Floats:
    """Numbers that a step adds or multiplies with: one for all, or one for each."""
    array = np.asarray(value, dtype=np.float64)
    if array.size != (array.shape[-1] if array.ndim else 1) or not np.isfinite(array).all():
        raise NotChainError(f"it computes with an array of shape {array.shape} where a row of numbers is expected")
    return array.reshape(-1)
