"""Laws that a system yields by itself: linear-quadratic regulators on its linearisation at rest.

Rest is the middle of the first states, with the mean of all actions. A state counts the more the sooner it would leave
the safe set, so nobody has to choose weights; how much pushes cost is tried from dear to cheap. As a mixture, a law has
one expert for every action, ahead where its push is nearest to the one that the regulator wants: the regulator's push
is linear in the state, so the logits are, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_discrete_are

from moet.errors import InputError
from moet.model.mixture import Mixture
from moet.model.tree import Tree
from moet.verify.limits import Deadline
from moet.verify.loops.sets.enclosures import linearised
from moet.verify.loops.sets.widen import widened
from moet.verify.result import Proved
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

COSTS = (10.0, 5.0, 20.0, 1.0, 100.0, 0.1)
"""Cost of the strongest push, where that of a state at its limit is one; which holds best depends on the system."""

_NEAR = 1e-6
"""Half a side of the box on which a step is linearised."""

_STEADY = 1e-9
"""Cost of states that nothing limits, relative to one; without it there may be no regulator."""


class SafeLaw(NamedTuple):
    """A law, and the proof that it is safe for ever, with as large a set as was found.

    Examples
    --------
    >>> from moet.distill import safe_law
    >>> from moet.verify import check, systems
    >>> system = systems.cartpole_linear()
    >>> found = safe_law(system)
    >>> check(found.verdict.certificate, found.policy, system)
    True
    """

    policy: Mixture
    verdict: Proved


def safe_law(system: System, *, cpu_limit: float = 60.0, widen: bool = True) -> SafeLaw | None:
    """The first law of a system that is proved safe for ever; None if there is none within the limit.

    Parameters
    ----------
    system : System
        With discrete actions and a safe set.
    cpu_limit : float
        Seconds of CPU time.
    widen : bool
        Whether to look for a larger set than the proof needs, for the sake of a shield.

    References
    ----------
    - Kalman, R. *Contributions to the Theory of Optimal Control.* Boletín de la Sociedad Matemática Mexicana 5, 1960.

    Examples
    --------
    >>> from moet.distill import safe_law
    >>> from moet.verify import systems
    >>> found = safe_law(systems.cartpole_linear())
    >>> found.policy
    Mixture(2 experts, 2 leaves, depth 0, 4 features, 2 classes, hard)
    >>> found.verdict.checked
    True
    """
    deadline = Deadline(None, cpu_limit)
    for law in regulators(system):
        verdict = widened(law, system, deadline, widen=widen)
        if isinstance(verdict, Proved):
            return SafeLaw(law, verdict)
        if deadline.passed:
            return None
    return None


def regulators(system: System) -> Iterator[Mixture]:
    """Laws for a system, one for each of the costs of a push."""
    rest, matrix, pushes = at_rest(system)
    directions, strengths = _inputs(pushes)
    for cost in COSTS:
        gain = gain_of(matrix, directions, costs_of_states(system, rest), cost)
        if gain is not None:
            yield _law(system, rest, gain, strengths)


class AtRest(NamedTuple):
    """The middle of the first states, a step around it, and what each action adds to the mean of all."""

    state: Floats
    matrix: Floats
    pushes: Floats


def at_rest(system: System) -> AtRest:
    """A system linearised where it is to rest."""
    state = np.array([float(low + high) / 2 for low, high in system.initial])
    matrix, offsets = linearised(system, state - _NEAR, state + _NEAR)
    return AtRest(state, matrix, offsets - offsets.mean(axis=0))


def _inputs(pushes: Floats) -> tuple[Floats, Floats]:
    """Directions in which actions push, and how strongly each of them does, at most by one."""
    left, sizes, right = np.linalg.svd(pushes, full_matrices=False)
    rank = int(np.count_nonzero(sizes > 1e-9 * sizes.max(initial=0.0)))
    if rank == 0:
        raise InputError("all actions of the system do the same, so no law can hold it")
    strengths = left[:, :rank] * sizes[:rank]
    largest = np.abs(strengths).max(axis=0)
    return (right[:rank] * largest[:, None]).T, strengths / largest


def costs_of_states(system: System, rest: Floats) -> Floats:
    """One for a state, or a sum of states, that is at its limit."""
    costs = _STEADY * np.eye(system.n_states)
    for half in system.safe:
        row = np.array([float(a) for a in half.coefficients])
        room = float(half.bound) - row @ rest
        if room > 0:
            costs += np.outer(row, row) / room**2 / 2
    return costs


def gain_of(matrix: Floats, directions: Floats, costs: Floats, cost: float) -> Floats | None:
    """Push that a regulator wants, per unit of each state; None if the system cannot be held this way."""
    price = cost * np.eye(directions.shape[1])
    try:
        value = solve_discrete_are(matrix, directions, costs, price)
        gain = -np.linalg.solve(directions.T @ value @ directions + price, directions.T @ value @ matrix)
    except (np.linalg.LinAlgError, ValueError):
        return None
    return gain if np.all(np.isfinite(gain)) else None


def _law(system: System, rest: Floats, gain: Floats, strengths: Floats) -> Mixture:
    """Choose the action whose push s is nearest to u = gain·(x − rest): s·u − s²/2 is largest."""
    weights = strengths @ gain
    bias = -weights @ rest - (strengths**2).sum(axis=1) / 2
    scale = 100 / np.abs(weights).max()
    n_actions = len(system.actions)
    leaves = [Tree.leaf(row) for row in np.eye(n_actions)]
    provenance = {"made_by": "moet.distill.safe_law", "system": system.name}
    return Mixture(
        weights * scale,
        bias * scale,
        leaves,
        list(system.actions),
        feature_names=list(system.states),
        prediction="hard",
        provenance=provenance,
    )
