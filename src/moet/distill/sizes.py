"""The size of a student, found for the user: the smallest that earns about as much as the best."""

from __future__ import annotations

import logging
import time
from dataclasses import replace

from moet.distill.checkpoint import Part, Store
from moet.distill.outcome import Distillation
from moet.distill.run import Run, Settings, carry_on
from moet.distill.selection import Score
from moet.envs.task import Task
from moet.model.classifier import MoETClassifier
from moet.model.mixture import Prediction
from moet.model.regression.regressor import MoETRegressor
from moet.model.regression.sizes import LAWS
from moet.model.sizes import Tried, candidate_sizes, smallest_within, stalled
from moet.teachers.teacher import Teacher

SHARE = 0.02
"""Of the best reward, that a smaller student may be below it, if one standard error is not more."""

SCOUTING = 4
"""A size is tried with one iteration in so many; only the one that is taken runs them all."""

FEWEST = 4
"""Iterations that a size is tried with at least: students of fewer have hardly met what they do themselves."""

LEARNED = 0.1
"""Of what the teacher earns more than chance: sizes that all earn less have learned nothing yet. Several in a row do
not end the search, and the most faithful is taken instead of the smallest."""

IMITATES = 0.2
"""Of the way from agreement at random, one step in so many actions, to perfect fidelity: a student of labels that comes
less far plays a game of its own."""

log = logging.getLogger(__name__)


def choose_size(
    teacher: Teacher,
    task: Task,
    settings: Settings,
    iterations: int,
    *,
    prediction: Prediction = "hard",
    store: Store | None = None,
    budget: float | None = None,
    verbose: int = 0,
) -> Distillation:
    """Distil into the smallest mixture whose reward is within a tolerance of the best reward that was reached.

    The tolerance is 2 % of the best reward, or its standard error if that is more. Sizes are tried from small to large,
    each with a quarter of the iterations, four at least, until one comes within the tolerance of the teacher, three in
    a row bring nothing, or half of the budget is spent. The size taken then runs all its iterations. One that earns as
    much as the teacher by a game of its own neither ends the search nor is taken if another one earns as much. While
    none earns more than chance does, by a tenth of what the teacher earns more, the search goes on, and the most
    faithful is taken.

    Parameters
    ----------
    teacher, task, settings, iterations
        As for a single run.
    prediction : {"hard", "soft"}
    store : Store, optional
        Where all runs are kept.
    budget : float, optional
        Minutes for everything.
    verbose : int
        1 shows progress on stderr.
    """
    begin = time.monotonic()
    half, whole = (float("inf"),) * 2 if budget is None else (begin + 30 * budget, begin + 60 * budget)
    tried: list[Tried] = []
    runs: list[Run] = []
    stores: list[Store | None] = []
    tolerance, wanted = 0.0, float("inf")
    scouted = max(iterations // SCOUTING, min(FEWEST, iterations))
    kind = MoETRegressor if task.continuous else MoETClassifier
    for experts, depth in LAWS if task.continuous else candidate_sizes(len(task.action_names)):
        student = kind(n_experts=experts, max_depth=depth, prediction=prediction)
        run = Run(teacher, task, student, settings, after=runs[0] if runs else None)
        name = f"E{experts}-D{depth}"
        stores.append(None if store is None else Part(store, name))
        carry_on(run, scouted, stores[-1], title=f"trying {name}", verbose=verbose, deadline=half)
        score = run.best(1)[1].score
        runs.append(run)
        tried.append(_tried(experts, depth, score, task))
        best = max(tried, key=lambda one: one.score)
        tolerance = max(best.error, SHARE * abs(best.score))
        wanted = run.teacher_reward() if len(runs) == 1 else wanted
        does = score.reward >= wanted - tolerance and not tried[-1].own_game
        if does or time.monotonic() > half:
            break
        if stalled(tried, tolerance) and not _learned_nothing(tried, wanted, runs[0]):
            break
    taken = _most_faithful(tried) if _learned_nothing(tried, wanted, runs[0]) else smallest_within(tried, tolerance)
    title = f"distilling {tried[taken].name}"
    carry_on(runs[taken], iterations, stores[taken], title=title, verbose=verbose, deadline=whole)
    return replace(runs[taken].finish(), front=tuple(tried), taken=taken, tolerance=tolerance)


def _tried(experts: int, depth: int, score: Score, task: Task) -> Tried:
    """How a size did."""
    at_random = 0.0 if task.continuous else 1.0 / len(task.action_names)
    own_game = not task.continuous and score.fidelity < at_random + IMITATES * (1.0 - at_random)
    return Tried(experts, depth, score.leaves or 0, score.reward, score.reward_error, score.fidelity, own_game=own_game)


def _learned_nothing(tried: list[Tried], wanted: float, run: Run) -> bool:
    """Whether no size earns visibly more than chance, where the teacher does."""
    best = max(one.score for one in tried)
    if best >= wanted:
        return False
    chance = run.chance_reward
    return best - chance < LEARNED * (wanted - chance)


def _most_faithful(tried: list[Tried]) -> int:
    return max(range(len(tried)), key=lambda k: (tried[k].fidelity or 0.0, -k))
