"""The hard answer itself, to be followed by questions about it: no assertion, but functions of the inputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from moet.model.base import BaseMixture
from moet.model.file import Model
from moet.model.mixture import Mixture
from moet.model.regression.mixture import RegressionMixture
from moet.model.regression.tree import RegressionTree
from moet.model.text import printable
from moet.verify.exact import ExactMixture
from moet.verify.smtlib.terms import all_of, input_names, leaf_ifs, number, shown, tree_ifs, weighted_sum


def definition(mixture: Model) -> str:
    """Text of functions that give the answer of a hard mixture.

    ``(expert x0 x1 ...)`` is the number of the expert that answers. ``(answer x0 x1 ...)`` is the number of the class;
    a RegressionMixture has ``(output0 x0 x1 ...)`` and so on instead. All are of sort Real, the only one of QF_LRA.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet.verify import smtlib
    >>> "define-fun" in smtlib.definition(model)
    True
    """
    names = input_names(mixture)
    lines = [f"; {name}: {printable(meaning)}" for name, meaning in zip(names, mixture.feature_names, strict=True)]
    if isinstance(mixture, RegressionMixture):
        lines += [f"; output{o}: {printable(name)}" for o, name in enumerate(mixture.outputs)]
        answers = _outputs(mixture, names)
    else:
        labels = enumerate(mixture.classes.tolist())
        lines += [f"; answer {number(Fraction(c))}: {shown([label])}" for c, label in labels]
        answers = _answer(mixture, names)
    return "\n".join([*lines, "(set-logic QF_LRA)", *_gate(mixture, names), *answers, ""])


def _function(name: str, names: list[str], body: str) -> str:
    return f"(define-fun {name} ({' '.join(f'({x} Real)' for x in names)}) Real {body})"


def _gate(mixture: BaseMixture, names: list[str]) -> Iterator[str]:
    """The logits, and the first expert of largest logit."""
    exact, inputs = ExactMixture(mixture), " ".join(names)
    for j, (weights, bias) in enumerate(zip(exact.weights, exact.bias, strict=True)):
        yield _function(f"logit{j}", names, f"(+ {number(bias)} {weighted_sum(weights, names)})")
    first = number(Fraction(mixture.n_experts - 1))
    for j in reversed(range(mixture.n_experts - 1)):
        # later rivals suffice: had an earlier one a larger logit, it would have been chosen
        rivals = range(j + 1, mixture.n_experts)
        leads = all_of([f"(>= (logit{j} {inputs}) (logit{rival} {inputs}))" for rival in rivals])
        first = f"(ite {leads} {number(Fraction(j))} {first})"
    yield _function("expert", names, first)


def _of_expert(mixture: BaseMixture, function: str, names: list[str]) -> str:
    """The function of the expert that answers; ``function`` has a place for its number."""
    inputs = " ".join(names)
    *calls, chosen = [f"({function.format(j)} {inputs})" for j in range(mixture.n_experts)]
    for j, call in reversed(list(enumerate(calls))):
        chosen = f"(ite (= (expert {inputs}) {number(Fraction(j))}) {call} {chosen})"
    return chosen


def _answer(mixture: Mixture, names: list[str]) -> Iterator[str]:
    numbers = [number(Fraction(c)) for c in range(len(mixture.classes))]
    for j, tree in enumerate(mixture.trees):
        yield _function(f"tree{j}", names, tree_ifs(tree, numbers, names))
    yield _function("answer", names, _of_expert(mixture, "tree{}", names))


def _outputs(mixture: RegressionMixture, names: list[str]) -> Iterator[str]:
    """For every output its law by expert, the law that counts, and that law clipped."""
    for o, (low, high) in enumerate(zip(mixture.low.tolist(), mixture.high.tolist(), strict=True)):
        for j, tree in enumerate(mixture.trees):
            yield _function(f"tree{j}_law{o}", names, leaf_ifs(tree, laws_of_nodes(tree, o, names), names))
        yield _function(f"law{o}", names, _of_expert(mixture, f"tree{{}}_law{o}", names))
        clipped = law = f"(law{o} {' '.join(names)})"
        for sign, bound in ((">", high), ("<", low)):
            if math.isfinite(bound):
                clipped = f"(ite ({sign} {law} {number(Fraction(bound))}) {number(Fraction(bound))} {clipped})"
        yield _function(f"output{o}", names, clipped)


def laws_of_nodes(tree: RegressionTree, output: int, names: Sequence[str]) -> Iterator[str]:
    """The law of every node."""
    for node, value in enumerate(tree.value[:, output].tolist()):
        if tree.slope is None:
            yield number(Fraction(value))
        else:
            slopes = [Fraction(slope) for slope in tree.slope[node, output].tolist()]
            yield f"(+ {number(Fraction(value))} {weighted_sum(slopes, names)})"
