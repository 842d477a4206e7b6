"""The possible rows that a question is about: a product of columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.base import BaseMixture
from moet.model.mixture import Mixture
from moet.model.schema import Column, Place, Schema
from moet.model.text import how_to_harden
from moet.verify.box import Box
from moet.verify.result import Unknown, Verdict
from moet.verify.rounding import FURTHEST

Floats = NDArray[np.float64]
V = TypeVar("V", bound=Verdict)


@dataclass(frozen=True)
class Values:
    """What a column may be: an interval of its one feature, or some of its categories.

    Attributes
    ----------
    column : Column
    features : tuple of int
        Positions of its features in the model.
    low, high : float
        The interval; not for categories without an order.
    allowed : tuple of int
        Positions of the categories; empty for others.
    """

    column: Column
    features: tuple[int, ...]
    low: float = 0.0
    high: float = 1.0
    allowed: tuple[int, ...] = ()

    def contains(self, features: Floats) -> bool:
        """Whether a cell with these features is among them."""
        if self.column.kind == "category":
            chosen = np.flatnonzero(features)
            return len(chosen) == 1 and features[chosen[0]] == 1.0 and int(chosen[0]) in self.allowed
        (value,) = features
        whole = not self.column.is_whole or float(value).is_integer()
        return bool(whole and self.low <= value <= self.high)

    def claim(self) -> list[Any]:
        """What a certificate says of it."""
        labels = self.column.labels
        if self.column.kind == "category":
            return [labels[k] for k in self.allowed]
        if labels:
            return [labels[k] for k in range(int(self.low), int(self.high) + 1)]
        exact = int if self.column.is_whole else float
        return [exact(self.low), exact(self.high)]

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Random cells, as features, uniformly."""
        if self.column.kind == "category":
            chosen = rng.choice(np.array(self.allowed), n)
            return (chosen[:, None] == np.arange(len(self.column.categories))).astype(np.float64)
        if self.column.is_whole:
            return rng.integers(int(self.low), int(self.high) + 1, n).astype(np.float64)[:, None]
        return np.minimum(self.low + (self.high - self.low) * rng.random(n), self.high)[:, None]

    def nearest(self, features: Floats) -> Floats:
        """A cell near these numbers: the largest of the categories, or the nearest number of the interval."""
        if self.column.kind == "category":
            chosen = max(self.allowed, key=lambda k: float(features[k]))
            return (np.arange(len(features)) == chosen).astype(np.float64)
        within = np.clip(features, self.low, self.high)
        return np.clip(np.round(within), self.low, self.high) if self.column.is_whole else within

    def fixed(self, features: Floats) -> Values:
        """Only the cell with these features."""
        if self.column.kind == "category":
            return replace(self, allowed=(int(np.argmax(features)),))
        return replace(self, low=float(features[0]), high=float(features[0]))

    def within(self, features: Floats, radius: float) -> Values:
        """What is at most ``radius`` from a cell; a change of category is 1."""
        if self.column.kind == "category":
            return self if radius >= 1 else self.fixed(features)
        ends = features[0] - radius, features[0] + radius
        if self.column.is_whole:  # exactly: 1169 + 235.99999999999997 would be 1405
            steps = np.floor(radius)
            ends = features[0] - steps, features[0] + steps
        return replace(self, low=float(max(self.low, ends[0])), high=float(min(self.high, ends[1])))

    def with_cell(self, features: Floats) -> Values:
        """These values, wide enough for a cell that need not be among them."""
        if self.column.kind == "category":
            return replace(self, allowed=tuple(sorted({*self.allowed, int(np.argmax(features))})))
        return replace(self, low=min(self.low, float(features[0])), high=max(self.high, float(features[0])))


