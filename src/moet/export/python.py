"""A hard mixture as one Python function that imports nothing."""

from __future__ import annotations

from collections.abc import Iterator

from moet.export.parts import check_nesting, hard_mixture, leaf_class, logit, walk
from moet.model.file import digest
from moet.model.mixture import Mixture
from moet.model.text import summary
from moet.model.tree import Tree

INDENT = "    "
TERMS_PER_LINE = 4


def python(model: object) -> str:
    """Write a hard mixture as the source of one Python function, ``predict(x)``, that imports nothing.

    The function takes one state, a sequence of numbers, and returns its label, the one that
    :meth:`moet.Mixture.predict_hard` gives.

    Parameters
    ----------
    model : Mixture, fitted classifier, policy, or path of a model file
        What to write. Soft mixtures of several experts are refused.

    Returns
    -------
    str
        ASCII text, whatever the names of features and classes.
    """
    mixture = hard_mixture(model, "Python source")
    check_nesting(mixture, "limit the depth of the tree")
    return "\n".join(_lines(mixture)) + "\n"


def _lines(mixture: Mixture) -> Iterator[str]:
    labels = [ascii(label) for label in mixture.classes.tolist()]
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
        if j < last:
            yield f"{INDENT}if expert == {j}:"
        yield from (INDENT * (1 + (j < last)) + line for line in _tree(tree, mixture.feature_names, labels))


def _gate(mixture: Mixture) -> Iterator[str]:
    if mixture.n_experts == 1:
        return
    for j, (bias, weights) in enumerate(zip(mixture.gate_bias, mixture.gate_weights, strict=True)):
        # statements of a few terms, for Python cannot parse one long sum; its sum() would round otherwise
        bias_term, *terms = logit(float(bias), weights, repr)
        yield " ".join([f"s{j} = {bias_term}", *terms[:TERMS_PER_LINE]])
        for start in range(TERMS_PER_LINE, len(terms), TERMS_PER_LINE):
            yield " ".join([f"s{j} = s{j}", *terms[start : start + TERMS_PER_LINE]])
    yield f"scores = [{', '.join(f's{j}' for j in range(mixture.n_experts))}]"
    yield "expert = scores.index(max(scores))"


def _tree(tree: Tree, names: tuple[str, ...], labels: list[str]) -> Iterator[str]:
    for step, depth, node in walk(tree):
        k = int(tree.feature[node])
        lines = {
            "if": f"if x[{k}] <= {float(tree.threshold[node])!r}:  # {names[k]!a}",
            "else": "else:",
            "leaf": f"return {labels[leaf_class(tree.value[node])]}",
        }
        if step in lines:
            yield INDENT * depth + lines[step]
