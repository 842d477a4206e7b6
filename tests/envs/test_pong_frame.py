"""Positions read from frames, against drawn frames and against the console's own memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet.envs.pong_frame import BAR_OUT_OF_SIGHT, FIELD_BOTTOM, FIELD_TOP, read_positions

BALL_X, BALL_Y, PADDLE, OPPONENT, CLOCK = 49, 54, 51, 50, 9


def frame(ball=None, paddle=100, opponent=100, colours=(34, 14, 200, 56)):
    """A frame as the console draws it, the ball over the bars and the walls over all."""
    field, wall, ours, theirs = colours
    screen = np.full((210, 160), field, np.uint8)
    screen[max(opponent, 24) : opponent + 16, 16:20] = theirs
    screen[paddle : paddle + 16, 140:144] = ours
    if ball is not None:
        screen[ball[1] : ball[1] + 4, ball[0] : ball[0] + 2] = wall
    screen[24:FIELD_TOP] = wall
    screen[FIELD_BOTTOM + 1 :] = wall
    screen[1:21, 16:48] = theirs
    screen[1:21, 100:140] = ours
    return screen


# the field's 160 rows show at least one row of a ball that is 4 high and of a bar that is 16 high
balls = st.tuples(st.integers(0, 158), st.integers(FIELD_TOP - 3, FIELD_BOTTOM))
bars = st.integers(FIELD_TOP - 15, FIELD_BOTTOM)


@given(balls, bars, bars, st.permutations([34, 14, 200, 56]))
def test_every_position_is_read_whatever_hides_or_colours_it(ball, paddle, opponent, colours):
    assert read_positions(frame(ball, paddle, opponent, colours)) == (*ball, paddle, opponent)


def test_what_is_behind_a_wall_is_out_of_sight():
    assert read_positions(frame(None, 100, 18)) == (0, 0, 100, BAR_OUT_OF_SIGHT)
    assert read_positions(frame((80, FIELD_TOP - 4), 100, 2)) == (0, 0, 100, BAR_OUT_OF_SIGHT)


def test_a_ball_whose_columns_are_drawn_apart_is_read_at_its_later_edge():
    screen = frame((130, 99))
    screen[99, 131], screen[103, 130] = 34, 14  # the left column from 99 to 103, the right one from 100 to 102
    assert read_positions(screen)[:2] == (130, 100)


@pytest.fixture
def console():
    pytest.importorskip("ale_py")
    from moet.envs import pong

    console = pong._take_console()
    console.reset_game()
    yield console
    pong._IDLE_CONSOLES.append(console)


def play(console, n_frames, *, tracking):
    """Positions and memory (ball x, ball y, paddle, opponent) of each frame, from the first one after a reset."""
    from ale_py import Action

    generator = np.random.default_rng(0)
    command, rows = Action.NOOP, []
    screen = np.empty((210, 160), np.uint8)
    for i in range(n_frames):
        console.act(command)
        if console.game_over():
            console.reset_game()
            console.act(Action.NOOP)
        console.getScreen(screen)
        ball_x, ball_y, paddle, opponent = read_positions(screen)
        memory = console.getRAM()[[BALL_X, BALL_Y, PADDLE, OPPONENT]]
        rows.append((ball_x, ball_y, paddle, opponent, *memory.tolist()))
        if tracking:
            aim = paddle + 6 + 4 * (i // 80 % 5 - 2)  # with all parts of the paddle, so that the ball goes everywhere
            command = Action.NOOP if ball_y == 0 else Action.RIGHT if ball_y < aim else Action.LEFT
        elif i % 4 == 0:
            command = [Action.NOOP, Action.RIGHT, Action.LEFT][generator.integers(3)]
    return np.array(rows)


def assert_relation_to_memory(rows):
    x, y, paddle, opponent, memory_x, memory_y, memory_paddle, memory_opponent = rows.T
    np.testing.assert_array_equal(paddle, 2 * ((memory_paddle + 1) // 2) - 14)
    np.testing.assert_array_equal(opponent, np.maximum(memory_opponent, 32) - 15)
    seen = y > 0
    # the wall hides the ball when it turns in its highest row, and in the row below where it is drawn too high
    assert set(memory_y[~seen]) <= {0, 44, 45}
    assert (memory_x[~seen & (memory_y == 45)] - 49 >= 126).all()
    assert (x[~seen] == 0).all()
    np.testing.assert_array_equal(x[seen], memory_x[seen] - 49)
    too_high = (memory_y - 14 - y)[seen]
    assert set(too_high) <= {0, 1}
    assert (too_high[x[seen] < 126] == 0).all()


@pytest.mark.parametrize("tracking", [False, True])
def test_frames_agree_with_memory(console, tracking):
    rows = play(console, 12_000, tracking=tracking)
    assert_relation_to_memory(rows)
    assert (rows[:, 1] > 0).mean() > 0.5
    if tracking:  # which brings ball and bars everywhere
        assert {FIELD_TOP - 3, FIELD_BOTTOM} <= set(rows[:, 1])
        assert {BAR_OUT_OF_SIGHT, FIELD_BOTTOM - 2} <= set(rows[:, 3])


def test_frames_agree_with_memory_when_the_console_changes_its_colours(console):
    from ale_py import Action

    console.act(Action.NOOP)
    usual = console.getScreen()[80, 80]
    console.setRAM(CLOCK, 255)  # 18 minutes later
    rows, fields = [], set()
    for _ in range(6):
        rows.append(play(console, 300, tracking=True))
        fields.add(int(console.getScreen()[80, 1]))
    assert fields - {usual}
    assert_relation_to_memory(np.concatenate(rows))
