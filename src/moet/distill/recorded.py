"""A student of recorded episodes, with no teacher to ask and no environment to play."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from moet.distill.dataset import Sample
from moet.distill.evaluation import agreement, differences
from moet.distill.far_below import warn_if_unfaithful
from moet.distill.policy import Policy
from moet.distill.student import check_student, fit_student
from moet.envs.rollout import bootstrap_interval
from moet.envs.task import Task
from moet.errors import InputError
from moet.teachers.recorded import Recording

HELD_OUT = 0.2
"""Share of the episodes that a student is judged on."""


@dataclass(frozen=True)
class Imitation:
    """The outcome of :func:`imitate`.

    Attributes
    ----------
    policy : Policy
        The student.
    fidelity : float
        Share of the steps of held-out episodes in which it does what was done; of rows of numbers, each of them within
        5 % of its range.
    fidelity_interval : pair of float
        95 % interval of the mean over the held-out episodes, by bootstrap.
    fidelity_training : float
        The same share on the episodes that it learned from.
    episodes, held_out, rows : int
        Episodes that it learned from, episodes that it was judged on, and steps in both.
    action_error, r2 : float or None
        Where actions are rows of numbers: mean difference in units of their ranges, and share of the variance, on
        held-out episodes. R² is None if nothing varies there.
    """

    policy: Policy
    fidelity: float
    fidelity_interval: tuple[float, float]
    fidelity_training: float
    episodes: int
    held_out: int
    rows: int
    action_error: float | None = None
    r2: float | None = None


def imitate(recording: Recording, student: Any, *, task: Task | None = None, seed: int = 0) -> Imitation:
    """Train a student to do what was done in recorded episodes, and judge it on others of them.

    A student of recordings sees only states that their player got into. Where the agent and its environment are at
    hand, :func:`moet.distill.distill` makes a better one.

    Parameters
    ----------
    recording : Recording
        See :func:`moet.teachers.recorded.read_recording`.
    student : classifier or regressor
        As for :func:`moet.distill.distill`: a regressor where actions are rows of numbers.
    task : Task, optional
        Whose names for observations and actions are used; by default they are numbered.
    seed : int
        Chooses the episodes that are held out, and is the student's seed if it has none of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from moet import MoETClassifier
    >>> from moet.distill import imitate
    >>> from moet.teachers import read_recording
    >>> import tempfile
    >>> rng = np.random.default_rng(0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for k in range(4):
    ...         observations = rng.normal(size=(50, 2))
    ...         actions = (observations[:, 0] > 0).astype(int)
    ...         np.savez(f"{folder}/episode_{k}.npz", observations=observations, actions=actions)
    ...     recording = read_recording(folder)
    >>> found = imitate(recording, MoETClassifier(n_experts=2, max_depth=0, prediction="hard"))
    """
    named = {} if task is None else {"task": task.name}
    task = recording.task() if task is None else task
    _check_fits(recording, task)
    check_student(student, task, weighted=False)
    count = int(recording.episode.max()) + 1
    if count < 2:
        raise InputError("one recorded episode cannot be learned from and judged on; record at least two")
    chosen = np.random.default_rng(seed).permutation(count)[: max(1, round(HELD_OUT * count))]
    held_out = np.isin(recording.episode, chosen)
    features = task.view(recording.observations)
    sample = Sample(features[~held_out], recording.actions[~held_out], None, recording.episode[~held_out])
    policy = Policy(
        fit_student(student, sample, seed, task.box), task, named | {"recorded_episodes": count, "seed": seed}
    )
    done = policy.predict(features)
    right = agreement(task, done, recording.actions)
    per_episode = np.array([right[recording.episode == number].mean() for number in sorted(chosen)])
    fidelity = float(right[held_out].mean())
    told = {}
    if task.box is None:
        warn_if_unfaithful(policy, fidelity)
    else:
        told = differences(task.box, done[held_out], recording.actions[held_out])
    return Imitation(
        policy=policy,
        fidelity=fidelity,
        fidelity_interval=bootstrap_interval(per_episode, seed),
        fidelity_training=float(right[~held_out].mean()),
        episodes=count - len(chosen),
        held_out=len(chosen),
        rows=len(right),
        **told,
    )


def _check_fits(recording: Recording, task: Task) -> None:
    seen, shown = recording.observations.shape[1], len(task.observation_names)
    if seen != shown:
        raise InputError(f"the recording has observations of {seen} numbers, {task.name} has some of {shown} numbers")
    if task.box is not None:
        if not recording.continuous or recording.actions.shape[1] != len(task.box):
            raise InputError(f"the recording has {_in_words(recording)}, {task.name} takes {task.box.in_words()}")
    elif recording.continuous:
        raise InputError(
            f"the recording has {_in_words(recording)}, {task.name} takes one of {len(task.action_names)} actions; "
            "record their numbers as whole ones, such as actions.astype(int)"
        )
    elif recording.actions.max() >= len(task.action_names):
        raise InputError(
            f"the recording has action number {recording.actions.max()}, {task.name} has action number "
            f"{len(task.action_names) - 1} as its last"
        )


def _in_words(recording: Recording) -> str:
    if not recording.continuous:
        return "numbered actions"
    return f"actions that are rows of {recording.actions.shape[1]} floats"
