"""How well a policy plays, and how much like its teacher."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.distill.policy import Policy, task_of_model
from moet.envs.box import ActionBox
from moet.envs.catalog import resolve
from moet.envs.rollout import Episodes, bootstrap_interval, play
from moet.envs.seeds import Purpose, episode_seeds
from moet.envs.task import FeatureFunction, Floats, Task
from moet.errors import InputError
from moet.model.file import as_model, model_or_none
from moet.model.mixture import Size
from moet.model.regression.mixture import RegressionMixture
from moet.teachers.adapters import checked
from moet.teachers.teacher import Teacher

TIMED_DECISIONS = 2_000

JUDGED_STEPS = 2_000
"""So many, evenly chosen, are shown to a critic, which takes its time."""

WITHIN = 0.05
"""Continuous actions count as the same if each number is within this share of its range."""


@dataclass(frozen=True, repr=False)
class Evaluation:
    """What was measured over fresh episodes.

    Attributes
    ----------
    reward : float
        Mean sum of rewards of an episode.
    reward_interval : pair of float
        95 % interval of that mean, by bootstrap over the episodes.
    returns, lengths : arrays, shape (n_episodes,)
        Sum of rewards and number of steps of each episode.
    fidelity : float or None
        Share of the steps of the policy's own play in which it acts as its teacher would. Actions that do the same
        count as equal; so do continuous ones, each number of which is within 5 % of its range of the teacher's. None
        without a teacher.
    fidelity_raw : float or None
        The same, comparing action numbers. None for continuous actions.
    fidelity_teacher_play : float or None
        Share of the steps of the teacher's play in which the policy would act as the teacher did.
    teacher_reward : float or None
        Mean sum of rewards of the teacher on the same seeds.
    q_regret : float or None
        Mean of max Q − Q[chosen] over the policy's own play, in the units of the teacher's scores; of continuous
        actions, by its critic, if it has one, on a grid of actions.
    distinct_games : int or None
        How many of the episodes are different games, in a task with so little chance that they may be the same.
    size : Size or None
        How large the model is, if it is a mixture of trees.
    microseconds : float
        Median time of one decision.
    action_error : float or None
        Of continuous actions: mean ``|Δu|`` between policy and teacher in the policy's own play, in units of
        the range.
    r2 : float or None
        Of continuous actions: ``1 − Σ|Δu|² / Σ|u − mean|²`` there, over all numbers in units of their ranges.
        None if the teacher always acts alike.
    numbers : int or None
        How many numbers say what the model does, if it answers with numbers.

    Examples
    --------
    >>> from moet import teachers
    >>> from moet.distill import evaluate
    >>> found = evaluate(teachers.load("cartpole"), "cartpole", episodes=5)
    >>> found.returns.tolist(), found.fidelity
    ([200.0, 200.0, 200.0, 200.0, 200.0], None)
    """

    reward: float
    reward_interval: tuple[float, float]
    returns: Floats
    lengths: NDArray[np.int64]
    fidelity: float | None
    fidelity_raw: float | None
    fidelity_teacher_play: float | None
    teacher_reward: float | None
    q_regret: float | None
    distinct_games: int | None
    size: Size | None
    microseconds: float
    action_error: float | None = None
    r2: float | None = None
    numbers: int | None = None

    def __repr__(self) -> str:
        low, high = self.reward_interval
        fidelity = "" if self.fidelity is None else f", fidelity {self.fidelity:.4f}"
        return f"Evaluation(reward {self.reward:.2f} ({low:.2f} to {high:.2f}){fidelity}, {len(self.returns)} episodes)"

    def _repr_html_(self) -> str:
        from moet.notebook import evaluation_html

        return evaluation_html(self)


def evaluate(
    policy: Any,
    env: Any = None,
    *,
    episodes: int | None = None,
    seed: int = 0,
    teacher: Teacher | None = None,
    guided: Episodes | None = None,
    features: FeatureFunction | None = None,
    workers: int = 1,
) -> Evaluation:
    """Play fresh episodes with a policy and compare it with its teacher.

    Parameters
    ----------
    policy : Policy, Mixture, fitted classifier, path of a model file, or Teacher
        What plays.
    env : str, Task or callable, optional
        The task, as for :func:`moet.distill.distill`; by default the one that the policy was made for.
    episodes : int, optional
        How many; by default as many as the task recommends.
    seed : int
        Chooses the episodes. They are never among those that :func:`moet.distill.distill` trains or selects on,
        whatever the seeds.
    teacher : Teacher, optional
        For fidelity and regret.
    guided : Episodes, optional
        The teacher's play of the same episodes (:func:`play_report`), for evaluations that share it; by default it is
        played anew.
    features : callable, optional
        From observations to what the policy sees.
    workers : int
        Processes to spread the episodes over.

    Examples
    --------
    >>> from moet import teachers
    >>> from moet.distill import evaluate
    >>> evaluate(teachers.load("cartpole"), "cartpole", episodes=5)
    Evaluation(reward 200.00 (200.00 to 200.00), 5 episodes)
    """
    task = _task_of(policy, env, features)
    count = task.episodes if episodes is None else episodes
    if count < 1:
        raise InputError(f"an evaluation needs at least one episode, got episodes={count}")
    player = policy if isinstance(policy, Teacher) else Policy.of(policy, task)
    own = play_report(player, task, count, seed, workers)
    comparison = {}
    if teacher is not None:
        teacher = checked(teacher, task)
        guided = play_report(teacher, task, count, seed, workers) if guided is None else guided
        comparison = _compare(player, own, task, teacher, guided)
    return Evaluation(
        reward=float(own.returns.mean()),
        reward_interval=bootstrap_interval(own.returns, seed),
        returns=own.returns,
        lengths=own.lengths,
        fidelity=comparison.get("fidelity"),
        fidelity_raw=comparison.get("fidelity_raw"),
        fidelity_teacher_play=comparison.get("fidelity_teacher_play"),
        teacher_reward=comparison.get("teacher_reward"),
        q_regret=comparison.get("q_regret"),
        distinct_games=_distinct_games(own, task),
        size=_size_of(player),
        microseconds=_microseconds(player, own.observations),
        action_error=comparison.get("action_error"),
        r2=comparison.get("r2"),
        numbers=_numbers_of(player),
    )


def play_report(player: Policy | Teacher, task: Task, episodes: int, seed: int = 0, workers: int = 1) -> Episodes:
    """Play the episodes that an evaluation with this seed plays.

    Examples
    --------
    >>> from moet.distill import play_report
    >>> from moet.envs import resolve
    >>> from moet.teachers import load
    >>> played = play_report(load("cartpole"), resolve("cartpole"), episodes=2)
    """
    return play(player.act, task, episode_seeds(seed, Purpose.REPORT, episodes), workers)


def agreement(task: Task, first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.bool_]:
    """Where two lists of actions do the same in ``task``; continuous ones, about the same (:data:`WITHIN`)."""
    if task.box is not None:
        return np.all(np.abs(task.box.in_ranges(first - second)) <= WITHIN, axis=1)
    if task.action_groups is None:
        return first == second
    group = np.asarray(task.action_groups)
    return group[first] == group[second]


def regret(scores: Floats, actions: NDArray[np.int64]) -> float:
    """Mean of max Q − Q[chosen]."""
    return float((scores.max(axis=1) - scores[np.arange(len(actions)), actions]).mean())


def _task_of(policy: Any, env: Any, features: FeatureFunction | None) -> Task:
    if env is not None:
        return resolve(env, features)
    if isinstance(policy, Policy):
        return policy.task
    if isinstance(policy, Teacher):
        raise InputError("a teacher does not say which task it was made for; name the environment: env=NAME")
    return task_of_model(as_model(policy), features=features)


def _compare(
    player: Policy | Teacher, own: Episodes, task: Task, teacher: Teacher, guided: Episodes
) -> dict[str, float]:
    wanted = teacher.act(own.observations)
    found = {
        "fidelity": float(agreement(task, own.actions, wanted).mean()),
        "fidelity_teacher_play": float(agreement(task, player.act(guided.observations), guided.actions).mean()),
        "teacher_reward": float(guided.returns.mean()),
    }
    if task.box is not None:
        if teacher.critic is not None:
            some = np.linspace(0, len(wanted) - 1, min(len(wanted), JUDGED_STEPS)).astype(np.int64)
            rows = own.observations[some], task.box.clipped(own.actions[some]), wanted[some]
            found["q_regret"] = float(teacher.critic.regret(*rows).mean())
        return found | differences(task.box, own.actions, wanted)
    found["fidelity_raw"] = float((own.actions == wanted).mean())
    if teacher.has_scores:
        found["q_regret"] = regret(teacher.scores(own.observations), own.actions)
    return found


def differences(box: ActionBox, actions: Floats, wanted: Floats) -> dict[str, float]:
    """Mean difference and R² of continuous actions, both in units of their ranges."""
    actions, wanted = box.in_ranges(actions), box.in_ranges(wanted)
    found = {"action_error": float(np.abs(actions - wanted).mean())}
    spread = float(np.square(wanted - wanted.mean(axis=0)).sum())
    if spread > 0:
        found["r2"] = 1 - float(np.square(actions - wanted).sum()) / spread
    return found


def _distinct_games(episodes: Episodes, task: Task) -> int | None:
    if task.game_digest is None:
        return None
    ends = np.cumsum(episodes.lengths)[:-1]
    games = zip(np.split(episodes.observations, ends), np.split(episodes.actions, ends), strict=True)
    return len({task.game_digest(seen, done) for seen, done in games})


def _size_of(player: Policy | Teacher) -> Size | None:
    model = model_or_none(player)
    return None if model is None else model.size


def _numbers_of(player: Policy | Teacher) -> int | None:
    model = model_or_none(player)
    return model.n_numbers if isinstance(model, RegressionMixture) else None


def _microseconds(player: Policy | Teacher, observations: Floats) -> float:
    """Median time of one decision, as a control loop would ask for it."""
    states = observations[:TIMED_DECISIONS]
    if isinstance(player, Policy):
        states = player.task.view(states)
        model = model_or_none(player.model)
        if model is not None:
            return _median_time(model.act, list(states))
        return _median_time(player.predict, [state[None, :] for state in states])
    return _median_time(player.act, [state[None, :] for state in states])


def _median_time(decide: Any, states: list[Floats]) -> float:
    decide(states[0])  # compiled on first use
    times = []
    for state in states:
        begin = time.perf_counter_ns()
        decide(state)
        times.append(time.perf_counter_ns() - begin)
    return float(np.median(times)) / 1_000
