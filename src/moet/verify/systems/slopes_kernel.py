"""What a matrix misses of a step, and how steep that is, on many boxes: compiled interval arithmetic.

The operations are those of :mod:`moet.verify.systems.intervals`, one box after the other and without derivatives that
are 0.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moet.jit import INLINED, INTERNAL, OPTIONS
from moet.verify.systems.intervals import SMALLEST, TANGENT_DOUBT, TEST_TOLERANCE, ULP, ULP_OF_ONE
from moet.verify.systems.tape import (
    ADD,
    CONSTANT,
    COSINE,
    DIVIDE,
    EXPONENTIAL,
    INPUT,
    LEAST,
    MULTIPLY,
    NEGATIVE,
    ROOT,
    SINE,
    SQUARE,
    SUBTRACT,
    TANGENT,
    VARIABLE,
    Tape,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Pair = tuple[float, float]

_INFINITE = np.inf
_STEEP = 1e200
"""To blame a variable along which a step is infinitely steep: more than others, and the more the wider it is."""


@njit(**INLINED)
def _outward(low: float, high: float) -> Pair:
    low, high = low - (abs(low) * ULP + SMALLEST), high + (abs(high) * ULP + SMALLEST)
    return (low if low == low else -_INFINITE), (high if high == high else _INFINITE)


@njit(**INLINED)
def _add(a: float, b: float, c: float, d: float) -> Pair:
    return _outward(a + c, b + d)


@njit(**INLINED)
def _subtract(a: float, b: float, c: float, d: float) -> Pair:
    return _outward(a - d, b - c)


@njit(**INLINED)
def _multiply(a: float, b: float, c: float, d: float) -> Pair:
    p, q, r, s = a * c, a * d, b * c, b * d
    if p != p or q != q or r != r or s != s:
        return -_INFINITE, _INFINITE
    least, most = (p, q) if p < q else (q, p)
    low, high = (r, s) if r < s else (s, r)
    return _outward(least if least < low else low, most if most > high else high)


@njit(**INTERNAL)
def _divide(a: float, b: float, c: float, d: float) -> Pair:
    if not (c > 0 or d < 0):
        return -_INFINITE, _INFINITE
    low, high = _outward(1 / d, 1 / c)
    return _multiply(a, b, low, high)


@njit(**INTERNAL)
def _square(a: float, b: float) -> Pair:
    p, q = a * a, b * b
    if p != p or q != q:
        return 0.0, _INFINITE
    low, high = _outward(0.0 if a <= 0 <= b else (p if p < q else q), p if p > q else q)
    return (low if low > 0.0 else 0.0), high


@njit(**INTERNAL)
def _may_hold_turn(a: float, b: float, phase: float) -> bool:
    tolerance = 1e-12 * (1 + (abs(a) if abs(a) > abs(b) else abs(b)))
    first = math.ceil((a - tolerance - phase) / math.tau)
    return not (first * math.tau + phase > b + tolerance)


@njit(**INTERNAL)
def _wave(p: float, q: float, a: float, b: float, phase: float) -> Pair:
    """Range of a wave that is highest at ``phase`` and has these values at both ends."""
    if a == b:
        return (p - ULP_OF_ONE if p > ULP_OF_ONE - 1 else -1.0), (p + ULP_OF_ONE if p < 1 - ULP_OF_ONE else 1.0)
    if not abs(a) + abs(b) < 1e15:
        return -1.0, 1.0
    low, high = (p, q) if p < q else (q, p)
    low, high = low - ULP_OF_ONE, high + ULP_OF_ONE
    if low < -1.0 or _may_hold_turn(a, b, phase - math.pi):
        low = -1.0
    if high > 1.0 or _may_hold_turn(a, b, phase):
        high = 1.0
    return low, high


@njit(**INTERNAL)
def _sine(a: float, b: float) -> Pair:
    p = math.sin(a)
    return _wave(p, p if a == b else math.sin(b), a, b, math.pi / 2)


@njit(**INTERNAL)
def _cosine(a: float, b: float) -> Pair:
    p = math.cos(a)
    return _wave(p, p if a == b else math.cos(b), a, b, 0.0)


@njit(**INTERNAL)
def _tangent(a: float, b: float) -> Pair:
    if not abs(a) + abs(b) < 1e15 or _may_hold_turn(a, b, math.pi / 2) or _may_hold_turn(a, b, -math.pi / 2):
        return -_INFINITE, _INFINITE
    low, high = math.tan(a), math.tan(b)
    less = TANGENT_DOUBT * (1 + low**2) * (1 + abs(a))
    more = TANGENT_DOUBT * (1 + high**2) * (1 + abs(b))
    return _outward(low - less, high + more)


@njit(**INTERNAL)
def _exponential(a: float, b: float) -> Pair:
    low, high = _outward(math.exp(a) * (1 - ULP_OF_ONE), math.exp(b) * (1 + ULP_OF_ONE))
    return (low if low > 0.0 else 0.0), high


@njit(**INTERNAL)
def _root(a: float, b: float) -> Pair:
    if not a >= 0:
        return -_INFINITE, _INFINITE
    return _outward(math.sqrt(a), math.sqrt(b))


@njit(**INLINED)
def _value(code: int, x: Pair, y: Pair) -> Pair:
    """Result of an operation of one or two numbers."""
    a, b = x
    c, d = y
    if code == ADD:
        return _add(a, b, c, d)
    if code == SUBTRACT:
        return _subtract(a, b, c, d)
    if code == MULTIPLY:
        return _multiply(a, b, c, d)
    if code == DIVIDE:
        return _divide(a, b, c, d)
    if code == NEGATIVE:
        return -b, -a
    if code == SQUARE:
        return _square(a, b)
    if code == SINE:
        return _sine(a, b)
    if code == COSINE:
        return _cosine(a, b)
    if code == TANGENT:
        return _tangent(a, b)
    if code == EXPONENTIAL:
        return _exponential(a, b)
    if code == ROOT:
        return _root(a, b)
    return (a if a < c else c), (b if b < d else d)  # the lesser


@njit(**INTERNAL)
def _chosen(values: Floats, places: Ints) -> int:
    """Which side of a comparison is taken: 1, -1, or 0 if that cannot be told."""
    low, high = _subtract(values[places[0], 0], values[places[0], 1], values[places[1], 0], values[places[1], 1])
    if high < -TEST_TOLERANCE:
        return 1
    return -1 if low > TEST_TOLERANCE else 0


@njit(**INTERNAL)
def _evaluate(tape: Tape, action: int, low: Floats, high: Floats, values: Floats) -> None:
    """All numbers of a tape on one box."""
    for k in range(len(tape.codes)):
        code, places = tape.codes[k], tape.arguments[k]
        if code == VARIABLE:
            values[k, 0], values[k, 1] = low[places[0]], high[places[0]]
        elif code == INPUT:
            values[k, 0], values[k, 1] = tape.inputs[action, places[0], 0], tape.inputs[action, places[0], 1]
        elif code == CONSTANT:
            values[k, 0], values[k, 1] = tape.constants[k, 0], tape.constants[k, 1]
        elif code <= LEAST:
            x, y = values[places[0]], values[places[1]]
            values[k, 0], values[k, 1] = _value(code, (x[0], x[1]), (y[0], y[1]))
        else:
            which = _chosen(values, places)
            then, other = values[places[2]], values[places[3]]
            values[k, 0], values[k, 1] = then[0], then[1]
            if which < 0 or (which == 0 and other[0] < then[0]):
                values[k, 0] = other[0]
            if which < 0 or (which == 0 and other[1] > then[1]):
                values[k, 1] = other[1]


@njit(**INTERNAL)
def _slope_of(code: int, x: Pair, result: Pair) -> Pair:
    """Derivative of a function of one number."""
    a, b = x
    if code == SQUARE:
        return _add(a, b, a, b)
    if code == SINE:
        return _cosine(a, b)
    if code == COSINE:
        low, high = _sine(a, b)
        return -high, -low
    if code == TANGENT:
        low, high = _square(result[0], result[1])
        return _add(1.0, 1.0, low, high)
    if code == EXPONENTIAL:
        return result
    low, high = _add(result[0], result[1], result[0], result[1])
    return _divide(1.0, 1.0, low, high)


@njit(**INTERNAL)
def _rates(tape: Tape, values: Floats, rates: Floats) -> None:
    """Derivatives of all numbers of a tape by all variables, which are 0 where nothing is said here."""
    n_variables = tape.uses.shape[1]
    for k in range(len(tape.codes)):
        code, places = tape.codes[k], tape.arguments[k]
        if code == INPUT or code == CONSTANT:
            continue
        if code == VARIABLE:
            rates[k, places[0], 0] = rates[k, places[0], 1] = 1.0
            continue
        i, slope = places[0], (0.0, 0.0)
        if SQUARE <= code <= ROOT:
            slope = _slope_of(code, (values[i, 0], values[i, 1]), (values[k, 0], values[k, 1]))
        for v in range(n_variables):
            if tape.uses[k, v]:
                rates[k, v, 0], rates[k, v, 1] = _rate(tape, code, places, k, v, slope, values, rates)


@njit(**INLINED)
def _rate(tape: Tape, code: int, places: Ints, k: int, v: int, slope: Pair, values: Floats, rates: Floats) -> Pair:
    i, j = places[0], places[1]
    p, q = rates[i, v, 0], rates[i, v, 1]
    if SQUARE <= code <= ROOT:
        return _multiply(slope[0], slope[1], p, q)
    if code == NEGATIVE:
        return -q, -p
    r, s = rates[j, v, 0], rates[j, v, 1]
    if code == ADD:
        return _add(p, q, r, s)
    if code == SUBTRACT:
        return _subtract(p, q, r, s)
    if code == MULTIPLY:
        a, b = _multiply(values[i, 0], values[i, 1], r, s) if tape.uses[j, v] else (0.0, 0.0)
        c, d = _multiply(values[j, 0], values[j, 1], p, q) if tape.uses[i, v] else (0.0, 0.0)
        return _add(a, b, c, d)
    if code == DIVIDE:
        a, b = _multiply(values[k, 0], values[k, 1], r, s) if tape.uses[j, v] else (0.0, 0.0)
        c, d = _subtract(p, q, a, b)
        return _divide(c, d, values[j, 0], values[j, 1])
    if code == LEAST:
        which = 1 if values[i, 1] <= values[j, 0] else (-1 if values[j, 1] <= values[i, 0] else 0)
        unknown = (p if p < r else r), (q if q > s else s)
    else:
        which, i, j = _chosen(values, places), places[2], places[3]
        unknown = (-_INFINITE, _INFINITE)
    if which == 0:
        return unknown
    one = i if which > 0 else j
    return rates[one, v, 0], rates[one, v, 1]


@njit(**OPTIONS)
def missed(
    tape: Tape, matrix: Floats, actions: Ints, bottom: Floats, top: Floats, bounds: Floats, middles: Floats
) -> Floats:
    """Bounds of what a matrix misses of a step on each box (a column each) and at its middle, in mean value form.

    Returns how much each variable is to blame for the width; where a step is infinitely steep, the widest.
    """
    n, n_boxes = bottom.shape
    size = len(tape.codes)
    values, centre, rates = np.empty((size, 2)), np.empty((size, 2)), np.zeros((size, n, 2))
    low, high, middle, blame = np.empty(n), np.empty(n), np.empty(n), np.zeros((n, n_boxes))
    for box in range(n_boxes):
        for v in range(n):
            low[v], high[v] = bottom[v, box], top[v, box]
            middle[v] = low[v] / 2 + high[v] / 2
        _evaluate(tape, actions[box], low, high, values)
        _evaluate(tape, actions[box], middle, middle, centre)
        _rates(tape, values, rates)
        for k in range(n):
            place = tape.results[k]
            natural, value = (values[place, 0], values[place, 1]), (centre[place, 0], centre[place, 1])
            for v in range(n):
                c = matrix[k, v]
                if c != 0:
                    a, b = _multiply(c, c, middle[v], middle[v])
                    value = _subtract(value[0], value[1], a, b)
                    a, b = _multiply(c, c, low[v], high[v])
                    natural = _subtract(natural[0], natural[1], a, b)
            middles[0, k, box], middles[1, k, box] = value
            for v in range(n):
                c = matrix[k, v]
                a, b = rates[place, v, 0], rates[place, v, 1]
                if (a == 0 and b == 0 and c == 0) or low[v] == middle[v] == high[v]:
                    continue
                a, b = _subtract(a, b, c, c)
                p, q = _subtract(low[v], high[v], middle[v], middle[v])
                a, b = _multiply(a, b, p, q)
                value = _add(value[0], value[1], a, b)
                width = b - a if b - a < _INFINITE else _STEEP * (high[v] - low[v])
                if width > blame[v, box]:
                    blame[v, box] = width
            bounds[0, k, box] = value[0] if value[0] > natural[0] else natural[0]
            bounds[1, k, box] = value[1] if value[1] < natural[1] else natural[1]
    return blame
