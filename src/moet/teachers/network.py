"""Small neural networks that answer without a deep-learning library.

All arithmetic is float64, and compiled loops add up every number of a row in one fixed order. BLAS would choose the
order by the shape of the batch; here an observation gets the same scores, to the last bit, whoever stands beside it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from moet.errors import ModelError, TeacherError
from moet.jit import OPTIONS
from moet.model.tree import frozen_floats
from moet.teachers.activations import CODES, ELU, LINEAR, RELU, TANH, Activation, curved
from moet.teachers.checks import as_observations, finite_scores
from moet.teachers.teacher import CheckedTeacher, Floats, first_best

Meaning = Literal["q_values", "logits", "actions"]

FEATURE_MAPS = {"pong": ("moet.envs.pong_features", "teacher_features", "OBSERVATION_NAMES")}
"""Maps from what an environment shows to the inputs of a network: module, function, and names of what is shown."""


class Layer(NamedTuple):
    """A dense layer: y = x @ kernel + bias."""

    kernel: Floats
    bias: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Network:
    """A plain or a dueling multi-layer perceptron.

    Parameters
    ----------
    hidden : sequence of Layer
        The first layers, each followed by the activation.
    head : sequence of Layer
        From there to one number per action; the last layer is linear. In a dueling network they give the advantages.
    value : sequence of Layer, optional
        Makes the network a dueling one: from the hidden layers to V(s), the last layer linear, and
        Q(s, a) = V(s) + A(s, a) − mean A(s, ·).
    activation : {"relu", "elu", "tanh", "leaky_relu", "sigmoid", "silu", "gelu", "softplus", "mish", "selu"}
        Follows every layer that is not said to be linear.
    meaning : {"q_values", "logits", "actions"}
        What the outputs are: worths of actions to choose from, or the numbers that are the action.
    offset, scale : array of float, shape (n_inputs,), optional
        Inputs are taken as (x − offset) / scale.
    clip : float, optional
        And then kept between −clip and clip.
    features : str, optional
        Name of the map in :data:`FEATURE_MAPS` that makes the inputs from observations.
    """

    hidden: tuple[Layer, ...]
    head: tuple[Layer, ...]
    value: tuple[Layer, ...]
    activation: Activation
    meaning: Meaning
    offset: Floats | None
    scale: Floats | None
    clip: float | None
    features: str | None

    def __init__(
        self,
        hidden: Iterable[tuple[ArrayLike, ArrayLike]],
        head: Iterable[tuple[ArrayLike, ArrayLike]],
        value: Iterable[tuple[ArrayLike, ArrayLike]] = (),
        *,
        activation: Activation,
        meaning: Meaning,
        offset: ArrayLike | None = None,
        scale: ArrayLike | None = None,
        clip: float | None = None,
        features: str | None = None,
    ) -> None:
        hidden, head, value = _layers(hidden, "hidden"), _layers(head, "head"), _layers(value, "value")
        if not value:  # then a layer of the head with an activation is just another hidden one
            hidden, head = hidden + head[:-1], head[-1:]
        fields = {
            "hidden": hidden,
            "head": head,
            "value": value,
            "activation": activation,
            "meaning": meaning,
            "offset": None if offset is None else _floats(offset, "offset", 1),
            "scale": None if scale is None else _floats(scale, "scale", 1),
            "clip": None if clip is None else float(_floats([clip], "clip", 1)[0]),
            "features": features,
        }
        for name, field in fields.items():
            object.__setattr__(self, name, field)
        _check(self)

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return len((self.hidden + self.head)[0].kernel)

    @property
    def n_outputs(self) -> int:
        """Number of outputs, one per action."""
        return len(self.head[-1].bias)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything the network is, in hexadecimal, however it was stored."""
        streams = (self.hidden, self.head, self.value)
        layers = [layer for stream in streams for layer in stream]
        structure = (self.activation, self.meaning, self.clip, self.features, [len(stream) for stream in streams])
        record = hashlib.sha256(repr(structure).encode())
        for array in (self.offset, self.scale, *(array for layer in layers for array in layer)):
            shape, numbers = (None, b"") if array is None else (array.shape, array.astype("<f8").tobytes())
            record.update(repr(shape).encode() + numbers)
        return record.hexdigest()

    def __repr__(self) -> str:
        kind = "dueling" if self.value else "plain"
        widths = [self.n_inputs, *(len(layer.bias) for layer in self.hidden), self.n_outputs]
        return f"Network({kind}, {'-'.join(map(str, widths))}, {self.activation}, {self.meaning})"

    def __reduce__(self) -> tuple[Any, ...]:
        # by construction, so that the arrays of a copy are checked and read-only too
        return partial(Network, **{name: getattr(self, name) for name in self.__dataclass_fields__}), ()

    def outputs(self, inputs: Floats) -> Floats:
        """Q values or logits, one row per row of ``inputs``."""
        code = CODES[self.activation]
        shared = _through(self.hidden, scaled(inputs, self.offset, self.scale, self.clip), code, code)
        out = _through(self.head, shared, code, LINEAR)
        return dueling(out, _through(self.value, shared, code, LINEAR)) if self.value else out


