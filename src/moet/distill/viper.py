"""VIPER: DAgger with a teacher that knows how much each of its choices matters (the paper's Algorithm 1)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

import numpy as np

from moet import __version__
from moet.distill.checkpoint import Checkpoint, Folder, Store
from moet.distill.dataset import Importance, Labelled, Sample, Weighting, q_gap, training_sample
from moet.distill.evaluate import agreement
from moet.distill.policy import Policy
from moet.distill.selection import Score, Selection, ranking
from moet.distill.student import check_student, fit_student, leaf_count, weighted_error
from moet.distill.useless import warn_if_useless
from moet.envs.catalog import resolve
from moet.envs.rollout import Episodes, play
from moet.envs.seeds import Purpose, episode_seeds
from moet.envs.task import FeatureFunction, Task
from moet.errors import InputError
from moet.progress import progress_bar
from moet.teachers.adapters import checked
from moet.teachers.teacher import Teacher

FINALISTS = 5
"""The best students meet again on other episodes, so that luck on the first ones does not decide."""

FINAL_EPISODES = 4
"""How many times as many episodes they play then."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Iteration:
    """What happened in one iteration.

    Attributes
    ----------
    score : Score
        How its student did on the episodes for selection.
    loss : float
        Share of the weight of its training rows on which it does not act as the teacher.
    rows : int
        States collected so far.
    seconds : float
        Time taken.
    """

    score: Score
    loss: float
    rows: int
    seconds: float


@dataclass(frozen=True)
class Distillation:
    """The outcome of :func:`distill`.

    Attributes
    ----------
    policy : Policy
        The student that was kept.
    history : tuple of Iteration
        One entry per iteration.
    selected : int
        Which of them made the policy.
    score : Score
        How it did when the best students met again.
    data : Labelled
        All states that were collected, with the teacher's answers.
    """

    policy: Policy
    history: tuple[Iteration, ...]
    selected: int
    score: Score
    data: Labelled


def distill(
    teacher: Teacher,
    env: Any,
    student: Any,
    *,
    iterations: int = 40,
    rollouts_per_iteration: int = 10,
    max_samples: int = 200_000,
    importance: Importance = "q_gap",
    weighting: Weighting = "weight",
    selection: Selection = "reward_then_fidelity",
    selection_episodes: int = 50,
    features: FeatureFunction | None = None,
    seed: int = 0,
    workers: int = 1,
    checkpoint: str | Path | Store | None = None,
    verbose: int = 0,
) -> Distillation:
    """Train a small student to act as a teacher does, on the states the student itself gets into.

    The first iteration plays the teacher, every other one the student before it. The teacher labels all states seen so
    far, a new student is fitted to them, and the best of all students is kept.

    Parameters
    ----------
    teacher : Teacher
        The oracle.
    env : str, Task or callable
        A name of the catalogue, any Gymnasium id, or a function that makes an environment.
    student : classifier
        Anything with ``fit`` and ``predict``: a :class:`~moet.MoETClassifier`, a decision tree, or your own. It is
        copied, never fitted itself.
    iterations, rollouts_per_iteration : int
        How many students are fitted, and how many episodes are played before each.
    max_samples : int
        Largest number of rows a student is fitted on.
    importance : {"q_gap", "uniform"}
        How much a state matters. A teacher without scores knows no ``"q_gap"``: all states then count the same.
    weighting : {"weight", "resample"}
        How importance enters: as weights of the rows, or by drawing rows as published.
    selection : {"reward", "reward_then_fidelity", "fidelity_then_size", "harmonic"}
        Which student is kept; see :data:`moet.distill.selection.Selection`.
    selection_episodes : int
        Episodes that each student is judged on. The best few play four times as many again.
    features : callable, optional
        From observations to what the student sees; by default what the task says.
    seed : int
        Seed of everything random. Episodes for training, selection and :func:`~moet.distill.evaluate` never coincide.
    workers : int
        Processes to spread episodes over; worth it for slow environments only. The result does not depend on it.
    checkpoint : path or Store, optional
        Folder, or another place, to save each iteration in. A run that finds what it saved goes on from there, with the
        same result as one that was never stopped.
    verbose : int
        1 shows a progress bar on stderr.

    Returns
    -------
    Distillation
    """
    task = resolve(env, features)
    settings = _Settings(
        rollouts_per_iteration, max_samples, importance, weighting, selection, selection_episodes, seed, workers
    )
    settings.check(iterations)
    check_student(student, weighted=weighting == "weight")
    run = _Run(checked(teacher, task), task, student, settings)
    store = Folder(checkpoint) if isinstance(checkpoint, str | Path) else checkpoint
    saved = None if store is None else Checkpoint(store, run.identity())
    with (
        nullcontext() if store is None else store.locked(),
        progress_bar("distilling", iterations, shown=verbose > 0) as advance,
    ):
        if saved is not None:
            run.restore(saved, iterations, advance)
        while len(run.history) < iterations:
            run.iterate(last=len(run.history) == iterations - 1)
            if saved is not None:
                saved.append(run.parts[-1], [asdict(iteration) for iteration in run.history])
            advance(_note(run.history[-1]))
        return run.finish()


