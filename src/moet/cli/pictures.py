"""The pictures that ``moet plot`` draws: what the command line says, turned into what is drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from moet.cli.inputs import known_task, read_input, units_of
from moet.cli.verdicts import cell, domain
from moet.distill.policy import Policy
from moet.envs.catalog import resolve
from moet.envs.rollout import play
from moet.envs.seeds import Purpose, episode_seeds
from moet.errors import InputError
from moet.explain.decision_surfaces import draw_surfaces, surfaces
from moet.explain.experts import draw_owned_surfaces, draw_ownership, ownership
from moet.explain.gate import draw_gate, gate_table
from moet.explain.regions import Answer, Axis, decision_regions, draw_regions
from moet.explain.text import feature_index, number, with_units
from moet.explain.trajectories import draw_trajectory, trajectory
from moet.explain.trees import DEPTH, draw_trees, drawn_trees
from moet.model.file import as_mixture
from moet.model.regression.mixture import RegressionMixture
from moet.model.text import count, printable
from moet.teachers import load as load_teacher
from moet.verify.arguments import check_same_features, comparable
from moet.verify.rows.domain import rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from moet.envs.task import Task
    from moet.model.base import BaseMixture
    from moet.model.file import Model
    from moet.teachers.teacher import Teacher

EPISODES = 10
"""Episodes that a policy plays to show which values its features take."""
POSSIBLE_ROWS = 1000
"""Random possible rows that stand for a table which is not given."""


@dataclass(frozen=True)
class Subject:
    """A model with what is known about its inputs."""

    path: Path
    mixture: Model
    env: str | None
    data: Path | None
    seed: int

    @cached_property
    def task(self) -> Task | None:
        """What it plays: the task named, or else the one it was made for."""
        return known_task(self.mixture) if self.env is None else resolve(self.env)

    @property
    def units(self) -> dict[str, str]:
        """Units by feature name."""
        return units_of(self.mixture, self.task)

    @property
    def title(self) -> str:
        """Kind and size."""
        size = self.mixture.size
        if size.experts == 1:
            return f"tree, {count(size.leaves, 'leaf', 'leaves')}"
        name = "MoËT_h" if self.mixture.prediction == "hard" else "MoËT"
        return f"{name}, {size.experts} experts, depth {size.depth}"

    @cached_property
    def rows(self) -> NDArray[np.float64]:
        """Inputs such as the model meets: of the table, or of its own play."""
        if self.data is not None:
            from moet.cli.data import features_of

            return features_of(self.data, self.mixture)
        if self.task is None and self.mixture.schema is not None:
            from moet.verify.rows.domain import rows_of

            return rows_of(None, as_mixture(self.mixture)).sample(POSSIBLE_ROWS, np.random.default_rng(self.seed))
        return self.play(EPISODES)[0]

    @cached_property
    def typical_row(self) -> NDArray[np.float64]:
        """The middle of what the model meets: medians, and of a table's columns possible ones."""
        middle = np.median(self.rows, axis=0)
        schema = self.mixture.schema
        for place in () if schema is None else schema.places:
            own = list(place.features)
            if place.column.kind == "category":
                middle[own] = np.eye(len(own))[self.rows[:, own].sum(axis=0).argmax()]
            elif place.column.is_whole:
                middle[own] = np.round(middle[own])
        return middle

    def play(self, episodes: int) -> tuple[NDArray[np.float64], float]:
        """What the model sees in its own play, and its mean reward."""
        if self.task is None:
            raise InputError(
                f"{self.path} does not say for which known task it was made: "
                "name one with --env, or say which values to draw with --data or with --where and --at"
            )
        seeds = episode_seeds(self.seed, Purpose.REPORT, episodes)
        played = play(Policy.of(self.mixture, self.task).act, self.task, seeds)
        return self.task.view(played.observations), float(played.returns.mean())


def regions(
    subjects: Sequence[Subject], features: list[str] | None, at: str | None, where: str | None, teacher: bool
) -> Figure:
    """Answers over two features, of several models and perhaps of the teacher."""
    first = subjects[0]
    if any(map(_has_numbers, subjects)):
        return _output_maps(subjects, features, at, where, teacher)
    x, y, held = _map(first, features, at, where)
    mixtures = [as_mixture(subject.mixture) for subject in subjects]
    asked: dict[str, Callable[[NDArray[np.float64]], NDArray[Any]]] = {}
    labels: list[Any] = []
    if teacher:
        task, agent = _with_teacher(first)
        mixtures = [as_mixture(Policy.of(mixture, task)) for mixture in mixtures]  # whose labels are names of actions
        actions = np.array(task.action_names) if task.has_named_actions else np.arange(len(task.action_names))
        asked["teacher"] = lambda rows: actions[agent.act(rows)]
        labels = actions.tolist()
    for other in mixtures[1:]:
        comparable(mixtures[0], other)
    asked |= {title: mixture.predict for title, mixture in zip(_titles(subjects), mixtures, strict=True)}
    labels = list(dict.fromkeys([*labels, *(label for mixture in mixtures for label in mixture.classes.tolist())]))
    panels = decision_regions({title: _numbered(ask, labels) for title, ask in asked.items()}, x, y, held)
    return draw_regions(panels, [printable(str(label)) for label in labels], _held_note(first, x, y, held))


