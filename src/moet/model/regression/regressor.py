"""The scikit-learn estimator."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight

from moet.model.base import Prediction
from moet.model.regression.mixture import RegressionMixture
from moet.model.regression.recipe import Settings, train
from moet.model.rows import (
    generator_of,
    group_numbers,
    in_units_of_mean_weight,
    refuse_labels,
    refuse_no_weight,
    rows_to_answer,
    rows_to_fit,
)
from moet.model.schema import Schema
from moet.model.table import Table, canonical_table
from moet.model.threads import one_thread

Leaf = Literal["affine", "constant"]

Floats = NDArray[np.float64]


class MoETRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Mixture of expert trees with affine or constant leaves behind a linear softmax gate.

    Parameters
    ----------
    n_experts : int, default=2
        Most experts. The model has one if more are no better on held-out rows, and a single law if nothing is better
        than that by more than chance, or by more than a ten-thousandth of the targets' variance.
    max_depth : int or None, default=1
        Deepest tree; 0 makes every expert a single law, None sets no limit.
    leaf : {"affine", "constant"}, default="affine"
        Whether a leaf answers with an affine law of the features or with a constant.
    prediction : {"hard", "soft"}, default="hard"
        ``"hard"`` asks the most probable expert, which can be proved and exported; ``"soft"`` takes the mean of all
        experts weighted by the gate. Training selects the model by the mode given here.
    low, high : array-like of shape (n_outputs,), float or None, default=None
        Bounds that answers are clipped to, such as those of an action. By default the least and largest target. A
        target on a bound is met by any law that is beyond it.
    min_samples_leaf : float, default=None
        Least total weight of a leaf; by default twice the numbers of a law, five at least, less in small tables.
    ridge : float, default=None
        How many rows the law for all rows weighs where a leaf's law is fitted. By default 1 and 50 are tried, and the
        better one on held-out rows is taken; with 1, targets without noise are learned in half the time.
    n_init : int, default=8
        Starting points that are raced; the best two run.
    max_iter, hard_iter, joint_iter : int, default=6, 4 and 100
        Rounds of EM and of the hard phase, and steps of the joint phase, which moves gate and laws together.
    validation_fraction : float, default=0.2
        Share of the distinct rows (10,000 at most) held out to choose the best state of training. A row and its copies,
        or a whole group, are never on both sides. Tables of fewer than 50 distinct rows hold nothing out.
    random_state : int, RandomState or None, default=None
        The same seed gives the identical model.

    Attributes
    ----------
    mixture_ : RegressionMixture
        The fitted model.
    errors_ : list of float
        Squared error on the held-out rows, in units of the targets' variance, of every state that was considered.
    n_iter_ : int
        How many states were considered.
    n_features_in_, feature_names_in_
        As in every scikit-learn estimator.

    References
    ----------
    - Vasić, M., et al. *MoËT: Mixture of Expert Trees and its Application to Verifiable Reinforcement Learning.* Neural
      Networks 151, 2022.
    - Jordan, M., R. Jacobs. *Hierarchical Mixtures of Experts and the EM Algorithm.* Neural Computation 6, 1994.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 201)[:, None]
    >>> model = MoETRegressor(n_experts=2, max_depth=0, random_state=0).fit(x, np.abs(x[:, 0]))
    >>> model.mixture_.size.leaves
    2
    >>> bool(abs(model.predict([[0.5]])[0] - 0.5) < 0.01)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_experts": [Interval(Integral, 1, None, closed="left")],
        "max_depth": [Interval(Integral, 0, None, closed="left"), None],
        "leaf": [StrOptions({"affine", "constant"})],
        "prediction": [StrOptions({"soft", "hard"})],
        "low": ["array-like", Real, None],
        "high": ["array-like", Real, None],
        "min_samples_leaf": [Interval(Real, 0, None, closed="left"), None],
        "ridge": [Interval(Real, 0, None, closed="left"), None],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "hard_iter": [Interval(Integral, 0, None, closed="left")],
        "joint_iter": [Interval(Integral, 0, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_experts: int = 2,
        max_depth: int | None = 1,
        *,
        leaf: Leaf = "affine",
        prediction: Prediction = "hard",
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        min_samples_leaf: float | None = None,
        ridge: float | None = None,
        n_init: int = 8,
        max_iter: int = 6,
        hard_iter: int = 4,
        joint_iter: int = 100,
        validation_fraction: float = 0.2,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_experts = n_experts
        self.max_depth = max_depth
        self.leaf = leaf
        self.prediction = prediction
        self.low = low
        self.high = high
        self.min_samples_leaf = min_samples_leaf
        self.ridge = ridge
        self.n_init = n_init
        self.max_iter = max_iter
        self.hard_iter = hard_iter
        self.joint_iter = joint_iter
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> MoETRegressor:
        """Fit the mixture.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Of a DataFrame the mixture keeps a :class:`Schema`, as in :meth:`MoETClassifier.fit`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The names of a DataFrame's columns, or of a Series, become those of the outputs.
        sample_weight : array-like of shape (n_samples,), default=None
            Exactly equivalent to repeating rows; rows of weight 0 are ignored.
        groups : array-like of shape (n_samples,), default=None
            Rows that belong together, such as those of one episode: they are held out together or not at all.
        """
        names = _names_of(y)
        refuse_labels(y)
        X, y, schema = rows_to_fit(self, X, y, multi_output=True, y_numeric=True)
        self._one_column = np.ndim(y) == 1
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        targets = np.asarray(y, dtype=np.float64).reshape(len(weight), -1)
        refuse_no_weight(weight)
        table, targets = _canonical(np.asarray(X), targets, weight, group_numbers(X, groups))
        low, high = (
            _bound(bound, name, targets, default)
            for bound, name, default in ((self.low, "low", np.min), (self.high, "high", np.max))
        )
        _check_bounds(low, high, targets)
        table, unit = in_units_of_mean_weight(table)
        rng = generator_of(self.random_state)
        with one_thread():
            mixture, self.errors_ = train(table, targets, low, high, self._settings(unit), rng)
        self.n_iter_ = len(self.errors_)
        self.mixture_ = self._named(mixture, names, schema)
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Outputs of every row: one column, or (n, n_outputs), as ``y`` was."""
        rows = rows_to_answer(self, X)
        outputs = self.mixture_.predict(rows)
        return outputs[:, 0] if self._one_column else outputs

    def _settings(self, unit: float) -> Settings:
        leaf = self.min_samples_leaf
        return Settings(
            n_experts=self.n_experts,
            max_depth=np.iinfo(np.int32).max if self.max_depth is None else self.max_depth,
            affine=self.leaf == "affine",
            soft=self.prediction == "soft",
            min_samples_leaf=None if leaf is None else leaf / unit,
            ridge=None if self.ridge is None else float(self.ridge),
            n_init=self.n_init,
            max_iter=self.max_iter,
            hard_iter=self.hard_iter,
            joint_iter=self.joint_iter,
            validation_fraction=self.validation_fraction,
        )

    def _named(self, mixture: RegressionMixture, outputs: list[str], schema: Schema | None) -> RegressionMixture:
        """Give a mixture the names of the table's columns."""
        names = getattr(self, "feature_names_in_", None)
        features = names if schema is None else schema.feature_names
        return RegressionMixture(
            mixture.gate_weights,
            mixture.gate_bias,
            mixture.trees,
            outputs if len(set(outputs)) == mixture.n_outputs else mixture.outputs,
            mixture.low,
            mixture.high,
            feature_names=None if features is None else list(features),
            prediction=mixture.prediction,
            schema=schema,
        )


