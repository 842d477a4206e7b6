"""What environments show and take, as rows of numbers and as numbers of actions.

Observations that are no rows are flattened as ``gymnasium.spaces.flatten`` does it: parts one after the other, and
which of several things it is as a row of zeros with a one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from moet.envs.columns import is_image, seen_in
from moet.envs.combinations import number_of_combinations
from moet.envs.task import Floats
from moet.errors import TaskError

if TYPE_CHECKING:
    import gymnasium

    Space = gymnasium.Space[Any]


def is_flat(space: Space) -> bool:
    """Whether observations are rows of numbers already."""
    from gymnasium.spaces import Box

    return isinstance(space, Box) and len(space.shape) == 1


def row_names(space: Space) -> tuple[str, ...]:
    """A name for each number of a flattened observation; a TaskError if it cannot be flattened."""
    return tuple(name for seen in seen_in(space) for name in seen.features)


def as_row(space: Space, observation: Any, name: str) -> Floats:
    """A flattened observation; ``name`` is the environment's, for errors."""
    from gymnasium import spaces

    try:
        row = np.asarray(spaces.flatten(space, observation), dtype=np.float64)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise TaskError(f"{name} gave an observation that is not of {space}: {observation!r:.200} ({error})") from None
    if row.shape != (spaces.flatdim(space),):
        raise TaskError(f"{name} gave an observation of {row.size} numbers; its space announces {space}")
    return row


def as_rows(space: Space, observations: Sequence[Any], name: str) -> Floats:
    """Observations as one array: flattened, but for rows, which are that already, and for images.

    Raises
    ------
    TaskError
        If one of them is not what the space announces.
    """
    if not is_flat(space) and not is_image(space):
        return np.stack([as_row(space, observation, name) for observation in observations])
    for observation in observations:
        if (shape := np.shape(observation)) != space.shape:
            raise TaskError(f"{name} gave an observation of shape {shape}; its space announces {space.shape}")
    return np.array(observations, dtype=np.float64)


def one_by_one(space: Space, observation: Any) -> tuple[list[Any], bool]:
    """Take a batch apart, as vectors of environments give it; True if it is a single observation instead.

    Raises
    ------
    ValueError
        If it is neither.

    Examples
    --------
    >>> from gymnasium.spaces import Discrete, Tuple
    >>> one_by_one(Tuple([Discrete(32), Discrete(11)]), (13, 10))
    ([(13, 10)], True)
    >>> one_by_one(Tuple([Discrete(32), Discrete(11)]), ([13, 20], [10, 4]))
    ([(13, 10), (20, 4)], False)
    """
    part, seen = space, observation
    while (first := next(iter(_parts_of(part, seen)), None)) is not None:
        _, part, seen = first
    shape = np.shape(seen)
    match len(shape) - len(part.shape or ()):
        case 0:
            return [observation], True
        case 1:
            return [_member(space, observation, k) for k in range(shape[0])], False
    raise ValueError(f"no observations of shape {shape}, and no batches of them")


def _parts_of(space: Space, observation: Any) -> list[tuple[Any, Any, Any]]:
    """Key, space and content of each part of a dictionary or a tuple; nothing of others."""
    from gymnasium import spaces

    parts: Any = dict(space.spaces) if isinstance(space, spaces.Dict) else {}
    if isinstance(space, spaces.Tuple):
        parts = dict(enumerate(space.spaces))
    try:
        return [(key, part, observation[key]) for key, part in parts.items()]
    except (TypeError, KeyError, IndexError) as error:
        raise ValueError(f"no {observation!r:.200}, but what is of {space} ({error})") from None


def _member(space: Space, observation: Any, k: int) -> Any:
    """Observation number ``k`` of a batch."""
    from gymnasium import spaces

    parts = {key: _member(part, seen, k) for key, part, seen in _parts_of(space, observation)}
    if isinstance(space, spaces.Dict):
        return parts
    return tuple(parts.values()) if isinstance(space, spaces.Tuple) else observation[k]


def as_parts(space: Space, rows: Floats) -> Any:
    """Flattened observations, one per row, as the dictionary, tuple or numbers that they were, each part an array."""
    from gymnasium import spaces

    match space:
        case spaces.Dict():
            cut = _cut(space.spaces.values(), rows)
            return {key: as_parts(part, own) for (key, part), own in zip(space.spaces.items(), cut, strict=True)}
        case spaces.Tuple():
            cut = _cut(space.spaces, rows)
            return tuple(as_parts(part, own) for part, own in zip(space.spaces, cut, strict=True))
        case spaces.Discrete():
            return rows.argmax(axis=1) + int(space.start)
        case spaces.MultiDiscrete():
            ends = np.cumsum(space.nvec.ravel())[:-1]
            chosen = np.stack([part.argmax(axis=1) for part in np.split(rows, ends, axis=1)], axis=1)
            return chosen.reshape(len(rows), *space.shape) + space.start
    return rows.reshape(len(rows), *(space.shape or ()))


def is_one_choice(space: Space) -> bool:
    """Whether ``env.step`` takes the number of an action, instead of an array with one number for each choice."""
    from gymnasium.spaces import Discrete

    return isinstance(space, Discrete)


def choices(space: Space, name: str) -> tuple[int, ...]:
    """How many actions there are, for each choice that is made at once; ``name`` is the environment's, for errors.

    Raises
    ------
    TaskError
        If actions are not among a few.
    """
    from gymnasium import spaces

    match space:
        case spaces.Discrete():
            counts: tuple[int, ...] = (int(space.n),)
            starts = [int(space.start)]
        case spaces.MultiDiscrete() if space.nvec.ndim == 1:
            counts = tuple(map(int, space.nvec))
            starts = space.start.tolist()
        case spaces.MultiBinary() if isinstance(space.n, int):
            counts, starts = (2,) * space.n, [0]
        case _:
            raise TaskError(
                f"{name} takes actions from {space}, but a policy answers with one of a few or with real numbers; "
                "wrap it in a gymnasium.ActionWrapper with a Discrete or Box action space, as the task 'pendulum' does"
            )
    if any(starts):
        raise TaskError(
            f"the actions of {name} are numbered from {starts[0] if len(starts) == 1 else starts}; "
            "wrap it in a gymnasium.ActionWrapper so that they are numbered from 0"
        )
    if len(counts) > 1:
        try:
            number_of_combinations(counts, name)
        except ValueError as error:
            raise TaskError(str(error)) from None
    return counts


def _cut(parts: Any, rows: Floats) -> list[Floats]:
    from gymnasium.spaces import flatdim

    ends = np.cumsum([flatdim(part) for part in parts])[:-1]
    return np.split(rows, ends, axis=1)
