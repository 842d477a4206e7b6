"""Tables of Parquet and Arrow: the same as the comma-separated file, and one line for what is wrong."""

import builtins
import re

import numpy as np
import pandas as pd
import pytest

from moet import Schema, load
from moet.errors import InputError
from moet.model.column_table import ColumnTable
from moet.table_file import open_table_file, read_table_file

TABLE = pd.DataFrame(
    {
        "age": [30, 41, 25, 60] * 10,
        "wage": [1.5, 2.25, -1.0, 0.125] * 10,
        "town": ["Graz", "NA", "Wien", "Graz"] * 10,
        "code": [1, 2, 1, 3] * 10,
        "paid": ["yes", "no", "yes", "no"] * 10,
    }
)


def without(monkeypatch, *packages):
    """As if these packages were not installed."""
    real = builtins.__import__

    def importing(name, *arguments, **options):
        if name.partition(".")[0] in packages:
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", importing)


@pytest.fixture(params=["parquet", "feather"])
def file(request, tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / f"table.{request.param}"
    getattr(TABLE, f"to_{request.param}")(path)
    return path


def check(path):
    read = read_table_file(path, ["code"])
    assert list(read.columns) == list(TABLE.columns)
    assert read["code"].tolist() == ["1", "2", "1", "3"] * 10
    for name in ("age", "wage", "town", "paid"):
        assert read[name].tolist() == TABLE[name].tolist()
    assert read["age"].dtype.kind == "i"
    assert read["wage"].dtype == np.float64


def test_the_same_table_by_pyarrow(file):
    check(file)


def test_the_same_table_by_polars(file, monkeypatch):
    pytest.importorskip("polars")
    without(monkeypatch, "pyarrow")
    check(file)


def test_parquet_that_polars_wrote(tmp_path, monkeypatch):
    polars = pytest.importorskip("polars")
    without(monkeypatch, "pyarrow")
    polars.DataFrame(TABLE.to_dict("list")).write_parquet(tmp_path / "table.parquet")
    check(tmp_path / "table.parquet")


def test_fit_and_predict_take_it(file, run, tmp_path):
    TABLE.to_csv(tmp_path / "table.csv", index=False)
    for data in (file, tmp_path / "table.csv"):
        made = run(
            "fit", data, "--target", "paid", "--experts", "2", "--depth", "1", "-o", tmp_path / f"{data.suffix}.json"
        )
        assert made.exit_code == 0, made.stderr
    assert load(tmp_path / f"{file.suffix}.json") == load(tmp_path / ".csv.json")
    asked = [run("predict", tmp_path / ".csv.json", data).stdout for data in (file, tmp_path / "table.csv")]
    assert asked[0] == asked[1] != ""
    assert run("why", tmp_path / ".csv.json", "--at", f"{file}:2").exit_code == 0


def test_a_schema_reads_one_column_at_a_time(file):
    table = open_table_file(file, ["code"])
    assert isinstance(table, ColumnTable)
    assert len(table) == len(TABLE)
    whole = read_table_file(file, ["code"])
    schema = Schema.of(table.drop(columns="paid"))
    assert schema == Schema.of(whole.drop(columns="paid"))
    assert np.array_equal(schema.encode(table), schema.encode(whole))


def test_the_index_that_pandas_keeps_is_no_column(tmp_path):
    pytest.importorskip("pyarrow")
    TABLE.set_index(pd.Index([f"row {k}" for k in range(len(TABLE))], name="key")).to_parquet(tmp_path / "t.parquet")
    assert list(open_table_file(tmp_path / "t.parquet").columns) == list(TABLE.columns)
    check(tmp_path / "t.parquet")


def test_what_is_wrong_is_said_in_one_line(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    with pytest.raises(InputError, match="there is no file"):
        read_table_file(tmp_path / "none.parquet")
    for content in (b"", b"PAR1", b"a,b\n1,2\n"):
        (tmp_path / "bad.parquet").write_bytes(content)
        with pytest.raises(InputError, match="cannot be read as a table") as caught:
            read_table_file(tmp_path / "bad.parquet")
        assert "\n" not in str(caught.value)
    without(monkeypatch, "pyarrow", "polars")
    with pytest.raises(InputError, match=re.escape("needs pyarrow or polars: pip install pyarrow")):
        read_table_file(tmp_path / "bad.parquet")
