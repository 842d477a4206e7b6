"""Models as plain Python numbers, by the rules of ``docs/model-format.md`` written once more. Standard library only."""

from __future__ import annotations

import hashlib
import json
import math
import os
import weakref
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol, TypeVar

from moet.errors import CertificateError
from moet.verify.checker.documents.reading import (
    all_double,
    all_whole,
    double,
    items,
    members,
    parse,
    plain,
    read_file,
    shown,
    text,
)
from moet.verify.checker.documents.schema import PlainColumn, plain_columns, schema_document

HEAD = ("format", "version", "prediction", "feature_names", "gate", "trees")
ARRAYS = ("feature", "threshold", "left", "right", "value")
SAID = ("sharpness", "offset")
"""What probabilities are made with, and no answer: it is part of the digest only."""
_CLASS_TYPES = {"U": "str", "i": "int", "f": "float", "b": "bool"}
_LABELS: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (int, float), "bool": (bool,)}
_TOLERANCE = 1e-6
"""By how much the probabilities of a node may miss 1."""
_MISS = _TOLERANCE * (1 + 1e-6)
"""The same, for a sum that was rounded."""

Label = str | int | float | bool
T = TypeVar("T")


class Tests(Protocol):
    """The tests of a tree, whatever its leaves answer with: go left iff x[feature] <= threshold; -1 at a leaf."""

    @property
    def feature(self) -> list[int]:
        """Tested features."""

    @property
    def threshold(self) -> list[Any]:
        """What they are compared with."""

    @property
    def left(self) -> list[int]:
        """Children where the test holds."""

    @property
    def right(self) -> list[int]:
        """Children where it does not."""


class PlainGate(Protocol):
    """What all models have: a gate, and trees behind it."""

    @property
    def weights(self) -> list[list[float]]:
        """One row per expert."""

    @property
    def bias(self) -> list[float]:
        """One number per expert."""

    @property
    def trees(self) -> Sequence[Tests]:
        """One per expert."""

    @property
    def feature_names(self) -> list[str]:
        """Names of the numbers of an input."""

    @property
    def digest(self) -> str:
        """SHA-256 of the model's file."""


class PlainTree(NamedTuple):
    """A tree: go left iff x[feature] <= threshold; ``label`` is the class index of a leaf and -1 elsewhere.

    ``value`` holds the probabilities of the classes at every node.
    """

    feature: list[int]
    threshold: list[float]
    left: list[int]
    right: list[int]
    label: list[int]
    value: list[list[float]]


class PlainModel(NamedTuple):
    """A mixture as lists of numbers, with the digest of the file that :func:`moet.save` would write."""

    weights: list[list[float]]
    bias: list[float]
    trees: list[PlainTree]
    classes: list[Any]
    class_type: str
    feature_names: list[str]
    prediction: str
    digest: str
    columns: list[PlainColumn]
    has_table: bool

    @property
    def is_hard(self) -> bool:
        """Whether one expert alone answers."""
        return self.prediction == "hard" or len(self.trees) == 1


_READ: dict[int, tuple[Any, PlainModel]] = {}
"""Mixtures that still exist, by their identity: what they were made of, and what was read from that."""


def plain_model(model: Any) -> PlainModel:
    """Read a model that answers with labels: a file, the JSON document of one, or an object that holds a mixture.

    Many questions may be about one mixture, which is read again only if some byte of it has changed: NumPy lets one
    write to arrays that were frozen.
    """
    if isinstance(model, str | os.PathLike | dict) or type(model).__name__ != "Mixture":
        return read_model(model, _plain)
    content = _content_of(model)
    if id(model) not in _READ:
        weakref.finalize(model, _READ.pop, id(model), None)
    elif _READ[id(model)][0] == content:
        return _READ[id(model)][1]
    _READ[id(model)] = content, read_model(model, _plain)
    return _READ[id(model)][1]


def _content_of(model: Any) -> list[Any]:
    """All that the document of a mixture is made of, arrays as types and bytes."""
    arrays = [model.gate_weights, model.gate_bias, model.classes]
    arrays += [getattr(tree, name) for tree in model.trees for name in ARRAYS]
    schema = None if model.schema is None else model.schema.document()
    rest = [schema, model.prediction, model.feature_names, model.sharpness, model.offset, len(model.trees)]
    return [*rest, *((array.dtype, array.shape, array.tobytes()) for array in arrays)]


def answers_with_numbers(model: Any) -> bool:
    """Whether a model is of the kind that answers with numbers."""
    return read_model(model, lambda document: "outputs" in document)


def read_model(model: Any, read: Callable[[dict[str, Any]], T]) -> T:
    """What ``read`` makes of a model's document, which is that of a file, or given, or made from a mixture."""
    try:
        if isinstance(model, str | os.PathLike):
            document = parse(read_file(model))
        else:
            document = plain(model) if isinstance(model, dict) else _document_of(model)
        if type(document) is not dict or document.get("format") != "moet":
            raise CertificateError('it is not a moet model (no "format": "moet")')
        return read(document)
    except CertificateError as error:
        raise CertificateError(f"the model cannot be read: {error}") from None


