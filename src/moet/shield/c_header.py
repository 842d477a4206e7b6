"""A shield as one header for C99 and C++11: no allocation, no library, the same decisions to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.export.c_parts import INDENT, UNFIT, array, check_name, exactly, integer, number, string, unfused
from moet.export.c_self_test import integers
from moet.export.c_self_test import self_test as write_self_test
from moet.export.vectors import COUNT
from moet.model.file import digest
from moet.shield.c_functions import ALL_BELOW, CONDITIONS, FUNCTIONS
from moet.shield.goals import GoalShield
from moet.shield.kernel import Tables
from moet.shield.program import Operation
from moet.shield.shield import Shield


def c(shield: Shield | GoalShield, *, name: str = "shield", self_test: bool = False) -> str:
    """Write a shield as a header for C99 and C++11.

    It defines ``int NAME_act(const double x[], int wanted)``, the number of the action to take in the state that is
    seen as ``x``, and ``int NAME_steps_ahead(const double x[], int action)``, positive if the action is allowed. Both
    are those of the :class:`Shield` for every input, whatever the compiler's options for fused operations; ``act`` is
    -1 where ``x`` is not finite or ``wanted`` is no action. The digests of policy and system stand at its head. Of a
    shield for a goal ``act`` has one argument more, ``int left``, the number of steps that are left.

    Parameters
    ----------
    shield : Shield or GoalShield
    name : str
        Beginning of every name that the header defines.
    self_test : bool
        Whether to add ``int NAME_self_test(void)``, which tries the compiled shield on 64 states and wishes and returns
        0 if all decisions are the shield's.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> from moet.shield import Shield
    >>> from moet.verify import safe, systems
    >>> tank = systems.AffineSystem(
    ...     "tank", states=["level"], actions=["drain", "fill"], matrix=[["0.9"]], offsets=[["0"], ["0.5"]],
    ...     initial={"level": (1, 2)}, safe=["0.5 <= level <= 4"],
    ... )
    >>> leaves = [Tree.leaf([0, 1]), Tree.leaf([1, 0])]
    >>> valve = Mixture([[-1], [0]], [2, 0], leaves, ["drain", "fill"], feature_names=["level"])
    >>> from moet.shield import c
    >>> shield = Shield(safe(valve, tank, steps=None).certificate, valve, tank)
    >>> "int shield_act(" in c(shield)
    True
    """
    check_name(name)
    t = shield.tables
    kept, all_below = (CONDITIONS, ALL_BELOW) if len(t.safe_rows) else ("", "")
    is_for_goal = isinstance(shield, GoalShield)
    functions = (
        FUNCTIONS.replace("CONDITIONS_KEPT", kept)
        .replace("OTHER_PRODUCTS", _other_products(len(t.outputs)))
        .replace("LEFT_TOO", ", int left" if is_for_goal else "")
        .replace("MOST_STEPS", "left" if is_for_goal else "@ERRORS@ - 1")
        .replace("ALL_BELOW", all_below)
        .replace("EXACT", exactly(name))
        .replace("NAME", name)
    )
    test = _self_test(shield, name) if self_test else ""
    text = "\n".join(
        [_head(shield, name), unfused(name), _numbers(t, name), _step(t, name), functions, test, "#endif\n"]
    )
    for key, value in _sizes(t).items():
        text = text.replace(f"@{key}@", str(value))
    return text


def _self_test(shield: Shield | GoalShield, name: str) -> str:
    """States in the box and a little beyond, with every action in turn."""
    rng, t = np.random.default_rng(0), shield.tables
    states = rng.uniform(1.1 * t.bottom, 1.1 * t.top, (COUNT, len(t.bottom))) * rng.choice([0.1, 0.5, 1.0], (COUNT, 1))
    wanted = np.arange(COUNT) % len(shield.system.actions)
    ahead = [shield.steps_ahead(x, int(a)) for x, a in zip(states, wanted, strict=True)]
    tables, act = [integers("wanted", wanted.tolist()), integers("ahead", ahead)], f"{name}_act(x, wanted[i])"
    if isinstance(shield, GoalShield):
        left = rng.integers(0, shield.within + 1, COUNT)
        taken = shield.act_many(states, wanted, left)
        tables, act = [*tables, integers("left", left.tolist())], f"{name}_act(x, wanted[i], left[i])"
    else:
        taken = shield.act_many(states, wanted)
    wrong = f"""\
