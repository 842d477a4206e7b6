"""Tables in files: comma-separated, or in the columns of Parquet and Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from moet.arrow_package import safe_pyarrow
from moet.csv_file import read_csv
from moet.errors import InputError
from moet.model.column_table import ColumnTable

if TYPE_CHECKING:
    import pandas as pd

COLUMNAR = (".parquet", ".arrow", ".feather", ".ipc")
"""What the names of files in columns end with; all others are comma-separated."""


class _Columns(NamedTuple):
    """A file in columns, as a package reads it."""

    names: list[str]
    n_rows: int
    read: Callable[[str], pd.Series]


def read_table_file(path: Path, texts: Iterable[str] = ()) -> pd.DataFrame:
    """Read a table; the columns ``texts`` are text even where they look like numbers."""
    import pandas as pd

    table = open_table_file(path, texts)
    return pd.DataFrame({name: table[name] for name in table.columns}) if isinstance(table, ColumnTable) else table


def open_table_file(path: Path, texts: Iterable[str] = ()) -> pd.DataFrame | ColumnTable:
    """Read a table as above, but from a file in columns each of them only when it is asked for."""
    if path.suffix.lower() not in COLUMNAR:
        return read_csv(path, dtype=dict.fromkeys(texts, str))
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    from moet.model.dataframes import check_names

    as_text, file = frozenset(texts), _opened(path)
    check_names(file.names)

    def read(name: str) -> pd.Series:
        try:
            cells = file.read(name)
        except Exception as error:  # a file may be damaged in its middle
            raise _unreadable(path, error) from None
        return cells.astype(object).map(str, na_action="ignore") if name in as_text else cells

    return ColumnTable(file.names, file.n_rows, read)


def _opened(path: Path) -> _Columns:
    for opened in (_by_pyarrow, _by_polars):
        try:
            return opened(path)
        except ImportError:
            continue
        except InputError:
            raise
        except Exception as error:  # each package has a hierarchy of its own
            raise _unreadable(path, error) from None
    raise InputError(f"reading {path} needs pyarrow or polars: pip install pyarrow")


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(f"{path} cannot be read as a table: {' '.join(str(error).split())[:200]}")


def _by_pyarrow(path: Path) -> _Columns:
    pyarrow = safe_pyarrow()
    from pyarrow import feather, parquet

    if path.suffix.lower() == ".parquet":
        file = parquet.ParquetFile(path)
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
    else:
        with pyarrow.memory_map(str(path)) as held:
            schema = pyarrow.ipc.open_file(held).schema
        n_rows = feather.read_table(path, columns=schema.names[:1]).num_rows

    def read(name: str) -> pd.Series:
        one = [name]
        table = file.read(columns=one) if path.suffix.lower() == ".parquet" else feather.read_table(path, columns=one)
        return table.to_pandas()[name].reset_index(drop=True)

    return _Columns(list(schema.empty_table().to_pandas().columns), n_rows, read)


def _by_polars(path: Path) -> _Columns:
    import pandas as pd
    import polars

    from moet.model.dataframes import polars_column

    frame = (polars.scan_parquet if path.suffix.lower() == ".parquet" else polars.scan_ipc)(path)
    names = frame.collect_schema().names()
    n_rows = frame.select(polars.len()).collect().item()
    return _Columns(names, n_rows, lambda name: pd.Series(polars_column(frame.select(name).collect()[name])))
