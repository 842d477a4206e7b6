"""Environments of Gymnasium: making them, and playing several side by side."""

from __future__ import annotations

import difflib
import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from moet.envs.box import ActionBox
from moet.envs.checks import begun, check_actions, check_finite, check_seeds, stepped
from moet.envs.mujoco import quiet_mujoco
from moet.envs.spaces import as_rows, choices, is_one_choice
from moet.envs.task import Floats, Step
from moet.errors import TaskError

if TYPE_CHECKING:
    import gymnasium

    Env = gymnasium.Env[Any, Any]

ENDLESS = 30_000
"""Steps after which an episode without a time limit counts as endless; the longest of Atari's have 27,000."""


def registered(env_id: str) -> Any:
    """What Gymnasium knows about an id; None if it knows nothing, or will know once a module is imported."""
    import gymnasium

    return gymnasium.registry.get(env_id)


def make_env(
    env_id: str, *, render_mode: str | None = None, suggest: Sequence[str] = (), spec: Any = None, **options: Any
) -> Env:
    """``gymnasium.make`` with errors that say what to install.

    Parameters
    ----------
    env_id : str
        As for ``gymnasium.make``; Atari games are found without an import.
    render_mode : str or None
        As for ``gymnasium.make``.
    suggest : sequence of str
        What else may have been meant if there is no such environment.
    spec : EnvSpec or None
        What the id stands for, where it is not registered: in another process than the script that registered it.
    **options
        For ``gymnasium.make``.

    Raises
    ------
    TaskError
        If there is no such environment, or something that it needs is missing.
    """
    import gymnasium

    if spec is not None:
        gymnasium.registry.setdefault(env_id, spec)
    # Gymnasium's passive checker only warns; GymBatch refuses what a student cannot be trained on
    options |= {"disable_env_checker": True}
    if render_mode is not None:  # an environment that draws nothing need not know the word
        options |= {"render_mode": render_mode}
    try:
        with warnings.catch_warnings(), quiet_mujoco(env_id):
            # Box2D crashes the interpreter while it is imported where warnings are errors
            warnings.filterwarnings("ignore", message="builtin type swig", category=DeprecationWarning)
            # that there is a newer version: who names the old one has an agent of it
            warnings.filterwarnings("ignore", message=".*is out of date", category=DeprecationWarning)
            try:
                return gymnasium.make(env_id, **options)
            except gymnasium.error.UnregisteredEnv:
                import ale_py  # noqa: F401  importing it registers the Atari games

                return gymnasium.make(env_id, **options)
    except (gymnasium.error.Error, ImportError) as error:
        raise TaskError(_why_not_made(env_id, error, suggest)) from error
    except (TypeError, ValueError, KeyError, AssertionError) as error:  # what constructors say of settings
        told = {name: value for name, value in options.items() if name not in ("disable_env_checker", "render_mode")}
        if not told:
            raise
        settings = ", ".join(f"{name}={value!r}" for name, value in told.items())
        raise TaskError(f"cannot make {env_id} with {settings}: {error}") from error


def _why_not_made(env_id: str, error: Exception, suggest: Sequence[str]) -> str:
    import gymnasium

    atari_is_missing = getattr(error, "name", None) == "ale_py"
    if atari_is_missing or isinstance(error, gymnasium.error.UnregisteredEnv):
        known = {name.lower(): name for name in (*gymnasium.registry, *suggest)}
        close = [repr(known[match]) for match in difflib.get_close_matches(env_id.lower(), known, n=3)]
        meant = f"; did you mean {' or '.join(close)}?" if close else "; `moet tasks` lists those that come with moet"
        atari = "; Atari games need pip install 'moet[atari]'" if atari_is_missing else ""
        return f"there is no environment {env_id!r}{atari}{meant}"
    if "box2d" in str(error).lower():
        return f"{env_id} needs Box2D: pip install 'moet[box2d]'"
    if "mujoco" in str(error).lower():
        return f"{env_id} needs MuJoCo: pip install 'moet[mujoco]'"
    return f"cannot make {env_id!r}: {error}"


