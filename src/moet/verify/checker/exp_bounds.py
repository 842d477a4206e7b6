"""Bounds of the exponential function in fixed-point arithmetic, with integers alone. Standard library only."""

from __future__ import annotations

BITS = 96
"""Numbers are integers in units of 2^-BITS."""

LARGEST = 2000 << BITS
"""Arguments up to this are taken."""

_GUARD = 32
_WORK = BITS + _GUARD
_ONE = 1 << _WORK


def _natural_logarithm_of_two() -> int:
    """Σ 1 / (n·2ⁿ), rounded down to the working precision."""
    extra = 64  # for what rounding each term down loses
    return sum((1 << (_WORK + extra - n)) // n for n in range(1, _WORK + extra)) >> extra


_LN2 = _natural_logarithm_of_two()


def exponential(z: int) -> tuple[int, int]:
    """Lower and upper bound of exp(z), all in units of 2^-BITS.

    z = k·ln 2 + r with 0 <= r < ln 2 + 2^-BITS; exp(r) is its Taylor series. Rounding a term down loses at most two
    units, there are fewer than 60 terms until they vanish, and what is left out is less than the last; the error of
    ln 2, at most one unit of the working precision, counts k times, and exp(r) grows by less than 2.1 per unit.

    Examples
    --------
    >>> low, high = exponential(1 << BITS)
    >>> low / 2**BITS, high - low
    (2.718281828459045, 1)
    """
    if z < -(100 << BITS):
        return 0, 1  # exp(-100) < 2^-144
    k, r = divmod(z << _GUARD, _LN2)
    term = total = _ONE
    n = 1
    while term:
        term = (term * r >> _WORK) // n
        total += term
        n += 1
    doubt = 3 * (abs(k) + 2)
    return _scaled(total - doubt, k), -_scaled(-(total + 256 + doubt), k)


def _scaled(value: int, k: int) -> int:
    """value·2^k from the working precision to that of the results, rounded down."""
    return value << (k - _GUARD) if k >= _GUARD else value >> (_GUARD - k)
