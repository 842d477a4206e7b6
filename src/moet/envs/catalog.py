"""The tasks known by name, and how anything else becomes a task."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from moet.envs import classic
from moet.envs.continuous import CAR, CONTINUOUS, LANDER, PENDULUM
from moet.envs.dynamics import Dynamics, DynamicsBatch
from moet.envs.generic import task_of, with_features
from moet.envs.gym import GymBatch, make_env, registered
from moet.envs.mujoco import ROBOTS
from moet.envs.names import imported, is_function, parse_name
from moet.envs.task import FeatureFunction, Task
from moet.errors import MoetWarning, TaskError

if TYPE_CHECKING:
    import gymnasium


def tasks() -> tuple[str, ...]:
    """Names of the tasks that :func:`resolve` knows, without all variants.

    Besides them there are ``gridworld-5`` and so on for a grid of any size, and ``pong`` or ``pong-18`` followed by
    ``-six`` (actions), ``-sticky`` and ``-noisy``, in that order. Those with continuous actions have Gymnasium's ids.

    Examples
    --------
    >>> from moet.envs import tasks
    >>> "cartpole" in tasks()
    True
    """
    return (*_BY_NAME, *CONTINUOUS)


def resolve(env: str | Task | Callable[..., gymnasium.Env[Any, Any]], features: FeatureFunction | None = None) -> Task:
    """Find or make a task.

    Parameters
    ----------
    env : str, Task or callable
        A name of the catalogue (:func:`tasks`), the id of any Gymnasium environment with Discrete actions, a few
        MultiDiscrete ones or those of a Box with finite bounds, a task, or a function that makes an environment. A
        function that is to be watched also takes ``render_mode``. An id may have settings for ``gymnasium.make``,
        ``"FrozenLake-v1(is_slippery=False)"``; ``"module:function"`` is imported.
    features : callable or None
        What a student sees: a function from an array of observations, one per row, to a two-dimensional array of
        features. Without it a student sees what the task shows, flattened. Where an observation is a dictionary or a
        tuple, the function gets one, of arrays with one row per observation.

    Raises
    ------
    TaskError
        If there is no such environment, it is not installed, or trees cannot play it.

    Examples
    --------
    >>> from moet.envs import resolve
    >>> resolve("cartpole").feature_names
    ('position', 'velocity', 'angle', 'angular_velocity')
    """
    if isinstance(env, str):
        env = _current(env)
        task = known(env)
        if task is None:
            return _by_name(env, features)
    elif isinstance(env, Task):
        task = env
    elif callable(env):
        return task_of(_name_of(env), partial(_call_factory, env), features)
    else:
        raise TaskError(
            f"cannot play {env!r}; give the name of a task, a Gymnasium id, or a function that makes an environment "
            "(several are played side by side, so one environment is not enough)"
        )
    return task if features is None else with_features(task, features)


def _by_name(name: str, features: FeatureFunction | None) -> Task:
    """The task of an environment that the catalogue does not have, or has with other settings."""
    if is_function(name):
        return task_of(name, partial(_call_factory, imported(name)), features)
    env_id, settings = parse_name(name)
    usual = known(env_id) if settings else None
    if usual is not None and usual.env_id is None:
        raise TaskError(f"{env_id} has no settings; those in {name!r} are for ids of Gymnasium")
    env_id = env_id if usual is None or usual.env_id is None else usual.env_id
    make = partial(make_env, env_id, suggest=tasks(), spec=registered(env_id), **settings)
    task = task_of(name, make, features)
    return task if usual is None or features is not None else _named_as(task, usual)


def _named_as(task: Task, usual: Task) -> Task:
    """The task with the names that the same environment has with its usual settings, as far as they fit."""
    if len(usual.feature_names) == len(task.feature_names):
        names = usual.feature_names
        task = replace(task, observation_names=names, feature_names=names, feature_units=usual.feature_units)
    if len(usual.action_names) == len(task.action_names) and usual.continuous == task.continuous:
        task = replace(task, action_names=usual.action_names)
    return task


def is_harmless(name: str) -> bool:
    """Whether a stranger's file may name this task: to make it, no module is imported that the name says, no file read.

    Examples
    --------
    >>> is_harmless("FrozenLake-v1(map_name='8x8')"), is_harmless("evil:Env-v0")
    (True, False)
    """
    import gymnasium

    if is_function(name):
        return False
    try:
        env_id, settings = parse_name(name)
    except TaskError:
        return False
    is_there = known(env_id) is not None or env_id in gymnasium.registry
    return is_there and not any(sign in str(value) for value in settings.values() for sign in "/\\~")


def known(name: str) -> Task | None:
    """The task that the catalogue has under that name, or Gymnasium id with the time limit registered for it.

    Other ids are not looked up, so nothing is imported that a stranger's model file names.
    """
    if name in _BY_NAME:
        return _BY_NAME[name](name)
    if match := re.fullmatch(r"gridworld-(\d{1,4})", name):
        return _gridworld(name, size=int(match[1]))
    if re.fullmatch(r"pong(-18)?(-six)?(-sticky)?(-noisy)?", name):
        return _pong(name)
    if name in _BY_ID:
        import gymnasium

        if limit := gymnasium.spec(name).max_episode_steps:
            return _BY_ID[name](name, limit)
    return None


def _current(name: str) -> str:
    """The id that stands today for one of which Gymnasium has no equations any more, with a note."""
    new = _SUCCESSORS.get(name)
    if new is None:
        return name
    warnings.warn(
        f"Gymnasium plays {name} no more; {new} is played instead. An agent of the old one sees and does the same "
        "there, while physics and rewards may differ a little from those it was trained with",
        MoetWarning,
        stacklevel=3,
    )
    return new


def _name_of(factory: Callable[..., Any]) -> str | None:
    name = getattr(factory, "__name__", "<unnamed>")
    return None if name.startswith("<") else name


def _call_factory(factory: Callable[..., Any], *, render_mode: str | None = None) -> Any:
    return factory() if render_mode is None else factory(render_mode=render_mode)


def _span(first: int, last: int, *others: int) -> tuple[int, ...]:
    return (*range(first, last + 1), *others)


def _task(
    name: str,
    env_id: str,
    max_steps: int,
    dynamics: Dynamics | None,
    features: dict[str, str],
    actions: tuple[str, ...],
    wrapped: Callable[..., gymnasium.Env[Any, Any]] = make_env,
    **evaluation: Any,
) -> Task:
    """A task on an environment of Gymnasium, played by equations if there are some; features have their units."""
    make = partial(wrapped, env_id, max_episode_steps=max_steps)
    return Task(
        name=name,
        env_id=env_id,
        make=make,
        batch=partial(DynamicsBatch, dynamics, max_steps) if dynamics else partial(GymBatch, name, make, max_steps),
        observation_names=tuple(features),
        feature_names=tuple(features),
        feature_units=tuple(features.values()),
        action_names=actions,
        max_steps=max_steps,
        **evaluation,
    )


def _cartpole(name: str, max_steps: int = 200) -> Task:
    return _task(
        name,
        "CartPole-v1",
        max_steps,
        classic.CARTPOLE,
        features={"position": "m", "velocity": "m/s", "angle": "rad", "angular_velocity": "rad/s"},
        actions=("left", "right"),
        episodes=250,
        depths=_span(0, 7),
        experts=_span(2, 8),
    )


def _acrobot(name: str, max_steps: int = 200) -> Task:
    angles = dict.fromkeys(("cos_angle_1", "sin_angle_1", "cos_angle_2", "sin_angle_2"), "")
    return _task(
        name,
        "Acrobot-v1",
        max_steps,
        classic.ACROBOT,
        features=angles | {"angular_velocity_1": "rad/s", "angular_velocity_2": "rad/s"},
        actions=("negative", "none", "positive"),
        depths=_span(0, 15),
        experts=_span(2, 8, 15, 16),
    )


def _mountaincar(name: str, max_steps: int = 200) -> Task:
    return _task(
        name,
        "MountainCar-v0",
        max_steps,
        classic.MOUNTAINCAR,
        features=CAR,
        actions=("left", "none", "right"),
        depths=_span(0, 11),
        experts=_span(2, 8, 12, 16),
    )


def _lunarlander(name: str, max_steps: int = 1000) -> Task:
    return _task(
        name,
        "LunarLander-v3",
        max_steps,
        None,
        features=LANDER,
        actions=("none", "left", "main", "right"),
        depths=_span(0, 20),
        experts=_span(2, 8),
    )


def _pendulum(name: str, max_steps: int = 200) -> Task:
    return _task(
        name,
        "Pendulum-v1",
        max_steps,
        classic.THREE_TORQUES,
        features=PENDULUM,
        actions=("negative", "none", "positive"),
        wrapped=_make_pendulum,
    )


def _make_pendulum(env_id: str, **options: Any) -> gymnasium.Env[Any, Any]:
    from moet.envs.pendulum import DiscretePendulum

    return DiscretePendulum(make_env(env_id, **options))


def _pong(name: str) -> Task:
    from moet.envs.pong import pong_task

    variants = name.split("-")[1:]
    return pong_task(
        rich="18" in variants,
        n_actions=6 if "six" in variants else 3,
        sticky="sticky" in variants,
        noisy="noisy" in variants,
    )


def _gridworld(name: str, size: int = 10) -> Task:
    from moet.envs.gridworld import gridworld_task

    return gridworld_task(name, size)


_BY_NAME: dict[str, Callable[[str], Task]] = {
    "cartpole": _cartpole,
    "cartpole-500": partial(_cartpole, max_steps=500),
    "acrobot": _acrobot,
    "mountaincar": _mountaincar,
    "lunarlander": _lunarlander,
    "pendulum": _pendulum,
    "pong": _pong,
    "pong-18": _pong,
    "gridworld": _gridworld,
}

_SUCCESSORS = {"LunarLander-v2": "LunarLander-v3", "LunarLanderContinuous-v2": "LunarLanderContinuous-v3"} | {
    f"{name.partition('-')[0]}-v{version}": name for name in ROBOTS for version in (2, 3)
}
"""Ids that agents of the public zoo were trained with, and what to play today."""

_BY_ID: dict[str, Callable[[str, int], Task]] = {
    "CartPole-v1": _cartpole,
    "Acrobot-v1": _acrobot,
    "MountainCar-v0": _mountaincar,
    "LunarLander-v3": _lunarlander,
    **CONTINUOUS,
}
