"""Statistics by which Stable-Baselines3 normalised observations before the agent saw them."""

from __future__ import annotations

import os
import pickle
from typing import Any, NamedTuple

import numpy as np

from moet.errors import TeacherError
from moet.teachers.arrays import load_arrays
from moet.teachers.teacher import Floats

_HOW_TO_STORE = (
    "np.savez('normalize.npz', mean=v.obs_rms.mean, var=v.obs_rms.var, epsilon=v.epsilon, clip=v.clip_obs), "
    "where v is the VecNormalize"
)


class Normalization(NamedTuple):
    """What is done to observations: x → clip((x − offset) / scale, −clip, clip)."""

    offset: Floats | None = None
    scale: Floats | None = None
    clip: float | None = None


def read_normalization(source: Any, n_features: int, trust: bool) -> Normalization:
    """Read statistics from a VecNormalize, or from a file; ``trust`` allows for a pickled one."""
    if source is None:
        return Normalization()
    is_file = isinstance(source, str | os.PathLike)
    statistics = _read_statistics(source, trust) if is_file else _statistics_of(source)
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


def _read_statistics(path: str | os.PathLike[str], trust: bool) -> tuple[Any, ...] | None:
    name = os.fspath(path)
    if not name.endswith(".npz"):
        if not trust:
            raise TeacherError(
                f"{name} is no .npz file; VecNormalize saves itself as a pickle, which is code; load it with trust=True"
                f" if you trust it, or store its numbers with {_HOW_TO_STORE}"
            )
        return _statistics_of(_unpickled(name))
    try:
        arrays = load_arrays(name)
        return tuple(arrays[key] for key in ("mean", "var", "epsilon", "clip"))
    except KeyError as error:
        raise TeacherError(f"{name} has no array {error}; write it with {_HOW_TO_STORE}") from None
    except TeacherError as error:
        raise TeacherError(f"cannot read {name}: {error}") from None


def _unpickled(path: str) -> Any:
    try:
        with open(path, "rb") as file:
            return pickle.load(file)
    except Exception as error:  # code of the file's author may raise anything
        raise TeacherError(f"cannot read {path}: {error}") from error


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
