"""The template of the sets that a proof over many steps works with: where to cut them, and which sides they have.

A set is a family of polytopes, one per interval of a linear function, the *slice*: best the function at whose zero the
policy changes its mind, for states on either side of that behave differently. The polytopes have fixed directions, the
*template*: the axes, the slice, and directions in which the loop contracts. With x' = Mx + Bu and u chosen by the sign
of the slice s, the part z = Cx with CB = 0 obeys z' = Fz + gs, whatever u does; eigenvectors of Fᵀ are directions in
which that contracts, for complex ones a fan of angles. A loop that settles whatever the policy does has directions of
its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FAN = 16
"""Angles of the directions for a complex pair of eigenvalues."""

_SETTLED = 0.1
"""Share of its size to which a box shrinks while a loop settles."""


class Band(NamedTuple):
    """Where a policy may do anything: beyond its ends along a direction, what it does is the sign of that."""

    direction: Floats
    low: float
    high: float

    @property
    def edges(self) -> Floats:
        """Where to cut sets so that in the outer ones it is known what the policy does."""
        return np.array([self.low, self.low / 2 + self.high / 2, self.high])


@dataclass(frozen=True)
class Template:
    """Slice, its inner edges, and the other directions (axes and slice excluded)."""

    slice: Floats
    edges: Floats
    directions: Floats

    @property
    def n_cells(self) -> int:
        """Number of polytopes of a family."""
        return len(self.edges) + 1

    @cached_property
    def sides(self) -> tuple[Floats, Floats]:
        """Where the slice begins and ends in every cell; the outer ones are unbounded."""
        return np.r_[-np.inf, self.edges], np.r_[self.edges, np.inf]

    @cached_property
    def rows(self) -> Floats:
        """All directions: the axes (each up, then down), the slice (up, then down), the others."""
        unit = np.eye(len(self.slice))
        axes = np.stack([unit, -unit], axis=1).reshape(-1, len(unit))
        return np.concatenate([axes, [self.slice, -self.slice], self.directions])

    @property
    def slice_sides(self) -> Ints:
        """Indices of the slice and its negative among ``rows``."""
        return 2 * len(self.slice) + np.arange(2)


def looking_ahead(matrix: Floats, n_powers: int) -> Floats:
    """Directions for a loop that settles by itself: where steps will take the axes, and their negatives.

    Whatever is added in each step, the bounds of e·Mʲx for all axes e and j = 1, 2, ... say where x will be after j
    more steps as exactly as they say it of x, so sets with these sides hardly grow by being wrapped.
    """
    rows = np.array([np.linalg.matrix_power(matrix, j) for j in range(1, n_powers + 1)]).reshape(-1, len(matrix))
    return np.concatenate([rows, -rows])


def settling_time(matrix: Floats, spread: Floats, most: int) -> int | None:
    """Steps after which a box with sides like ``spread`` has shrunk to a tenth; None if ``most`` do not do that."""
    power = np.eye(len(matrix))
    for n_steps in range(1, most + 1):
        power = matrix @ power
        if np.all(np.abs(power) @ spread <= _SETTLED * spread):
            return n_steps
    return None


def slices(mixture: Mixture, states: Floats, actions: Ints, n_cells: int) -> tuple[Floats, Floats]:
    """Direction of the slice and its edges, from states of simulated runs and the actions taken there."""
    direction, threshold = switching_direction(mixture, states, actions)
    values = states @ direction
    lower = np.linspace(values.min(), threshold, n_cells // 2 + 1)[1:]
    upper = np.linspace(threshold, values.max(), n_cells - n_cells // 2 + 1)[1:-1]
    return direction, np.unique(np.concatenate([lower, upper]))


def switching_direction(mixture: Mixture, states: Floats, actions: Ints) -> tuple[Floats, float]:
    """Direction and value that best tell the actions apart."""
    n_states = states.shape[1]
    spread = states.std(axis=0)
    spread[spread == 0] = 1.0
    later = actions > np.median(actions) if np.median(actions) < actions.max() else actions >= actions.max()
    fit = np.linalg.lstsq(states / spread, later - later.mean(), rcond=None)[0] / spread
    weights = mixture.gate_weights
    gates = [weights[j] - weights[i] for i in range(len(weights)) for j in range(i)]
    best = (-1.0, np.eye(n_states)[0], 0.0)
    for candidate in (*gates, fit, *np.eye(n_states)):
        length = np.linalg.norm(candidate)
        if length > 0:
            accuracy, threshold = _separation(states @ (candidate / length), later)
            if accuracy > best[0]:
                best = accuracy, candidate / length, threshold
    return best[1], best[2]


def _separation(values: Floats, later: NDArray[np.bool_]) -> tuple[float, float]:
    """Share of the states that the best threshold puts on the right side, and that threshold."""
    order = np.argsort(values, kind="stable")
    right_if_cut_after = np.cumsum(np.where(later[order], -1, 1))
    score = np.maximum(right_if_cut_after + later.sum(), len(later) - later.sum() - right_if_cut_after)
    best = int(score.argmax())
    following = min(best + 1, len(values) - 1)
    return score[best] / len(values), float(values[order[best]] + values[order[following]]) / 2


class Hidden(NamedTuple):
    """A loop of one input in the coordinates z = Cx, CB = 0, and s, the slice: z' = Fz + gs, and x of (z, s)."""

    coordinates: Floats
    matrix: Floats
    effect: Floats
    back: Floats

    def row(self, c: Floats, direction: Floats) -> Floats:
        """Row of states that is c·z halfway through a step."""
        return c @ self.coordinates + 0.5 * (c @ self.effect) * direction


