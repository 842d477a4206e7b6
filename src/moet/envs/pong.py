"""Atari's Pong as a Gymnasium environment that shows positions instead of pixels, and the tasks made of it."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from moet.envs.gym import GymBatch
from moet.envs.pong_features import (
    MEMORY,
    OBSERVATION_NAMES,
    TEACHER_NAMES,
    TEACHER_UNITS,
    VIPER_NAMES,
    VIPER_UNITS,
    teacher_features,
    viper_features,
)
from moet.envs.pong_frame import BAR_OUT_OF_SIGHT, FIELD_BOTTOM, WIDTH, read_positions
from moet.envs.task import Floats, Task
from moet.errors import TaskError

FRAME_SKIP = 4
NOOPS = 30
"""A game begins with 1 to this many frames in which nothing is done."""
SERVE = 59
"""The frame in which the first ball of a game comes into sight."""
MAX_STEPS = 27_000
"""Half an hour of the console's time, Atari's usual limit."""
STICKY, NOISE = 0.25, 0.01
"""The probabilities of the tasks called sticky and noisy."""

ACTIONS = {"stay": "NOOP", "up": "RIGHT", "down": "LEFT"}
"""Our names of the three actions, and the console's."""
SIX_ACTIONS = {
    "stay": "NOOP",
    "fire": "FIRE",
    "up": "RIGHT",
    "down": "LEFT",
    "up_fire": "RIGHTFIRE",
    "down_fire": "LEFTFIRE",
}
SAME_MOVE = (0, 0, 2, 3, 2, 3)
"""For each of the six actions, the first that moves the paddle alike."""


