"""Tests and sums in the columns of the user's table rather than in features of zeros and ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.schema import Column, Schema
from moet.model.text import said

Floats = NDArray[np.float64]


class Term(NamedTuple):
    """What a column adds to a sum: text with its sign in front, and by how much it may move the sum."""

    text: str
    influence: float


class Columns:
    """Words for the features of a model with a schema."""

    def __init__(self, schema: Schema) -> None:
        self._columns: list[tuple[Column, int]] = []
        for column, features in schema.places:
            self._columns += [(column, k) for k in range(len(features))]
        self._places = schema.places

    def name(self, feature: int) -> str:
        """The column that a feature belongs to."""
        return said(self._columns[feature][0].name)

    def tests(self, feature: int, threshold: float) -> tuple[str, str] | None:
        """What a row is that goes left, and one that goes right; None where the numbers themselves say it best."""
        column, k = self._columns[feature]
        name, floor = said(column.name), math.floor(threshold)
        labels = [said(label) for label in column.labels]
        if column.kind == "category":
            return (f"{name} is not {labels[k]}", f"{name} is {labels[k]}") if floor == 0 else None
        if column.kind == "boolean":
            return (f"{name} is no", f"{name} is yes") if floor == 0 else None
        if column.kind == "ordered" and 0 <= floor < len(labels) - 1:
            return f"{name} is at most {labels[floor]}", f"{name} is at least {labels[floor + 1]}"
        if column.kind == "integer" and abs(threshold) < 2**53:
            return f"{name} <= {floor}", f"{name} >= {floor + 1}"
        return None

    def terms(self, weights: Floats, number: Callable[[float], str], most: int | None = None) -> list[Term]:
        """What the columns add to a linear sum, those of largest influence first; of each ``most`` categories."""
        found = []
        for column, features in self._places:
            own = weights[list(features)]
            if not np.any(own):
                continue
            name = said(column.name)
            if column.kind == "category":
                parts = [f"{said(column.labels[k])} {_signed(own[k], number)}" for k in _largest(own, most)]
                if len(parts) < np.count_nonzero(own):
                    parts.append(f"({np.count_nonzero(own) - len(parts)} more)")
                found.append(Term(f"+ [{name}: {', '.join(parts)}]", float(own.max() - own.min())))
            elif column.kind == "boolean":
                found.append(Term(f"+ [{name}: yes {_signed(own[0], number)}]", float(abs(own[0]))))
            else:
                low, high = column.reach
                text = f"{'-' if own[0] < 0 else '+'} {number(abs(own[0]))}*{name}"
                found.append(Term(text, float(abs(own[0]) * (high - low))))
        return sorted(found, key=lambda term: -term.influence)


def _largest(weights: Floats, most: int | None) -> list[int]:
    """Places of the numbers that are not zero: all in their order, or so many, largest first, if two more are left."""
    places = np.flatnonzero(weights)
    if most is not None and len(places) > most + 1:
        places = places[np.argsort(-np.abs(weights[places]), kind="stable")[:most]]
    found: list[int] = places.tolist()
    return found


def _signed(value: float, number: Callable[[float], str]) -> str:
    return ("-" if value < 0 else "+") + number(abs(value))


LEGEND = "[column: value +number] adds the number of the row's value, and nothing for others; ranks count from 0"
