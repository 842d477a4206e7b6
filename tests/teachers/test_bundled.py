import sys

import numpy as np
import pytest

from moet import teachers
from moet.envs.catalog import resolve, tasks
from moet.errors import TeacherError
from moet.teachers.adapters import checked
from tests.processes import run


@pytest.mark.parametrize("name", [*teachers.names(), "gridworld-5"])
def test_every_teacher_fits_its_task(name):
    if name == "pong":
        pytest.importorskip("ale_py")
    if name.endswith("-v5"):
        pytest.importorskip("mujoco")
    task = resolve(name)
    teacher = checked(teachers.load(name), task)
    batch = task.batch()
    observations = batch.reset(range(5))
    batch.close()
    if task.box is None:
        assert np.array_equal(teacher.act(observations), teacher.scores(observations).argmax(axis=1))
    else:
        assert np.array_equal(teacher.act(observations), task.box.clipped(teacher.act(observations)))
        assert (teachers.load(name).low.tolist(), teachers.load(name).high.tolist()) == (
            [*task.box.low],
            [*task.box.high],
        )
    assert len(teacher.digest) == 64


@pytest.mark.parametrize("name", [name for name in tasks() if name.partition("-")[0] in teachers.names()])
def test_variants_share_a_teacher(name):
    assert teachers.load(name).digest == teachers.load(name.partition("-")[0]).digest


def test_ids_of_gymnasium_are_names_too():
    assert teachers.load("CartPole-v1").digest == teachers.load("cartpole").digest
    checked(teachers.load("CartPole-v1"), resolve("CartPole-v1"))


def test_gridworlds_have_rules_of_their_own():
    assert teachers.load("gridworld-5").digest != teachers.load("gridworld-6").digest
    assert teachers.load("gridworld").digest == teachers.load("gridworld-10").digest
    left, right = teachers.load("gridworld-5").act([[0.0, 1.0], [4.0, 3.0]])
    assert (resolve("gridworld").action_names[left], resolve("gridworld").action_names[right]) == ("left", "right")


@pytest.mark.parametrize("name", ["", "chess", "cartpol", "gridworld-x", "../cartpole", "gridworld-"])
def test_unknown_names_are_told_with_the_known_ones(name):
    with pytest.raises(TeacherError, match=r"there is no teacher .*; there are .*gridworld"):
        teachers.load(name)


@pytest.mark.processes
def test_to_import_teachers_is_light():
    code = "import sys, moet.teachers; print(sorted({'torch', 'numba', 'gymnasium', 'sklearn'} & set(sys.modules)))"
    assert run([sys.executable, "-c", code], check=True).stdout.strip() == "[]"
