"""A hard gate with few digits.

A hard gate is free of scale and of shift: all logits may be multiplied by one positive number, and any one vector may
be added to all of them. That freedom is used to make small whole numbers of it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture

Floats = NDArray[np.float64]

_SCREENED_ROWS = 4_000
_SHARES = np.geomspace(0.5, 1e-7, 36)
"""Errors of one product of the gate, as shares of the largest product, from coarse to fine."""
_SCALES = np.concatenate([np.arange(1.0, 100.0), np.geomspace(100.0, 1e5, 54)])
"""What the gate's largest number may become."""
_EXTREME = 1e100
"""Gates with larger numbers, or as small ones, stay as they are."""


def shortest_gate(mixture: Mixture, X: Floats, tolerance: float) -> tuple[Floats, Floats] | None:
    """Weights and bias of the gate of fewest characters that changes few answers.

    Parameters
    ----------
    mixture : Mixture
        A hard one, of two experts at least.
    X : array, shape (n_rows, n_features)
        Rows to keep the answers on.
    tolerance : float
        Share of the rows whose answer may change.

    Returns
    -------
    pair of arrays, or None
        None if no gate of fewer digits is within the tolerance.
    """
    with np.errstate(all="ignore"):
        numbers = unshifted(np.column_stack([mixture.gate_bias, mixture.gate_weights]))
        reach = np.append(1.0, reach_of(X))
        products = np.abs(numbers) * reach
    if not (np.all(np.isfinite(products)) and 1 / _EXTREME < products.max() < _EXTREME):
        return None
    screen = _Screen(mixture, X[evenly(len(X), _SCREENED_ROWS)])
    everything = screen if len(X) <= _SCREENED_ROWS else _Screen(mixture, X)
    for candidate in _by_length(numbers, reach):
        if screen.changed(candidate) <= tolerance and everything.changed(candidate) <= tolerance:
            return candidate[:, 1:], candidate[:, 0]
    return None


def unshifted(numbers: Floats) -> Floats:
    """The same choices from logits (bias first, one row per expert) of which one is zero, or a number alone.

    Of two experts one gets a sum and the other a number: that is the rule as it is read, and as it is computed.
    """
    if len(numbers) == 2:
        return _two_sided(numbers[1] - numbers[0])
    distance = np.abs(numbers[:, None] - numbers[None]).sum(axis=(1, 2))
    return numbers - numbers[distance.argmin()]


def _two_sided(gap: Floats) -> Floats:
    signs = np.sign(gap[1:][gap[1:] != 0])
    turned = len(signs) > 0 and (signs.sum() < 0 or (signs.sum() == 0 and signs[0] < 0))
    sides = np.zeros((2, len(gap)))
    summed, alone = (0, 1) if turned else (1, 0)
    sides[summed, 1:] = -gap[1:] if turned else gap[1:]
    sides[alone, 0] = gap[0] if turned else -gap[0]
    return sides + 0.0  # no -0.0


def reach_of(X: Floats) -> Floats:
    """How large each feature typically is: the root of its mean square, 1 for one that is always 0."""
    largest = np.abs(X).max(axis=0)
    scale = np.where(largest > 0, largest, 1.0)
    size: Floats = scale * np.sqrt(np.mean((X / scale) ** 2, axis=0))
    return np.where(size > 0, size, 1.0)


def evenly(n_rows: int, most: int) -> NDArray[np.int64]:
    """Indices of at most ``most`` rows, evenly spaced."""
    return np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.int64)


def _by_length(numbers: Floats, reach: Floats) -> Iterator[Floats]:
    """Roundings of a gate, those that take the fewest characters first."""
    unit = np.abs(numbers).max()
    largest = (np.abs(numbers) * reach).max()
    plans: list[tuple[int, int, float, Floats]] = []
    for share in _SHARES:
        exponent = np.log10(2 * share * largest / unit / reach)
        for scale in _SCALES:
            power = np.clip(np.floor(exponent + np.log10(scale)), -300, 300)
            plans.append((_characters(numbers / unit * scale, power), len(plans), scale / unit, power))
    for _, _, scale, power in sorted(plans, key=lambda plan: plan[:2]):
        yield on_grid(numbers * scale, power)


def on_grid(values: Floats, power: Floats) -> Floats:
    """Every column rounded to multiples of its power of ten; each number is the float that its decimal text means."""
    columns = [
        [round(value, -int(exponent)) for value in column]
        for column, exponent in zip(values.T.tolist(), power, strict=True)
    ]
    return np.array(columns, dtype=np.float64).T + 0.0


def _characters(values: Floats, power: Floats) -> int:
    """About how many characters the rounded numbers take."""
    whole = np.abs(np.rint(values / 10.0**power))
    shown = whole > 0
    figures = np.floor(np.log10(np.where(shown, whole, 1.0))) + 1 + np.maximum(power, 0)
    point = np.where(power < 0, np.maximum(1.0, 2 - power - figures), 0.0)
    return int((shown * (figures + point)).sum())


class _Screen:
    """Answers under other gates: what every expert answers is known, only the choice among them is open."""

    def __init__(self, mixture: Mixture, X: Floats) -> None:
        self._inputs = np.column_stack([np.ones(len(X)), X])
        nothing = np.zeros((1, mixture.n_features)), np.zeros(1)
        from moet.model.flat import FlatMixture

        alone = [FlatMixture.of(*nothing, [tree]) for tree in mixture.trees]
        self._by_expert = np.stack([flat.leaf_class[flat.leaves(X)[1]] for flat in alone], axis=1)
        self._every = np.arange(len(X))
        self._answers = self._chosen(mixture.expert(X))

    def changed(self, numbers: Floats) -> float:
        """Share of the rows with another answer."""
        return float(np.mean(self._chosen((self._inputs @ numbers.T).argmax(axis=1)) != self._answers))

    def _chosen(self, owner: NDArray[np.integer]) -> NDArray[np.int64]:
        return self._by_expert[self._every, owner]
