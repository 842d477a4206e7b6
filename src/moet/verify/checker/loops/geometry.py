"""Boxes of states, and actions of models. Standard library only."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from moet.errors import CertificateError
from moet.verify.checker.meter import Meter

Box = list[tuple[Fraction, Fraction]]
"""Least and largest value of every state."""


def most_in(box: Box, row: list[Fraction]) -> Fraction:
    """Largest value of row·x in a box."""
    return sum((max(a * low, a * high) for a, (low, high) in zip(row, box, strict=True)), Fraction(0))


def covers(parts: list[Box], box: Box, meter: Meter) -> bool:
    """Whether every point of a box lies in one of the parts."""
    open_boxes = [(box, parts)]
    while open_boxes:
        box, near = open_boxes.pop()
        meter.spend(10 * len(near) * len(box))
        near = [part for part in near if _meets(part, box)]
        if any(_contains(part, box) for part in near):
            continue
        cut = next((place for part in near for place in _cuts(part, box)), None)
        if cut is None:
            return False
        k, value = cut
        for side in ((box[k][0], value), (value, box[k][1])):
            open_boxes.append(([*box[:k], side, *box[k + 1 :]], near))
    return True


def _meets(part: Box, box: Box) -> bool:
    return all(a <= high and low <= b for (a, b), (low, high) in zip(part, box, strict=True))


def _contains(part: Box, box: Box) -> bool:
    return all(a <= low and high <= b for (a, b), (low, high) in zip(part, box, strict=True))


def _cuts(part: Box, box: Box) -> list[tuple[int, Fraction]]:
    """Sides of a part that cut a box in two."""
    sides = enumerate(zip(part, box, strict=True))
    return [(k, value) for k, (ends, (low, high)) in sides for value in ends if low < value < high]


def action_number(label: Any, actions: list[str]) -> int:
    """Return the number of the action that a class of a model is: by name, or by number."""
    if isinstance(label, str) and label in actions:
        return actions.index(label)
    if type(label) is int and 0 <= label < len(actions):
        return label
    raise CertificateError(f"the class {label!r} of the model is no action of the system")
