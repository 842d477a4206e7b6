"""The models that are compared, each with the settings it is tuned over, simple ones first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from moet.distill.distilled_classifier import DistilledClassifier
from moet.model.classifier import MoETClassifier
from moet.model.large import CAREFUL_VOTES, VOTES
from moet.model.recipe import SMALL_TABLE
from moet.study.supervised.encode import Features

Kind = Literal["verifiable", "reference"]
"""Whether a model is small and simple enough for proofs, or only says what could be reached."""

Params = dict[str, Any]


@dataclass(frozen=True)
class Model:
    """A family of models and its grid.

    Attributes
    ----------
    name : str
        As in the tables.
    build : callable
        Makes an unfitted estimator from settings, a seed and the number of classes.
    grid : sequence of dict
        The settings to choose from.
    kind : {"verifiable", "reference"}
        See :data:`Kind`.
    features : {"one-hot", "scaled", "as they are"}
        See :data:`moet.study.supervised.encode.Features`.
    package : str or None
        Package that must be installed for it.
    small_grid : sequence of dict or None
        The settings for a small table, if they differ.
    obstacle : callable or None
        Says why the package cannot be used although it is installed, or None.
    most_rows, most_classes : int
        Larger tables are left out, because a fit takes minutes or the package knows two classes only.
    """

    name: str
    build: Callable[[Params, int, int], Any]
    grid: tuple[Params, ...]
    kind: Kind = "verifiable"
    features: Features = "one-hot"
    package: str | None = None
    small_grid: tuple[Params, ...] | None = None
    obstacle: Callable[[], str | None] | None = None
    most_rows: int = 10**9
    most_classes: int = 10**9

    def grid_for(self, n_rows: int) -> tuple[Params, ...]:
        """Return the settings to choose from for a table of so many training rows."""
        return self.grid if self.small_grid is None or n_rows >= SMALL_TABLE else self.small_grid


def grid(**choices: Iterable[Any]) -> tuple[Params, ...]:
    """All combinations, the last setting varying fastest."""
    return tuple(dict(zip(choices, values, strict=True)) for values in product(*choices.values()))


def _tree(params: Params, seed: int, n_classes: int) -> Any:
    return DecisionTreeClassifier(**params, random_state=seed)


def _ridge(params: Params, seed: int, n_classes: int) -> Any:
    return LogisticRegression(**params, max_iter=2000)


def _lasso(params: Params, seed: int, n_classes: int) -> Any:
    lasso = LogisticRegression(**params, l1_ratio=1.0, solver="liblinear", max_iter=2000, random_state=seed)
    return lasso if n_classes == 2 else OneVsRestClassifier(lasso)


def _svc(params: Params, seed: int, n_classes: int) -> Any:
    return LinearSVC(**params, dual=False, random_state=seed)


def _moet(params: Params, seed: int, n_classes: int) -> Any:
    return MoETClassifier(**params, prediction="soft", random_state=seed)


def _moet_hard(params: Params, seed: int, n_classes: int) -> Any:
    return DistilledClassifier(MoETClassifier(**params, prediction="hard"), random_state=seed)


def _distilled_tree(params: Params, seed: int, n_classes: int) -> Any:
    return DistilledClassifier(DecisionTreeClassifier(**params), random_state=seed)


def _boosting(params: Params, seed: int, n_classes: int) -> Any:
    return HistGradientBoostingClassifier(**params, random_state=seed)


def _forest(params: Params, seed: int, n_classes: int) -> Any:
    return RandomForestClassifier(100, **params, random_state=seed, n_jobs=1)


_FITTED_VOTES = VOTES | {"min_samples_leaf": 5, "max_iter": 10, "tol": 0.0, "gate_l2": 0.003}
"""Smaller leaves, then gate and leaves fitted together."""

MODELS: dict[str, Model] = {
    "moet": Model(
        "MoËT",
        _moet,
        (VOTES, _FITTED_VOTES),
        small_grid=(CAREFUL_VOTES,),  # one setting, because 150 rows to choose by choose badly
    ),
    "moet_h": Model(
        "MoËT_h",
        _moet_hard,
        grid(n_experts=[4, 8], max_depth=[4, 5]),
        small_grid=grid(n_experts=[4], max_depth=[2]),
    ),
    "distilled_tree": Model(
        "distilled tree",
        _distilled_tree,
        grid(max_leaf_nodes=[64, 128], min_samples_leaf=[5]),
        small_grid=grid(max_leaf_nodes=[16], min_samples_leaf=[5]),
    ),
    "tree": Model("decision tree", _tree, grid(max_depth=[4, 7, 10, 15], min_samples_leaf=[5, 20, 50])),
    "ridge": Model("ridge logistic regression", _ridge, grid(C=[0.001, 0.01, 0.1, 1, 10]), features="scaled"),
    "lasso": Model("lasso logistic regression", _lasso, grid(C=[0.01, 0.03, 0.1, 1]), features="scaled"),
    "svc": Model("linear SVC", _svc, grid(C=[1e-4, 1e-3, 0.01, 0.1]), features="scaled"),
    "boosting": Model(
        "gradient boosting",
        _boosting,
        grid(learning_rate=[0.05, 0.1], max_iter=[200], max_leaf_nodes=[15]),
        kind="reference",
    ),
    "forest": Model("random forest", _forest, grid(min_samples_leaf=[2, 5]), kind="reference"),
}
