"""The same policy with fewer digits: what to try, for a judge who lets it play."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moet.envs.task import Floats
from moet.model.base import BaseMixture
from moet.model.digits import EXACT, TOLERANCE, rounded, simplify
from moet.model.regression.mixture import RegressionMixture


def shortened(model: Any, states: Floats, digits: int | None) -> Iterator[Any]:
    """Models with fewer digits, those that change the most answers first; none of a model that is no mixture.

    Parameters
    ----------
    model : Mixture, RegressionMixture, or another model
    states : array, shape (n_states, n_features)
        Such as it met in play, of which none was trained on.
    digits : int or None
        Exactly so many significant digits, and nothing else to try; None for as few as keep the answers.
    """
    if digits == EXACT or not isinstance(model, BaseMixture):
        return
    if digits is not None:
        yield rounded(model, digits)
        return
    for tolerance in (TOLERANCE, TOLERANCE / 4, 0.0):
        yield simplify(model, states, tolerance=tolerance)
    if isinstance(model, RegressionMixture):  # what is the same to a hundredth may not be, where a hill is just climbed
        yield from (rounded(model, figures) for figures in (3, 4, 6))
