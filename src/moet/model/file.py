"""Model files: one JSON document that any language can read and that can execute nothing.

``docs/model-format.md`` describes the format.
"""

from __future__ import annotations

import hashlib
import json
import os
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import ModelError, ModelFileError
from moet.files import written_whole
from moet.model.mixture import Mixture
from moet.model.tree import Tree

FORMAT = "moet"
VERSION = 1

MAX_BYTES = 256 * 2**20
"""Larger files are neither written nor read, so that a hostile one cannot exhaust the memory."""

_LABEL_TYPES: dict[str, tuple[type[np.generic], tuple[type, ...]]] = {
    "str": (np.str_, (str,)),
    "int": (np.int64, (int,)),
    "float": (np.float64, (int, float)),
    "bool": (np.bool_, (bool,)),
}
_LABEL_NAMES = {"U": "str", "i": "int", "f": "float", "b": "bool"}


def as_mixture(model: Any) -> Mixture:
    """Return the mixture that ``model`` is or holds.

    Parameters
    ----------
    model : Mixture, fitted classifier, policy, or path of a model file
        Classifiers hold their mixture as ``mixture_``, policies as ``mixture``; a decision tree of scikit-learn is a
        mixture with one expert.
    """
    if isinstance(model, str | os.PathLike):
        return load(model)
    if hasattr(model, "tree_"):  # isinstance would import scikit-learn, which takes a second
        return Mixture.from_sklearn(model)
    for held in (model, getattr(model, "mixture_", None), getattr(model, "mixture", None)):
        if isinstance(held, Mixture):
            return held
    raise ModelError(f"expected a Mixture, or a fitted model that holds one, got {type(model).__name__}")


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to one JSON file, all of it or nothing.

    The file appears under its name only once it is complete, so a crash leaves the previous one as it was.

    Parameters
    ----------
    model : Mixture, fitted classifier or policy
        Whatever :func:`as_mixture` accepts.
    path : str or path
        Usually ends in ``.moet.json``. An existing file is replaced.

    Raises
    ------
    ModelFileError
        If the file cannot be written.

    Examples
    --------
    >>> from moet import Mixture, Tree, load, save
    >>> always = Mixture([[0.0]], [0.0], [Tree.leaf([1, 0])], ["stay", "go"])
    >>> save(always, "always.moet.json")
    >>> load("always.moet.json") == always
    True
    """
    content = encoded(model)
    if len(content) > MAX_BYTES:
        raise ModelFileError(f"cannot write {path}: the model takes {len(content)} bytes, more than {MAX_BYTES}")
    try:
        with written_whole(path) as unfinished:
            unfinished.write_bytes(content)
    except (OSError, ValueError) as error:
        raise ModelFileError(
            f"cannot write {path}: {_reason(error)}; choose a file in a folder that exists and that you may write to"
        ) from error


def load(path: str | os.PathLike[str]) -> Mixture:
    """Read a model file; nothing in it is ever executed.

    Raises
    ------
    ModelFileError
        If the file cannot be read or is anything but a valid model. The message says what is wrong with it.
    """
    try:
        with open(os.fspath(path), "rb") as file:
            content = file.read(MAX_BYTES + 1)
        return decoded(content)
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        raise ModelFileError(f"cannot load {path}: {_reason(error)}") from error


def encoded(model: Any) -> bytes:
    """Content of the file that :func:`save` writes, for keeping a model elsewhere than in a file."""
    mixture = as_mixture(model)
    return _content(mixture, provenance=dict(mixture.provenance))


def decoded(content: bytes) -> Mixture:
    """The model whose file has that content; a ModelError or another ValueError says what is wrong with it."""
    return _mixture(_document(content))


def digest(model: Any) -> str:
    """Return the name of a model by content: the SHA-256, in hexadecimal, of its file without provenance.

    Models are equal to the last bit (prediction mode and names included) exactly if their digests are.
    """
    return hashlib.sha256(_content(as_mixture(model))).hexdigest()


def _content(mixture: Mixture, provenance: dict[str, Any] | None = None) -> bytes:
    """Bytes of the one file that stands for ``mixture``; readable in an editor: one line per part and per tree."""
    head = {
        "format": FORMAT,
        "version": VERSION,
        "prediction": mixture.prediction,
        "feature_names": mixture.feature_names,
        "classes": {"type": _LABEL_NAMES[mixture.classes.dtype.kind], "values": mixture.classes.tolist()},
        "gate": {"weights": mixture.gate_weights.tolist(), "bias": mixture.gate_bias.tolist()},
    }
    if provenance:
        head["provenance"] = provenance
    lines = [f'"{name}": {json.dumps(part, allow_nan=False)}' for name, part in head.items()]
    trees = [
        json.dumps({name: getattr(tree, name).tolist() for name in Tree.__dataclass_fields__}, allow_nan=False)
        for tree in mixture.trees
    ]
    lines.append('"trees": [\n' + ",\n".join(trees) + "\n]")
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode("ascii")


def _reason(error: BaseException) -> str:
    match error:
        case OSError(strerror=str(reason)):
            pass
        case json.JSONDecodeError():
            reason = f"it is not JSON, or damaged: {error}"
        case UnicodeDecodeError():
            reason = f"it is not text: {error}"
        case RecursionError():
            reason = "it is nested too deeply"
        case MemoryError():
            reason = "it does not fit in memory"
        case _:
            reason = str(error)
    return reason if len(reason) <= 300 else reason[:300] + "..."


def _document(content: bytes) -> Any:
    if len(content) > MAX_BYTES:
        raise ModelError(f"it is larger than {MAX_BYTES} bytes")
    return json.loads(content.decode("utf-8"), object_pairs_hook=_unique_keys, parse_constant=_no_constant)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ModelError(f"an object has a key twice, keys: {[key for key, _ in pairs]}")
    return members


def _no_constant(name: str) -> Any:
    raise ModelError(f"it contains {name}, which is not a number")


def _mixture(document: Any) -> Mixture:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelError('it is not a moet model (no "format": "moet")')
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        raise ModelError(f"its format version is {version!r}, this moet reads {VERSION}; a newer moet may read it")
    provenance = document.pop("provenance", {})
    if not isinstance(provenance, dict):
        raise ModelError("provenance must be an object")
    head = ("format", "version", "prediction", "feature_names", "classes", "gate", "trees")
    _, _, prediction, names, classes, gate, trees = _members(document, "the model", head)
    weights, bias = _members(gate, "gate", ("weights", "bias"))
    return Mixture(
        gate_weights=_matrix(weights, "gate.weights"),
        gate_bias=_array(bias, "gate.bias", np.float64, int, float),
        trees=[_tree(tree, f"trees[{j}]") for j, tree in enumerate(_list(trees, "trees", dict))],
        classes=_classes(classes),
        feature_names=_list(names, "feature_names", str),
        prediction=prediction,
        provenance=provenance,
    )


def _tree(tree: Any, where: str) -> Tree:
    feature, threshold, left, right, value = _members(tree, where, tuple(Tree.__dataclass_fields__))
    try:
        return Tree(
            feature=_array(feature, "feature", np.int64, int),
            threshold=_array(threshold, "threshold", np.float64, int, float),
            left=_array(left, "left", np.int64, int),
            right=_array(right, "right", np.int64, int),
            value=_matrix(value, "value"),
        )
    except ModelError as error:
        raise ModelError(f"{where}: {error}") from None


def _classes(classes: Any) -> NDArray[Any]:
    name, labels = _members(classes, "classes", ("type", "values"))
    if not isinstance(name, str) or name not in _LABEL_TYPES:
        raise ModelError(f"classes.type must be one of {', '.join(_LABEL_TYPES)}, got {name!r}")
    dtype, types = _LABEL_TYPES[name]
    _list(labels, "classes.values", *types)
    # numpy gives every label the room of the longest
    if name == "str" and len(labels) * max(map(len, labels), default=0) > MAX_BYTES:
        raise ModelError("classes.values has labels too long to hold")
    return _array(labels, "classes.values", dtype, *types)


def _members(value: Any, where: str, names: tuple[str, ...]) -> list[Any]:
    """Values of an object that must have exactly the keys ``names``, in that order."""
    if not isinstance(value, dict):
        raise ModelError(f"{where} must be an object")
    if missing := [name for name in names if name not in value]:
        raise ModelError(f"{where} lacks {', '.join(missing)}")
    if len(value) != len(names):
        raise ModelError(f"{where} has unknown keys: {[key for key in value if key not in names]}")
    return [value[name] for name in names]


def _list(value: Any, where: str, *types: type) -> list[Any]:
    # types are compared, not isinstance: to Python a bool is an int
    if not isinstance(value, list) or not set(map(type, value)) <= set(types):
        raise ModelError(f"{where} must be a list, each entry of type {' or '.join(kind.__name__ for kind in types)}")
    return value


def _array(value: Any, where: str, dtype: type[np.generic], *types: type) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.array(_list(value, where, *types), dtype=dtype)
    except OverflowError:
        raise ModelError(f"{where} has a number beyond the range of {dtype.__name__}") from None
    if array.dtype == np.float64 and not np.all(np.isfinite(array)):
        raise ModelError(f"{where} has a number beyond the range of float64")
    return array


def _matrix(value: Any, where: str) -> NDArray[np.float64]:
    rows = _list(value, where, list)
    lengths = {len(row) for row in rows}
    if len(lengths) != 1:
        raise ModelError(f"{where} must have rows, all of the same length")
    return _array(list(chain.from_iterable(rows)), where, np.float64, int, float).reshape(len(rows), lengths.pop())
