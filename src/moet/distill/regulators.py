"""Laws that a system with controls yields by itself: regulators u = K·(x − rest), one for each cost of control.

As in :mod:`moet.distill.lqr` a state counts the more the nearer its limit is, and a control the more the nearer
its own, so nobody has to choose weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.distill.lqr import costs_of_states, gain_of
from moet.errors import InputError
from moet.model.regression.mixture import RegressionMixture
from moet.model.regression.tree import RegressionTree
from moet.shield.controls import sides_of
from moet.verify.checker.certificate import Certificate
from moet.verify.limits import Deadline
from moet.verify.loops.questions import safe
from moet.verify.loops.sets.enclosures import limits_of
from moet.verify.result import Proved
from moet.verify.systems.sampled import SampledSystem
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

COSTS = (10.0, 1.0, 100.0, 0.1, 0.01, 0.001)
"""Cost of a control at its limit, where that of a state at its limit is one. Dear control first: its laws are not
clipped so soon; but the dearest are slow, and so are their proofs."""

_DIRECTIONS = 300

_NEAR = 1e-6
"""Half of how far apart points are between which a step is taken to be linear."""


class ControlLaw(NamedTuple):
    """A law, and the proof that it keeps a system safe for ever.

    Examples
    --------
    >>> from moet.distill import control_law
    >>> from moet.verify import systems
    >>> cart = systems.AffineSystem("cart", states=["place", "speed"], controls={"push": (-1, 1)},
    ...     matrix=[[1, "0.1"], [0, 1]], input_matrix=[[0], ["0.1"]],
    ...     initial={"place": (-1, 1), "speed": (0, 0)}, safe=["-2 <= place <= 2"])
    >>> found = control_law(cart)
    >>> found.policy.outputs, bool(found.verdict)
    (('push',), True)
    """

    policy: RegressionMixture
    verdict: Proved


def control_law(system: System, *, cpu_limit: float = 60.0, widen: bool = False) -> ControlLaw | None:
    """A regulator of a system with controls that is proved safe for ever; None if there is none in time.

    Parameters
    ----------
    system : System
        With controls and a safe set; the policy sees its states.
    cpu_limit : float
        Seconds of CPU time, for all laws together.
    widen : bool
        Whether to look at all laws and take the one that holds most states, instead of the first that is proved: a
        shield replaces the less, the more states its policy can hold.

    References
    ----------
    - Kalman, R. *Contributions to the Theory of Optimal Control.* Boletín de la Sociedad Matemática Mexicana 5, 1960.

    Examples
    --------
    >>> from moet.distill import control_law
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
    found: list[ControlLaw] = []
    for law in control_regulators(system):
        if deadline.passed:
            break
        verdict = safe(law, system, None, cpu_limit=min(deadline.left, max(cpu_limit / 3, 1.0)))
        if isinstance(verdict, Proved):
            found.append(ControlLaw(law, verdict))
            if not widen:
                break
    return max(found, key=lambda one: _width(one.verdict.certificate, system), default=None)


def _width(certificate: Certificate, system: System) -> float:
    """How far the polytope of a proof reaches from the middle of the first states, in a mean over random directions.

    A unit is the way to the limit of a state or, if it has none, the size of the first states. 0 for other proofs.
    """
    if certificate.kind != "admissible":
        return 0.0
    sides = sides_of(certificate.claim)
    rows = np.array([[float(a) for a in row] for row, _ in sides])
    limits = np.array([float(limit) for _, limit in sides])
    middle = np.array([float(low + high) / 2 for low, high in system.initial])
    ways = np.subtract(*reversed(limits_of(system)))
    scale = np.where(np.isfinite(ways), ways, [float(high - low) + 1e-9 for low, high in system.initial])
    directions = np.random.default_rng(0).normal(size=(_DIRECTIONS, len(middle))) * scale
    with np.errstate(divide="ignore"):
        reach = np.where(directions @ rows.T > 0, (limits - rows @ middle) / (directions @ rows.T), np.inf)
    return float(reach.min(axis=1).mean())


def control_regulators(system: System) -> Iterator[RegressionMixture]:
    """Laws for a system, one for each of the costs of control."""
    low, high = (np.array(side, np.float64) for side in zip(*system.controls.values(), strict=True))
    rest = _rest(system)
    matrix, inputs = step_matrices(system, rest, low / 2 + high / 2)
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


def step_matrices(system: System, rest: Floats, controls: Floats) -> tuple[Floats, Floats]:
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
