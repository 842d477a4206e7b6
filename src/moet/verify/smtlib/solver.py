"""A way to ask z3."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal, NamedTuple

from moet.errors import InputError


class Opinion(NamedTuple):
    """What z3 says. It is no verdict: nobody has checked it.

    Attributes
    ----------
    status : {"unsat", "sat", "unknown"}
        *unsat*: z3 finds that there is no counterexample; *sat*: that there is one.
    point : tuple of Fraction
        Values of the inputs (or first states) of the counterexample, exactly.
    reason : str
        Why it is unknown.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from moet.verify.smtlib import Opinion
    >>> Opinion("sat", (Fraction(1, 3),)).point
    (Fraction(1, 3),)
    """

    status: Literal["unsat", "sat", "unknown"]
    point: tuple[Fraction, ...] = ()
    reason: str = ""


def solve(text: str, timeout: float | None = None) -> Opinion:
    """Ask z3, which must be installed (``pip install z3-solver``).

    Parameters
    ----------
    text : str
        What the functions of :mod:`moet.verify.smtlib` return.
    timeout : float, optional
        Seconds after which the status is ``"unknown"``.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet import Box
    >>> from moet.verify import smtlib
    >>> text = smtlib.always(model, Box.from_bounds([1, 1], [2, 2]), ["up"])
    >>> smtlib.solve(text)  # doctest: +SKIP
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
    status = solver.check()
    if status == z3.unsat:
        return Opinion("unsat")
    if status != z3.sat:
        return Opinion("unknown", reason=solver.reason_unknown())
    return Opinion("sat", tuple(_inputs(text, solver.model(), z3, context)))


def _inputs(text: str, values: Any, z3: Any, context: Any) -> list[Fraction]:
    point: list[Fraction] = []
    while f"(declare-const x{len(point)} Real)" in text:
        value = values.eval(z3.Real(f"x{len(point)}", context), model_completion=True)
        point.append(Fraction(value.numerator_as_long(), value.denominator_as_long()))
    return point
