"""The one artefact: a frozen mixture of expert trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError, ModelError
from moet.model.flat import FlatMixture
from moet.model.route import leaf_of_state
from moet.model.tree import Tree, frozen_floats

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier

Prediction = Literal["hard", "soft"]
"""``"hard"``: the most probable expert answers (MoËT_h). ``"soft"``: the experts vote, weighted by the gate (MoËT)."""


class Size(NamedTuple):
    """How large a mixture is, gate included."""

    experts: int
    leaves: int
    nodes: int
    depth: int
    gate_numbers: int


@dataclass(frozen=True, eq=False)
class Mixture:
    """Decision trees behind a linear softmax gate.

    Parameters
    ----------
    gate_weights : array of float, shape (n_experts, n_features)
        The paper's θ_g, in raw feature units.
    gate_bias : array of float, shape (n_experts,)
        The gate's intercepts: logit_j = bias_j + w_j·x.
    trees : sequence of Tree
        One per expert. All have one column of ``value`` per entry of ``classes``.
    classes : sequence
        Labels in the order of the trees' columns: all strings, all integers, all floats or all booleans.
    feature_names : sequence of str, optional
        ``x0``, ``x1``, ... by default.
    prediction : {"hard", "soft"}
        Which meaning :meth:`predict` and :meth:`act` use.
    provenance : mapping, optional
        Where the model comes from, as JSON values. It is kept in model files but is no part of the model: neither
        equality nor digest looks at it.
    """

    gate_weights: NDArray[np.float64]
    gate_bias: NDArray[np.float64]
    trees: tuple[Tree, ...]
    classes: NDArray[Any]
    feature_names: tuple[str, ...] = ()
    prediction: Prediction = "hard"
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __init__(
        self,
        gate_weights: ArrayLike,
        gate_bias: ArrayLike,
        trees: Iterable[Tree],
        classes: ArrayLike,
        feature_names: Sequence[str] | None = None,
        prediction: Prediction = "hard",
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        weights = frozen_floats(gate_weights, "gate_weights", 2)
        names = tuple(f"x{k}" for k in range(weights.shape[1])) if feature_names is None else tuple(feature_names)
        fields = {
            "gate_weights": weights,
            "gate_bias": frozen_floats(gate_bias, "gate_bias", 1),
            "trees": tuple(trees),
            "classes": _labels(classes),
            "feature_names": names,
            "prediction": prediction,
            "provenance": dict(provenance or {}),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        _check(self)

    @classmethod
    def from_sklearn(cls, tree: DecisionTreeClassifier) -> Mixture:
        """Wrap a fitted scikit-learn decision tree as a mixture with one expert.

        scikit-learn rounds inputs to float32 before it compares them with its float64 thresholds; a mixture compares
        float64 values. Each threshold is therefore moved (by less than one float32 step) to the float64 number that
        separates exactly the inputs scikit-learn would separate, so both give the same answer for every input within
        the range of float32.
        """
        from moet.model.from_sklearn import mixture_of_tree

        return mixture_of_tree(tree)

    @property
    def n_experts(self) -> int:
        """Number of experts, the paper's E."""
        return len(self.trees)

    @property
    def n_features(self) -> int:
        """Number of features a state has."""
        return self.gate_weights.shape[1]

    @property
    def size(self) -> Size:
        """Leaves, nodes, deepest path, and the gate's numbers (none for a single expert)."""
        return Size(
            experts=self.n_experts,
            leaves=sum(tree.n_leaves for tree in self.trees),
            nodes=sum(tree.n_nodes for tree in self.trees),
            depth=max(tree.depth for tree in self.trees),
            gate_numbers=self.n_experts * (self.n_features + 1) if self.n_experts > 1 else 0,
        )

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Label of every row, in the meaning chosen by ``prediction``."""
        return self.predict_hard(X) if self.prediction == "hard" else self.predict_soft(X)

    def predict_hard(self, X: ArrayLike) -> NDArray[Any]:
        """Label given by the most probable expert of every row (MoËT_h)."""
        _, leaf = self._leaves(X)
        return self.classes[self._flat.leaf_class[leaf]]

    def predict_soft(self, X: ArrayLike) -> NDArray[Any]:
        """Label of largest gate-weighted probability of every row (MoËT)."""
        return self.classes[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Gate-weighted class probabilities P(y|x) = Σ_j g_j(x) P(y|x, θ_j)."""
        proba = self._flat.soft_proba(self._rows(X))
        if not np.all(np.isfinite(proba)):
            raise InputError("the gate overflows on this input: its logits exceed the range of float64")
        return proba

    def predict_proba_hard(self, X: ArrayLike) -> NDArray[np.float64]:
        """Class probabilities of the most probable expert of every row."""
        _, leaf = self._leaves(X)
        return self._flat.value[leaf]

    def expert(self, X: ArrayLike) -> NDArray[np.int32]:
        """Index of the most probable expert of every row: the first one with the largest logit."""
        expert, _ = self._leaves(X)
        return expert

    def act(self, x: ArrayLike) -> Any:
        """Label of one state; the fast path of :meth:`predict` for control loops."""
        state = _input_array(x)
        if state.shape != self.gate_weights.shape[1:]:
            raise InputError(f"a state of this model has {self.n_features} numbers, got shape {state.shape}")
        if self.prediction == "soft":
            return self._label_list[int(self.predict_proba(state[None, :])[0].argmax())]
        leaf = leaf_of_state(state, *self._flat.routing)
        if leaf < 0:
            raise InputError(f"a state must be finite, got {state.tolist()}")
        return self._leaf_labels[leaf]

    def prune(self) -> Mixture:
        """Return a mixture with the same answer everywhere and without what cannot matter, hard or soft as this one.

        See :func:`moet.model.prune.prune_mixture` for what is removed.

        Examples
        --------
        >>> from moet import Mixture, Tree
        >>> split = Tree([0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [[0.7, 0.3], [0.9, 0.1], [0.6, 0.4]])
        >>> Mixture([[0.0]], [0.0], [split], ["no", "yes"]).prune()
        Mixture(1 expert, 1 leaf, depth 0, 1 feature, 2 classes, hard)
        """
        from moet.model.prune import prune_mixture

        return prune_mixture(self)

    def rebuilt(self, gate_weights: ArrayLike, gate_bias: ArrayLike, trees: Iterable[Tree]) -> Mixture:
        """Return a mixture with another gate and other trees, and everything else as it is here."""
        fields = {name: getattr(self, name) for name in ("classes", "feature_names", "prediction", "provenance")}
        return Mixture(gate_weights, gate_bias, trees, **fields)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mixture):
            return NotImplemented
        return (
            np.array_equal(self.gate_weights, other.gate_weights)
            and np.array_equal(self.gate_bias, other.gate_bias)
            and self.trees == other.trees
            and self.classes.dtype.kind == other.classes.dtype.kind
            and np.array_equal(self.classes, other.classes)
            and self.feature_names == other.feature_names
            and self.prediction == other.prediction
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        size = self.size
        counts = (
            (size.experts, "expert", "experts"),
            (size.leaves, "leaf", "leaves"),
            (self.n_features, "feature", "features"),
            (len(self.classes), "class", "classes"),
        )
        experts, leaves, features, classes = (f"{n} {one if n == 1 else many}" for n, one, many in counts)
        return f"Mixture({experts}, {leaves}, depth {size.depth}, {features}, {classes}, {self.prediction})"

    def _repr_html_(self) -> str:
        from moet.notebook import mixture_html

        return mixture_html(self)

    def __reduce__(self) -> tuple[Any, ...]:
        # by construction, so that the arrays of a copy are checked and read-only too
        return Mixture, tuple(getattr(self, name) for name in self.__dataclass_fields__)

    @cached_property
    def _flat(self) -> FlatMixture:
        return FlatMixture.of(self.gate_weights, self.gate_bias, self.trees)

    @cached_property
    def _label_list(self) -> list[Any]:
        return self.classes.tolist()

    @cached_property
    def _leaf_labels(self) -> list[Any]:
        return [self._label_list[c] for c in self._flat.leaf_class]

    def _leaves(self, X: ArrayLike) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        return self._flat.leaves(self._rows(X))

    def _rows(self, X: ArrayLike) -> NDArray[np.float64]:
        rows = _input_array(X)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise InputError(f"expected rows of {self.n_features} features, got an array of shape {rows.shape}")
        if not np.all(np.isfinite(rows)):
            raise InputError("the input contains NaN or infinity; a model answers for finite numbers only")
        return rows


def _input_array(values: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"the input must be an array of numbers: {error}") from None


def _labels(classes: ArrayLike) -> NDArray[Any]:
    try:
        labels = np.array(classes)
    except ValueError as error:
        raise ModelError(f"classes must be a list of labels: {error}") from None
    # numpy turns [1, "a"] into strings, so ask the entries themselves
    if all(isinstance(label, str) for label in np.array(classes, dtype=object).ravel()):
        labels = labels.astype(np.str_)
    elif labels.dtype.kind not in _NUMERIC_LABELS:
        raise ModelError(f"classes must be all strings or all numbers, got {classes!r}")
    else:
        if not np.all(np.isfinite(labels)):
            raise ModelError("classes must be finite")
        numbers, labels = labels, labels.astype(_NUMERIC_LABELS[labels.dtype.kind])
        if not np.array_equal(numbers, labels):
            raise ModelError(f"classes must fit in 64 bits, got {numbers.tolist()}")
    if labels.ndim != 1 or len(labels) == 0:
        raise ModelError(f"classes must be a list with at least one label, got {classes!r}")
    if len(np.unique(labels)) != len(labels):
        raise ModelError(f"classes must differ from one another, got {labels.tolist()}")
    labels.flags.writeable = False
    return labels


_NUMERIC_LABELS: dict[str, type[np.generic]] = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}


