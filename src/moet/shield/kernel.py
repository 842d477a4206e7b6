"""The compiled decision of a shield: follow an estimate of the state, action by action, until it is in the set.

Everything is float64 without fused multiply-add, in the order written here; C does the same to the bit. A comparison
with NaN is false, and every test is written so that this means no.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from moet.jit import INLINED, OPTIONS

Floats = NDArray[np.float64]


class Tables(NamedTuple):
    """All numbers of a shield: the program of a step, the margins, the set, and the policy."""

    code: NDArray[np.int64]
    constants: Floats
    inputs: Floats
    outputs: NDArray[np.int64]
    sines: Floats
    cosines: Floats
    bottom: Floats
    top: Floats
    shape: Floats
    errors: Floats
    rows: Floats
    spreads: Floats
    limits: Floats
    most: Floats
    safe_rows: Floats
    safe_spreads: Floats
    safe_limits: Floats
    gate: Floats
    roots: NDArray[np.int32]
    nodes: NDArray[np.int32]
    threshold: Floats
    actions: NDArray[np.int64]
    gate_spreads: Floats
    gate_errors: Floats


class Packed(NamedTuple):
    """The same numbers in two arrays: to hand over two dozen of them takes ten times as long as to decide.

    ``ints`` begins with three numbers for every table: where it begins in its array, its rows and its columns.
    """

    floats: Floats
    ints: NDArray[np.int64]


def packed(tables: Tables) -> Packed:
    """Put all numbers of a shield into two arrays."""
    floats: list[NDArray[Any]] = []
    ints: list[NDArray[Any]] = []
    head: list[int] = []
    size = {True: 0, False: 3 * len(tables)}
    for table in tables:
        is_float = table.dtype == np.float64
        head += [size[is_float], *(*table.shape, 1)[:2]]
        (floats if is_float else ints).append(table.ravel())
        size[is_float] += table.size
    return Packed(np.concatenate(floats), np.concatenate([head, *ints]).astype(np.int64))


CODE, CONSTANTS, INPUTS, OUTPUTS, SINES, COSINES, BOTTOM, TOP, SHAPE, ERRORS, ROWS, SPREADS, LIMITS, MOST = range(14)
SAFE_ROWS, SAFE_SPREADS, SAFE_LIMITS, GATE, ROOTS, NODES, THRESHOLD, ACTIONS, GATE_SPREADS, GATE_ERRORS = range(14, 24)
"""Numbers of the tables."""


@njit(**OPTIONS)
def decide(x: Any, wanted: int, left: int, floats: Any, ints: Any) -> int:
    """The wanted action if it is allowed, else the policy's; -1 if that has no answer because x is not finite.

    Allowed is what surely leads into the set in so many steps.

    What the policy itself would do is taken in either case, so then nothing has to be followed.
    """
    for k in range(len(x)):
        if not math.isfinite(x[k]):
            return -1
    own = policy_action(x, floats, ints)
    if own == wanted or steps_to_set(x, wanted, left, floats, ints) > 0:
        return wanted
    return own


@njit(**OPTIONS)
def decide_rows(X: Any, wanted: Any, left: Any, taken: Any, floats: Any, ints: Any) -> None:
    """The same for many states."""
    for i in range(len(X)):
        taken[i] = decide(X[i], wanted[i], left[i], floats, ints)


@njit(**OPTIONS)
def steps_to_set(x: Any, action: int, most: int, floats: Any, ints: Any) -> int:
    """Steps after which the state is surely in the set: this action first, then the policy.

    It is 0 if that is not sure, or takes more than ``most`` steps.
    """
    f, n = floats, ints
    first_error = f[n[3 * ERRORS]]
    if not _within(x, first_error, f, n):
        return 0
    z, registers, logits = x.copy(), np.empty(_n_registers(n)), np.empty(n[3 * GATE + 1])
    _load_constants(registers, f, n)
    failed = 0
    error = first_error
    for k in range(1, min(n[3 * ERRORS + 1], most + 1)):
        if k > 1:
            action = _sure_action(z, error + first_error, logits, f, n)
            if action < 0:
                return 0
        _step(z, action, registers, f, n)
        error = f[n[3 * ERRORS] + k]
        if not (_within(z, error, f, n) and _keeps_conditions(z, error, f, n)):
            return 0
        failed = _first_beyond(z, error, failed, f, n)
        if failed < 0:
            return k
    return 0


@njit(**OPTIONS)
def surely_in_set(x: Any, floats: Any, ints: Any) -> bool:
    """Whether the state that is seen as x is surely in the set."""
    f, n = floats, ints
    error = f[n[3 * ERRORS]]
    if not (_within(x, error, f, n) and _keeps_conditions(x, error, f, n)):
        return False
    return _first_beyond(x, error, 0, f, n) < 0


@njit(**OPTIONS)
def explained(x: Any, action: int, after: Any, floats: Any, ints: Any) -> bool:
    """Whether a state that is seen as x may lead to one that is seen as ``after``."""
    f, n = floats, ints
    z, registers = x.copy(), np.empty(_n_registers(n))
    _load_constants(registers, f, n)
    _step(z, action, registers, f, n)
    error = f[n[3 * ERRORS] + 1] + f[n[3 * ERRORS]]
    for k in range(len(z)):
        gap = after[k] - z[k]
        reach = error * f[n[3 * SHAPE] + k]
        if not (gap <= reach and -gap <= reach):
            return False
    return True


@njit(**INLINED)
def _n_registers(n: Any) -> int:
    """Registers of a program."""
    return n[3 * OUTPUTS + 1] + n[3 * INPUTS + 2] + n[3 * CONSTANTS + 1] + n[3 * CODE + 1]


@njit(**INLINED)
def _load_constants(registers: Any, f: Any, n: Any) -> None:
    """Put the constants of a program in their places, which no step changes."""
    first = n[3 * OUTPUTS + 1] + n[3 * INPUTS + 2]
    for k in range(n[3 * CONSTANTS + 1]):
        registers[first + k] = f[n[3 * CONSTANTS] + k]


@njit(**INLINED)
def _within(z: Any, error: float, f: Any, n: Any) -> bool:
    """Whether all states that are so close are in the box."""
    bottom, top, shape = n[3 * BOTTOM], n[3 * TOP], n[3 * SHAPE]
    for i in range(len(z)):
        reach = error * f[shape + i]
        if not (z[i] - f[bottom + i] >= reach and f[top + i] - z[i] >= reach):
            return False
    return True


@njit(**INLINED)
def _keeps_conditions(z: Any, error: float, f: Any, n: Any) -> bool:
    """Whether all states that are so close keep the conditions of several states."""
    for i in range(n[3 * SAFE_ROWS + 1]):
        if not _below(z, error, i, f, n[3 * SAFE_ROWS], n[3 * SAFE_SPREADS], n[3 * SAFE_LIMITS]):
            return False
    return True


@njit(**INLINED)
def _first_beyond(z: Any, error: float, before: int, f: Any, n: Any) -> int:
    """A row that says no, -1 if all states that are so close are in one of the polytopes.

    ``before`` is the row of the step before: if it says no of all polytopes, mostly it does so again a step later.
    """
    rows, spreads, limits, most = n[3 * ROWS], n[3 * SPREADS], n[3 * LIMITS], n[3 * MOST]
    n_rows = n[3 * ROWS + 1]
    if not _below(z, error, before, f, rows, spreads, most):
        return before
    for _ in range(n[3 * LIMITS + 1]):
        i = 0
        while i < n_rows and _below(z, error, i, f, rows, spreads, limits):
            i += 1
        if i == n_rows:
            return -1
        if not _below(z, error, i, f, rows, spreads, most):
            return i
        limits += n_rows
    return before


@njit(**INLINED)
def _below(z: Any, error: float, i: int, f: Any, rows: int, spreads: int, limits: int) -> bool:
    """Whether all states that are so close are below one limit."""
    row = rows + i * len(z)
    value = f[row] * z[0]
    for k in range(1, len(z)):
        value += f[row + k] * z[k]
    return value + error * f[spreads + i] <= f[limits + i]


@njit(**INLINED)
def _logits(z: Any, logits: Any, f: Any, n: Any) -> int:
    """Fill in the logits of the gate, and return the expert that is ahead."""
    gate, width = n[3 * GATE], n[3 * GATE + 2]
    best = 0
    for j in range(n[3 * GATE + 1]):
        logit = f[gate + j * width]
        for k in range(width - 1):
            logit += f[gate + j * width + k + 1] * z[k]
        logits[j] = logit
        if logit > logits[best]:
            best = j
    return best


@njit(**OPTIONS)
def policy_action(x: Any, f: Any, n: Any) -> int:
    """Action of the policy where this is seen."""
    node = n[n[3 * ROOTS] + _logits(x, np.empty(n[3 * GATE + 1]), f, n)]
    nodes, threshold = n[3 * NODES], n[3 * THRESHOLD]
    while n[nodes + 3 * node + 1] != node:
        goes_left = x[n[nodes + 3 * node]] <= f[threshold + node]
        node = n[nodes + 3 * node + (1 if goes_left else 2)]
    return n[n[3 * ACTIONS] + node]


@njit(**INLINED)
def _sure_action(z: Any, error: float, logits: Any, f: Any, n: Any) -> int:
    """Action of the policy wherever the state is within the errors, and whatever is seen of it; -1 if not sure."""
    best = _logits(z, logits, f, n)
    n_experts = n[3 * GATE + 1]
    spreads, errors = n[3 * GATE_SPREADS] + best * n_experts, n[3 * GATE_ERRORS] + best * n_experts
    for j in range(n_experts):
        if j != best and not logits[best] - logits[j] > error * f[spreads + j] + f[errors + j]:
            return -1
    node, nodes = n[n[3 * ROOTS] + best], n[3 * NODES]
    while n[nodes + 3 * node + 1] != node:
        feature = n[nodes + 3 * node]
        gap = z[feature] - f[n[3 * THRESHOLD] + node]
        reach = error * f[n[3 * SHAPE] + feature]
        if gap > reach:
            node = n[nodes + 3 * node + 2]
        elif -gap > reach:
            node = n[nodes + 3 * node + 1]
        else:
            return -1
    return n[n[3 * ACTIONS] + node]


@njit(**INLINED)
def _step(z: Any, action: int, registers: Any, f: Any, n: Any) -> None:
    """Replace a state by the next one."""
    n_states, n_inputs = n[3 * OUTPUTS + 1], n[3 * INPUTS + 2]
    first, code, n_lines = n_states + n_inputs + n[3 * CONSTANTS + 1], n[3 * CODE], n[3 * CODE + 1]
    for k in range(n_states):
        registers[k] = z[k]
    for k in range(n_inputs):
        registers[n_states + k] = f[n[3 * INPUTS] + action * n_inputs + k]
    for line in range(n_lines):
        registers[first + line] = _result(code + 5 * line, registers, f, n)
    for k in range(n_states):
        z[k] = registers[n[n[3 * OUTPUTS] + k]]


@njit(**INLINED)
def _result(line: int, registers: Any, f: Any, n: Any) -> float:
    """One line of the program; numbers of operations are those of :class:`moet.shield.program.Operation`."""
    operation, a, b = n[line], registers[n[line + 1]], registers[n[line + 2]]
    if operation == 0:
        return a + b
    if operation == 1:
        return a - b
    if operation == 2:
        return a * b
    if operation == 3:
        return a / b
    if operation == 4:
        return -a
    if operation == 5:
        return a * _polynomial(f, n[3 * SINES], n[3 * SINES + 1], a * a)
    if operation == 6:
        return _polynomial(f, n[3 * COSINES], n[3 * COSINES + 1], a * a)
    if operation == 7:
        return math.sqrt(a)
    if operation == 8:
        return -a if a < 0.0 else a
    if operation == 9:
        return b if b < a else a
    if operation == 10:
        return b if b > a else a
    return registers[n[line + 3]] if a <= b else registers[n[line + 4]]


@njit(**INLINED)
def _polynomial(f: Any, start: int, terms: int, q: float) -> float:
    value = f[start + terms - 1]
    for k in range(terms - 2, -1, -1):
        value = value * q + f[start + k]
    return value
