"""One benchmark: a plant, what is demanded of it, the published network, and the controller that is proved."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.file import load
from moet.model.regression.mixture import RegressionMixture
from moet.verify import systems

Floats = NDArray[np.float64]

FOLDER = "MOET_ARCHCOMP"
"""Variable of the environment that names the folder of published networks."""


@dataclass(frozen=True)
class Demand:
    """Conditions that hold together from one time to another, the end by default; or never all at once."""

    conditions: tuple[str, ...]
    start: float = 0.0
    stop: float | None = None
    never: bool = False

    def text(self, end: float) -> str:
        """The demand as :class:`moet.verify.Spec` reads it."""
        together, stop = " and ".join(self.conditions), end if self.stop is None else self.stop
        if stop == np.inf:
            return f"{'never' if self.never else 'always'} {together}"
        if self.never:
            return f"never {together} until {stop:g}"
        if self.start == stop:
            return f"{together} at {stop:g}"
        return f"{together} from {self.start:g} to {stop:g}" if self.start else f"always {together} until {stop:g}"


def within(low: float, high: float, *states: str) -> tuple[str, ...]:
    """Conditions that keep each of these states between two numbers."""
    return tuple(f"{low:g} <= {state} <= {high:g}" for state in states)


@dataclass(frozen=True)
class Network:
    """A published network: its file, what it sees before the features, and what is added to its outputs."""

    file: str
    constants: tuple[float, ...] = ()
    shift: float = 0.0

    @property
    def path(self) -> Path | None:
        """Where it is, if ``$MOET_ARCHCOMP`` names a folder that has it."""
        folder = os.environ.get(FOLDER)
        path = Path(folder or "", "networks", f"{self.file}.onnx")
        return path if folder and path.exists() else None

    def predict(self, features: Floats) -> Floats:
        """Controls that it wants, one row for each row of features."""
        constants = np.broadcast_to(np.array(self.constants), (len(features), len(self.constants)))
        return np.asarray(self._teacher.act(np.column_stack([constants, features]))) + self.shift

    @cached_property
    def _teacher(self) -> Any:
        from moet.teachers import Teacher

        if self.path is None:
            raise InputError(f"the network {self.file}.onnx is published elsewhere: set {FOLDER} to the folder of it")
        return Teacher.from_onnx(self.path, continuous=True)


@dataclass(frozen=True)
class Instance:
    """A benchmark.

    Attributes
    ----------
    name, title : str
    description : mapping
        What the constructor of ``kind`` is given.
    steps : int or None
        How many control periods are looked at; None if the demands are for ever.
    demands : tuple of Demand
    origin : str
        Where the controller comes from, in words.
    network : Network, optional
        The published controller.
    cora : float, optional
        Seconds that CORA took for the published network on another machine: the whole example, plots included.
    kind : type
        :class:`moet.verify.systems.SampledSystem`, or a system in discrete time.
    holds : bool
        Whether the controller is meant to meet the demands; otherwise a proof that it does not is wanted.
    """

    name: str
    title: str
    description: Mapping[str, Any]
    steps: int | None
    demands: Sequence[Demand]
    origin: str
    network: Network | None = None
    cora: float | None = None
    kind: type[systems.System] = systems.SampledSystem
    holds: bool = True

    @cached_property
    def plant(self) -> systems.System:
        """The plant."""
        return self.kind(self.name, **self.description)

    @property
    def period(self) -> float:
        """Time between two looks of the controller; 1 in discrete time."""
        return float(getattr(self.plant, "period", 1))

    @property
    def end(self) -> float:
        """The last time that is looked at."""
        return np.inf if self.steps is None else self.steps * self.period

    @property
    def spec(self) -> str:
        """All demands as one text."""
        return "; ".join(demand.text(self.end) for demand in self.demands)

    @cached_property
    def controller(self) -> RegressionMixture:
        """The controller that is proved, from its model file."""
        path = resources.files("moet.study.archcomp") / "controllers" / f"{self.name}.moet.json"
        with resources.as_file(path) as file:
            model = load(file)
        assert isinstance(model, RegressionMixture)
        return model
