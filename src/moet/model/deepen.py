"""Deep experts behind a gate that shallow ones have taught, cut back to the leaves that are worth it.

A deep tree answers its training rows rightly whatever the gate does, so it teaches the gate nothing but noise. Where a
hard mixture may have deep trees, its gate is therefore learned behind shallow ones. The deep trees then grow behind the
gate that is there, and lose the leaves that do not pay: by how much a leaf must pay, held-out rows say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from moet.model.em import TrainingRows, hard_share
from moet.model.grow import GrowOptions
from moet.model.settings import Settings
from moet.model.snapshot import Judge, Snapshot

Floats = NDArray[np.float64]

SHALLOW = 3
"""Depth of the trees that a gate is learned behind."""

LEAF_COSTS = (32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 0.5)
"""How many typical rows a leaf must answer better than the leaf it was split from; the dearest first."""


def deepens(settings: Settings) -> bool:
    """Whether the trees are to become deeper than those the gate is learned behind."""
    return (
        settings.prediction == "hard"
        and settings.hard_iter > 0
        and settings.max_depth > SHALLOW
        and settings.ccp_alpha == 0  # a user who prunes says what a leaf costs
    )


def shallow(settings: Settings) -> Settings:
    """The same settings with shallow trees."""
    return replace(settings, max_depth=SHALLOW)


def deepened(training: TrainingRows, judge: Judge, theta: Floats, options: list[GrowOptions]) -> tuple[float, Snapshot]:
    """The best that deep trees can do behind the gate, or one of them alone, on the rows of the judge, and its score.

    A tree alone is a mixture, too: what comes out is never worse than it on these rows.
    """
    alone = np.zeros((1, theta.shape[1]))
    tried = [(judge.score(one), one) for gate in (theta, alone) for one in _grown(training, gate, options)]
    return max(tried, key=lambda entry: entry[0])


def _grown(training: TrainingRows, theta: Floats, choices: list[GrowOptions]) -> Iterator[Snapshot]:
    """Deep trees behind a gate, with every price of a leaf; experts that get no row are left out."""
    winners = np.unique(training.probabilities(theta).argmax(axis=0))
    theta = theta[winners]
    share = hard_share(training, theta)
    for options in choices:
        trees = training.grow_experts(share, options).trees
        for cost in LEAF_COSTS:
            yield Snapshot(theta, trees, options, hard=True, leaf_cost=cost)
