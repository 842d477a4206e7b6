"""The policy that the paper's authors published."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

from moet import Mixture, Tree


def published_policy() -> Mixture:
    """The policy that they verified, from the folder that MOET_DATA names; its gate is folded to raw units."""
    stored = json.loads((Path(os.environ["MOET_DATA"]) / "paper_cartpole_e2_d0.json").read_text())
    theta, mean, scale = np.array(stored["theta"]), *(np.array(stored["scaler"][k]) for k in ("mean", "scale"))
    weights = theta[:, :4] / scale
    trees = [Tree.leaf([0.0, 1.0] if expert["leaf_action"] == 1 else [1.0, 0.0]) for expert in stored["experts"]]
    return Mixture(weights, theta[:, 4] - weights @ mean, trees, classes=[0, 1])
