"""Tables as numbers: categories become columns of zeros and ones, for some models scaled."""

from __future__ import annotations

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from moet.study.supervised.datasets import Dataset


def encoder(dataset: Dataset, *, scaled: bool) -> Pipeline:
    """Return an unfitted encoder: numbers first, then one column ``name=value`` per category seen while fitting.

    A category that was never seen is all zeros. ``scaled`` standardises every column.
    """
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False, feature_name_combiner=_name)
    columns = ColumnTransformer(
        [("categories", one_hot, dataset.texts)], remainder="passthrough", verbose_feature_names_out=False
    )
    return Pipeline([("columns", columns), ("scale", StandardScaler() if scaled else "passthrough")])


def _name(column: str, value: str) -> str:
    return f"{column}={value}"
