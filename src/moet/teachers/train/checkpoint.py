"""A run on disk: what was learned so far, and all that the rest of it depends on."""

from __future__ import annotations

import pickle
from pathlib import Path

import torch

from moet.errors import TeacherError
from moet.files import written_whole
from moet.teachers.arrays import read_network, write_network
from moet.teachers.network import Network
from moet.teachers.train.learner import Learner, Recipe


class Checkpoint:
    """The two files of a run in a folder: ``NAME.pt`` to go on from, and ``NAME.npz``, the best network so far.

    The network is written first. After a kill in between, the run repeats a leg and writes the same network again.
    """

    def __init__(self, folder: Path, recipe: Recipe, seed: int) -> None:
        name = f"{recipe.task}-seed{seed}"
        self._run = folder / f"{name}.pt"
        self._network = folder / f"{name}.npz"
        self._identity = {"format": 1, "recipe": repr(recipe), "seed": seed}

    def restore(self, learner: Learner) -> tuple[list[tuple[int, float]], Network | None]:
        """Bring a new learner to where the run was left, and return its history and its best network."""
        if not self._run.exists():
            return [], None
        try:
            saved = torch.load(self._run, weights_only=True)
        except (RuntimeError, EOFError, pickle.UnpicklingError) as error:
            raise TeacherError(f"{self._run} is no checkpoint of a training run ({error}); delete it") from error
        if {key: saved.get(key) for key in self._identity} != self._identity:
            raise TeacherError(f"{self._run} is from a run with other settings; delete it or give another folder")
        learner.restore(saved["learner"])
        return saved["history"], read_network(self._network).network

    def save(self, learner: Learner, history: list[tuple[int, float]], improved: Network | None) -> None:
        """Write the state between two legs, and the network of the last one if it is the best so far."""
        self._run.parent.mkdir(parents=True, exist_ok=True)
        if improved is not None:
            write_network(improved, self._network)
        with written_whole(self._run) as unfinished:
            torch.save(self._identity | {"history": history, "learner": learner.state()}, unfinished)
