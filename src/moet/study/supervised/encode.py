"""Tables as models want them: categories as columns of zeros and ones, these scaled, or left as they are."""

from __future__ import annotations

from typing import Literal

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from moet.study.supervised.datasets import Dataset

Features = Literal["one-hot", "scaled", "as they are"]
"""What a model is given: a column ``name=value`` per category, the same standardised, or categories as texts."""


def encoder(dataset: Dataset, features: Features = "one-hot") -> Pipeline:
    """Return an unfitted encoder; a category that it never saw while it was fitted becomes zeros."""
    if features == "as they are":
        return Pipeline([("columns", "passthrough")])
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False, feature_name_combiner=_name)
    columns = ColumnTransformer(
        [("categories", one_hot, dataset.texts)], remainder="passthrough", verbose_feature_names_out=False
    )
    return Pipeline([("columns", columns), ("scale", StandardScaler() if features == "scaled" else "passthrough")])


def _name(column: str, value: str) -> str:
    return f"{column}={value}"
