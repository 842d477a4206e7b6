"""Settings of large soft mixtures, which answer tables as well as boosted trees do."""

from __future__ import annotations

from typing import Any

from moet.model.recipe import SMALL_TABLE

VOTES: dict[str, Any] = {
    "training": "boosting",
    "n_experts": 512,
    "max_depth": 5,
    "min_samples_leaf": 20,
    "learning_rate": 0.08,
    "max_samples": 0.7,
    "max_features": 0.5,
    "max_iter": 0,
}
"""Trees that each see part of the rows and features, behind a uniform gate."""

CAREFUL_VOTES: dict[str, Any] = VOTES | {
    "init": "linear",
    "gate_l2": 0.5,
    "max_depth": 6,
    "min_samples_leaf": 3,
    "learning_rate": 0.01,
    "max_samples": 0.5,
}
"""The same for little data: logistic regression as the first experts, then smaller steps."""


def large_settings(n_rows: int) -> list[dict[str, Any]]:
    """What is worth trying on a table of so many rows, the usual choice first."""
    return [CAREFUL_VOTES, VOTES] if n_rows <= SMALL_TABLE else [VOTES, VOTES | {"init": "linear"}]