def _has_numbers(subject: Subject) -> bool:
    return bool(_outputs(subject))


def _outputs(subject: Subject) -> tuple[str, ...]:
    return subject.mixture.outputs if isinstance(subject.mixture, RegressionMixture) else ()


def _output_maps(
    subjects: Sequence[Subject], features: list[str] | None, at: str | None, where: str | None, teacher: bool
) -> Figure:
    """Outputs over two features, of several models."""
    first = subjects[0]
    if teacher:
        raise InputError("--teacher goes with models that answer with labels; this one answers with numbers")
    if not all(map(_has_numbers, subjects)):
        raise InputError("one model answers with numbers and another one with labels: draw them apart")
    for other in subjects[1:]:
        check_same_features(first.mixture, other.mixture)
        if _outputs(first) != _outputs(other):
            raise InputError(f"{first.path} and {other.path} have different outputs: draw them apart")
    x, y, held = _map(first, features, at, where)
    titled = zip(_titles(subjects), subjects, strict=True)
    panels = [surfaces(subject.mixture, x, y, held, title=title) for title, subject in titled]
    return draw_surfaces(panels, _held_note(first, x, y, held))


def experts(subject: Subject, features: list[str] | None, at: str | None, where: str | None) -> Figure:
    """Who answers where over two features."""
    x, y, held = _map(subject, features, at, where)
    note = "\n".join(filter(None, [subject.title, _held_note(subject, x, y, held)]))
    if _has_numbers(subject):
        return draw_owned_surfaces(surfaces(subject.mixture, x, y, held), note)
    return draw_ownership(ownership(subject.mixture, x, y, held), note)


def trees(subject: Subject, experts: list[int] | None, at: str | None, depth: int | None) -> Figure:
    """The trees of the experts, of all of them by default."""
    mixture = subject.mixture
    x = None if at is None else read_input(at, mixture)
    depth = DEPTH if depth is None else depth
    drawn = drawn_trees(mixture, experts=experts or None, max_depth=depth, at=x, units=subject.units)
    colours = mixture.n_experts if isinstance(mixture, RegressionMixture) else len(mixture.classes)
    return draw_trees(drawn, colours, subject.title)


def gate(subject: Subject) -> Figure:
    """The weights of the gate, scaled if a table or a task to play was named."""
    wanted = subject.env is not None or subject.data is not None
    return draw_gate(gate_table(subject.mixture, subject.rows if wanted else None, units=subject.units), subject.title)


def rollout(subject: Subject, features: list[str] | None) -> Figure:
    """One episode over time."""
    states, reward = subject.play(1)
    run = trajectory(subject.mixture, states, features=features, units=subject.units)
    return draw_trajectory(run, f"{subject.title}: {len(states)} steps, reward {reward:.6g}")


def proof(subject: Subject, certificate: Path | None, system: str | None, states: list[str] | None) -> Figure:
    """The sets of a proof, with simulated runs."""
    from moet.explain.proof import proof_picture
    from moet.explain.proof_drawing import draw_proof
    from moet.verify import systems
    from moet.verify.checker.certificate import Certificate

    if certificate is None or system is None:
        raise InputError("--kind proof draws a certificate: name it with --certificate, and its system with --system")
    plant = systems.find(system)
    picture = proof_picture(Certificate.load(certificate), subject.mixture, plant, seed=subject.seed)
    return draw_proof(picture, states, f"{plant.name}, {subject.title}")


def _map(
    subject: Subject, features: list[str] | None, at: str | None, where: str | None
) -> tuple[Axis, Axis, NDArray[np.float64]]:
    """The two features of a map with their ranges, and the values that the others are held at."""
    names = subject.mixture.feature_names
    chosen = list(names) if features is None and len(names) == 2 else features
    if chosen is None or len(chosen) != 2 or chosen[0] == chosen[1]:
        raise InputError(
            f"name two features for the map with --features a,b; the model has {', '.join(_drawn_names(subject))}"
        )
    columns = [feature_index(name, names) for name in _features_of(chosen, subject)]
    x, y = (_axis(subject, k, *side) for k, side in zip(columns, _ranges(subject.mixture, columns, where), strict=True))
    if at is None:
        return x, y, np.zeros(2) if len(names) == 2 else subject.typical_row
    return x, y, read_input(at, subject.mixture, subject.typical_row if "=" in at else None)


