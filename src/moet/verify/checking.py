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
from moet.verify.checker.plain import plain_model
from moet.verify.checker.plain_system import plain_system
from moet.verify.checker.words import ABOUT_OUTPUTS

_ABOUT_MODELS = ("always", "equivalent", "closest")

_BY_PATHS = ("safe", "reaches")
_BY_SETS = ("blocks", "invariant", "arrival")


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
    """
    return checked(certificate, subjects, Meter(stop))


def checked(certificate: Certificate | str | os.PathLike[str], subjects: tuple[Any, ...], meter: Meter) -> bool:
    """Confirm a proof, and count the work that this takes."""
    try:
        if isinstance(certificate, str | os.PathLike):
            certificate = Certificate.load(certificate)
        if not isinstance(certificate, Certificate):
            raise CertificateError(f"expected a certificate or the path of one, got {type(certificate).__name__}")
        _check(certificate, subjects, meter)
    except CertificateError:
        raise
    except Exception as error:  # nothing is proved by what the checker did not foresee
        raise CertificateError(f"what was given makes no sense: {type(error).__name__}: {error}") from error
    return True


def _check(certificate: Certificate, subjects: tuple[Any, ...], meter: Meter) -> None:
    kind = certificate.kind
    if kind in _ABOUT_MODELS:
        from moet.verify.checker.inputs import check_static

        check_static(certificate, [plain_model(subject) for subject in subjects], meter)
        return
    if kind in ABOUT_OUTPUTS:
        from moet.verify.checker.outputs import check_outputs
        from moet.verify.checker.plain_laws import plain_laws

        check_outputs(certificate, [plain_laws(subject) for subject in subjects], meter)
        return
    if not about_system(kind):
        raise CertificateError(f"unknown kind of proof: {kind!r}")
    if len(subjects) != 2:
        raise CertificateError(f"a proof of {kind!r} is about a model and a system, got {len(subjects)} things")
    model, system = plain_model(subjects[0]), plain_system(subjects[1])
    if kind in _BY_PATHS:
        from moet.verify.checker.paths import check_paths

        check_paths(certificate, model, system, meter)
    else:
        from moet.verify.checker.sets import check_sets

        check_sets(certificate, model, system, meter)


def about_system(kind: str) -> bool:
    """Whether proofs of this kind are about a model and a system, and not about models alone."""
    return kind in _BY_PATHS or kind in _BY_SETS
