"""What the spaces of an agent of Stable-Baselines3 say, whether they are alive or were found in a file.

In a file, spaces are text beside a pickle. The text is taken where it is exact; of the pickle, the numbers are read
and nothing is executed, so spaces of the old ``gym`` are understood without it.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from moet.errors import TeacherError
from moet.teachers.inert_pickle import Record, as_array, as_number, read_records
from moet.teachers.teacher import Floats

WRAP = (
    "If you trust its author, load it with Stable-Baselines3 and wrap it: "
    "Teacher.from_callable(lambda rows: model.predict(rows, deterministic=True)[0])"
)
"""The way that is always open."""


class Actions(NamedTuple):
    """What an agent can do.

    Attributes
    ----------
    counts : tuple of int
        How many there are to choose from, for each choice; empty if actions are continuous.
    binary : bool
        Whether each choice is one of yes and no, with one number that speaks for yes.
    low, high : array or None
        Bounds of continuous actions.
    """

    counts: tuple[int, ...] = ()
    low: Floats | None = None
    high: Floats | None = None
    binary: bool = False

    @property
    def continuous(self) -> bool:
        """Whether actions are rows of numbers."""
        return self.low is not None


def length_of_observation(space: str, shape: Sequence[int], n: int | None = None) -> int:
    """Length of an observation, given the name of its space's class, its shape, and how many there are to choose from.

    A choice is seen as a row of zeros with a one, an array as one row, as ``gymnasium.spaces.flatten`` has them too.
    """
    if space in ("Discrete", "MultiDiscrete") and n is not None:
        return n
    if space not in ("Box", "MultiBinary") or not shape:
        raise TeacherError(
            f"it sees a {space} of shape {tuple(shape)}; a teacher sees numbers: a Box, or choices among a few. {WRAP}"
        )
    return math.prod(shape)


def described_length(description: Mapping[str, Any]) -> int:
    """Length of an observation, given what a file says about their space."""
    space = class_name(description.get(":type:")).rpartition(".")[2]
    if space == "Dict":
        record = _record(description)
        if not record.name.endswith(".Dict"):
            raise TeacherError(f"its member data says that it sees a Dict, and that it sees a {record.name}")
        return _recorded_length(record)
    counts = _counts(description.get("nvec")) if space == "MultiDiscrete" else ()
    n = sum(counts) if counts else whole_number(description.get("n"))
    return length_of_observation(space, () if space == "Discrete" else _shape(description), n)


def described_actions(description: Mapping[str, Any]) -> Actions:
    """What an agent can do, given what a file says about the space of its actions."""
    space = class_name(description.get(":type:")).rpartition(".")[2]
    match space:
        case "Discrete" if (n := whole_number(description.get("n"))) is not None:
            return Actions((n,))
        case "MultiDiscrete" if counts := _counts(description.get("nvec")):
            return Actions(counts)
        case "MultiBinary" if (n := whole_number(description.get("n"))) is not None:
            return Actions((2,) * n, binary=True)
        case "Box":
            state = _record(description).state
            low, high = (as_array(state.get(name)) if isinstance(state, dict) else None for name in ("low", "high"))
            if low is not None and high is not None and low.shape == high.shape and low.size:
                return Actions((), low.astype(np.float64).ravel(), high.astype(np.float64).ravel())
    raise not_understood(space)


def live_actions(space: Any) -> Actions:
    """What an agent can do, given the space of its actions."""
    match type(space).__name__:
        case "Discrete":
            return Actions((int(space.n),))
        case "MultiDiscrete" if space.nvec.ndim == 1:
            return Actions(tuple(map(int, space.nvec)))
        case "MultiBinary" if isinstance(space.n, int):
            return Actions((2,) * space.n, binary=True)
        case "Box":
            return Actions((), space.low.astype(np.float64).ravel(), space.high.astype(np.float64).ravel())
    raise not_understood(type(space).__name__)


def live_length(space: Any) -> int:
    """Length of an observation, given their space."""
    if type(space).__name__ == "Dict":
        return sum(live_length(part) for part in space.spaces.values())
    if type(space).__name__ == "MultiDiscrete":
        return length_of_observation("MultiDiscrete", space.shape, int(space.nvec.sum()))
    return length_of_observation(type(space).__name__, space.shape or (), getattr(space, "n", None))


def not_understood(space: str) -> TeacherError:
    """The error for actions that a teacher cannot have."""
    return TeacherError(
        f"its actions are a {space}; a teacher chooses one of a few (Discrete, MultiDiscrete, MultiBinary), or gives "
        f"numbers (Box). {WRAP}"
    )


def class_name(text: Any) -> str:
    """Full name of a class that Python prints as ``<class 'module.Name'>``."""
    return str(text).removeprefix("<class '").removesuffix("'>")


def whole_number(text: Any) -> int | None:
    """A number that was written as such, or as text if it was one of NumPy's."""
    return int(text) if re.fullmatch(r"\d{1,9}", str(text)) else None


def _counts(nvec: Any) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\b\d{1,9}\b", str(nvec))))


def _shape(space: Mapping[str, Any]) -> list[int]:
    shape = space.get("_shape", space.get("shape"))  # the latter before gym 0.20
    if not isinstance(shape, list) or not all(type(length) is int for length in shape):
        raise TeacherError(f"its member data does not say how long an observation is: {shape!r}")
    return shape


def _record(description: Mapping[str, Any]) -> Record:
    try:
        found = read_records(base64.b64decode(str(description.get(":serialized:"))))
    except ValueError as error:
        raise TeacherError(f"its member data does not say what its spaces are: {error}") from None
    if not isinstance(found, Record):
        raise TeacherError("its member data does not say what its spaces are")
    return found


def _recorded_length(space: Record, depth: int = 0) -> int:
    state = space.state if isinstance(space.state, dict) else {}
    name = space.name.rpartition(".")[2]
    if name != "Dict":
        shape = state.get("_shape", state.get("shape"))
        n = as_number(state.get("n"))
        if name == "MultiDiscrete" and (nvec := as_array(state.get("nvec"))) is not None:
            n = float(nvec.sum())
        lengths = [length for length in shape if type(length) is int] if isinstance(shape, tuple) else []
        return length_of_observation(name, lengths, None if n is None or not math.isfinite(n) else int(n))
    if depth > 8:
        raise TeacherError("its member data has observations in observations in observations")
    return sum(_recorded_length(part, depth + 1) for part in recorded_parts(space).values())


def recorded_parts(space: Record) -> dict[str, Record]:
    """The spaces of a dictionary, in the order in which an agent sees them."""
    parts = space.state.get("spaces") if isinstance(space.state, dict) else None
    parts = parts.items if isinstance(parts, Record) else parts  # an OrderedDict in the days of gym
    if not isinstance(parts, dict) or not all(isinstance(part, Record) for part in parts.values()):
        raise TeacherError("it does not say what its observations hold")
    return parts


def recorded_extent(space: Record) -> tuple[int, float]:
    """Length of an observation, and the largest number in it."""
    state = space.state if isinstance(space.state, dict) else {}
    low, high = as_array(state.get("low")), as_array(state.get("high"))
    bounded = low is not None and high is not None
    return _recorded_length(space), _largest(low, high) if bounded else 1.0


def largest_of(space: Any) -> float:
    """The largest number in an observation: of choices, which are seen as zeros and a one, it is one."""
    return _largest(space.low, space.high) if hasattr(space, "low") else 1.0


def _largest(low: Any, high: Any) -> float:
    return float(max(np.abs(low).max(initial=0), np.abs(high).max(initial=0)))
