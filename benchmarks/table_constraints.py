"""What it costs to train a model that ignores a column, is monotone in one, or whose gate looks at few.

    MOET_DATA=DIR python benchmarks/table_constraints.py [--splits 20] [--distilled | --default]

German credit with 9 columns, hard mixtures of 4 experts of depth 2 (learned from a large one, or in place of them what
``MoETClassifier()`` makes): accuracy on 30 % of the rows (mean over splits, and the standard error of the difference
from the free model on the same splits), and how many of the models were proved to obey.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from harness import machine, show, single_threaded
from sklearn.model_selection import train_test_split

from moet import MoETClassifier, verify
from moet.distill import DistilledClassifier
from moet.model.constraints import columns_of
from moet.study.supervised.datasets import load

COLUMNS: dict[str, dict[str, Any]] = {
    "free": {},
    "ignores Sex": {"ignore": ["Sex"]},
    "ignores Sex and Age": {"ignore": ["Sex", "Age"]},
    "monotone in Duration": {"monotone": {"Duration": -1}},
    "both": {"ignore": ["Sex"], "monotone": {"Duration": -1}},
    "gate of 5 columns": {"gate_columns": 5},
    "gate of 3 columns": {"gate_columns": 3},
}


def obeys(model: Any, settings: dict[str, Any]) -> bool:
    """Whether everything that was asked for is proved of the model, or counted."""
    mixture = model.mixture_
    proved = [verify.ignores(mixture, [name]).checked for name in settings.get("ignore", ())]
    first = mixture.classes.tolist()[0]
    proved += [verify.monotone(mixture, name, answer=first).checked for name in settings.get("monotone", ())]
    columns = columns_of(mixture.schema, None, mixture.n_features)
    seen = sum(bool(mixture.gate_weights[:, list(features)].any()) for features in columns.values())
    return all(proved) and seen <= settings.get("gate_columns", seen)


def main() -> None:
    """Print a row per constraint."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--splits", type=int, default=20)
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--distilled", action="store_true")
    kinds.add_argument("--default", action="store_true")
    arguments = parser.parse_args()
    single_threaded()
    table = load("german9", arguments.data)
    accuracy: dict[str, list[float]] = {name: [] for name in COLUMNS}
    proved = dict.fromkeys(COLUMNS, 0)
    for seed in range(arguments.splits):
        train, test = train_test_split(np.arange(len(table.y)), test_size=0.3, stratify=table.y, random_state=seed)
        for name, settings in COLUMNS.items():
            size = {} if arguments.default else {"n_experts": 4, "max_depth": 2, "prediction": "hard"}
            model: Any = MoETClassifier(**size, random_state=seed, **settings)
            model = DistilledClassifier(model, random_state=seed) if arguments.distilled else model
            model.fit(table.X.iloc[train], table.y[train])
            accuracy[name].append(float(np.mean(model.predict(table.X.iloc[test]) == table.y[test])))
            proved[name] += obeys(model, settings)
    free = np.array(accuracy["free"])
    rows = []
    for name, values in accuracy.items():
        gap = np.array(values) - free
        error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else 0.0
        rows.append(
            [name, f"{np.mean(values):.3f}", f"{gap.mean():+.3f} ± {error:.3f}", f"{proved[name]} of {len(gap)}"]
        )
    show(machine(), ("model", "accuracy", "against the free one", "proved"), rows)


if __name__ == "__main__":
    main()
