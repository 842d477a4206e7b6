"""A shield for controls as one C99 header: no allocation, no library, the same decisions to the bit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from moet.export.c_parts import UNFIT, array, check_name, number, string, unfused
from moet.export.c_self_test import integers, numbers
from moet.export.c_self_test import self_test as write_self_test
from moet.export.vectors import COUNT
from moet.model.file import digest
from moet.shield.control_kernel import SHORTER
from moet.shield.controls import ControlShield


def control_c(shield: ControlShield, *, name: str = "shield", self_test: bool = False) -> str:
    """Write a shield for controls as a C99 header.

    It defines ``int NAME_act(const double x[], const double wanted[], double taken[])``, which writes the controls to
    take in the state that is seen as ``x``, and ``int NAME_allows(const double x[], const double controls[])``. Both
    are those of the :class:`ControlShield` for every input, whatever the compiler's options for fused operations;
    ``act`` is 0 if the wanted controls were taken, 1 if others were, and -1, with nothing written, where ``x`` is not
    finite or a wanted control is no number. The digests of policy and system stand at its head.

    Parameters
    ----------
    shield : ControlShield
    name : str
        Beginning of every name that the header defines.
    self_test : bool
        Whether to add ``int NAME_self_test(void)``, which tries the compiled shield on 64 states and wishes and returns
        0 if all decisions are the shield's.
    """
    check_name(name)
    t = shield.tables
    tables = "\n".join(_table(f"{name}_{key}", values) for key, values in t._asdict().items())
    test = _self_test(shield, name) if self_test else ""
    text = "\n".join([_head(shield, name), unfused(name), tables, _FUNCTIONS.replace("NAME", name), test, "#endif\n"])
    sizes = {"TESTS": len(t.limits), "STATES": shield.system.n_states, "CONTROLS": len(t.low)}
    for key, value in sizes.items():
        text = text.replace(f"@{key}@", str(value))
    return text.replace("@SHORTER@", number(SHORTER, "double"))


def _self_test(shield: ControlShield, name: str) -> str:
    """States in the box of the proof and a little beyond, with wishes within the actuators' limits and beyond."""
    rng, t = np.random.default_rng(0), shield.tables
    low, high = np.array([[float(Fraction(end)) for end in side] for side in shield.certificate.claim["box"]]).T
    states = rng.uniform(low, high, (COUNT, len(low))) * rng.choice([0.1, 0.5, 1.1], (COUNT, 1))
    wanted = rng.uniform(1.5 * t.low, 1.5 * t.high, (COUNT, len(t.low)))
    taken = shield.act_many(states, wanted)
    replaced = (taken != wanted.clip(t.low, t.high)).any(axis=1).astype(int).tolist()
    tables = [numbers("double", key, rows.tolist()) for key, rows in (("wanted", wanted), ("taken", taken))]
    tables.append(integers("replaced", replaced))
    wrong = f"""\
double done[@CONTROLS@] = {{0.0}};
int differs = {name}_act(x, wanted[i], done) != replaced[i];
for (int k = 0; k < @CONTROLS@; k++) {{
    differs |= done[k] != taken[i][k];
}}
if (differs) {{
    return i + 1;
}}"""
    return write_self_test(name, "double", states.tolist(), tables, wrong)


def _table(name: str, values: NDArray[np.float64]) -> str:
    shape = "".join(f"[{size}]" for size in values.shape)
    if values.ndim == 1:
        return array(f"double {name}{shape}", ", ".join(number(value, "double") for value in values.tolist()))
    rows = (", ".join(number(value, "double") for value in row) for row in values.tolist())
    return array(f"double {name}{shape}", *(f"{{{row}}}," for row in rows))


