"""Questions as SMT-LIB text, for an opinion that shares nothing with this package; and a way to ask z3 for it.

Every text is in QF_LRA (linear arithmetic on reals, no quantifiers) and asserts that a counterexample exists: *unsat*
is a proof, *sat* comes with a counterexample. Numbers are the exact rationals that the float64 numbers of a model are.
All questions are about exact arithmetic; only :func:`always` about labels also covers the rounding of the gate.
"""

from moet.verify.smtlib.definitions import definition
from moet.verify.smtlib.inputs import always, closest, differences, equivalent
from moet.verify.smtlib.runs import Encoding, reaches, safe
from moet.verify.smtlib.solver import Opinion, solve

__all__ = [
    "Encoding",
    "Opinion",
    "always",
    "closest",
    "definition",
    "differences",
    "equivalent",
    "reaches",
    "safe",
    "solve",
]
