"""Boxes: one closed interval per feature, by name."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError

Bounds = tuple[NDArray[np.float64], NDArray[np.float64]]


class Box:
    """A closed box of inputs, given by feature name; features that are not named are unbounded.

    Parameters
    ----------
    **sides : (low, high)
        Bounds of a feature, either of which may be None for an open side. A feature whose name is no Python identifier
        is given as ``Box(**{"age (years)": (18, None)})``.

    Examples
    --------
    >>> Box(theta=(0.15, 0.2), theta_dot=(0.5, None))
    Box(theta=(0.15, 0.2), theta_dot=(0.5, None))
    """

    def __init__(self, /, **sides: tuple[float | None, float | None]) -> None:
        self._sides = {name: _interval(name, side) for name, side in sides.items()}
        self._positional: Bounds | None = None

    @classmethod
    def from_bounds(cls, lo: ArrayLike, hi: ArrayLike) -> Box:
        """Box of the features in their order; infinities are open sides."""
        try:
            low, high = (np.array(bound, dtype=np.float64) for bound in (lo, hi))
        except (TypeError, ValueError) as error:
            raise InputError(f"the bounds of a box must be numbers: {error}") from None
        if low.ndim != 1 or low.shape != high.shape:
            raise InputError(f"a box needs as many lower as upper bounds, got shapes {low.shape} and {high.shape}")
        for k, side in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
            _interval(f"feature {k}", side)
        box = cls()
        box._positional = (low, high)
        return box

    @classmethod
    def parse(cls, text: str) -> Box:
        """Read a box from comparisons such as ``"theta>=0.15, -1<=x<=1, contact=0"``.

        Feature names may hold anything but commas and comparison signs.
        """
        sides: dict[str, tuple[float, float]] = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, low, high = _parse_condition(part)
            before = sides.get(name, (-math.inf, math.inf))
            sides[name] = max(before[0], low), min(before[1], high)
        return cls(**sides)

    @classmethod
    def where(cls, model: Any, text: str) -> Box:
        """Read conditions in the words of the user's table, by the model's schema.

        A side that is stated replaces that of the range seen. For float64 numbers ``<`` is ``<=`` the number before.

        Examples
        --------
        >>> import pandas as pd
        >>> from moet import MoETClassifier
        >>> table = pd.DataFrame({"Age": [20, 30, 40, 50], "Housing": ["own", "rent", "own", "free"]})
        >>> model = MoETClassifier(n_experts=1, max_depth=1).fit(table, [0, 0, 1, 1])
        >>> Box.where(model, "Age < 40, Housing in (own, rent)")
        Box(**{'Age': (None, 39.0), 'Housing=free': (0.0, 0.0)})
        """
        from moet.model.file import as_model
        from moet.verify.conditions import sides_of

        mixture = as_model(model)
        if mixture.schema is None:
            box = cls.parse(text)
            box.bounds(mixture.feature_names)
            return box
        return cls(**sides_of(text, mixture.schema))

    def bounds(self, feature_names: Sequence[str]) -> Bounds:
        """Lower and upper bounds for features in this order, infinite at open sides."""
        n_features = len(feature_names)
        if self._positional is not None:
            lo, hi = self._positional
            if len(lo) != n_features:
                raise InputError(f"the box has {len(lo)} features, the model {n_features}: {', '.join(feature_names)}")
            return lo.copy(), hi.copy()
        lo, hi = np.full(n_features, -np.inf), np.full(n_features, np.inf)
        place = {name: k for k, name in enumerate(feature_names)}
        for name, (low, high) in self._sides.items():
            if name not in place:
                raise InputError(f"there is no feature {name!r}{_suggestion(name, feature_names)}")
            lo[place[name]], hi[place[name]] = low, high
        return lo, hi

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Box):
            return NotImplemented
        if (self._positional is None) != (other._positional is None):
            return False
        if self._positional is None or other._positional is None:
            return self._sides == other._sides
        return all(np.array_equal(a, b) for a, b in zip(self._positional, other._positional, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if self._positional is not None:
            lo, hi = (bound.tolist() for bound in self._positional)
            return f"Box.from_bounds({lo}, {hi})"
        if all(name.isidentifier() for name in self._sides):
            return f"Box({', '.join(f'{name}={_shown(side)}' for name, side in self._sides.items())})"
        return f"Box(**{{{', '.join(f'{name!r}: {_shown(side)}' for name, side in self._sides.items())}}})"


def _interval(name: str, side: tuple[float | None, float | None]) -> tuple[float, float]:
    try:
        first, second = side
        low = -math.inf if first is None else float(first)
        high = math.inf if second is None else float(second)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"the bounds of {name} must be a pair of numbers or None, got {side!r}") from None
    if math.isnan(low) or math.isnan(high):
        raise InputError(f"the bounds of {name} must not be NaN, got {side!r}")
    if low > high or low == math.inf or high == -math.inf:
        raise InputError(f"the box is empty: {name} would lie between {low:g} and {high:g}")
    return low, high


def _shown(side: tuple[float, float]) -> str:
    return "({})".format(", ".join("None" if math.isinf(bound) else repr(bound) for bound in side))


def _suggestion(name: str, known: Iterable[str]) -> str:
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; the model has {', '.join(known)}"


_COMPARISON = re.compile(r"(<=|>=|==|=|<|>)")


def _parse_condition(text: str) -> tuple[str, float, float]:
    """Name, low and high of one comparison, or of a chained one such as 0<=x<=1."""
    parts = [part.strip() for part in _COMPARISON.split(text)]
    match parts:
        case [name, "<=", bound]:
            return name, -math.inf, _number(bound, text)
        case [name, ">=", bound]:
            return name, _number(bound, text), math.inf
        case [name, "=" | "==", bound]:
            return name, _number(bound, text), _number(bound, text)
        case [low, "<=", name, "<=", high]:
            return name, _number(low, text), _number(high, text)
        case _ if "<" in parts or ">" in parts:
            raise InputError(f"a box has closed sides: write <= or >= instead of < or > in {text!r}")
        case _:
            raise InputError(f"cannot read the condition {text!r}; write for example theta>=0.15 or 0<=x<=1")


def _number(text: str, condition: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{text!r} in the condition {condition!r} is not a number") from None
    if not math.isfinite(value):
        raise InputError(f"a bound must be finite, got {condition!r}; leave a side out to open it")
    return value
