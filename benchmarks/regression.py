"""Mixtures that answer with numbers: speed of one tree beside its peers, growth with the rows, and supervised tables.

    python benchmarks/regression.py [speed] [growth] [tables] [--splits 6] [--tables diabetes ...] [--models EBM ...]
        [--json out.json]

Everything runs on one thread and is measured in CPU seconds; ours is compiled before it is measured. linear-tree,
LightGBM, Cubist and EBM (interpret-core) are left out where they are not installed. With ``--json`` every row is
written as soon as it is measured, and rows found there are not measured again.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness import Results, Row, console, cpu_seconds, machine, show, single_threaded
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.validation import validate_data

from moet import MoETRegressor
from moet.study.supervised.statistics import mean_with_interval

Floats = NDArray[np.float64]

DEPTH, LEAVES, MIN_LEAF = 3, 8, 40

EBM_BAGS = 4
"""Of its default's 14, which take three and a half times as long: hours for all tables and splits."""


def california(n: int = 4000, seed: int = 0) -> tuple[Floats, Floats]:
    """House values as in California's districts: income, coast, age and crowding, capped from above."""
    rng = np.random.default_rng(seed)
    income, age = rng.lognormal(1.3, 0.45, n), rng.uniform(1, 52, n)
    rooms, people = rng.lognormal(1.65, 0.25, n), rng.lognormal(7, 0.6, n)
    latitude, longitude = rng.uniform(32, 42, n), rng.uniform(-124, -114, n)
    coast = np.exp(-(((longitude + 124) - 0.9 * (42 - latitude)) ** 2) / 4)
    value = 0.42 * income + 1.2 * coast * np.sqrt(income) + 0.005 * age - 0.1 * (rooms - 5)
    value += rng.normal(0, 0.35, n) * (1 + coast)
    return np.column_stack([income, age, rooms, people, latitude, longitude]), np.clip(value, 0.15, 5.0)


def robot_arm(n: int = 2000, seed: int = 0) -> tuple[Floats, Floats]:
    """Distance of the hand of an arm with four joints from a point, by its joints' angles and lengths."""
    rng = np.random.default_rng(seed)
    angle, length = rng.uniform(-np.pi / 2, np.pi / 2, (n, 4)), rng.uniform(0.5, 1.0, (n, 4))
    turned = np.cumsum(angle, axis=1)
    x, y = (length * np.cos(turned)).sum(axis=1), (length * np.sin(turned)).sum(axis=1)
    return np.hstack([angle, length]), np.hypot(x - 1, y - 1) + rng.normal(0, 0.05, n)


def swing_up(n: int = 2000, seed: int = 0) -> tuple[Floats, Floats]:
    """Torque of a pendulum's textbook law: pump energy below, balance above, clipped to the motor's torque."""
    rng = np.random.default_rng(seed)
    angle, speed = rng.uniform(-np.pi, np.pi, n), rng.uniform(-8, 8, n)
    balance = -12 * angle - 3 * speed
    pump = 0.5 * speed * (10 * (1 - np.cos(angle)) - speed**2 / 2)
    torque = np.where(np.abs(angle) < 0.6, balance, pump)
    return np.column_stack([np.cos(angle), np.sin(angle), speed]), np.clip(torque, -2, 2)


def fetal() -> tuple[Floats, Floats]:
    """Abnormal short-term variability by all other measurements, of ``fetal_health.csv`` in ``MOET_DATA``."""
    table = pd.read_csv(Path(os.environ["MOET_DATA"]) / "fetal_health.csv").drop(columns="fetal_health")
    target = table.pop("abnormal_short_term_variability")
    return table.to_numpy(np.float64), target.to_numpy(np.float64)


TABLES: dict[str, Callable[[], tuple[Floats, Floats]]] = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "friedman1": lambda: make_friedman1(2000, noise=1.0, random_state=0),
    "friedman2": lambda: make_friedman2(2000, noise=100.0, random_state=0),
    "friedman3": lambda: make_friedman3(2000, noise=0.1, random_state=0),
    "california-like": california,
    "robot arm": robot_arm,
    "swing-up": swing_up,
    "fetal": fetal,
}


