"""Many runs compared: sweeps, Pareto fronts, saturation, reports, and supervised benchmarks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moet.lazy import loader

if TYPE_CHECKING:
    from moet.study.outcome import Measured, Outcome
    from moet.study.presets import Plan
    from moet.study.read import outcomes
    from moet.study.sweep import Sweep

__all__ = ["Measured", "Outcome", "Plan", "Sweep", "outcomes"]

_HOME = {"Measured": "outcome", "Outcome": "outcome", "Plan": "presets", "Sweep": "sweep", "outcomes": "read"}

__getattr__ = loader(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)
