"""The last step of every question: a proof counts once the exact checker has accepted it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from moet.errors import CertificateError
from moet.jit import clock
from moet.verify.checker.meter import Interrupted
from moet.verify.checking import checked_claim
from moet.verify.limits import Deadline
from moet.verify.result import Proved, Unknown

P = TypeVar("P", bound=Proved)


def confirmed(found: P, *subjects: Any, deadline: Deadline) -> P | Unknown:
    """Have the checker confirm a proof that a search found; what it rejects is Unknown, with its reason.

    Parameters
    ----------
    found : Proved
        With its certificate, and the seconds of the search as its effort.
    *subjects
        The models and the system that the certificate is about.
    deadline : Deadline
        Of the question; once it has passed, the check ends, and the verdict is Unknown.
    """
    start = clock()
    reason, claim = None, None
    try:
        claim = checked_claim(found.certificate, *subjects, stop=lambda: deadline.passed)
    except Interrupted:
        reason = f"a proof was found, but time ended while it was being checked: {deadline.reason}"
    except CertificateError as error:
        reason = f"the search found a proof that the exact checker does not accept: {error}"
    searched, checking = found.effort["seconds"], clock() - start
    times = {"seconds": searched + checking, "search_seconds": searched, "check_seconds": checking}
    effort = {**found.effort, **times}
    if reason is None:
        return replace(found, checked=True, claim=claim, effort=effort)
    return Unknown(reason=reason, band=found.band, effort=effort)