def linear_tree(depth: int, bins: int = 32) -> Any:
    """The same tree from scikit-learn's parts: a ridge regression for every side of every split that is tried."""
    from lineartree import LinearTreeRegressor

    # linear-tree 0.3.5 calls a method that scikit-learn 1.7 renamed
    LinearTreeRegressor._validate_data = lambda self, X, y="no_validation", force_all_finite=True, **how: validate_data(
        self, X, y, ensure_all_finite=force_all_finite, **how
    )
    return LinearTreeRegressor(Ridge(1.0), max_depth=depth, max_bins=bins, min_samples_leaf=MIN_LEAF)


def lightgbm_tree() -> Any:
    """One tree of LightGBM with linear leaves: grown for constants, linear in the features on a leaf's path."""
    from lightgbm import LGBMRegressor

    return LGBMRegressor(
        n_estimators=1, num_leaves=LEAVES, learning_rate=1.0, linear_tree=True, linear_lambda=1.0, max_bin=32,
        min_child_samples=MIN_LEAF, n_jobs=1, verbose=-1,
    )  # fmt: skip


def our_tree(leaf: str = "affine") -> MoETRegressor:
    """One tree, every row, no choice and no polishing: what the others do."""
    return MoETRegressor(
        1, DEPTH, leaf=leaf, min_samples_leaf=MIN_LEAF, ridge=1.0, joint_iter=0, validation_fraction=0.0, random_state=0
    )


SPEED: dict[str, tuple[str | None, Callable[[], Any]]] = {
    "moet": (None, our_tree),
    "linear-tree": ("lineartree", lambda: linear_tree(DEPTH)),
    "LightGBM linear_tree": ("lightgbm", lightgbm_tree),
    "moet, constant leaves": (None, lambda: our_tree("constant")),
    "scikit-learn, constant leaves": (None, lambda: DecisionTreeRegressor(max_depth=DEPTH, min_samples_leaf=MIN_LEAF)),
}


def speed(name: str, n_rows: int, n_features: int) -> Row:
    """CPU seconds of one tree of depth 3, and its R² on other rows."""
    X, y = make_friedman1(n_rows, n_features=n_features, noise=1.0, random_state=0)
    others = make_friedman1(10_000, n_features=n_features, noise=1.0, random_state=1)
    model, seconds = cpu_seconds(lambda: SPEED[name][1]().fit(X, y))
    return {"seconds": seconds, "r2": float(model.score(*others))}


def growth(n_rows: int, n_experts: int, max_depth: int) -> Row:
    """CPU seconds of a mixture as users train it."""
    X, y = make_friedman1(n_rows, noise=1.0, random_state=0)
    _, seconds = cpu_seconds(lambda: MoETRegressor(n_experts, max_depth, ridge=1.0, random_state=0).fit(X, y))
    return {"seconds": seconds}


def grid(name: str) -> list[Any]:
    """The members that validation rows choose from."""
    if name == "ridge":
        return [make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13)))]
    if name == "tree":
        return [
            DecisionTreeRegressor(max_leaf_nodes=n, min_samples_leaf=5, random_state=0) for n in (8, 16, 32, 64, 128)
        ]
    if name == "linear-tree":
        return [make_pipeline(StandardScaler(), linear_tree(depth, bins=10)) for depth in (2, 3)]
    if name == "Cubist":
        from cubist import Cubist

        return [Cubist(n_committees=n, random_state=0) for n in (1, 5)]
    if name == "EBM":
        from interpret.glassbox import ExplainableBoostingRegressor

        return [ExplainableBoostingRegressor(outer_bags=EBM_BAGS, n_jobs=1, random_state=0)]
    if name == "boosting":
        return [HistGradientBoostingRegressor(learning_rate=rate, random_state=0) for rate in (0.03, 0.1)]
    mode = "soft" if name == "MoËT" else "hard"
    return [MoETRegressor(e, d, prediction=mode, random_state=0) for e, d in ((1, 2), (4, 0), (4, 1), (8, 0))]


MODELS: dict[str, str | None] = {
    "ridge": None,
    "tree": None,
    "linear-tree": "lineartree",
    "Cubist": "cubist",
    "MoËT_h": None,
    "MoËT": None,
    "EBM": "interpret",
    "boosting": None,
}
"""The package that each needs besides scikit-learn."""


