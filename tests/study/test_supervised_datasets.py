"""Loading the data sets of the paper, from files and from OpenML, and what is said when that fails."""

import os
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from moet.errors import InputError
from moet.study.supervised import datasets
from moet.study.supervised.datasets import FOLDER_VARIABLE, SOURCES, checksum, load
from moet.study.supervised.encode import encoder

FOLDER = os.environ.get(FOLDER_VARIABLE)


@pytest.fixture(autouse=True)
def _without_folder(monkeypatch):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)


def table(name, n=12):
    """A made-up table with the columns and labels of a data set."""
    source = SOURCES[name]
    columns = {column: np.arange(n) + 0.5 for column in source.numbers}
    columns |= {column: [f"v{i % 3}" for i in range(n)] for column in source.texts}
    labels = list(source.classes)
    return pd.DataFrame(columns | {source.target: [labels[i % len(labels)] for i in range(n)]})


def written(folder, name, frame):
    frame.to_csv(folder / SOURCES[name].file, index=False)
    return folder


@pytest.mark.parametrize("name", SOURCES)
def test_a_table_is_read_with_its_numbers_categories_and_classes(name, tmp_path):
    frame = table(name)
    dataset = load(name, written(tmp_path, name, frame))
    source = SOURCES[name]
    assert list(dataset.X) == [*source.numbers, *source.texts]
    assert dataset.y.tolist() == [source.classes[label] for label in frame[source.target]]
    assert dataset.n_classes == max(source.classes.values()) + 1


def test_a_missing_category_is_a_category_and_na_is_text(tmp_path):
    frame = table("german9")
    frame.loc[0, "Saving accounts"] = "NA"
    dataset = load("german9", written(tmp_path, "german9", frame))
    names = encoder(dataset).fit(dataset.X).get_feature_names_out()
    assert dataset.X["Saving accounts"][0] == "NA"
    assert "Saving accounts=NA" in names


def test_an_encoder_has_one_column_per_category_and_zeros_for_an_unknown_one(tmp_path):
    dataset = load("german9", written(tmp_path, "german9", table("german9")))
    fitted = encoder(dataset).fit(dataset.X[:2])
    features = fitted.transform(dataset.X)
    assert features["Sex=v0"].tolist() == (dataset.X["Sex"] == "v0").astype(float).tolist()
    assert features.filter(like="Sex=").loc[2].tolist() == [0.0, 0.0]


def test_categories_in_an_order_have_a_rank_too(tmp_path):
    dataset = load("german9", written(tmp_path, "german9", table("german9")))
    features = encoder(dataset).fit(dataset.X[:1]).transform(dataset.X)
    values = sorted(dataset.X["Saving accounts"].unique())
    assert features["Saving accounts"].tolist() == [values.index(value) for value in dataset.X["Saving accounts"]]
    assert "Sex" not in features


def test_features_can_be_scaled_or_left_as_they_are(tmp_path):
    dataset = load("german9", written(tmp_path, "german9", table("german9")))
    scaled = encoder(dataset, "scaled").fit_transform(dataset.X)
    assert abs(scaled.mean(axis=0)).max() < 1e-9
    assert encoder(dataset, "as they are").fit_transform(dataset.X) is dataset.X


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda frame: frame.drop(columns=["age", "sex"]), "lacks the columns 'age', 'sex'"),
        (lambda frame: frame.assign(age=["x", *frame["age"][1:]]), "has 'x' in row 1 of 'age'"),
        (lambda frame: frame.assign(income="rich"), "has the label 'rich'"),
        (lambda frame: frame[frame["income"] == ">50K"], "no row of some class"),
        (lambda frame: frame[:0], "no rows"),
    ],
)
def test_a_wrong_table_is_refused_with_the_reason(spoil, message, tmp_path):
    with pytest.raises(InputError, match=message):
        load("adult", written(tmp_path, "adult", spoil(table("adult"))))


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2,3\n", b"a,b\n\xff\xfe\n", b'a,b\n"1,2\n'])
def test_a_corrupt_file_is_refused(content, tmp_path):
    (tmp_path / "adult.csv").write_bytes(content)
    with pytest.raises(InputError, match=r"adult\.csv"):
        load("adult", tmp_path)


def test_unknown_names_and_missing_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="unknown data set 'iris'; there are adult, german"):
        load("iris", tmp_path)
    with pytest.raises(InputError, match="there is no file"):
        load("adult", tmp_path)


def openml_table(name="german"):
    """What OpenML calls the columns and labels."""
    source = SOURCES[name]
    theirs = {ours: name for name, ours in source.openml.columns.items()}
    label = {ours: theirs for theirs, ours in source.openml.labels.items()}
    frame = table(name).rename(columns=theirs)
    target = theirs.get(source.target, source.target)
    return frame.assign(**{target: [label.get(x, x) for x in frame[target]]})


@pytest.mark.parametrize("name", ["adult", "german"])
def test_a_table_of_openml_is_the_same_as_that_of_a_file(name, tmp_path, monkeypatch):
    from_file = load(name, written(tmp_path, name, table(name)))
    source = SOURCES[name]
    right = replace(source, openml=replace(source.openml, checksum=checksum(from_file)))
    monkeypatch.setitem(SOURCES, name, right)
    asked = []

    def fetch(*args, **kwargs):
        asked.append((args, kwargs["version"]))
        return SimpleNamespace(frame=openml_table(name))

    fetched = load(name, fetch=fetch)
    assert asked == [((source.openml.name,), source.openml.version)]
    pd.testing.assert_frame_equal(fetched.X, from_file.X)
    assert fetched.y.tolist() == from_file.y.tolist()


def test_openml_says_in_which_order_categories_come(monkeypatch):
    frame = openml_table().assign(job=pd.Categorical(["skilled", "none"] * 6, categories=["none", "skilled", "boss"]))
    monkeypatch.setattr(datasets, "checksum", lambda dataset: SOURCES["german"].openml.checksum)
    dataset = load("german", fetch=lambda *args, **kwargs: SimpleNamespace(frame=frame))
    assert dataset.ranks["job"] == ["none", "skilled", "boss"]
    assert encoder(dataset).fit_transform(dataset.X)["job"].tolist() == [1.0, 0.0] * 6


def test_another_table_of_openml_is_refused():
    with pytest.raises(InputError, match="not the expected table: checksum"):
        load("german", fetch=lambda *args, **kwargs: SimpleNamespace(frame=openml_table()))


def test_without_a_network_the_error_says_what_to_do():
    def offline(*args, **kwargs):
        raise ConnectionError("no route to host")

    with pytest.raises(InputError, match=r"did not deliver 'adult' .*no route.*adult\.csv into a folder"):
        load("adult", fetch=offline)


def test_what_openml_does_not_have_is_asked_for_as_a_file():
    with pytest.raises(InputError, match=r"fetal_health\.csv into a folder"):
        load("fetal")


@pytest.mark.skipif(FOLDER is None, reason=f"needs {FOLDER_VARIABLE}")
@pytest.mark.parametrize(
    ("name", "counts"),
    [("adult", [37155, 11687]), ("german", [300, 700]), ("fetal", [1655, 471]), ("fetal3", [1655, 295, 176])],
)
def test_the_real_tables_are_the_expected_ones(name, counts):
    dataset = load(name, FOLDER)
    assert np.bincount(dataset.y).tolist() == counts
    if SOURCES[name].openml:
        assert checksum(dataset) == SOURCES[name].openml.checksum
