"""Tables in files: comma-separated, or in the columns of Parquet and Arrow."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moet.arrow_package import safe_pyarrow
from moet.csv_file import read_csv
from moet.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

COLUMNAR = (".parquet", ".arrow", ".feather", ".ipc")
"""What the names of files in columns end with; all others are comma-separated."""


def read_table_file(path: Path, texts: Iterable[str] = ()) -> pd.DataFrame:
    """Read a table; the columns ``texts`` are text even where they look like numbers."""
    if path.suffix.lower() not in COLUMNAR:
        return read_csv(path, dtype=dict.fromkeys(texts, str))
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    table = _read_columns(path)
    for name in set(texts) & set(table.columns):
        table[name] = table[name].astype(object).map(str, na_action="ignore")
    return table


def _read_columns(path: Path) -> pd.DataFrame:
    from moet.model.dataframes import as_pandas

    for read in (_by_pyarrow, _by_polars):
        try:
            return as_pandas(read(path))
        except ImportError:
            continue
        except InputError:
            raise
        except Exception as error:  # each package has a hierarchy of its own
            raise InputError(f"{path} cannot be read as a table: {' '.join(str(error).split())[:200]}") from None
    raise InputError(f"reading {path} needs pyarrow or polars: pip install pyarrow")


def _by_pyarrow(path: Path) -> Any:
    safe_pyarrow()
    from pyarrow import feather, parquet

    table = parquet.ParquetFile(path).read() if path.suffix.lower() == ".parquet" else feather.read_table(path)
    return table.to_pandas(split_blocks=True, self_destruct=True)  # one copy at a time


def _by_polars(path: Path) -> Any:
    import polars

    return polars.read_parquet(path) if path.suffix.lower() == ".parquet" else polars.read_ipc(path)