def quality(name: str, table: str, split: int) -> Row:
    """R² on 15 % of the rows; another 15 % chose the member of the grid, which was then fitted to both parts."""
    X, y = TABLES[table]()
    X_rest, X_test, y_rest, y_test = train_test_split(X, y, test_size=0.15, random_state=split)
    X_train, X_valid, y_train, y_valid = train_test_split(X_rest, y_rest, test_size=0.15 / 0.85, random_state=split)
    members = grid(name)

    def chosen() -> Any:
        if len(members) == 1:
            return members[0].fit(X_rest, y_rest)
        best = max(members, key=lambda member: clone(member).fit(X_train, y_train).score(X_valid, y_valid))
        return best.fit(X_rest, y_rest)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # linear-tree's, about features without names
        model, seconds = cpu_seconds(chosen)
    return {"seconds": seconds, "r2": float(model.score(X_test, y_test)), "numbers": numbers_of(model)}


def numbers_of(model: Any) -> int | None:
    """How many numbers say what a model does, where that can be said simply."""
    if isinstance(model, MoETRegressor):
        return model.mixture_.n_numbers
    if isinstance(model, DecisionTreeRegressor):
        return 3 * int(model.get_n_leaves()) - 2
    last = model[-1] if hasattr(model, "steps") else model
    if isinstance(last, RidgeCV):
        return last.n_features_in_ + 1
    if hasattr(last, "coeffs_"):  # Cubist's: the numbers of its rules' laws, and two for every condition
        laws = last.coeffs_.drop(columns=["committee", "rule"])
        return int(laws.notna().to_numpy().sum()) + 2 * len(last.splits_)
    if hasattr(last, "term_scores_"):  # EBM's tables
        return int(sum(scores.size for scores in last.term_scores_))
    if hasattr(last, "summary"):  # linear-tree's
        leaves = len(last.summary(only_leaves=True))
        return leaves * (last.n_features_in_ + 1) + 2 * (leaves - 1)
    return None


def report_speed(results: Results) -> None:
    for name in SPEED:  # everything is compiled and loaded before it is measured
        if SPEED[name][0] is None:
            speed(name, 2000, 10)
    rows = [
        [name, n, *(results.measure(speed, name=name, n_rows=n, n_features=10)[key] for key in ("seconds", "r2"))]
        for n in (10_000, 100_000)
        for name, (package, _) in SPEED.items()
        if (package is None or find_spec(package)) and (name != "linear-tree" or n == 10_000)
    ]
    show(f"one tree of depth {DEPTH}, friedman1 with 10 features", ["model", "rows", "CPU seconds", "R²"], rows)


def report_growth(results: Results) -> None:
    growth(2000, 4, 1)
    sizes = (5_000, 10_000, 20_000, 40_000, 80_000)
    rows = []
    for e, d in ((1, 3), (4, 0), (4, 1)):
        measured = [results.measure(growth, n_rows=n, n_experts=e, max_depth=d) for n in sizes]
        rows.append([f"{e} experts, depth {d}", *(row["seconds"] for row in measured)])
    show("CPU seconds of a fit with ridge=1, by rows", ["model", *map(str, sizes)], rows)


def report_tables(results: Results, tables: list[str], models: list[str], n_splits: int) -> None:
    for table in tables:
        if table == "fetal" and "MOET_DATA" not in os.environ:
            console.print("fetal left out: set MOET_DATA to the folder of fetal_health.csv")
            continue
        rows = []
        for name in models:
            if (package := MODELS[name]) is not None and not find_spec(package):
                continue
            measured = [results.measure(quality, name=name, table=table, split=split) for split in range(n_splits)]
            mean = mean_with_interval([row["r2"] for row in measured])
            size = [row["numbers"] for row in measured]
            interval = f"{mean.value:.3f} ± {mean.half_width:.3f}" if n_splits > 1 else f"{mean.value:.3f}"
            seconds = sum(row["seconds"] for row in measured) / n_splits
            rows.append([name, interval, "" if size[0] is None else int(np.median(size)), seconds])
        show(f"{table}: R² on held-out rows, {n_splits} splits", ["model", "R²", "numbers", "CPU seconds"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["speed", "growth", "tables"])
    parser.add_argument("--splits", type=int, default=6)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    single_threaded()
    console.print(machine())
    results = Results(arguments.json)
    if "speed" in arguments.parts:
        report_speed(results)
    if "growth" in arguments.parts:
        report_growth(results)
    if "tables" in arguments.parts:
        report_tables(results, arguments.tables, arguments.models, arguments.splits)


if __name__ == "__main__":
    main()
