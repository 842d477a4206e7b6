"""A Gymnasium environment behind a shield."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium
import numpy as np

from moet.errors import InputError
from moet.shield.shield import Shield


class ShieldedEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment in which only actions are taken that the shield allows.

    What the environment shows must be the state of the shield's system. ``info["overridden"]`` says whether another
    action was taken than the one given, ``info["action"]`` which one was, and ``info["explained"]`` whether the system
    that was proved can do what was seen; once it cannot, nothing is guaranteed in the rest of the episode, and it stays
    False.

    Parameters
    ----------
    env : gymnasium.Env
        With as many actions as the system has.
    shield : Shield

    Raises
    ------
    InputError
        If the environment does not fit; and by ``reset``, if an episode begins where the proof does not cover it.

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

    def __init__(self, env: gymnasium.Env[Any, Any], shield: Shield) -> None:
        super().__init__(env)
        self.shield = shield
        n_actions = len(shield.system.actions)
        space = env.action_space
        if not isinstance(space, gymnasium.spaces.Discrete) or space.n != n_actions:
            raise InputError(f"the shield is about {n_actions} actions, and the environment has {space}")
        if env.observation_space.shape != (shield.system.n_states,):
            raise InputError(
                f"the shield is about {shield.system.n_states} states, and the environment shows "
                f"{env.observation_space}"
            )
        self._first_action = int(space.start)
        self._seen: Any = None
        self._explained = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; it must be one that the proof covers."""
        seen, info = self.env.reset(seed=seed, options=options)
        if not self.shield.covers_start(seen):
            self._seen = None
            raise InputError(
                f"the shield does not cover an episode that begins at {np.asarray(seen).tolist()}: it is no first "
                f"state of the system {self.shield.system.name!r}, nor in the set that was proved"
            )
        self._seen, self._explained = np.array(seen, np.float64), True
        return seen, info

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take the action if it is allowed, else the policy's."""
        if self._seen is None:
            raise InputError("reset the environment before the first step")
        wanted = int(action) - self._first_action
        taken = self.shield.act(self._seen, wanted)
        seen, reward, terminated, truncated, info = self.env.step(taken + self._first_action)
        self._explained = self._explained and self.shield.explains(self._seen, taken, seen)
        self._seen = np.array(seen, np.float64)
        told = {"overridden": taken != wanted, "action": taken + self._first_action, "explained": self._explained}
        return seen, reward, terminated, truncated, {**info, **told}
