"""Why a mixture answers one input as it does: who won the gate, on which path, and what would change the answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from moet.errors import InputError, ModelError
from moet.explain.text import with_units
from moet.model.base import BaseMixture
from moet.model.file import as_mixture, as_model
from moet.model.mixture import Mixture, Prediction
from moet.model.regression.mixture import RegressionMixture
from moet.model.tree import LEAF, BaseTree, Tree
from moet.model.words import features_of_row

if TYPE_CHECKING:
    from moet.model.schema import Schema
    from moet.verify.box import Box
    from moet.verify.result import Closest, Unknown

CPU_LIMIT = 10.0
"""Seconds for the nearest input with another answer."""

Measure = Literal["share", "l1", "linf"]
"""How far another answer is: by the sum of changes as shares of the columns' ranges; or raw, by sum or largest."""


@dataclass(frozen=True)
class Check:
    """One test on the way to a leaf: ``x[feature] <= threshold``.

    Attributes
    ----------
    node, feature : int
        Which node of the tree, and which feature it tests.
    value : float
        The input's value of that feature.
    threshold : float
    """

    node: int
    feature: int
    value: float
    threshold: float

    @property
    def passed(self) -> bool:
        """Whether the input went left."""
        return self.value <= self.threshold

    @property
    def flips_at(self) -> float:
        """The nearest float64 value of the feature that goes the other way."""
        return math.nextafter(self.threshold, math.inf) if self.passed else self.threshold

    @property
    def distance(self) -> float:
        """How far the value is from flipping the test."""
        return abs(self.flips_at - self.value)


@dataclass(frozen=True)
class Opinion:
    """What one expert says about the input.

    Attributes
    ----------
    expert : int
    logit, weight : float
        The gate's logit, and its softmax: the share of this expert in a vote.
    path : tuple of Check
        The tests from the root on.
    leaf : int
        The node they lead to.
    probabilities : tuple of float
        Class probabilities of that leaf.
    """

    expert: int
    logit: float
    weight: float
    path: tuple[Check, ...]
    leaf: int
    probabilities: tuple[float, ...]


@dataclass(frozen=True)
class Contest:
    """How the gate decided between the first two experts: ``margin = bias + sum(pulls)``, up to rounding.

    Attributes
    ----------
    winner, rival : int
        The experts with the largest and the second largest logit.
    margin : float
        Difference of their logits; 0 is a tie, which the first expert wins.
    bias : float
        Difference of their intercepts.
    pulls : tuple of float
        What each feature adds to the margin, ``(w_winner - w_rival) * x``; negative ones pull for the rival.
    ties_at : tuple of float or None
        The value of each feature that would make the logits equal if nothing else changed; None if it has no say.
    """

    winner: int
    rival: int
    margin: float
    bias: float
    pulls: tuple[float, ...]
    ties_at: tuple[float | None, ...]


@dataclass(frozen=True, kw_only=True)
class Reasons:
    """What the reasons for labels and for numbers have in common: the input, and how the gate decided."""

    x: tuple[float, ...]
    features: tuple[str, ...]
    contest: Contest | None
    schema: Schema | None = None

    def _repr_html_(self) -> str:
        from moet.notebook import text_html

        return text_html(str(self))


@dataclass(frozen=True, kw_only=True)
class Why(Reasons):
    """Reasons for one answer; as a string, for people.

    Attributes
    ----------
    answer : label
    x : tuple of float
        The input.
    features : tuple of str
        Names of its numbers, with units.
    classes : tuple
        Labels in the order of all probabilities.
    prediction : {"hard", "soft"}
        Whether the first expert answers alone or all vote.
    probabilities : tuple of float
        Class probabilities behind the answer: of the leaf, or of the vote.
    opinions : tuple of Opinion
        Of every expert, the one with the largest logit first.
    contest : Contest or None
        None if there is only one expert.
    closest : Closest or Unknown
        The nearest input with another answer, proved nearest; see :func:`moet.verify.closest`.
    norm : {"share", "l1", "linf"}
        By what it is nearest.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet.explain import why
    >>> reasons = why(model, [1, 1])
    >>> reasons.answer, reasons.classes
    ('up', ('up', 'down'))
    """

    answer: Any
    classes: tuple[Any, ...]
    prediction: Prediction
    probabilities: tuple[float, ...]
    opinions: tuple[Opinion, ...]
    closest: Closest | Unknown
    norm: Measure = "l1"

    def __str__(self) -> str:
        from moet.explain.reason_text import describe

        return describe(self)

    def shares(self) -> tuple[float, ...]:
        """Part of each opinion in the probability of the answer; they add up to 1."""
        if self.prediction == "hard":
            return (1.0,) + (0.0,) * (len(self.opinions) - 1)
        c = self.classes.index(self.answer)
        parts = [opinion.weight * opinion.probabilities[c] for opinion in self.opinions]
        return tuple(part / math.fsum(parts) for part in parts)