class NetworkTeacher(CheckedTeacher):
    """A teacher that is a network."""

    def __init__(self, network: Network) -> None:
        if network.meaning == "actions":
            raise TeacherError("the outputs of this network are actions, not worths of actions to choose from")
        self.network = network
        self.n_features = network.n_inputs
        self.n_actions = network.n_outputs
        self.digest = network.digest
        self._features: Callable[[Floats], Floats] | None = None
        if network.features is not None:
            module, function, names = FEATURE_MAPS[network.features]
            self._features = getattr(import_module(module), function)
            self.n_features = len(getattr(import_module(module), names))

    def __repr__(self) -> str:
        return f"NetworkTeacher({self.network!r})"

    def scores(self, observations: Floats) -> Floats:
        """Q values, or log-probabilities clipped as log(p + 1e-10)."""
        return as_worth(self._outputs(observations), self.network.meaning)

    def act(self, observations: Floats) -> NDArray[np.int64]:
        """Action of largest output, the first one among equals."""
        return first_best(self._outputs(observations))

    def act_and_score(self, observations: Floats) -> tuple[NDArray[np.int64], Floats]:
        """Both, of the same outputs."""
        outputs = self._outputs(observations)
        return first_best(outputs), as_worth(outputs, self.network.meaning)

    def _outputs(self, observations: Floats) -> Floats:
        rows = as_observations(observations, self.n_features)
        inputs = rows if self._features is None else as_observations(self._features(rows), self.network.n_inputs)
        return finite_scores(self.network.outputs(inputs))


def as_worth(outputs: Floats, meaning: Meaning) -> Floats:
    """What outputs say that actions are worth: Q values as they are, logits as clipped log-probabilities."""
    return log_probabilities(outputs) if meaning == "logits" else outputs


def scaled(inputs: Floats, offset: Floats | None, scale: Floats | None, clip: float | None) -> Floats:
    """clip((inputs − offset) / scale, −clip, clip), without the parts that are None."""
    if offset is not None:
        inputs = inputs - offset
    if scale is not None:
        inputs = inputs / scale
    return inputs if clip is None else np.clip(inputs, -clip, clip)


@njit(**OPTIONS)
def dense(X: Any, kernel: Any, bias: Any, activation: int) -> Any:
    """Apply one layer to every row. Each sum runs left to right from the bias; the compiler vectorises across units."""
    n_rows, n_inputs = X.shape
    n_units = len(bias)
    out = np.empty((n_rows, n_units))
    for r in range(n_rows):
        for j in range(n_units):
            out[r, j] = bias[j]
        for i in range(0, n_inputs - 3, 4):  # four inputs at a time save most of the memory traffic
            a, b, c, d = X[r, i], X[r, i + 1], X[r, i + 2], X[r, i + 3]
            for j in range(n_units):
                two = (out[r, j] + a * kernel[i, j]) + b * kernel[i + 1, j]
                out[r, j] = (two + c * kernel[i + 2, j]) + d * kernel[i + 3, j]
        for i in range(n_inputs - n_inputs % 4, n_inputs):
            for j in range(n_units):
                out[r, j] += X[r, i] * kernel[i, j]
        if activation == RELU:
            for j in range(n_units):
                out[r, j] = 0.0 if out[r, j] < 0.0 else out[r, j]  # NaN stays NaN
        elif activation == ELU:
            for j in range(n_units):
                out[r, j] = math.expm1(out[r, j]) if out[r, j] < 0.0 else out[r, j]
        elif activation == TANH:
            for j in range(n_units):
                out[r, j] = math.tanh(out[r, j])
        elif activation != LINEAR:
            for j in range(n_units):
                out[r, j] = curved(out[r, j], activation)
    return out


