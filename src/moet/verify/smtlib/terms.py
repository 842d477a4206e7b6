"""The words of SMT-LIB: numbers, sums, conditions and what a mixture answers, as terms of linear arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from moet.model.base import BaseMixture
from moet.model.mixture import Mixture
from moet.model.text import printable
from moet.model.tree import LEAF, BaseTree, Tree
from moet.verify.exact import ExactMixture
from moet.verify.polytopes import Polytope
from moet.verify.rational import Row


def question(title: str, lines: Sequence[str], assertions: Sequence[str]) -> str:
    """A whole text: what it asks, declarations, and what a counterexample is."""
    asserted = [f"(assert {assertion})" for assertion in assertions]
    return "\n".join([f"; Is there {title}?", "(set-logic QF_LRA)", *lines, *asserted, "(check-sat)", ""])


def input_names(mixture: BaseMixture) -> list[str]:
    """Names of the inputs of a model: x0, x1, ..."""
    return [f"x{k}" for k in range(mixture.n_features)]


def declarations(mixture: BaseMixture, names: Sequence[str]) -> list[str]:
    """Lines that declare the inputs, with what they mean."""
    return [
        f"(declare-const {name} Real) ; {printable(meaning)}"
        for name, meaning in zip(names, mixture.feature_names, strict=True)
    ]


def nested_ifs(mixture: Mixture, value_of_class: list[str], names: Sequence[str]) -> str:
    """The answer of a mixture as ifs in one another, the paper's way."""
    exact = ExactMixture(mixture)
    trees = [tree_ifs(tree, value_of_class, names) for tree in mixture.trees]
    text = trees[-1]
    for expert in reversed(range(mixture.n_experts - 1)):
        chosen = all_of([condition(row, names) for row in exact.rows(expert)])
        text = f"(ite {chosen} {trees[expert]} {text})"
    return text


def tree_ifs(tree: Tree, value_of_class: list[str], names: Sequence[str]) -> str:
    """The answer of a tree as ifs in one another."""
    return leaf_ifs(tree, [value_of_class[c] for c in tree.value.argmax(axis=1)], names)


def leaf_ifs(tree: BaseTree, leaves: Iterable[str], names: Sequence[str]) -> str:
    """What a tree leads to as ifs in one another; ``leaves`` has a text for every node, used at the leaves."""
    texts = list(leaves)
    for node in np.flatnonzero(tree.feature != LEAF)[::-1]:  # children come after their parents
        test = f"(<= {names[tree.feature[node]]} {number(Fraction(float(tree.threshold[node])))})"
        texts[node] = f"(ite {test} {texts[tree.left[node]]} {texts[tree.right[node]]})"
    return texts[0]


def answers_one_of(mixture: Mixture, wanted: Any, names: Sequence[str]) -> str:
    """The mixture answers with a wanted class."""
    exact = ExactMixture(mixture)
    cases = []
    for expert, tree in enumerate(mixture.trees):
        conditions = [condition(row, names) for row in exact.rows(expert)]
        cases.append(all_of([*conditions, tree_test(tree, wanted, names)]))
    return any_of(cases)


def tree_test(tree: Tree, wanted: Any, names: Sequence[str]) -> str:
    """The tree answers with a wanted class."""
    return tree_ifs(tree, ["true" if is_wanted else "false" for is_wanted in wanted], names)


def within(names: Sequence[str], lo: Iterable[Any], hi: Iterable[Any]) -> list[str]:
    """The sides of a box as conditions, as far as it has any."""
    finite = [(">=", name, low) for name, low in zip(names, lo, strict=True) if low != -np.inf]
    finite += [("<=", name, high) for name, high in zip(names, hi, strict=True) if high != np.inf]
    return [f"({sign} {name} {number(Fraction(side))})" for sign, name, side in finite]


def inside(region: Polytope, names: Sequence[str]) -> str:
    """The input is in a region."""
    sides = within(names, region.lo.tolist(), region.hi.tolist())
    above = [f"(> {names[k]} {number(Fraction(region.lo[k]))})" for k in np.flatnonzero(region.above).tolist()]
    return all_of([*sides, *above, *(condition(row, names) for row in region.rows)])


def condition(row: Row, names: Sequence[str]) -> str:
    """A half-space as a condition."""
    return f"({'>' if row.strict else '>='} {weighted_sum(row.coefficients, names)} {number(row.bound)})"


def weighted_sum(coefficients: Sequence[Fraction], names: Sequence[str]) -> str:
    """A linear function."""
    terms = [f"(* {number(c)} {name})" for c, name in zip(coefficients, names, strict=True) if c]
    return f"(+ 0.0 {' '.join(terms)})" if terms else "0.0"


def number(value: Fraction) -> str:
    """An exact number."""
    size = f"{abs(value.numerator)}.0"
    if value.denominator != 1:
        size = f"(/ {size} {value.denominator}.0)"
    return f"(- {size})" if value < 0 else size


def all_of(conditions: Sequence[str]) -> str:
    """A conjunction."""
    return f"(and {' '.join(conditions)})" if conditions else "true"


def any_of(conditions: Sequence[str]) -> str:
    """A disjunction."""
    return f"(or {' '.join(conditions)})" if conditions else "false"


def shown(labels: Iterable[Any]) -> str:
    """Labels, for a comment."""
    return printable(" or ".join(str(label) for label in labels))


def nearest_question(
    title: str,
    lines: Sequence[str],
    sides: Sequence[str],
    names: Sequence[str],
    centre: Sequence[Fraction],
    distance: Fraction | float | None,
    norm: Literal["l1", "linf"],
) -> str:
    """Text of "an input of that title is nearer to ``centre`` than a distance", or of the question for the least one.

    ``lines`` declare what ``sides`` say of the inputs.
    """
    declared = list(lines)
    if distance is None:
        radius, below = "distance", "<="
        declared.append("(declare-const distance Real) ; to be as small as possible")
    else:
        radius, below = number(Fraction(distance)), "<"
    gaps = [f"(- {name} {number(c)})" for name, c in zip(names, centre, strict=True)]
    if norm == "linf":
        near = [f"(and ({below} {gap} {radius}) ({below} (- {gap}) {radius}))" for gap in gaps]
    else:
        moves = [f"move{k}" for k in range(len(names))]
        changes = zip(moves, names, strict=True)
        declared += [f"(declare-const {move} Real) ; at least the change of {name}" for move, name in changes]
        near = [f"(and (>= {m} {gap}) (>= {m} (- {gap})))" for m, gap in zip(moves, gaps, strict=True)]
        near += [f"({below} (+ 0.0 {' '.join(moves)}) {radius})"]
    asked = "the nearest input" if distance is None else f"an input nearer than {float(distance)} ({norm})"
    text = question(f"{asked} {title}", declared, [*sides, *near])
    return text if distance is not None else text.replace("(check-sat)", "(minimize distance)\n(check-sat)")
