"""Statistics by which Stable-Baselines3 normalised observations before the agent saw them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from moet.errors import TeacherError
from moet.teachers.arrays import MAX_BYTES, load_arrays
from moet.teachers.inert_pickle import Record, as_array, as_number, read_records
from moet.teachers.sb3_spaces import WRAP, largest_of, live_length, recorded_extent, recorded_parts
from moet.teachers.teacher import Floats

_HOW_TO_STORE = (
    "np.savez('normalize.npz', mean=v.obs_rms.mean, var=v.obs_rms.var, epsilon=v.epsilon, clip=v.clip_obs), "
    "where v is the VecNormalize"
)

_HOW_TO_STACK = (
    ". If frames were stacked after they were normalised (VecFrameStack around VecNormalize), write the statistics of "
    "the whole stack: np.savez('normalize.npz', mean=np.tile(v.obs_rms.mean, k), var=np.tile(v.obs_rms.var, k), "
    "epsilon=v.epsilon, clip=v.clip_obs), of k frames that are rows"
)

_NAMES = ("vecnormalize.pkl", "vec_normalize.pkl", "normalize.npz")
"""How files of statistics end that lie beside an agent."""


class Normalization(NamedTuple):
    """What is done to observations: x → clip((x − offset) / scale, −clip, clip)."""

    offset: Floats | None = None
    scale: Floats | None = None
    clip: float | None = None


class _Part(NamedTuple):
    """Numbers of an observation that lie side by side; mean and variance are None where they are left alone."""

    size: int
    largest: float
    mean: Any = None
    var: Any = None


class _Statistics(NamedTuple):
    """What a VecNormalize knows of its observations, in the order in which an agent sees them."""

    parts: list[_Part]
    epsilon: Any
    clip: Any


def read_normalization(source: Any, n_features: int) -> Normalization:
    """Read statistics from a VecNormalize, or from a file: its pickle, of which nothing is executed, or a ``.npz``."""
    if source is None:
        return Normalization()
    is_file = isinstance(source, str | os.PathLike)
    statistics = _read_statistics(os.fspath(source)) if is_file else _statistics_of(source)
    return Normalization() if statistics is None else _normalization(statistics, n_features)


def _normalization(statistics: _Statistics, n_features: int) -> Normalization:
    """Offset, scale and clip of the rows that an agent sees; an array of observations is one row."""
    try:
        epsilon, clip = (np.asarray(number, dtype=np.float64) for number in statistics[1:])
        if epsilon.shape or clip.shape:
            raise TeacherError("epsilon and clip of normalize must be single numbers")
        columns = [_columns(part, epsilon, clip) for part in statistics.parts]
    except (TypeError, ValueError) as error:
        raise TeacherError(f"the statistics of observations are no numbers: {error}") from None
    offset, scale = (np.concatenate(pieces) for pieces in zip(*columns, strict=True))
    if len(offset) != n_features:
        shapes = ", ".join(str(np.shape(part.mean)) for part in statistics.parts if part.mean is not None)
        stacked = _HOW_TO_STACK if len(offset) and n_features % len(offset) == 0 else ""
        raise TeacherError(f"normalize is for observations of shape {shapes}, the agent for {(n_features,)}{stacked}")
    if not (np.all(scale > 0) and clip > 0):
        raise TeacherError("normalize must have positive variances and a positive clip")
    return Normalization(offset, scale, float(clip))


def _columns(part: _Part, epsilon: Floats, clip: Floats) -> tuple[Floats, Floats]:
    """Offset and scale of a part."""
    if part.mean is None:
        if part.largest > clip:
            raise TeacherError(
                f"its VecNormalize leaves numbers up to {part.largest:g} alone and clips others at {clip:g}, which "
                f"a teacher does to all or none. {WRAP}"
            )
        return np.zeros(part.size), np.ones(part.size)
    mean, var = (np.asarray(array, dtype=np.float64) for array in (part.mean, part.var))
    if mean.shape != var.shape:
        raise TeacherError(f"normalize has means of shape {mean.shape} and variances of shape {var.shape}")
    with np.errstate(invalid="ignore"):  # of negative variances, which are refused
        return mean.ravel(), np.sqrt(var + epsilon).ravel()


def statistics_beside(agent: str | os.PathLike[str]) -> Path | None:
    """The file of statistics that lies beside an agent, or one folder below, if there is exactly one that fits."""
    path = Path(agent)
    if not path.is_dir():
        named = [path.with_name(f"{path.stem}.{name}") for name in _NAMES]
        if own := [file for file in named if file.is_file()]:
            return own[0]
        path = path.parent
    found = [file for name in _NAMES for pattern in (name, f"*/{name}") for file in sorted(path.glob(pattern))]
    return found[0] if len(found) == 1 else None


def _read_statistics(path: str) -> _Statistics | None:
    try:
        return _from_arrays(path) if path.endswith(".npz") else _from_pickle(path)
    except TeacherError as error:
        raise TeacherError(f"cannot read {path}: {error}") from None


def _from_arrays(path: str) -> _Statistics:
    arrays = load_arrays(path)
    try:
        mean, var, epsilon, clip = (arrays[key] for key in ("mean", "var", "epsilon", "clip"))
        return _Statistics([_Part(mean.size, 0.0, mean, var)], epsilon, clip)
    except KeyError as error:
        raise TeacherError(f"it has no array {error}; write it with {_HOW_TO_STORE}") from None


def _from_pickle(path: str) -> _Statistics | None:
    """Statistics out of a pickled VecNormalize; what the pickle would do is never done."""
    try:
        if (size := os.path.getsize(path)) > MAX_BYTES:
            raise TeacherError(f"it has {size} bytes, more than {MAX_BYTES}")
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise TeacherError(error.strerror or str(error)) from None
    try:
        found = read_records(content)
    except TeacherError as error:
        raise TeacherError(f"{error}; where it can be trusted, write {_HOW_TO_STORE}") from None
    if not isinstance(found, Record) or not found.name.endswith(".VecNormalize") or not isinstance(found.state, dict):
        raise TeacherError(f"it holds no VecNormalize; write its numbers with {_HOW_TO_STORE}")
    if not found.state.get("norm_obs", True):
        return None
    epsilon, clip = as_number(found.state.get("epsilon")), as_number(found.state.get("clip_obs"))
    if epsilon is None or clip is None:
        raise TeacherError(_NO_NUMBERS)
    return _Statistics(_recorded_parts(found.state), epsilon, clip)


_NO_NUMBERS = "its VecNormalize has no statistics of rows of numbers"


def _recorded_parts(state: Mapping[str, Any]) -> list[_Part]:
    """The parts of observations, of which a dictionary has several."""
    statistics = state.get("obs_rms")
    if not isinstance(statistics, dict):
        return [_recorded_part(statistics)]
    space = state.get("observation_space")
    if not isinstance(space, Record):
        raise TeacherError(_NO_NUMBERS)
    return [
        _recorded_part(statistics[name]) if name in statistics else _Part(*recorded_extent(part))
        for name, part in recorded_parts(space).items()
    ]


def _recorded_part(statistics: Any) -> _Part:
    numbers = statistics.state if isinstance(statistics, Record) and isinstance(statistics.state, dict) else {}
    mean, var = as_array(numbers.get("mean")), as_array(numbers.get("var"))
    if mean is None or var is None:
        raise TeacherError(_NO_NUMBERS)
    return _Part(mean.size, 0.0, mean, var)


def _statistics_of(vec_normalize: Any) -> _Statistics | None:
    """What a live VecNormalize knows; None if it leaves observations alone."""
    if not getattr(vec_normalize, "norm_obs", True):
        return None
    try:
        known = vec_normalize.obs_rms
        parts = _live_parts(vec_normalize) if isinstance(known, dict) else [_live_part(known)]
        return _Statistics(parts, vec_normalize.epsilon, vec_normalize.clip_obs)
    except AttributeError as error:
        raise TeacherError(
            f"normalize must be a VecNormalize of rows of numbers, or a file of its statistics: {error}"
        ) from None


def _live_parts(vec_normalize: Any) -> list[_Part]:
    known, spaces = vec_normalize.obs_rms, vec_normalize.observation_space.spaces
    return [
        _live_part(known[name]) if name in known else _Part(live_length(part), largest_of(part))
        for name, part in spaces.items()
    ]


def _live_part(statistics: Any) -> _Part:
    return _Part(np.size(statistics.mean), 0.0, statistics.mean, statistics.var)
