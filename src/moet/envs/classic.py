"""Gymnasium's classic tasks for many episodes at once, equal to Gymnasium to the last bit.

The equations are written in the order in which Gymnasium evaluates them, and every function is the one that Gymnasium
calls: NumPy's where it calls NumPy's, and the C library's (:mod:`math`) where it calls that or where NumPy does so for
scalars. ``x**2`` of a NumPy scalar is C's ``pow``, which in one case of a thousand is not ``x * x``.
"""

from __future__ import annotations

import math
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from moet.envs.box import ActionBox
from moet.envs.dynamics import Dynamics, State
from moet.envs.task import Floats

Ints = NDArray[np.int64]
Singles = NDArray[np.float32]
Bools = NDArray[np.bool_]
Outcome = tuple[State, Floats, Bools]

PENDULUM_TORQUES = np.array([-2.0, 0.0, 2.0], dtype=np.float32)


def _scalar_square(x: NDArray[np.floating]) -> Floats:
    """``v**2`` of each NumPy scalar ``v`` in ``x``."""
    return np.fromiter(map(math.pow, x.tolist(), repeat(2.0)), np.float64, len(x))


def _single_square(x: Singles) -> Singles:
    """The same of scalars in single precision, for which NumPy calls C's ``powf``."""
    return np.fromiter((value**2 for value in x), np.float32, len(x))


def _scalar_cos(x: Floats) -> Floats:
    """``math.cos`` of each entry."""
    return np.fromiter(map(math.cos, x.tolist()), np.float64, len(x))


def _whole_state(state: State) -> State:
    """Observation of a task that shows its state as it is."""
    return state


# ---- CartPole-v1 ----

_POLE_MASS, _HALF_POLE, _TOTAL_MASS = 0.1, 0.5, 0.1 + 1.0
_POLE_MASS_LENGTH = _POLE_MASS * _HALF_POLE
_ANGLE_LIMIT = 12 * 2 * math.pi / 360
_POSITION_LIMIT = 2.4


def _cartpole_start(generator: np.random.Generator) -> Floats:
    return generator.uniform(-0.05, 0.05, size=4)


def _cartpole(state: State, actions: Ints) -> Outcome:
    position, velocity, angle, angular_velocity = state
    force = np.where(actions == 1, 10.0, -10.0)
    cos, sin = np.cos(angle), np.sin(angle)
    push = (force + _POLE_MASS_LENGTH * np.square(angular_velocity) * sin) / _TOTAL_MASS
    angular_acceleration = (9.8 * sin - cos * push) / (
        _HALF_POLE * (4.0 / 3.0 - _POLE_MASS * np.square(cos) / _TOTAL_MASS)
    )
    acceleration = push - _POLE_MASS_LENGTH * angular_acceleration * cos / _TOTAL_MASS

    position = position + 0.02 * velocity
    angle = angle + 0.02 * angular_velocity
    state = position, velocity + 0.02 * acceleration, angle, angular_velocity + 0.02 * angular_acceleration
    fallen = (np.abs(position) > _POSITION_LIMIT) | (np.abs(angle) > _ANGLE_LIMIT)
    return state, np.ones(len(actions)), fallen


CARTPOLE = Dynamics(actions=2, begin=_cartpole_start, advance=_cartpole, observe=_whole_state)


# ---- Acrobot-v1 ----

_ACROBOT_TORQUES = np.array([-1.0, 0.0, 1.0])
_SPEED_LIMIT_1, _SPEED_LIMIT_2 = 4 * math.pi, 9 * math.pi


def _acrobot_start(generator: np.random.Generator) -> NDArray[np.float32]:
    """Gymnasium rounds the first state, so the sines and cosines of the first observation have single precision."""
    return generator.uniform(-0.1, 0.1, size=4).astype(np.float32)


def _acrobot_rates(state: Floats, torque: Floats) -> Floats:
    """Time derivative of the state. Masses, lengths and inertias are 1, centres of mass at 0.5."""
    angle_1, angle_2, speed_1, speed_2 = state
    cos_2, sin_2 = np.cos(angle_2), np.sin(angle_2)
    inertia_1 = 0.25 + (1.25 + cos_2) + 1.0 + 1.0
    inertia_2 = (0.25 + 0.5 * cos_2) + 1.0
    weight_2 = 0.5 * 9.8 * np.cos(angle_1 + angle_2 - math.pi / 2.0)
    load_1 = (
        -0.5 * _scalar_square(speed_2) * sin_2
        - speed_2 * speed_1 * sin_2
        + 1.5 * 9.8 * np.cos(angle_1 - math.pi / 2)
        + weight_2
    )
    acceleration_2 = (torque + inertia_2 / inertia_1 * load_1 - 0.5 * _scalar_square(speed_1) * sin_2 - weight_2) / (
        1.25 - _scalar_square(inertia_2) / inertia_1
    )
    acceleration_1 = -(inertia_2 * acceleration_2 + load_1) / inertia_1
    return np.array([speed_1, speed_2, acceleration_1, acceleration_2])


