"""Sets that are put aside after some steps, and go on alone or in a wider one with others. Standard library only."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.certificate import Records
from moet.verify.checker.loops.flowpipe.parts import Home, part_of, read_parallelotope
from moet.verify.checker.loops.flowpipe.policy import Leaves
from moet.verify.checker.loops.flowpipe.sets import Zonotope, fits
from moet.verify.checker.loops.intervals import ONE
from moet.verify.checker.meter import Meter

TOGETHER = 71


class Stretch(NamedTuple):
    """From one time to another states are between ``low`` and ``high``, integers over 2^BITS."""

    start: Fraction
    end: Fraction
    low: list[int]
    high: list[int]


class Branch(NamedTuple):
    """A set after some steps, what it has reached, the leaves that alone answer in it, and where it has been."""

    points: Zonotope
    step: int
    done: set[int]
    only: Leaves | None
    tube: list[Stretch]


def put_together(aside: list[Branch], start: Home, d: int, records: Records) -> list[Branch]:
    """What goes on: sets that were put aside as they are, or parallelotopes that others of the same time are in.

    Nobody is left behind: runs of all of them are in a set that goes on, and records have an end.
    """
    if records.code() != TOGETHER:
        raise CertificateError("sets were put aside, and nothing is said of how they go on")
    (count,) = records.refs(1)
    boxes = [read_parallelotope(records, start, d) for _ in range(count)]
    inside: list[list[Branch]] = [[] for _ in boxes]
    going = []
    for branch in aside:
        (k,) = records.refs(1)
        if k == -1:
            going.append(branch)
        elif 0 <= k < len(boxes) and is_in(branch.points, boxes[k], d, records.meter):
            inside[k].append(branch)
        else:
            raise CertificateError("a set is not in the one that it is to go on in")
    return going + [_one(box, branches) for box, branches in zip(boxes, inside, strict=True)]


def _one(box: Home, branches: list[Branch]) -> Branch:
    """A set that others go on in; it has reached what all of them have."""
    if len({branch.step for branch in branches}) != 1:
        raise CertificateError("sets of different times go on in one, or none does")
    points = part_of(box, [(-ONE, ONE)] * len(box.middle))
    return Branch(points, branches[0].step, set.intersection(*(branch.done for branch in branches)), None, [])


def is_in(points: Zonotope, box: Home, d: int, meter: Meter) -> bool:
    """Whether the states of a set are in a parallelotope."""
    states = Zonotope(points.middle[:d], [column[:d] for column in points.columns])
    frame, inverse = ([row[:d] for row in matrix[:d]] for matrix in (box.frame, box.inverse))
    meter.spend(d * d * (len(states.columns) + d))
    return fits(states, box.middle[:d], inverse, frame)
