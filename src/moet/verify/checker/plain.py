"""Models and systems as plain Python numbers, for the checkers. Standard library only."""

from __future__ import annotations

import hashlib
import json
import math
import os
from typing import Any, NamedTuple

from moet.errors import CertificateError

_ARRAYS = ("feature", "threshold", "left", "right", "value")
_CLASS_TYPES = {"U": "str", "i": "int", "f": "float", "b": "bool"}


class PlainTree(NamedTuple):
    """A tree: go left iff x[feature] <= threshold; ``label`` is the class index of a leaf and -1 elsewhere."""

    feature: list[int]
    threshold: list[float]
    left: list[int]
    right: list[int]
    label: list[int]


class PlainModel(NamedTuple):
    """A mixture as lists of numbers, with the digest of the file that :func:`moet.save` would write."""

    weights: list[list[float]]
    bias: list[float]
    trees: list[PlainTree]
    classes: list[Any]
    feature_names: list[str]
    prediction: str
    digest: str


def plain_model(model: Any) -> PlainModel:
    """Read a model from a file, from the JSON document of one, or from an object with the attributes of a mixture."""
    document = _read_json(model) if isinstance(model, str | os.PathLike) else model
    if not isinstance(document, dict):
        document = _document_of(document)
    try:
        return _plain(document)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise CertificateError(f"the model cannot be read: {error!r}") from error


def plain_system(system: Any) -> dict[str, Any]:
    """Read a system from a file, from its document, or from an object that has one."""
    document = _read_json(system) if isinstance(system, str | os.PathLike) else system
    if not isinstance(document, dict):
        if not hasattr(document, "document"):
            raise CertificateError(f"expected a system, its document or a file of it, got {type(system).__name__}")
        document = document.document()
    if document.get("format") != "moet-system":
        raise CertificateError('not a description of a system (no "format": "moet-system")')
    return document


def system_digest(document: dict[str, Any]) -> str:
    """Name of a system by content: the SHA-256 of its canonical JSON text."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _read_json(path: str | os.PathLike[str]) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise CertificateError(f"cannot read {path}: {error}") from error


def _document_of(model: Any) -> dict[str, Any]:
    """Describe a mixture, or a classifier or policy that holds one, as its file does."""
    held: Any
    for held in (model, getattr(model, "mixture_", None), getattr(model, "mixture", None)):
        if hasattr(held, "gate_weights"):
            kind = _CLASS_TYPES[held.classes.dtype.kind]
            return {
                "prediction": held.prediction,
                "feature_names": list(held.feature_names),
                "classes": {"type": kind, "values": held.classes.tolist()},
                "gate": {"weights": held.gate_weights.tolist(), "bias": held.gate_bias.tolist()},
                "trees": [{name: getattr(tree, name).tolist() for name in _ARRAYS} for tree in held.trees],
            }
    if hasattr(model, "tree_"):  # a tree of scikit-learn, which means NumPy is there; its meaning is defined in model/
        from moet.model.file import as_mixture

        return _document_of(as_mixture(model))
    raise CertificateError(f"expected a model or a model file, got {type(model).__name__}")


def _plain(document: dict[str, Any]) -> PlainModel:
    weights = [_floats(row) for row in document["gate"]["weights"]]
    bias = _floats(document["gate"]["bias"])
    names = list(document["feature_names"])
    classes = list(document["classes"]["values"])
    trees = [_plain_tree(tree, len(names), len(classes)) for tree in document["trees"]]
    if not trees or len(weights) != len(trees) or len(bias) != len(trees) or any(len(w) != len(names) for w in weights):
        raise ValueError("the gate does not fit the trees or the features")
    return PlainModel(weights, bias, trees, classes, names, document["prediction"], _digest(document))


def _plain_tree(tree: dict[str, Any], n_features: int, n_classes: int) -> PlainTree:
    feature, left, right = (list(map(int, tree[name])) for name in ("feature", "left", "right"))
    threshold = _floats(tree["threshold"])
    value = [_floats(row) for row in tree["value"]]
    n_nodes = len(feature)
    if not n_nodes or {len(left), len(right), len(threshold), len(value)} != {n_nodes}:
        raise ValueError("the arrays of a tree differ in length")
    label = []
    for node in range(n_nodes):
        if len(value[node]) != n_classes:
            raise ValueError("a leaf does not fit the classes")
        is_leaf = feature[node] == -1
        # children come after their parent: no cycles
        if not is_leaf and not (
            0 <= feature[node] < n_features and node < left[node] < n_nodes and node < right[node] < n_nodes
        ):
            raise ValueError("a tree is not a tree")
        label.append(value[node].index(max(value[node])) if is_leaf else -1)
    return PlainTree(feature, threshold, left, right, label)


def _floats(values: Any) -> list[float]:
    numbers = [float(value) for value in values]
    if not all(map(math.isfinite, numbers)):
        raise ValueError("a number is not finite")
    return numbers


def _digest(document: dict[str, Any]) -> str:
    """SHA-256 of the text that :func:`moet.save` writes."""
    parts: dict[str, Any] = {
        "format": "moet",
        "version": 1,
        "prediction": document["prediction"],
        "feature_names": document["feature_names"],
        "classes": {"type": document["classes"]["type"], "values": document["classes"]["values"]},
        "gate": {
            "weights": [_floats(row) for row in document["gate"]["weights"]],
            "bias": _floats(document["gate"]["bias"]),
        },
    }
    lines = [f'"{name}": {json.dumps(part, allow_nan=False)}' for name, part in parts.items()]
    trees = []
    for tree in document["trees"]:
        integers = {name: list(map(int, tree[name])) for name in ("feature", "left", "right")}
        numbers = {"threshold": _floats(tree["threshold"]), "value": [_floats(row) for row in tree["value"]]}
        arrays = integers | numbers
        trees.append(json.dumps({name: arrays[name] for name in _ARRAYS}, allow_nan=False))
    lines.append('"trees": [\n' + ",\n".join(trees) + "\n]")
    return hashlib.sha256(("{\n" + ",\n".join(lines) + "\n}\n").encode("ascii")).hexdigest()
