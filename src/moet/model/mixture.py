"""The one artefact: a frozen mixture of expert trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError, ModelError
from moet.model.base import BaseMixture, check_gate_and_trees
from moet.model.base import Prediction as Prediction
from moet.model.base import Size as Size
from moet.model.tree import Tree

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier

    from moet.model.flat import FlatMixture, Routing
    from moet.model.schema import Schema

Sharpness = float | tuple[float, ...]
"""What votes are multiplied by before they become probabilities: by one number, or by that of the class they elect."""

LEAST_LEAD = 1e-6
"""By so much the logarithm of the answer's probability stays ahead of the others' where an offset would turn them."""


@dataclass(frozen=True, eq=False)
class Mixture(BaseMixture):
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
    schema : Schema, optional
        The columns of the user's table, and the features that each became. With one, :meth:`predict` also takes a
        DataFrame of these columns.
    sharpness : float, or sequence of one per class, optional
        Of a soft mixture: its probabilities are the softmax of its votes times this number, or the one of the class
        that it answers. By default the votes are the probabilities. The answer, the first largest vote, is the same.
    offset : sequence of one float per class, optional
        With sharpness: how much the logarithm of the probability of that answer is raised above the others', which stay
        below it. Answers that are often right even where votes are nearly equal have one above 0.

    References
    ----------
    - Vasić, M., et al. *MoËT: Mixture of Expert Trees and its Application to Verifiable Reinforcement Learning.* Neural
      Networks 151, 2022.
    - Jordan, M., R. Jacobs. *Hierarchical Mixtures of Experts and the EM Algorithm.* Neural Computation 6, 1994.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> model.predict([[1, 1], [-3, 0]])
    array(['up', 'down'], dtype='<U4')
    """

    gate_weights: NDArray[np.float64]
    gate_bias: NDArray[np.float64]
    trees: tuple[Tree, ...]
    classes: NDArray[Any]
    feature_names: tuple[str, ...] = ()
    prediction: Prediction = "hard"
    provenance: Mapping[str, Any] = field(default_factory=dict)
    schema: Schema | None = None
    sharpness: Sharpness | None = None
    offset: tuple[float, ...] | None = None

    def __init__(
        self,
        gate_weights: ArrayLike,
        gate_bias: ArrayLike,
        trees: Iterable[Tree],
        classes: ArrayLike,
        feature_names: Sequence[str] | None = None,
        prediction: Prediction = "hard",
        provenance: Mapping[str, Any] | None = None,
        schema: Schema | None = None,
        sharpness: float | Sequence[float] | None = None,
        offset: Sequence[float] | None = None,
    ) -> None:
        answers = {"classes": _labels(classes), "sharpness": sharpness, "offset": offset}
        self._freeze(gate_weights, gate_bias, trees, feature_names, prediction, provenance, schema, **answers)
        check_gate_and_trees(self, Tree)
        _check_columns(self)
        _check_sharpness(self)
        _check_offset(self)

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

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Label of every row, in the meaning chosen by ``prediction``.

        Of a model with a schema rows are features, a DataFrame of the user's columns, or rows in the user's words: one,
        or a list of them, each a dict, a Series, or a text (``"Age=34, Sex=female"``, ``"german.csv:17"``).
        """
        return self.predict_hard(X) if self.prediction == "hard" else self.predict_soft(X)

    def predict_hard(self, X: ArrayLike) -> NDArray[Any]:
        """Label given by the most probable expert of every row (MoËT_h)."""
        _, leaf = self._leaves(X)
        return self.classes[self._flat.leaf_class[leaf]]

    def predict_soft(self, X: ArrayLike) -> NDArray[Any]:
        """Label of largest gate-weighted probability of every row (MoËT)."""
        return self.classes[self._soft_votes(X).argmax(axis=1)]

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Class probabilities of every row in the mixture's own prediction mode, as :meth:`predict` has its labels."""
        return self.predict_proba_hard(X) if self.prediction == "hard" else self.predict_proba_soft(X)

    def predict_proba_soft(self, X: ArrayLike) -> NDArray[np.float64]:
        """Gate-weighted class probabilities P(y|x) = Σ_j g_j(x) P(y|x, θ_j), sharpened if the mixture says so."""
        votes = self._soft_votes(X)
        return votes if self.sharpness is None else sharpened(votes, self.sharpness, self.offset)

    def votes(self, X: ArrayLike) -> NDArray[np.float64]:
        """Shares of the classes in the vote of every row: its answer is the first largest.

        They are the probabilities of a mixture without ``sharpness``.
        """
        return self.predict_proba_hard(X) if self.prediction == "hard" else self._soft_votes(X)

    def _soft_votes(self, X: ArrayLike) -> NDArray[np.float64]:
        votes = self._flat.soft_votes(self._rows(X))
        if not np.all(np.isfinite(votes)):
            raise InputError("the gate overflows on this input: its logits exceed the range of float64")
        return votes

    def predict_proba_hard(self, X: ArrayLike) -> NDArray[np.float64]:
        """Class probabilities of the most probable expert of every row."""
        _, leaf = self._leaves(X)
        return self._flat.value[leaf]

    def act(self, x: ArrayLike) -> Any:
        """Label of one state; the fast path of :meth:`predict` for control loops."""
        state = self._state(x)
        if self.prediction == "soft":
            return self._label_list[int(self._soft_votes(state[None, :])[0].argmax())]
        return self._leaf_labels[self._leaf_of_state(state)]

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

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mixture):
            return NotImplemented
        return (
            self._same_gate_and_trees(other)
            and self.classes.dtype.kind == other.classes.dtype.kind
            and np.array_equal(self.classes, other.classes)
            and (self.sharpness, self.offset) == (other.sharpness, other.offset)
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

    @cached_property
    def _flat(self) -> FlatMixture:
        from moet.model.flat import FlatMixture

        return FlatMixture.of(self.gate_weights, self.gate_bias, self.trees)

    @property
    def _routing(self) -> Routing:
        return self._flat.routing

    @cached_property
    def _label_list(self) -> list[Any]:
        return self.classes.tolist()

    @cached_property
    def _leaf_labels(self) -> list[Any]:
        return [self._label_list[c] for c in self._flat.leaf_class]


def sharpened(
    votes: NDArray[np.float64],
    sharpness: Sharpness | NDArray[np.float64],
    offset: Sequence[float] | NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Softmax of votes times a number, or that of the answer, row by row, the others lowered by the answer's offset."""
    answer = votes.argmax(axis=1)
    factor = np.broadcast_to(np.asarray(sharpness), votes.shape[1])[answer]
    behind = factor[:, None] * (votes - votes.max(axis=1, keepdims=True))
    if offset is not None:
        behind = np.minimum(behind - np.asarray(offset)[answer][:, None], -LEAST_LEAD)
        behind[np.arange(len(votes)), answer] = 0.0
    powers = np.exp(behind)
    return powers / powers.sum(axis=1, keepdims=True)


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


def _check_columns(mixture: Mixture) -> None:
    for j, tree in enumerate(mixture.trees):
        if tree.n_classes != len(mixture.classes):
            raise ModelError(f"tree {j} has {tree.n_classes} class columns, the mixture {len(mixture.classes)} classes")


def _check_sharpness(mixture: Mixture) -> None:
    sharpness = mixture.sharpness
    if sharpness is None:
        return
    if mixture.prediction == "hard":
        raise ModelError(
            "sharpness is for the votes of a soft mixture; the probabilities of a hard one are its leaves'"
        )
    numbers = list(sharpness) if isinstance(sharpness, Sequence | np.ndarray) else [sharpness] * len(mixture.classes)
    if len(numbers) != len(mixture.classes) or not all(map(_is_positive, numbers)):
        raise ModelError(f"sharpness must be a positive number, or one for each class, got {sharpness!r}")
    each = tuple(float(number) for number in numbers)
    object.__setattr__(mixture, "sharpness", each if isinstance(sharpness, Sequence | np.ndarray) else each[0])


def _check_offset(mixture: Mixture) -> None:
    offset = mixture.offset
    if offset is None:
        return
    if mixture.sharpness is None:
        raise ModelError("an offset is added to votes that a sharpness made logarithms of: give sharpness, too")
    is_list = isinstance(offset, Sequence | np.ndarray) and not isinstance(offset, str)
    if not is_list or len(offset) != len(mixture.classes) or not all(_is_number(one) for one in offset):
        raise ModelError(f"offset must be a finite number for each class, got {offset!r}")
    object.__setattr__(mixture, "offset", tuple(float(number) for number in offset))


def _is_positive(number: Any) -> bool:
    return _is_number(number) and number > 0


def _is_number(number: Any) -> bool:
    return not isinstance(number, bool) and isinstance(number, float | int) and -np.inf < number < np.inf