if ({act} != taken[i] || {name}_steps_ahead(x, wanted[i]) != ahead[i]) {{
    return i + 1;
}}"""
    return write_self_test(name, "double", states.tolist(), [*tables, integers("taken", taken.tolist())], wrong)


def _sizes(t: Tables) -> dict[str, int]:
    return {
        "STATES": len(t.outputs),
        "ACTIONS": len(t.inputs),
        "EXPERTS": len(t.gate),
        "ERRORS": len(t.errors),
        "ROWS": len(t.rows),
        "CELLS": len(t.limits),
        "CONDITIONS": len(t.safe_rows),
    }


def _head(shield: Shield | GoalShield, name: str) -> str:
    prefix = name.upper()
    states = [f" * x[{k}]  {string(state)}\n" for k, state in enumerate(shield.system.states)]
    actions = [f" * {k}  {string(action)}\n" for k, action in enumerate(shield.system.actions)]
    root = "#include <math.h>\n" if Operation.ROOT in shield.tables.code[:, 0] else ""
    what, the_set, left, when, within = "stays in its safe set for ever", "proved set", "", "", ""
    if isinstance(shield, GoalShield):
        what, the_set = f"gets to its goal within {shield.within} steps", "goal"
        left, when = ", int left", ", with so many steps left"
        within = f"\n#define {prefix}_WITHIN {shield.within}"
    return f"""\
/* A shield: whatever is wanted, the system {string(shield.system.name)} {what}.
 *
 * policy {digest(shield.policy)}
 * system {shield.system.digest}
 * proof  {shield.digest}
 *
 * int {name}_act(const double x[@STATES@], int wanted{left})
 *     action to take where x is seen{when}; -1 if x is not finite, or there is no such action
 * int {name}_steps_ahead(const double x[@STATES@], int action)
 *     steps after which the state is surely in the {the_set}; 0 if that is not sure
 *
{"".join(states)}{"".join(actions)} */
#ifndef {prefix}_H
#define {prefix}_H

#include <float.h>
#include <stdint.h>
{root}
#if {UNFIT}
#error "this shield needs 64-bit doubles, rounded after every operation"
#endif

