"""A way to ask z3."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from moet.errors import InputError
from moet.verify.result import Proved, Refuted, Unknown


def solve(text: str, timeout: float | None = None) -> Proved | Refuted | Unknown:
    """Ask z3, which must be installed (``pip install z3-solver``).

    Returns
    -------
    Proved
        Without a certificate: z3 says *unsat*.
    Refuted
        z3 says *sat*; ``point`` holds its values of the inputs (or first states), rounded to float64.
    Unknown
        Anything else, a time limit above all.
    """
    try:
        import z3
    except ImportError:
        raise InputError("z3 is not installed: pip install z3-solver") from None
    context = z3.Context()
    solver = z3.Optimize(ctx=context) if "(minimize " in text else z3.Solver(ctx=context)
    if timeout is not None:
        solver.set("timeout", max(10, round(1000 * timeout)))  # in ms; z3 may miss one that ends before it starts
    solver.from_string(text)
    verdict = solver.check()
    if verdict == z3.unsat:
        return Proved()
    if verdict != z3.sat:
        return Unknown(reason=f"z3 says unknown: {solver.reason_unknown()}")
    values = solver.model()
    point: list[float] = []
    while f"(declare-const x{len(point)} Real)" in text:
        value = values.eval(z3.Real(f"x{len(point)}", context), model_completion=True)
        point.append(float(Fraction(value.numerator_as_long(), value.denominator_as_long())))
    return Refuted(point=np.array(point))
