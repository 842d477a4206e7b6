"""Model files: one JSON document that any language can read and that can execute nothing.

``docs/model-format.md`` describes the format.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import ModelError, ModelFileError
from moet.files import written_whole
from moet.model.document import array_of, cube_of, list_of, matrix_of, members
from moet.model.mixture import Mixture
from moet.model.regression.mixture import RegressionMixture
from moet.model.regression.tree import RegressionTree
from moet.model.schema import Schema
from moet.model.tree import BaseTree, Tree

FORMAT = "moet"
VERSION, OUTPUTS_VERSION = 1, 2
"""Of models that answer with labels, and of those that answer with numbers: what was written once stays readable."""

SAID = ("sharpness", "offset")
"""What a model that answers with labels may have beside: how votes become probabilities."""

Model = Mixture | RegressionMixture

MAX_BYTES = 256 * 2**20
"""Larger files are neither written nor read, so that a hostile one cannot exhaust the memory."""

_LABEL_TYPES: dict[str, tuple[type[np.generic], tuple[type, ...]]] = {
    "str": (np.str_, (str,)),
    "int": (np.int64, (int,)),
    "float": (np.float64, (int, float)),
    "bool": (np.bool_, (bool,)),
}
_LABEL_NAMES = {"U": "str", "i": "int", "f": "float", "b": "bool"}


def as_model(model: Any) -> Model:
    """Return the mixture, of either kind, that ``model`` is or holds.

    Parameters
    ----------
    model : Mixture, RegressionMixture, fitted estimator, policy, or path of a model file
        Estimators hold their mixture as ``mixture_``, policies as ``mixture``; a decision tree of scikit-learn is a
        mixture with one expert.
    """
    if isinstance(model, str | os.PathLike):
        return load(model)
    if hasattr(model, "tree_"):  # isinstance would import scikit-learn, which takes a second
        kind = Mixture if hasattr(model, "classes_") else RegressionMixture
        return kind.from_sklearn(model)
    for held in (model, getattr(model, "mixture_", None), getattr(model, "mixture", None)):
        if isinstance(held, Model):
            return held
    raise ModelError(f"expected a Mixture, or a fitted model that holds one, got {type(model).__name__}")


def model_or_none(model: Any) -> Model | None:
    """Return the mixture that ``model`` is or holds, None for models of other kinds."""
    try:
        return as_model(model)
    except ModelError:
        return None


def as_mixture(model: Any) -> Mixture:
    """Return the mixture that ``model`` is or holds, as :func:`as_model` does, if it answers with labels."""
    held = as_model(model)
    if isinstance(held, RegressionMixture):
        raise ModelError(
            f"this model answers with numbers ({', '.join(held.outputs)}), and this question is about labels; `moet "
            f"predict`, `show`, `why`, `verify --range`, `verify --always`, `closest`, `compare`, `plot`, `explore` "
            f"and `export` read it; or fit a MoETClassifier to labels"
        )
    return held


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to one JSON file, all of it or nothing.

    The file appears under its name only once it is complete, so a crash leaves the previous one as it was.

    Parameters
    ----------
    model : Mixture, RegressionMixture, fitted estimator or policy
        Whatever :func:`as_model` accepts.
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


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model file; nothing in it is ever executed.

    Raises
    ------
    ModelFileError
        If the file cannot be read or is anything but a valid model. The message says what is wrong with it.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> import tempfile
    >>> from moet import load, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/line.moet.json")
    ...     load(f"{folder}/line.moet.json") == model
    True
    """
    try:
        with open(os.fspath(path), "rb") as file:
            content = file.read(MAX_BYTES + 1)
        return decoded(content)
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        raise ModelFileError(f"cannot load {path}: {_reason(error)}") from error


def encoded(model: Any) -> bytes:
    """Content of the file that :func:`save` writes, for keeping a model elsewhere than in a file."""
    mixture = as_model(model)
    return _content(mixture, provenance=dict(mixture.provenance))


def decoded(content: bytes) -> Model:
    """The model whose file has that content; a ModelError or another ValueError says what is wrong with it."""
    return _mixture(_document(content))


def digest(model: Any) -> str:
    """Return the name of a model by content: the SHA-256, in hexadecimal, of its file without provenance.

    Models are equal to the last bit (prediction mode and names included) exactly if their digests are.
    """
    mixture = as_model(model)
    known = vars(mixture)
    if "_digest" not in known:  # models are frozen: theirs is computed once
        known["_digest"] = hashlib.sha256(_content(mixture)).hexdigest()
    found: str = known["_digest"]
    return found


def _content(mixture: Model, provenance: dict[str, Any] | None = None) -> bytes:
    """Bytes of the one file that stands for ``mixture``; readable in an editor: one line per part and per tree."""
    head = {
        "format": FORMAT,
        "version": VERSION if isinstance(mixture, Mixture) else OUTPUTS_VERSION,
        "prediction": mixture.prediction,
        "feature_names": mixture.feature_names,
        **({"schema": mixture.schema.document()} if mixture.schema is not None else {}),
        **_answers(mixture),
        "gate": {"weights": mixture.gate_weights.tolist(), "bias": mixture.gate_bias.tolist()},
    }
    if provenance:
        head["provenance"] = provenance
    lines = [f'"{name}": {json.dumps(part, allow_nan=False)}' for name, part in head.items()]
    trees = [json.dumps(_lists(tree), allow_nan=False) for tree in mixture.trees]
    lines.append('"trees": [\n' + ",\n".join(trees) + "\n]")
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode("ascii")


