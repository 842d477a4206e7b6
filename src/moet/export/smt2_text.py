"""A hard mixture as functions in SMT-LIB, for solvers."""

from __future__ import annotations

from moet.export.parts import check_hard
from moet.model.file import as_model, digest
from moet.model.text import summary


def smt2(model: object) -> str:
    """Write a hard mixture as functions in SMT-LIB (QF_LRA), its numbers as the exact rationals that they are.

    ``(answer x0 x1 ...)`` is the number of the class that answers; of a RegressionMixture, ``(output0 x0 x1 ...)`` is
    its first output, clipped, and ``(law0 x0 x1 ...)`` the same before it is clipped. Append declarations,
    assertions and ``(check-sat)`` to ask something. The arithmetic is exact: where two experts are so close that the
    gate's rounding decides between them, :meth:`moet.Mixture.predict_hard` may answer otherwise, and outputs of float64
    are off by their rounding.

    Parameters
    ----------
    model : Mixture, RegressionMixture, fitted estimator, policy, or path of a model file
        What to write. Soft mixtures of several experts are refused.

    References
    ----------
    - Barrett, C., P. Fontaine, C. Tinelli. *The SMT-LIB Standard.* Technical report, The University of Iowa.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet import export
    >>> "(define-fun" in export.smt2(model)
    True
    """
    from moet.verify import smtlib  # here, for the other languages need nothing of it

    mixture = as_model(model)
    check_hard(mixture, "SMT-LIB")
    return f"""\
; {summary(mixture)}
; model {digest(mixture)}
;
; In exact arithmetic: float64 may choose another expert where two logits differ by less than their rounding.
;
{smtlib.definition(mixture)}"""
