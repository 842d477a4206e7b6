"""A mixture as a drawing for Graphviz."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from moet.model.base import BaseMixture
from moet.model.file import Model, as_model, digest
from moet.model.mixture import Mixture
from moet.model.regression.mixture import RegressionMixture
from moet.model.regression.tree import RegressionTree
from moet.model.text import printable, summary
from moet.model.tree import LEAF, BaseTree

TERMS_PER_LINE = 2
N_COLOURS = 9
"""How many pale colours Graphviz knows under the name ``pastel19``: one per class, which a leaf also says in words, or
per expert if leaves are laws."""


def dot(model: object, *, digits: int = 4) -> str:
    """Write a mixture, hard or soft, as a graph in Graphviz's language DOT.

    Parameters
    ----------
    model : Mixture, RegressionMixture, fitted estimator, policy, or path of a model file
        What to draw.
    digits : int
        Significant digits of weights, thresholds and laws.

    Returns
    -------
    str
        For instance for ``dot -Tsvg``: the gate on the left, then one box per expert with its score, then its tree. A
        single tree grows from top to bottom. A leaf that answers with numbers shows a formula per output.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet import export
    >>> "digraph" in export.dot(model)
    True
    """
    return "\n".join(_graph(as_model(model), digits)) + "\n"


def _graph(mixture: Model, digits: int) -> Iterator[str]:
    yield f"// {summary(mixture)}"
    yield f"// model {digest(mixture)}"
    yield "digraph moet {"
    yield f"  graph [rankdir={'LR' if mixture.n_experts > 1 else 'TB'}, ordering=out, nodesep=0.12];"
    yield '  node [fontname="sans-serif", fontsize=11, shape=box, height=0.3, margin="0.1,0.04"];'
    yield '  edge [fontname="sans-serif", fontsize=9, arrowsize=0.6];'
    if mixture.n_experts > 1:
        yield f"  gate [label={_quoted('gate:', *_meaning(mixture))}, shape=ellipse];"
    if isinstance(mixture, RegressionMixture) and (bounds := list(_bounds(mixture, digits))):
        yield f"  bounds [label={_quoted('clipped to', *bounds)}, shape=note];"
    for j in range(mixture.n_experts):
        if mixture.n_experts > 1:
            score = _sum("score", mixture.gate_bias[j], mixture.gate_weights[j], mixture, digits)
            yield f"  e{j} [label={_quoted(f'expert {j}', *score)}];"
            yield f"  gate -> e{j} -> t{j}n0;"
        yield from (f"  {line}" for line in _tree(mixture, j, digits))
    yield "}"


def _meaning(mixture: Model) -> list[str]:
    if mixture.prediction == "hard":
        return ["the largest", "score answers"]
    return ["mean of all, by" if isinstance(mixture, RegressionMixture) else "all vote, by", "softmax(scores)"]


def _bounds(mixture: RegressionMixture, digits: int) -> Iterator[str]:
    for name, low, high in zip(mixture.outputs, mixture.low.tolist(), mixture.high.tolist(), strict=True):
        least = f"{low:.{digits}g} <= " if math.isfinite(low) else ""
        most = f" <= {high:.{digits}g}" if math.isfinite(high) else ""
        if least or most:
            yield f"{least}{printable(name)}{most}"


def _sum(name: str, first: float, weights: NDArray[np.float64], mixture: BaseMixture, digits: int) -> Iterator[str]:
    """Lines of a linear function of the features."""
    terms = [
        f"{'-' if w < 0 else '+'} {abs(w):.{digits}g}*{printable(feature)}"
        for w, feature in zip(weights.tolist(), mixture.feature_names, strict=True)
        if w != 0
    ]
    yield f"{printable(name)} = {first:.{digits}g}"
    for start in range(0, len(terms), TERMS_PER_LINE):
        yield " ".join(terms[start : start + TERMS_PER_LINE])


def _tree(mixture: Model, expert: int, digits: int) -> Iterator[str]:
    tree: BaseTree = mixture.trees[expert]
    prefix = f"t{expert}n"
    for node in range(tree.n_nodes):
        k = tree.feature[node]
        if k == LEAF:
            if isinstance(mixture, RegressionMixture):
                leaf, colour = _laws(mixture, expert, node, digits), expert
            else:
                leaf, colour = _leaf(mixture, tree.value[node]), int(tree.value[node].argmax())
            fill = f'style="rounded,filled", fillcolor="/pastel19/{1 + colour % N_COLOURS}"'
            yield f"{prefix}{node} [label={_quoted(*leaf)}, {fill}];"
        else:
            test = f"{printable(mixture.feature_names[k])} <= {tree.threshold[node]:.{digits}g}"
            yield f"{prefix}{node} [label={_quoted(test)}];"
            yield f'{prefix}{node} -> {prefix}{tree.left[node]} [label="yes"];'
            yield f'{prefix}{node} -> {prefix}{tree.right[node]} [label="no"];'


def _leaf(mixture: Mixture, probabilities: NDArray[np.float64]) -> Iterator[str]:
    """The answer of a hard leaf; all that a soft one votes for, the most probable first."""
    for c in np.argsort(-probabilities, kind="stable")[: 1 if mixture.prediction == "hard" else None]:
        if probabilities[c] > 0:
            yield f"{printable(str(mixture.classes[c]))} ({probabilities[c]:.2f})"


def _laws(mixture: RegressionMixture, expert: int, node: int, digits: int) -> Iterator[str]:
    """The formulas of a leaf."""
    tree: RegressionTree = mixture.trees[expert]
    for o, output in enumerate(mixture.outputs):
        slope = np.zeros(mixture.n_features) if tree.slope is None else tree.slope[node, o]
        yield from _sum(output, tree.value[node, o], slope, mixture, digits)


def _quoted(*lines: str) -> str:
    r"""A quoted string of DOT, one ``\n`` between the lines and nothing else that Graphviz would interpret."""
    return '"' + r"\n".join(line.replace("\\", r"\\").replace('"', r"\"") for line in lines) + '"'
