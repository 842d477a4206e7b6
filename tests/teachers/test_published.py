"""Somebody else's agents: what was measured of them elsewhere is what they do here."""

import os
from pathlib import Path

import numpy as np
import pytest

from moet.envs.catalog import resolve
from moet.envs.rollout import play
from moet.errors import TeacherError
from moet.teachers import Teacher
from moet.teachers.adapters import checked

FOLDER = os.environ.get("MOET_TEACHERS")
pytestmark = pytest.mark.skipif(FOLDER is None, reason="MOET_TEACHERS names no folder of published agents")


def returns(name, episodes):
    task = resolve(name)
    teacher = checked(Teacher.from_arrays(Path(FOLDER) / f"{name}.npz"), task)
    return play(teacher.act, task, range(episodes)).returns


@pytest.mark.parametrize(("name", "reward"), [("cartpole", 200.0), ("acrobot", -68.99), ("mountaincar", -104.22)])
def test_greedy_play_earns_what_was_measured(name, reward):
    assert returns(name, 250).mean() == pytest.approx(reward, abs=0.005)


def test_the_lander_earns_about_what_was_measured():
    pytest.importorskip("Box2D")
    earned = returns("lunarlander", 60)
    assert earned.mean() == pytest.approx(188.99, abs=3 * earned.std() / np.sqrt(len(earned)))


def test_a_network_of_pixels_is_refused():
    with pytest.raises(
        TeacherError, match=r"not understood: actor, conv1, .*convolutions.* holds conv1/weight \(32, 4, 8, 8\)"
    ):
        Teacher.from_arrays(Path(FOLDER) / "pong_pixels.npz")
