"""The last step of every question: a proof counts once the exact checker has accepted it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from moet.errors import CertificateError
from moet.jit import clock
from moet.verify.check import check
from moet.verify.result import Proved, Unknown

P = TypeVar("P", bound=Proved)


def confirmed(found: P, *subjects: Any) -> P | Unknown:
    """Have the checker confirm a proof that a search found; what it rejects is Unknown, with its reason.

    Parameters
    ----------
    found : Proved
        With its certificate, and the seconds of the search as its effort.
    *subjects
        The models and the system that the certificate is about.
    """
    start = clock()
    try:
        check(found.certificate, *subjects)
        rejection = None
    except CertificateError as error:
        rejection = str(error)
    searched, checking = found.effort["seconds"], clock() - start
    times = {"seconds": searched + checking, "search_seconds": searched, "check_seconds": checking}
    effort = {**found.effort, **times}
    if rejection is None:
        return replace(found, checked=True, effort=effort)
    return Unknown(
        reason=f"the search found a proof that the exact checker does not accept: {rejection}",
        band=found.band,
        effort=effort,
    )
