"""Tables in, numbers out."""

import numpy as np
import pandas as pd
import pytest

from moet import Schema
from moet.cli.data import agreement, encode_like, labels, open_table, read_table, text_columns
from moet.cli.fitted import Rows
from moet.errors import InputError, ModelError
from moet.model.dataframes import MAX_CATEGORIES


def encode(table):
    schema = Schema.of(table)
    return pd.DataFrame(schema.encode(table), columns=list(schema.feature_names))


@pytest.fixture
def mixed(write_csv):
    return write_csv(
        "mixed.csv", ["size", "code", "flag", "y"], [[1.5, "a", True, 1], [2, "07", False, 0], [3, "b", True, 1]]
    )


def test_text_becomes_one_column_per_value(mixed):
    features = encode(read_table(mixed).drop(columns="y"))
    assert list(features.columns) == ["size", "code=07", "code=a", "code=b", "flag"]
    assert features.to_numpy().tolist() == [[1.5, 0, 1, 0, 1], [2, 1, 0, 0, 0], [3, 0, 0, 1, 1]]
    assert set(features.dtypes) == {np.dtype(np.float64)}


def test_a_model_finds_its_columns_by_name(mixed, write_csv, capsys):
    names = list(encode(read_table(mixed).drop(columns="y")).columns)
    # here the codes all look like numbers, the order differs, and one code is new
    path = write_csv("new.csv", ["flag", "other", "code", "size"], [[0, "x", "07", 5], [1, "x", "7", 6]])
    table = read_table(path, text_columns(names))
    assert encode_like(table, names).tolist() == [[5, 1, 0, 0, 0], [6, 0, 0, 0, 1]]
    assert capsys.readouterr().err == "moet: 1 rows have values of 'code' that the model never saw, such as '7'\n"


def test_columns_that_are_one_hot_already_are_used_as_they_are(write_csv):
    table = read_table(write_csv("t.csv", ["code=a", "code=b"], [[1, 0], [0, 1]]), text_columns(["code=a", "code=b"]))
    assert encode_like(table, ["code=b", "code=a"]).tolist() == [[0, 1], [1, 0]]


def test_equals_signs_in_names(write_csv):
    path = write_csv("t.csv", ["a=b", "c"], [["x=y", 1], ["z", 2]])
    names = list(encode(read_table(path)).columns)
    assert names == ["a=b=x=y", "a=b=z", "c"]
    assert encode_like(read_table(path, text_columns(names)), names).tolist() == [[1, 0, 1], [0, 1, 2]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("a,y\n", "no rows"),
        ("a,y\n1,2,3\n", "not a table"),
        ('a,y\n"1,2\n', "not a table"),
    ],
)
def test_broken_files(tmp_path, content, message):
    path = tmp_path / "t.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        read_table(path)


