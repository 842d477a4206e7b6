"""The checker of certificates: it trusts neither the search nor floating-point arithmetic. Standard library only.

Each kind of proof has its own checker; they work with integers and fractions, read models and systems as plain numbers,
and share no code with the searches that wrote the certificates. ``docs/certificate-format.md`` says what they check.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from moet.errors import CertificateError
from moet.verify.checker.certificate import Certificate
from moet.verify.checker.meter import Meter
from moet.verify.checker.rows.claims import ROW_KINDS
from moet.verify.checker.subjects import ABOUT_MODELS, ABOUT_OUTPUTS, BY_FLOWPIPES, BY_PATHS, read_subjects


def check(
    certificate: Certificate | str | os.PathLike[str], *subjects: Any, stop: Callable[[], bool] | None = None
) -> bool:
    """Confirm a proof.

    Parameters
    ----------
    certificate : Certificate or path
    *subjects
        What the proof is about: the model (a mixture, a model that holds one, the document of a model file, or a path)
        and the system (or its document, or the path of a JSON file of it) for proofs about closed loops; the model, or
        both, for others.
    stop : callable, optional
        Asked now and then; once it says True, the check ends with an error.

    Returns
    -------
    bool
        True, always.

    Raises
    ------
    CertificateError
        If the certificate does not prove its claim about these subjects; the message says where it fails. Whatever
        else may be wrong with what was given ends in this error, too.

    References
    ----------
    - Farkas, J. *Theorie der einfachen Ungleichungen.* Journal für die reine und angewandte Mathematik 124, 1902.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> from moet.verify import safe, systems
    >>> tank = systems.AffineSystem(
    ...     "tank", states=["level"], actions=["drain", "fill"], matrix=[["0.9"]], offsets=[["0"], ["0.5"]],
    ...     initial={"level": (1, 2)}, safe=["0.5 <= level <= 4"],
    ... )
    >>> leaves = [Tree.leaf([0, 1]), Tree.leaf([1, 0])]
    >>> valve = Mixture([[-1], [0]], [2, 0], leaves, ["drain", "fill"], feature_names=["level"])
    >>> from moet.verify import check
    >>> check(safe(valve, tank, steps=None).certificate, valve, tank)
    True
    """
    return checked(certificate, subjects, Meter(stop))


def checked(certificate: Certificate | str | os.PathLike[str], subjects: tuple[Any, ...], meter: Meter) -> bool:
    """Confirm a proof, and count the work that this takes."""
    _confirm(certificate, subjects, meter)
    return True


def checked_claim(certificate: Certificate, *subjects: Any, stop: Callable[[], bool] | None = None) -> str:
    """Confirm a proof, and say in words what it proves; both from one reading of what it is about."""
    from moet.verify.checker.words import told

    return told(certificate, *_confirm(certificate, subjects, Meter(stop)))


def _confirm(certificate: Certificate | str | os.PathLike[str], subjects: tuple[Any, ...], meter: Meter) -> list[Any]:
    """Confirm a proof; returns its subjects as plain numbers."""
    try:
        if isinstance(certificate, str | os.PathLike):
            certificate = Certificate.load(certificate)
        if not isinstance(certificate, Certificate):
            raise CertificateError(f"expected a certificate or the path of one, got {type(certificate).__name__}")
        read = read_subjects(certificate.kind, subjects)
        _check(certificate, read, meter)
    except CertificateError:
        raise
    except Exception as error:  # nothing is proved by what the checker did not foresee
        raise CertificateError(f"what was given makes no sense: {type(error).__name__}: {error}") from error
    return read


def _check(certificate: Certificate, read: list[Any], meter: Meter) -> None:
    if certificate.kind in ABOUT_MODELS:
        from moet.verify.checker.inputs.proof import check_static

        check_static(certificate, read, meter)
    elif certificate.kind in ABOUT_OUTPUTS:
        from moet.verify.checker.outputs.proof import check_outputs

        check_outputs(certificate, read, meter)
    elif certificate.kind in ROW_KINDS:
        from moet.verify.checker.rows.proof import check_rows

        check_rows(certificate, read, meter)
    elif certificate.kind == "admissible":
        from moet.verify.checker.loops.flowpipe.admissible import check_admissible

        check_admissible(certificate, read[0], read[1], meter)
    elif certificate.kind == "control_shield":
        from moet.verify.checker.loops.flowpipe.shield import check_control_shield

        check_control_shield(certificate, read[0], read[1], meter)
    elif certificate.kind in BY_FLOWPIPES:
        from moet.verify.checker.loops.flowpipe.walk import check_flowpipes

        check_flowpipes(certificate, read[0], read[1], meter)
    elif certificate.kind in BY_PATHS:
        from moet.verify.checker.loops.paths.proof import check_paths

        check_paths(certificate, read[0], read[1], meter)
    else:
        from moet.verify.checker.loops.sets.proof import check_sets

        check_sets(certificate, read[0], read[1], meter)
