"""Laws that a system with controls yields by itself: regulators u = K·(x − rest), one for each cost of control.

As in :mod:`moet.distill.lqr` a state counts the more the nearer its limit is, and a control the more the nearer
its own, so nobody has to choose weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.distill.lqr import costs_of_states, gain_of
from moet.errors import InputError
from moet.model.regression.mixture import RegressionMixture
from moet.model.regression.tree import RegressionTree
from moet.verify.limits import Deadline
from moet.verify.loops.questions import safe
from moet.verify.loops.sets.enclosures import limits_of
from moet.verify.result import Proved
from moet.verify.systems.sampled import SampledSystem
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

COSTS = (100.0, 10.0, 1.0, 0.1, 0.01, 0.001)
"""Cost of a control at its limit, where that of a state at its limit is one. Laws of dear control come first: they are
slow, so the set of their proof is wide, and a shield lets more of it pass."""

SHARES = (0.75, 0.5, 0.25)
"""How far towards the limits first states are moved to make a shield's set larger, until that is proved."""

_NEAR = 1e-6
"""Half of how far apart points are between which a step is taken to be linear."""


class ControlLaw(NamedTuple):
    """A law, and the proof that it is safe for ever in a system: the one that was asked about, or with more starts."""

    policy: RegressionMixture
    verdict: Proved
    system: System


def control_law(system: System, *, cpu_limit: float = 60.0, widen: bool = False) -> ControlLaw | None:
    """The first regulator of a system with controls that is proved safe for ever; None if there is none in time.

    Parameters
    ----------
    system : System
        With controls and a safe set; the policy sees its states.
    cpu_limit : float
        Seconds of CPU time, for all laws together.
    widen : bool
        Whether to prove it for more first states, towards the limits of the safe set: a shield replaces the less, the
        more states its policy can hold.

    Examples
    --------
    >>> from moet.distill.control_law import control_law
    >>> from moet.verify import systems
    >>> cart = systems.AffineSystem("cart", states=["place", "speed"], controls={"push": (-1, 1)},
    ...     matrix=[[1, "0.1"], [0, 1]], input_matrix=[[0], ["0.1"]],
    ...     initial={"place": ("-0.1", "0.1"), "speed": ("-0.1", "0.1")}, safe=["-1 <= place <= 1"])
    >>> control_law(cart).verdict.checked
    True
    """
    if not system.controls or tuple(system.features) != tuple(system.states):
        raise InputError(f"a regulator needs controls and sees all states; {system.name!r} is not so")
    deadline = Deadline(None, cpu_limit)
    shares = (*SHARES, 0.0) if widen else (0.0,)
    each = max(cpu_limit / len(COSTS) / len(shares), 1.0)
    for share in shares:
        wider = _with_more_starts(system, share)
        for law in control_regulators(system):
            if deadline.passed:
                return None
            verdict = safe(law, wider, None, cpu_limit=each)
            if isinstance(verdict, Proved):
                return ControlLaw(law, verdict, wider)
    return None


def _with_more_starts(system: System, share: float) -> System:
    """The same system, begun a share of the way from its first states to the limits of every state."""
    if share == 0.0:
        return system
    lowest, highest = limits_of(system)
    sides = [
        tuple(side + Fraction(share) * (Fraction(limit) - side) if np.isfinite(limit) else side for side, limit in pair)
        for pair in (((low, a), (high, b)) for (low, high), a, b in zip(system.initial, lowest, highest, strict=True))
    ]
    wider = copy(system)
    wider.initial = tuple((low, high) for low, high in sides)
    wider.__dict__.pop("digest", None)
    return wider


def control_regulators(system: System) -> Iterator[RegressionMixture]:
    """Laws for a system, one for each of the costs of control."""
    low, high = (np.array(side, np.float64) for side in zip(*system.controls.values(), strict=True))
    rest = _rest(system)
    matrix, inputs = _linearised(system, rest, low / 2 + high / 2)
    strength = (high - low) / 2
    for cost in COSTS:
        gain = gain_of(matrix, inputs * strength, costs_of_states(system, rest), cost)
        if gain is not None:
            yield _law(system, rest, low / 2 + high / 2, strength[:, None] * gain, low, high)


def _rest(system: System) -> Floats:
    """Where nothing moves without control, if that is at zero; otherwise the middle of the first states."""
    middle = np.array([float(low + high) / 2 for low, high in system.initial])
    nothing = np.zeros((1, len(system.controls)))
    zero = np.zeros((1, system.n_states))
    return zero[0] if np.allclose(system.successor(zero, nothing), 0.0, atol=1e-12) else middle


def _linearised(system: System, rest: Floats, controls: Floats) -> tuple[Floats, Floats]:
    """Derivatives of one step by states and by controls."""
    d, m = len(rest), len(controls)
    moves = np.vstack([np.eye(d + m), -np.eye(d + m)]) * _NEAR
    after = system.successor(rest + moves[:, :d], controls + moves[:, d:])
    slopes = (after[: d + m] - after[d + m :]).T / (2 * _NEAR)
    return slopes[:, :d], slopes[:, d:]


def _law(system: System, rest: Floats, idle: Floats, gain: Floats, low: Floats, high: Floats) -> RegressionMixture:
    kind = "sampled" if isinstance(system, SampledSystem) else "discrete"
    return RegressionMixture(
        np.zeros((1, system.n_states)),
        np.zeros(1),
        [RegressionTree.leaf(idle - gain @ rest, slope=gain)],
        tuple(system.controls),
        low=low,
        high=high,
        feature_names=tuple(system.states),
        provenance={"made_by": "moet.distill.control_law", "system": system.name, "time": kind},
    )
