"""How numbers, names and units are written for people."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np

from moet.errors import InputError
from moet.model.base import BaseMixture
from moet.model.digits import EXACT, numbers_of
from moet.model.text import printable

WIDTH = 100
INDENT = "  "


SHORT = 8
"""Numbers of so few digits are shown in full: somebody has rounded them to be read."""


def number(value: float, digits: int) -> str:
    """``value`` with significant digits; nothing that is not zero looks like zero.

    With 17 digits it is the shortest text that stands for this very number.
    """
    if digits >= EXACT:
        text = repr(float(value) + 0.0)
        return text.removesuffix(".0")
    text = f"{value + 0.0:.{digits}g}"  # + 0.0 makes -0.0 a plain 0
    # An integer part of a few digits more is easier to read in full than as a power of ten.
    return f"{value:.0f}" if "e" in text and 1 <= abs(value) < 1e9 else text


def probability(value: float) -> str:
    """Two decimals, but nothing uncertain looks certain."""
    if 0.995 <= value < 1 - 1e-9:
        return ">0.99"
    return "<0.01" if 0 < value < 0.005 else f"{value:.2f}"


def wrapped(line: str) -> list[str]:
    """``line`` in pieces of at most WIDTH characters, the later ones indented."""
    inside = line[: len(line) - len(line.lstrip())] + INDENT
    return textwrap.wrap(line, WIDTH, subsequent_indent=inside, break_long_words=False, break_on_hyphens=False)


def feature_index(name: str, feature_names: Sequence[str]) -> int:
    """Position of the feature of that name.

    Raises
    ------
    InputError
        If there is none.
    """
    if name not in feature_names:
        raise InputError(f"there is no feature {name!r}; the features are {', '.join(feature_names)}")
    return list(feature_names).index(name)


def with_units(feature_names: Sequence[str], units: Mapping[str, str] | None) -> list[str]:
    """Names for axes and tables, such as ``angle [rad]``; a pure number has no unit, or an empty one."""
    labels = [printable(name) for name in feature_names]
    for name, unit in (units or {}).items():
        if unit:
            labels[feature_index(name, feature_names)] += f" [{printable(unit)}]"
    return labels


def chosen_digits(mixture: BaseMixture, digits: int | None) -> int:
    """As many digits as were asked for; if none were, all of a model whose numbers are short, else four."""
    if digits is not None:
        return digits
    return EXACT if all(number(value, SHORT) == number(value, EXACT) for value in numbers_of(mixture)) else 4


def threshold_digits(mixture: BaseMixture, digits: int) -> list[int]:
    """Fewest digits, from ``digits`` on, with which different thresholds of a feature look different; by feature."""
    feature = np.concatenate([tree.feature for tree in mixture.trees])
    threshold = np.concatenate([tree.threshold for tree in mixture.trees])
    enough = []
    for k in range(mixture.n_features):
        values, needed = np.unique(threshold[feature == k]), digits
        while needed < 17 and len({number(value, needed) for value in values}) < len(values):
            needed += 1
        enough.append(needed)
    return enough
