"""The data sets of the paper: read from the CSV files of a folder, or fetched from OpenML."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from moet.csv_file import read_csv
from moet.errors import InputError

FOLDER_VARIABLE = "MOET_DATA"
"""Environment variable that names the folder of CSV files."""


@dataclass(frozen=True)
class OpenML:
    """A table on OpenML.

    Attributes
    ----------
    name : str
        Its name there.
    version : int
        Its version there.
    columns : mapping
        Our names of its columns, where they differ.
    labels : mapping
        Our spelling of its labels, where it differs.
    checksum : str
        What :func:`checksum` must give.
    """

    name: str
    version: int
    checksum: str
    columns: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """Where a table comes from and what is in it.

    Attributes
    ----------
    title : str
        Name for people; for two classes it says which is positive.
    file : str
        Name of the CSV file.
    target : str
        Column of the label.
    classes : mapping
        Class number of every label. Of two classes, 1 is the positive one.
    n_rows : int
        How many rows the published table has.
    first_split : int
        Random state of the benchmark's first split: the grids were designed while looking at splits of smaller ones.
    numbers, texts : sequence of str
        Features that are numbers, and those that are categories.
    ordered : sequence of str
        The categories whose values come in an order: in a file that of their names, on OpenML the declared one.
    openml : OpenML or None
        The same table on OpenML, if it is there with these columns.
    """

    title: str
    file: str
    target: str
    classes: Mapping[str, int]
    n_rows: int
    first_split: int
    numbers: tuple[str, ...]
    texts: tuple[str, ...] = ()
    ordered: tuple[str, ...] = ()
    openml: OpenML | None = None


@dataclass(frozen=True)
class Dataset:
    """A table ready for learning.

    Attributes
    ----------
    name, title : str
        Short name, and name for people.
    X : DataFrame
        Features: numbers as float64, categories as text; a missing category is a category of its own.
    y : array of int
        Class numbers 0, 1, ...
    ranks : mapping
        Columns that hold categories in an order, and their values in it.
    """

    name: str
    title: str
    X: pd.DataFrame
    y: NDArray[np.intp]
    ranks: Mapping[str, list[str]] = field(default_factory=dict)

    @property
    def texts(self) -> list[str]:
        """Columns that hold categories."""
        return list(SOURCES[self.name].texts)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.y.max()) + 1


_FETAL_FEATURES = (
    "baseline value", "accelerations", "fetal_movement", "uterine_contractions", "light_decelerations",
    "severe_decelerations", "prolongued_decelerations", "abnormal_short_term_variability",
    "mean_value_of_short_term_variability", "percentage_of_time_with_abnormal_long_term_variability",
    "mean_value_of_long_term_variability", "histogram_width", "histogram_min", "histogram_max",
    "histogram_number_of_peaks", "histogram_number_of_zeroes", "histogram_mode", "histogram_mean", "histogram_median",
    "histogram_variance", "histogram_tendency",
)  # fmt: skip

SOURCES: dict[str, Source] = {
    "adult": Source(
        title="Adult income (positive: more than 50K)",
        file="adult.csv",
        target="income",
        classes={"<=50K": 0, ">50K": 1},
        n_rows=48_842,
        first_split=8000,
        numbers=("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"),
        texts=(
            "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country",
        ),
        openml=OpenML("adult", 2, "ec3810e69b203c5e", columns={"class": "income"}),
    ),
    "german": Source(
        title="German credit, 20 attributes (positive: good)",
        file="german_uci20.csv",
        target="class",
        classes={"2": 0, "1": 1},
        n_rows=1000,
        first_split=9000,
        numbers=(
            "duration", "credit_amount", "installment_rate", "residence_since", "age", "existing_credits",
            "people_liable",
        ),
        texts=(
            "status", "credit_history", "purpose", "savings", "employment_since", "personal_status_sex",
            "other_debtors", "property", "other_installment_plans", "housing", "job", "telephone", "foreign_worker",
        ),
        ordered=("status", "credit_history", "savings", "employment_since", "property", "job"),
        openml=OpenML(
            "credit-g",
            1,
            "54dcecdeb0bc0ebb",
            columns={
                "checking_status": "status",
                "savings_status": "savings",
                "employment": "employment_since",
                "installment_commitment": "installment_rate",
                "personal_status": "personal_status_sex",
                "other_parties": "other_debtors",
                "property_magnitude": "property",
                "other_payment_plans": "other_installment_plans",
                "num_dependents": "people_liable",
                "own_telephone": "telephone",
            },
            labels={"good": "1", "bad": "2"},
        ),
    ),
    "german9": Source(
        title="German credit, 9 attributes (positive: good)",
        file="german_credit_kaggle.csv",
        target="Risk",
        classes={"bad": 0, "good": 1},
        n_rows=1000,
        first_split=9000,
        numbers=("Age", "Job", "Credit amount", "Duration"),
        texts=("Sex", "Housing", "Saving accounts", "Checking account", "Purpose"),
        ordered=("Saving accounts", "Checking account"),
    ),
    "fetal": Source(
        title="Fetal health (positive: suspect or pathological)",
        file="fetal_health.csv",
        target="fetal_health",
        classes={"1.0": 0, "2.0": 1, "3.0": 1},
        n_rows=2126,
        first_split=9000,
        numbers=_FETAL_FEATURES,
    ),
    "fetal3": Source(
        title="Fetal health, three classes",
        file="fetal_health.csv",
        target="fetal_health",
        classes={"1.0": 0, "2.0": 1, "3.0": 2},
        n_rows=2126,
        first_split=9000,
        numbers=_FETAL_FEATURES,
    ),
}  # fmt: skip

Fetch = Callable[..., Any]
"""``sklearn.datasets.fetch_openml``, or what stands for it."""


def load(name: str, folder: str | os.PathLike[str] | None = None, *, fetch: Fetch | None = None) -> Dataset:
    """Load a data set.

    Parameters
    ----------
    name : str
        One of ``SOURCES``.
    folder : path, optional
        Folder of CSV files; by default the one that ``MOET_DATA`` names. Without either, OpenML is asked.
    fetch : callable, optional
        Stands for :func:`sklearn.datasets.fetch_openml`.
    """
    if name not in SOURCES:
        raise InputError(f"unknown data set {name!r}; there are {', '.join(SOURCES)}")
    source = SOURCES[name]
    folder = folder or os.environ.get(FOLDER_VARIABLE)
    if folder:
        path = Path(folder) / source.file
        return _dataset(name, read_csv(path, dtype=str, keep_default_na=False), str(path))  # all as text
    if source.openml is None:
        raise InputError(
            f"data set {name!r} is not on OpenML with these columns; put {source.file} into a folder and name it "
            f"with --data or {FOLDER_VARIABLE}"
        )
    return _from_openml(name, source.openml, fetch)


def checksum(dataset: Dataset) -> str:
    """SHA-256, first 16 digits, of labels and numbers in sorted order: independent of how categories are spelt."""
    columns = [dataset.X[name].to_numpy() for name in SOURCES[dataset.name].numbers]
    rows = np.column_stack([*columns, dataset.y]).astype("<f8")
    rows = rows[np.lexsort(rows.T)]
    return hashlib.sha256(np.ascontiguousarray(rows).tobytes()).hexdigest()[:16]


def _from_openml(name: str, origin: OpenML, fetch: Fetch | None) -> Dataset:
    from sklearn.datasets import fetch_openml

    try:
        bunch = (fetch or fetch_openml)(origin.name, version=origin.version, as_frame=True, parser="auto")
    except (OSError, ValueError) as error:
        raise InputError(
            f"OpenML did not deliver {origin.name!r} ({error}); without a network, put {SOURCES[name].file} into a "
            f"folder and name it with --data or {FOLDER_VARIABLE}"
        ) from error
    table = bunch.frame.rename(columns=dict(origin.columns))
    target = SOURCES[name].target
    if target in table.columns:
        table[target] = table[target].astype(str).replace(dict(origin.labels))
    where = f"OpenML's {origin.name!r}, version {origin.version},"
    dataset = _dataset(name, table, where)
    if (found := checksum(dataset)) != origin.checksum:
        raise InputError(f"{where} is not the expected table: checksum {found} instead of {origin.checksum}")
    return dataset


def _dataset(name: str, table: pd.DataFrame, where: str) -> Dataset:
    source = SOURCES[name]
    if missing := [column for column in (*source.numbers, *source.texts, source.target) if column not in table.columns]:
        raise InputError(f"{where} lacks the columns {', '.join(map(repr, missing))}")
    if table.empty:
        raise InputError(f"{where} has no rows")
    X = pd.DataFrame({column: _numbers(table[column], where) for column in source.numbers})
    for column in source.texts:
        text = table[column].astype(object)
        X[column] = text.where(text.notna(), "?").astype(str).to_numpy()
    labels = table[source.target].astype(str)
    classes = labels.map(dict(source.classes))
    if classes.isna().any():
        strange = labels[classes.isna()].iloc[0]
        raise InputError(f"{where} has the label {strange!r} in {source.target!r}; known are {list(source.classes)}")
    y = classes.to_numpy(dtype=np.intp)
    if len(np.unique(y)) <= max(source.classes.values()):
        raise InputError(f"{where} has no row of some class of {source.target!r}: it is cut short")
    ranks = {column: _in_order(table[column]) for column in source.ordered}
    return Dataset(name, source.title, X, y, ranks)


def _in_order(column: pd.Series) -> list[str]:
    """Values of a category: as they are declared, if they are, else by name."""
    declared = isinstance(column.dtype, pd.CategoricalDtype)
    return [str(value) for value in (column.cat.categories if declared else sorted(column.unique()))]


def _numbers(column: pd.Series, where: str) -> NDArray[np.float64]:
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(np.float64)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        raise InputError(
            f"{where} has {column.iloc[wrong[0]]!r} in row {wrong[0] + 1} of {column.name!r} instead of a finite number"
        )
    return numbers
