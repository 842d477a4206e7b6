"""scikit-learn trees as mixtures, exact for every float64 input."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from moet.errors import ModelError
from moet.model.mixture import Mixture
from moet.model.regression.mixture import RegressionMixture
from moet.model.regression.tree import RegressionTree
from moet.model.tree import LEAF, Tree


def mixture_of_tree(tree: DecisionTreeClassifier) -> Mixture:
    """Build the one-expert mixture that answers as ``tree`` does (see ``Mixture.from_sklearn``)."""
    if not isinstance(tree, DecisionTreeClassifier):
        raise ModelError(f"expected a fitted DecisionTreeClassifier, got {type(tree).__name__}")
    check_is_fitted(tree)
    if tree.n_outputs_ != 1:
        raise ModelError(f"the tree has {tree.n_outputs_} outputs; a mixture has one")
    expert = Tree(**_tests(tree.tree_), value=tree.tree_.value[:, 0, :])
    return Mixture(
        np.zeros((1, tree.n_features_in_)), np.zeros(1), [expert], tree.classes_, feature_names=_feature_names(tree)
    )


def regression_mixture_of_tree(tree: DecisionTreeRegressor) -> RegressionMixture:
    """Build the one-expert mixture that answers as ``tree`` does (see ``RegressionMixture.from_sklearn``)."""
    if not isinstance(tree, DecisionTreeRegressor):
        raise ModelError(f"expected a fitted DecisionTreeRegressor, got {type(tree).__name__}")
    check_is_fitted(tree)
    expert = RegressionTree(**_tests(tree.tree_), value=tree.tree_.value[:, :, 0])
    return RegressionMixture(
        np.zeros((1, tree.n_features_in_)),
        np.zeros(1),
        [expert],
        outputs=[f"u{o}" for o in range(tree.n_outputs_)],
        feature_names=_feature_names(tree),
    )


def _tests(fitted: Any) -> dict[str, NDArray[Any]]:
    return {
        "feature": np.where(fitted.children_left == -1, LEAF, fitted.feature),
        "threshold": float64_thresholds(fitted.threshold),
        "left": fitted.children_left,
        "right": fitted.children_right,
    }


def _feature_names(tree: Any) -> list[str] | None:
    names = getattr(tree, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def float64_thresholds(threshold: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest float64 numbers x for which ``float32(x) <= threshold``."""
    below = threshold.astype(np.float32)
    below = np.where(below > threshold, np.nextafter(below, np.float32(-np.inf)), below)
    above = np.nextafter(below, np.float32(np.inf))
    middle = (below.astype(np.float64) + above.astype(np.float64)) / 2
    # float32 rounds the middle to the neighbour with an even last digit
    even = below.view(np.int32) % 2 == 0
    separator = np.where(even, middle, np.nextafter(middle, -np.inf))
    # scikit-learn's infinite threshold parts missing values from all others, and a mixture sees only the others
    return np.minimum(separator, np.finfo(np.float64).max)
