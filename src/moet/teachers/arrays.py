"""Networks in ``.npz`` files: plain arrays, nothing that could be executed.

``docs/teachers.md`` describes the format.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import TeacherError
from moet.files import written_whole
from moet.teachers.continuous import ContinuousTeacher
from moet.teachers.network import Layer, Network, NetworkTeacher

VERSION = 1

MAX_BYTES = 256 * 2**20
"""Larger files are not read, packed or unpacked, so that a hostile one cannot exhaust the memory."""

_STORED = {"features": "features", "offset": "input_offset", "scale": "input_scale", "clip": "input_clip"}
"""Optional parts of a network, and the arrays that hold them."""

_BOUNDS = {"low": "action_low", "high": "action_high", "squash": "action_squash", "limit": "action_limit"}
"""What happens to outputs that are the action, and the arrays that say so."""

_PUBLISHED_NAMES = {
    r"hidden_layer_(\d+)": r"hidden_\1",
    "advantage_fc": "advantage_1",
    "advantages": "advantage_2",
    "value_fc": "value_1",
    "value": "value_2",
}
"""Names of layers in the published agents, and ours."""

_UNDERSTOOD = (
    "A file may hold the layers hidden_1, hidden_2, ... and output of a plain network, or hidden_1, ..., advantage_1, "
    "..., value_1, ... of a dueling one, each as NAME/kernel (inputs × units) or NAME/weight (units × inputs), and "
    "NAME/bias; docs/teachers.md has the rest. Anything else can be wrapped with Teacher.from_callable."
)


def read_network(path: str | Path) -> NetworkTeacher | ContinuousTeacher:
    """Read a teacher from a ``.npz`` file; nothing in it is ever executed.

    Raises
    ------
    TeacherError
        If the file cannot be read or holds anything but a network that is understood.
    """
    try:
        arrays = load_arrays(path)
        bounds = {name: arrays.pop(stored) for name, stored in _BOUNDS.items() if stored in arrays}
        network = _network(arrays)
        return _continuous(network, bounds) if network.meaning == "actions" else NetworkTeacher(network)
    except TeacherError as error:
        raise TeacherError(f"cannot read {path}: {error}") from None


def write_network(agent: Network | NetworkTeacher | ContinuousTeacher, path: str | Path) -> None:
    """Write a network to a ``.npz`` file; an existing one is replaced, by a complete one only.

    Of a teacher with continuous actions, what happens to its outputs is written too.
    """
    arrays = _arrays(agent if isinstance(agent, Network) else agent.network)
    if isinstance(agent, ContinuousTeacher):
        bounds = {stored: getattr(agent, name) for name, stored in _BOUNDS.items()}
        arrays |= {stored: value for stored, value in bounds.items() if value is not None}
    try:
        with written_whole(path) as unfinished, open(unfinished, "wb") as file:
            np.savez(file, **arrays)
    except (OSError, ValueError) as error:
        raise TeacherError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from None


def _continuous(network: Network, bounds: Mapping[str, NDArray[Any]]) -> ContinuousTeacher:
    low, high = (
        bounds.get(name, np.full(network.n_outputs, limit)) for name, limit in (("low", -np.inf), ("high", np.inf))
    )
    squash, limit = _scalar(bounds, "squash", False), _scalar(bounds, "limit", None)
    if not isinstance(squash, bool) or not (limit is None or (isinstance(limit, float) and limit > 0)):
        raise TeacherError(f"action_squash must be a truth value and action_limit positive, got {squash!r}, {limit!r}")
    for name, bound in (("low", low), ("high", high)):
        if bound.dtype.kind not in "iuf" or np.isnan(bound).any():
            raise TeacherError(f"action_{name} must hold numbers, got {bound.tolist()!r}")
    return ContinuousTeacher(network, low, high, squash=squash, limit=limit)


def load_arrays(path: str | Path) -> dict[str, NDArray[Any]]:
    """Arrays of a ``.npz`` file by name, without pickle."""
    try:
        # all of it first: an archive is read from its end, and a pipe has none
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise TeacherError(f"it has more than {MAX_BYTES} bytes")
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > MAX_BYTES:
            raise TeacherError(f"it unpacks to {size} bytes, more than {MAX_BYTES}")
        with np.load(io.BytesIO(content), allow_pickle=False) as members:
            arrays = dict(members)
    except TeacherError:
        raise
    except OSError as error:
        raise TeacherError(error.strerror or str(error)) from None
    except Exception as error:  # whatever else a damaged or hostile archive makes its readers raise
        raise TeacherError(f"it is no .npz file of plain arrays, or damaged: {error}") from None
    if other := [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]:
        raise TeacherError(f"it is no .npz file of plain arrays: {', '.join(other)} is something else")
    return arrays


def _arrays(network: Network) -> dict[str, Any]:
    layers = {f"hidden_{k}": layer for k, layer in enumerate(network.hidden, start=1)}
    if network.value:
        layers |= {f"advantage_{k}": layer for k, layer in enumerate(network.head, start=1)}
        layers |= {f"value_{k}": layer for k, layer in enumerate(network.value, start=1)}
    else:
        layers["output"] = network.head[-1]
    arrays: dict[str, Any] = {
        "moet_network": VERSION,
        "activation": network.activation,
        "meaning": network.meaning,
    }
    arrays |= {stored: getattr(network, name) for name, stored in _STORED.items() if getattr(network, name) is not None}
    for name, layer in layers.items():
        arrays |= {f"{name}/{part}": _smallest(array) for part, array in layer._asdict().items()}
    return arrays


def _smallest(array: NDArray[np.float64]) -> NDArray[Any]:
    """The same numbers as float32 if they are such, which weights trained by most libraries are."""
    with np.errstate(over="ignore"):
        single = array.astype(np.float32)
    return single if np.array_equal(single, array) else array


def _network(arrays: Mapping[str, NDArray[Any]]) -> Network:
    found = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
    layers, about = _layers(arrays)
    streams = {stream: _stream(layers, stream) for stream in ("hidden", "advantage", "value")}
    dueling = bool(streams["value"])
    output = layers.pop("output", None)
    version = _scalar(about, "moet_network", VERSION)
    if version != VERSION:
        raise TeacherError(f"its format version is {version!r}, this moet reads {VERSION}; a newer moet may read it")
    unknown = [*layers, *(about.keys() - {"moet_network", "activation", "meaning", *_STORED.values()})]
    if unknown or dueling != bool(streams["advantage"]) or dueling != (output is None):
        problem = f"not understood: {', '.join(sorted(unknown))}" if unknown else "its layers make no network"
        if any(array.ndim > 2 for array in arrays.values()):
            problem += " (a network with convolutions sees pixels)"
        raise TeacherError(f"{problem}. {_UNDERSTOOD} This file holds {found or 'nothing'}")
    # what the published agents are: they come without a word about it
    activation, meaning = ("elu", "q_values") if dueling else ("relu", "logits")
    return Network(
        hidden=streams["hidden"],
        head=streams["advantage"] if output is None else [output],
        value=streams["value"],
        activation=_scalar(about, "activation", activation),
        meaning=_scalar(about, "meaning", meaning),
        offset=about.get("input_offset"),
        scale=about.get("input_scale"),
        clip=_scalar(about, "input_clip", None),
        features=_scalar(about, "features", None),
    )


def _layers(arrays: Mapping[str, NDArray[Any]]) -> tuple[dict[str, Layer], dict[str, NDArray[Any]]]:
    """Layers by our names for them, and the arrays that are part of no layer."""
    parts: dict[str, dict[str, NDArray[Any]]] = {}
    about = {}
    for name, array in arrays.items():
        layer, _, part = name.rpartition("/")
        if layer and part in ("kernel", "weight", "bias"):
            held = parts.setdefault(_our_name(layer), {})
            if part in held:
                raise TeacherError(f"it holds the {part} of layer {_our_name(layer)} twice")
            held[part] = array
        else:
            about[name] = array
    layers = {}
    for name, held in parts.items():
        if len(held) != 2 or "bias" not in held:
            raise TeacherError(f"layer {name} must have a bias and either a kernel or a weight, it has {sorted(held)}")
        layers[name] = Layer(held["kernel"] if "kernel" in held else held["weight"].T, held["bias"])
    return layers, about


def _our_name(layer: str) -> str:
    for published, ours in _PUBLISHED_NAMES.items():
        if re.fullmatch(published, layer):
            return re.sub(published, ours, layer)
    return layer


def _stream(layers: dict[str, Layer], stream: str) -> list[Layer]:
    """Take the layers that are numbered from 1 on, without gaps, out of ``layers``."""
    taken: list[Layer] = []
    while (name := f"{stream}_{len(taken) + 1}") in layers:
        taken.append(layers.pop(name))
    return taken


def _scalar(about: Mapping[str, NDArray[Any]], name: str, default: Any) -> Any:
    if name not in about:
        return default
    if about[name].shape != ():
        raise TeacherError(f"{name} must be a single value, it has shape {about[name].shape}")
    return about[name].item()
