"""All that ``MoETClassifier.fit`` does with a canonical table: a budget for the gate, training, probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from moet.model.boosting import train_boosted
from moet.model.calibration import Trial, calibrated, folds
from moet.model.constraints import Columns, strongest
from moet.model.mixture import Mixture
from moet.model.recipe import SMALL_TABLE, Trained, Watch, train
from moet.model.settings import Settings, Training
from moet.model.table import Table

Trainer = Callable[[Table, Settings, np.random.Generator, Watch], Trained]

TRAINERS: dict[Training, Trainer] = {"em": train, "boosting": train_boosted}


def with_probabilities(trained: Trained, table: Table, settings: Settings, trainer: Trainer) -> Mixture:
    """The mixture that was trained, with probabilities that come true."""
    trials = [trained.trial] if trained.trial is not None else _crossed(trainer, table, settings)
    return calibrated(trained.mixture, table, trials)


def with_budget(
    table: Table, settings: Settings, trainer: Trainer, rng: np.random.Generator, columns: Columns, budget: int
) -> Settings:
    """Settings that hide from the gate all but the columns that a gate without a budget uses most."""
    dense = trainer(table, settings, rng, _unwatched).mixture
    names = strongest(dense, table.X[table.rows].std(axis=0), columns, budget)
    seen = [k for name in names for k in columns[name]]
    hidden = ~np.isin(np.arange(dense.n_features), seen) | np.array(settings.hidden)
    return replace(settings, hidden=tuple(hidden.tolist()))


def _crossed(trainer: Trainer, table: Table, settings: Settings) -> list[Trial]:
    """Models of parts of a small table, to be asked about the other parts; a large one that held out none has none."""
    if len(table) >= SMALL_TABLE:
        return []
    return [
        Trial(trainer(taught, settings, np.random.default_rng(k), _unwatched).mixture, taught, asked)
        for k, (taught, asked) in enumerate(folds(table))
    ]


def _unwatched(log_likelihood: float, model: Callable[[], Mixture]) -> None:
    """Nobody is told of these rounds."""