def _names_of(y: Any) -> list[str]:
    """Names of the columns of a table of targets, or of a single one; none of an array."""
    name = getattr(y, "name", None)
    return [name] if isinstance(name, str) and name else [str(column) for column in getattr(y, "columns", [])]


def _canonical(X: Floats, targets: Floats, weight: Floats, group: NDArray[np.intp] | None) -> tuple[Table, Floats]:
    """Distinct rows in canonical order, and their targets."""
    used = weight > 0
    labels = np.zeros(len(X), dtype=np.int32)
    distinct = targets[used] + 0.0  # -0.0 is 0.0
    if targets.shape[1] == 1:  # sorting numbers is several times as fast as sorting rows
        distinct, labels[used] = np.unique(distinct[:, 0], return_inverse=True)
        distinct = distinct[:, None]
    else:
        distinct, codes = np.unique(distinct, axis=0, return_inverse=True)
        labels[used] = codes.ravel()
    table = canonical_table(X, labels, weight, len(distinct), group)
    targets = distinct[table.y]
    return Table(table.X, table.rows, np.zeros(len(table), dtype=np.int32), table.weight, table.groups, 1), targets


def _bound(bound: Any, name: str, targets: Floats, default: Any) -> Floats:
    if bound is None:
        return default(targets, axis=0)
    bounds = np.asarray(bound, dtype=np.float64)
    if bounds.shape not in ((), (targets.shape[1],)):
        raise ValueError(f"{name} must be one number or one per output ({targets.shape[1]}), got {bound!r}")
    return np.broadcast_to(bounds, targets.shape[1]).copy()


def _check_bounds(low: Floats, high: Floats, targets: Floats) -> None:
    with np.errstate(over="ignore"):
        if not np.all(np.isfinite(targets.max(axis=0) - targets.min(axis=0))):
            raise ValueError("the range of the targets exceeds that of float64: express them in larger units")
    if not np.all(low <= high):
        raise ValueError(f"low must not exceed high, got {low.tolist()} and {high.tolist()}")
    beyond = (targets < low) | (targets > high)
    if beyond.any():
        raise ValueError(
            f"{int(beyond.any(axis=1).sum())} targets are beyond the bounds low={low.tolist()}, high={high.tolist()}, "
            f"which no answer can be: clip the targets, or widen the bounds"
        )
