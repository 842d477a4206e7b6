"""Models as plain Python numbers, by the rules of ``docs/model-format.md`` written once more. Standard library only."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.reading import double, items, members, parse, plain, read_file, shown, text, whole

_HEAD = ("format", "version", "prediction", "feature_names", "classes", "gate", "trees")
_ARRAYS = ("feature", "threshold", "left", "right", "value")
_CLASS_TYPES = {"U": "str", "i": "int", "f": "float", "b": "bool"}
_LABELS: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (int, float), "bool": (bool,)}
_TOLERANCE = 1e-6
"""By how much the probabilities of a node may miss 1."""

Label = str | int | float | bool


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

    @property
    def is_hard(self) -> bool:
        """Whether one expert alone answers."""
        return self.prediction == "hard" or len(self.trees) == 1


def plain_model(model: Any) -> PlainModel:
    """Read a model from a file, from the JSON document of one, or from an object with the attributes of a mixture."""
    try:
        if isinstance(model, str | os.PathLike):
            return _plain(parse(read_file(model)))
        return _plain(plain(model) if isinstance(model, dict) else _document_of(model))
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
            return {
                "format": "moet",
                "version": 1,
                "prediction": held.prediction,
                "feature_names": list(held.feature_names),
                "classes": {"type": _CLASS_TYPES[held.classes.dtype.kind], "values": held.classes.tolist()},
                "gate": {"weights": held.gate_weights.tolist(), "bias": held.gate_bias.tolist()},
                "trees": [{name: getattr(tree, name).tolist() for name in _ARRAYS} for tree in held.trees],
            }
    if hasattr(model, "tree_"):  # a tree of scikit-learn, which means NumPy is there; its meaning is defined in model/
        from moet.model.file import as_mixture

        return _document_of(as_mixture(model))
    raise CertificateError(f"expected a model or a model file, got {type(model).__name__}")


def _plain(document: Any) -> PlainModel:
    if type(document) is not dict or document.get("format") != "moet":
        raise CertificateError('it is not a moet model (no "format": "moet")')
    if type(document.get("version")) is not int or document["version"] != 1:
        raise CertificateError(f"its format version is {shown(document.get('version'))}, this moet reads 1")
    members(document, "the model", _HEAD, optional=("provenance",))
    if document["prediction"] not in ("hard", "soft"):
        raise CertificateError(f"prediction must be 'hard' or 'soft', got {shown(document['prediction'])}")
    gate = members(document["gate"], "gate", ("weights", "bias"))
    names = [text(name, "feature_names") for name in items(document["feature_names"], "feature_names")]
    class_type, classes = _classes(document["classes"])
    weights = _matrix(gate["weights"], "gate.weights", len(names))
    bias = [double(value, "gate.bias") for value in items(gate["bias"], "gate.bias", len(weights))]
    if not names or not weights or len(set(names)) < len(names):
        raise CertificateError("a mixture needs an expert, a feature, and different names of features")
    arrays = [
        _arrays(tree, f"trees[{j}]", len(names), len(classes))
        for j, tree in enumerate(items(document["trees"], "trees", len(weights)))
    ]
    digest = _digest(document["prediction"], names, class_type, classes, weights, bias, arrays)
    trees = [_tree(tree, f"trees[{j}]") for j, tree in enumerate(arrays)]
    return PlainModel(weights, bias, trees, classes, class_type, names, document["prediction"], digest)


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


def _matrix(value: Any, where: str, width: int) -> list[list[float]]:
    return [[double(number, where) for number in items(row, where, width)] for row in items(value, where)]


def _arrays(tree: Any, where: str, n_features: int, n_classes: int) -> dict[str, list[Any]]:
    """The five lists of a tree, of one length, with numbers of the right types and ranges."""
    parts = members(tree, where, _ARRAYS)
    n_nodes = len(items(parts["feature"], where))
    if not n_nodes:
        raise CertificateError(f"{where} has no node")
    feature, left, right = (
        [whole(value, f"{where}.{name}", -1, most - 1) for value in items(parts[name], f"{where}.{name}", n_nodes)]
        for name, most in (("feature", n_features), ("left", n_nodes), ("right", n_nodes))
    )
    threshold = [double(value, f"{where}.threshold") for value in items(parts["threshold"], where, n_nodes)]
    # what a leaf has there is ignored, and written as 0
    threshold = [0.0 if tested < 0 else value for tested, value in zip(feature, threshold, strict=True)]
    rows = _matrix(items(parts["value"], f"{where}.value", n_nodes), f"{where}.value", n_classes)
    return {"feature": feature, "threshold": threshold, "left": left, "right": right, "value": rows}


def _tree(arrays: dict[str, list[Any]], where: str) -> PlainTree:
    feature, threshold, left, right, value = (arrays[name] for name in _ARRAYS)
    n_parents = [1] + [0] * (len(feature) - 1)
    label = []
    for node, row in enumerate(value):
        if any(not 0 <= share <= 1 + _TOLERANCE for share in row) or abs(sum(row) - 1) > _TOLERANCE * (1 + 1e-6):
            raise CertificateError(f"{where}: a row of value must have numbers from 0 to 1 that sum to 1")
        is_leaf = feature[node] < 0
        if is_leaf != (left[node] < 0) or is_leaf != (right[node] < 0):
            raise CertificateError(f"{where}: a leaf has feature, left and right -1, and an inner node none of them")
        for child in () if is_leaf else (left[node], right[node]):
            if child <= node:
                raise CertificateError(f"{where}: every child must come after its parent")
            n_parents[child] += 1
        label.append(row.index(max(row)) if is_leaf else -1)
    if set(n_parents) != {1}:
        raise CertificateError(f"{where}: every node but the root must be the child of exactly one node")
    return PlainTree(feature, threshold, left, right, label, value)


def _digest(
    prediction: str,
    names: list[str],
    class_type: str,
    classes: list[Any],
    weights: list[list[float]],
    bias: list[float],
    trees: list[dict[str, list[Any]]],
) -> str:
    """SHA-256 of the text that :func:`moet.save` writes."""
    parts = {
        "format": "moet",
        "version": 1,
        "prediction": prediction,
        "feature_names": names,
        "classes": {"type": class_type, "values": classes},
        "gate": {"weights": weights, "bias": bias},
    }
    lines = [f'"{name}": {json.dumps(part, allow_nan=False)}' for name, part in parts.items()]
    lines.append('"trees": [\n' + ",\n".join(json.dumps(tree, allow_nan=False) for tree in trees) + "\n]")
    return hashlib.sha256(("{\n" + ",\n".join(lines) + "\n}\n").encode("ascii")).hexdigest()
