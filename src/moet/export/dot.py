"""A mixture as a drawing for Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from moet.model.file import as_mixture, digest
from moet.model.mixture import Mixture
from moet.model.text import printable, summary
from moet.model.tree import LEAF, Tree

TERMS_PER_LINE = 2
N_COLOURS = 9
"""How many pale colours Graphviz knows under the name ``pastel19``; every leaf also says its class in words."""


def dot(model: object, *, digits: int = 4) -> str:
    """Write a mixture, hard or soft, as a graph in Graphviz's language DOT.

    Parameters
    ----------
    model : Mixture, fitted classifier, policy, or path of a model file
        What to draw.
    digits : int
        Significant digits of weights and thresholds.

    Returns
    -------
    str
        For instance for ``dot -Tsvg``: the gate on the left, then one box per expert with its score, then its tree. A
        single tree grows from top to bottom.
    """
    return "\n".join(_graph(as_mixture(model), digits)) + "\n"


def _graph(mixture: Mixture, digits: int) -> Iterator[str]:
    yield f"// {summary(mixture)}"
    yield f"// model {digest(mixture)}"
    yield "digraph moet {"
    yield f"  graph [rankdir={'LR' if mixture.n_experts > 1 else 'TB'}, ordering=out, nodesep=0.12];"
    yield '  node [fontname="sans-serif", fontsize=11, shape=box, height=0.3, margin="0.1,0.04"];'
    yield '  edge [fontname="sans-serif", fontsize=9, arrowsize=0.6];'
    if mixture.n_experts > 1:
        meaning = (
            ["the largest", "score answers"] if mixture.prediction == "hard" else ["all vote, by", "softmax(scores)"]
        )
        yield f"  gate [label={_quoted('gate:', *meaning)}, shape=ellipse];"
    for j, tree in enumerate(mixture.trees):
        if mixture.n_experts > 1:
            yield f"  e{j} [label={_quoted(f'expert {j}', *_score(mixture, j, digits))}];"
            yield f"  gate -> e{j} -> t{j}n0;"
        yield from (f"  {line}" for line in _tree(mixture, tree, f"t{j}n", digits))
    yield "}"


def _score(mixture: Mixture, expert: int, digits: int) -> Iterator[str]:
    terms = [
        f"{'-' if w < 0 else '+'} {abs(w):.{digits}g}*{printable(name)}"
        for w, name in zip(mixture.gate_weights[expert].tolist(), mixture.feature_names, strict=True)
        if w != 0
    ]
    yield f"score = {mixture.gate_bias[expert]:.{digits}g}"
    for start in range(0, len(terms), TERMS_PER_LINE):
        yield " ".join(terms[start : start + TERMS_PER_LINE])


def _tree(mixture: Mixture, tree: Tree, prefix: str, digits: int) -> Iterator[str]:
    labels = [printable(str(label)) for label in mixture.classes.tolist()]
    for node in range(tree.n_nodes):
        k = tree.feature[node]
        if k == LEAF:
            leaf = _leaf(tree.value[node], labels, mixture.prediction == "hard")
            colour = f"/pastel19/{1 + int(tree.value[node].argmax()) % N_COLOURS}"
            yield f'{prefix}{node} [label={_quoted(*leaf)}, style="rounded,filled", fillcolor="{colour}"];'
        else:
            test = f"{printable(mixture.feature_names[k])} <= {tree.threshold[node]:.{digits}g}"
            yield f"{prefix}{node} [label={_quoted(test)}];"
            yield f'{prefix}{node} -> {prefix}{tree.left[node]} [label="yes"];'
            yield f'{prefix}{node} -> {prefix}{tree.right[node]} [label="no"];'


def _leaf(probabilities: NDArray[np.float64], labels: list[str], hard: bool) -> Iterator[str]:
    """The answer of a hard leaf; all that a soft one votes for, the most probable first."""
    for c in np.argsort(-probabilities, kind="stable")[: 1 if hard else None]:
        if probabilities[c] > 0:
            yield f"{labels[c]} ({probabilities[c]:.2f})"


def _quoted(*lines: str) -> str:
    r"""A quoted string of DOT, one ``\n`` between the lines and nothing else that Graphviz would interpret."""
    return '"' + r"\n".join(line.replace("\\", r"\\").replace('"', r"\"") for line in lines) + '"'
