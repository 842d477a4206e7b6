"""Episodes spread over processes, on this machine or on others.

What is played travels as one pickle by value, made by cloudpickle: environments, policies and features that are defined
in the user's script, as classes or closures, and what the script registered under an id. It is made once for all shares
of a play, and each process reads it once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from moet.errors import TaskError

if TYPE_CHECKING:
    from moet.envs.rollout import Episodes
    from moet.envs.task import Task

SHARES_PER_WORKER = 4
"""Episodes differ in length, so whoever is done early takes another share."""


def number_of_workers(workers: int) -> int:
    """How many processes to use: as many as asked for, or else as ``joblib.parallel_config`` says."""
    if workers > 1:
        return workers
    from joblib import effective_n_jobs

    return int(effective_n_jobs(None))


def spread(act: Callable[..., Any], task: Task, seeds: Sequence[int], workers: int) -> list[Episodes]:
    """Play one episode per seed in several processes; parts in the order of the seeds.

    Raises
    ------
    TaskError
        If the task or the player cannot travel to another process.
    """
    import cloudpickle
    from joblib import Parallel, delayed

    try:
        player = cloudpickle.dumps((act, task))
    except Exception as error:  # whatever the user's objects raise when they are pickled
        raise TaskError(f"{task.name} cannot be played in other processes ({error}); use workers=1") from error
    count = min(SHARES_PER_WORKER * workers, len(seeds))
    shares = [[int(seed) for seed in share] for share in np.array_split(np.asarray(seeds, dtype=object), count)]
    name = hashlib.sha256(player).hexdigest()
    return list(Parallel(n_jobs=workers)(delayed(_play_share)(name, player, share) for share in shares))


def _play_share(name: str, player: bytes, seeds: list[int]) -> Episodes:
    from joblib import parallel_config

    from moet.envs.rollout import play

    act, task = _unpacked(_Named(name, player))
    with parallel_config("sequential"):  # this process is one of many already
        return play(act, task, seeds)


class _Named:
    """Bytes that are known by their digest, so that to find them in a cache does not compare them."""

    def __init__(self, name: str, content: bytes) -> None:
        self.name, self.content = name, content

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Named) and other.name == self.name


@lru_cache(maxsize=1)
def _unpacked(player: _Named) -> tuple[Callable[..., Any], Task]:
    import cloudpickle

    return cloudpickle.loads(player.content)
