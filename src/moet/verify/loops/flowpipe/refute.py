"""Runs of a controlled system that miss what is required."""

from __future__ import annotations

from collections.abc import Sequence

from moet.model.regression.mixture import RegressionMixture
from moet.verify.limits import Deadline
from moet.verify.result import Refuted
from moet.verify.spec import Requirement
from moet.verify.systems.system import System


def refutation(
    mixture: RegressionMixture, system: System, spec: Sequence[Requirement], deadline: Deadline, seed: int
) -> Refuted | None:
    """A run that misses a requirement, if one is found."""
    return None