def _drawn_names(subject: Subject) -> list[str]:
    """What can be an axis: features, and of the columns of a table those that are numbers."""
    schema = subject.mixture.schema
    if schema is None:
        return list(subject.mixture.feature_names)
    return [column.name for column in schema.columns if column.kind != "category"]


def _features_of(chosen: list[str], subject: Subject) -> list[str]:
    """Refuse categories, which have no axis: half of one is no row."""
    schema = subject.mixture.schema
    for place in () if schema is None else schema.places:
        for name in chosen:
            if place.column.kind == "category" and name in (place.column.name, *place.column.features):
                raise InputError(
                    f"{place.column.name} has categories, which are no axis of a map: choose two of "
                    f"{', '.join(_drawn_names(subject))}, and say with --at which category is drawn"
                )
    return chosen


def _ranges(mixture: BaseMixture, columns: list[int], where: str | None) -> list[tuple[float, float]]:
    box, names = domain(where, mixture), mixture.feature_names
    if box is None:
        return [(-np.inf, np.inf)] * 2
    low, high = box.bounds(names)
    others = [k for k in range(len(names)) if k not in columns and np.isfinite([low[k], high[k]]).any()]
    if others:
        raise InputError(
            f"--where gives the ranges of the map, and {names[others[0]]} is none of its features; use --at"
        )
    return [(float(low[k]), float(high[k])) for k in columns]


def _axis(subject: Subject, feature: int, low: float, high: float) -> Axis:
    """An axis from ``low`` to ``high``; open sides are where nearly all values lie, and within what is possible."""
    if not (np.isfinite(low) and np.isfinite(high)):
        least, most = np.quantile(subject.rows[:, feature], [0.005, 0.995])
        margin = 0.05 * (most - least) or 0.5
        lowest, highest = _possible(subject.mixture, feature)
        low = low if np.isfinite(low) else max(float(least - margin), lowest)
        high = high if np.isfinite(high) else min(float(most + margin), highest)
    if not low < high:
        name = subject.mixture.feature_names[feature]
        raise InputError(f"the range of {name} is empty: {low:g} to {high:g}; give both sides with --where")
    return Axis(feature, with_units(subject.mixture.feature_names, subject.units)[feature], low, high)


def _possible(mixture: BaseMixture, feature: int) -> tuple[float, float]:
    """The least and the largest value that a feature has in possible rows of a table."""
    if mixture.schema is None:
        return -np.inf, np.inf
    low, high = rows_of(None, mixture).bounds()
    return float(low[feature]), float(high[feature])


def _held_note(subject: Subject, x: Axis, y: Axis, held: NDArray[np.float64]) -> str:
    schema = subject.mixture.schema
    if schema is not None:
        drawn = {subject.mixture.feature_names[axis.feature] for axis in (x, y)}
        cells = [f"{name} = {cell(value)}" for name, value in schema.row(held).items() if name not in drawn]
        return ", ".join(cells)
    labels = with_units(subject.mixture.feature_names, subject.units)
    shown = [f"{labels[k]} = {number(held[k], 3)}" for k in range(len(held)) if k not in (x.feature, y.feature)]
    return ", ".join(shown)


def _titles(subjects: Sequence[Subject]) -> list[str]:
    """Titles that differ: with the files' names where sizes do not tell models apart."""
    counts = Counter(subject.title for subject in subjects)
    return [subject.title if counts[subject.title] == 1 else f"{subject.title}\n{subject.path}" for subject in subjects]


def _with_teacher(subject: Subject) -> tuple[Task, Teacher]:
    """The task that a model plays, and its bundled teacher, if both see the same."""
    task = subject.task
    if task is None:
        raise InputError(f"{subject.path} does not say for which known task it was made; name one with --env")
    if task.features is not None:
        raise InputError(f"the teacher of {task.name} sees something else than the features of the model")
    return task, load_teacher(task.name)


def _numbered(ask: Callable[[NDArray[np.float64]], NDArray[Any]], labels: list[Any]) -> Answer:
    number = {label: k for k, label in enumerate(labels)}
    return lambda rows: np.array([number[label] for label in ask(rows).tolist()])
