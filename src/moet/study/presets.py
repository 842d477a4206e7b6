"""What a sweep tries on each task: all grids in one place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal, get_args

from moet.distill.dataset import Importance, Weighting
from moet.distill.selection import Selection
from moet.envs.task import Task
from moet.errors import InputError

Preset = Literal["quick", "standard", "paper"]
"""``"quick"``: minutes, to see that it works. ``"standard"``: all seven tasks on two cores in about two hours.
``"paper"``: the published grids and the published training, for a cluster."""

EVALUATED_TASKS = ("cartpole", "mountaincar", "acrobot", "pendulum", "gridworld", "lunarlander", "pong-18")
"""The tasks of the paper, which ``moet sweep all`` works on."""

DEFAULT_GATE: Mapping[str, Mapping[str, Any]] = {"default": {}}

PUBLISHED_GATE: dict[str, Any] = {
    "init": "random",
    "n_init": 1,
    "gate_solver": "adam",
    "gate_l2": 0.0,
    "min_samples_leaf": 1,
    "tol": 0.0,
    "hard_iter": 0,
}
"""The paper's training of a mixture, without its rates and epochs."""

PUBLISHED_GATES = {
    f"rate {rate:g}, decay {decay:g}, {epochs} epochs": PUBLISHED_GATE
    | {"learning_rate": rate, "learning_rate_decay": decay, "max_iter": epochs}
    for rate, decay, epochs in product((1.0, 0.3, 0.1, 1e-2, 1e-3, 1e-4, 1e-5), (1.0, 0.97), (50, 100, 500))
}


SINGLE_ROWS: dict[str, Mapping[str, Any]] = {"leaves of one row": {"min_samples_leaf": 1}}
"""For teachers that are always right: what was seen once counts."""

BOOSTING = "boosting"
"""Name of the training of those soft mixtures that are boosted."""

BOOSTED: dict[str, Any] = {"training": "boosting", "min_samples_leaf": 1}


@dataclass(frozen=True)
class Plan:
    """What is tried on a task, and how thoroughly; the same for every kind of student.

    Attributes
    ----------
    tree_depths : tuple of int
        Depths of single trees (VIPER).
    mixtures : tuple of pairs of int
        Experts and depth; each is trained for soft and for hard prediction (MoËT and MoËT_h).
    boosted : tuple of pairs of int
        Experts and depth of mixtures that are boosted, for soft prediction.
    gates : mapping
        Options of :class:`~moet.MoETClassifier` that mixtures are trained with, by a name for them.
    seeds : int
        Every configuration is run with the seeds 0, 1, ... of this many.
    iterations, rollouts, max_samples, importance, weighting, selection, selection_episodes
        Of each distillation, see :func:`moet.distill.distill`.
    episodes : int
        Played to compare configurations, and again as many fresh ones.
    verify_seconds : float
        Limit for the proof that is tried where a system of the task is known.

    Examples
    --------
    >>> from moet.study import Plan
    >>> Plan(tree_depths=(1, 3), mixtures=((2, 0),), iterations=4).trainings
    {'default': {}}
    """

    tree_depths: tuple[int, ...]
    mixtures: tuple[tuple[int, int], ...]
    boosted: tuple[tuple[int, int], ...] = ()
    gates: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: DEFAULT_GATE)
    seeds: int = 1
    iterations: int = 40
    rollouts: int = 10
    max_samples: int = 200_000
    importance: Importance = "uniform"
    weighting: Weighting = "weight"
    selection: Selection = "reward_then_fidelity"
    selection_episodes: int = 50
    episodes: int = 100
    verify_seconds: float = 5.0

    @property
    def trainings(self) -> dict[str, Mapping[str, Any]]:
        """Options of all mixtures, by name."""
        return dict(self.gates) | ({BOOSTING: BOOSTED} if self.boosted else {})


def plan_for(preset: str, task: Task) -> Plan:
    """The plan of a preset for a task; tasks that the paper does not have get a general one."""
    name = task.name.partition("-")[0].lower()
    match preset:
        case "quick":
            return _QUICK_PONG if name == "pong" else _QUICK
        case "standard":
            return _STANDARD.get(name, _STANDARD_ELSEWHERE)
        case "paper":
            return _published(task, _PUBLISHED_TREE_DEPTHS.get(name, _span(1, 20)))
    raise InputError(f"there is no preset {preset!r}; there are {', '.join(get_args(Preset))}")


