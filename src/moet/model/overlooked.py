"""Warnings of a fit whose classes were overlooked, or cannot but be."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import RareClassWarning
from moet.model.mixture import Mixture
from moet.model.table import Table

RARE_ROWS, MOST_LOOKED_AT = 20, 5_000
"""A class of fewer rows may well be noise; more rows of a class are not looked at to see whether it is ever found."""


def warn_if_small(classes: NDArray[Any], n_experts: int, max_depth: int | None) -> None:
    """Say so where some class cannot have a leaf of its own, which no training can mend."""
    if max_depth is None or n_experts * 2**max_depth >= len(classes):
        return
    warnings.warn(
        f"{len(classes)} classes, but n_experts={n_experts} and max_depth={max_depth} leave room for "
        f"{n_experts * 2**max_depth} leaves at most; give more of either",
        stacklevel=4,
    )


def warn_of_classes_never_found(classes: NDArray[Any], table: Table, mixture: Mixture) -> None:
    """Say so where no row of a class is answered with it: to answer otherwise is then right most often."""
    for c, label in enumerate(classes.tolist()):
        own = np.flatnonzero(table.y == c)
        rows = table.rows[own[:MOST_LOOKED_AT]]
        if len(own) >= RARE_ROWS and not np.any(mixture.predict(table.X[rows]) == c):
            warnings.warn(
                f"of {len(rows)} rows with the label {label!r} ({table.class_shares[c]:.2%} of all rows) none is "
                f"answered so; class_weight='balanced' (`moet fit --balanced`) finds more of them, at the price of "
                f"more wrong answers elsewhere",
                RareClassWarning,
                stacklevel=4,
            )