def why(
    model: object,
    x: ArrayLike,
    *,
    norm: Measure | None = None,
    domain: Box | None = None,
    timeout: float | None = None,
    cpu_limit: float | None = CPU_LIMIT,
    units: Mapping[str, str] | None = None,
) -> Why:
    """Give the reasons for the answer to one input.

    Parameters
    ----------
    model : Mixture, fitted classifier, policy, or path of a model file
    x : array of float, shape (n_features,), or a row of the user's table
    norm : {"share", "l1", "linf"}, optional
        How the nearest other answer is measured: by the sum of the changes as shares of the ranges of the table's
        columns, 1 for another category; or in raw units, by their sum, which changes few features, or by the largest of
        them. By default shares where there is a table and questions about its rows can be decided, else ``"l1"``.
    domain : Box, optional
        Where to look for the nearest other answer.
    timeout : float or None
        Seconds of the wall clock for that search, the only part that takes time; no limit by default.
    cpu_limit : float or None
        Seconds of CPU time for it.
    units : mapping, optional
        Units by feature name.

    Returns
    -------
    Why
        ``print`` it, or read its parts.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet.explain import why
    >>> reasons = why(model, [1, 1])
    >>> reasons.answer
    'up'
    """
    if isinstance(as_model(model), RegressionMixture):
        raise ModelError("this model answers with numbers, and has laws to be told instead: explain.why_law(model, x)")
    mixture = as_mixture(model)
    x = encoded_input(x, mixture)
    norm = _default_norm(mixture) if norm is None else norm
    answer = mixture.act(x)  # which also checks x
    state = np.asarray(x, dtype=np.float64)
    logits = logits_of(mixture, state)
    opinions = tuple(
        _opinion(mixture.trees[j], j, state, logits)
        for j in sorted(range(mixture.n_experts), key=lambda j: -logits[j])  # stable: the first of equals wins
    )
    soft = mixture.prediction == "soft"
    return Why(
        answer=answer,
        x=tuple(state.tolist()),
        features=tuple(with_units(mixture.feature_names, units)),
        schema=mixture.schema,
        classes=tuple(mixture.classes.tolist()),
        prediction=mixture.prediction,
        probabilities=tuple(mixture.predict_proba_soft([state])[0].tolist()) if soft else opinions[0].probabilities,
        opinions=opinions,
        contest=None
        if mixture.n_experts == 1
        else contest_of(mixture, state, logits, *(o.expert for o in opinions[:2])),
        closest=_closest(mixture, state, norm, domain, timeout, cpu_limit),
        norm=norm,
    )


def encoded_input(x: Any, mixture: BaseMixture) -> Any:
    """Features of a row in the words of the user's table; anything else as it is."""
    encoded = None if mixture.schema is None else features_of_row(x, mixture.schema)
    return x if encoded is None else encoded


def path_of(tree: BaseTree, x: np.ndarray) -> tuple[tuple[Check, ...], int]:
    """The tests that ``x`` meets in a tree, and the leaf they lead to."""
    path, node = [], 0
    while tree.feature[node] != LEAF:
        k = int(tree.feature[node])
        path.append(Check(node, k, float(x[k]), float(tree.threshold[node])))
        node = int(tree.left[node] if path[-1].passed else tree.right[node])
    return tuple(path), node


def logits_of(mixture: BaseMixture, state: np.ndarray) -> list[float]:
    """The gate's logits as every predictor computes them: from left to right, without fused multiply-add."""
    logits = []
    for logit, weights in zip(mixture.gate_bias.tolist(), mixture.gate_weights.tolist(), strict=True):
        for w, value in zip(weights, state.tolist(), strict=True):
            logit += w * value
        logits.append(logit)
    if not all(map(math.isfinite, logits)):
        raise InputError("the gate overflows on this input: its logits exceed the range of float64")
    return logits


def _opinion(tree: Tree, expert: int, state: np.ndarray, logits: list[float]) -> Opinion:
    largest = max(logits)
    path, leaf = path_of(tree, state)
    return Opinion(
        expert=expert,
        logit=logits[expert],
        weight=math.exp(logits[expert] - largest) / math.fsum(math.exp(logit - largest) for logit in logits),
        path=path,
        leaf=leaf,
        probabilities=tuple(tree.value[leaf].tolist()),
    )


def contest_of(mixture: BaseMixture, state: np.ndarray, logits: list[float], winner: int, rival: int) -> Contest:
    """How the gate decided between two experts."""
    margin = logits[winner] - logits[rival]
    weights = mixture.gate_weights[winner] - mixture.gate_weights[rival]
    return Contest(
        winner=winner,
        rival=rival,
        margin=margin,
        bias=float(mixture.gate_bias[winner] - mixture.gate_bias[rival]),
        pulls=tuple((weights * state).tolist()),
        ties_at=tuple(
            None if w == 0 else value - margin / w for w, value in zip(weights.tolist(), state.tolist(), strict=True)
        ),
    )


def _default_norm(mixture: Mixture) -> Measure:

    return "l1" if mixture.schema is None else "share"


def _closest(
    mixture: Mixture,
    state: np.ndarray,
    norm: Measure,
    domain: Box | None,
    timeout: float | None,
    cpu_limit: float | None,
) -> Closest | Unknown:
    from moet.verify import Unknown, closest  # here, not above: the only thing that explanations need proofs for

    if norm == "share":
        from moet.verify.limits import Deadline
        from moet.verify.rows.nearest import closest_row

        deadline = Deadline(timeout, cpu_limit)
        return closest_row(mixture, state, norm, domain, None, deadline, seed=0)
    try:
        return closest(mixture, state, norm, domain, timeout=timeout, cpu_limit=cpu_limit)
    except InputError as error:
        if mixture.prediction == "soft" and domain is None:
            return Unknown(reason=str(error))  # some searches in soft models need a bounded domain
        raise
