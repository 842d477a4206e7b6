"""The frame of ``moet fit``, whatever the target holds: rows to train and to test on, and what is told of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from moet.cli.output import print_json, print_report, size_in_words
from moet.cli.sizes import size_report
from moet.model.schema import Schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from moet.cli.data import AnyTable
    from moet.model.base import Prediction
    from moet.model.file import Model
    from moet.model.sizes import Chosen


@dataclass(frozen=True)
class Wanted:
    """What the user asked for.

    Attributes
    ----------
    size : pair of int or None
        Experts and depth; both None to find a size, in ``budget`` minutes if these are given.
    prediction : {"hard", "soft"}
    digits : int or None
        Significant digits of the numbers; None for as few as cost nothing.
    budget : float or None
    seed : int
    """

    size: tuple[int | None, int | None]
    prediction: Prediction
    digits: int | None
    budget: float | None
    seed: int

    @property
    def finds_size(self) -> bool:
        """Whether neither experts nor depth are given."""
        return self.size == (None, None)

    def size_or(self, experts: int, depth: int) -> tuple[int, int]:
        """The size, with these numbers where only one is given."""
        return experts if self.size[0] is None else self.size[0], depth if self.size[1] is None else self.size[1]


@dataclass(frozen=True)
class Rows:
    """A table as features and targets, and which rows are trained and tested on."""

    X: pd.DataFrame
    y: NDArray[Any]
    schema: Schema
    train: NDArray[np.intp]
    test: NDArray[np.intp]

    @classmethod
    def of(
        cls,
        table: AnyTable,
        target: str,
        y: NDArray[Any],
        category: tuple[str, ...],
        test_fraction: float,
        seed: int,
    ) -> Rows:
        """Encode all columns but the target, and choose the rows to test on at random."""
        schema = Schema.of(table.drop(columns=target), category)
        features = schema.encode(table)
        X = pd.DataFrame(features, columns=list(schema.feature_names), copy=False)  # a large table is not copied
        order = np.random.default_rng(seed).permutation(len(y))
        n_test = int(test_fraction * len(y))
        return cls(X, y, schema, np.sort(order[n_test:]), np.sort(order[:n_test]))

    @property
    def to_fit(self) -> tuple[pd.DataFrame, NDArray[Any]]:
        """Features and targets of the rows to train on."""
        if not len(self.test):  # a large table is not copied
            return self.X, self.y
        return self.X.iloc[self.train], self.y[self.train]


@dataclass(frozen=True)
class Fitted:
    """A model that is to be saved, and what its kind adds to the report.

    Attributes
    ----------
    mixture : Mixture or RegressionMixture
    what, key : str
        How well it does, as people and as documents call it: accuracy, R².
    score : callable
        That, of some of the rows.
    chosen : Chosen or None
        How its size was found.
    document, report : dict
        What else there is to tell.
    """

    mixture: Model
    what: str
    key: str
    score: Callable[[NDArray[np.intp]], float]
    chosen: Chosen[Any] | None
    document: dict[str, Any] = field(default_factory=dict)
    report: dict[str, str] = field(default_factory=dict)


def tell(fitted: Fitted, rows: Rows, output: Path, as_json: bool) -> None:
    """Say how well a model does on the rows it was trained on, and on the others."""
    mixture, chosen = fitted.mixture, fitted.chosen
    train, test = (fitted.score(part) if len(part) else None for part in (rows.train, rows.test))
    if as_json:
        document = {
            "model": str(output),
            "prediction": mixture.prediction,
            "rows": len(rows.train),
            "features": mixture.n_features,
            f"train_{fitted.key}": train,
            "test_rows": len(rows.test),
            f"test_{fitted.key}": test,
            "size": mixture.size._asdict(),
            "sizes": [] if chosen is None else [one._asdict() for one in chosen.front],
            "taken": None if chosen is None else chosen.taken,
            "tolerance": None if chosen is None else chosen.tolerance,
        }
        print_json(document | fitted.document)
        return
    report = {f"train {fitted.what}": f"{train:.4f} ({len(rows.train)} rows)"}
    if test is not None:
        report[f"test {fitted.what}"] = f"{test:.4f} ({len(rows.test)} rows)"
    report |= fitted.report
    if chosen is not None:
        report |= size_report(chosen.front, chosen.taken, chosen.tolerance, chosen.what)
    print_report(report | {"size": size_in_words(mixture.size), "saved to": str(output)})
