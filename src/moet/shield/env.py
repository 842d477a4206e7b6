"""A Gymnasium environment behind a shield."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium
import numpy as np

from moet.errors import InputError
from moet.shield.controls import ControlShield
from moet.shield.goals import GoalShield
from moet.shield.look_ahead import LookAhead
from moet.shield.reading import numbers, whole
from moet.shield.shield import Shield
from moet.verify.loops.sensor import check_precision
from moet.verify.systems.system import System


class ShieldedEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment in which only actions are taken that the shield allows.

    What the environment shows must be the state of the shield's system. ``info["overridden"]`` says whether another
    action was taken than the one given, ``info["action"]`` which one was, and ``info["explained"]`` whether the system
    that was proved can do what was seen; once it cannot, nothing is guaranteed in the rest of the episode, and it stays
    False. Behind a shield for a goal, ``info["left"]`` says in how many steps more the goal is reached, at most.

    A pendulum that hangs is in no set around the top. With ``waits`` an episode may begin anywhere: the agent acts
    alone until it is where the policy surely holds, and from there on the shield decides; ``info["guarded"]`` says
    whether it does.

    Parameters
    ----------
    env : gymnasium.Env
        With as many actions as the system has, or with its controls.
    shield : Shield, GoalShield or ControlShield
    waits : bool
        Whether an episode may begin where the proof does not cover it.

    Raises
    ------
    InputError
        If the environment does not fit, or rounds what it shows more than the system says; and by ``reset``, if an
        episode begins where the proof does not cover it, and the shield does not wait.

    Examples
    --------
    >>> import gymnasium
    >>> from moet.distill import safe_law
    >>> from moet.shield import Shield, ShieldedEnv
    >>> from moet.verify import systems
    >>> law = safe_law(systems.cartpole())  # doctest: +SKIP
    >>> shield = Shield(law.verdict.certificate, law.policy, systems.cartpole())  # doctest: +SKIP
    >>> env = ShieldedEnv(gymnasium.make("CartPole-v1"), shield)  # doctest: +SKIP
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], shield: Shield | GoalShield | ControlShield, *, waits: bool = False
    ) -> None:
        _check_kinds(env, shield)
        super().__init__(env)
        self.shield, self._waits = shield, waits
        self._actions = _Numbered(env.action_space, shield) if isinstance(shield, LookAhead) else _Controls(env, shield)
        _check_sensor(env.observation_space, shield.system)
        self._seen: Any = None
        self._guarded, self._explained, self._steps = False, True, 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; it must be one that the proof covers, unless the shield waits."""
        self._seen = None  # of an episode that did not begin no step may be taken
        seen, info = self.env.reset(seed=seed, options=options)
        self._guarded = self.shield.covers_start(seen)
        if not self._guarded and not self._waits:
            raise InputError(
                f"the shield does not cover an episode that begins at {np.asarray(seen).tolist()}: it is no first "
                f"state of the system {self.shield.system.name!r}, nor in the set that was proved"
            )
        self._seen, self._explained, self._steps = np.array(seen, np.float64), True, 0
        return seen, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take the action if it is allowed, else the policy's; where the shield still waits, as it is."""
        if self._seen is None:
            raise InputError("reset the environment before the first step")
        wanted = self._actions.read(action)
        self._guarded = self._guarded or self.shield.holds(self._seen)
        taken = self._taken(wanted) if self._guarded else wanted
        done = self._actions.written(taken)
        seen, reward, terminated, truncated, info = self.env.step(done)
        # far from what was proved its equations may be others, and nothing is promised there
        self._explained = self._explained and (not self._guarded or self.shield.explains(self._seen, taken, seen))
        self._seen, self._steps = np.array(seen, np.float64), self._steps + self._guarded
        told = {"overridden": bool(np.any(taken != wanted)), "action": done, "explained": self._explained}
        told["guarded"] = self._guarded
        if isinstance(self.shield, GoalShield):
            told["left"] = self._left
        return seen, reward, terminated, truncated, {**info, **told}

    def _taken(self, wanted: Any) -> Any:
        if isinstance(self.shield, GoalShield):
            return self.shield.act(self._seen, wanted, self._left)
        return self.shield.act(self._seen, wanted)

    @property
    def _left(self) -> int:
        """Steps in which the goal is to be reached."""
        assert isinstance(self.shield, GoalShield)
        return max(self.shield.within - self._steps, 0)


def _check_kinds(env: Any, shield: Any) -> None:
    """One environment, then its shield."""
    if isinstance(env, gymnasium.vector.VectorEnv):
        raise InputError(
            "a shield guards one environment; for many at once put each behind it: "
            "gymnasium.vector.SyncVectorEnv([lambda: ShieldedEnv(make(), shield)] * n)"
        )
    if not isinstance(env, gymnasium.Env) or not isinstance(shield, Shield | GoalShield | ControlShield):
        raise InputError(
            "expected ShieldedEnv(environment, shield), with the shield made from a certificate, "
            f"got {type(env).__name__} and {type(shield).__name__}"
        )


def _check_sensor(space: Any, system: System) -> None:
    """What is shown are the states, no more coarsely than the system says."""
    if space.shape != (system.n_states,):
        raise InputError(f"the shield is about {system.n_states} states, and the environment shows {space}")
    check_precision(space, system)


class _Numbered:
    """Actions of an environment that numbers them, perhaps not from 0 on."""

    def __init__(self, space: Any, shield: LookAhead) -> None:
        n_actions = len(shield.system.actions)
        if not isinstance(space, gymnasium.spaces.Discrete) or space.n != n_actions:
            raise InputError(f"the shield is about {n_actions} actions, and the environment has {space}")
        self._space, self._first = space, int(space.start)

    def read(self, action: Any) -> Any:
        """What the shield calls an action."""
        number = whole(action)
        if number is None:
            raise InputError(f"{action!r} is no action of the environment, whose actions are {self._space}")
        return number - self._first

    def written(self, taken: Any) -> Any:
        """What the environment calls it."""
        return taken + self._first


class _Controls:
    """Rows of numbers: in float64, for the proof is about the controls that the shield computed."""

    def __init__(self, env: gymnasium.Env[Any, Any], shield: ControlShield) -> None:
        space, names = env.action_space, list(shield.system.controls)
        if not isinstance(space, gymnasium.spaces.Box) or space.shape != (len(names),):
            raise InputError(f"the shield is about the controls {', '.join(names)}, and the environment has {space}")
        if space.dtype != np.float64:
            raise InputError(
                f"the environment takes controls of {space.dtype}, which rounds those that the shield allows; "
                "its action_space must be a Box of float64"
            )
        self._low, self._high = shield.tables.low, shield.tables.high

    def read(self, action: Any) -> Any:
        """What is wanted, as the actuators would clip it."""
        wanted = np.atleast_1d(numbers(action, "controls"))
        if wanted.shape != self._low.shape:
            raise InputError(f"expected {len(self._low)} controls, got {action!r}")
        return np.clip(wanted, self._low, self._high)

    def written(self, taken: Any) -> Any:
        """What the environment gets."""
        return taken
