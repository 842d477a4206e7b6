"""Reading of comma-separated files."""

from __future__ import annotations

import csv
import io
import warnings
from pathlib import Path
from typing import Any

import pandas as pd

from moet.errors import InputError


def read_csv(path: Path, **options: Any) -> pd.DataFrame:
    """Read a file with a header as ``pandas.read_csv`` does; what is wrong with it is an InputError.

    Only an empty cell is missing: ``NA`` and the like are texts. Two columns of one name are an error.

    The file is in memory before it is parsed: pandas takes an interrupt that comes while it reads for a broken file.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # a row longer than the header would lose data
            _check_header(path, text)
            if "keep_default_na" not in options:
                options |= {"keep_default_na": False, "na_values": [""]}
            return pd.read_csv(io.StringIO(text, newline=""), index_col=False, low_memory=False, **options)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except pd.errors.EmptyDataError:
        raise InputError(f"{path} is empty") from None
    except UnicodeDecodeError as error:
        byte = f"byte 0x{error.object[error.start]:02x} at {error.start}"
        raise InputError(f"{path} is not text in UTF-8 ({byte}); save it again with the encoding UTF-8") from None
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise InputError(f"{path} is not a table of comma-separated values: {' '.join(str(error).split())}") from None


_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def _check_header(path: Path, text: str) -> None:
    """Complain about another separator, a column without a name, and two of one, which pandas would rename."""
    header = next(csv.reader(io.StringIO(text, newline="")), [])
    if len(header) == 1 and (found := [sign for sign in _SEPARATORS if sign in header[0]]):
        raise InputError(
            f"the columns of {path} are separated by {_SEPARATORS[found[0]]}; save it again with commas between the "
            "columns and points in the numbers"
        )
    if len(header) > 1 and "" in header:
        raise InputError(
            f"column {header.index('') + 1} of {path} has no name (row numbers, perhaps); name it, or leave it out"
        )
    if twice := [name for name in header if name and header.count(name) > 1]:
        raise InputError(f"{path} has two columns called {twice[0]!r}; rename one")
