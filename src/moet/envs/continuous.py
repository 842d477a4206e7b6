"""Tasks of Gymnasium whose actions are numbers, by their ids."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from moet.envs import classic
from moet.envs.box import ActionBox
from moet.envs.dynamics import Dynamics, DynamicsBatch
from moet.envs.gym import GymBatch, make_env
from moet.envs.mujoco import ROBOTS
from moet.envs.task import Task

LANDER = {
    "x": "10 m",
    "y": "6.67 m",
    "velocity_x": "5 m/s",
    "velocity_y": "7.5 m/s",
    "angle": "rad",
    "angular_velocity": "2.5 rad/s",
    "left_contact": "",
    "right_contact": "",
}
"""What a lander sees: the environment scales by half its picture, and velocities by 50 frames a second besides."""

PENDULUM = {"cos_angle": "", "sin_angle": "", "angular_velocity": "rad/s"}

CAR = {"position": "m", "velocity": "m/step"}

_JOINTS = ("hip_1", "knee_1", "hip_2", "knee_2")

_LEGS = {
    f"{joint}_{what}": unit
    for leg in ("1", "2")
    for joint, what, unit in (
        (f"hip_{leg}", "angle", "rad"),
        (f"hip_{leg}", "speed", ""),
        (f"knee_{leg}", "angle", "rad"),
        (f"knee_{leg}", "speed", ""),
        (f"leg_{leg}", "contact", ""),
    )
}

WALKER = (
    {"angle": "rad", "angular_velocity": "", "velocity_x": "", "velocity_y": ""}
    | _LEGS
    | {f"lidar_{k}": "" for k in range(10)}
)
"""Its speeds are scaled by factors that the environment does not name."""


def _task(
    dynamics: Dynamics | None,
    features: dict[str, str],
    actions: tuple[str, ...],
    bound: float,
    name: str,
    max_steps: int,
) -> Task:
    make = partial(make_env, name, max_episode_steps=max_steps)
    return Task(
        name=name,
        env_id=name,
        make=make,
        batch=partial(DynamicsBatch, dynamics, max_steps) if dynamics else partial(GymBatch, name, make, max_steps),
        observation_names=tuple(features),
        feature_names=tuple(features),
        feature_units=tuple(features.values()),
        action_names=actions,
        max_steps=max_steps,
        box=ActionBox((-bound,) * len(actions), (bound,) * len(actions), (len(actions),)),
    )


CONTINUOUS: dict[str, Callable[[str, int], Task]] = {
    "Pendulum-v1": partial(_task, classic.PENDULUM, PENDULUM, ("torque",), 2.0),
    "MountainCarContinuous-v0": partial(_task, classic.CAR, CAR, ("force",), 1.0),
    "LunarLanderContinuous-v3": partial(_task, None, LANDER, ("main", "side"), 1.0),
    "BipedalWalker-v3": partial(_task, None, WALKER, _JOINTS, 1.0),
    **{name: partial(_task, None, *robot) for name, robot in ROBOTS.items()},
}
"""From an id and the time limit that is registered for it to the task."""
