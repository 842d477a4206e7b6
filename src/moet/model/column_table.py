"""A table whose columns are read one at a time, for tables that memory does not hold twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


class ColumnTable:
    """As much of a DataFrame as a schema asks for, each column read anew when it is asked for.

    Parameters
    ----------
    columns : sequence of str
        Names of the columns.
    n_rows : int
    read : callable
        Takes a name, returns the cells of that column.
    """

    def __init__(self, columns: Sequence[str], n_rows: int, read: Callable[[str], pd.Series]) -> None:
        self.columns = tuple(columns)
        self._n_rows = n_rows
        self._read = read

    def __len__(self) -> int:
        return self._n_rows

    def __getitem__(self, name: str) -> pd.Series:
        return self._read(name)

    def drop(self, columns: str) -> ColumnTable:
        """The table without a column."""
        return ColumnTable([name for name in self.columns if name != columns], self._n_rows, self._read)