def test_missing_and_binary_files(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        read_table(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_bytes(b"a,b\n\xff\xfe,1\n")
    with pytest.raises(InputError, match="encoding UTF-8"):
        read_table(tmp_path / "t.csv")


def test_a_byte_order_mark_is_not_part_of_a_name(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,2\n", encoding="utf-8-sig")
    assert list(read_table(tmp_path / "t.csv").columns) == ["a", "y"]


def test_bad_cells_are_named(write_csv):
    holes = read_table(write_csv("t.csv", ["a", "b"], [[1, "x"], ["", ""], ["", "y"]]))
    with pytest.raises(InputError, match=r"missing in column 'a' \(2 of 3 rows\); fill"):
        encode(holes)
    with pytest.raises(InputError, match=r"missing in column 'a'"):
        encode_like(holes, ["a"])
    with pytest.raises(InputError, match="'a' holds infinite"):
        encode(read_table(write_csv("t.csv", ["a"], [[1], ["inf"]])))
    with pytest.raises(InputError, match="'a' must hold numbers, but has 'x'"):
        encode_like(read_table(write_csv("t.csv", ["a"], [[1], ["x"]])), ["a"])


def test_a_text_cell_among_numbers_is_named_and_refused(write_csv):
    table = read_table(write_csv("t.csv", ["age"], [[30], ["thirty"], [31], [32]]))
    with pytest.raises(InputError, match=r"'age' holds numbers, but 'thirty' in row 2; .*moet fit --category 'age'"):
        encode(table)
    assert len(Schema.of(table, ["age"]).feature_names) == 4


def test_na_is_a_text_and_no_empty_cell(write_csv):
    table = read_table(write_csv("t.csv", ["saving"], [["NA"], [""], ["rich"]]))
    assert Schema.of(table).columns[0].categories == ("(empty)", "NA", "rich")


def test_two_columns_of_one_name_are_an_error(write_csv):
    with pytest.raises(InputError, match="two columns called 'a'; rename one"):
        read_table(write_csv("t.csv", ["a", "b", "a"], [[1, 2, 3]]))


def test_dates_are_no_categories(write_csv):
    with pytest.raises(InputError, match="'when' holds dates, such as '2024-01-02'; turn it into a number"):
        encode(read_table(write_csv("t.csv", ["when"], [["2024-01-02"], ["2024-01-03"]])))


def test_an_empty_cell_is_a_category_of_its_own(write_csv, capsys):
    rows = [["x", "u"], ["", ""], ["y", "v"]]
    features = encode(read_table(write_csv("t.csv", ["b", "flag"], rows)))
    assert list(features) == ["b=(empty)", "b=x", "b=y", "flag=(empty)", "flag=u", "flag=v"]
    assert features.iloc[1].tolist() == [1, 0, 0, 1, 0, 0]
    old = ["b=", "b=x", "b=y", "flag=", "flag=u", "flag=v"]  # of model files without a schema
    again = read_table(write_csv("t.csv", ["b", "flag"], rows), text_columns(old))
    assert encode_like(again, old).tolist() == features.to_numpy().tolist()
    assert encode_like(again, ["b=x", "b=y"]).tolist() == [[1, 0], [0, 0], [0, 1]]
    assert capsys.readouterr().err == "moet: 1 rows have values of 'b' that the model never saw, such as ''\n"


def test_a_text_column_with_too_many_values_is_no_category(write_csv):
    rows = [[f"id{k}"] for k in range(MAX_CATEGORIES + 1)]
    with pytest.raises(InputError, match=r"'name' is text with 257 different values"):
        encode(read_table(write_csv("t.csv", ["name"], rows)))


def test_names_must_not_clash(write_csv):
    with pytest.raises(ModelError, match="'a=x'"):
        encode(read_table(write_csv("t.csv", ["a", "a=x"], [["x", 1], ["y", 2]])))


def test_missing_columns_are_listed(write_csv):
    table = read_table(write_csv("t.csv", ["a", "b"], [[1, 2]]))
    with pytest.raises(InputError, match="lacks 'color', 'c'; it has 'a', 'b'"):
        encode_like(table, ["a", "color=red", "color=blue", "c"])
    with pytest.raises(InputError, match="no column 'y'; the columns are 'a', 'b'"):
        labels(table, "y")


def test_labels_keep_their_type(mixed, write_csv):
    table = read_table(mixed)
    assert labels(table, "y").tolist() == [1, 0, 1]
    assert labels(table, "code").tolist() == ["a", "07", "b"]
    assert labels(table, "flag").tolist() == [True, False, True]
    with pytest.raises(InputError, match="real numbers"):
        labels(table, "size")
    with pytest.raises(InputError, match="missing"):
        labels(read_table(write_csv("t.csv", ["a", "y"], [[1, 2], [2, ""]])), "y")


def test_agreement_counts_equal_labels(write_csv):
    table = read_table(write_csv("t.csv", ["n", "t"], [[1, "a"], [2, "b"], [3, "a"], [1, "c"]]))
    assert agreement(np.array([1, 2, 1, 1]), table, "n") == 0.75
    assert agreement(np.array(["a", "a", "a", "a"]), table, "t") == 0.5
    assert agreement(np.array([1, 2, 1, 1]), table, "t") == 0.0


def test_a_table_is_held_once_as_training_wants_it(tmp_path):
    """Training takes rows as they lie in memory: in another order, or in a frame of its own, they are there twice."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "big.parquet"
    pd.DataFrame({f"x{k}": np.arange(50.0) for k in range(4)} | {"y": np.arange(50) % 2}).to_parquet(path)
    table = open_table(path)
    rows = Rows.of(table, "y", labels(table, "y"), (), 0.0, 0)
    features = rows.to_fit[0].to_numpy()
    assert features.flags.c_contiguous
    assert np.shares_memory(features, rows.X.to_numpy())