/* SHA-256 of what was proved, of which system, and of the proof */
#define {prefix}_POLICY "{digest(shield.policy)}"
#define {prefix}_SYSTEM "{shield.system.digest}"
#define {prefix}_PROOF "{shield.digest}"{within}
"""


def _numbers(t: Tables, name: str) -> str:
    """All numbers of the certificate and the policy."""
    lines = [
        _table(f"{name}_{key}", getattr(t, key))
        for key in ("sines", "cosines", "bottom", "top", "shape", "errors", "rows", "spreads", "limits", "most")
    ]
    lines += [_table(f"{name}_{key}", getattr(t, key)) for key in ("gate", "gate_spreads", "gate_errors")]
    if len(t.safe_rows):
        lines += [_table(f"{name}_{key}", getattr(t, key)) for key in ("safe_rows", "safe_spreads", "safe_limits")]
    finite = np.where(np.isfinite(t.threshold), t.threshold, 0.0)
    lines += [_table(f"{name}_threshold", finite), _table(f"{name}_roots", t.roots)]
    lines += [_table(f"{name}_nodes", t.nodes), _table(f"{name}_actions", t.actions)]
    return "\n".join(lines) + "\n"


def _table(name: str, values: NDArray[Any]) -> str:
    shape = "".join(f"[{max(size, 1)}]" for size in values.shape)
    if values.dtype == np.float64:
        kind, write = "double", lambda value: number(float(value), "double")
    else:
        kind, write = integer(int(values.min()), int(values.max()) + 1), lambda value: str(int(value))
    if values.size == 0:
        return array(f"{kind} {name}{shape}", "0")
    if values.ndim == 1:
        return array(f"{kind} {name}{shape}", ", ".join(map(write, values)))
    return array(f"{kind} {name}{shape}", *(f"{{{', '.join(map(write, row))}}}," for row in values))


def _other_products(n_states: int) -> str:
    """Lines that add all products of a row but the first: compilers unroll no loop at -O2."""
    return "".join(f"\n{INDENT}value += NAME_times(row[{k}], z[{k}]);" for k in range(1, n_states))


def _step(t: Tables, name: str) -> str:
    """The equations, one line per operation."""
    n_states, n_inputs = len(t.outputs), t.inputs.shape[1]
    registers = [f"z[{k}]" for k in range(n_states)]
    registers += [f"input{k}" for k in range(n_inputs)]
    registers += [number(value, "double") for value in t.constants.tolist()]
    lines = [f"const double input{k} = {_of_action(values)};" for k, values in enumerate(t.inputs.T.tolist())]
    for operation, *arguments in t.code.tolist():
        lines.append(
            f"const double r{len(registers)} = {_operation(operation, [registers[i] for i in arguments], name)};"
        )
        registers.append(f"r{len(registers)}")
    # all next states are computed before the first is overwritten
    lines += [f"const double next{k} = {registers[place]};" for k, place in enumerate(t.outputs.tolist())]
    lines += [f"z[{k}] = next{k};" for k in range(n_states)]
    body = "\n".join(INDENT + line for line in [exactly(name), "(void)action;", *lines])
    return f"""\
static inline double {name}_polynomial(const double coefficients[], double q)
{{
    {exactly(name)}
    double value = coefficients[{len(t.sines) - 1}];
    for (int k = {len(t.sines) - 2}; k >= 0; k--) {{
        value = {name}_times(value, q) + coefficients[k];
    }}
    return value;
}}

static inline void {name}_step(double z[@STATES@], int action)
{{
{body}
}}
"""


def _of_action(values: list[float]) -> str:
    """An input by action: processors foresee a branch, and wait for what stands in a table."""
    choices = "".join(f"action == {k} ? {number(value, 'double')} : " for k, value in enumerate(values[:-1]))
    return choices + number(values[-1], "double")


def _operation(operation: int, a: list[str], name: str) -> str:
    match operation:
        case Operation.ADD:
            return f"{a[0]} + {a[1]}"
        case Operation.SUBTRACT:
            return f"{a[0]} - {a[1]}"
        case Operation.MULTIPLY:
            return f"{name}_times({a[0]}, {a[1]})"
        case Operation.DIVIDE:
            return f"{a[0]} / {a[1]}"
        case Operation.NEGATE:
            return f"-{a[0]}"
        case Operation.SINE:
            return f"{name}_times({a[0]}, {name}_polynomial({name}_sines, {name}_times({a[0]}, {a[0]})))"
        case Operation.COSINE:
            return f"{name}_polynomial({name}_cosines, {name}_times({a[0]}, {a[0]}))"
        case Operation.ROOT:
            return f"sqrt({a[0]})"
        case Operation.ABSOLUTE:
            return f"{a[0]} < 0.0 ? -{a[0]} : {a[0]}"
        case Operation.LESSER:
            return f"{a[1]} < {a[0]} ? {a[1]} : {a[0]}"
        case Operation.LARGER:
            return f"{a[1]} > {a[0]} ? {a[1]} : {a[0]}"
        case _:
            return f"{a[0]} <= {a[1]} ? {a[2]} : {a[3]}"