class GymBatch:
    """A :class:`~moet.envs.task.Batch` of independent Gymnasium environments.

    Vector environments of Gymnasium are avoided on purpose: they begin the next episode by themselves, by default in
    an extra step whose reward and action mean nothing, and draw its seed from the episode before. Here a finished
    episode is not stepped any more, and each one is known by its own seed.

    Parameters
    ----------
    name : str
        How errors call the environment.
    make : callable
        Makes one environment. They are made when first needed, and used again after that.
    max_steps : int or None
        Time limit of the environment itself, None if it has none.
    """

    def __init__(self, name: str, make: Callable[[], Env], max_steps: int | None) -> None:
        self._name = name
        self._make = make
        self._has_limit = max_steps is not None
        self._envs: list[Env] = []
        self._running: list[Env] = []
        self._elapsed = np.zeros(0, np.int64)
        self._choices: tuple[int, ...] = ()
        self._box: ActionBox | None = None

    def reset(self, seeds: Sequence[int]) -> Floats:
        """Begin one episode per seed."""
        check_seeds(seeds, len(seeds))
        while len(self._envs) < len(seeds):
            self._envs.append(self._make())
        space = self._envs[0].action_space
        self._box = ActionBox.of(space, self._name)
        self._choices = () if self._box is not None else choices(space, self._name)
        self._running = self._envs[: len(seeds)]
        self._elapsed = np.zeros(len(seeds), np.int64)
        return self._begin(self._running, seeds)

    def step(self, actions: NDArray[Any]) -> Step:
        """Take one action in each running episode."""
        taken = self._taken(actions)
        outcomes = [stepped(env.step(action), self._name) for env, action in zip(self._running, taken, strict=True)]
        seen, earned, *ended = zip(*outcomes, strict=True)
        observations, rewards = self._rows(seen), np.array(earned)
        terminated, truncated = (np.array(column, dtype=np.bool_) for column in ended)
        check_finite(rewards, f"{self._name} gave a reward of")
        self._elapsed += 1
        if not self._has_limit and (self._elapsed[~(terminated | truncated)] >= ENDLESS).any():
            raise TaskError(
                f"an episode of {self._name} has not ended after {ENDLESS} steps; give it a time limit. "
                "In Python, take a function instead of its name: "
                "lambda: gymnasium.wrappers.TimeLimit(gymnasium.make(...), 1000); "
                "for the command line, register such an id in a module: moet distill MODULE:ID ..."
            )
        return Step(observations, rewards, terminated, truncated)

    def restart(self, finished: NDArray[np.bool_], seeds: Sequence[int]) -> Floats:
        """Begin new episodes in place of finished ones."""
        check_seeds(seeds, int(np.count_nonzero(finished)))
        self._elapsed[finished] = 0
        return self._begin([self._running[i] for i in np.flatnonzero(finished)], seeds)

    def keep(self, running: NDArray[np.bool_]) -> None:
        """Go on with some of the episodes only."""
        self._running = [self._running[i] for i in np.flatnonzero(running)]
        self._elapsed = self._elapsed[running]

    def close(self) -> None:
        """Close the environments."""
        for env in self._envs:
            env.close()
        self._envs, self._running = [], []

    def _taken(self, actions: NDArray[Any]) -> list[Any]:
        """What each environment takes."""
        if self._box is not None:
            return list(self._box.env_actions(actions, len(self._running)))
        check_actions(actions, len(self._running), math.prod(self._choices))
        if not is_one_choice(self._envs[0].action_space):
            return list(np.stack(np.unravel_index(actions, self._choices), axis=1))
        return actions.tolist()

    def _begin(self, envs: Sequence[Env], seeds: Sequence[int]) -> Floats:
        return self._rows([self._first(env, int(seed)) for env, seed in zip(envs, seeds, strict=True)])

    def _first(self, env: Env, seed: int) -> Any:
        try:
            return begun(env.reset(seed=seed), self._name)
        except TypeError as error:
            if "'seed'" not in str(error):
                raise
            raise TaskError(
                f"{self._name} cannot begin with a seed ({error}); its reset must take seed= and options=, and call "
                "super().reset(seed=seed)"
            ) from error

    def _rows(self, observations: Sequence[Any]) -> Floats:
        """Observations as one array, refused if they are not what the environment announces."""
        rows = as_rows(self._envs[0].observation_space, observations, self._name)
        check_finite(rows, f"{self._name} gave an observation that holds")
        return rows
