"""What stands between the layers of a network: names, PyTorch's classes, and what is computed."""

from __future__ import annotations

import math
from typing import Any, Literal

from numba import njit

from moet.jit import OPTIONS

Activation = Literal["relu", "elu", "tanh", "leaky_relu", "sigmoid", "silu", "gelu", "softplus", "mish", "selu"]

LINEAR, RELU, ELU, TANH, LEAKY_RELU, SIGMOID, SILU, GELU, SOFTPLUS, MISH, SELU = range(11)
CODES: dict[str, int] = {
    "relu": RELU,
    "elu": ELU,
    "tanh": TANH,
    "leaky_relu": LEAKY_RELU,
    "sigmoid": SIGMOID,
    "silu": SILU,
    "gelu": GELU,
    "softplus": SOFTPLUS,
    "mish": MISH,
    "selu": SELU,
}

TORCH: dict[str, Activation] = {
    "ReLU": "relu",
    "ELU": "elu",
    "CELU": "elu",  # the same, as long as alpha is 1
    "Tanh": "tanh",
    "LeakyReLU": "leaky_relu",
    "Sigmoid": "sigmoid",
    "SiLU": "silu",
    "GELU": "gelu",
    "Softplus": "softplus",
    "Mish": "mish",
    "SELU": "selu",
}
"""By the names of PyTorch's classes."""

_SLOPE = 0.01  # of LeakyReLU below 0
DEFAULTS = {"alpha": 1.0, "negative_slope": _SLOPE, "approximate": "none", "beta": 1, "threshold": 20}
"""What PyTorch's classes are made with unless told otherwise; other settings are not known here."""

_ALPHA, _SCALE = 1.6732632423543772, 1.0507009873554805  # of SELU, to the last digit of float64


@njit(**OPTIONS)
def curved(x: float, code: int) -> Any:
    """The smoother or rarer activations of one number; NaN stays NaN."""
    if code == LEAKY_RELU:
        return _SLOPE * x if x < 0.0 else x
    if code == SIGMOID:
        return _sigmoid(x)
    if code == SILU:
        return x * _sigmoid(x)
    if code == GELU:
        return 0.5 * x * (1.0 + math.erf(x / math.sqrt(2.0)))
    if code == SOFTPLUS:
        return _softplus(x)
    if code == MISH:
        return x * math.tanh(_softplus(x))
    return _SCALE * (_ALPHA * math.expm1(x) if x < 0.0 else x)


@njit(**OPTIONS)
def _sigmoid(x: float) -> Any:
    if x < 0.0:  # so that exp never overflows
        small = math.exp(x)
        return small / (1.0 + small)
    return 1.0 / (1.0 + math.exp(-x))


@njit(**OPTIONS)
def _softplus(x: float) -> Any:
    return (x if x > 0.0 else 0.0) + math.log1p(math.exp(-abs(x)))
