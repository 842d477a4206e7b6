"""What the user chose, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from moet.model.gate import Scaler
from moet.model.grow import Criterion
from moet.model.init import Init
from moet.model.mixture import Prediction
from moet.model.solve import GateSolver, GateStep
from moet.model.table import Table

Training = Literal["em", "boosting"]
"""How experts come about: all at once, sharing the rows, or one after another, sharing the votes."""


@dataclass(frozen=True)
class Settings:
    """Parameters of :class:`moet.MoETClassifier` that training needs; weights are relative to a mean of 1.

    ``hidden`` features are not for the gate, and ``signs`` are the directions of features; empty means none.
    """

    n_experts: int
    max_depth: int
    prediction: Prediction
    criterion: Criterion
    min_samples_leaf: float | None
    min_impurity_decrease: float
    ccp_alpha: float
    init: Init
    n_init: int
    gate_solver: GateSolver
    gate_l2: float
    learning_rate: float
    learning_rate_decay: float
    max_samples: float
    max_features: float
    max_iter: int
    tol: float
    hard_iter: int
    validation_fraction: float
    hidden: tuple[bool, ...] = ()
    signs: tuple[int, ...] = ()

    def scaler(self, table: Table) -> Scaler:
        """How the gate sees the features: not at all those that are hidden."""
        scaler = Scaler.of(table)
        return scaler.blind(np.array(self.hidden)) if any(self.hidden) else scaler

    def new_gate_step(self) -> GateStep:
        """Return a gate solver without memory of earlier steps."""
        return GateStep(self.gate_solver, self.gate_l2, self.learning_rate, self.learning_rate_decay)
