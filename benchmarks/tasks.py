"""The tables the benchmarks measure on.

Tables that come from outside the repository are looked up through two environment variables: ``MOET_DATA`` (a folder
with ``paper_rollouts/*.csv`` and ``adult.csv``) and ``MOET_TEACHERS`` (a folder with ``cartpole.npz``). A task whose
files are not there raises :class:`Unavailable`, and the scripts say that they skip it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Unavailable(Exception):
    """The data of a task cannot be found on this machine."""


class Table(NamedTuple):
    """Rows, labels, and the group (episode) that every row belongs to."""

    X: Floats
    y: Ints
    group: Ints


class Split(NamedTuple):
    """Three tables that share no group, and the groups of :attr:`fit_rows`."""

    Xtr: Floats
    ytr: Ints
    Xva: Floats
    yva: Ints
    Xte: Floats
    yte: Ints
    fit_groups: Ints | None = None

    @property
    def fit_rows(self) -> tuple[Floats, Ints]:
        """Everything that a training procedure may look at: the training and the validation rows."""
        return np.concatenate([self.Xtr, self.Xva]), np.concatenate([self.ytr, self.yva])


def split_by_group(table: Table, seed: int, train: float = 0.6, validation: float = 0.15) -> Split:
    """Assign whole groups to train, validation and test (the rest)."""
    groups, member = np.unique(table.group, return_inverse=True)
    rank = np.random.default_rng(seed).permutation(len(groups))[member] / len(groups)
    parts = (rank < train, (rank >= train) & (rank < train + validation), rank >= train + validation)
    fit_groups = np.concatenate([table.group[part] for part in parts[:2]])
    return Split(*(array[part] for part in parts for array in (table.X, table.y)), fit_groups=fit_groups)


def mlp(seed: int, n_features: int, n_classes: int, width: int = 32, gain: float = 1.5) -> Callable[[Floats], Ints]:
    """Draw a random tanh network with two hidden layers that labels standard normal rows.

    The logits are standardised on a sample of such rows, so that every class is used.
    """
    rng = np.random.default_rng(seed)
    sizes = (n_features, width, width, n_classes)
    layers = [(rng.normal(0, gain / np.sqrt(a), (a, b)), rng.normal(0, 0.5, b)) for a, b in pairwise(sizes)]

    def logits(X: Floats) -> Floats:
        for weights, bias in layers[:-1]:
            X = np.tanh(X @ weights + bias)
        return X @ layers[-1][0]

    sample = logits(rng.normal(size=(20_000, n_features)))
    mean, scale = sample.mean(axis=0), sample.std(axis=0)
    return lambda X: ((logits(X) - mean) / scale).argmax(axis=1)


def _mlp_split(n_features: int, n_classes: int, seed: int) -> Split:
    label = mlp(n_features, n_features, n_classes)
    rng = np.random.default_rng([n_features, seed])
    tables = [rng.normal(size=(n, n_features)) for n in (16_000, 4_000, 50_000)]
    return Split(*(array for X in tables for array in (X, label(X))))


def acrobot(seed: int) -> Split:
    """States and actions of the paper's Acrobot teacher."""
    X, y = _rollouts("acrobot")
    hanging = (X[:, 0] > 0.995) & (X[:, 2] > 0.995) & (np.abs(X[:, 4:]) <= 0.1).all(axis=1)
    return split_by_group(Table(X, y, np.cumsum(hanging)), seed)


def mountaincar(seed: int) -> Split:
    """States and actions of the paper's MountainCar teacher."""
    X, y = _rollouts("mountaincar")
    resting_in_valley = (X[:, 1] == 0) & (np.abs(X[:, 0] + 0.5) <= 0.1)
    return split_by_group(Table(X, y, np.cumsum(resting_in_valley)), seed)


def cartpole(seed: int) -> Split:
    """States of a CartPole teacher whose play is disturbed by held random pushes, with its undisturbed actions."""
    return split_by_group(_cartpole_table(), seed, train=0.4, validation=0.1)


@lru_cache
def _cartpole_table(n_rows: int = 40_000, disturbed: float = 0.2, hold: int = 4, max_steps: int = 200) -> Table:
    try:
        import gymnasium
    except ImportError:
        raise Unavailable("gymnasium is not installed") from None
    with np.load(_file("MOET_TEACHERS", "cartpole.npz")) as weights:
        w1, b1, w2, b2 = (weights[f"{layer}/{part}"] for layer in ("hidden_1", "output") for part in ("kernel", "bias"))
    env = gymnasium.make("CartPole-v1", max_episode_steps=max_steps)
    rng = np.random.default_rng(0)
    X, y, group = np.empty((n_rows, 4)), np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
    episode, over, left, push = -1, True, 0, 0
    for i in range(n_rows):
        if over:
            episode += 1
            state, _ = env.reset(seed=episode)
        X[i], y[i], group[i] = state, np.argmax(np.maximum(state @ w1 + b1, 0) @ w2 + b2), episode
        if left == 0 and rng.random() < disturbed / hold:
            left, push = hold, int(rng.integers(2))
        state, _, fallen, truncated, _ = env.step(push if left else int(y[i]))
        left, over = max(left - 1, 0), fallen or truncated
    return Table(X, y, group)


TASKS: dict[str, Callable[[int], Split]] = {
    "mlp6": lambda seed: _mlp_split(6, 3, seed),
    "mlp8": lambda seed: _mlp_split(8, 4, seed),
    "acrobot": acrobot,
    "mountaincar": mountaincar,
    "cartpole": cartpole,
}
"""The five imitation tasks: seed -> :class:`Split`."""


@lru_cache
def imitation(task: str, seed: int) -> Split:
    """Rows of one of the five tasks, split by ``seed``."""
    return TASKS[task](seed)


def synthetic(n_rows: int, n_features: int, n_classes: int, seed: int = 0) -> tuple[Floats, Ints]:
    """Draw standard normal rows labelled by a random network; for measurements of time."""
    X = np.random.default_rng(seed).normal(size=(n_rows, n_features))
    return X, mlp(seed, n_features, n_classes)(X)


def adult(n_rows: int = 34_000) -> tuple[Floats, Ints]:
    """UCI Adult with one-hot columns for its categories (``?`` is a category), numbers as they are."""
    import pandas as pd

    frame = pd.read_csv(_file("MOET_DATA", "adult.csv")).iloc[:n_rows]
    X = pd.get_dummies(frame.drop(columns=["income", "split"]))
    return X.to_numpy(np.float64), frame["income"].str.contains(">50K").to_numpy(np.int64)


@lru_cache
def _rollouts(name: str) -> tuple[Floats, Ints]:
    observations = np.loadtxt(_file("MOET_DATA", f"paper_rollouts/{name}_observations.csv"), delimiter=",")
    return observations, np.loadtxt(_file("MOET_DATA", f"paper_rollouts/{name}_actions.csv")).astype(np.int64)


def _file(variable: str, name: str) -> Path:
    path = Path(os.environ.get(variable, "")) / name
    if variable not in os.environ or not path.is_file():
        raise Unavailable(f"{name} not found; set {variable} to the folder that holds it")
    return path
