"""Batch renormalisation of CrossQ, as part of the layers behind it: what it does in play is affine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.errors import TeacherError

Arrays = dict[str, NDArray[Any]]

_PART = re.compile(r"(?P<net>.+)\.(?P<place>\d+)\.(?P<what>scale|bias|weight|ra_mean|ra_var|steps)")
_NORM = {"scale", "bias", "ra_mean", "ra_var", "steps"}


class _Affine(NamedTuple):
    """x becomes factor · x + shift."""

    factor: NDArray[Any]
    shift: NDArray[Any]

    def into(self, weight: NDArray[Any], bias: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Weight and bias of a linear layer that is given x instead."""
        if weight.ndim != 2 or weight.shape[1:] != self.factor.shape:
            raise TeacherError(f"a normalisation of {self.factor.size} numbers stands before a layer of {weight.shape}")
        return weight * self.factor, bias + weight @ self.shift


def without_norms(state: Mapping[str, NDArray[Any]], eps: float) -> Arrays:
    """The parameters of the same networks without normalisations, each folded into the linear layer behind it.

    Parameters
    ----------
    state : mapping
        Parameters by name.
    eps : float
        What is added to a variance before its root is taken.

    References
    ----------
    - Bhatt, A., et al. *CrossQ: Batch Normalization in Deep Reinforcement Learning for Greater Sample Efficiency and
      Simplicity.* ICLR 2024.
    """
    nets: dict[str, dict[int, Arrays]] = {}
    plain: Arrays = {}
    for name, array in state.items():
        part = _PART.fullmatch(name)
        if part is None:
            plain[name] = array
        else:
            nets.setdefault(part["net"], {}).setdefault(int(part["place"]), {})[part["what"]] = array
    left = {net: _put_layers(plain, net, modules, eps) for net, modules in nets.items()}
    for net, norm in left.items():
        if norm is not None:
            _fold_into_head(plain, net, norm)
    return plain


def _put_layers(plain: Arrays, net: str, modules: Mapping[int, Arrays], eps: float) -> _Affine | None:
    """Write the linear layers of a network as 0, 2, 4, ...; a normalisation behind the last of them comes back."""
    waiting: _Affine | None = None
    count = 0
    for place in sorted(modules):
        module = modules[place]
        if "ra_mean" in module:
            waiting = _affine(module, f"{net}.{place}", eps)
            continue
        if "weight" not in module:
            raise TeacherError(f"{net}.{place} is no fully connected layer: it has {', '.join(sorted(module))}")
        weight, bias = module["weight"], module.get("bias", np.zeros(len(module["weight"])))
        if waiting is not None:
            weight, bias = waiting.into(weight, bias)
            waiting = None
        plain[f"{net}.{2 * count}.weight"], plain[f"{net}.{2 * count}.bias"] = weight, bias
        count += 1
    return waiting


def _affine(module: Arrays, name: str, eps: float) -> _Affine:
    if module.keys() != _NORM or len({module[part].shape for part in _NORM - {"steps"}}) != 1:
        raise TeacherError(f"{name} is no batch renormalisation: it has {', '.join(sorted(module))}")
    factor = module["scale"] / np.sqrt(module["ra_var"] + eps)
    return _Affine(factor, module["bias"] - factor * module["ra_mean"])


def _fold_into_head(plain: Arrays, net: str, left: _Affine) -> None:
    """What ends the actor's network stands before its mean; before anything else it is not known here."""
    head = "actor.mu.0" if "actor.mu.0.weight" in plain else "actor.mu"
    if net != "actor.latent_pi" or f"{head}.weight" not in plain or f"{head}.bias" not in plain:
        raise TeacherError(f"{net} ends with a normalisation, and it is not known what stands behind it")
    plain[f"{head}.weight"], plain[f"{head}.bias"] = left.into(plain[f"{head}.weight"], plain[f"{head}.bias"])
