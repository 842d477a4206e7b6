"""One step of a controlled system on a box: an affine map, and how far it may be off."""

from __future__ import annotations

from copy import copy
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.regression.mixture import RegressionMixture
from moet.verify.limits import Deadline
from moet.verify.loops.flowpipe.follow import Follower
from moet.verify.loops.flowpipe.integrate import Points, moved, tube
from moet.verify.rounding import UNIT
from moet.verify.systems.discrete import AffineSystem
from moet.verify.systems.sampled import SampledSystem
from moet.verify.systems.system import System

Floats = NDArray[np.float64]
Vector = list[Fraction]

_ROUNDED = 1e-12
"""Relative to what is added up: more than float64 loses in an enclosure; the checker has longer numbers."""


class Step(NamedTuple):
    """The next state is matrix·x + inputs·u + offset, give or take ``rest``; ``bend``: how far in between from a chord.

    Exact for affine systems, so limits may be met without a margin.
    """

    matrix: list[Vector]
    inputs: list[Vector]
    offset: Vector
    rest: Floats
    bend: Floats


class Law(NamedTuple):
    """Controls gain·x + constant, give or take ``error``; between ``low`` and ``high`` nothing is clipped."""

    gain: Floats
    constant: Floats
    error: Floats
    low: Floats
    high: Floats


def step_on(system: System, mixture: RegressionMixture, low: Floats, high: Floats, deadline: Deadline) -> Step:
    """One step from all states of a box, with all controls that the actuators can do, at any time."""
    system, d = at_any_time(system), system.n_states
    if isinstance(system, AffineSystem):
        pushes = [
            (low + sum(a for a, _ in more), high + sum(b for _, b in more))
            for name, (low, high) in zip(system.states, system.disturbance, strict=True)
            for more in [system.schedule.get(name, ())]
        ]
        offset = [a + (b + c) / 2 for a, (b, c) in zip(system.offset, pushes, strict=True)]
        rest = np.array([float((b - a) / 2) for a, b in pushes]) * (1 + _ROUNDED)
        return Step(list(map(list, system.matrix)), list(map(list, system.input_matrix)), offset, rest, np.zeros(d))
    follower = Follower(mixture, system, [], deadline)
    controls = np.array(list(system.controls.values()), np.float64)
    sides = np.concatenate([np.column_stack([low, high]), follower.parameters, controls])
    middle, radii = sides.mean(axis=1), (sides[:, 1] - sides[:, 0]) / 2
    points = Points(middle, np.diag(radii), np.zeros(d))
    if isinstance(system, SampledSystem):
        slopes = tube(follower.motion.linearise, points, float(system.period))
        ahead, bend, matrix = moved(points, slopes, float(system.period))
        values, rest, bend = ahead.middle[:d], ahead.box, bend + ahead.box
        if system.memory:
            matrix, values, rest, bend = follower.motion.remembered_on(sides, matrix, values, rest, bend)
    else:
        slopes = follower.motion.linearise(sides[:, 0], sides[:, 1])
        least, most = np.array(system.disturbance, np.float64).T
        matrix, values = slopes.rows, slopes.values + (least + most) / 2
        rest, bend = slopes.rests + (most - least) / 2, np.zeros(d)
    fixed = slice(d, d + len(follower.parameters))
    rest = rest + np.abs(matrix[:, fixed]) @ radii[fixed]
    kept = [*range(d), *range(d + len(follower.parameters), len(middle))]
    offsets = values - matrix[:, kept] @ middle[kept]
    size = np.abs(values) + np.abs(matrix) @ (np.abs(middle) + radii)
    exact = [[Fraction(a) for a in row] for row in matrix[:, kept].tolist()]
    return Step(
        [row[:d] for row in exact],
        [row[d:] for row in exact],
        [Fraction(a) for a in offsets.tolist()],
        (rest + _ROUNDED * size) * (1 + 1e-9),
        bend * (1 + 1e-9) + (_ROUNDED * size if isinstance(system, SampledSystem) else 0.0),
    )


def at_any_time(system: System) -> System:
    """The system with a schedule that does not say when: numbers are anywhere between the least and the largest."""
    if not system.schedule:
        return system
    found = copy(system)
    found.schedule = {
        name: ((min(low for low, _ in sides), max(high for _, high in sides)),)
        for name, sides in system.schedule.items()
    }
    return found


def law_on(system: System, mixture: RegressionMixture, low: Floats, high: Floats) -> Law:
    """What a single law does on a box, and by how much sensors and rounding may change that."""
    tree = mixture.trees[0]
    constant = tree.value[0]
    gain = np.zeros((len(constant), system.n_states)) if tree.slope is None else tree.slope[0]
    largest = np.maximum(np.abs(low), np.abs(high))
    wrong = errors_of_seen(system, largest)
    sizes = np.abs(constant) + np.abs(gain) @ (largest + wrong)
    rounding = np.where(gain.any(axis=1), 2 * (system.n_states + 2) * UNIT * sizes + 2.0**-200, 0.0)
    controls = np.array(list(system.controls.values()), np.float64)
    return Law(
        gain,
        constant,
        (np.abs(gain) @ wrong + rounding) * (1 + 1e-9),
        np.maximum(mixture.low, controls[:, 0]),
        np.minimum(mixture.high, controls[:, 1]),
    )


def errors_of_seen(system: System, largest: Floats) -> Floats:
    """How far what is seen may be from states of at most these sizes, generously."""
    noise = np.array([float(e) for e in system.noise])
    unit = 2.0**-23.9 if system.float32_observations else 2.0**-52.9
    return np.asarray((noise + (largest + noise) * unit) * (1 + 1e-9) + 2.0**-140)
