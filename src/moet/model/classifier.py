"""The scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from moet.errors import InputError
from moet.model.constraints import Columns, among, columns_of, kept_features, signs_of, widened
from moet.model.grow import Criterion
from moet.model.init import Init
from moet.model.mixture import Mixture, Prediction
from moet.model.overlooked import warn_if_small, warn_of_classes_never_found
from moet.model.procedure import TRAINERS, with_budget, with_probabilities
from moet.model.recipe import Watch, most_rounds
from moet.model.rows import (
    generator_of,
    group_numbers,
    in_units_of_mean_weight,
    refuse_no_weight,
    refuse_numbers,
    rows_to_answer,
    rows_to_fit,
)
from moet.model.settings import Settings, Training
from moet.model.solve import GateSolver
from moet.model.table import Table, canonical_table
from moet.model.threads import one_thread
from moet.progress import progress_bar

Callback = Callable[[int, float, Mixture], None]


class MoETClassifier(ClassifierMixin, BaseEstimator):
    """Mixture of expert trees: decision trees behind a linear softmax gate, trained by EM.

    Parameters
    ----------
    n_experts : int, default=4
        Number of experts, the paper's E.
    max_depth : int or None, default=3
        Deepest tree; 0 makes every expert a single leaf, None sets no limit.
    prediction : {"soft", "hard"}, default="soft"
        ``"soft"`` averages the experts weighted by the gate (MoËT); ``"hard"`` asks only the most probable expert
        (MoËT_h), which is what can be proved and exported. Training selects the model by the mode given here.
    training : {"em", "boosting"}, default="em"
        ``"em"`` grows all experts together, each on the rows it is responsible for. ``"boosting"``, for soft
        mixtures, grows them one after another on what is still answered wrongly, then fits gate and leaves together;
        leaves then hold shares of votes, and the mixture's ``sharpness`` makes probabilities of them.
    criterion : {"gini", "entropy"}, default="gini"
        Impurity that splits reduce.
    min_samples_leaf : float, default=None
        Least total weight of a leaf. By default 5 typical rows (0.5 % of a table of fewer than 1,000 distinct rows)
        during EM, and 1, 5 or 20, chosen on held-out rows, in the hard phase.
    min_impurity_decrease : float, default=0.0
        Least decrease of impurity for a split, as in scikit-learn.
    ccp_alpha : float, default=0.0
        Complexity parameter of minimal cost-complexity pruning, as in scikit-learn.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the sample weights; "balanced" counts rows, not weights, as in scikit-learn.
    init : {"race", "random", "kmeans", "linear"}, default="race"
        Where the gate starts. ``"race"`` tries several kinds in turn, ``"random"`` is the paper's, ``"kmeans"``
        clusters (x, y), ``"linear"`` starts from a linear policy. Boosting starts from logistic regression, carried by
        one expert per class, with ``"linear"``, and from a uniform gate otherwise.
    n_init : int, default=8
        Number of starting points. With more than one they are raced on a sample of the rows, and the best two run;
        ``init="race"`` then adds the best single feature, cut into intervals, to the hard phase.
    gate_solver : {"likelihood", "lbfgs", "newton", "gradient", "adam"}, default="likelihood"
        How the gate improves in each round: L-BFGS on the likelihood of the mixture; L-BFGS, Newton, a gradient step
        or an Adam step on the paper's Σ h log g.
    gate_l2 : float, default=1e-4
        Ridge penalty on the gate's standardised parameters, per unit of mean log-likelihood.
    learning_rate, learning_rate_decay : float, default=0.3 and 0.97
        Step of ``"gradient"`` and ``"adam"``, and its factor after each round; with boosting, the share of its best
        step that each tree takes.
    max_samples, max_features : float, default=1.0
        With boosting, the share of the rows and of the features that each tree is grown on, drawn anew for each.
    max_iter : int, default=4
        Rounds of EM on all rows; with boosting, of L-BFGS on gate and leaves.
    tol : float, default=1e-4
        EM stops when the mean log-likelihood changes by less, and either phase when four rounds have not improved the
        score on held-out rows. 0 runs all rounds.
    hard_iter : int, default=8
        Rounds of the hard phase: trees regrown on the rows that the gate gives them, gate refitted to who is right.
    validation_fraction : float, default=0.2
        Share of the distinct rows (20,000 at most) held out to choose the best round. A row and its copies, or a whole
        group, are never on both sides; rows that several groups have in common count in each. The trees of the chosen
        round are regrown on all rows, unless ``hard_iter=0``. Tables of fewer than 1,000 distinct rows hold nothing
        out.
    ignore : list of columns, default=None
        Columns that the model must not look at: their names in a DataFrame, their numbers in an array. Features
        ``name=value`` are of the column ``name``. :func:`moet.verify.ignores` then proves it.
    monotone : dict of column to 1 or -1, default=None
        With two classes and ``training="em"``: more of the column never takes the second class away (1), or the first
        (-1). The gate is blind to such a column. :func:`moet.verify.monotone` then proves it.
    gate_columns : int, default=None
        Most columns that the gate may look at: those that move it most are kept, and the training starts anew.
    random_state : int, RandomState or None, default=None
        The same seed gives the identical model.
    callback : callable, default=None
        Called as ``callback(epoch, log_likelihood, mixture)`` after every round on all rows.
    verbose : int, default=0
        1 shows a progress bar on stderr.

    Attributes
    ----------
    mixture_ : Mixture
        The fitted model.
    classes_ : array
        Labels.
    n_features_in_, feature_names_in_
        As in every scikit-learn estimator.
    n_iter_ : int
        Rounds of the run that gave the model.
    converged_ : bool
        Whether its EM met ``tol``.
    log_likelihoods_ : list of float
        Mean log-likelihood per round of that run.

    References
    ----------
    - Vasić, M., et al. *MoËT: Mixture of Expert Trees and its Application to Verifiable Reinforcement Learning.* Neural
      Networks 151, 2022.
    - Jordan, M., R. Jacobs. *Hierarchical Mixtures of Experts and the EM Algorithm.* Neural Computation 6, 1994.
    - Breiman, L., J. Friedman, R. Olshen, C. Stone. *Classification and Regression Trees.* Wadsworth, 1984.
    - Friedman, J. *Greedy Function Approximation: A Gradient Boosting Machine.* Annals of Statistics 29, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from moet import MoETClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = MoETClassifier(n_experts=2, max_depth=1, prediction="hard", random_state=0).fit(X, y)
    >>> bool(clf.score(X, y) > 0.9)
    True

    Notes
    -----
    The procedure as published: ``init="random", n_init=1, gate_solver="adam", gate_l2=0, min_samples_leaf=1,
    max_iter=50, tol=0, hard_iter=0``.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_experts": [Interval(Integral, 1, None, closed="left")],
        "max_depth": [Interval(Integral, 0, None, closed="left"), None],
        "prediction": [StrOptions({"soft", "hard"})],
        "training": [StrOptions({"em", "boosting"})],
        "criterion": [StrOptions({"gini", "entropy"})],
        "min_samples_leaf": [Interval(Real, 0, None, closed="left"), None],
        "min_impurity_decrease": [Interval(Real, 0, None, closed="left")],
        "ccp_alpha": [Interval(Real, 0, None, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "init": [StrOptions({"race", "random", "kmeans", "linear"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "gate_solver": [StrOptions({"likelihood", "lbfgs", "newton", "gradient", "adam"})],
        "gate_l2": [Interval(Real, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "learning_rate_decay": [Interval(Real, 0, 1, closed="right")],
        "max_samples": [Interval(Real, 0, 1, closed="right")],
        "max_features": [Interval(Real, 0, 1, closed="right")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "hard_iter": [Interval(Integral, 0, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "ignore": ["array-like", None],
        "monotone": [dict, None],
        "gate_columns": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
        "callback": [callable, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_experts: int = 4,
        max_depth: int | None = 3,
        *,
        prediction: Prediction = "soft",
        training: Training = "em",
        criterion: Criterion = "gini",
        min_samples_leaf: float | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        class_weight: Mapping[Any, float] | str | None = None,
        init: Init = "race",
        n_init: int = 8,
        gate_solver: GateSolver = "likelihood",
        gate_l2: float = 1e-4,
        learning_rate: float = 0.3,
        learning_rate_decay: float = 0.97,
        max_samples: float = 1.0,
        max_features: float = 1.0,
        max_iter: int = 4,
        tol: float = 1e-4,
        hard_iter: int = 8,
        validation_fraction: float = 0.2,
        ignore: Sequence[str | int] | None = None,
        monotone: Mapping[str | int, int] | None = None,
        gate_columns: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_experts = n_experts
        self.max_depth = max_depth
        self.prediction = prediction
        self.training = training
        self.criterion = criterion
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.class_weight = class_weight
        self.init = init
        self.n_init = n_init
        self.gate_solver = gate_solver
        self.gate_l2 = gate_l2
        self.learning_rate = learning_rate
        self.learning_rate_decay = learning_rate_decay
        self.max_samples = max_samples
        self.max_features = max_features
        self.max_iter = max_iter
        self.tol = tol
        self.hard_iter = hard_iter
        self.validation_fraction = validation_fraction
        self.ignore = ignore
        self.monotone = monotone
        self.gate_columns = gate_columns
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> MoETClassifier:
        """Fit the mixture.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Of a DataFrame the mixture keeps a :class:`Schema`: strings and categories become features of zeros and
            ones, ordered categories ranks, booleans 0 and 1.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Exactly equivalent to repeating rows; rows of weight 0 are ignored.
        groups : array-like of shape (n_samples,), default=None
            Rows that belong together, such as those of one episode: they are held out together or not at all.
        """
        table, columns, signs = self._read(X, y, sample_weight, groups)
        warn_if_small(self.classes_, self.n_experts, self.max_depth)
        mixture = self._learn(table, columns, signs, calibrate=True)
        if sample_weight is None and self.class_weight is None:
            warn_of_classes_never_found(self.classes_, table, mixture)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def _fit_answers(self, X: ArrayLike, y: ArrayLike) -> MoETClassifier:
        """Fit without probabilities that come true, and without a warning: to compare how sizes answer.

        No answer depends on calibration, and the folds of a small table take most of the time.
        """
        self._learn(*self._read(X, y, None, None), calibrate=False)
        return self

    def _read(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> tuple[Table, Columns, NDArray[np.int8]]:
        """The table that is learned from, the features of each of the user's columns, and directions of those kept."""
        features, y, self._schema = rows_to_fit(self, X, y)
        refuse_numbers(y)
        check_classification_targets(y)
        weight = _check_sample_weight(sample_weight, features, dtype=np.float64, ensure_non_negative=True)
        if self.class_weight is not None:
            weight = weight * compute_sample_weight(self.class_weight, y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        refuse_no_weight(weight)
        group = group_numbers(features, groups)
        self._check_training()
        columns = columns_of(self._schema, getattr(self, "feature_names_in_", None), features.shape[1])
        self._kept = kept_features(columns, self.ignore, features.shape[1])
        signs = signs_of(columns, self.monotone or {}, features.shape[1])[self._kept]
        features = features if len(self._kept) == features.shape[1] else features[:, self._kept]
        labels = codes.astype(np.int32)
        table = canonical_table(np.ascontiguousarray(features), labels, weight, len(self.classes_), group)
        return table, columns, signs

    def _learn(self, table: Table, columns: Columns, signs: NDArray[np.int8], *, calibrate: bool) -> Mixture:
        """Train, and return the mixture over class indices."""
        weighted, unit = in_units_of_mean_weight(table)
        rng = generator_of(self.random_state)
        settings = self._settings(unit, signs)
        trainer = TRAINERS[self.training]
        boosting = self.training == "boosting"
        with one_thread(), self._watch(1 + self.max_iter if boosting else most_rounds(settings)) as watch:
            if self.gate_columns is not None:
                kept_columns = among(columns, self._kept)
                settings = with_budget(weighted, settings, trainer, rng, kept_columns, self.gate_columns)
            trained = trainer(weighted, settings, rng, watch)
            mixture = with_probabilities(trained, weighted, settings, trainer) if calibrate else trained.mixture
        self.mixture_ = self._labelled(mixture)
        self.log_likelihoods_ = trained.log_likelihoods
        self.n_iter_ = len(trained.log_likelihoods)
        self.converged_ = trained.converged
        return mixture

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Label of every row in the prediction mode it was fitted for."""
        votes = self._asked(Mixture.votes, X)
        return self.classes_[votes.argmax(axis=1)]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Class probabilities of every row: gate-weighted if soft, those of the most probable expert if hard."""
        return self._asked(Mixture.predict_proba, X)

    def _asked(
        self, question: Callable[[Mixture, ArrayLike], NDArray[np.float64]], X: ArrayLike
    ) -> NDArray[np.float64]:
        """What the mixture says of rows that are checked as scikit-learn wants it."""
        rows = rows_to_answer(self, X)  # first: it says so if nothing was fitted
        return question(self.mixture_, rows)

    def _check_training(self) -> None:
        """Refuse settings that do not go together."""
        boosting = self.training == "boosting"
        if boosting and (self.prediction == "hard" or self.ccp_alpha > 0):
            raise ValueError("boosted experts vote together: training='boosting' is for prediction='soft', ccp_alpha=0")
        if boosting and self.init == "linear" and self.n_experts < len(self.classes_):
            raise ValueError(
                f"a linear start takes one expert per class: {len(self.classes_)}, n_experts is {self.n_experts}"
            )
        if self.monotone and (boosting or len(self.classes_) > 2):
            raise InputError(
                f"monotone is for training='em' and two classes; this is {self.training!r} with {len(self.classes_)}"
            )
        if not boosting and min(self.max_samples, self.max_features) < 1:
            raise ValueError("EM uses all rows and features: max_samples and max_features are for training='boosting'")
        if not boosting and self.max_iter == 0:
            raise ValueError("EM needs at least one round: max_iter=0 is for training='boosting'")

    def _settings(self, unit: float, signs: NDArray[np.int8]) -> Settings:
        chosen = {name: getattr(self, name) for name in Settings.__dataclass_fields__ if hasattr(self, name)}
        chosen |= {
            "max_depth": np.iinfo(np.int32).max if self.max_depth is None else self.max_depth,
            "min_samples_leaf": None if self.min_samples_leaf is None else self.min_samples_leaf / unit,
            "hidden": tuple((signs != 0).tolist()),
            "signs": tuple(signs.tolist()),
        }
        return Settings(**chosen)

    def _labelled(self, mixture: Mixture) -> Mixture:
        """Give a mixture over class indices the labels and feature names of the table."""
        names = getattr(self, "feature_names_in_", None) if self._schema is None else self._schema.feature_names
        mixture = widened(mixture, self._kept, self.n_features_in_ if names is None else len(names))
        return Mixture(
            mixture.gate_weights,
            mixture.gate_bias,
            mixture.trees,
            self.classes_,
            feature_names=None if names is None else list(names),
            prediction=self.prediction,
            schema=self._schema,
            sharpness=mixture.sharpness,
            offset=mixture.offset,
        )

    @contextmanager
    def _watch(self, most_rounds: int) -> Iterator[Watch]:
        """Count the rounds of a fit and tell the progress bar and the callback of each."""
        with progress_bar("moet fit", most_rounds, shown=self.verbose > 0) as advance:
            epochs = count(1)

            def watch(log_likelihood: float, model: Callable[[], Mixture]) -> None:
                advance(f"log-likelihood {log_likelihood:.4f}")
                if self.callback is not None:
                    self.callback(next(epochs), log_likelihood, self._labelled(model()))

            yield watch