def _runge_kutta(state: Floats, torque: Floats, dt: float) -> Floats:
    """One step of the classical fourth-order method."""
    k1 = _acrobot_rates(state, torque)
    k2 = _acrobot_rates(state + dt / 2.0 * k1, torque)
    k3 = _acrobot_rates(state + dt / 2.0 * k2, torque)
    k4 = _acrobot_rates(state + dt * k3, torque)
    return state + dt / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)


def _wrapped(angle: Floats) -> Floats:
    """Angle in [−π, π], brought there by whole turns one after the other, as Gymnasium rounds it."""
    turn = math.pi - -math.pi
    while (above := angle > math.pi).any():
        angle = np.where(above, angle - turn, angle)
    while (below := angle < -math.pi).any():
        angle = np.where(below, angle + turn, angle)
    return angle


def _acrobot(state: State, actions: Ints) -> Outcome:
    angle_1, angle_2, speed_1, speed_2 = _runge_kutta(np.array(state), _ACROBOT_TORQUES[actions], 0.2)
    angle_1, angle_2 = _wrapped(angle_1), _wrapped(angle_2)
    speed_1 = speed_1.clip(-_SPEED_LIMIT_1, _SPEED_LIMIT_1)
    speed_2 = speed_2.clip(-_SPEED_LIMIT_2, _SPEED_LIMIT_2)
    up = -np.cos(angle_1) - np.cos(angle_2 + angle_1) > 1.0
    return (angle_1, angle_2, speed_1, speed_2), np.where(up, 0.0, -1.0), up


def _acrobot_view(state: State) -> State:
    angle_1, angle_2, speed_1, speed_2 = state
    return np.cos(angle_1), np.sin(angle_1), np.cos(angle_2), np.sin(angle_2), speed_1, speed_2


ACROBOT = Dynamics(actions=3, begin=_acrobot_start, advance=_acrobot, observe=_acrobot_view)


# ---- MountainCar-v0 ----


def _mountaincar_start(generator: np.random.Generator) -> Floats:
    return np.array([generator.uniform(-0.6, -0.4), 0.0])


def _mountaincar(state: State, actions: Ints) -> Outcome:
    position, velocity = state
    velocity = velocity + ((actions - 1) * 0.001 + _scalar_cos(3 * position) * -0.0025)
    velocity = velocity.clip(-0.07, 0.07)
    position = (position + velocity).clip(-1.2, 0.6)
    velocity = np.where((position == -1.2) & (velocity < 0), 0.0, velocity)
    there = (position >= 0.5) & (velocity >= 0)
    return (position, velocity), np.full(len(actions), -1.0), there


MOUNTAINCAR = Dynamics(actions=3, begin=_mountaincar_start, advance=_mountaincar, observe=_whole_state)


# ---- MountainCarContinuous-v0 ----

_POWER, _GRAVITY = np.float32(0.0015), 0.0025


def _car(state: State, actions: Singles) -> Outcome:
    """Gymnasium keeps the state in single precision, all but the first one of an episode."""
    position, velocity = state
    force = actions[:, 0]
    thrice = 3 * position
    thrice = np.where(position == _single(position), _single(thrice), thrice)
    push = force * _POWER - (_GRAVITY * _scalar_cos(thrice)).astype(np.float32)
    velocity = _single(velocity + push).clip(*_single(np.array([-0.07, 0.07])))
    position = _single(position + velocity).clip(*_single(np.array([-1.2, 0.6])))
    velocity = np.where((position == _single(np.array(-1.2))) & (velocity < 0), 0.0, velocity)
    there = (position >= _single(np.array(0.45))) & (velocity >= 0)
    return (position, velocity), np.where(there, 100.0, 0.0) - _scalar_square(force) * 0.1, there


def _single(x: Floats) -> Floats:
    """Rounded to single precision."""
    return x.astype(np.float32).astype(np.float64)


CAR = Dynamics(actions=ActionBox((-1.0,), (1.0,), (1,)), begin=_mountaincar_start, advance=_car, observe=_whole_state)


# ---- Pendulum-v1, with any torque and with three ----


def _pendulum_start(generator: np.random.Generator) -> Floats:
    return generator.uniform([-np.pi, -1.0], [np.pi, 1.0])


def _one_of_three(state: State, actions: Ints) -> Outcome:
    return _pendulum(state, PENDULUM_TORQUES[actions][:, None])


def _pendulum(state: State, actions: Singles) -> Outcome:
    angle, speed = state
    torque = actions[:, 0]
    from_top = (angle + np.pi) % (2 * np.pi) - np.pi
    cost = _scalar_square(from_top) + 0.1 * _scalar_square(speed) + 0.001 * _single_square(torque)
    speed = (speed + (15.0 * np.sin(angle) + 3.0 * torque) * 0.05).clip(-8.0, 8.0)
    return (angle + speed * 0.05, speed), -cost, np.zeros(len(actions), np.bool_)


def _pendulum_view(state: State) -> State:
    angle, speed = state
    return np.cos(angle), np.sin(angle), speed


THREE_TORQUES = Dynamics(actions=3, begin=_pendulum_start, advance=_one_of_three, observe=_pendulum_view)
PENDULUM = Dynamics(
    actions=ActionBox((-2.0,), (2.0,), (1,)), begin=_pendulum_start, advance=_pendulum, observe=_pendulum_view
)
