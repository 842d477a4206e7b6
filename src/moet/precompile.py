"""Kernels compiled before they are needed: small tasks that use all of them, in several processes at a time.

Numba keeps what it has compiled on disk, so whoever comes next only loads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import active_children, get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray


def _table(rows: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    X = np.random.default_rng(0).normal(size=(rows, 3))
    return X, (X.sum(axis=1) > 0).astype(np.int64)


def small_tables() -> None:
    """Train on few rows, hard and soft, and predict."""
    from moet import MoETClassifier

    X, y = _table(500)
    for prediction in ("hard", "soft"):
        found = MoETClassifier(2, 2, prediction=prediction, max_iter=2, random_state=0).fit(X, y)
        found.predict_proba(X)
        found.mixture_.act(X[0])


def large_tables() -> None:
    """Train on rows that are binned, and one expert after another."""
    from moet import MoETClassifier

    MoETClassifier(2, 3, max_iter=1, random_state=0).fit(*_table(5000))
    MoETClassifier(4, 2, training="boosting", max_iter=1, random_state=0).fit(*_table(500))


def numbers() -> None:
    """Train models that answer with numbers."""
    from moet import MoETRegressor

    X, _ = _table(500)
    for prediction in ("hard", "soft"):
        found = MoETRegressor(2, 1, prediction=prediction, max_iter=1, random_state=0).fit(X, X[:, 0] * X[:, 1])
        found.predict(X)
        found.mixture_.act(X[0])


def questions() -> None:
    """Ask about single inputs."""
    from moet import Box, Mixture, Tree, verify

    feature, left, right = np.array([[0, -1, -1], [1, -1, -1], [2, -1, -1]], dtype=np.int32)
    tree = Tree(feature, np.zeros(3), left, right, np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    domain = Box(x0=(-1, 1), x1=(-1, 1))
    for prediction in ("hard", "soft"):
        model = Mixture([[0.0, 0.0], [1.0, 0.5]], [0.0, 0.1], [tree, tree], [0, 1], prediction=prediction)
        verify.always(model, domain, [0])
        verify.equivalent(model, model, domain)
        verify.closest(model, [0.5, 0.5], domain=domain)


def closed_loops() -> None:
    """Follow a policy by paths."""
    from moet import verify

    verify.safe(_pole(), verify.systems.cartpole_published(), steps=5)


def proofs_for_ever() -> None:
    """Find an invariant, and have its shield decide."""
    from moet import verify
    from moet.shield import Shield

    policy, system = _pole(), verify.systems.cartpole()
    verdict = verify.safe(policy, system, steps=None)
    if isinstance(verdict, verify.Proved) and verdict.certificate is not None:
        Shield(verdict.certificate, policy, system).act(np.zeros(4), "left")


def agents() -> None:
    """Ask the bundled agents."""
    from moet import teachers

    for name in ("cartpole", "acrobot", "mountaincar"):
        teacher = teachers.load(name)
        teacher.act(np.zeros((2, {"cartpole": 4, "acrobot": 6, "mountaincar": 2}[name])))


def _pole() -> Any:
    """A line that holds CartPole's pole."""
    from moet import Mixture, Tree

    gains = [[0.0] * 4, [5.778, 11.041, 96.362, 25.0]]
    return Mixture(gains, [0.0, 0.0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["left", "right"])


GROUPS: dict[str, Callable[[], None]] = {
    "training": small_tables,
    "proofs for ever": proofs_for_ever,
    "large tables": large_tables,
    "numbers": numbers,
    "closed loops": closed_loops,
    "questions": questions,
    "agents": agents,
}
"""What is compiled together, the longest first."""


def warm(workers: int) -> Iterator[str]:
    """Compile everything in ``workers`` processes, and yield the name of each group when it is done."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(group): name for name, group in GROUPS.items()}
        try:
            for done in as_completed(running):
                done.result()
                yield running[done]
        except BaseException:  # an interrupt, above all: nobody waits for what is being compiled
            for process in active_children():
                process.terminate()
            raise