def _head(shield: ControlShield, name: str) -> str:
    prefix = name.upper()
    states = [f" * x[{k}]  {string(state)}\n" for k, state in enumerate(shield.system.states)]
    controls = [f" * wanted[{k}], taken[{k}]  {string(control)}\n" for k, control in enumerate(shield.system.controls)]
    return f"""\
/* A shield: whatever is wanted, the system {string(shield.system.name)} stays in its safe set for ever.
 *
 * policy {digest(shield.policy)}
 * system {shield.system.digest}
 * proof  {shield.digest}
 *
 * int {name}_act(const double x[@STATES@], const double wanted[@CONTROLS@], double taken[@CONTROLS@])
 *     writes the controls to take where x is seen: 0 those that are wanted, 1 others, -1 if x or wanted is no number
 * int {name}_allows(const double x[@STATES@], const double controls[@CONTROLS@])
 *     whether controls within the limits of the actuators may be taken
 *
{"".join(states)}{"".join(controls)} */
#ifndef {prefix}_H
#define {prefix}_H

#include <float.h>
#include <stdint.h>

#if {UNFIT}
#error "this shield needs 64-bit doubles, rounded after every operation"
#endif
"""


_FUNCTIONS = """\
static inline double NAME_value(const double test[], const double x[], const double u[])
{
    double value = NAME_times(test[0], x[0]);
    for (int k = 1; k < @STATES@; k++) {
        value += NAME_times(test[k], x[k]);
    }
    for (int k = 0; k < @CONTROLS@; k++) {
        value += NAME_times(test[@STATES@ + k], u[k]);
    }
    return value;
}

static inline double NAME_clip(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

static inline int NAME_allows(const double x[@STATES@], const double controls[@CONTROLS@])
{
    for (int i = 0; i < @TESTS@; i++) {
        if (!(NAME_value(NAME_tests[i], x, controls) <= NAME_limits[i])) {
            return 0;
        }
    }
    return 1;
}

static inline void NAME_policy(const double x[@STATES@], double own[@CONTROLS@])
{
    for (int o = 0; o < @CONTROLS@; o++) {
        double value = NAME_law[o][0];
        for (int k = 0; k < @STATES@; k++) {
            value += NAME_times(NAME_law[o][k + 1], x[k]);
        }
        own[o] = NAME_clip(value, NAME_law_low[o], NAME_law_high[o]);
    }
}

/* how far from the policy's controls to the wanted ones the tests allow to go; negative if nowhere */
static inline double NAME_share(const double x[@STATES@], const double wanted[@CONTROLS@], const double own[@CONTROLS@])
{
    double least = 0.0, most = 1.0;
    for (int i = 0; i < @TESTS@; i++) {
        const double start = NAME_value(NAME_tests[i], x, own);
        const double end = NAME_value(NAME_tests[i], x, wanted);
        const double room = NAME_limits[i] - start, slope = end - start;
        if (slope > room) {
            if (!(slope > 0.0)) {
                return -1.0;
            }
            const double share = NAME_times(room, @SHORTER@) / slope;
            most = share < most ? share : most;
        } else if (room < 0.0) {
            const double share = room / slope;
            least = share > least ? share : least;
        }
    }
    return least <= most ? most : -1.0;
}

static inline int NAME_act(
    const double x[@STATES@], const double wanted[@CONTROLS@], double taken[@CONTROLS@])
{
    double clipped[@CONTROLS@], own[@CONTROLS@];
    for (int k = 0; k < @STATES@; k++) {
        if (!(x[k] - x[k] == 0.0)) {
            return -1;
        }
    }
    for (int k = 0; k < @CONTROLS@; k++) {
        if (!(wanted[k] == wanted[k])) {
            return -1;
        }
    }
    for (int k = 0; k < @CONTROLS@; k++) {
        clipped[k] = NAME_clip(wanted[k], NAME_low[k], NAME_high[k]);
        taken[k] = clipped[k];
    }
    if (NAME_allows(x, taken)) {
        return 0;
    }
    NAME_policy(x, own);
    const double share = NAME_share(x, clipped, own);
    if (share >= 0.0) {
        for (int k = 0; k < @CONTROLS@; k++) {
            const double moved = own[k] + NAME_times(share, clipped[k] - own[k]);
            taken[k] = NAME_clip(moved, NAME_low[k], NAME_high[k]);
        }
        if (NAME_allows(x, taken)) {
            return 1;
        }
    }
    for (int k = 0; k < @CONTROLS@; k++) {
        taken[k] = own[k];
    }
    return 1;
}
"""
