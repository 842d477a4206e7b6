"""What mixtures of either kind share: a linear softmax gate, one tree per expert, and the way to a leaf."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError, ModelError
from moet.model.tree import BaseTree, frozen_floats

if TYPE_CHECKING:
    from moet.model.flat import Routing  # compiled: loaded when a model is asked, not when it is read
    from moet.model.schema import Schema

Prediction = Literal["hard", "soft"]
"""``"hard"``: the most probable expert answers (MoËT_h). ``"soft"``: all experts do, weighted by the gate (MoËT)."""


class Size(NamedTuple):
    """How large a mixture is, gate included."""

    experts: int
    leaves: int
    nodes: int
    depth: int
    gate_numbers: int


class BaseMixture(ABC):
    """Trees behind a linear softmax gate, whatever their leaves answer with."""

    gate_weights: NDArray[np.float64]
    gate_bias: NDArray[np.float64]
    trees: tuple[Any, ...]
    feature_names: tuple[str, ...]
    prediction: Prediction
    provenance: Mapping[str, Any]
    schema: Schema | None = None

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

    def expert(self, X: ArrayLike) -> NDArray[np.int32]:
        """Index of the most probable expert of every row: the first one with the largest logit."""
        expert, _ = self._leaves(X)
        return expert

    def leaves(self, X: ArrayLike) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Most probable expert of every row, and the node of its tree that is the row's leaf."""
        expert, leaf = self._leaves(X)
        return expert, leaf - self._routing.roots[expert]

    def rebuilt(self, gate_weights: ArrayLike, gate_bias: ArrayLike, trees: Iterable[BaseTree]) -> Self:
        """Return a mixture with another gate and other trees, and everything else as it is here."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}  # type: ignore[attr-defined]
        return type(self)(**(fields | {"gate_weights": gate_weights, "gate_bias": gate_bias, "trees": trees}))

    def __reduce__(self) -> tuple[Any, ...]:
        # by construction, so that the arrays of a copy are checked and read-only too
        return type(self), tuple(getattr(self, name) for name in self.__dataclass_fields__)  # type: ignore[attr-defined]

    @property
    @abstractmethod
    def _routing(self) -> Routing:
        """What prediction kernels walk through."""

    def _freeze(
        self,
        gate_weights: ArrayLike,
        gate_bias: ArrayLike,
        trees: Iterable[BaseTree],
        feature_names: Sequence[str] | None,
        prediction: Prediction,
        provenance: Mapping[str, Any] | None,
        schema: Schema | None,
        **answers: Any,
    ) -> None:
        """Set all fields of a frozen mixture; ``answers`` are those that its kind adds."""
        weights = frozen_floats(gate_weights, "gate_weights", 2)
        if schema is not None and feature_names is None:
            feature_names = schema.feature_names
        names = tuple(f"x{k}" for k in range(weights.shape[1])) if feature_names is None else tuple(feature_names)
        fields = {
            "gate_weights": weights,
            "gate_bias": frozen_floats(gate_bias, "gate_bias", 1),
            "trees": tuple(trees),
            "feature_names": names,
            "prediction": prediction,
            "provenance": dict(provenance or {}),
            "schema": schema,
        }
        for name, value in (fields | answers).items():
            object.__setattr__(self, name, value)

    def _same_gate_and_trees(self, other: BaseMixture) -> bool:
        return (
            np.array_equal(self.gate_weights, other.gate_weights)
            and np.array_equal(self.gate_bias, other.gate_bias)
            and self.trees == other.trees
            and self.feature_names == other.feature_names
            and self.prediction == other.prediction
            and self.schema == other.schema
        )

    def _leaves(self, X: ArrayLike) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        return self._routing.leaves(self._rows(X))

    def _leaf_of_state(self, state: NDArray[np.float64]) -> int:
        leaf = self._routing.leaf(state)
        if leaf < 0:
            raise InputError(f"a state must be finite, got {state.tolist()}")
        return leaf

    def _rows(self, X: ArrayLike) -> NDArray[np.float64]:
        rows = input_array(self._encoded(X))
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise InputError(f"expected rows of {self.n_features} features, got an array of shape {rows.shape}")
        if not np.all(np.isfinite(rows)):
            raise InputError("the input contains NaN or infinity; a model answers for finite numbers only")
        return rows

    def _encoded(self, X: Any) -> Any:
        """Features of a DataFrame of the user's columns, or of rows in the user's words; anything else as it is."""
        if self.schema is None:
            return X
        if not hasattr(X, "columns"):
            from moet.model.words import features_of_rows

            encoded = features_of_rows(X, self.schema)
            return X if encoded is None else encoded
        features = list(self.feature_names)
        return X[features] if list(X.columns) == features else self.schema.encode(X)

    def _state(self, x: ArrayLike) -> NDArray[np.float64]:
        is_row = self.schema is not None and (isinstance(x, str) or hasattr(x, "keys"))
        state = input_array(self._encoded([x])[0] if is_row else x)
        if state.shape != self.gate_weights.shape[1:]:
            raise InputError(f"a state of this model has {self.n_features} numbers, got shape {state.shape}")
        return state


def input_array(values: ArrayLike) -> NDArray[np.float64]:
    """Copy what a caller asks about into an array of numbers, if it is not one."""
    try:
        return np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"the input must be an array of numbers: {error}") from None


def check_gate_and_trees(mixture: BaseMixture, kind: type[BaseTree]) -> None:
    """Raise a ModelError unless gate, trees, names and mode fit together; ``kind`` is what every tree must be."""
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
        if not isinstance(tree, kind):
            raise ModelError(f"tree {j} is a {type(tree).__name__}, not a {kind.__name__}")
        if tree.feature.max() >= n_features:
            raise ModelError(f"tree {j} tests feature {tree.feature.max()}, the gate has {n_features} features")
    check_names(mixture.feature_names, n_features, "feature_names")
    if mixture.schema is not None and mixture.schema.feature_names != mixture.feature_names:
        raise ModelError(f"the schema is about other features: {', '.join(mixture.schema.feature_names)}")
    if mixture.prediction not in get_args(Prediction):
        raise ModelError(f"prediction must be 'hard' or 'soft', got {mixture.prediction!r}")


def check_names(names: tuple[str, ...], how_many: int, what: str) -> None:
    """Raise a ModelError unless ``names`` are so many different strings."""
    if len(names) != how_many or not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise ModelError(f"{what} must be {how_many} different strings, got {list(names)}")