@dataclass(frozen=True)
class Domain:
    """A product of :class:`Values`, one per column, in the order of the model's features."""

    values: tuple[Values, ...]

    def __contains__(self, x: Floats) -> bool:
        return all(part.contains(x[list(part.features)]) for part in self.values)

    def claim(self) -> dict[str, list[Any]]:
        """What a certificate says of it, by column."""
        return {part.column.name: part.claim() for part in self.values}

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Random possible rows, as features."""
        return np.hstack([part.sample(n, rng) for part in self.values])

    def nearest(self, x: Floats) -> Floats:
        """A possible row near an input, column by column."""
        return np.concatenate([part.nearest(x[list(part.features)]) for part in self.values])

    def bounds(self) -> tuple[Floats, Floats]:
        """Least and largest value of every feature."""
        low, high = [], []
        for part in self.values:
            if part.column.kind == "category":
                only = part.allowed[0] if len(part.allowed) == 1 else -1
                low += [float(k == only) for k in range(len(part.features))]
                high += [float(k in part.allowed) for k in range(len(part.features))]
            else:
                low.append(part.low)
                high.append(part.high)
        return np.array(low), np.array(high)

    def with_fixed(self, x: Floats, names: Iterable[str]) -> Domain:
        """Rows that are as ``x`` in these columns."""
        fixed = set(names)
        return Domain(
            tuple(part.fixed(x[list(part.features)]) if part.column.name in fixed else part for part in self.values)
        )

    def with_row(self, x: Floats) -> Domain:
        """Rows that may be as ``x`` in every column, though it is not among the possible ones."""
        return Domain(tuple(part.with_cell(x[list(part.features)]) for part in self.values))

    def within(self, x: Floats, radius: dict[str, float]) -> Domain:
        """Rows that are at most so far from ``x`` in every column; where nothing is said, not at all."""
        parts = (
            part.with_cell(x[list(part.features)]).within(x[list(part.features)], radius.get(part.column.name, 0.0))
            for part in self.values
        )
        return Domain(tuple(parts))


def with_table(pair: Sequence[Mixture]) -> Mixture:
    """The model whose possible rows two models are compared on: the first that has a table, if any has."""
    return next((mixture for mixture in pair if mixture.schema is not None), pair[0])


def schema_of_model(mixture: BaseMixture) -> Schema:
    """The schema of a model; without one, every feature is a number, of a range that the question must state."""
    if mixture.schema is not None:
        return mixture.schema
    return Schema(Column(name, "number", (name,), 0.0, 0.0) for name in mixture.feature_names)


def rows_of(domain: Box | None, mixture: BaseMixture) -> Domain:
    """Possible rows that satisfy the conditions of a box; a side that is stated replaces that of the range seen."""
    if domain is not None and not isinstance(domain, Box):
        raise InputError(f'domain must be a Box, such as Box.where(model, "Age <= 30"), got {type(domain).__name__}')
    lo, hi = (domain or Box()).bounds(mixture.feature_names)
    if mixture.schema is None and not (np.all(np.isfinite(lo)) and np.all(np.isfinite(hi))):
        open_ones = [name for name, a, b in zip(mixture.feature_names, lo, hi, strict=True) if np.isinf([a, b]).any()]
        raise InputError(
            f"this model has no schema that says which rows are possible: bound {', '.join(open_ones)} in the domain, "
            "or fit it to a DataFrame"
        )
    return Domain(tuple(_values(place, lo, hi) for place in schema_of_model(mixture).places))


def only_possible(verdict: V, mixture: Mixture, domain: Box | None) -> V | Unknown:
    """A verdict over the box around the possible rows, Unknown if its point is none of them.

    What holds in all of the box holds of possible rows; what fails at some point of it need not.
    """
    point = getattr(verdict, "point", None)
    if mixture.schema is None or point is None or point in rows_of(domain, mixture):
        return verdict
    return Unknown(
        reason="of soft models only the box around the possible rows is searched, and what was found in it is no "
        f"possible row; {how_to_harden(mixture)}",
        effort=verdict.effort,
    )


def _values(place: Place, lo: Floats, hi: Floats) -> Values:
    column, features = place
    if column.kind == "category":
        allowed = tuple(
            k for k in range(len(features)) if all(lo[f] <= float(j == k) <= hi[f] for j, f in enumerate(features))
        )
        if not allowed:
            raise InputError(f"the domain leaves no category of {column.name!r}")
        return Values(column, features, allowed=allowed)
    low, high = column.reach
    stated_low, stated_high = lo[features[0]], hi[features[0]]
    if column.labels:
        low, high = max(low, stated_low), min(high, stated_high)
    else:
        low = low if math.isinf(stated_low) else stated_low
        high = high if math.isinf(stated_high) else stated_high
    if column.is_whole:
        low, high = float(math.ceil(low)), float(math.floor(high))
    if low > high:
        raise InputError(
            f"the domain leaves nothing of column {column.name!r}: it would lie between {low:g} and {high:g}; "
            "state both sides to leave the range seen"
        )
    if max(abs(low), abs(high)) > (2.0**53 if column.is_whole else FURTHEST):
        raise InputError(f"a side of {column.name!r} is too large: {low:g} to {high:g}")
    return Values(column, features, low, high)