def typed(label: Any) -> tuple[type, Any]:
    """A label with its type, for comparisons: Python takes True for 1, and 1 for 1.0."""
    return type(label), label


def _document_of(model: Any) -> dict[str, Any]:
    """Describe a mixture, or a classifier or policy that holds one, as its file does."""
    held: Any
    for held in (model, getattr(model, "mixture_", None), getattr(model, "mixture", None)):
        if hasattr(held, "gate_weights"):
            schema = getattr(held, "schema", None)
            return {
                **({} if schema is None else {"schema": schema.document()}),
                "format": "moet",
                "version": 2 if hasattr(held, "outputs") else 1,
                "prediction": held.prediction,
                "feature_names": list(held.feature_names),
                **_answers_of(held),
                "gate": {"weights": held.gate_weights.tolist(), "bias": held.gate_bias.tolist()},
                "trees": [_lists_of(tree) for tree in held.trees],
            }
    if hasattr(model, "tree_"):  # a tree of scikit-learn, which means NumPy is there; its meaning is defined in model/
        from moet.model.file import as_model

        return _document_of(as_model(model))
    raise CertificateError(f"expected a model or a model file, got {type(model).__name__}")


def _answers_of(held: Any) -> dict[str, Any]:
    """Classes, or outputs and their bounds."""
    if not hasattr(held, "outputs"):
        said = {name: getattr(held, name, None) for name in SAID}
        lists = {name: list(one) if isinstance(one, tuple) else one for name, one in said.items() if one is not None}
        return {"classes": {"type": _CLASS_TYPES[held.classes.dtype.kind], "values": held.classes.tolist()}, **lists}
    low, high = ([value if math.isfinite(value) else None for value in side.tolist()] for side in (held.low, held.high))
    return {"outputs": {"names": list(held.outputs), "low": low, "high": high}}


def _lists_of(tree: Any) -> dict[str, Any]:
    slope = getattr(tree, "slope", None)
    arrays = {name: getattr(tree, name).tolist() for name in ARRAYS}
    return arrays if slope is None else {**arrays, "slope": slope.tolist()}


class Frame(NamedTuple):
    """What documents of both versions say alike."""

    prediction: str
    names: list[str]
    weights: list[list[float]]
    bias: list[float]
    trees: list[Any]


def frame(document: dict[str, Any], version: int, answers: str) -> Frame:
    """Read the parts of a document that both versions have; ``answers`` is the key of what it answers with."""
    if type(document.get("version")) is not int or document["version"] != version:
        kind = "labels (version 1)" if version == 1 else "numbers (version 2)"
        raise CertificateError(
            f"its format version is {shown(document.get('version'))}, and this is about models that answer with {kind}"
        )
    members(
        document,
        "the model",
        (*HEAD, answers),
        optional=("provenance", "schema", *(SAID if version == 1 else ())),
    )
    if document["prediction"] not in ("hard", "soft"):
        raise CertificateError(f"prediction must be 'hard' or 'soft', got {shown(document['prediction'])}")
    gate = members(document["gate"], "gate", ("weights", "bias"))
    names = [text(name, "feature_names") for name in items(document["feature_names"], "feature_names")]
    weights = matrix(gate["weights"], "gate.weights", len(names))
    bias = all_double(items(gate["bias"], "gate.bias", len(weights)), "gate.bias")
    if not names or not weights or len(set(names)) < len(names):
        raise CertificateError("a mixture needs an expert, a feature, and different names of features")
    return Frame(document["prediction"], names, weights, bias, items(document["trees"], "trees", len(weights)))


def _plain(document: dict[str, Any]) -> PlainModel:
    prediction, names, weights, bias, experts = frame(document, 1, "classes")
    class_type, classes = _classes(document["classes"])
    arrays = []
    for j, tree in enumerate(experts):
        members(tree, f"trees[{j}]", ARRAYS)
        arrays.append(arrays_of(tree, f"trees[{j}]", len(names), len(classes)))
    columns = plain_columns(document.get("schema"), "schema" in document, names)
    answers: dict[str, Any] = {"schema": schema_document(columns)} if "schema" in document else {}
    answers["classes"] = {"type": class_type, "values": classes}
    if "sharpness" in document:
        answers["sharpness"] = _sharpness(document["sharpness"], len(classes))
        if prediction == "hard":
            raise CertificateError("sharpness belongs to a soft mixture")
    if "offset" in document:
        answers["offset"] = all_double(items(document["offset"], "offset", len(classes)), "offset")
        if "sharpness" not in document:
            raise CertificateError("an offset belongs to a sharpness")
    digest = digest_of(1, prediction, names, answers, weights, bias, arrays)
    trees = [_tree(tree, f"trees[{j}]") for j, tree in enumerate(arrays)]
    return PlainModel(
        weights, bias, trees, classes, class_type, names, prediction, digest, columns, "schema" in document
    )


