"""Tasks out of any Gymnasium environment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from moet.envs.box import ActionBox
from moet.envs.checks import check_finite
from moet.envs.columns import columns_of, is_image
from moet.envs.gym import GymBatch
from moet.envs.spaces import as_parts, choices, is_flat, is_one_choice, row_names
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
        From observations, one per row, to rows of features. Of observations that are a dictionary or a tuple, it gets
        that dictionary or tuple, with an array of many rows for each part.

    Raises
    ------
    TaskError
        If the observations cannot be made rows of a few numbers (and ``features`` does not make some of them), or the
        actions are neither numbered from 0 and few, nor real numbers between bounds.
    """
    import gymnasium

    env = make()
    if not isinstance(env, gymnasium.Env):
        raise TaskError(f"{name or 'the function'} made {env!r}, which is no Gymnasium environment")
    name = name or type(env.unwrapped).__name__
    try:
        box = ActionBox.of(env.action_space, name)
        counts = () if box is not None else choices(env.action_space, name)
        taken_at_once = () if box is not None or is_one_choice(env.action_space) else counts
        space = env.observation_space
        names = _observation_names(name, space, features is not None)
        columns = columns_of(space) if names else ()
        max_steps = _time_limit(env)
        env_id = None if env.spec is None else env.spec.id
    finally:
        env.close()
    task = Task(
        name=name,
        make=make,
        batch=partial(GymBatch, name, make, max_steps),
        observation_names=names,
        feature_names=names,
        feature_units=("",) * len(names),
        action_names=_action_names(counts) if box is None else tuple(f"u{k}" for k in range(len(box))),
        max_steps=max_steps,
        env_id=env_id,
        choices=taken_at_once,
        box=box,
        columns=columns,
    )
    if features is None:
        return task
    return with_features(task, features if is_flat(space) or is_image(space) else partial(_of_parts, features, space))


def _of_parts(features: Callable[[Any], Floats], space: Any, rows: Floats) -> Floats:
    return features(as_parts(space, rows))


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
        columns=(),
    )


def _checked_features(features: FeatureFunction, n_features: int, observations: Floats) -> Floats:
    rows = np.asarray(features(observations), dtype=np.float64)
    if rows.shape != (len(observations), n_features):
        raise TaskError(f"features gave shape {rows.shape} instead of {(len(observations), n_features)}")
    check_finite(rows, "features gave")
    return rows


def _numbered(n: int) -> tuple[str, ...]:
    return tuple(f"x{i}" for i in range(n))


def _action_names(counts: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(",".join(map(str, chosen)) for chosen in np.ndindex(*counts))


def _observation_names(name: str, space: Any, has_features: bool) -> tuple[str, ...]:
    """Names of the numbers that an environment shows; none if only features make a few numbers of them."""
    if is_image(space):
        if not has_features:
            raise TaskError(
                f"{name} shows observations of shape {space.shape}, but a tree needs a few meaningful numbers; "
                "give features=, a function from an array of observations, one per row, to rows of numbers"
            )
        return ()
    try:
        return row_names(space)
    except TaskError as error:
        if has_features and space.is_np_flattenable:
            return ()
        raise TaskError(
            f"{name} shows observations from {space}, but a tree needs rows of numbers ({error}); give features=, a "
            "function from the parts of many observations to rows of numbers"
        ) from None


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
