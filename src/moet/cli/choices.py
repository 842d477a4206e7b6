"""Choices of a command, known before anything heavy is imported, so that a wrong one is refused at once."""

from __future__ import annotations

from enum import StrEnum


class Importance(StrEnum):
    """How much a state matters; the names of :data:`moet.distill.dataset.Importance`."""

    q_gap = "q_gap"
    uniform = "uniform"


class Weighting(StrEnum):
    """How importance enters; the names of :data:`moet.distill.dataset.Weighting`."""

    weight = "weight"
    resample = "resample"


class Selection(StrEnum):
    """Which student is kept; the names of :data:`moet.distill.selection.Selection`."""

    reward = "reward"
    reward_then_fidelity = "reward_then_fidelity"
    fidelity_then_size = "fidelity_then_size"
    harmonic = "harmonic"
