"""The artefact whose answers are numbers: a frozen mixture of trees with constant or affine leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError, ModelError
from moet.model.base import BaseMixture, Prediction, check_gate_and_trees, check_names
from moet.model.regression.tree import RegressionTree
from moet.model.text import count
from moet.model.tree import frozen_floats

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeRegressor

    from moet.model.flat import Routing
    from moet.model.regression.laws import Laws
    from moet.model.schema import Schema


@dataclass(frozen=True, eq=False)
class RegressionMixture(BaseMixture):
    """Trees with constant or affine leaves behind a linear softmax gate: the mixture whose answers are numbers.

    An output is its leaf's value, plus slope times feature for one feature after the other, in float64 without fused
    multiply-add, then clipped to the output's bounds. Every reader, in any language, agrees on that to the bit.

    Parameters
    ----------
    gate_weights : array of float, shape (n_experts, n_features)
        The paper's θ_g, in raw feature units.
    gate_bias : array of float, shape (n_experts,)
        The gate's intercepts: logit_j = bias_j + w_j·x.
    trees : sequence of RegressionTree
        One per expert. All have one column of ``value`` per output.
    outputs : sequence of str
        Names of the outputs, in the order of the trees' columns.
    low, high : array of float, shape (n_outputs,), optional
        Bounds that outputs are clipped to; -inf and inf, the defaults, where there is none.
    feature_names : sequence of str, optional
        ``x0``, ``x1``, ... by default.
    prediction : {"hard", "soft"}
        ``"hard"``: the most probable expert answers. ``"soft"``: the mean of all experts' answers, weighted by the
        gate; for accuracy where nothing is to be proved or exported.
    provenance : mapping, optional
        Where the model comes from, as JSON values. It is kept in model files but is no part of the model.
    schema : Schema, optional
        The columns of the user's table, as in :class:`moet.Mixture`.

    Examples
    --------
    >>> law = RegressionTree.leaf([0.0], slope=[[-1.5, -0.5]])
    >>> brake = RegressionMixture([[0.0, 0.0]], [0.0], [law], ["torque"], low=[-2], high=[2])
    >>> brake.act([1.0, 0.5])
    array([-1.75])
    >>> brake.predict([[1.0, 0.5], [4.0, 0.0]])
    array([[-1.75],
           [-2.  ]])
    """

    gate_weights: NDArray[np.float64]
    gate_bias: NDArray[np.float64]
    trees: tuple[RegressionTree, ...]
    outputs: tuple[str, ...]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    feature_names: tuple[str, ...] = ()
    prediction: Prediction = "hard"
    provenance: Mapping[str, Any] = field(default_factory=dict)
    schema: Schema | None = None

    def __init__(
        self,
        gate_weights: ArrayLike,
        gate_bias: ArrayLike,
        trees: Iterable[RegressionTree],
        outputs: Sequence[str],
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        prediction: Prediction = "hard",
        provenance: Mapping[str, Any] | None = None,
        schema: Schema | None = None,
    ) -> None:
        names = tuple(outputs)
        bounds = {
            "low": frozen_floats(np.full(len(names), -np.inf) if low is None else low, "low", 1),
            "high": frozen_floats(np.full(len(names), np.inf) if high is None else high, "high", 1),
        }
        answers = {"outputs": names, **bounds}
        self._freeze(gate_weights, gate_bias, trees, feature_names, prediction, provenance, schema, **answers)
        check_gate_and_trees(self, RegressionTree)
        _check_outputs(self)

    @classmethod
    def from_sklearn(cls, tree: DecisionTreeRegressor) -> RegressionMixture:
        """Wrap a fitted scikit-learn regression tree as a mixture with one expert and constant leaves.

        Thresholds are moved as in :meth:`moet.Mixture.from_sklearn`, so both give the same answer for every input
        within the range of float32.
        """
        from moet.model.from_sklearn import regression_mixture_of_tree

        return regression_mixture_of_tree(tree)

    @property
    def n_outputs(self) -> int:
        """How many numbers an answer has."""
        return len(self.outputs)

    @property
    def n_numbers(self) -> int:
        """How many numbers say what the mixture does: those of its trees, and of the gate relative to one expert.

        An affine leaf counts n_outputs · (n_features + 1), a constant one n_outputs, a test 2, and the gate
        (n_experts - 1) · (n_features + 1).
        """
        return sum(tree.n_numbers for tree in self.trees) + (self.n_experts - 1) * (self.n_features + 1)

    def prune(self) -> RegressionMixture:
        """Return a mixture with the same answer for every input, without experts and branches that never answer.

        See :func:`moet.model.prune.prune_mixture`.
        """
        from moet.model.prune import prune_mixture

        return prune_mixture(self)

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Outputs of every row, shape (n, n_outputs), in the meaning chosen by ``prediction``."""
        return self.predict_hard(X) if self.prediction == "hard" else self.predict_soft(X)

    def predict_hard(self, X: ArrayLike) -> NDArray[np.float64]:
        """Outputs of the most probable expert of every row."""
        rows = self._rows(X)
        _, leaf = self._routing.leaves(rows)
        return _finite(*self._laws.at(rows, leaf))

    def predict_soft(self, X: ArrayLike) -> NDArray[np.float64]:
        """Mean of the experts' outputs, weighted by the gate, of every row."""
        return _finite(*self._laws.mean(self._rows(X), self._routing))

    def act(self, x: ArrayLike) -> NDArray[np.float64]:
        """Outputs for one state, shape (n_outputs,); the fast path of :meth:`predict` for control loops."""
        state = self._state(x)
        leaf = self._leaf_of_state(state)
        if self.prediction == "soft":
            return self.predict_soft(state[None])[0]
        return _finite(*self._laws.at(state[None], np.array([leaf], dtype=np.int32)))[0]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RegressionMixture):
            return NotImplemented
        return (
            self._same_gate_and_trees(other)
            and self.outputs == other.outputs
            and np.array_equal(self.low, other.low)
            and np.array_equal(self.high, other.high)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        size = self.size
        shape = f"{count(size.experts, 'expert')}, {count(size.leaves, 'leaf', 'leaves')}, depth {size.depth}"
        sides = f"{count(self.n_features, 'feature')}, {count(self.n_outputs, 'output')}"
        return f"RegressionMixture({shape}, {sides}, {count(self.n_numbers, 'number')}, {self.prediction})"

    @cached_property
    def _routing(self) -> Routing:
        from moet.model.flat import Routing

        return Routing.of(self.gate_weights, self.gate_bias, self.trees)

    @cached_property
    def _laws(self) -> Laws:
        from moet.model.regression.laws import Laws

        return Laws.of(self.trees, self.n_features, self.low, self.high)


def _finite(outputs: NDArray[np.float64], overflowing: int) -> NDArray[np.float64]:
    if overflowing >= 0:
        raise InputError(f"the model overflows on row {overflowing} of this input: a sum exceeds the range of float64")
    return outputs


def _check_outputs(mixture: RegressionMixture) -> None:
    if not mixture.outputs:
        raise ModelError("a mixture needs at least one output, got none")
    check_names(mixture.outputs, mixture.n_outputs, "outputs")
    low, high = mixture.low, mixture.high
    if low.shape != (mixture.n_outputs,) or high.shape != low.shape:
        raise ModelError(f"low and high need one bound per output, {mixture.n_outputs}, got {len(low)} and {len(high)}")
    if not np.all((low <= high) & (low < np.inf) & (high > -np.inf)):  # NaN is not <= anything
        raise ModelError(f"low must not exceed high, got {low.tolist()} and {high.tolist()}")
    for j, tree in enumerate(mixture.trees):
        if tree.n_outputs != mixture.n_outputs:
            raise ModelError(f"tree {j} has {tree.n_outputs} columns, the mixture {mixture.n_outputs} outputs")
        if tree.slope is not None and tree.slope.shape[2] != mixture.n_features:
            raise ModelError(f"tree {j} has slopes for {tree.slope.shape[2]} features, not {mixture.n_features}")
