import sys

import gymnasium
import numpy as np
import pytest

from moet.envs import pong
from moet.envs.pong import ACTIONS, SAME_MOVE, SIX_ACTIONS, Pong, game_digest, pong_task
from moet.errors import TaskError

pytest.importorskip("ale_py")

STAY, UP, DOWN = range(3)
BALL_X, BALL_Y, PADDLE = range(3)


@pytest.fixture
def make():
    envs = []

    def make(**options):
        envs.append(Pong(**options))
        return envs[-1]

    yield make
    for env in envs:
        env.close()


def follow(observation):
    """Keep the paddle's middle level with the ball."""
    if observation[BALL_Y] == 0:
        return STAY
    return UP if observation[BALL_Y] < observation[PADDLE] + 6 else DOWN


def episode(env, seed, act=follow, n_steps=300):
    """Observations, actions and rewards."""
    observation, _ = env.reset(seed=seed)
    observations, actions, rewards = [], [], []
    for _ in range(n_steps):
        observations.append(observation)
        actions.append(act(observation))
        observation, reward, terminated, _, _ = env.step(actions[-1])
        rewards.append(reward)
        if terminated:
            break
    return np.array(observations), np.array(actions), np.array(rewards)


def same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_gymnasium_accepts_it(make):
    from gymnasium.utils.env_checker import check_env

    check_env(make(render_mode="rgb_array"), skip_render_check=True)


def test_up_is_up_and_down_is_down(make):
    env = make()
    for action, sign in ((STAY, 0), (UP, -1), (DOWN, 1)):
        before, _ = env.reset(seed=0)
        for _ in range(3):
            after = env.step(action)[0]
        assert np.sign(after[PADDLE] - before[PADDLE]) == sign


def test_observations_are_the_last_four_steps_newest_first(make):
    observations, _, _ = episode(make(), seed=0)
    assert all(np.array_equal(observations[0][:4], observations[0][4 * age : 4 * age + 4]) for age in range(4))
    np.testing.assert_array_equal(observations[1:, 4:], observations[:-1, :12])
    assert (np.ptp(observations, axis=0) > 0).all()


def test_a_step_is_four_frames(make):
    from ale_py import Action

    env = make()
    console = pong._take_console()
    console.reset_game()
    for _ in range(env.reset(seed=6)[1]["noops"]):
        console.act(Action.NOOP)
    for action, command in ((UP, Action.RIGHT), (DOWN, Action.LEFT), (STAY, Action.NOOP)) * 10:
        env.step(action)
        for _ in range(4):
            console.act(command)
    np.testing.assert_array_equal(env._console.getScreen(), console.getScreen())
    pong._IDLE_CONSOLES.append(console)


def test_points_are_rewards_and_the_game_ends_at_21(make):
    _, actions, rewards = episode(make(), seed=0, act=lambda observation: STAY, n_steps=1000)
    assert len(actions) < 1000
    assert rewards.sum() == -21
    assert set(rewards) == {-1, 0}


def test_thirty_seeds_begin_in_all_ways(make):
    env = make()
    assert [env.reset(seed=seed)[1]["noops"] for seed in range(28, 62)] == [29, 30, *range(1, 31), 1, 2]
    drawn = [env.reset()[1]["noops"] for _ in range(8)]
    assert len(set(drawn)) > 1
    env.reset(seed=61)
    assert [env.reset()[1]["noops"] for _ in range(8)] == drawn


@pytest.mark.parametrize(
    "options", [{}, {"sticky": 0.25}, {"noise": 0.2}, {"n_actions": 6, "sticky": 0.1, "noise": 0.1}]
)
def test_a_seed_decides_the_game_whatever_was_played_before(make, options):
    env = make(**options)
    first = episode(env, seed=5)
    other = episode(env, seed=35)  # as many no-ops
    assert same(first, other) == (not (options.get("sticky") or options.get("noise")))
    assert same(first, episode(env, seed=5))
    assert same(first, episode(make(**options), seed=5))


class Recorder:
    """A console that writes down what it is told."""

    def __init__(self, console):
        self.console, self.commands = console, []

    def act(self, command):
        self.commands.append(command)
        return self.console.act(command)

    def __getattr__(self, name):
        return getattr(self.console, name)


def test_a_quarter_of_the_frames_repeat_the_action_before(make, monkeypatch):
    env = make(sticky=0.25)
    env.reset(seed=0)
    recorder = Recorder(env._console)
    monkeypatch.setattr(env, "_console", recorder)
    stuck = chances = 0
    held = env._commands[STAY]
    for step in range(500):
        wanted = env._commands[step % 3]
        env.step(step % 3)
        for command in recorder.commands[-4:]:
            assert command in (wanted, held)
            chances += held != wanted
            stuck += command != wanted
            held = command
    assert stuck / chances == pytest.approx(0.25, abs=0.06)  # three standard deviations


