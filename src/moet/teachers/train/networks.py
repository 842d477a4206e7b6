"""The networks that are trained, and how they become the arrays of a weight file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from moet.teachers.network import Activation, Layer, Network

ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "elu": nn.functional.elu,
    "tanh": torch.tanh,
}


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
    rng : numpy.random.Generator
        Draws the first weights.

    Attributes
    ----------
    parameters : list of Tensor
        Kernel (inputs × units) and bias of each layer in turn. Of a dueling network, the first output is the value.
    """

    def __init__(
        self,
        scale: Sequence[float],
        hidden: Sequence[int],
        n_actions: int,
        *,
        activation: Activation,
        dueling: bool,
        rng: np.random.Generator,
    ) -> None:
        self.activation = activation
        self.dueling = dueling
        self.scale = torch.tensor(scale, dtype=torch.float32)
        self.parameters: list[Tensor] = []
        variances = [2.0] * len(hidden) + [0.1]
        for variance, (n_in, n_out) in zip(
            variances, pairwise([len(scale), *hidden, n_actions + dueling]), strict=True
        ):
            kernel = as_tensor(rng.normal(0.0, np.sqrt(variance / n_in), (n_in, n_out)))
            self.parameters += [kernel.requires_grad_(), torch.zeros(n_out, requires_grad=True)]

    def __call__(self, observations: Tensor) -> Tensor:
        """Score of each action, one row per observation."""
        squash = ACTIVATIONS[self.activation]
        *hidden, output = self._layers()
        x = observations / self.scale
        for kernel, bias in hidden:
            x = squash(torch.addmm(bias, x, kernel))
        kernel, bias = output
        x = torch.addmm(bias, x, kernel)
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
        *hidden, (kernel, bias) = (Layer(_array(kernel), _array(bias)) for kernel, bias in self._layers())
        first = int(self.dueling)
        return Network(
            hidden=hidden,
            head=[Layer(kernel[:, first:], bias[first:])],
            value=[Layer(kernel[:, :first], bias[:first])] if self.dueling else [],
            activation=self.activation,
            meaning="q_values" if self.dueling else "logits",
            scale=_array(self.scale),
            features=features,
        )

    def _layers(self) -> list[tuple[Tensor, Tensor]]:
        return list(zip(self.parameters[::2], self.parameters[1::2], strict=True))


def as_tensor(values: NDArray[np.floating]) -> Tensor:
    """Numbers as the networks take them."""
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))


def _array(tensor: Tensor) -> NDArray[np.float64]:
    return tensor.detach().numpy().astype(np.float64)