@njit(**OPTIONS)
def dueling(advantage: Any, value: Any) -> Any:
    """V + A − mean A, row by row."""
    n_rows, n_actions = advantage.shape
    out = np.empty((n_rows, n_actions))
    for r in range(n_rows):
        total = 0.0
        for a in range(n_actions):
            total += advantage[r, a]
        for a in range(n_actions):
            out[r, a] = value[r, 0] + (advantage[r, a] - total / n_actions)
    return out


@njit(**OPTIONS)
def log_probabilities(logits: Any) -> Any:
    """log(softmax + 1e-10), row by row: finite however sure the policy is."""
    n_rows, n_actions = logits.shape
    out = np.empty((n_rows, n_actions))
    for r in range(n_rows):
        top = logits[r, 0]
        for a in range(1, n_actions):
            top = max(top, logits[r, a])
        total = 0.0
        for a in range(n_actions):
            out[r, a] = math.exp(logits[r, a] - top)
            total += out[r, a]
        for a in range(n_actions):
            out[r, a] = math.log(out[r, a] / total + 1e-10)
    return out


def _through(layers: Sequence[Layer], rows: Floats, code: int, last: int) -> Floats:
    """Send ``rows`` through layers with activation ``code``, and ``last`` behind the last one."""
    for k, layer in enumerate(layers, start=1):
        rows = dense(rows, *layer, last if k == len(layers) else code)
    return rows


def _layers(layers: Iterable[tuple[ArrayLike, ArrayLike]], stream: str) -> tuple[Layer, ...]:
    return tuple(
        Layer(_floats(kernel, f"kernel {k} of {stream}", 2), _floats(bias, f"bias {k} of {stream}", 1))
        for k, (kernel, bias) in enumerate(layers, start=1)
    )


def _floats(values: ArrayLike, name: str, ndim: int) -> Floats:
    try:
        array = frozen_floats(values, name, ndim)
    except ModelError as error:
        raise TeacherError(str(error)) from None
    if array.size == 0 or not np.all(np.isfinite(array)):
        raise TeacherError(f"{name} must hold finite numbers, at least one")
    return array


def _check(network: Network) -> None:
    if not network.head:
        raise TeacherError("a network needs at least one layer that leads to its outputs")
    for stream in filter(None, (network.hidden + network.head, network.hidden + network.value)):
        for k, layer in enumerate(stream, start=1):
            if layer.kernel.shape[1] != len(layer.bias):
                raise TeacherError(f"layer {k} has a kernel of shape {layer.kernel.shape} and {len(layer.bias)} biases")
        for k, (one, next_one) in enumerate(pairwise(stream), start=1):
            if len(one.bias) != len(next_one.kernel):
                raise TeacherError(
                    f"layer {k} gives {len(one.bias)} numbers, layer {k + 1} takes {len(next_one.kernel)}"
                )
    if network.value and len(network.value[-1].bias) != 1:
        raise TeacherError(f"the value of a dueling network is one number, got {len(network.value[-1].bias)}")
    if network.value and len(network.value[0].kernel) != len(network.head[0].kernel):
        raise TeacherError("both streams of a dueling network must take the same numbers")
    for name in ("offset", "scale"):
        array = getattr(network, name)
        if array is not None and len(array) != network.n_inputs:
            raise TeacherError(f"{name} has {len(array)} numbers, the network {network.n_inputs} inputs")
    if network.scale is not None and np.any(network.scale == 0):
        raise TeacherError("scale must not be zero")
    if network.clip is not None and not network.clip > 0:
        raise TeacherError(f"clip must be positive, got {network.clip}")
    for name, known in (
        ("activation", get_args(Activation)),
        ("meaning", get_args(Meaning)),
        ("features", (None, *FEATURE_MAPS)),
    ):
        if getattr(network, name) not in known:
            raise TeacherError(f"{name} must be one of {', '.join(map(str, known))}, got {getattr(network, name)!r}")