def test_an_action_that_sticks_for_ever_is_to_stay(make):
    observations, _, _ = episode(make(sticky=1.0), seed=0, act=lambda observation: UP, n_steps=20)
    assert len(np.unique(observations[:, PADDLE])) == 1


def test_noise_of_one_leaves_nothing_to_the_player(make):
    up, _, _ = episode(make(noise=1.0), seed=3, act=lambda observation: UP)
    down, _, _ = episode(make(noise=1.0), seed=3, act=lambda observation: DOWN)
    np.testing.assert_array_equal(up, down)
    assert len(np.unique(up[:, PADDLE])) > 10


def test_the_button_moves_nothing_but_makes_a_return_faster(make):
    six = [*SIX_ACTIONS.values()]
    plain = [six.index(command) for command in ACTIONS.values()]
    button = [six.index(command) for command in ("FIRE", "RIGHTFIRE", "LEFTFIRE")]
    assert [SAME_MOVE[action] for action in button] == plain

    env = make(n_actions=6)
    games = [
        episode(env, 0, lambda observation, by=by: by[follow(observation)], n_steps=120)[0] for by in (plain, button)
    ]
    np.testing.assert_array_equal(games[0], episode(make(), 0, n_steps=120)[0])
    differs = (games[0] != games[1]).any(axis=1)
    hit = int(np.argmax(differs))
    assert differs.any()
    assert games[0][hit, BALL_X] > 130
    back, fast_back = (game[hit + 1, BALL_X] - game[hit + 2, BALL_X] for game in games)
    assert fast_back > back > 0


def test_render_gives_the_screen(make):
    env = make(render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape == (210, 160, 3)
    blind = make()
    blind.reset(seed=0)
    assert blind.render() is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_actions": 4}, "3 or 6 actions, not 4"),
        ({"sticky": 1.5}, "sticky is a probability from 0 to 1, not 1.5"),
        ({"noise": -0.1}, "noise is a probability"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(TaskError, match=message):
        Pong(**options)


def test_without_the_emulator_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ale_py", None)
    with pytest.raises(TaskError, match=r"pip install 'moet\[atari\]'"):
        Pong()


def test_a_console_is_used_again():
    first = Pong()
    console = first._console
    first.close()
    first.close()
    second = Pong()
    assert second._console is console
    second.close()


@pytest.mark.parametrize("rich", [False, True])
def test_the_task_hangs_together(rich):
    task = pong_task(rich=rich)
    env = task.make()
    assert task.name == ("pong-18" if rich else "pong")
    assert env.observation_space.shape == (len(task.observation_names),)
    assert env.action_space.n == len(task.action_names) == 3
    observations = np.float64([env.reset(seed=0)[0]])
    assert task.view(observations).shape == (1, len(task.feature_names))
    assert len(task.feature_units) == len(task.feature_names)
    assert isinstance(env, gymnasium.wrappers.TimeLimit)
    env.close()


def test_names_of_variants():
    assert pong_task(sticky=True).name == "pong-sticky"
    assert pong_task(rich=True, noisy=True).name == "pong-18-noisy"
    six = pong_task(n_actions=6)
    assert six.name == "pong-six"
    assert six.action_groups == SAME_MOVE
    assert len(six.action_names) == len(SAME_MOVE) == 6


def test_games_side_by_side_are_the_same_games(make):
    batch = pong_task(sticky=True).batch()
    observations = batch.reset([2, 3])
    for _ in range(60):
        observations = batch.step(np.array([follow(row) for row in observations])).observations
    batch.close()
    alone = episode(make(sticky=pong.STICKY), 3, n_steps=61)[0]
    np.testing.assert_array_equal(observations[1], alone[-1])


def test_games_that_differ_only_before_the_first_ball_are_one_game(make):
    def restless(observation):
        return DOWN if observation[BALL_Y] == 0 else follow(observation)

    env = make()
    for act in (follow, restless):
        episodes = {seed: episode(env, seed, act, n_steps=200 - seed // 4) for seed in (0, 1, 4, 28)}
        digests = {seed: game_digest(*played[:2]) for seed, played in episodes.items()}
        assert digests[0] == digests[4] == digests[28] != digests[1]


def test_the_time_limit_makes_no_new_game_of_those_who_waited():
    rally = 1.0 + np.arange(pong.MAX_STEPS)[:, None] * np.ones(16)
    digests = []
    for noops in (1, 29):
        unseen = np.zeros((len(range(noops, pong.SERVE, pong.FRAME_SKIP)), 16))
        observations = np.concatenate([unseen, rally])[: pong.MAX_STEPS]
        digests.append(game_digest(observations, np.zeros(pong.MAX_STEPS, np.int64)))
    assert digests[0] == digests[1]
    assert digests[0] != game_digest(rally[: pong.MAX_STEPS - 100], np.zeros(pong.MAX_STEPS - 100, np.int64))
