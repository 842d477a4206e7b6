"""A mixture as text: the gate as linear scores, the trees as nested if/else, in the user's names and units."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from moet.explain.columns import LEGEND, Columns
from moet.explain.text import (
    INDENT,
    SHORT,
    chosen_digits,
    number,
    probability,
    threshold_digits,
    with_units,
    wrapped,
)
from moet.model.base import BaseMixture
from moet.model.digits import EXACT
from moet.model.file import as_model
from moet.model.mixture import Mixture
from moet.model.prune import idle_leaves
from moet.model.regression.mixture import RegressionMixture
from moet.model.regression.tree import RegressionTree
from moet.model.schema import Column
from moet.model.text import count, printable, summary
from moet.model.tree import LEAF, BaseTree

MOST_CATEGORIES = 8
"""Categories of a column that are told where not all columns are."""


def rules(
    model: object,
    *,
    digits: int | None = None,
    units: Mapping[str, str] | None = None,
    columns: int | None = None,
) -> str:
    """Describe a mixture in words that a person can check and follow by hand.

    Parameters
    ----------
    model : Mixture, RegressionMixture, fitted estimator, policy, or path of a model file
        What to describe. It is described in the prediction mode it carries, hard or soft.
    digits : int, optional
        Significant digits of weights and thresholds; 17 shows them exactly. By default numbers that are short, as those
        of :func:`moet.simplify` are, are shown exactly, so that the text is the model; others with four digits, and the
        text says so. More are used where the thresholds of a feature would otherwise look the same, and no number that
        is not zero is shown as zero.
    units : mapping, optional
        Units by name of a feature or output, such as ``{"angle": "rad"}``; told in a line of their own.
    columns : int, optional
        Of a model with a schema, which is told in the columns of its table: so many columns of every sum of the gate,
        those of largest influence, and of each the eight categories of largest numbers; the others are counted. All by
        default.

    Returns
    -------
    str
        Several lines, without a line break at the end. Two experts of depth 0 that answer hard become one rule, as the
        paper prints it: ``if 2.18*cp + 7.22*cv + 20.64*pa + 25.33*pv > -1 then right else left``. A leaf that answers
        with numbers is a formula per output, and the bounds that it is clipped to.

    Examples
    --------
    >>> from moet import Mixture, Tree, explain
    >>> trees = [Tree.leaf([1, 0]), Tree.leaf([0, 1])]
    >>> mixture = Mixture([[0, 0], [2, 7]], [-1, 0], trees, ["left", "right"], ["position", "velocity"])
    >>> print(explain.rules(mixture))
    hard mixture of 2 experts: 2 leaves, 2 nodes, depth 0, 6 gate numbers
    <BLANKLINE>
    if 2*position + 7*velocity > -1 then right else left
    """
    mixture = as_model(model)
    if isinstance(mixture, RegressionMixture):
        return _LawWriter(mixture, digits, units).text()
    return _LabelWriter(mixture, digits, units, columns).text()


class _Writer(ABC):
    """The text of one mixture; holds what every line needs: names and digits."""

    soft_gate: str

    def __init__(
        self, mixture: BaseMixture, digits: int | None, units: Mapping[str, str] | None, measured: tuple[str, ...] = ()
    ) -> None:
        self.mixture = mixture
        self.asked = digits
        self.digits = digits = chosen_digits(mixture, digits)
        self.names = [printable(name) for name in mixture.feature_names]
        named = (*mixture.feature_names, *measured)
        self.with_units = [
            both for both, name in zip(with_units(named, units), named, strict=True) if both != printable(name)
        ]
        self.threshold_digits = threshold_digits(mixture, digits)
        self.columns = None if mixture.schema is None else Columns(mixture.schema)
        self.most_columns: int | None = None

    def text(self) -> str:
        mixture = self.mixture
        if mixture.n_experts == 1:
            return "\n".join([*self.header(), "", *self.tree(mixture.trees[0])])
        lines = [*self.header(), "", *self.gate()]
        for j, tree in enumerate(mixture.trees):
            lines += ["", f"expert {j}:", *(INDENT + line for line in self.tree(tree))]
        return "\n".join(lines)

    def header(self) -> Iterator[str]:
        yield summary(self.mixture)
        if self.with_units:
            yield from wrapped(f"units: {', '.join(self.with_units)}")
        if self.columns is not None and self.mixture.n_experts > 1 and any(c.labels for c in self.schema_columns):
            yield f"in the gate {LEGEND}"
        if self.asked is None and self.digits < EXACT:
            yield f"numbers are shown with {self.digits} digits; 17 digits show them exactly"

    def gate(self) -> Iterator[str]:
        hard = self.mixture.prediction == "hard"
        if self.is_inequality:
            condition, expert = self.inequality()
            if not condition:
                yield f"gate: always expert {expert}"
            else:
                yield from wrapped(f"gate: expert {expert} if {condition}, else expert {1 - expert}")
            return
        if hard:
            yield "gate: the expert with the largest score answers, the first of them if tied"
        else:
            yield self.soft_gate
        for j, (weights, bias) in enumerate(zip(self.mixture.gate_weights, self.mixture.gate_bias, strict=True)):
            yield from wrapped(f"{INDENT}score {j} = {self.linear(weights, bias)}")

    @cached_property
    def is_inequality(self) -> bool:
        """Whether the gate is one inequality that means the same as its two scores, also to the last digit."""
        if self.mixture.n_experts != 2 or self.mixture.prediction != "hard":
            return False
        numbers = np.column_stack([self.mixture.gate_bias, self.mixture.gate_weights]).tolist()
        return self.digits < EXACT or all(
            Fraction(b - a) == Fraction(b) - Fraction(a) for a, b in zip(*numbers, strict=True)
        )

    def inequality(self) -> tuple[str, int]:
        """When which of two experts answers; it always does if the condition is empty."""
        weights = self.mixture.gate_weights[1] - self.mixture.gate_weights[0]
        bias = float(self.mixture.gate_bias[1] - self.mixture.gate_bias[0])
        largest = np.abs(weights).max()
        if largest == 0:
            return "", int(bias > 0)
        # Only the sign matters, so the bias serves as the unit, as in the paper; unless it is next to nothing, or the
        # numbers themselves are to be seen.
        if abs(bias) > 1e-6 * largest and self.digits < EXACT:
            weights, bias = weights / abs(bias), bias / abs(bias)
        # A sum is easier to read than a row of minus signs. Expert 0 wins ties, hence >=.
        signs = np.sign(weights[weights != 0])
        if signs.sum() < 0 or (signs.sum() == 0 and signs[0] < 0):
            return f"{self.linear(-weights)} >= {number(bias, self.digits)}", 0
        return f"{self.linear(weights)} > {number(-bias, self.digits)}", 1

    def linear(self, weights: NDArray[np.float64], bias: float = 0.0) -> str:
        """A sum in the order in which the model adds, the bias first."""
        if self.columns is not None:
            return self.linear_in_columns(self.columns, weights, bias)
        terms = [(w, f"*{name}") for w, name in zip(weights, self.names, strict=True) if w != 0]
        if bias != 0 or not terms:
            terms.insert(0, (bias, ""))
        text = "".join(f" {'-' if w < 0 else '+'} {number(abs(w), self.digits)}{name}" for w, name in terms)
        return text[3:] if text.startswith(" + ") else "-" + text[3:]

    @property
    def schema_columns(self) -> tuple[Column, ...]:
        return () if self.mixture.schema is None else self.mixture.schema.columns

    def linear_in_columns(self, columns: Columns, weights: NDArray[np.float64], bias: float) -> str:
        """The bias, and what the columns add, those of largest influence first."""
        most = None if self.most_columns is None else MOST_CATEGORIES
        terms = columns.terms(weights, lambda value: number(value, self.digits), most)
        parts = [term.text for term in terms[: self.most_columns]]
        if bias != 0 or not parts:
            parts.insert(0, f"{'-' if bias < 0 else '+'} {number(abs(bias), self.digits)}")
        if len(terms) > len(terms[: self.most_columns]):
            parts.append(f"+ ({count(len(terms) - len(terms[: self.most_columns]), 'column')} of less influence)")
        text = " ".join(parts)
        return text[2:] if text.startswith("+ ") else "-" + text[2:]

    def test(self, k: int, threshold: float) -> str:
        """The condition for going left."""
        said = None if self.columns is None else self.columns.tests(k, threshold)
        return said[0] if said else f"{self.names[k]} <= {number(threshold, self.threshold_digits[k])}"

    def tree(self, tree: BaseTree) -> Iterator[str]:
        """Lines of one tree; with a stack, for a tree may be deeper than Python can recurse."""
        stack = [(0, 0, "")]
        while stack:
            node, depth, heading = stack.pop()
            if heading:
                yield INDENT * (depth - 1) + heading
            k = int(tree.feature[node])
            if k == LEAF:
                yield from (INDENT * depth + line for line in self.leaf(tree, node))
                continue
            test = f"if {self.test(k, float(tree.threshold[node]))}:"
            stack.append((int(tree.right[node]), depth + 1, "else:"))
            stack.append((int(tree.left[node]), depth + 1, test))

    @abstractmethod
    def leaf(self, tree: BaseTree, node: int) -> Iterator[str]:
        """What a leaf answers."""


class _LabelWriter(_Writer):
    """The text of a mixture that answers with labels."""

    soft_gate = "gate: every expert votes with its probabilities, weighted by softmax(scores)"

    def __init__(
        self, mixture: Mixture, digits: int | None, units: Mapping[str, str] | None, columns: int | None
    ) -> None:
        super().__init__(mixture, digits, units)
        self.most_columns = columns
        self.labels = [printable(str(label)) for label in mixture.classes.tolist()]

    def text(self) -> str:
        mixture = self.mixture
        if mixture.n_experts == 2 and mixture.prediction == "hard" and mixture.size.depth == 0:
            return "\n".join([*self.header(), "", self.one_line()])
        return super().text()

    def header(self) -> Iterator[str]:
        yield from super().header()
        assert isinstance(self.mixture, Mixture)
        if idle := idle_leaves(self.mixture):
            yield f"{count(idle, 'leaf', 'leaves')} of {self.mixture.size.leaves} decide nothing: prune() removes them"

    def one_line(self) -> str:
        answers = [self.labels[tree.value[0].argmax()] for tree in self.mixture.trees]
        if answers[0] == answers[1]:
            return f"always {answers[0]}"
        condition, expert = self.inequality()
        if not condition:
            return f"always {answers[expert]}"
        return f"if {condition} then {answers[expert]} else {answers[1 - expert]}"

    def leaf(self, tree: BaseTree, node: int) -> Iterator[str]:
        probabilities = tree.value[node]
        if self.mixture.prediction == "hard":
            best = int(probabilities.argmax())
            yield f"{self.labels[best]} ({probability(probabilities[best])})"
        else:
            order = np.argsort(-probabilities, kind="stable")
            yield ", ".join(f"{self.labels[c]} {self.vote(probabilities[c])}" for c in order if probabilities[c] > 0)

    def vote(self, share: float) -> str:
        """A vote counts, so it is shown as exactly as everything else; unless it has more digits than anyone reads."""
        exact = number(share, EXACT)
        return exact if self.digits == EXACT and len(exact) <= 2 + SHORT else probability(share)


class _LawWriter(_Writer):
    """The text of a mixture that answers with numbers: a formula per output."""

    soft_gate = "gate: the mean of all experts' outputs, weighted by softmax(scores)"

    def __init__(self, mixture: RegressionMixture, digits: int | None, units: Mapping[str, str] | None) -> None:
        super().__init__(mixture, digits, units, mixture.outputs)
        self.outputs = [printable(name) for name in mixture.outputs]
        self.bounds = list(zip(mixture.low.tolist(), mixture.high.tolist(), strict=True))

    def header(self) -> Iterator[str]:
        yield from super().header()
        for output, (low, high) in zip(self.outputs, self.bounds, strict=True):
            at_least = [f"at least {number(low, self.digits)}"] if np.isfinite(low) else []
            at_most = [f"at most {number(high, self.digits)}"] if np.isfinite(high) else []
            if at_least or at_most:
                yield f"{output} is clipped to {' and '.join(at_least + at_most)}"

    def leaf(self, tree: BaseTree, node: int) -> Iterator[str]:
        assert isinstance(tree, RegressionTree)
        nothing = np.zeros(len(self.names))
        for o, output in enumerate(self.outputs):
            slope = nothing if tree.slope is None else tree.slope[node, o]
            yield f"{output} = {self.linear(slope, float(tree.value[node, o]))}"
