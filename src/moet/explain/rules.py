"""A mixture as text: the gate as linear scores, the trees as nested if/else, in the user's names and units."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from moet.model.file import as_mixture
from moet.model.mixture import Mixture
from moet.model.tree import LEAF, Tree

WIDTH = 100
INDENT = "  "


def rules(model: object, *, digits: int = 4) -> str:
    """Describe a mixture in words that a person can check and follow by hand.

    Parameters
    ----------
    model : Mixture, fitted classifier, policy, or path of a model file
        What to describe. It is described in the prediction mode it carries, hard or soft.
    digits : int
        Significant digits of weights and thresholds (17 shows them exactly). More are used where the thresholds of a
        feature would otherwise look the same, and no number that is not zero is shown as zero.

    Returns
    -------
    str
        Several lines, without a line break at the end. Two experts of depth 0 that answer hard become one rule, as the
        paper prints it: ``if 2.18*cp + 7.22*cv + 20.64*pa + 25.33*pv > -1 then right else left``.
    """
    return _Writer(as_mixture(model), digits).text()


class _Writer:
    """The text of one mixture; holds what every line needs: names, labels and digits."""

    def __init__(self, mixture: Mixture, digits: int) -> None:
        self.mixture = mixture
        self.digits = digits
        self.names = [_printable(name) for name in mixture.feature_names]
        self.labels = [_printable(str(label)) for label in mixture.classes.tolist()]
        self.threshold_digits = [_telling_apart(values, digits) for values in _thresholds(mixture)]

    def text(self) -> str:
        mixture = self.mixture
        if mixture.n_experts == 1:
            return "\n".join([self.header(), "", *self.tree(mixture.trees[0])])
        if mixture.n_experts == 2 and mixture.prediction == "hard" and mixture.size.depth == 0:
            return "\n".join([self.header(), "", self.one_line()])
        lines = [self.header(), "", *self.gate()]
        for j, tree in enumerate(mixture.trees):
            lines += ["", f"expert {j}:", *(INDENT + line for line in self.tree(tree))]
        return "\n".join(lines)

    def header(self) -> str:
        size = self.mixture.size
        shape = f"{_count(size.leaves, 'leaf', 'leaves')}, {_count(size.nodes, 'node')}, depth {size.depth}"
        if size.experts == 1:
            return f"decision tree: {shape}"
        return (
            f"{self.mixture.prediction} mixture of {size.experts} experts: {shape}, "
            f"{_count(size.gate_numbers, 'gate number')}"
        )

    def one_line(self) -> str:
        first, second = (self.labels[tree.value[0].argmax()] for tree in self.mixture.trees)
        if first == second:
            return f"always {first}"
        inequality = self.inequality()
        if inequality is None:
            return f"always {second if self.constant_winner() else first}"
        return f"if {inequality} then {second} else {first}"

    def gate(self) -> Iterator[str]:
        hard = self.mixture.prediction == "hard"
        if self.mixture.n_experts == 2 and hard:
            inequality = self.inequality()
            if inequality is None:
                yield f"gate: always expert {self.constant_winner()}"
            else:
                yield from _wrapped(f"gate: expert 1 if {inequality}, else expert 0")
            return
        if hard:
            yield "gate: the expert with the largest score answers, the first of them if tied"
        else:
            yield "gate: every expert votes with its probabilities, weighted by softmax(scores)"
        for j, (weights, bias) in enumerate(zip(self.mixture.gate_weights, self.mixture.gate_bias, strict=True)):
            yield from _wrapped(f"{INDENT}score {j} = {self.linear(weights, bias)}")

    def inequality(self) -> str | None:
        """When expert 1 beats expert 0, or None if that does not depend on the state."""
        weights, bias = self.gate_difference()
        largest = np.abs(weights).max()
        if largest == 0:
            return None
        # Only the sign matters, so the bias serves as the unit, as in the paper; unless it is next to nothing.
        if abs(bias) > 1e-6 * largest:
            weights, bias = weights / abs(bias), bias / abs(bias)
        return f"{self.linear(weights)} > {_number(-bias, self.digits)}"

    def constant_winner(self) -> int:
        return int(self.gate_difference()[1] > 0)

    def gate_difference(self) -> tuple[NDArray[np.float64], float]:
        weights, bias = self.mixture.gate_weights, self.mixture.gate_bias
        return weights[1] - weights[0], float(bias[1] - bias[0])

    def linear(self, weights: NDArray[np.float64], bias: float = 0.0) -> str:
        terms = [(w, f"*{name}") for w, name in zip(weights, self.names, strict=True) if w != 0]
        if bias != 0 or not terms:
            terms.append((bias, ""))
        text = "".join(f" {'-' if w < 0 else '+'} {_number(abs(w), self.digits)}{name}" for w, name in terms)
        return text[3:] if text.startswith(" + ") else "-" + text[3:]

    def tree(self, tree: Tree) -> Iterator[str]:
        """Lines of one tree; with a stack, for a tree may be deeper than Python can recurse."""
        stack = [(0, 0, "")]
        while stack:
            node, depth, heading = stack.pop()
            if heading:
                yield INDENT * (depth - 1) + heading
            k = int(tree.feature[node])
            if k == LEAF:
                yield INDENT * depth + self.leaf(tree.value[node])
                continue
            test = f"if {self.names[k]} <= {_number(tree.threshold[node], self.threshold_digits[k])}:"
            stack.append((int(tree.right[node]), depth + 1, "else:"))
            stack.append((int(tree.left[node]), depth + 1, test))

    def leaf(self, probabilities: NDArray[np.float64]) -> str:
        if self.mixture.prediction == "hard":
            best = int(probabilities.argmax())
            return f"{self.labels[best]} ({_probability(probabilities[best])})"
        order = np.argsort(-probabilities, kind="stable")
        return ", ".join(f"{self.labels[c]} {_probability(probabilities[c])}" for c in order if probabilities[c] > 0)


def _thresholds(mixture: Mixture) -> Iterator[NDArray[np.float64]]:
    """Distinct thresholds of every feature, over all trees."""
    feature = np.concatenate([tree.feature for tree in mixture.trees])
    threshold = np.concatenate([tree.threshold for tree in mixture.trees])
    for k in range(mixture.n_features):
        yield np.unique(threshold[feature == k])


def _telling_apart(values: NDArray[np.float64], digits: int) -> int:
    """Fewest digits, from ``digits`` on, with which different values look different."""
    while digits < 17 and len({_number(value, digits) for value in values}) < len(values):
        digits += 1
    return digits


def _number(value: float, digits: int) -> str:
    text = f"{value + 0.0:.{digits}g}"  # + 0.0 makes -0.0 a plain 0
    # An integer part of a few digits more is easier to read in full than as a power of ten.
    return f"{value:.0f}" if "e" in text and 1 <= abs(value) < 1e9 else text


def _probability(value: float) -> str:
    """Two decimals, but nothing uncertain looks certain."""
    if 0.995 <= value < 1 - 1e-9:
        return ">0.99"
    return "<0.01" if 0 < value < 0.005 else f"{value:.2f}"


def _count(number: int, singular: str, plural: str | None = None) -> str:
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def _printable(text: str) -> str:
    """``text``, with anything that could move a terminal's cursor or break a line escaped."""
    return text if text.isprintable() else ascii(text)


def _wrapped(line: str) -> list[str]:
    inside = line[: len(line) - len(line.lstrip())] + INDENT
    return textwrap.wrap(line, WIDTH, subsequent_indent=inside, break_long_words=False, break_on_hyphens=False)
