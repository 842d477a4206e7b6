"""What every language needs: the mixture to write, its description, and its gate as sums of products."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from moet.errors import ExportError
from moet.model.base import BaseMixture
from moet.model.file import as_mixture
from moet.model.mixture import Mixture
from moet.model.text import how_to_harden
from moet.model.tree import LEAF, BaseTree

MAX_NESTING = 90
"""Deepest tree that is written as nested ifs: C promises 127 nested blocks, Python reads 100 levels of indentation."""


def hard_mixture(model: object, language: str) -> Mixture:
    """Return the mixture that ``model`` is or holds, if one expert answers alone."""
    mixture = as_mixture(model)
    check_hard(mixture, language)
    return mixture


def check_hard(mixture: BaseMixture, language: str) -> None:
    """Refuse mixtures whose experts answer together; the vote of a single expert is its answer."""
    if mixture.prediction == "soft" and mixture.n_experts > 1:
        raise ExportError(
            f"a soft mixture cannot be exported to {language} with the same answers everywhere; "
            f"{how_to_harden(mixture)}"
        )


def check_nesting(mixture: BaseMixture, otherwise: str) -> None:
    """Refuse trees too deep for nested ifs; ``otherwise`` is what the user can do about it."""
    if (depth := mixture.size.depth) > MAX_NESTING:
        raise ExportError(f"a tree of depth {depth} is too deep for nested ifs (at most {MAX_NESTING}); {otherwise}")


def logit(
    bias: float,
    weights: NDArray[np.float64],
    literal: Callable[[float], str],
    product: Callable[[str, str], str] = "{} * {}".format,
) -> list[str]:
    """Terms of a gate's logit, to be added from left to right, such as ``["0.5", "+ 2.0 * x[0]", "- 1.0 * x[3]"]``.

    A weight of zero times a finite number is zero, and adding zero changes no comparison, so such terms are left out.
    """
    terms = [(k, w) for k, w in enumerate(weights.tolist()) if w != 0]
    return [literal(bias), *(f"{'-' if w < 0 else '+'} {product(literal(abs(w)), f'x[{k}]')}" for k, w in terms)]


def leaf_class(value: NDArray[np.float64]) -> int:
    """Class of a leaf: the first of largest probability."""
    return int(value.argmax())


def walk(tree: BaseTree) -> Iterator[tuple[str, int, int]]:
    """Steps of writing a tree as nested ifs: ("if" | "else" | "end" | "leaf", depth, node).

    With a stack of what is still to be written: the depth of a tree is not limited by that of Python's recursion.
    """
    todo = [("if", 0, 0)]
    while todo:
        step, depth, node = todo.pop()
        if step != "if":
            yield step, depth, node
        elif tree.feature[node] == LEAF:
            yield "leaf", depth, node
        else:
            yield step, depth, node
            left, right = int(tree.left[node]), int(tree.right[node])
            todo += [("end", depth, node), ("if", depth + 1, right), ("else", depth, node), ("if", depth + 1, left)]
