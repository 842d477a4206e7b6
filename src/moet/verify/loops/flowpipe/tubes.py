"""Where a proof about a controlled system says that runs are: what pictures of proofs show."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.verify.checker.certificate import Certificate
from moet.verify.checker.loops.flowpipe.walk import check_flowpipes
from moet.verify.checker.loops.intervals import ONE
from moet.verify.checker.meter import Meter
from moet.verify.checker.subjects import BY_FLOWPIPES, read_subjects

Floats = NDArray[np.float64]


class Tube(NamedTuple):
    """Where the runs from one part of the first states are.

    Between the times ``start[k]`` and ``end[k]``, every state is between ``low[k]`` and ``high[k]``; these are sides of
    boxes, rounded to float64. A sample has a row of its own, with ``start == end``. For a proof for ever, the tubes
    after those of the first states begin in the set that runs come back to.
    """

    start: Floats
    end: Floats
    low: Floats
    high: Floats


def proven_tubes(certificate: Certificate, model: Any, system: Any) -> list[Tube]:
    """Check a proof about a system with controls once more, and tell where it keeps the runs.

    Parameters
    ----------
    certificate : Certificate
    model, system
        What it is about.

    Raises
    ------
    CertificateError
        If the certificate does not prove its claim.

    Examples
    --------
    >>> from moet import RegressionMixture, RegressionTree, verify
    >>> from moet.verify import systems
    >>> cart = systems.SampledSystem(
    ...     "cart", flow={"x": "u"}, controls={"u": (-1, 1)}, period="0.1",
    ...     initial={"x": (0, "0.1")}, safe=["-1 <= x <= 1"],
    ... )
    >>> law = RegressionMixture([[0]], [0], [RegressionTree.leaf([0], slope=[[-1]])], ["u"], feature_names=["x"])
    >>> proof = verify.safe(law, cart, steps=3)
    >>> tubes = verify.proven_tubes(proof.certificate, law, cart)
    """
    if certificate.kind not in BY_FLOWPIPES:
        raise InputError(f"tubes are those of systems with controls, and this proof is of kind {certificate.kind!r}")
    read = read_subjects(certificate.kind, (model, system))
    tubes = check_flowpipes(certificate, read[0], read[1], Meter())
    return [
        Tube(
            np.array([float(stretch.start) for stretch in tube]),
            np.array([float(stretch.end) for stretch in tube]),
            np.array([[value / ONE for value in stretch.low] for stretch in tube]),
            np.array([[value / ONE for value in stretch.high] for stretch in tube]),
        )
        for tube in tubes
    ]
