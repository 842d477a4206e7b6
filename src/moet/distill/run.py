"""A distillation under way: play, label, fit, judge, iteration by iteration."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from moet import __version__
from moet.distill.checkpoint import Checkpoint, Store
from moet.distill.dataset import Importance, Labelled, Sample, Weighting, games_repeat, q_gap, training_sample
from moet.distill.evaluation import agreement
from moet.distill.far_below import warn_if_far_below
from moet.distill.outcome import Distillation, Iteration
from moet.distill.policy import Policy
from moet.distill.selection import Score, Selection, ranking, undecided
from moet.distill.shorten import shortened
from moet.distill.student import fit_student, leaf_count, weighted_error
from moet.distill.useless import reward_of_chance, warn_if_seed_is_forgotten, warn_if_useless
from moet.envs.cut import cut_short
from moet.envs.perturbation import perturbed
from moet.envs.rollout import Episodes, play
from moet.envs.seeds import Purpose, episode_seeds
from moet.envs.task import Task
from moet.errors import InputError
from moet.model.digits import EXACT, TOLERANCE
from moet.progress import progress_bar
from moet.teachers.teacher import Floats, Teacher

FINALISTS = 5
"""The best students meet again on other episodes, so that luck on the first ones does not decide."""

FINAL_EPISODES = 4
"""How many times as many episodes they play then."""

OVERTIME = ((3, 2), (2, 4))
"""The best few of them whose rewards luck may have ordered play until they have had so many times as many again."""

COMPARED = 20
"""In so many of them the teacher plays, too: enough to see that a student ended far below it."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """What the iterations of a run depend on; see :func:`moet.distill.distill`."""

    rollouts_per_iteration: int
    max_samples: int
    importance: Importance
    weighting: Weighting
    selection: Selection
    selection_episodes: int
    digits: int | None
    seed: int
    workers: int

    def check(self, iterations: int) -> None:
        """Complain about what cannot be done, before anything is played."""
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
        if self.digits is not None and not 1 <= self.digits <= EXACT:
            raise InputError(f"digits must be from 1 to {EXACT}, got {self.digits}")
        if self.seed < 0:
            raise InputError(f"seed must not be negative, got {self.seed}")


class _Final(NamedTuple):
    """A student, how it did when the best met again, and what was played then."""

    model: Any
    score: Score
    episodes: Episodes


class Run:
    """A distillation under way. Everything follows from the settings and the data of the iterations so far.

    ``after`` is a run of another student with the same settings, which has begun: in the first iteration the teacher
    plays, so these states are the same for both. Whether the teacher is any good was told there, too.
    """

    def __init__(
        self, teacher: Teacher, task: Task, student: Any, settings: Settings, *, after: Run | None = None
    ) -> None:
        self._after = after
        self.teacher, self.task, self.student, self.settings = teacher, task, student, settings
        self.parts: list[Labelled] = []
        self.history: list[Iteration] = []
        self._models: dict[int, Any] = {}
        self._played: Episodes | None = None
        self._uses_scores = settings.importance == "q_gap" and (teacher.has_scores or teacher.critic is not None)
        if settings.importance == "q_gap" and not self._uses_scores:
            log.warning("the teacher gives no scores, so all states count the same")

    def iterate(self, *, last: bool) -> None:
        """Label what was played, fit, judge."""
        begin = time.perf_counter()
        number = len(self.history)
        self.parts.append(self._next_states(number))
        sample = self._sample(number)
        model = self._models[number] = self._fitted(sample)
        seeds = self._seeds(Purpose.SELECTION, self.settings.selection_episodes)
        following = [] if last else self._training_seeds(number + 1)
        judged, ahead = self._play_both(Policy(model, self.task), seeds, following)
        self._played = None if last else ahead
        self.history.append(
            Iteration(
                score=self._score(model, judged),
                loss=weighted_error(model, sample, self.task.box),
                rows=sum(map(len, self.parts)),
                seconds=time.perf_counter() - begin,
            )
        )

    def _next_states(self, number: int) -> Labelled:
        """What this iteration adds: states of the teacher's play at first, later of the student before."""
        if number == 0 and self._after is not None:
            return self._after.parts[0]
        if self._played is None:
            player = self.teacher if number == 0 else Policy(self.model(number - 1), self.task)
            task = self.task if number == 0 else self._training_task
            self._played = self._play(player, self._training_seeds(number), task)
            if number == 0:
                warn_if_seed_is_forgotten(self.task, self._played, self._training_seeds(0))
                warn_if_useless(self.task, self._played, self._training_seeds(0))
        return self._label(self._played, first_episode=number * self.settings.rollouts_per_iteration)

    def _play_both(self, player: Policy | Teacher, seeds: list[int], following: list[int]) -> tuple[Episodes, Episodes]:
        """What a student is judged on, and what the next one learns from."""
        if self._training_task is self.task or not following:
            # played together: a step of many episodes takes hardly longer than of few
            return self._play(player, seeds + following).split(len(seeds))
        return self._play(player, seeds), self._play(player, following, self._training_task)

    @cached_property
    def _training_task(self) -> Task:
        """The task as students play it to learn from.

        Where games repeat themselves, an action is random now and then: who knows a few games by heart is lost beside
        their track, and who is judged by them is judged by luck. So it is with robots, which play few episodes: a fall
        begins in one walk of a hundred, and who has never seen how to catch it falls again. Long games are no longer
        than the longest of the teacher: a student that keeps a ball in play for ever shows nothing new by it, and its
        states would outnumber all others.
        """
        first = self.parts[0]
        task = perturbed(self.task) if self.task.is_rich or games_repeat(first) else self.task
        return cut_short(task, int(np.bincount(first.episode).max())) if self.task.is_long else task

    def model(self, number: int) -> Any:
        """The student of iteration ``number``, fitted anew if a run was resumed."""
        if number not in self._models:
            self._models[number] = self._fitted(self._sample(number))
        return self._models[number]

    def finish(self) -> Distillation:
        """Let the best students meet again, keep one, and give it as few digits as cost nothing."""
        selected, final = self.best(FINALISTS)
        final = self._shortened(final)
        policy = Policy(final.model, self.task, self._provenance(selected))
        self._compare_with_teacher(policy, final)
        return Distillation(policy, tuple(self.history), selected, final.score, Labelled.joined(self.parts))

    def best(self, finalists: int) -> tuple[int, _Final]:
        """The best of the best few on other episodes, and its number."""
        order = sorted(ranking([it.score for it in self.history], self.settings.selection)[:finalists])
        finals = [self._final(self.model(k)) for k in order]
        winner = self._winner(finals)
        return order[winner], finals[winner]

    def _winner(self, finals: Sequence[_Final]) -> int:
        """The best of them; those whose rewards luck may have ordered play on."""
        running = dict(enumerate(finals))
        worst = float(min(final.episodes.returns.min() for final in finals))
        for most, times in OVERTIME:
            ranked = self._ranked(running)
            close = undecided([running[k].episodes.returns for k in ranked[:most]], worst)
            if len(close) < 2 or self.settings.selection == "fidelity_then_size":
                return ranked[0]
            running = {k: self._played_on(running[k], times) for k in sorted(ranked[place] for place in close)}
        return self._ranked(running)[0]

    def _ranked(self, running: Mapping[int, _Final]) -> list[int]:
        order = ranking([final.score for final in running.values()], self.settings.selection)
        return [list(running)[place] for place in order]

    def _played_on(self, final: _Final, times: int) -> _Final:
        """The same student after ``times`` as many episodes as all finalists play."""
        count = FINAL_EPISODES * self.settings.selection_episodes
        played = len(final.episodes.returns)
        seeds = self._seeds(Purpose.FINAL_SELECTION, times * count - played, start=played)
        episodes = final.episodes.followed_by(self._play(Policy(final.model, self.task), seeds))
        return _Final(final.model, self._score(final.model, episodes), episodes)

    def teacher_reward(self) -> float:
        """Mean reward of the teacher on the episodes that the best students meet again on."""
        return float(self._play(self.teacher, self._final_seeds()).returns.mean())

    @cached_property
    def chance_reward(self) -> float:
        """Mean reward of random play on some of these episodes."""
        return reward_of_chance(self.task, self._final_seeds()[:COMPARED])

    def _compare_with_teacher(self, policy: Policy, final: _Final) -> None:
        seeds = self._final_seeds()[:COMPARED]
        teacher = self._play(self.teacher, seeds).returns
        own = final.episodes.returns[: len(seeds)]
        warn_if_far_below(policy, final.score.fidelity, own, teacher, lambda: reward_of_chance(self.task, seeds))

    def _final(self, model: Any, count: int | None = None) -> _Final:
        episodes = self._play(Policy(model, self.task), self._final_seeds(count))
        return _Final(model, self._score(model, episodes), episodes)

    def _final_seeds(self, count: int | None = None) -> list[int]:
        return self._seeds(Purpose.FINAL_SELECTION, count or FINAL_EPISODES * self.settings.selection_episodes)

    def _shortened(self, final: _Final) -> _Final:
        """The same policy with short numbers, judged on the same episodes, overtime included.

        By default it may lose one standard error of the reward, and a share of TOLERANCE of fidelity and of the answers
        on the states it met, of which none was trained on.
        """
        digits = self.settings.digits
        states = self.task.view(final.episodes.observations)
        for model in shortened(final.model, states, digits):
            short = self._final(model, len(final.episodes.returns))
            if digits is not None or (
                short.score.reward >= final.score.reward - final.score.reward_error
                and short.score.fidelity >= final.score.fidelity - TOLERANCE
            ):
                return short
        return final

    def restore(self, saved: Checkpoint, iterations: int) -> None:
        """Take over what was saved, up to the number of iterations wanted."""
        for data, record in saved.load()[:iterations]:
            self.parts.append(data)
            self.history.append(Iteration(**(record | {"score": Score(**record["score"])})))

    def identity(self) -> dict[str, Any]:
        """Everything that the iterations depend on."""
        chosen = asdict(self.settings)
        for name in ("selection", "digits", "workers"):  # the first two matter at the end only, the last not at all
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
            "made_by": "moet.distill",
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

    def _play(self, player: Policy | Teacher, seeds: list[int], task: Task | None = None) -> Episodes:
        return play(player.act, task or self.task, seeds, self.settings.workers)

    def _label(self, episodes: Episodes, first_episode: int) -> Labelled:
        actions, importance = self._answers(episodes.observations)
        if first_episode == 0 and not importance.any():
            log.warning("the teacher scores all actions the same, so all states count the same")
        return Labelled(self.task.view(episodes.observations), actions, importance, first_episode + episodes.number)

    def _answers(self, seen: Floats) -> tuple[NDArray[Any], Floats]:
        """What the teacher does in states, and how much it matters there."""
        if not self._uses_scores:
            return self.teacher.act(seen), np.ones(len(seen))
        if self.teacher.critic is not None:
            return self.teacher.act(seen), q_gap(self.teacher.critic.grid_scores(seen))
        actions, scores = self.teacher.act_and_score(seen)
        return actions, q_gap(scores)

    def _fitted(self, sample: Sample) -> Any:
        return fit_student(self.student, sample, self.settings.seed, self.task.box)

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


