"""What an environment shows, thing by thing: a number between bounds, or which of several things it is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from moet.errors import TaskError

if TYPE_CHECKING:
    import gymnasium

    Space = gymnasium.Space[Any]

_MANY = 256
"""An array of several dimensions with more numbers than that is an image, as those of bytes are; others are rows."""

_LARGEST_WHOLE = 2**53


class Seen(NamedTuple):
    """One thing that an environment shows.

    Attributes
    ----------
    name : str
    features : tuple of str
        The numbers of a flattened observation that it becomes: one, or one for each choice.
    choices : tuple of str
        What it may be; none of numbers.
    low, high : float
        Bounds of a number.
    whole : bool
        Whether it is a whole number.
    """

    name: str
    features: tuple[str, ...]
    choices: tuple[str, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    whole: bool = False

    @property
    def is_bounded(self) -> bool:
        """Whether it is a choice, or a number between finite bounds."""
        largest = max(abs(self.low), abs(self.high))
        return bool(self.choices) or (largest <= _LARGEST_WHOLE if self.whole else largest < math.inf)


def is_image(space: Space) -> bool:
    """Whether observations are an array of bytes, or of so many numbers that none of them means much."""
    from gymnasium.spaces import Box

    if not isinstance(space, Box) or len(space.shape) <= 1:
        return False
    return bool(space.dtype == np.uint8) or math.prod(space.shape) > _MANY


def seen_in(space: Space, prefix: str = "") -> Iterator[Seen]:
    """All that observations of a space show, in the order in which they are flattened.

    Parts of a dictionary have its keys, numbers of a row are counted, and a choice is ``name=value``, as the columns of
    a table with categories are.

    Raises
    ------
    TaskError
        If observations cannot be flattened, or hold images.
    """
    from gymnasium import spaces

    name = prefix or "x"
    match space:
        case spaces.Box() if not is_image(space):
            yield from _numbers(space, _placed(name, space.shape, only=bool(prefix)))
        case spaces.Discrete():
            yield _choice(name, int(space.start), int(space.n))
        case spaces.MultiDiscrete():
            counts = space.start.ravel(), space.nvec.ravel()
            for one, start, n in zip(_placed(name, space.shape), *counts, strict=True):
                yield _choice(one, int(start), int(n))
        case spaces.MultiBinary():
            yield from (Seen(bit, (bit,), (), 0.0, 1.0, whole=True) for bit in _placed(name, space.shape))
        case spaces.Dict():
            for key, inner in space.spaces.items():
                yield from seen_in(inner, f"{prefix}_{key}" if prefix else str(key))
        case spaces.Tuple():
            for key, inner in zip(_counted(name, len(space.spaces)), space.spaces, strict=True):
                yield from seen_in(inner, key)
        case _:
            raise TaskError(f"observations from {space} are no numbers that a tree could compare")


def columns_of(space: Space) -> tuple[Seen, ...]:
    """The columns of a table whose rows are the observations: where one is a choice, and all others have bounds.

    Of observations that are numbers alone a table would say no more than their names do: none then.
    """
    found = tuple(seen_in(space))
    tells_more = any(one.choices for one in found) and all(one.is_bounded for one in found)
    return found if tells_more and len({one.name for one in found}) == len(found) else ()


def _numbers(space: Any, names: Sequence[str]) -> Iterator[Seen]:
    whole = space.dtype.kind in "iu"
    for name, low, high in zip(names, space.low.ravel(), space.high.ravel(), strict=True):
        yield Seen(name, (name,), (), float(low), float(high), whole)


def _choice(name: str, start: int, n: int) -> Seen:
    values = tuple(map(str, range(start, start + n)))
    return Seen(name, tuple(f"{name}={value}" for value in values), values)


def _placed(name: str, shape: tuple[int, ...], *, only: bool = False) -> tuple[str, ...]:
    """Names of the numbers of an array, by their places."""
    if len(shape) <= 1:
        return _counted(name, math.prod(shape), only=only)
    return tuple("_".join([name, *map(str, place)]) for place in np.ndindex(*shape))


def _counted(name: str, n: int, *, only: bool = False) -> tuple[str, ...]:
    """Names of ``n`` numbers; ``only`` leaves a single one uncounted."""
    if n == 1 and only:
        return (name,)
    separator = "_" if name[-1:].isdigit() or len(name) > 1 else ""
    return tuple(f"{name}{separator}{k}" for k in range(n))
