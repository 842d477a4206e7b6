"""The networks that are trained, and how they become the arrays of a weight file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from moet.teachers.activations import Activation
from moet.teachers.network import Layer, Network

ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "elu": nn.functional.elu,
    "tanh": torch.tanh,
}

_Layer = tuple[Tensor, Tensor]
"""Kernel (inputs × units) and bias."""


class ScoreNetwork:
    """A small fully connected network from observations to one score per action.

    It is no ``torch.nn.Module``: at this size, the bookkeeping of modules costs more than the arithmetic.

    Parameters
    ----------
    scale : sequence of float
        What observations are divided by, so that the network sees numbers around one.
    hidden : sequence of int
        Widths of the hidden layers.
    n_actions : int
        How many scores it gives.
    activation : {"relu", "elu", "tanh"}
        What follows each hidden layer.
    dueling : bool
        Give Q values, as a value of the state plus an advantage of each action whose mean is zero; else logits.
    streams : sequence of int
        Widths of hidden layers that value and advantages of a dueling network have for themselves.
    rng : numpy.random.Generator
        Draws the first weights.

    Attributes
    ----------
    parameters : list of Tensor
        Kernel (inputs × units) and bias of each layer in turn, value before advantages.
    """

    def __init__(
        self,
        scale: Sequence[float],
        hidden: Sequence[int],
        n_actions: int,
        *,
        activation: Activation,
        dueling: bool,
        streams: Sequence[int] = (),
        rng: np.random.Generator,
    ) -> None:
        self.activation = activation
        self.dueling = dueling
        self.scale = torch.tensor(scale, dtype=torch.float32)
        outputs = [1, n_actions] if streams else [n_actions + dueling]
        self._hidden = _layers([len(scale), *hidden], [2.0] * len(hidden), rng)
        self._heads = [_layers([hidden[-1], *streams, n], [2.0] * len(streams) + [0.1], rng) for n in outputs]
        self.parameters = [tensor for part in (self._hidden, *self._heads) for layer in part for tensor in layer]

    def __call__(self, observations: Tensor) -> Tensor:
        """Score of each action, one row per observation."""
        squash = ACTIVATIONS[self.activation]
        x = observations / self.scale
        for kernel, bias in self._hidden:
            x = squash(torch.addmm(bias, x, kernel))
        outputs = [_through(head, x, squash) for head in self._heads]
        x = outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=1)
        if self.dueling:
            value, advantages = x[:, :1], x[:, 1:]
            x = advantages + (value - advantages.mean(dim=1, keepdim=True))
        return x

    def move_towards(self, parameters: Sequence[Tensor], share: float) -> None:
        """Go a share of the way to other parameters; with 1, take them over."""
        with torch.no_grad():
            for mine, theirs in zip(self.parameters, parameters, strict=True):
                mine.lerp_(theirs, share)

    def export(self, features: str | None = None) -> Network:
        """The same network for NumPy; ``features`` names what its inputs are computed with."""
        hidden, *heads = (
            [Layer(_array(kernel), _array(bias)) for kernel, bias in part] for part in (self._hidden, *self._heads)
        )
        if self.dueling and len(heads) == 1:
            ((kernel, bias),) = heads[0]
            heads = [[Layer(kernel[:, :1], bias[:1])], [Layer(kernel[:, 1:], bias[1:])]]
        return Network(
            hidden=hidden,
            head=heads[-1],
            value=heads[0] if self.dueling else [],
            activation=self.activation,
            meaning="q_values" if self.dueling else "logits",
            scale=_array(self.scale),
            features=features,
        )


def as_tensor(values: NDArray[np.floating]) -> Tensor:
    """Numbers as the networks take them."""
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))


def _layers(widths: Sequence[int], variances: Sequence[float], rng: np.random.Generator) -> list[_Layer]:
    """Layers between these widths, with normal kernels of variance ``variances`` / inputs and no bias."""
    layers = []
    for variance, (n_in, n_out) in zip(variances, pairwise(widths), strict=True):
        kernel = as_tensor(rng.normal(0.0, np.sqrt(variance / n_in), (n_in, n_out)))
        layers.append((kernel.requires_grad_(), torch.zeros(n_out, requires_grad=True)))
    return layers


def _through(layers: Sequence[_Layer], x: Tensor, squash: Callable[[Tensor], Tensor]) -> Tensor:
    """Outputs of layers of which the last one is linear."""
    *hidden, (last_kernel, last_bias) = layers
    for kernel, bias in hidden:
        x = squash(torch.addmm(bias, x, kernel))
    return torch.addmm(last_bias, x, last_kernel)


def _array(tensor: Tensor) -> NDArray[np.float64]:
    return tensor.detach().numpy().astype(np.float64)
