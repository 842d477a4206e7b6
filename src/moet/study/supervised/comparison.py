"""All data sets, models and seeds: one row each, kept in a file so that nothing is computed twice."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from moet.errors import CheckpointError, InputError
from moet.study.supervised.datasets import SOURCES, Dataset, load
from moet.study.supervised.models import MODELS, Model
from moet.study.supervised.peers import PEERS
from moet.study.supervised.protocol import run

PROTOCOL = 5
"""Rows of another protocol (split, grids, tuning) are not comparable."""

Row = dict[str, Any]


class Checkpoint:
    """Rows in a file of JSON lines. A line is written at once and whole; half a line at the end is dropped."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.rows: list[Row] = []
        if path is not None and path.exists():
            self.rows = _read_rows(path)

    def has(self, dataset: str, model: str, seed: int) -> bool:
        """Whether the row is finished."""
        return any((row["dataset"], row["model"], row["seed"]) == (dataset, model, seed) for row in self.rows)

    def add(self, row: Row) -> None:
        """Keep a row."""
        self.rows.append(row)
        if self._path is not None:
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
                file.flush()
                os.fsync(file.fileno())


def _read_rows(path: Path) -> list[Row]:
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:  # the last run was killed while it wrote
        path.write_text(whole, encoding="utf-8")
    rows = []
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            row = json.loads(line)
            protocol = row["protocol"]
        except (ValueError, TypeError, KeyError):
            raise CheckpointError(f"line {number} of {path} is no row of this benchmark; move the file away") from None
        if protocol != PROTOCOL:
            raise CheckpointError(
                f"{path} has rows of protocol {protocol!r}, this version has {PROTOCOL}; start another file"
            )
        rows.append(row)
    return rows


def chosen_models(names: Sequence[str] = ()) -> dict[str, Model]:
    """Models by name; all if no name is given."""
    known = MODELS | PEERS
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"unknown model {unknown[0]!r}; there are {', '.join(known)}")
    return {name: known[name] for name in names or known}


def obstacle(model: Model, dataset: Dataset) -> str | None:
    """Why a model cannot be used on a data set, or None."""
    if model.package is not None and find_spec(model.package) is None:
        return f"the package {model.package} is not installed"
    if model.obstacle is not None and (reason := model.obstacle()):
        return reason
    if len(dataset.y) > model.most_rows:
        return f"a fit on {len(dataset.y)} rows takes too long"
    if dataset.n_classes > model.most_classes:
        return "the package knows two classes only"
    return None


def benchmark(
    folder: str | os.PathLike[str] | None = None,
    *,
    datasets: Sequence[str] = (),
    models: Sequence[str] = (),
    seeds: int = 10,
    checkpoint: Path | None = None,
    say: Callable[[str], None] = print,
) -> list[Row]:
    """Run what is not yet in the checkpoint, and return all rows of these data sets and models.

    Parameters
    ----------
    folder : path, optional
        Of the CSV files, see :func:`moet.study.supervised.datasets.load`.
    datasets, models : sequence of str, optional
        Names; all by default.
    seeds : int
        Number of splits; 0 computes nothing.
    checkpoint : path, optional
        File of finished rows, one JSON object per line.
    say : callable
        Told about each finished row and everything left out.
    """
    kept = Checkpoint(checkpoint)
    wanted = chosen_models(models)
    names = list(datasets or SOURCES)
    for dataset in [load(name, folder) for name in names] if seeds else []:
        if len(dataset.y) != (published := SOURCES[dataset.name].n_rows):
            say(f"{dataset.name}: the table has {len(dataset.y)} rows, the published one {published}; is it whole?")
        usable = {}
        for name, model in wanted.items():
            if reason := obstacle(model, dataset):
                say(f"{dataset.name}: without {model.name}: {reason}")
            else:
                usable[name] = model
        for seed in range(seeds):
            for name, model in usable.items():
                if not kept.has(dataset.name, name, seed):
                    key = {"protocol": PROTOCOL, "dataset": dataset.name, "model": name, "seed": seed}
                    kept.add(key | run(dataset, model, seed))
                    say(_in_words(kept.rows[-1]))
    return [row for row in kept.rows if row["dataset"] in names and row["model"] in wanted]


def _in_words(row: Row) -> str:
    tuned = row["tuned_for"]
    return (
        f"{row['dataset']} {row['model']} seed {row['seed']}: F1 {tuned['f1']['f1']:.3f}, "
        f"accuracy {tuned['accuracy']['accuracy']:.3f} ({row['seconds']:.1f} s)"
    )
