"""Schemas: what a table is like, and what its rows become."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet import Column, Mixture, MoETClassifier, Schema, Tree, load, save
from moet.csv_file import read_csv
from moet.errors import InputError, ModelError, ModelFileError, MoetWarning
from moet.model.file import digest
from moet.model.words import features_of_row, row_of_text

TABLE = pd.DataFrame(
    {
        "Age": [34, 51, 20, 44],
        "Income": [1.5, 2.0, 0.25, 3.0],
        "Housing": ["own", "rent", None, "own"],
        "Savings": pd.Categorical(["rich", "little", "rich", "some"], ["little", "some", "rich"], ordered=True),
        "Married": [True, False, False, True],
    }
)
LABELS = ["good", "bad", "bad", "good"]


def fitted(table=TABLE, **settings):
    settings = {"n_experts": 2, "max_depth": 1, "prediction": "hard", "random_state": 0} | settings
    return MoETClassifier(**settings).fit(table, LABELS)


def test_columns_have_the_kinds_of_their_cells():
    schema = Schema.of(TABLE)
    assert [column.kind for column in schema.columns] == ["integer", "number", "category", "ordered", "boolean"]
    assert (schema.columns[0].low, schema.columns[0].high) == (20, 51)
    assert schema.columns[2].categories == ("(empty)", "own", "rent")
    assert schema.feature_names[2:5] == ("Housing=(empty)", "Housing=own", "Housing=rent")


def test_rows_come_back_from_their_features():
    schema = Schema.of(TABLE)
    X = schema.encode(TABLE)
    assert schema.row(X[2]) == {
        "Age": 20,
        "Income": 0.25,
        "Housing": "(empty)",
        "Savings": "rich",
        "Married": "no",
    }
    for x, (_, cells) in zip(X, TABLE.iterrows(), strict=True):
        assert schema.encode_row(cells).tolist() == x.tolist()
        assert schema.encode_row(schema.row(x)).tolist() == x.tolist()
        assert schema.encode_row(list(cells)).tolist() == x.tolist()


def test_a_classifier_of_a_table_answers_rows_of_it(tmp_path):
    classifier = fitted()
    expected = classifier.predict(TABLE).tolist()
    mixture = classifier.mixture_
    assert mixture.predict(TABLE).tolist() == expected
    assert mixture.predict(mixture.schema.encode(TABLE)).tolist() == expected
    assert mixture.act(dict(TABLE.iloc[0])) == expected[0]
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    for row in (TABLE.iloc[2], dict(TABLE.iloc[2]), f"{tmp_path / 't.csv'}:3"):
        assert mixture.act(row) == expected[2]
        assert mixture.predict(row).tolist() == classifier.predict(row).tolist() == [expected[2]]
    several = [TABLE.iloc[1], dict(TABLE.iloc[0]), "Age=20, Income=.25, Housing=(empty), Savings=rich, Married=no"]
    assert mixture.predict(several).tolist() == classifier.predict(several).tolist() == [expected[k] for k in (1, 0, 2)]
    save(mixture, tmp_path / "m.moet.json")
    again = load(tmp_path / "m.moet.json")
    assert again == mixture
    assert again.schema == mixture.schema
    assert digest(again) == digest(mixture)
    assert mixture.prune().schema == mixture.schema
    assert classifier.feature_names_in_.tolist() == list(TABLE.columns)


def test_a_table_of_one_row_is_a_row():
    mixture = fitted().mixture_
    assert features_of_row(TABLE.iloc[[2]], mixture.schema).tolist() == mixture.schema.encode(TABLE)[2].tolist()
    assert mixture.act(TABLE.iloc[[2]]) == mixture.act(TABLE.iloc[2])
    with pytest.raises(InputError, match="one row is asked about, got a table of 4; take one of them"):
        features_of_row(TABLE, mixture.schema)


def test_a_schema_is_part_of_the_model():
    tree = Tree([0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [1, 0], [0, 1]])
    plain = Mixture([[0.0]], [0.0], [tree], ["a", "b"], ["x"])
    wide = Mixture([[0.0]], [0.0], [tree], ["a", "b"], schema=Schema([Column("x", "integer", ("x",), 0, 9)]))
    narrow = Mixture([[0.0]], [0.0], [tree], ["a", "b"], schema=Schema([Column("x", "integer", ("x",), 0, 1)]))
    assert len({digest(model) for model in (plain, wide, narrow)}) == 3
    assert wide != narrow != plain


def test_the_checker_reads_the_same_schema():
    from moet.verify.checker.documents.model import plain_model

    mixture = fitted().mixture_
    assert plain_model(mixture).digest == digest(mixture)
    assert [column.name for column in plain_model(mixture).columns] == list(TABLE.columns)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"a": pd.to_datetime(["2024-01-01", "2024-01-02"])}, "'a' holds dates, .*days since"),
        ({"a": [1.0, np.nan]}, r"missing in column 'a' \(1 of 2 rows\); fill"),
        ({"a": [1.0, np.inf]}, "'a' holds infinite"),
        ({"a": [True, None]}, "missing in column 'a'"),
        ({"a": ["(empty)", "b"]}, "what empty cells are called"),
        ({"a": [1 + 2j, 3.0]}, "'a' holds complex numbers; turn it into two"),
        ({"a": ["1", "2", "x", "3"]}, "'a' holds numbers, but 'x' in row 3"),
    ],
)
def test_what_no_column_can_be_is_said(table, message):
    with pytest.raises(InputError, match=message):
        Schema.of(pd.DataFrame(table))


def test_a_category_that_was_never_seen_is_an_error_with_the_known_ones():
    mixture = fitted().mixture_
    with pytest.raises(InputError, match=r"never saw 'castle' in column 'Housing'; it knows \(empty\), own, rent"):
        mixture.predict(TABLE.assign(Housing="castle"))
    with pytest.raises(InputError, match="whole numbers, but has 3"):
        mixture.predict(TABLE.assign(Age=33.5))
    with pytest.raises(InputError, match="the table lacks 'Age'"):
        mixture.predict(TABLE.drop(columns="Age"))


def test_rows_are_read_as_people_write_them(tmp_path):
    schema = Schema.of(TABLE)
    cells = row_of_text("Age=34, Income = 1.5, Housing='own', Savings=rich, Married=yes", schema)
    assert schema.encode_row(cells).tolist() == schema.encode(TABLE)[0].tolist()
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    from_file = row_of_text(f"{tmp_path / 't.csv'}:3", schema)
    assert schema.encode_row(from_file).tolist() == schema.encode(TABLE)[2].tolist()
    with pytest.raises(InputError, match="rows 1 to 4, not 5"):
        row_of_text(f"{tmp_path / 't.csv'}:5", schema)
    with pytest.raises(InputError, match="cannot read 'Age 34' as column=value"):
        row_of_text("Age 34", schema)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "colour"},
        {"features": []},
        {"low": 60},
        {"low": 1.5},
        {"low": True},
        {"extra": 1},
        {"unit": ""},
        {"name": 3},
        {"features": ["Other"]},
    ],
)
def test_a_wrong_schema_is_no_model(tmp_path, change):
    import json

    path = tmp_path / "m.moet.json"
    save(fitted().mixture_, path)
    document = json.loads(path.read_text())
    document["schema"][0] |= change
    path.write_text(json.dumps(document))
    with pytest.raises(ModelFileError):
        load(path)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=5, unique=True))
def test_any_text_is_a_category(names):
    try:
        schema = Schema([Column("c", "category", tuple(f"c={n}" for n in names), categories=tuple(names))])
    except ModelError:
        return
    for name in names:
        assert schema.row(schema.encode_row({"c": name})) == {"c": name}
    assert Schema.from_document(schema.document()) == schema


def test_polars_tables_are_tables():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"Age": [34, 51, 20, 44], "Housing": ["own", "rent", None, "own"]})
    assert [column.kind for column in Schema.of(table).columns] == ["integer", "category"]
    same = TABLE[["Age", "Housing"]]
    assert fitted(table).predict(table).tolist() == fitted(same).predict(same).tolist()


def test_a_text_that_pandas_reads_as_empty_is_the_empty_cell_and_the_reverse_if_the_model_knows_just_one(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("saving\nNA\nlittle\n")
    by_pandas, by_us = Schema.of(pd.read_csv(path)), Schema.of(read_csv(path))
    assert [schema.columns[0].categories for schema in (by_pandas, by_us)] == [("(empty)", "little"), ("NA", "little")]
    for schema, other in ((by_pandas, read_csv(path)), (by_us, pd.read_csv(path))):
        with pytest.warns(MoetWarning, match=r"in column 'saving' is taken for .* as pandas would"):
            assert schema.encode(other).tolist() == [[1, 0], [0, 1]]
        with pytest.warns(MoetWarning, match="is taken for"):
            assert schema.encode_row({"saving": other["saving"][0]}).tolist() == [1, 0]
    both = Schema.of(pd.DataFrame({"saving": ["NA", None, "null"]}))
    assert both.encode_row(["null"]).tolist() == [0, 0, 1]
