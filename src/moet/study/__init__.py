"""Many runs compared: sweeps, Pareto fronts, saturation, reports, and supervised benchmarks."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moet.study.outcome import Measured, Outcome
    from moet.study.presets import Plan
    from moet.study.read import outcomes
    from moet.study.sweep import Sweep

__all__ = ["Measured", "Outcome", "Plan", "Sweep", "outcomes"]

_HOME = {"Measured": "outcome", "Outcome": "outcome", "Plan": "presets", "Sweep": "sweep", "outcomes": "read"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
