"""Tasks out of systems: episodes are runs of a plant, and every step that ends in its safe set earns one."""

from __future__ import annotations

from functools import partial
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from numpy.typing import NDArray

from moet.envs.box import ActionBox
from moet.envs.dynamics import Dynamics, DynamicsBatch, State
from moet.envs.task import Floats, Task
from moet.errors import InputError
from moet.verify.loops.simulation import excess
from moet.verify.systems.controls import observed
from moet.verify.systems.description import float_above
from moet.verify.systems.system import System

MAX_STEPS = 200
"""Steps of an episode."""

_FAR = 1e12
"""States of a run that is lost are kept below this."""


def plant_task(system: System, max_steps: int = MAX_STEPS) -> Task:
    """The task of keeping a system with controls in its safe set.

    An episode begins in a random first state and ends when it leaves the safe set, or after so many steps. There is no
    noise and no disturbance, and what is scheduled as an interval is in its middle: proofs cover all of them.

    Parameters
    ----------
    system : System
        With controls and a safe set.
    max_steps : int
    """
    if not system.controls or not system.safe:
        raise InputError(f"a plant that is played needs controls and a safe set; {system.name!r} lacks one of them")
    box = action_box(system)
    dynamics = Dynamics(box, partial(_begin, system), partial(_advance, system), partial(_observe, system), np.float64)
    return Task(
        name=system.name,
        make=partial(PlantEnv, system, max_steps),
        batch=partial(DynamicsBatch, dynamics, max_steps),
        observation_names=tuple(system.features),
        feature_names=tuple(system.features),
        feature_units=("",) * len(system.features),
        action_names=tuple(system.controls),
        max_steps=max_steps,
        box=box,
    )


def action_box(system: System) -> ActionBox:
    """Limits of the actuators, rounded inwards, of a plant that is played."""
    low, high = zip(*system.controls.values(), strict=True)
    ends = tuple(map(float_above, low)), tuple(-float_above(-value) for value in high)
    return ActionBox(*ends, (len(low),), "float64")


def _begin(system: System, rng: np.random.Generator) -> NDArray[np.float64]:
    found = system.first.sample(rng, 1)
    if not len(found):
        raise InputError(f"no first state of {system.name!r} was found by chance: give narrower intervals in initial")
    return np.append(found[0], 0.0)


def _advance(system: System, state: State, actions: NDArray[Any]) -> tuple[State, Floats, NDArray[np.bool_]]:
    """One step; the last variable counts them, for what is scheduled."""
    *variables, elapsed = state
    with np.errstate(all="ignore"):
        states = _successors(system, np.array(variables).T, actions, elapsed)
        states = np.clip(np.nan_to_num(states, nan=_FAR), -_FAR, _FAR)
    lost = excess(system.safe, states) > 0
    return (*states.T.copy(), elapsed + 1), np.where(lost, 0.0, 1.0), lost


def _successors(system: System, rows: Floats, actions: NDArray[Any], elapsed: Floats) -> Floats:
    if not system.schedule:
        return system.successor(rows, actions)
    found = np.empty_like(rows)
    for step in np.unique(elapsed):
        now = elapsed == step
        found[now] = system.successor(rows[now], actions[now], int(step))
    return found


def _observe(system: System, state: State) -> State:
    return tuple(observed(system, np.array(state[:-1]).T).T)


class PlantEnv(gymnasium.Env[Any, Any]):
    """A plant as a Gymnasium environment: states are shown, controls are taken, a step in the safe set earns one.

    Parameters
    ----------
    system : System
        With controls and a safe set.
    max_steps : int
        After so many steps an episode is cut off.
    render_mode : None
        Nothing is drawn; ``moet plot --kind proof`` draws what is proved.
    """

    def __init__(self, system: System, max_steps: int = MAX_STEPS, render_mode: None = None) -> None:
        self.system, self._max_steps = system, max_steps
        box = action_box(system)
        self.action_space = gymnasium.spaces.Box(np.array(box.low), np.array(box.high), dtype=np.float64)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (len(system.features),), np.float64)
        self._state: State = ()
        self._elapsed = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin in a random first state."""
        super().reset(seed=seed)
        self._state = tuple(_begin(self.system, self.np_random)[:, None])
        self._elapsed = 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Hold the controls for one step."""
        self._state, rewards, lost = _advance(self.system, self._state, np.asarray(action, np.float64)[None])
        self._elapsed += 1
        return self._seen(), float(rewards[0]), bool(lost[0]), self._elapsed >= self._max_steps, {}

    def _seen(self) -> Floats:
        return np.array([value[0] for value in _observe(self.system, self._state)], np.float64)
