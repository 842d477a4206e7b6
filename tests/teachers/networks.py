"""Networks for tests, and what they compute in plain NumPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import erf, expit

from moet.teachers.network import Layer, Network

ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0.0),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0.0))),
    "tanh": np.tanh,
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "sigmoid": expit,
    "silu": lambda x: x * expit(x),
    "gelu": lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2))),
    "softplus": lambda x: np.logaddexp(0, x),
    "mish": lambda x: x * np.tanh(np.logaddexp(0, x)),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0.0))),
}


def random_layers(rng: np.random.Generator, *widths: int) -> list[Layer]:
    """Layers from widths[0] numbers to widths[-1]."""
    return [
        Layer((rng.normal(size=(a, b)) / np.sqrt(a)).astype(np.float32), rng.normal(size=b).astype(np.float32))
        for a, b in pairwise(widths)
    ]


def a_network(seed: int = 0, *, dueling: bool = False, **options: object) -> Network:
    """A network with 3 inputs, 4 outputs and two hidden layers."""
    rng = np.random.default_rng(seed)
    streams = {
        "hidden": random_layers(rng, 3, 5, 6),
        "head": random_layers(rng, 6, 5, 4) if dueling else random_layers(rng, 6, 4),
        "value": random_layers(rng, 6, 7, 1) if dueling else [],
    }
    return Network(**({"activation": "elu", "meaning": "q_values"} | streams | options))


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Networks of all kinds, up to three hidden layers of up to nine units."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_inputs, n_outputs = draw(st.integers(1, 9)), draw(st.integers(1, 5))
    widths = [n_inputs, *draw(st.lists(st.integers(1, 9), max_size=3))]
    value = random_layers(rng, widths[-1], 3, 1) if draw(st.booleans()) else []
    normalized = draw(st.booleans())
    return Network(
        hidden=random_layers(rng, *widths),
        head=random_layers(rng, widths[-1], 2, n_outputs) if value else random_layers(rng, widths[-1], n_outputs),
        value=value,
        activation=draw(st.sampled_from(list(ACTIVATIONS))),
        meaning=draw(st.sampled_from(["q_values", "logits"])),
        offset=rng.normal(size=n_inputs) if normalized else None,
        scale=rng.uniform(0.1, 3, size=n_inputs) if normalized else None,
        clip=draw(st.none() | st.floats(0.1, 10)),
    )


def reference_outputs(network: Network, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """What ``network.outputs`` should give, by matrix products."""
    squash = ACTIVATIONS[network.activation]
    x = inputs.copy()
    if network.offset is not None:
        x = x - network.offset
    if network.scale is not None:
        x = x / network.scale
    if network.clip is not None:
        x = x.clip(-network.clip, network.clip)
    for kernel, bias in network.hidden:
        x = squash(x @ kernel + bias)

    def stream(layers: tuple[Layer, ...]) -> NDArray[np.float64]:
        y = x
        for kernel, bias in layers[:-1]:
            y = squash(y @ kernel + bias)
        return y @ layers[-1].kernel + layers[-1].bias

    out = stream(network.head)
    return stream(network.value) + out - out.mean(axis=1, keepdims=True) if network.value else out