@dataclass(frozen=True)
class _Settings:
    rollouts_per_iteration: int
    max_samples: int
    importance: Importance
    weighting: Weighting
    selection: Selection
    selection_episodes: int
    seed: int
    workers: int

    def check(self, iterations: int) -> None:
        counts = {"iterations": iterations} | {
            name: getattr(self, name)
            for name in ("rollouts_per_iteration", "max_samples", "selection_episodes", "workers")
        }
        for name, count in counts.items():
            if count < 1:
                raise InputError(f"{name} must be at least 1, got {count}")
        for name, choices in {"importance": Importance, "weighting": Weighting, "selection": Selection}.items():
            if getattr(self, name) not in get_args(choices):
                raise InputError(f"{name} must be one of {', '.join(get_args(choices))}, got {getattr(self, name)!r}")
        if self.seed < 0:
            raise InputError(f"seed must not be negative, got {self.seed}")


class _Run:
    """A distillation under way. Everything follows from the settings and the data of the iterations so far."""

    def __init__(self, teacher: Teacher, task: Task, student: Any, settings: _Settings) -> None:
        self.teacher, self.task, self.student, self.settings = teacher, task, student, settings
        self.parts: list[Labelled] = []
        self.history: list[Iteration] = []
        self._models: dict[int, Any] = {}
        self._played: Episodes | None = None
        self._uses_scores = settings.importance == "q_gap" and teacher.has_scores
        if settings.importance == "q_gap" and not teacher.has_scores:
            log.warning("the teacher gives no scores, so all states count the same")

    def iterate(self, *, last: bool) -> None:
        """Label what was played, fit, judge."""
        begin = time.perf_counter()
        number = len(self.history)
        if self._played is None:
            player = self.teacher if number == 0 else Policy(self.model(number - 1), self.task)
            self._played = self._play(player, self._training_seeds(number))
            if number == 0:
                warn_if_useless(self.task, self._played, self._training_seeds(0))
        self.parts.append(self._label(self._played, first_episode=number * self.settings.rollouts_per_iteration))
        sample = self._sample(number)
        model = self._models[number] = self._fitted(sample)
        seeds = self._seeds(Purpose.SELECTION, self.settings.selection_episodes)
        # what the next iteration learns from is played along: a step of many episodes takes hardly longer than of few
        following = [] if last else self._training_seeds(number + 1)
        judged, self._played = self._play(Policy(model, self.task), seeds + following).split(len(seeds))
        self.history.append(
            Iteration(
                score=self._score(model, judged),
                loss=weighted_error(model, sample),
                rows=sum(map(len, self.parts)),
                seconds=time.perf_counter() - begin,
            )
        )

    def model(self, number: int) -> Any:
        """The student of iteration ``number``, fitted anew if a run was resumed."""
        if number not in self._models:
            self._models[number] = self._fitted(self._sample(number))
        return self._models[number]

    def finish(self) -> Distillation:
        """Let the best students meet again, and keep one."""
        order = sorted(ranking([iteration.score for iteration in self.history], self.settings.selection)[:FINALISTS])
        seeds = self._seeds(Purpose.FINAL_SELECTION, FINAL_EPISODES * self.settings.selection_episodes)
        finals = [self._score(self.model(k), self._play(Policy(self.model(k), self.task), seeds)) for k in order]
        winner = ranking(finals, self.settings.selection)[0]
        selected = order[winner]
        policy = Policy(self.model(selected), self.task, self._provenance(selected))
        return Distillation(policy, tuple(self.history), selected, finals[winner], Labelled.joined(self.parts))

    def restore(self, saved: Checkpoint, iterations: int, advance: Callable[[str], None]) -> None:
        """Take over what was saved, up to the number of iterations wanted."""
        for data, record in saved.load()[:iterations]:
            self.parts.append(data)
            self.history.append(Iteration(**(record | {"score": Score(**record["score"])})))
            advance(_note(self.history[-1]))

    def identity(self) -> dict[str, Any]:
        """Everything that the iterations depend on."""
        chosen = asdict(self.settings)
        for name in ("selection", "workers"):  # the first matters at the end only, the second not at all
            del chosen[name]
        return chosen | {
            "moet": __version__,
            "task": self.task.name,
            "features": list(self.task.feature_names),
            "teacher": self.teacher.digest,
            "student": _description(self.student),
        }

    def _provenance(self, selected: int) -> dict[str, Any]:
        return self.identity() | {
            "selection": self.settings.selection,
            "iterations": len(self.history),
            "selected_iteration": selected,
            "versions": {name: version(name) for name in ("gymnasium", "numpy", "scikit-learn")},
        }

    def _seeds(self, purpose: Purpose, count: int, start: int = 0) -> list[int]:
        return episode_seeds(self.settings.seed, purpose, count, start)

    def _training_seeds(self, number: int) -> list[int]:
        count = self.settings.rollouts_per_iteration
        return self._seeds(Purpose.TRAINING, count, start=number * count)

    def _play(self, player: Policy | Teacher, seeds: list[int]) -> Episodes:
        return play(player.act, self.task, seeds, self.settings.workers)

    def _label(self, episodes: Episodes, first_episode: int) -> Labelled:
        seen = episodes.observations
        importance = q_gap(self.teacher.scores(seen)) if self._uses_scores else np.ones(len(seen))
        if first_episode == 0 and not importance.any():
            log.warning("the teacher scores all actions the same, so all states count the same")
        return Labelled(self.task.view(seen), self.teacher.act(seen), importance, first_episode + episodes.number)

    def _fitted(self, sample: Sample) -> Any:
        return fit_student(self.student, sample, self.settings.seed)

    def _sample(self, number: int) -> Sample:
        rng = np.random.default_rng([self.settings.seed, number])
        data = Labelled.joined(self.parts[: number + 1])
        return training_sample(data, self.settings.weighting, self.settings.max_samples, rng)

    def _score(self, model: Any, episodes: Episodes) -> Score:
        right = agreement(self.task, episodes.actions, self.teacher.act(episodes.observations))
        per_episode = np.bincount(episodes.number, weights=right) / episodes.lengths
        count = len(episodes.lengths)
        return Score(
            reward=float(episodes.returns.mean()),
            reward_error=float(episodes.returns.std() / np.sqrt(count)),
            fidelity=float(right.mean()),
            fidelity_error=float(per_episode.std() / np.sqrt(count)),
            leaves=leaf_count(model),
        )


def _description(student: Any) -> str:
    """The student's class and parameters, as far as they can matter."""
    parameters = student.get_params() if hasattr(student, "get_params") else {}
    matter = {k: v for k, v in sorted(parameters.items()) if k != "verbose" and not callable(v)}
    return f"{type(student).__name__}({', '.join(f'{k}={v!r}' for k, v in matter.items())})"


def _note(iteration: Iteration) -> str:
    score = iteration.score
    return f"reward {score.reward:.1f}, fidelity {score.fidelity:.3f}"
