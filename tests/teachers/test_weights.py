"""The bundled teachers play as well as they are said to, on episodes that are not those of their report."""

import pytest

from moet import teachers
from moet.envs.catalog import resolve, tasks
from moet.envs.rollout import play

TRIALS = {
    "acrobot": (200, -70.0),
    "cartpole": (50, 200.0),
    "cartpole-500": (50, 500.0),
    "lunarlander": (40, 250.0),
    "mountaincar": (200, -102.0),
    "pendulum": (500, -150.0),
    "pong": (4, 21.0),  # one episode for each way to begin
    "InvertedPendulum-v5": (10, 1000.0),
    "LunarLanderContinuous-v3": (30, 255.0),
    "MountainCarContinuous-v0": (200, 95.0),
    "Pendulum-v1": (500, -155.0),
    "Swimmer-v5": (3, 335.0),
}
"""Episodes and the mean reward to reach. Gridworld is not here: its rule is optimal, as its own tests show."""


def test_every_task_has_a_teacher_and_a_trial():
    few = {name for name in tasks() if not resolve(name).continuous}
    rich = {name for name in TRIALS if resolve(name).continuous}
    assert few == {*TRIALS, "pong-18", "gridworld"} - rich  # pong-18 is the same game, seen by other students
    assert {name.partition("-")[0] for name in few} | rich == set(teachers.names())


@pytest.mark.parametrize("name", TRIALS)
def test_a_bundled_teacher_reaches_its_target(name):
    if name.startswith("pong"):
        pytest.importorskip("ale_py")
    if name.lower().startswith("lunarlander"):
        pytest.importorskip("Box2D")
    if name.endswith("-v5"):
        pytest.importorskip("mujoco")
    episodes, target = TRIALS[name]
    assert play(teachers.load(name).act, resolve(name), range(episodes)).returns.mean() >= target