def _span(first: int, last: int) -> tuple[int, ...]:
    return tuple(range(first, last + 1))


def _grid(experts: Iterable[int], depths: Iterable[int]) -> tuple[tuple[int, int], ...]:
    return tuple(product(experts, depths))


_QUICK = Plan(
    tree_depths=(2, 4, 6),
    mixtures=_grid((2, 4), (0, 2)),
    seeds=2,
    iterations=4,
    rollouts=5,
    selection_episodes=5,
    episodes=30,
    verify_seconds=2.0,
)

_QUICK_PONG = Plan(
    tree_depths=(6,),
    mixtures=((4, 4),),
    iterations=3,
    rollouts=1,
    selection_episodes=1,
    episodes=2,
)
"""A game of Pong takes seconds."""

_STANDARD_ELSEWHERE = Plan(
    tree_depths=(2, 4, 6, 8, 10, 12, 15),
    mixtures=_grid((2, 4, 8, 16), (0, 4, 8)),
    seeds=2,
    iterations=15,
    rollouts=20,
)

_STANDARD = {
    "cartpole": Plan(
        tree_depths=_span(1, 15),
        mixtures=(*_grid((2, 4), (0, 2, 4)), (8, 0), (8, 3)),
        seeds=2,
        iterations=20,
        episodes=250,
    ),
    "mountaincar": Plan(
        tree_depths=(*_span(1, 12), 15),
        mixtures=((2, 8), (2, 15), (4, 4), (4, 15), (8, 0), (8, 4), (8, 6)),
        boosted=((4, 8),),
        gates=SINGLE_ROWS,
        seeds=2,
        iterations=20,
        rollouts=40,
        episodes=250,
    ),
    "acrobot": Plan(
        tree_depths=(1, 2, 3, 4, 5, 6, 8, 10, 12, 15),
        mixtures=((2, 12), (4, 9), (8, 6), (8, 9), (16, 0), (32, 0)),
        boosted=((8, 6), (16, 6), (16, 10)),
        seeds=2,
        iterations=15,
        rollouts=30,
        episodes=250,
    ),
    "pendulum": Plan(
        tree_depths=(1, 2, 4, 6, 8, 10, 12, 14, 16, 20),
        mixtures=((2, 12), (2, 20), (4, 14), (8, 8), (8, 12), (16, 6)),
        boosted=((8, 12), (8, 16), (16, 16)),
        gates=SINGLE_ROWS,
        seeds=2,
        iterations=15,
        rollouts=30,
        episodes=250,
    ),
    "gridworld": Plan(
        tree_depths=_span(1, 8),
        mixtures=_grid((2, 4), (0, 1)),
        seeds=2,
        iterations=10,
    ),
    "lunarlander": Plan(
        tree_depths=(2, 4, 6, 8, 10, 12, 15, 20),
        mixtures=((2, 16), (4, 12), (8, 8), (16, 0), (16, 6)),
        boosted=((8, 8), (8, 12), (16, 8)),
        seeds=2,
        iterations=12,
        rollouts=25,
        selection_episodes=20,
    ),
    # docs/pong.md says why: a game takes seconds, there are only four, and every step of them comes again
    "pong": Plan(
        tree_depths=(8, 15, 20, 30),
        mixtures=((2, 20), (4, 20), (8, 30)),
        gates=SINGLE_ROWS,
        seeds=2,
        iterations=4,
        rollouts=10,
        selection_episodes=1,
        episodes=4,
    ),
}

_PUBLISHED_TREE_DEPTHS = {
    "cartpole": _span(1, 15),
    "acrobot": _span(1, 20),
    "mountaincar": _span(1, 20),
    "lunarlander": _span(1, 30),
    "pong": _span(1, 35),
}


def _published(task: Task, tree_depths: tuple[int, ...]) -> Plan:
    """The paper's grid, or for a task that it gives none for, one like that of Acrobot."""
    return Plan(
        tree_depths=tree_depths,
        mixtures=_grid(task.experts or _span(2, 8), task.depths or _span(0, 15)),
        gates=PUBLISHED_GATES,
        seeds=5,
        importance="q_gap",
        weighting="resample",
        selection="reward",
        episodes=task.episodes,
        verify_seconds=60.0,
    )
