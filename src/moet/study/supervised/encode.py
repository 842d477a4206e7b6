"""Tables as models want them: categories as columns of zeros and ones, these scaled, or left as they are."""

from __future__ import annotations

from typing import Literal

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from moet.study.supervised.datasets import Dataset

Features = Literal["one-hot", "scaled", "as they are"]
"""What a model is given: a column ``name=value`` per category, and its rank where categories come in an order; the same
standardised; or categories as texts."""


def encoder(dataset: Dataset, features: Features = "one-hot") -> Pipeline:
    """Return an unfitted encoder; a category that it never saw while it was fitted becomes zeros."""
    if features == "as they are":
        return Pipeline([("columns", "passthrough")])
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False, feature_name_combiner=_name)
    rank = OrdinalEncoder(categories=list(dataset.ranks.values()))
    columns = ColumnTransformer(
        [("categories", one_hot, dataset.texts), ("ranks", rank, list(dataset.ranks))],
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    if features == "scaled":
        return Pipeline([("columns", columns), ("scale", StandardScaler())])
    return Pipeline([("columns", columns.set_output(transform="pandas"))])  # with the names of the columns


def _name(column: str, value: str) -> str:
    return f"{column}={value}"