def _check(mixture: Mixture) -> None:
    n_experts, n_features = mixture.gate_weights.shape
    for name in ("gate_weights", "gate_bias"):
        if not np.all(np.isfinite(getattr(mixture, name))):
            raise ModelError(f"{name} must be finite")
    if n_experts == 0 or n_features == 0:
        raise ModelError(f"a mixture needs at least one expert and one feature, got {n_experts} and {n_features}")
    if mixture.gate_bias.shape != (n_experts,) or len(mixture.trees) != n_experts:
        raise ModelError(
            f"gate_weights is for {n_experts} experts, gate_bias has shape {mixture.gate_bias.shape} "
            f"and there are {len(mixture.trees)} trees"
        )
    for j, tree in enumerate(mixture.trees):
        if not isinstance(tree, Tree):
            raise ModelError(f"tree {j} is a {type(tree).__name__}, not a Tree")
        if tree.n_classes != len(mixture.classes):
            raise ModelError(f"tree {j} has {tree.n_classes} class columns, the mixture {len(mixture.classes)} classes")
        if tree.feature.max() >= n_features:
            raise ModelError(f"tree {j} tests feature {tree.feature.max()}, the gate has {n_features} features")
    names = mixture.feature_names
    if len(names) != n_features or not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise ModelError(f"feature_names must be {n_features} different strings, got {list(names)}")
    if mixture.prediction not in get_args(Prediction):
        raise ModelError(f"prediction must be 'hard' or 'soft', got {mixture.prediction!r}")
