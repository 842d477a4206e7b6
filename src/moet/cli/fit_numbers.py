"""``moet fit`` of a column of numbers: laws instead of labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from moet.cli.data import target_numbers
from moet.cli.output import print_json, print_report, size_in_words
from moet.cli.sizes import size_report
from moet.errors import InputError
from moet.model.digits import EXACT, rounded
from moet.model.regression.digits import short_laws
from moet.model.regression.regressor import MoETRegressor
from moet.model.regression.sizes import choose_laws
from moet.model.schema import Schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from moet.model.base import Prediction
    from moet.model.regression.mixture import RegressionMixture

FEW_EACH, MANY = 20, 30
"""Whole numbers are taken for numbers, not labels, if they are many and each of them stands in few rows."""


def holds_numbers(column: pd.Series) -> bool:
    """Whether a column to learn is one of numbers: it has fractions, or many different values."""
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return False
    values = column.dropna().to_numpy(dtype=np.float64)
    distinct = len(np.unique(values))
    return bool(np.any(values != np.round(values))) or (distinct > MANY and len(values) < FEW_EACH * distinct)


def fit_numbers(
    table: pd.DataFrame,
    target: str,
    output: Path,
    *,
    category: tuple[str, ...],
    size: tuple[int | None, int | None],
    prediction: Prediction,
    test_fraction: float,
    digits: int | None,
    budget: float | None,
    seed: int,
    as_json: bool,
) -> None:
    """Fit laws to a column of numbers, save them and report R²."""
    from moet import save

    y = target_numbers(table, target)
    schema = Schema.of(table.drop(columns=target), category)
    X = pd.DataFrame(schema.encode(table), columns=list(schema.feature_names))
    order = np.random.default_rng(seed).permutation(len(y))
    n_test = int(test_fraction * len(y))
    test, train = np.sort(order[:n_test]), np.sort(order[n_test:])
    chosen = None
    if size == (None, None):
        chosen = choose_laws(X.iloc[train], y[train], prediction=prediction, budget=budget, seed=seed, verbose=1)
        regressor = chosen.regressor
    else:
        experts, depth = (2 if size[0] is None else size[0]), (1 if size[1] is None else size[1])
        regressor = MoETRegressor(experts, depth, prediction=prediction, random_state=seed)
        regressor.fit(X.iloc[train], y[train])
    mixture = _finished(regressor.mixture_, target, X.to_numpy()[train], digits)
    save(mixture, output)
    answers = mixture.predict(X.to_numpy())[:, 0]
    result: dict[str, Any] = {
        "model": str(output),
        "prediction": mixture.prediction,
        "rows": len(train),
        "features": mixture.n_features,
        "outputs": list(mixture.outputs),
        "train_r2": r_squared(y[train], answers[train]),
        "test_rows": len(test),
        "test_r2": r_squared(y[test], answers[test]) if len(test) else None,
        "numbers": mixture.n_numbers,
        "size": mixture.size._asdict(),
        "sizes": [] if chosen is None else [one._asdict() for one in chosen.front],
        "taken": None if chosen is None else chosen.taken,
        "tolerance": None if chosen is None else chosen.tolerance,
    }
    if as_json:
        print_json(result)
        return
    report = {"train R²": f"{result['train_r2']:.4f} ({len(train)} rows)"}
    if len(test):
        report["test R²"] = f"{result['test_r2']:.4f} ({len(test)} rows)"
    if chosen is not None:
        report |= size_report(chosen.front, chosen.taken, chosen.tolerance, "R²")
    report |= {"size": size_in_words(mixture.size), "numbers": f"{mixture.n_numbers} in its laws, tests and gate"}
    print_report(report | {"saved to": str(output)})


def r_squared(y: NDArray[Any], answers: NDArray[Any]) -> float:
    """Share of the variance that answers explain; 0 of targets that never change."""
    spread = float(np.sum((y - y.mean()) ** 2))
    return 1 - float(np.sum((y - answers) ** 2)) / spread if spread else 0.0


def refuse_distilling() -> None:
    """Complain about a large mixture of labels to learn from, where there are none."""
    raise InputError("--distill is for labels, and this target is numbers: leave it out, or take them for --labels")


def _finished(mixture: RegressionMixture, target: str, X: NDArray[Any], digits: int | None) -> RegressionMixture:
    """The model that is saved: its output named, pruned, and if it is hard, with short numbers where that is free."""
    if digits is not None and digits < EXACT:
        short = rounded(mixture, digits)
    elif digits is None and mixture.prediction == "hard":
        short = short_laws(mixture, X, 0.0)
    else:
        short = mixture.prune()
    return replace(short, outputs=(target,), provenance={"made_by": "moet fit"})
