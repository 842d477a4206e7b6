"""Models that answer with numbers as plain Python numbers, by ``docs/model-format.md``. Standard library only.

Version 2 of the format: the gate and the tests are those of :mod:`~moet.verify.checker.documents.model`, the
leaves hold laws.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.documents.model import ARRAYS, arrays_of, check_shape, digest_of, frame, matrix, read_model
from moet.verify.checker.documents.reading import double, items, members, text
from moet.verify.checker.documents.schema import PlainColumn, plain_columns, schema_document
from moet.verify.checker.inputs.gate import Open, Sum, exact_sum, rounded_sum


class LawTree(NamedTuple):
    """A tree: go left iff x[feature] <= threshold; ``laws`` has, at every leaf, one sum per output."""

    feature: list[int]
    threshold: list[Any]
    left: list[int]
    right: list[int]
    laws: list[list[Sum]]


class PlainLaws(NamedTuple):
    """A mixture of laws, with the digest of the file that :func:`moet.save` would write.

    Output o is the sum of its law at the leaf that an input reaches, clipped to ``low[o]`` and ``high[o]`` (None where
    there is no bound). A sum that overflows is an error, and no answer. ``labels`` says that the model answers with
    labels, and these laws are what actions do to controls.
    """

    weights: list[list[float]]
    bias: list[float]
    trees: list[LawTree]
    outputs: list[str]
    low: list[Fraction | None]
    high: list[Fraction | None]
    feature_names: list[str]
    prediction: str
    digest: str
    columns: Sequence[PlainColumn] = ()
    labels: bool = False

    @property
    def is_hard(self) -> bool:
        """Whether one expert alone answers."""
        return self.prediction == "hard" or len(self.trees) == 1

    def leaf(self, x: Sequence[Fraction]) -> list[Sum]:
        """Laws that answer an input in exact arithmetic: those of the first expert with the largest logit."""
        logits = [value(exact_sum(row, b), x) for row, b in zip(self.weights, self.bias, strict=True)]
        tree, node = self.trees[logits.index(max(logits))], 0
        while tree.feature[node] >= 0:
            below = x[tree.feature[node]] <= Fraction(tree.threshold[node])
            node = tree.left[node] if below else tree.right[node]
        return tree.laws[node]

    def answer(self, x: Sequence[Fraction]) -> list[Fraction]:
        """Outputs of an input in exact arithmetic."""
        sums = (value(law, x) for law in self.leaf(x))
        return [clipped(u, low, high) for u, low, high in zip(sums, self.low, self.high, strict=True)]


def value(law: Sum, x: Sequence[Fraction]) -> Fraction:
    """The sum at ``x``, in exact arithmetic."""
    return law.bias + sum(w * v for w, v in zip(law.weights, x, strict=True))


def clipped(u: Fraction, low: Fraction | None, high: Fraction | None) -> Fraction:
    """A number, or the bound that it is beyond."""
    if low is not None and u < low:
        return low
    return high if high is not None and u > high else u


def rounded_law(law: Sum, lo: Open, hi: Open) -> Sum:
    """A law with the errors of float64 arithmetic over a box that is, where open, on one side of zero.

    A sum that overflows on the way is no answer, so the bound holds of every answer.
    """
    return rounded_sum(law, lo, hi)[0]


def read_laws(model: Any) -> PlainLaws:
    """Read a model that answers with numbers: a file, the JSON document of one, or an object that holds a mixture."""
    return read_model(model, _plain)


def _plain(document: dict[str, Any]) -> PlainLaws:
    prediction, names, weights, bias, experts = frame(document, 2, "outputs")
    outputs, low, high = _outputs(document["outputs"])
    arrays = [_arrays(tree, f"trees[{j}]", len(names), len(outputs)) for j, tree in enumerate(experts)]
    columns = plain_columns(document.get("schema"), "schema" in document, names)
    answers: dict[str, Any] = {"schema": schema_document(columns)} if "schema" in document else {}
    answers["outputs"] = {"names": outputs, "low": low, "high": high}
    digest = digest_of(2, prediction, names, answers, weights, bias, arrays)
    trees = [_tree(tree, f"trees[{j}]", len(names)) for j, tree in enumerate(arrays)]
    bounds = [[None if bound is None else Fraction(bound) for bound in side] for side in (low, high)]
    return PlainLaws(weights, bias, trees, outputs, bounds[0], bounds[1], names, prediction, digest, columns)


def _outputs(document: Any) -> tuple[list[str], list[float | None], list[float | None]]:
    parts = members(document, "outputs", ("names", "low", "high"))
    names = [text(name, "outputs.names") for name in items(parts["names"], "outputs.names")]
    if not names or len(set(names)) < len(names):
        raise CertificateError("outputs.names must be different names, at least one")
    low, high = (
        [None if bound is None else double(bound, f"outputs.{side}") for bound in items(parts[side], side, len(names))]
        for side in ("low", "high")
    )
    if any(a is not None and b is not None and a > b for a, b in zip(low, high, strict=True)):
        raise CertificateError("a low bound of the outputs exceeds its high bound")
    return names, low, high


def _arrays(tree: Any, where: str, n_features: int, n_outputs: int) -> dict[str, list[Any]]:
    parts = members(tree, where, ARRAYS, optional=("slope",))
    arrays = arrays_of(parts, where, n_features, n_outputs)
    if "slope" in parts:
        slopes = items(parts["slope"], f"{where}.slope", len(arrays["feature"]))
        arrays["slope"] = [
            matrix(items(rows, f"{where}.slope", n_outputs), f"{where}.slope", n_features) for rows in slopes
        ]
    return arrays


def _tree(arrays: dict[str, list[Any]], where: str, n_features: int) -> LawTree:
    check_shape(arrays, where)
    flat = [[0.0] * n_features] * len(arrays["value"][0])
    laws = []
    for node, values in enumerate(arrays["value"]):
        slopes = arrays["slope"][node] if "slope" in arrays else flat
        is_leaf = arrays["feature"][node] < 0
        laws.append([exact_sum(row, v) for v, row in zip(values, slopes, strict=True)] if is_leaf else [])
    feature, threshold, left, right, _ = (arrays[name] for name in ARRAYS)
    return LawTree(feature, threshold, left, right, laws)
