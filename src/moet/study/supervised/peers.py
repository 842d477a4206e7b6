"""Verifiable models of other packages, which need not be installed."""

from __future__ import annotations

from typing import Any

from moet.study.supervised.models import Model, Params, grid


def _ebm(params: Params, seed: int, n_classes: int) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(**params, n_jobs=1, random_state=seed)


def _figs(params: Params, seed: int, n_classes: int) -> Any:
    from imodels import FIGSClassifier

    return FIGSClassifier(**params, random_state=seed)


def _linear_tree(params: Params, seed: int, n_classes: int) -> Any:
    from lineartree import LinearTreeClassifier
    from sklearn.linear_model import LogisticRegression

    return LinearTreeClassifier(LogisticRegression(C=0.1, max_iter=2000), **params, max_bins=10)


def _optimal_tree(params: Params, seed: int, n_classes: int) -> Any:
    from pystreed import STreeDClassifier

    return STreeDClassifier("cost-complex-accuracy", **params, time_limit=120, random_seed=seed)


def _linear_tree_obstacle() -> str | None:
    from sklearn.base import BaseEstimator

    if hasattr(BaseEstimator, "_validate_data"):
        return None
    return "linear-tree calls BaseEstimator._validate_data, which this scikit-learn no longer has"


PEERS: dict[str, Model] = {
    "ebm": Model("EBM (interpret)", _ebm, grid(), features="as they are", package="interpret"),  # its defaults
    "figs": Model("FIGS (imodels)", _figs, grid(max_rules=[8, 16, 30]), package="imodels", most_classes=2),
    "linear_tree": Model(
        "linear tree (linear-tree)",
        _linear_tree,
        grid(max_depth=[1, 2], min_samples_leaf=[50]),
        features="scaled",
        package="lineartree",
        obstacle=_linear_tree_obstacle,
        most_rows=10_000,
    ),
    "optimal_tree": Model(
        "optimal tree (pystreed)",
        _optimal_tree,
        grid(max_depth=[3], n_thresholds=[20], cost_complexity=[0.001, 0.005]),
        package="pystreed",
    ),
}
"""Imported only when asked for: the packages are large and none of ours needs them."""
