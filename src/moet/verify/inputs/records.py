"""Records of a proof about single inputs, in the layout that :mod:`moet.verify.checker.inputs.proof` reads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from moet.verify.checker.certificate import Certificate

SPLIT, CUT, EXACT_CUT = 0, 1, 2
"""Codes: look at both children of this node; or: there is nothing here, by multipliers of these conditions.

After a CUT come, as references, the number of multipliers and what each is a multiplier of, and as numbers the
multipliers. After an EXACT_CUT each of these references is followed by an exponent, and the multiplier is
number·2^exponent. Multipliers of the same condition add up, so that these have as many digits as they need.
"""


def add_split(certificate: Certificate) -> None:
    """Record that a node is split."""
    certificate.add(bytes([SPLIT]))


def add_cut(certificate: Certificate, multipliers: Mapping[int, Fraction], names: Sequence[int]) -> None:
    """Record a cut with exact multipliers; row i is known to the checker as ``names[i]``."""
    common = math.lcm(*(value.denominator for value in multipliers.values()))
    parts = [(names[row], *part) for row, value in multipliers.items() for part in binary_parts(int(value * common))]
    refs = [len(parts), *(number for name, _, exponent in parts for number in (name, exponent))]
    certificate.add(bytes([EXACT_CUT]), np.array(refs, np.int32), np.array([mantissa for _, mantissa, _ in parts]))


def binary_parts(value: int) -> Iterator[tuple[float, int]]:
    """Split a positive integer into (mantissa, exponent), such that the mantissas times 2^exponent add up to it."""
    while value:
        exponent = max(value.bit_length() - 53, 0)
        leading = value >> exponent
        yield float(leading), exponent
        value -= leading << exponent
