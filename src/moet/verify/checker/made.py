"""Things that are made when they are first asked for. Standard library only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

V = TypeVar("V")


class Made(dict[Any, V]):
    """What ``make`` returns for a key, or for the parts of a tuple; made once, and quicker to ask than a function.

    Examples
    --------
    >>> product = Made(lambda a, b: a * b)
    >>> product[2, 3], product
    (6, {(2, 3): 6})
    """

    def __init__(self, make: Callable[..., V]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: Any) -> V:
        made = self[key] = self._make(*key) if type(key) is tuple else self._make(key)
        return made
