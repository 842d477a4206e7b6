"""Policies that answer with labels, as laws: every leaf sets the controls as its action does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.file import as_model
from moet.model.mixture import Mixture
from moet.model.regression.mixture import RegressionMixture
from moet.model.regression.tree import RegressionTree
from moet.model.text import how_to_harden
from moet.verify.outputs.laws import hard_laws
from moet.verify.systems.controls import check_policy, effects_at
from moet.verify.systems.system import System

Floats = NDArray[np.float64]


def acting_model(model: Any, system: System) -> Mixture | RegressionMixture:
    """The hard mixture that ``model`` is or holds; it answers with the system's controls, or with its actions."""
    mixture = as_model(model)
    if isinstance(mixture, RegressionMixture):
        mixture = hard_laws(mixture)
    elif not system.effects:
        names = ", ".join(f"{name!r}: ..." for name in system.controls)
        raise InputError(
            f"the model answers with labels, and the system {system.name!r} is controlled with numbers: say what its "
            f"labels do, as in actions={{{mixture.classes.tolist()[0]!r:.40}: {{{names}}}, ...}}"
        )
    elif mixture.prediction == "soft" and mixture.n_experts > 1:
        raise InputError(f"this question is about hard mixtures, and this model is soft; {how_to_harden(mixture)}")
    check_policy(system, laws_of(mixture, system))
    return mixture


def laws_of(mixture: Mixture | RegressionMixture, system: System, share: float = 0.5) -> RegressionMixture:
    """The mixture of laws that acts as a mixture does, its actions at this share of the way between their limits."""
    if isinstance(mixture, RegressionMixture):
        return mixture
    effects = effects_at(system, share)[_numbers(mixture, system)]
    trees = [
        RegressionTree(tree.feature, tree.threshold, tree.left, tree.right, effects[tree.value.argmax(axis=1)])
        for tree in mixture.trees
    ]
    names = mixture.feature_names
    return RegressionMixture(mixture.gate_weights, mixture.gate_bias, trees, list(system.controls), feature_names=names)


def spreads_of(mixture: Mixture | RegressionMixture, system: System) -> list[Floats]:
    """For every node of every tree, how far controls may be from its values."""
    if isinstance(mixture, RegressionMixture):
        return [np.zeros_like(tree.value) for tree in mixture.trees]
    low, high = (effects_at(system, share)[_numbers(mixture, system)] for share in (0.0, 1.0))
    radii = np.nextafter((high - low) / 2, np.inf) * (high > low)
    return [np.asarray(radii[tree.value.argmax(axis=1)]) for tree in mixture.trees]


def _numbers(mixture: Mixture, system: System) -> list[int]:
    return [system.action_number(label) for label in mixture.classes.tolist()]
