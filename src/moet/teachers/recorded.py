"""Recorded episodes: what was seen and what was done, without the environment.

Two layouts are read. A folder of Minari has ``main_data.hdf5``, with a group per episode, or a folder per episode with
Arrow or Parquet files. Anything else is ``.npz`` files, one per episode or with several each. Nothing is executed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.envs.box import ActionBox
from moet.envs.task import Floats, Task
from moet.errors import InputError, TaskError, TeacherError
from moet.teachers.recorded_arrow import SUFFIXES, arrow_files, read_arrow

_OBSERVATIONS, _ACTIONS = ("observations", "obs"), ("actions", "acts")
_ENDS = ("terminations", "truncations", "terminals", "timeouts", "dones")
_MAX_BYTES = 2 * 2**30
_LIMIT = 10_000
"""Largest action number; recordings with larger ones hold something else."""


@dataclass(frozen=True)
class Recording:
    """Steps of recorded episodes.

    Attributes
    ----------
    observations : array, shape (n_steps, n_observed)
    actions : array of int, shape (n_steps,), or of float, shape (n_steps, n_numbers)
        What was done: action numbers from 0, or rows of numbers.
    episode : array of int, shape (n_steps,)
        In which episode, numbered from 0.
    names : tuple of str
        What each number of an observation is called.
    """

    observations: Floats
    actions: NDArray[Any]
    episode: NDArray[np.int64]
    names: tuple[str, ...]

    @property
    def continuous(self) -> bool:
        """Whether actions are rows of numbers instead of one of a few."""
        return self.actions.ndim == 2

    def task(self) -> Task:
        """A task that has names for what was seen and done, and cannot be played.

        Numbers of an action lie between the least and the largest that were recorded.
        """
        box = _recorded_box(self.actions) if self.continuous else None
        named = map(str, range(int(self.actions.max()) + 1)) if box is None else (f"u{k}" for k in range(len(box)))
        return Task(
            name="recorded episodes",
            make=_cannot_be_played,
            batch=_cannot_be_played,
            observation_names=self.names,
            feature_names=self.names,
            feature_units=("",) * len(self.names),
            action_names=tuple(named),
            max_steps=None,
            box=box,
        )


def _recorded_box(actions: Floats) -> ActionBox:
    """Bounds that all recorded actions keep; of a number that never changes, one more above it."""
    low, high = actions.min(axis=0), actions.max(axis=0)
    high = np.where(high > low, high, np.maximum(low + 1, np.nextafter(low, np.inf)))
    return ActionBox(tuple(low.tolist()), tuple(high.tolist()), low.shape, "float64")


def read_recording(path: str | os.PathLike[str]) -> Recording:
    """Read recorded episodes from a folder or a file.

    Raises
    ------
    InputError
        If there are none, or they contradict themselves.

    Examples
    --------
    >>> import numpy as np
    >>> import tempfile
    >>> from moet.teachers import read_recording
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/episode_0.npz", observations=np.zeros((3, 2)), actions=np.array([0, 1, 1]))
    ...     recording = read_recording(folder)
    """
    try:
        parts = [part for file in _files(Path(path)) for part in _episodes(file)]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    if not parts:
        raise InputError(f"cannot read {path}: no episodes are in it")
    widths = {seen.shape[1] for seen, _, _ in parts}
    if len(widths) > 1:
        raise InputError(f"cannot read {path}: its observations are of different lengths: {sorted(widths)}")
    if len(shapes := {done.shape[1:] for _, done, _ in parts}) > 1:
        told = sorted(f"rows of {shape[0]}" if shape else "action numbers" for shape in shapes)
        raise InputError(f"cannot read {path}: its actions are of different kinds: {', '.join(told)}")
    return Recording(
        observations=np.concatenate([seen for seen, _, _ in parts]),
        actions=np.concatenate([done for _, done, _ in parts]),
        episode=np.repeat(np.arange(len(parts)), [len(done) for _, done, _ in parts]),
        names=parts[0][2],
    )


def _files(path: Path) -> list[Path]:
    path.stat()  # readers of the formats say in many words that a file is not there
    if not path.is_dir():
        return [path]
    minari = [file for file in (path / "data" / "main_data.hdf5", path / "main_data.hdf5") if file.is_file()]
    files = minari[:1] or arrow_files(path) or sorted(path.glob("*.npz")) or sorted(path.glob("*.hdf5"))
    if not files:
        raise InputError(
            f"cannot read {path}: it has neither main_data.hdf5 nor a folder per episode, as Minari writes them, "
            "nor .npz files"
        )
    return files


Episode = tuple[Floats, NDArray[Any], tuple[str, ...]]


def _episodes(file: Path) -> Iterator[Episode]:
    try:
        for arrays in _contents(file):
            yield from _split(arrays)
    except (InputError, TeacherError) as error:
        raise InputError(f"cannot read {file}: {error}") from None


def _contents(file: Path) -> list[dict[str, Any]]:
    """The sets of arrays in a file."""
    if file.suffix == ".npz":
        from moet.teachers.arrays import load_arrays  # compiled networks are beside it

        return [load_arrays(file)]
    return [read_arrow(file, _MAX_BYTES)] if file.suffix in SUFFIXES else _groups_of_hdf5(file)


def _groups_of_hdf5(file: Path) -> list[dict[str, Any]]:
    try:
        import h5py
    except ImportError:
        raise InputError("reading it needs the package h5py: pip install h5py") from None
    try:
        with h5py.File(file, "r") as opened:
            names = sorted((name for name in opened if name.startswith("episode_")), key=_number)
            return [{key: _inside(opened[name], key, h5py) for key in opened[name]} for name in names]
    except InputError:
        raise
    except (OSError, KeyError, ValueError, TypeError, RuntimeError) as error:
        raise InputError(f"it is no file of Minari, or damaged: {error}") from None


def _number(name: str) -> int:
    digits = name.rpartition("_")[2]
    return int(digits) if digits.isdecimal() else -1


def _inside(group: Any, key: str, h5py: Any, depth: int = 0) -> Any:
    """An array, or a dictionary of them; a link to elsewhere is not followed."""
    if not isinstance(group.get(key, getlink=True), h5py.HardLink) or depth > 8:
        raise InputError(f"{key} is a link to elsewhere")
    value = group[key]
    if isinstance(value, h5py.Group):
        return {name: _inside(value, name, h5py, depth + 1) for name in sorted(value)}
    if value.nbytes > _MAX_BYTES:
        raise InputError(f"{key} has {value.nbytes} bytes, more than {_MAX_BYTES}")
    return np.asarray(value)


def _split(arrays: Mapping[str, Any]) -> Iterator[Episode]:
    """The episodes in a set of arrays: cut where it says so, or one."""
    seen = next((arrays[name] for name in _OBSERVATIONS if name in arrays), None)
    done = next((arrays[name] for name in _ACTIONS if name in arrays), None)
    if seen is None or done is None:
        raise InputError(f"it needs the arrays observations and actions, it has {', '.join(arrays) or 'none'}")
    actions = _actions(done)
    rows, names = _rows(seen)
    several = _starts(arrays, actions)
    if several is not None and len(rows) != len(actions):
        raise InputError(f"it has {len(rows)} observations and {len(actions)} actions")
    if len(rows) not in (len(actions), len(actions) + 1):  # the last observation calls for no action
        raise InputError(f"it has {len(rows)} observations and {len(actions)} actions")
    if "episode" in arrays:  # several environments may have been recorded side by side
        number = np.asarray(arrays["episode"])
        order = _one_after_the_other(number)
        rows, actions, several = rows[order], actions[order], _changes(number[order])
    starts = several if several is not None else np.zeros(1, np.int64)
    for begin, end in zip(starts, [*starts[1:], len(actions)], strict=True):
        if end > begin:
            yield rows[begin:end], actions[begin:end], names


def _starts(arrays: Mapping[str, Any], actions: NDArray[Any]) -> NDArray[np.int64] | None:
    """Where episodes begin; None if nothing is said about it."""
    count = len(actions)
    if "episode" in arrays:
        number = np.asarray(arrays["episode"])
        if number.shape != (count,):
            raise InputError(f"episode has shape {number.shape} for {count} actions")
        return _changes(number)
    if "lengths" in arrays:
        lengths = np.asarray(arrays["lengths"])
        if lengths.dtype.kind not in "iu" or lengths.ndim != 1 or lengths.sum() != count or (lengths < 0).any():
            raise InputError(f"lengths must be whole numbers that add up to the {count} actions")
        return np.cumsum(np.r_[0, lengths[:-1]]).astype(np.int64)
    inner = sum((flag[:-1] for flag in _flags(arrays, count)), np.zeros(max(count - 1, 0), np.int64))
    return np.flatnonzero(np.r_[True, inner > 0]) if inner.any() else None


def _flags(arrays: Mapping[str, Any], count: int) -> Iterator[NDArray[np.int64]]:
    """What says of every step whether the episode ended with it; a single flag is about the whole file."""
    for name in _ENDS:
        flag = np.asarray(arrays.get(name, False))
        if flag.ndim and (flag.size != count or flag.dtype.kind not in "biuf"):
            raise InputError(f"{name} is {flag.dtype} of shape {flag.shape} for {count} actions")
        if flag.ndim:
            yield flag.reshape(-1).astype(np.int64)


def _one_after_the_other(number: NDArray[Any]) -> NDArray[np.intp]:
    """Order in which steps of the same episode stand together, as they were done; episodes as they began."""
    _, first, member = np.unique(number, return_index=True, return_inverse=True)
    return np.argsort(first[member], kind="stable")


def _changes(number: NDArray[Any]) -> NDArray[np.int64]:
    """Where another number begins."""
    return np.flatnonzero(np.r_[True, number[1:] != number[:-1]])


def _actions(values: Any) -> NDArray[Any]:
    """Action numbers; of an array with a point in its numbers, rows of them."""
    array = np.asarray(values)
    if array.dtype.kind == "f" and array.ndim >= 1 and 0 not in array.shape[1:]:
        return _rows_of_numbers(array)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or array.dtype.kind not in "iub":
        raise InputError(
            f"its actions are {array.dtype} of shape {array.shape}; a policy answers with one of a few, whose number "
            "must have been recorded, or with a row of floats"
        )
    if array.size and not 0 <= array.min() <= array.max() <= _LIMIT:
        raise InputError(f"its actions lie between {array.min()} and {array.max()}; they are counted from 0")
    return array.astype(np.int64)


def _rows_of_numbers(array: NDArray[Any]) -> Floats:
    rows = array.reshape(len(array), -1).astype(np.float64)
    if not np.isfinite(rows).all():
        raise InputError("its actions hold NaN or infinity")
    return rows


def _rows(values: Any, prefix: str = "") -> tuple[Floats, tuple[str, ...]]:
    """Observations as rows with names; parts of a dictionary stand side by side in the order of their keys."""
    if isinstance(values, Mapping):
        parts = [_rows(part, f"{prefix}_{key}" if prefix else str(key)) for key, part in sorted(values.items())]
        if not parts or len({len(rows) for rows, _ in parts}) > 1:
            raise InputError("the parts of its observations are of different lengths")
        return np.concatenate([rows for rows, _ in parts], axis=1), tuple(n for _, names in parts for n in names)
    array = np.asarray(values)
    is_row = (array.ndim == 2 and array.shape[1] > 0) or (array.ndim == 1 and prefix)
    if array.dtype.kind not in "iubf" or not is_row:
        raise InputError(f"its observations are {array.dtype} of shape {array.shape}, not a row of numbers per step")
    rows = (array[:, None] if array.ndim == 1 else array).astype(np.float64)
    if not np.isfinite(rows).all():
        raise InputError("its observations hold NaN or infinity")
    single = prefix and rows.shape[1] == 1
    return rows, (prefix,) if single else tuple(f"{prefix}_{k}" if prefix else f"x{k}" for k in range(rows.shape[1]))


def _cannot_be_played(*arguments: Any, **options: Any) -> Any:
    raise TaskError("recorded episodes cannot be played; name the environment with --env")