def carry_on(
    run: Run,
    iterations: int,
    store: Store | None = None,
    *,
    title: str = "distilling",
    verbose: int = 0,
    deadline: float = float("inf"),
) -> None:
    """Iterate until there are so many iterations, or, after the first one, the clock has passed the deadline."""
    saved = None if store is None else Checkpoint(store, run.identity())
    with progress_bar(title, iterations, shown=verbose > 0) as advance:
        if saved is not None and not run.history:
            run.restore(saved, iterations)
        for iteration in run.history:
            advance(_note(iteration))
        while len(run.history) < iterations and (not run.history or time.monotonic() < deadline):
            run.iterate(last=len(run.history) == iterations - 1)
            if saved is not None:
                saved.append(run.parts[-1], [asdict(iteration) for iteration in run.history])
            advance(_note(run.history[-1]))


def _description(student: Any) -> str:
    """The student's class and parameters, as far as they can matter."""
    parameters = student.get_params() if hasattr(student, "get_params") else {}
    matter = {k: v for k, v in sorted(parameters.items()) if k != "verbose" and not callable(v)}
    return f"{type(student).__name__}({', '.join(f'{k}={v!r}' for k, v in matter.items())})"


def _note(iteration: Iteration) -> str:
    score = iteration.score
    return f"reward {score.reward:.1f}, fidelity {score.fidelity:.3f}"