def hidden_part(matrix: Floats, offsets: Floats, direction: Floats) -> Hidden | None:
    """What a loop does whatever its input does; None if it has several inputs, or none that the slice sees."""
    effects, strengths = np.linalg.svd(offsets - offsets.mean(axis=0))[1:][::-1]
    one_input = strengths[0] > 0 and (strengths[1:] < 1e-6 * strengths[0]).all() and abs(direction @ effects[0]) > 0
    if not one_input:
        return None
    back = np.linalg.inv(np.vstack([effects[1:], direction]))
    seen = effects[1:] @ matrix @ back
    return Hidden(effects[1:], seen[:, :-1], seen[:, -1], back)


def contracting(matrix: Floats, offsets: Floats, direction: Floats) -> Floats:
    """Directions in which a loop contracts whose policy is the sign of a direction, and their negatives."""
    rows = [direction - direction @ (matrix - np.eye(len(matrix)))]
    hidden = hidden_part(matrix, offsets, direction)
    if hidden is not None:
        rows += [hidden.row(c, direction) for c in _real_directions(*np.linalg.eig(hidden.matrix.T))]
    else:
        rows += _real_directions(*np.linalg.eig(matrix.T))
    return _both_ways(rows, len(matrix))


def pulled_back(matrix: Floats, offsets: Floats, direction: Floats, limited: Floats, every: int, count: int) -> Floats:
    """Directions that tell, some steps ahead, what will be limited, and their negatives; none for several inputs.

    A relay that switches at s = 0 brings s' = s + v, where v is what a step adds to it by itself, to v on average. So
    limits a·x of the safe set are followed back through z' = Fz + gv, every so many steps and so many times: a bound of
    one row is one of the row before it, that many steps later, but for what the switching adds. Bounds of modes one by
    one, as :func:`contracting` has them, add up instead.
    """
    hidden = hidden_part(matrix, offsets, direction)
    if hidden is None:
        return np.empty((0, len(matrix)))
    drift = 0.5 * direction @ (matrix - np.eye(len(matrix))) @ hidden.back
    loop = hidden.matrix + np.outer(hidden.effect, drift[:-1]) / (1 - drift[-1])
    powers = [np.linalg.matrix_power(loop, every * j) for j in range(count)]
    rows = [hidden.row(a @ hidden.back[:, :-1] @ power, direction) for a in limited for power in powers]
    return _both_ways(rows, len(matrix))


def _both_ways(rows: list[Floats], d: int) -> Floats:
    """Rows of length one, then their negatives."""
    lengths = [np.linalg.norm(row) for row in rows]
    kept = [row / length for row, length in zip(rows, lengths, strict=True) if 1e-9 < length < np.inf]
    return np.array([*kept, *(-row for row in kept)]).reshape(-1, d)


def _real_directions(values: NDArray[np.complex128], vectors: NDArray[np.complex128]) -> list[Floats]:
    """Real eigenvectors, and for each complex pair a fan of real combinations."""
    rows = []
    for value, vector in zip(values, vectors.T, strict=True):
        if abs(value.imag) < 1e-12:
            rows.append(vector.real)
        elif value.imag > 0:
            rows += [(vector * np.exp(1j * np.pi * k / _FAN)).real for k in range(_FAN)]
    return rows