class Pong(gymnasium.Env[NDArray[np.float32], np.int64]):
    """Pong of the Arcade Learning Environment, without time limit.

    A step is four frames. Its observation is what the last of them shows, and the last ones of the three steps before:
    ball column, ball row, paddle row and opponent row each, newest first, in pixels (``OBSERVATION_NAMES``). When a
    game begins all four are the same. Its reward is the points won minus those lost.

    The seed decides everything. Seed s begins with 1 + s mod 30 frames without action, so thirty consecutive seeds
    begin in all the ways there are; and it feeds the generator of sticky and random actions.

    Parameters
    ----------
    n_actions : {3, 6}
        Stay, up, down; or all six that the console tells apart, some of which also press the button.
    sticky : float
        Probability, in each frame, that the console goes on with the action of the frame before. 0 plays like
        PongNoFrameskip-v4, 0.25 like ALE/Pong-v5.
    noise : float
        Probability, in each step, that the action is replaced by a random one.
    render_mode : {None, "rgb_array"}
        Nothing, or the screen.

    Raises
    ------
    TaskError
        If the Arcade Learning Environment is not installed, or an option is out of range.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 60 // FRAME_SKIP}  # noqa: RUF012  Gymnasium's

    def __init__(
        self, n_actions: int = 3, sticky: float = 0.0, noise: float = 0.0, render_mode: str | None = None
    ) -> None:
        for option, value in (("sticky", sticky), ("noise", noise)):
            if not 0 <= value <= 1:
                raise TaskError(f"{option} is a probability from 0 to 1, not {value}")
        self.sticky, self.noise = sticky, noise
        self.render_mode = render_mode
        lowest = np.array([0, 0, 0, BAR_OUT_OF_SIGHT], np.float32)
        highest = np.array([WIDTH - 1, FIELD_BOTTOM, FIELD_BOTTOM, FIELD_BOTTOM], np.float32)
        self.observation_space = gymnasium.spaces.Box(np.tile(lowest, MEMORY), np.tile(highest, MEMORY))
        self.action_space = gymnasium.spaces.Discrete(n_actions)
        self._commands = [_command(name) for name in _actions(n_actions).values()]
        self._console = _take_console()
        self._held = self._commands[0]
        self._screen = np.empty(self._console.getScreenDims(), np.uint8)
        self._positions = np.zeros(len(OBSERVATION_NAMES), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin a game; ``info["noops"]`` says after how many frames."""
        super().reset(seed=seed)
        noops = 1 + (int(self.np_random.integers(NOOPS)) if seed is None else seed % NOOPS)
        self._held = self._commands[0]
        self._console.reset_game()
        for _ in range(noops):
            self._console.act(self._held)
        self._positions[:] = self._read() * MEMORY
        return self._positions.copy(), {"noops": noops}

    def step(self, action: np.int64) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Play four frames."""
        if self.noise and self.np_random.random() < self.noise:
            action = self.np_random.integers(len(self._commands))
        command = self._commands[action]
        reward = 0
        for _ in range(FRAME_SKIP):
            if not self.sticky or self.np_random.random() >= self.sticky:
                self._held = command
            reward += self._console.act(self._held)
        newest = self._read()
        self._positions[len(newest) :] = self._positions[: -len(newest)]
        self._positions[: len(newest)] = newest
        return self._positions.copy(), float(reward), self._console.game_over(), False, {}

    def render(self) -> Any:
        """The screen, 210 × 160 pixels in RGB."""
        return self._console.getScreenRGB() if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        """Give the console back; it may be called twice."""
        if self._console is not None:
            _IDLE_CONSOLES.append(self._console)
            self._console = None

    def _read(self) -> tuple[int, int, int, int]:
        self._console.getScreen(self._screen)
        return read_positions(self._screen)


_IDLE_CONSOLES: list[Any] = []
"""Consoles that no environment uses: to insert the cartridge takes as long as a thousand steps of play."""


def _take_console() -> Any:
    """A console with Pong in it, in any state: a reset makes all of them equal."""
    with suppress(IndexError):  # another thread may be quicker
        return _IDLE_CONSOLES.pop()
    ale_py = _ale_py()
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    console = ale_py.ALEInterface()
    console.setInt("frame_skip", 1)
    console.setFloat("repeat_action_probability", 0.0)  # we do it ourselves: its generator is seeded by the cartridge
    console.loadROM(ale_py.roms.get_rom_path("pong"))
    return console


def _command(name: str) -> Any:
    return getattr(_ale_py().Action, name)


def _ale_py() -> Any:
    try:
        import ale_py
        import ale_py.roms
    except ImportError as error:
        raise TaskError("Pong needs the Arcade Learning Environment: pip install 'moet[atari]'") from error
    return ale_py


def _actions(n_actions: int) -> dict[str, str]:
    if n_actions not in (len(ACTIONS), len(SIX_ACTIONS)):
        raise TaskError(f"Pong is played with 3 or 6 actions, not {n_actions}")
    return ACTIONS if n_actions == len(ACTIONS) else SIX_ACTIONS


def _make(options: dict[str, Any], *, render_mode: str | None = None) -> Any:
    return gymnasium.wrappers.TimeLimit(Pong(**options, render_mode=render_mode), MAX_STEPS)


def pong_task(rich: bool = False, *, n_actions: int = 3, sticky: bool = False, noisy: bool = False) -> Task:
    """Pong as a task: a teacher sees sixteen positions, a student features of them.

    Parameters
    ----------
    rich : bool
        Whether a student sees the eighteen features of the teacher (``pong-18``) instead of VIPER's seven (``pong``).
    n_actions : {3, 6}
        How many actions there are (6: ``pong-six``). Those that move the paddle alike are one group.
    sticky : bool
        Whether the console repeats actions as in ALE/Pong-v5 (``pong-sticky``).
    noisy : bool
        Whether one action of a hundred is random (``pong-noisy``).
    """
    suffixes = {"-18": rich, "-six": n_actions == len(SIX_ACTIONS), "-sticky": sticky, "-noisy": noisy}
    name = "pong" + "".join(suffix for suffix, chosen in suffixes.items() if chosen)
    make = partial(
        _make, {"n_actions": n_actions, "sticky": STICKY if sticky else 0.0, "noise": NOISE if noisy else 0.0}
    )
    return Task(
        name=name,
        make=make,
        batch=partial(GymBatch, name, make, MAX_STEPS),
        observation_names=OBSERVATION_NAMES,
        feature_names=TEACHER_NAMES if rich else VIPER_NAMES,
        feature_units=TEACHER_UNITS if rich else VIPER_UNITS,
        action_names=tuple(_actions(n_actions)),
        max_steps=MAX_STEPS,
        episodes=NOOPS,
        features=teacher_features if rich else viper_features,
        action_groups=SAME_MOVE if n_actions == len(SIX_ACTIONS) else None,
        game_digest=game_digest,
        depths=tuple(range(30)),
        experts=(2, 4, 8, 16, 32),
    )


def game_digest(observations: Floats, actions: NDArray[np.int64]) -> str:
    """What makes a game the game it is: SHA-256 of all that was seen and done in its second half.

    A game without chance goes on in the same way once it has come to the same state. The first ball is served in the
    same frame whatever happens before, so episodes that differ in how long they waited for it, and in where the paddle
    was meanwhile, soon become one game. Each row is what was seen when the action of that row was chosen. The last
    steps before the time limit do not count, since those who waited longer play more of them.
    """
    served = int(np.argmax(observations[:, 1] > 0))
    n_played = min(len(observations) - served, MAX_STEPS - SERVE // FRAME_SKIP - 1)
    rows = slice(served + n_played // 2, served + n_played)
    return hashlib.sha256(np.column_stack([observations[rows], actions[rows]]).astype("<f8").tobytes()).hexdigest()
