"""A hard mixture as one Python function that imports nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator

from moet.export.parts import check_hard, check_nesting, leaf_class, logit, walk
from moet.model.file import Model, as_model, digest
from moet.model.mixture import Mixture
from moet.model.regression.mixture import RegressionMixture
from moet.model.regression.tree import RegressionTree
from moet.model.text import summary
from moet.model.tree import BaseTree

INDENT = "    "
TERMS_PER_LINE = 4


def python(model: object) -> str:
    """Write a hard mixture as the source of one Python function, ``predict(x)``, that imports nothing.

    The function takes one state, a sequence of numbers, and returns its label, the one that
    :meth:`moet.Mixture.predict_hard` gives; or, of a RegressionMixture, the list of its outputs to the bit.

    Parameters
    ----------
    model : Mixture, RegressionMixture, fitted estimator, policy, or path of a model file
        What to write. Soft mixtures of several experts are refused.

    Returns
    -------
    str
        ASCII text, whatever the names of features and classes.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet import export
    >>> scope = {}
    >>> exec(export.python(model), scope)
    >>> scope["predict"]([1.0, 1.0])
    'up'
    """
    mixture = as_model(model)
    check_hard(mixture, "Python source")
    check_nesting(mixture, "limit the depth of the tree")
    return "\n".join(_lines(mixture)) + "\n"


def _lines(mixture: Model) -> Iterator[str]:
    yield f"# {summary(mixture)}"
    yield f"# model {digest(mixture)}"
    yield "#"
    yield from (f"# x[{k}]  {name!a}" for k, name in enumerate(mixture.feature_names))
    yield ""
    yield ""
    yield "def predict(x):"
    # numpy would compute the logits of float32 numbers in float32
    yield f"{INDENT}x = [float(value) for value in x]"
    yield f"{INDENT}if len(x) != {mixture.n_features} or any(value - value != 0 for value in x):"
    yield f'{INDENT * 2}raise ValueError("expected {mixture.n_features} finite numbers, got %r" % (x,))'
    yield from (INDENT + line for line in _gate(mixture))
    last = mixture.n_experts - 1
    for j, tree in enumerate(mixture.trees):
        if last > 0:
            yield f"{INDENT}{'if' if j == 0 else 'elif'} expert == {j}:" if j < last else f"{INDENT}else:"
        yield from (INDENT * (1 + (last > 0)) + line for line in _tree(tree, mixture))
    if isinstance(mixture, RegressionMixture):
        yield from (INDENT + line for line in _clipping(mixture))


def _gate(mixture: Model) -> Iterator[str]:
    if mixture.n_experts == 1:
        return
    for j, (bias, weights) in enumerate(zip(mixture.gate_bias, mixture.gate_weights, strict=True)):
        yield from _sum(f"s{j}", *logit(float(bias), weights, repr))
    yield f"scores = [{', '.join(f's{j}' for j in range(mixture.n_experts))}]"
    yield "expert = scores.index(max(scores))"


def _sum(name: str, first: str, *terms: str) -> Iterator[str]:
    """Statements of a few terms, for Python cannot parse one long sum; its sum() would round otherwise."""
    yield " ".join([f"{name} = {first}", *terms[:TERMS_PER_LINE]])
    for start in range(TERMS_PER_LINE, len(terms), TERMS_PER_LINE):
        yield " ".join([f"{name} = {name}", *terms[start : start + TERMS_PER_LINE]])


def _tree(tree: BaseTree, mixture: Model) -> Iterator[str]:
    for step, depth, node in walk(tree):
        k = int(tree.feature[node])
        if step == "leaf":
            yield from (INDENT * depth + line for line in _leaf(tree, node, mixture))
        elif step == "if":
            yield f"{INDENT * depth}if x[{k}] <= {float(tree.threshold[node])!r}:  # {mixture.feature_names[k]!a}"
        elif step == "else":
            yield f"{INDENT * depth}else:"


def _leaf(tree: BaseTree, node: int, mixture: Model) -> Iterator[str]:
    if isinstance(mixture, Mixture):
        yield f"return {mixture.classes.tolist()[leaf_class(tree.value[node])]!a}"
        return
    assert isinstance(tree, RegressionTree)
    for o, value in enumerate(tree.value[node].tolist()):
        slopes = [] if tree.slope is None else tree.slope[node, o].tolist()
        # terms of zero stay: they decide about the sign of a sum that is zero
        yield from _sum(f"u{o}", repr(value), *(f"+ {slope!r} * x[{k}]" for k, slope in enumerate(slopes)))


def _clipping(mixture: RegressionMixture) -> Iterator[str]:
    for o, (low, high) in enumerate(zip(mixture.low.tolist(), mixture.high.tolist(), strict=True)):
        yield f"if u{o} - u{o} != 0:"
        yield f'{INDENT}raise ValueError("the model overflows on %r" % (x,))'
        for sign, bound in (("<", low), (">", high)):
            if math.isfinite(bound):
                yield f"if u{o} {sign} {bound!r}:"
                yield f"{INDENT}u{o} = {bound!r}"
    yield f"return [{', '.join(f'u{o}' for o in range(mixture.n_outputs))}]"
