import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet.envs.pong_features import (
    OBSERVATION_NAMES,
    TEACHER_NAMES,
    TEACHER_UNITS,
    VIPER_NAMES,
    VIPER_UNITS,
    teacher_features,
    viper_features,
)
from moet.errors import InputError

SEEN = np.array([[100, 90, 60, 70, 94, 98, 72, 66, 88, 106, 76, 66, 82, 114, 77, 62]], dtype=np.float64)
"""The ball comes from the left and rises, the paddle speeds up on its way up."""


def named(names, features):
    return dict(zip(names, features[0], strict=True))


def unseen(*ages):
    """``SEEN`` with the ball out of sight at some ages."""
    positions = SEEN.copy()
    for age in ages:
        positions[0, 4 * age : 4 * age + 2] = 0
    return positions


def test_names_say_what_there_is():
    assert OBSERVATION_NAMES[:5] == ("ball_x_0", "ball_y_0", "paddle_0", "opponent_0", "ball_x_1")
    assert len(OBSERVATION_NAMES) == 16
    assert len(set(VIPER_NAMES)) == len(VIPER_UNITS) == viper_features(SEEN).shape[1] == 7
    assert len(set(TEACHER_NAMES)) == len(TEACHER_UNITS) == teacher_features(SEEN).shape[1] == 18


def test_the_seven_features():
    assert named(VIPER_NAMES, viper_features(SEEN)) == {
        "ball_minus_paddle_row": 24,
        "ball_column": 100,
        "ball_column_velocity": 6,
        "ball_row_velocity": -8,
        "paddle_velocity": -12,
        "paddle_acceleration": -8,
        "paddle_jerk": -5,
    }


def test_the_eighteen_features():
    assert named(TEACHER_NAMES, teacher_features(SEEN)) == {
        "ball_column": 20 / 48,
        "ball_row": -24 / 48,
        "paddle_row": -54 / 48,
        "opponent_row": -44 / 48,
        "ball_minus_paddle_row": 24 / 48,
        "ball_minus_paddle_row_near": 2,
        "ball_to_paddle_column_near": 38 / 16,
        "ball_column_velocity": 1,
        "ball_row_velocity": -1,
        "ball_column_velocity_before": 1,
        "ball_row_velocity_before": -1,
        "paddle_velocity": -1,
        "paddle_velocity_before": -4 / 12,
        "paddle_velocity_long_before": -1 / 12,
        "opponent_velocity": 0.5,
        "ball_minus_opponent_row_near": 14 / 12,
        "ball_to_opponent_column_near": 3,
        "ball_in_sight": 1,
    }


@pytest.mark.parametrize(("function", "names"), [(viper_features, VIPER_NAMES), (teacher_features, TEACHER_NAMES)])
def test_everything_about_a_ball_out_of_sight_is_zero(function, names):
    features, as_seen = named(names, function(unseen(0))), named(names, function(SEEN))
    for name in names:
        assert features[name] == (0 if name.startswith("ball") else as_seen[name]), name


def test_a_velocity_needs_the_ball_in_sight_at_both_ends():
    features, as_seen = named(TEACHER_NAMES, teacher_features(unseen(1))), named(TEACHER_NAMES, teacher_features(SEEN))
    changed = {name for name in TEACHER_NAMES if features[name] != as_seen[name]}
    assert changed == {name for name in TEACHER_NAMES if name.startswith("ball") and "velocity" in name}
    assert {features[name] for name in changed} == {0}
    before = named(TEACHER_NAMES, teacher_features(unseen(2)))
    assert before["ball_row_velocity"] == as_seen["ball_row_velocity"]
    assert before["ball_row_velocity_before"] == 0
    assert named(VIPER_NAMES, viper_features(unseen(1)))["ball_column_velocity"] == 0


rows = st.lists(st.integers(0, 190), min_size=16, max_size=16)


@given(st.lists(rows, min_size=1, max_size=4), st.integers(1, 20))
def test_the_seven_features_tell_no_heights(positions, shift):
    positions = np.array(positions, dtype=np.float64)
    moved = positions + np.where(np.isin(np.arange(16) % 4, [1, 2, 3]) & (positions > 0), shift, 0)
    moved[:, 2::4] = positions[:, 2::4] + shift
    np.testing.assert_array_equal(viper_features(moved), viper_features(positions))


@given(st.lists(rows, min_size=1, max_size=4))
def test_features_of_a_row_do_not_depend_on_other_rows(positions):
    positions = np.array(positions, dtype=np.float64)
    for function in (viper_features, teacher_features):
        np.testing.assert_array_equal(function(positions)[-1:], function(positions[-1:]))


@pytest.mark.parametrize("shape", [(16,), (2, 4), (2, 18)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(InputError, match=r"shape \(rows, 16\), not"):
        viper_features(np.zeros(shape))
