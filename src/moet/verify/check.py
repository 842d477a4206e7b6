"""The checker of certificates: it trusts neither the search nor floating-point arithmetic. Standard library only.

Each kind of proof has its own checker; they work with integers and fractions, read models and systems as plain numbers,
and share no code with the searches that wrote the certificates.
"""

from __future__ import annotations

import os
from typing import Any

from moet.errors import CertificateError
from moet.verify.checker.certificate import Certificate
from moet.verify.checker.plain import plain_model, plain_system

_ABOUT_LOOPS = ("safe", "reaches")
_ABOUT_BLOCKS = ("blocks", "invariant", "arrival")
_ABOUT_MODELS = ("always", "equivalent", "closest")


def check(certificate: Certificate | str | os.PathLike[str], *subjects: Any) -> bool:
    """Confirm a proof.

    Parameters
    ----------
    certificate : Certificate or path
    *subjects
        What the proof is about: the model (a mixture, a model that holds one, the document of a model file, or a path)
        and the system (or its document, or the path of a JSON file of it) for proofs about closed loops; the model, or
        both, for others.

    Returns
    -------
    bool
        True, always.

    Raises
    ------
    CertificateError
        If the certificate does not prove its claim about these subjects; the message says where it fails.
    """
    if isinstance(certificate, str | os.PathLike):
        certificate = Certificate.load(certificate)
    if not isinstance(certificate, Certificate):
        raise CertificateError(f"expected a certificate or the path of one, got {type(certificate).__name__}")
    if certificate.kind in _ABOUT_MODELS:
        from moet.verify.checker.inputs import check_static

        check_static(certificate, *map(plain_model, subjects))
        return True
    if len(subjects) != 2:
        raise CertificateError(
            f"a proof of {certificate.kind!r} is about a model and a system, got {len(subjects)} things"
        )
    model, system = plain_model(subjects[0]), plain_system(subjects[1])
    if certificate.kind in _ABOUT_LOOPS:
        from moet.verify.checker.paths import check_reach

        check_reach(certificate, model, system)
    elif certificate.kind in _ABOUT_BLOCKS:
        from moet.verify.checker.sets import check_blocks

        check_blocks(certificate, model, system)
    else:
        raise CertificateError(f"unknown kind of proof: {certificate.kind!r}")
    return True


def about_system(kind: str) -> bool:
    """Whether proofs of this kind are about a model and a system, and not about models alone."""
    return kind in _ABOUT_LOOPS or kind in _ABOUT_BLOCKS
