"""Whole numbers beyond 2⁵³ are refused wherever they would lose digits, and only there."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet import MoETClassifier, MoETRegressor, Schema
from moet.errors import InputError
from moet.model.whole import refuse_lost_digits
from moet.table_file import read_table_file

LOST = 2**53 + 1
TOO_LARGE = [LOST, -LOST, 2**63 + 1, 2**64 + 1, 10**23 + 1, 10**400]


@given(st.integers(-(2**70), 2**70))
def test_a_number_is_refused_exactly_if_a_float_is_another_one(whole):
    for written in (whole, str(whole)):
        if float(whole) == whole:
            refuse_lost_digits("id", [written, -1])
        else:
            with pytest.raises(InputError, match=str(whole)):
                refuse_lost_digits("id", [written, -1])


@pytest.mark.parametrize("cells", [[0.5, 1e300], ["9007199254740993.0", "rent"], [], [True], np.array([2**60, 10**18])])
def test_what_is_no_whole_number_or_loses_nothing_is_let_through(cells):
    refuse_lost_digits("id", cells)


@pytest.mark.parametrize("whole", TOO_LARGE)
def test_a_column_of_a_file_is_refused(tmp_path, whole):
    path = tmp_path / "table.csv"
    path.write_text(f"id,age\n{whole},3\n-1,4\n")
    with pytest.raises(InputError, match=r"column 'id' holds .* --category"):
        Schema.of(read_table_file(path))
    assert Schema.of(read_table_file(path, ["id"]), ["id"]).columns[0].kind == "category"


@pytest.mark.parametrize("whole", TOO_LARGE[:3])
def test_a_column_of_parquet_is_refused(tmp_path, whole):
    pytest.importorskip("pyarrow")
    kind = "int64" if abs(whole) < 2**63 else "uint64"
    pd.DataFrame({"id": np.array([whole, 1], dtype=kind), "age": [3.0, 4.0]}).to_parquet(tmp_path / "table.parquet")
    with pytest.raises(InputError, match=r"column 'id'"):
        Schema.of(read_table_file(tmp_path / "table.parquet"))


@pytest.mark.parametrize("kind", ["int64", "Int64", "uint64", "object"])
@pytest.mark.parametrize("model", [MoETClassifier(2, 1), MoETRegressor(2, 1)])
def test_a_data_frame_and_an_array_are_refused_by_fit(kind, model):
    table = pd.DataFrame({"id": pd.array([LOST, 2, 3, 4], dtype=kind), "age": [1, 2, 3, 4]})
    with pytest.raises(InputError, match=r"column 'id'"):
        model.fit(table, [0, 1, 0, 1])
    if kind == "int64":
        with pytest.raises(InputError, match=r"column '0'"):
            model.fit(table.to_numpy(), [0, 1, 0, 1])


@pytest.mark.parametrize("cell", [LOST, str(LOST), f" {LOST}"])
def test_a_row_that_is_asked_about_is_refused(cell):
    schema = Schema.of(pd.DataFrame({"amount": [1, 2, 3]}))
    assert schema.encode_row({"amount": 2**53}) == [2.0**53]
    with pytest.raises(InputError, match=r"column 'amount'"):
        schema.encode_row({"amount": cell})
    with pytest.raises(InputError, match=r"column 'amount'"):
        schema.encode(pd.DataFrame({"amount": [int(cell)]}))
