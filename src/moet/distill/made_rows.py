"""Rows made of those of a table, to be labelled by a model that others learn from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

SWAPPED, SWAPPED_NEAR = 0.3, 0.5
"""Share of its attributes that a made row has from other rows, whichever or near ones: fewer say little new, more are
unlike any real row."""

NEAR = 10
"""Rows that are near one."""

SMALL_TABLE = 5_000
"""Of a larger table any rows are taken: they are close by themselves, and all distances are much work."""


def neighbours(X: Any) -> NDArray[np.intp] | None:
    """The rows most like each row of a small table; None of a large one.

    Numbers differ by as many standard deviations as they do; a category, or a text, is as far from any other.
    """
    if not 1 < len(X) <= SMALL_TABLE:
        return None
    from sklearn.neighbors import NearestNeighbors

    named = isinstance(X, pd.DataFrame)
    names = X.columns.astype(str) if named else [""] * X.shape[1]
    columns = [X.iloc[:, k] if named else X[:, k] for k in range(X.shape[1])]
    places = np.column_stack([_places(column, "=" in name) for column, name in zip(columns, names, strict=True)])
    search = NearestNeighbors(n_neighbors=min(NEAR + 1, len(X))).fit(places)
    found: NDArray[np.intp] = search.kneighbors(places, return_distance=False)[:, 1:]  # the first one is itself
    return found


def recombined(X: Any, n_rows: int, rng: np.random.Generator, near: NDArray[np.intp] | None = None) -> Any:
    """Make rows: each is a row of the table, some of whose attributes are those of other rows.

    Parameters
    ----------
    X : DataFrame or array
    n_rows : int
    rng : numpy Generator
    near : array of int, shape (len(X), n_near), optional
        Which rows each row exchanges with (:func:`neighbours`); with any by default.

    Returns
    -------
    DataFrame or array
        As X is.
    """
    named = isinstance(X, pd.DataFrame)
    origin = rng.integers(len(X), size=n_rows)
    columns: list[Any] = [None] * X.shape[1]
    share = SWAPPED if near is None else SWAPPED_NEAR
    for members in _attributes(X).values():
        other = rng.integers(len(X) if near is None else near.shape[1], size=n_rows)
        if near is not None:
            other = near[origin, other]
        source = np.where(rng.random(n_rows) < share, other, origin)
        for k in members:
            columns[k] = X.iloc[:, k].array.take(source) if named else X[source, k]
    return pd.DataFrame(dict(zip(X.columns, columns, strict=True))) if named else np.stack(columns, axis=1)


def _attributes(X: Any) -> dict[Any, list[int]]:
    """Columns that say one thing: those called ``name`` and ``name=value``."""
    named = isinstance(X, pd.DataFrame)
    found: dict[Any, list[int]] = {}
    for k in range(X.shape[1]):
        found.setdefault(str(X.columns[k]).partition("=")[0] if named else k, []).append(k)
    return found


def _places(column: Any, is_category: bool) -> NDArray[np.float64]:
    """Where the values of a column lie."""
    cells = pd.Series(column)
    numbers = None if isinstance(cells.dtype, pd.CategoricalDtype) else pd.to_numeric(cells, errors="coerce")
    if numbers is None or numbers.isna().all():
        return pd.get_dummies(cells.astype(str), dtype=float).to_numpy()
    values = numbers.to_numpy(np.float64, na_value=np.nan)
    centred = np.nan_to_num(values - np.nanmean(values), posinf=0.0, neginf=0.0)
    spread = 1.0 if is_category else centred.std()
    placed: NDArray[np.float64] = centred / spread if spread > 0 else centred
    return placed