def _answers(mixture: Model) -> dict[str, Any]:
    """The part that says what a mixture answers with: classes, or outputs and their bounds (null where none)."""
    if isinstance(mixture, Mixture):
        classes = {"type": _LABEL_NAMES[mixture.classes.dtype.kind], "values": mixture.classes.tolist()}
        said = {"sharpness": mixture.sharpness, "offset": mixture.offset}
        return {"classes": classes, **{name: part for name, part in said.items() if part is not None}}
    low, high = (
        [bound if math.isfinite(bound) else None for bound in bounds.tolist()] for bounds in (mixture.low, mixture.high)
    )
    return {"outputs": {"names": mixture.outputs, "low": low, "high": high}}


def _lists(tree: BaseTree) -> dict[str, Any]:
    arrays = {name: getattr(tree, name) for name in tree.__dataclass_fields__}
    return {name: array.tolist() for name, array in arrays.items() if array is not None}


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


def _mixture(document: Any) -> Model:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelError('it is not a moet model (no "format": "moet")')
    version = document.get("version")
    if type(version) is not int or version not in (VERSION, OUTPUTS_VERSION):
        raise ModelError(
            f"its format version is {version!r}, this moet reads {VERSION} and {OUTPUTS_VERSION}; "
            f"a newer moet may read it"
        )
    provenance = document.pop("provenance", {})
    if not isinstance(provenance, dict):
        raise ModelError("provenance must be an object")
    schema = Schema.from_document(document.pop("schema")) if "schema" in document else None
    said: dict[str, Any] = {
        name: _numbers(document.pop(name), name) for name in SAID if version == VERSION and name in document
    }
    answers = "classes" if version == VERSION else "outputs"
    head = ("format", "version", "prediction", "feature_names", answers, "gate", "trees")
    _, _, prediction, names, answered, gate, trees = members(document, "the model", head)
    weights, bias = members(gate, "gate", ("weights", "bias"))
    shared: dict[str, Any] = {
        "gate_weights": matrix_of(weights, "gate.weights"),
        "gate_bias": array_of(bias, "gate.bias", np.float64, int, float),
        "feature_names": list_of(names, "feature_names", str),
        "prediction": prediction,
        "provenance": provenance,
        "schema": schema,
    }
    kind = Tree if version == VERSION else RegressionTree
    experts: Any = [_tree(tree, f"trees[{j}]", kind) for j, tree in enumerate(list_of(trees, "trees", dict))]
    if version == VERSION:
        return Mixture(trees=experts, classes=_classes(answered), **said, **shared)
    return RegressionMixture(trees=experts, **_outputs(answered), **shared)


def _tree(tree: Any, where: str, kind: type[Tree] | type[RegressionTree]) -> Tree | RegressionTree:
    names = tuple(name for name in kind.__dataclass_fields__ if name != "slope" or "slope" in tree)
    lists = members(tree, where, names)
    try:
        return kind(**{name: _tree_array(values, name) for name, values in zip(names, lists, strict=True)})
    except ModelError as error:
        raise ModelError(f"{where}: {error}") from None


def _tree_array(values: Any, name: str) -> NDArray[Any]:
    if name in ("value", "slope"):
        return matrix_of(values, name) if name == "value" else cube_of(values, name)
    return (
        array_of(values, name, np.float64, int, float) if name == "threshold" else array_of(values, name, np.int64, int)
    )


def _outputs(outputs: Any) -> dict[str, Any]:
    names, low, high = members(outputs, "outputs", ("names", "low", "high"))
    return {
        "outputs": list_of(names, "outputs.names", str),
        "low": _bounds(low, "outputs.low", -math.inf),
        "high": _bounds(high, "outputs.high", math.inf),
    }


def _bounds(value: Any, where: str, missing: float) -> NDArray[np.float64]:
    bounds = list_of(value, where, int, float, type(None))
    finite = array_of([0.0 if bound is None else bound for bound in bounds], where, np.float64, int, float)
    return np.where([bound is None for bound in bounds], missing, finite)


def _numbers(value: Any, where: str) -> float | list[float]:
    """A number, or a list of one for each class."""
    numbers = array_of(value if isinstance(value, list) else [value], where, np.float64, int, float).tolist()
    return numbers if isinstance(value, list) else float(numbers[0])


def _classes(classes: Any) -> NDArray[Any]:
    name, labels = members(classes, "classes", ("type", "values"))
    if not isinstance(name, str) or name not in _LABEL_TYPES:
        raise ModelError(f"classes.type must be one of {', '.join(_LABEL_TYPES)}, got {name!r}")
    dtype, types = _LABEL_TYPES[name]
    list_of(labels, "classes.values", *types)
    # numpy gives every label the room of the longest
    if name == "str" and len(labels) * max(map(len, labels), default=0) > MAX_BYTES:
        raise ModelError("classes.values has labels too long to hold")
    return array_of(labels, "classes.values", dtype, *types)
