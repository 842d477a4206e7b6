"""Options that several commands have, and choices, known before anything heavy is imported.

A task is named in one of two ways: as the argument TASK by commands that make something for it, and with ``--env`` by
those that are given a policy, which knows its own task.
"""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer


def look_here(name: str | None) -> str | None:
    """Let ``MODULE:NAME`` be found in the current folder too, as ``python -m`` does; the name as it was."""
    if name is not None and ":" in name and "" not in sys.path:
        sys.path.insert(0, "")
    return name


Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of everything random.")]
Env = Annotated[
    str | None,
    typer.Option(
        callback=look_here,
        help="Task, Gymnasium id or MODULE:FUNCTION to play; by default the one the policy was made for.",
    ),
]


class Activation(StrEnum):
    """What stands between layers; the names of :data:`moet.teachers.activations.Activation`."""

    relu = "relu"
    elu = "elu"
    tanh = "tanh"
    leaky_relu = "leaky_relu"
    sigmoid = "sigmoid"
    silu = "silu"
    gelu = "gelu"
    softplus = "softplus"
    mish = "mish"
    selu = "selu"


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


class Preset(StrEnum):
    """How much a sweep tries; the names of :data:`moet.study.presets.Preset`."""

    quick = "quick"
    standard = "standard"
    paper = "paper"


class Sampler(StrEnum):
    """How a sweep goes about it; the names of :data:`moet.study.definition.Sampler`."""

    grid = "grid"
    nsga2 = "nsga2"
    tpe = "tpe"