def _sharpness(value: Any, n_classes: int) -> float | list[float]:
    """A positive number, or a list of one for each class."""
    one = type(value) is not list
    numbers = all_double([value] if one else items(value, "sharpness", n_classes), "sharpness")
    if not all(number > 0 for number in numbers):
        raise CertificateError("sharpness must be a positive number, or one for each class")
    return numbers[0] if one else numbers


def _classes(document: Any) -> tuple[str, list[Any]]:
    parts = members(document, "classes", ("type", "values"))
    name = text(parts["type"], "classes.type")
    if name not in _LABELS:
        raise CertificateError(f"classes.type must be one of {', '.join(_LABELS)}, got {shown(name)}")
    labels = items(parts["values"], "classes.values")
    if not all(type(label) in _LABELS[name] for label in labels):
        raise CertificateError(f"classes.values must be of type {name}")
    if name == "float":
        labels = [double(label, "classes.values") for label in labels]
    if name == "int" and not all(-(2**63) <= label < 2**63 for label in labels):
        raise CertificateError("classes.values has a number beyond 64 bits")
    if not labels or len(set(labels)) < len(labels):
        raise CertificateError("classes.values must be different labels, at least one")
    return name, labels


def matrix(value: Any, where: str, width: int) -> list[list[float]]:
    """Rows of so many float64 numbers."""
    rows = [items(row, where, width) for row in items(value, where)]
    numbers = all_double(list(chain.from_iterable(rows)), where)
    return [numbers[i : i + width] for i in range(0, len(numbers), width)] if width else rows


def arrays_of(parts: dict[str, Any], where: str, n_features: int, width: int) -> dict[str, list[Any]]:
    """The five lists of a tree, of one length, with numbers of the right types and ranges."""
    n_nodes = len(items(parts["feature"], where))
    if not n_nodes:
        raise CertificateError(f"{where} has no node")
    feature, left, right = (
        all_whole(items(parts[name], f"{where}.{name}", n_nodes), f"{where}.{name}", -1, most - 1)
        for name, most in (("feature", n_features), ("left", n_nodes), ("right", n_nodes))
    )
    threshold = all_double(items(parts["threshold"], where, n_nodes), f"{where}.threshold")
    # what a leaf has there is ignored, and written as 0
    threshold = [0.0 if tested < 0 else value for tested, value in zip(feature, threshold, strict=True)]
    rows = matrix(items(parts["value"], f"{where}.value", n_nodes), f"{where}.value", width)
    return {"feature": feature, "threshold": threshold, "left": left, "right": right, "value": rows}


def _tree(arrays: dict[str, list[Any]], where: str) -> PlainTree:
    check_shape(arrays, where)
    feature, threshold, left, right, value = (arrays[name] for name in ARRAYS)
    totals, largest = list(map(sum, value)), list(map(max, value))
    least = min(map(min, value))
    if not 0 <= least <= max(largest) <= 1 + _TOLERANCE or max(abs(total - 1) for total in totals) > _MISS:
        raise CertificateError(f"{where}: a row of value must have numbers from 0 to 1 that sum to 1")
    label = [row.index(most) if tested < 0 else -1 for tested, row, most in zip(feature, value, largest, strict=True)]
    return PlainTree(feature, threshold, left, right, label, value)


def check_shape(arrays: dict[str, list[Any]], where: str) -> None:
    """Complain unless the nodes are a tree whose children come after their parents."""
    feature, left, right = (arrays[name] for name in ("feature", "left", "right"))
    n_parents = [1] + [0] * (len(feature) - 1)
    for node, tested in enumerate(feature):
        is_leaf = tested < 0
        if is_leaf != (left[node] < 0) or is_leaf != (right[node] < 0):
            raise CertificateError(f"{where}: a leaf has feature, left and right -1, and an inner node none of them")
        for child in () if is_leaf else (left[node], right[node]):
            if child <= node:
                raise CertificateError(f"{where}: every child must come after its parent")
            n_parents[child] += 1
    if set(n_parents) != {1}:
        raise CertificateError(f"{where}: every node but the root must be the child of exactly one node")


def digest_of(
    version: int,
    prediction: str,
    names: list[str],
    answers: dict[str, Any],
    weights: list[list[float]],
    bias: list[float],
    trees: list[dict[str, list[Any]]],
) -> str:
    """SHA-256 of the text that :func:`moet.save` writes."""
    parts = {
        "format": "moet",
        "version": version,
        "prediction": prediction,
        "feature_names": names,
        **answers,
        "gate": {"weights": weights, "bias": bias},
    }
    lines = [f'"{name}": {json.dumps(part, allow_nan=False)}' for name, part in parts.items()]
    lines.append('"trees": [\n' + ",\n".join(json.dumps(tree, allow_nan=False) for tree in trees) + "\n]")
    return hashlib.sha256(("{\n" + ",\n".join(lines) + "\n}\n").encode("ascii")).hexdigest()
