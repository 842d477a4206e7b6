"""Tasks out of any Gymnasium environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from moet.envs.checks import check_finite
from moet.envs.gym import GymBatch
from moet.envs.task import FeatureFunction, Floats, Task
from moet.errors import TaskError

if TYPE_CHECKING:
    import gymnasium

    Env = gymnasium.Env[Any, Any]


def task_of(name: str | None, make: Callable[..., Env], features: FeatureFunction | None = None) -> Task:
    """Describe an environment by what its spaces say.

    Parameters
    ----------
    name : str or None
        How to call the task; None for the name of the environment's class.
    make : callable
        ``make(render_mode=None)`` gives one environment.
    features : callable or None
        From observations, one per row, to rows of features.

    Raises
    ------
    TaskError
        If the observations are no rows of numbers (and ``features`` does not make some of them), or the actions are
        not numbered from 0.
    """
    import gymnasium

    env = make()
    if not isinstance(env, gymnasium.Env):
        raise TaskError(f"{name or 'the function'} made {env!r}, which is no Gymnasium environment")
    name = name or type(env.unwrapped).__name__
    try:
        n_actions = _number_of_actions(name, env.action_space)
        n_observed = _length_of_observation(name, env.observation_space, features is not None)
        max_steps = _time_limit(env)
        env_id = None if env.spec is None else env.spec.id
    finally:
        env.close()
    task = Task(
        name=name,
        make=make,
        batch=partial(GymBatch, name, make, max_steps),
        observation_names=_numbered(n_observed),
        feature_names=_numbered(n_observed),
        feature_units=("",) * n_observed,
        action_names=tuple(map(str, range(n_actions))),
        max_steps=max_steps,
        env_id=env_id,
    )
    return task if features is None else with_features(task, features)


def with_features(task: Task, features: FeatureFunction) -> Task:
    """The same task, of which a student sees ``features(observations)``."""
    batch = task.batch()
    try:
        observations = batch.reset([0])
    finally:
        batch.close()
    shape = np.shape(features(observations))
    if len(shape) != 2 or shape[0] != 1 or shape[1] == 0:
        raise TaskError(
            f"features gave an array of shape {shape} for one observation of {task.name}; "
            "it must map an array of observations, one per row, to a two-dimensional array with as many rows"
        )
    return replace(
        task,
        feature_names=_numbered(shape[1]),
        feature_units=("",) * shape[1],
        features=partial(_checked_features, features, shape[1]),
    )


def _checked_features(features: FeatureFunction, n_features: int, observations: Floats) -> Floats:
    rows = np.asarray(features(observations), dtype=np.float64)
    if rows.shape != (len(observations), n_features):
        raise TaskError(f"features gave shape {rows.shape} instead of {(len(observations), n_features)}")
    check_finite(rows, "features gave")
    return rows


def _numbered(n: int) -> tuple[str, ...]:
    return tuple(f"x{i}" for i in range(n))


def _number_of_actions(name: str, space: Any) -> int:
    from gymnasium.spaces import Discrete

    if not isinstance(space, Discrete):
        raise TaskError(
            f"{name} takes actions from {space}, but a tree answers with one of a few; "
            "wrap it in a gymnasium.ActionWrapper with a Discrete action space, as the task 'pendulum' does"
        )
    if space.start != 0:
        raise TaskError(
            f"the actions of {name} are numbered from {space.start}; "
            "wrap it in a gymnasium.ActionWrapper so that they are numbered from 0"
        )
    return int(space.n)


def _length_of_observation(name: str, space: Any, has_features: bool) -> int:
    """Length of the rows that an environment shows; 0 if it shows something that only features make rows of."""
    from gymnasium.spaces import Box

    if not isinstance(space, Box):
        raise TaskError(
            f"{name} shows observations from {space}, but a tree needs rows of numbers; "
            "give a function that makes it flat, such as "
            f"lambda: gymnasium.wrappers.FlattenObservation(gymnasium.make({name!r}))"
        )
    if len(space.shape) == 1:
        return int(space.shape[0])
    if not has_features:
        raise TaskError(
            f"{name} shows observations of shape {space.shape}, but a tree needs a few meaningful numbers; "
            "give features=, a function from an array of observations, one per row, to rows of numbers"
        )
    return 0


def _time_limit(env: Any) -> int | None:
    """The limit that a wrapper of the environment enforces."""
    from gymnasium import Wrapper
    from gymnasium.wrappers import TimeLimit

    limits = []
    while isinstance(env, Wrapper):
        if isinstance(env, TimeLimit):
            limits.append(env._max_episode_steps)
        env = env.env
    return min(limits, default=None)
