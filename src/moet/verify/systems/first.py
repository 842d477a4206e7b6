"""First states: a box, a union of boxes, or the part of them where linear conditions hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.verify.systems.conditions import HalfSpace, half_spaces
from moet.verify.systems.description import Side, by_state, point_or_interval, texts

Floats = NDArray[np.float64]

_TRIES = 1000
"""Points of a box that are tried for each that is wanted, where conditions leave only a part of it."""


class FirstStates:
    """Boxes of states, and conditions that those of them fulfil that are first states.

    Parameters
    ----------
    initial : mapping from state to (low, high) or a number, or a sequence of such mappings
        A box, or several of which a run may begin in any.
    where : sequence of str or HalfSpace
        Linear conditions that all hold of first states: a box and conditions are a polytope.
    states : sequence of str
    """

    def __init__(self, initial: Any, where: Sequence[str | HalfSpace], states: Sequence[str]) -> None:
        given = [initial] if isinstance(initial, Mapping) else initial
        if not isinstance(given, Sequence) or not given or not all(isinstance(box, Mapping) for box in given):
            raise InputError(
                "initial maps every state to (low, high) or to a number, as in initial={'x': (0, 1)}, or is a list of "
                f"such boxes, got {initial!r:.100}"
            )
        self.boxes: tuple[tuple[Side, ...], ...] = tuple(
            tuple(by_state(box, states, "initial", point_or_interval, None)) for box in given
        )
        self.where = half_spaces(where, states)
        for box in self.boxes:
            for half in self.where:
                if -_most(box, [-a for a in half.coefficients]) > half.bound:
                    raise InputError(
                        f"no state of {texts(box)} is a first state: a condition of initial_where holds nowhere in it"
                    )

    @property
    def hull(self) -> tuple[Side, ...]:
        """The least box that has all first states of the boxes."""
        per_state = zip(*self.boxes, strict=True)
        return tuple((min(low for low, _ in sides), max(high for _, high in sides)) for sides in per_state)

    @property
    def is_box(self) -> bool:
        """Whether first states are all of one box."""
        return len(self.boxes) == 1 and not self.where

    def has(self, state: Sequence[Fraction]) -> bool:
        """Whether a state is a first state, in exact numbers."""
        return self._meets_conditions(state) and any(_is_in(box, state) for box in self.boxes)

    def nearest(self, state: Sequence[float]) -> tuple[Fraction, ...] | None:
        """A first state next to a point whose numbers were rounded; None if it is not clear which."""
        for box in self.boxes:
            moved = tuple(min(max(Fraction(x), low), high) for x, (low, high) in zip(state, box, strict=True))
            near = all(abs(float(a) - b) <= 1e-12 * (1 + abs(b)) for a, b in zip(moved, state, strict=True))
            if near and self._meets_conditions(moved):
                return moved
        return None

    def most(self, row: Sequence[Fraction]) -> Fraction:
        """A bound of row·x, exact for boxes; of the conditions, one at a time helps."""
        return max(self._most_in(box, row) for box in self.boxes)

    def corners(self, row: Sequence[Fraction]) -> list[tuple[Fraction, ...]]:
        """In every box, the corner at which row·x is largest, if it is a first state."""
        found = [tuple(high if a > 0 else low for a, (low, high) in zip(row, box, strict=True)) for box in self.boxes]
        return [corner for corner in found if self._meets_conditions(corner)]

    def sample(self, random: np.random.Generator, n: int) -> Floats:
        """Random first states, one per row; fewer or none where conditions leave little of the boxes."""
        sides = np.array(self.boxes, np.float64)
        if self.is_box:
            return random.uniform(sides[0, :, 0], sides[0, :, 1], (n, sides.shape[1]))
        rows = np.array([[*map(float, half.coefficients)] for half in self.where]).reshape(-1, sides.shape[1])
        bounds = np.array([float(half.bound) for half in self.where])
        found: list[Floats] = []
        for _ in range(_TRIES):
            box = sides[random.integers(len(sides), size=n)]
            points = random.uniform(box[..., 0], box[..., 1])
            found.append(points[np.all(points @ rows.T <= bounds, axis=1)])
            if sum(map(len, found)) >= n:
                break
        return np.concatenate(found)[:n]

    def document(self) -> dict[str, Any]:
        """What a document says of first states besides the box around them; nothing if they are all of it."""
        if self.is_box:
            return {}
        where = [half.document() for half in self.where]
        return {"first": {"boxes": [texts(box) for box in self.boxes], "where": where}}

    def _meets_conditions(self, state: Sequence[Fraction]) -> bool:
        return all(half.value(state) <= half.bound for half in self.where)

    def _most_in(self, box: tuple[Side, ...], row: Sequence[Fraction]) -> Fraction:
        """With a multiple of a condition taken away, row·x is largest in a corner; the best multiple makes a 0."""
        found = [_most(box, row)]
        for half in self.where:
            factors = {a / c for a, c in zip(row, half.coefficients, strict=True) if c and a / c > 0}
            for factor in factors:
                rest = [a - factor * c for a, c in zip(row, half.coefficients, strict=True)]
                found.append(_most(box, rest) + factor * half.bound)
        return min(found)


def _most(box: Sequence[Side], row: Sequence[Fraction]) -> Fraction:
    return sum((max(a * low, a * high) for a, (low, high) in zip(row, box, strict=True)), Fraction(0))


def _is_in(box: Sequence[Side], state: Sequence[Fraction]) -> bool:
    return all(low <= x <= high for x, (low, high) in zip(state, box, strict=True))
