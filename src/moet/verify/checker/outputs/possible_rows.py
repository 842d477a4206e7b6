"""Possible rows of a model of numbers: conditions on their features, and boxes divided at whole numbers.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from moet.errors import CertificateError
from moet.verify.checker.certificate import Records
from moet.verify.checker.documents.schema import PlainColumn
from moet.verify.checker.inputs.agreement import MOST_WAITING, Condition
from moet.verify.checker.inputs.claims import Body, Open

PIECE, DIVIDE = 3, 4
"""Codes of records: the proof for this box follows; or: both of its parts do."""


def has_groups(columns: Sequence[PlainColumn]) -> bool:
    """Whether possible rows are not all inputs of a box."""
    return any(column.kind != "number" for column in columns)


def one_category_each(columns: Sequence[PlainColumn], n_features: int, scale: int, unit: int) -> list[Condition]:
    """The features of a column of categories add up to one: at least, and at most."""
    conditions = []
    for column in columns:
        if column.kind == "category":
            last = column.first + len(column.features)
            for sign in (scale, -scale):
                row = [sign if column.first <= k < last else 0 for k in range(n_features)]
                conditions.append(Condition(row, sign * unit, False))
    return conditions


def pieces(columns: Sequence[PlainColumn], box: Body, records: Records) -> Iterator[Body]:
    """The boxes that records divide a box into, each before its own records; the box itself if all of it counts."""
    if not has_groups(columns):
        yield box
        return
    whole = {column.first + k for column in columns if column.kind != "number" for k in range(len(column.features))}
    stack = [box]
    while stack:
        piece = stack.pop()
        code = records.code()
        if code == PIECE:
            yield piece
        elif code == DIVIDE:
            (feature,), (last,) = records.refs(1), records.numbers(1)
            records.meter.spend(10 * len(box.lo))
            stack += _parts(piece, feature, last, whole)
            if len(stack) * len(box.lo) > MOST_WAITING:
                raise CertificateError("too many boxes wait to be looked at: a box is divided too often")
        else:
            raise CertificateError(f"a piece or a division was expected, got code {code}")


def _parts(box: Body, feature: int, last: float, whole: set[int]) -> list[Body]:
    """Both parts of a box, the lower one last: it is looked at first."""
    if feature not in whole or not last.is_integer():
        raise CertificateError(f"a box may not be divided at {last} of feature {feature}")
    end = Fraction(last)
    low, high = box.lo[feature], box.hi[feature]
    if (low is not None and end < low) or (high is not None and end >= high):
        raise CertificateError(f"a division at {last} does not divide the box")
    return [Body(_with(box.lo, feature, end + 1), box.hi), Body(box.lo, _with(box.hi, feature, end))]


def _with(sides: Open, feature: int, end: Fraction) -> Open:
    return [*sides[:feature], end, *sides[feature + 1 :]]
