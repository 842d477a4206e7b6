"""Where ball and bars are in a frame of Pong.

Nothing here knows a colour, since the console changes all of them in long games (it protects the television). It draws
ball and walls in one colour, field and margins in another, and each bar in its own four columns: that is enough to tell
everything apart.

All numbers are pixels of the 210 × 160 screen. A bar or ball that is partly behind a wall has the row where it would
begin if the wall were not there. How the rows relate to the console's memory is in ``docs/pong.md`` and in the tests.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from moet.jit import OPTIONS

FIELD_TOP, FIELD_BOTTOM = 34, 193
"""First and last row between the walls."""
WALL_ROW, MARGIN_ROW = 33, 23
"""Rows of the upper wall and of the margin above it, in which nothing else is ever drawn."""
WIDTH = 160
BALL_HEIGHT = 4
BAR_HEIGHT = 16
OPPONENT_COLUMN, PADDLE_COLUMN = 16, 140
"""Left columns of the two bars, which are four columns wide."""
BAR_OUT_OF_SIGHT = FIELD_TOP - BAR_HEIGHT - 1
"""Row of a bar that is behind the upper wall: where the opponent waits for the ball, and steps out in twos."""


@numba.njit(**OPTIONS)
def read_positions(screen: NDArray[np.uint8]) -> tuple[int, int, int, int]:
    """Read ball column, ball row, paddle row and opponent row from the palette indices of a frame.

    Rows are those of upper edges, columns those of left edges. A ball that is not in sight has column 0 and row 0; no
    ball in sight has row 0.
    """
    ball_x, ball_y = _ball(screen)
    return ball_x, ball_y, _bar_row(screen, PADDLE_COLUMN), _bar_row(screen, OPPONENT_COLUMN)


@numba.njit(**OPTIONS)
def _ball(screen: NDArray[np.uint8]) -> tuple[int, int]:
    colour = screen[WALL_ROW, 0]
    left, top, bottom = WIDTH, 0, 0
    for row in range(FIELD_TOP, FIELD_BOTTOM + 1):
        found = False
        for column in range(WIDTH):  # without a way out, so that it is vectorised
            found |= screen[row, column] == colour
        if found:
            column = 0
            while screen[row, column] != colour:
                column += 1
            left = min(left, column)
            if top == 0:
                top = row
            bottom = row
        elif top > 0:
            break
    if top == 0:
        return 0, 0
    # Far to the right the console may switch the ball on or off too late for one of its two columns or for both: the
    # later edge is the right one.
    row = bottom - (BALL_HEIGHT - 1)
    if top > FIELD_TOP:
        row = max(row, top)
    return left, row


@numba.njit(**OPTIONS)
def _bar_row(screen: NDArray[np.uint8], left: int) -> int:
    right = left + 3
    field, ball = screen[MARGIN_ROW, 0], screen[WALL_ROW, 0]
    top = end = FIELD_TOP
    for row in range(FIELD_TOP, FIELD_BOTTOM + 1):
        # The ball passes in front of a bar, but being two columns wide it cannot hide both outer columns.
        a, b = screen[row, left], screen[row, right]
        if (a != field and a != ball) or (b != field and b != ball):
            if end == FIELD_TOP:
                top = row
            end = row + 1
        elif end > FIELD_TOP:
            break
    if end == FIELD_TOP:
        return BAR_OUT_OF_SIGHT
    return top if top > FIELD_TOP else end - BAR_HEIGHT
