"""Systems to prove things about; each is a function, so that limits can be chosen.

``cartpole``, ``mountaincar`` and ``pendulum`` are the equations of the Gymnasium environments of these names, with
float64 rounding as a disturbance and float32 observations. A system of your own is an :class:`AffineSystem`, a
:class:`NonlinearSystem` or, in continuous time, a :class:`SampledSystem`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from moet.errors import InputError
from moet.verify.systems.conditions import HalfSpace
from moet.verify.systems.description import Number, exact
from moet.verify.systems.discrete import AffineSystem, NonlinearSystem
from moet.verify.systems.file import load, save
from moet.verify.systems.sampled import SampledSystem
from moet.verify.systems.system import System

__all__ = [
    "AffineSystem",
    "HalfSpace",
    "NonlinearSystem",
    "SampledSystem",
    "System",
    "cartpole",
    "cartpole_linear",
    "cartpole_published",
    "find",
    "load",
    "mountaincar",
    "pendulum",
    "save",
]

TWELVE_DEGREES = 12 * 2 * math.pi / 360
"""Where Gymnasium ends an episode of CartPole, in its own float64 arithmetic."""

_ROUNDING = 1e-12
"""Bound on the error of one step in float64; it is below 1e-13 for the states in the domains given here."""

_CARTPOLE: dict[str, Any] = {
    "states": ("position", "velocity", "angle", "angular_velocity"),
    "actions": ("left", "right"),
}


def cartpole_published(angle: Number = "0.1") -> AffineSystem:
    """The cart-pole that the paper's authors verified: Euler steps of their linear model.

    Its constants are not the linearisation of Gymnasium's equations (see :func:`cartpole_linear`); they are kept so
    that verdicts and times can be compared with the published ones.

    Examples
    --------
    >>> from moet.verify import systems
    >>> systems.cartpole_published().actions
    ('left', 'right')
    """
    return _linear_cartpole(
        "cartpole_published",
        acceleration=(Fraction("-7.1707"), Fraction("1.5743")),
        turn=(Fraction("7.8878"), Fraction("-0.7317")),
        initial="0.05",
        safe=[f"-({exact(angle)}) <= angle <= {exact(angle)}"],
    )


def cartpole_linear(angle: Number = TWELVE_DEGREES, position: Number = "2.4") -> AffineSystem:
    """Gymnasium's CartPole, linearised at rest: the Euler step with sin θ = θ, cos θ = 1 and no centrifugal force.

    Examples
    --------
    >>> from moet.verify import systems
    >>> systems.cartpole_linear().actions
    ('left', 'right')
    """
    mass_ratio = Fraction("0.05") / Fraction("1.1")
    inertia = Fraction("0.5") * (Fraction(4, 3) - Fraction("0.1") / Fraction("1.1"))
    turn = Fraction("9.8") / inertia, -1 / Fraction("1.1") / inertia
    return _linear_cartpole(
        "cartpole_linear",
        acceleration=(-mass_ratio * turn[0], 1 / Fraction("1.1") - mass_ratio * turn[1]),
        turn=turn,
        initial=0.05,
        safe=_cartpole_limits(angle, position),
    )


def cartpole(angle: Number = TWELVE_DEGREES, position: Number = "2.4", sensor_noise: Number = 0) -> NonlinearSystem:
    """Gymnasium's CartPole-v1: its true equations and Euler step, rounding included.

    Parameters
    ----------
    angle, position : number
        Limits of the safe set; Gymnasium ends an episode at 12 degrees and 2.4.
    sensor_noise : number
        How far every state that the policy sees may be from the true one, besides being rounded to float32.

    Examples
    --------
    >>> from moet.verify import systems
    >>> systems.cartpole().states
    ('position', 'velocity', 'angle', 'angular_velocity')
    """
    return NonlinearSystem(
        "cartpole",
        **_CARTPOLE,
        inputs={"force": (-10, 10)},
        let={
            "temp": "(force + 0.05 * angular_velocity**2 * sin(angle)) / 1.1",
            "turn": "(9.8 * sin(angle) - cos(angle) * temp) / (0.5 * (4/3 - 0.1 * cos(angle)**2 / 1.1))",
            "acceleration": "temp - 0.05 * turn * cos(angle) / 1.1",
        },
        step={
            "position": "position + 0.02 * velocity",
            "velocity": "velocity + 0.02 * acceleration",
            "angle": "angle + 0.02 * angular_velocity",
            "angular_velocity": "angular_velocity + 0.02 * turn",
        },
        initial=dict.fromkeys(_CARTPOLE["states"], (-0.05, 0.05)),
        safe=_cartpole_limits(angle, position),
        domain={"position": (-4, 4), "velocity": (-16, 16), "angle": (-1, 1), "angular_velocity": (-16, 16)},
        disturbance=dict.fromkeys(_CARTPOLE["states"], _ROUNDING),
        observation_error=dict.fromkeys(_CARTPOLE["states"], sensor_noise),
        float32_observations=True,
    )


def mountaincar(start: tuple[Number, Number] = (-0.6, -0.4)) -> NonlinearSystem:
    """Gymnasium's MountainCar-v0; the goal is the flag at position 0.5.

    Parameters
    ----------
    start : pair of numbers
        Least and largest position at the start, where the car is at rest; by default all that Gymnasium draws from.

    Examples
    --------
    >>> from moet.verify import systems
    >>> systems.mountaincar().states
    ('position', 'velocity')
    """
    return NonlinearSystem(
        "mountaincar",
        states=("position", "velocity"),
        actions=("left", "none", "right"),
        inputs={"push": (-1, 0, 1)},
        let={
            "speed": "min(max(velocity + 0.001 * push - 0.0025 * cos(3 * position), -0.07), 0.07)",
            "place": "min(max(position + speed, -1.2), 0.6)",
        },
        step={"position": "place", "velocity": "max(speed, 0) if place <= -1.2 else speed"},
        initial={"position": start, "velocity": 0},
        safe=["-1.3 <= position <= 0.7"],
        goal=["position >= 0.5"],
        domain={"position": (-1.5, 1), "velocity": (-0.125, 0.125)},
        disturbance={"position": _ROUNDING, "velocity": _ROUNDING},
        float32_observations=True,
    )


def pendulum(tilt: Number = "0.1") -> NonlinearSystem:
    """Gymnasium's Pendulum-v1 with torques −2, 0 and 2, begun near the top; it must stay in the upper half.

    The states are what the environment shows: cosine and sine of the angle, which a step rotates, and the angular
    velocity.

    Parameters
    ----------
    tilt : number
        Largest sine of the angle, and largest angular velocity, at the start.

    Examples
    --------
    >>> from moet.verify import systems
    >>> systems.pendulum().states
    ('cos_angle', 'sin_angle', 'angular_velocity')
    """
    most = exact(tilt)
    return NonlinearSystem(
        "pendulum",
        states=("cos_angle", "sin_angle", "angular_velocity"),
        actions=("negative", "none", "positive"),
        inputs={"torque": (-2, 0, 2)},
        let={
            "speed": "min(max(angular_velocity + 0.05 * (15 * sin_angle + 3 * torque), -8), 8)",
            "cosine": "cos_angle * cos(0.05 * speed) - sin_angle * sin(0.05 * speed)",
            "sine": "sin_angle * cos(0.05 * speed) + cos_angle * sin(0.05 * speed)",
        },
        step={
            # the same number near the top, but a proof does not lose sight of cos² + sin² = 1
            "cos_angle": "sqrt(max(1 - sine**2, 0.25)) if 0.5 <= cosine else cosine",
            "sin_angle": "sine",
            "angular_velocity": "speed",
        },
        # 1 − tilt² is below the cosine, the root of it, and a rational number
        initial={"cos_angle": (1 - most**2, 1), "sin_angle": (-most, most), "angular_velocity": (-most, most)},
        safe=["cos_angle >= 0"],
        domain={"cos_angle": (-2, 2), "sin_angle": (-2, 2), "angular_velocity": (-9, 9)},
        disturbance={"cos_angle": _ROUNDING, "sin_angle": _ROUNDING, "angular_velocity": _ROUNDING},
        float32_observations=True,
    )


def find(name: str) -> System:
    """One of the systems here by its name, or the one in a file that :func:`save` wrote.

    Examples
    --------
    >>> from moet.verify import systems
    >>> systems.find("cartpole").name
    'cartpole'
    """
    if name in _SHIPPED:
        return _SHIPPED[name]()
    if Path(name).exists():
        return load(name)
    raise InputError(f"there is no system {name!r}: no such file, and the names are {', '.join(_SHIPPED)}")


_SHIPPED: dict[str, Callable[[], System]] = {
    "cartpole_published": cartpole_published,
    "cartpole_linear": cartpole_linear,
    "cartpole": cartpole,
    "mountaincar": mountaincar,
    "pendulum": pendulum,
}


def _linear_cartpole(
    name: str,
    acceleration: tuple[Fraction, Fraction],
    turn: tuple[Fraction, Fraction],
    initial: Number,
    safe: list[str],
) -> AffineSystem:
    """Euler steps of 1/50 s; ``acceleration`` and ``turn`` are per unit of angle and per unit of force."""
    step = Fraction(1, 50)
    matrix: list[list[Number]] = [
        [1, step, 0, 0],
        [0, 1, step * acceleration[0], 0],
        [0, 0, 1, step],
        [0, 0, step * turn[0], 1],
    ]
    push = [Fraction(0), step * acceleration[1], Fraction(0), step * turn[1]]
    return AffineSystem(
        name,
        **_CARTPOLE,
        matrix=matrix,
        offsets=[[force * rate for rate in push] for force in (-10, 10)],
        initial={state: (-exact(initial), exact(initial)) for state in _CARTPOLE["states"]},
        safe=safe,
    )


def _cartpole_limits(angle: Number, position: Number) -> list[str]:
    return [
        f"-({exact(limit)}) <= {name} <= {exact(limit)}" for name, limit in (("position", position), ("angle", angle))
    ]
