"""Statistics by which Stable-Baselines3 normalised observations before the agent saw them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from moet.errors import TeacherError
from moet.teachers.arrays import MAX_BYTES, load_arrays
from moet.teachers.inert_pickle import Record, as_array, as_number, read_records
from moet.teachers.teacher import Floats

_HOW_TO_STORE = (
    "np.savez('normalize.npz', mean=v.obs_rms.mean, var=v.obs_rms.var, epsilon=v.epsilon, clip=v.clip_obs), "
    "where v is the VecNormalize"
)

_NAMES = ("vecnormalize.pkl", "vec_normalize.pkl", "normalize.npz")
"""How files of statistics end that lie beside an agent."""


class Normalization(NamedTuple):
    """What is done to observations: x → clip((x − offset) / scale, −clip, clip)."""

    offset: Floats | None = None
    scale: Floats | None = None
    clip: float | None = None


def read_normalization(source: Any, n_features: int) -> Normalization:
    """Read statistics from a VecNormalize, or from a file: its pickle, of which nothing is executed, or a ``.npz``."""
    if source is None:
        return Normalization()
    is_file = isinstance(source, str | os.PathLike)
    statistics = _read_statistics(os.fspath(source)) if is_file else _statistics_of(source)
    if statistics is None:
        return Normalization()
    try:
        mean, var, epsilon, clip = (np.asarray(number, dtype=np.float64) for number in statistics)
    except (TypeError, ValueError) as error:
        raise TeacherError(f"the statistics of observations are no numbers: {error}") from None
    if mean.shape != (n_features,) or var.shape != (n_features,) or epsilon.shape != () or clip.shape != ():
        raise TeacherError(f"normalize is for observations of shape {mean.shape}, the agent for {(n_features,)}")
    if not (np.all(var + epsilon > 0) and clip > 0):
        raise TeacherError("normalize must have positive variances and a positive clip")
    return Normalization(mean, np.sqrt(var + epsilon), float(clip))


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


def _read_statistics(path: str) -> tuple[Any, ...] | None:
    try:
        return _from_arrays(path) if path.endswith(".npz") else _from_pickle(path)
    except TeacherError as error:
        raise TeacherError(f"cannot read {path}: {error}") from None


def _from_arrays(path: str) -> tuple[Any, ...]:
    arrays = load_arrays(path)
    try:
        return tuple(arrays[key] for key in ("mean", "var", "epsilon", "clip"))
    except KeyError as error:
        raise TeacherError(f"it has no array {error}; write it with {_HOW_TO_STORE}") from None


def _from_pickle(path: str) -> tuple[Any, ...] | None:
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
    statistics = found.state.get("obs_rms")
    numbers = statistics.state if isinstance(statistics, Record) and isinstance(statistics.state, dict) else {}
    mean, var = as_array(numbers.get("mean")), as_array(numbers.get("var"))
    epsilon, clip = as_number(found.state.get("epsilon")), as_number(found.state.get("clip_obs"))
    if mean is None or var is None or epsilon is None or clip is None:
        raise TeacherError("its VecNormalize has no statistics of rows of numbers")
    return mean, var, epsilon, clip


def _statistics_of(vec_normalize: Any) -> tuple[Any, ...] | None:
    """Mean, variance, epsilon and clip of the observations; None if it leaves them alone."""
    if not getattr(vec_normalize, "norm_obs", True):
        return None
    try:
        rms = vec_normalize.obs_rms
        return rms.mean, rms.var, vec_normalize.epsilon, vec_normalize.clip_obs
    except AttributeError as error:
        raise TeacherError(
            f"normalize must be a VecNormalize of rows of numbers, or a file of its statistics: {error}"
        ) from None
