"""What teachers and students see of Pong: pure functions of the positions that the environment shows.

Rows grow downwards and columns to the right, in pixels; a step is four frames. Whatever speaks of the ball is 0 while
the ball is out of sight, and so is its velocity in the step in which it comes into sight.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moet.envs.pong_frame import BALL_HEIGHT, BAR_HEIGHT
from moet.envs.task import Floats
from moet.errors import InputError

MEMORY = 4
"""How many positions of each kind the environment shows."""

OBSERVATION_NAMES = tuple(
    f"{what}_{age}" for age in range(MEMORY) for what in ("ball_x", "ball_y", "paddle", "opponent")
)
"""Column and row of the ball, row of our paddle and of the opponent: now (0), and one, two and three steps ago."""

VIPER_NAMES = (
    "ball_minus_paddle_row",
    "ball_column",
    "ball_column_velocity",
    "ball_row_velocity",
    "paddle_velocity",
    "paddle_acceleration",
    "paddle_jerk",
)
VIPER_UNITS = ("px", "px", "px/step", "px/step", "px/step", "px/step²", "px/step³")

TEACHER_NAMES = (
    "ball_column",
    "ball_row",
    "paddle_row",
    "opponent_row",
    "ball_minus_paddle_row",
    "ball_minus_paddle_row_near",
    "ball_to_paddle_column_near",
    "ball_column_velocity",
    "ball_row_velocity",
    "ball_column_velocity_before",
    "ball_row_velocity_before",
    "paddle_velocity",
    "paddle_velocity_before",
    "paddle_velocity_long_before",
    "opponent_velocity",
    "ball_minus_opponent_row_near",
    "ball_to_opponent_column_near",
    "ball_in_sight",
)
TEACHER_UNITS = (
    *("48 px",) * 5,
    *("12 px", "16 px"),
    *("6 px/step", "8 px/step") * 2,
    *("12 px/step",) * 3,
    "8 px/step",
    *("12 px", "16 px"),
    "",
)

_CENTRES = (BAR_HEIGHT - BALL_HEIGHT) // 2
"""Row of the ball minus row of a bar when their middles are level."""
_MIDDLE_COLUMN, _MIDDLE_ROW = 80, 114
_BALL_AT_PADDLE, _BALL_AT_OPPONENT = 138, 20
"""Columns of a ball that touches our paddle or the opponent."""


def viper_features(positions: Floats) -> Floats:
    """Seven numbers per row of ``positions``, those of VIPER, named by ``VIPER_NAMES``.

    With the ball at (x, y) and the paddle at p, newest first: y0 − p0 − 6, which is 0 when the middles are level; x0;
    x0 − x1; y0 − y1; p0 − p1; p0 − 2 p1 + p2; p0 − 3 p1 + 3 p2 − p3.
    """
    x, y, paddle, _, seen = _by_kind(positions)
    tracked = seen[0] & seen[1]
    velocity = -np.diff(paddle, axis=0)
    acceleration = -np.diff(velocity, axis=0)
    return np.stack(
        [
            seen[0] * (y[0] - paddle[0] - _CENTRES),
            seen[0] * x[0],
            tracked * (x[0] - x[1]),
            tracked * (y[0] - y[1]),
            velocity[0],
            acceleration[0],
            acceleration[0] - acceleration[1],
        ],
        axis=1,
    )


def teacher_features(positions: Floats) -> Floats:
    """Eighteen numbers per row of ``positions``, of order one as a network likes them, named by ``TEACHER_NAMES``.

    Those called near are clipped: to ±2 units along the rows, and to −1…3 units along the columns, where they grow with
    the way that the ball still has to go.
    """
    x, y, paddle, opponent, seen = _by_kind(positions)
    tracked = seen[0] & seen[1]
    tracked_before = tracked & seen[2]
    return np.stack(
        [
            seen[0] * (x[0] - _MIDDLE_COLUMN) / 48,
            seen[0] * (y[0] - _MIDDLE_ROW) / 48,
            (paddle[0] - _MIDDLE_ROW) / 48,
            (opponent[0] - _MIDDLE_ROW) / 48,
            seen[0] * (y[0] - paddle[0] - _CENTRES) / 48,
            seen[0] * np.clip((y[0] - paddle[0] - _CENTRES) / 12, -2, 2),
            seen[0] * np.clip((_BALL_AT_PADDLE - x[0]) / 16, -1, 3),
            tracked * (x[0] - x[1]) / 6,
            tracked * (y[0] - y[1]) / 8,
            tracked_before * (x[1] - x[2]) / 6,
            tracked_before * (y[1] - y[2]) / 8,
            (paddle[0] - paddle[1]) / 12,
            (paddle[1] - paddle[2]) / 12,
            (paddle[2] - paddle[3]) / 12,
            (opponent[0] - opponent[1]) / 8,
            seen[0] * np.clip((y[0] - opponent[0] - _CENTRES) / 12, -2, 2),
            seen[0] * np.clip((x[0] - _BALL_AT_OPPONENT) / 16, -1, 3),
            seen[0],
        ],
        axis=1,
    )


def _by_kind(positions: Floats) -> tuple[Floats, Floats, Floats, Floats, NDArray[np.bool_]]:
    """Ball columns, ball rows, paddle rows, opponent rows, and when the ball was in sight: (age, row) each."""
    if positions.ndim != 2 or positions.shape[1] != len(OBSERVATION_NAMES):
        raise InputError(
            f"positions of Pong have shape (rows, {len(OBSERVATION_NAMES)}), not {positions.shape}: "
            "give them as the environment shows them"
        )
    x, y, paddle, opponent = positions.reshape(-1, MEMORY, 4).transpose(2, 1, 0)
    return x, y, paddle, opponent, y > 0
