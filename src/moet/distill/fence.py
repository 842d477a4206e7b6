"""Students with a fence: where a safe law is sure of what to do it acts, and the student where the law hardly cares.

A law of two actions is the sign of a linear function, and its *fence* are two experts more, one for each action, that
are ahead where that function is further from zero than some width. Good policies differ from each other mostly where
they are about to change their minds, so a student that is asked there only is nearly as faithful as a free one. And all
that it can do wrong is bounded: the law switches a little too soon or too late, which the sets of a proof can bear.
The narrower the fence, the more is proved and the less faithful it is. And the cheaper pushes are to a law, the sooner
it brings back what has gone astray: a student that would wander off, or a teacher that does, is held in a fence of such
a law, where that of a lazier law would let it go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from moet.distill.lqr import AtRest, at_rest
from moet.distill.ways import fidelity
from moet.model.mixture import Mixture
from moet.model.tree import Tree
from moet.teachers.teacher import Teacher
from moet.verify.loops.sets.template import Band
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

FENCE = "fence"
"""Name of students in a fence, among all that are asked about."""

WIDTHS = (0.1, 0.14, 0.18, 0.25, 0.35, 0.5, 0.6, 0.7, 0.85, 1.0)
"""Widths that are looked at, in units of what one action changes of the law's function."""

_INSIDE = 0.01
"""How much the student's logits count beside the width: they decide between its experts only."""

_FURTHEST = 1.4
"""Fences in which the worst student, were it linear, would get so much further than a limit: of those that were asked
about none was proved beyond."""

_LATE = 0.5
"""What a law's function may be off beside the width, in pushes: it switches at most one push too late."""

_ANY = 1e-9
"""Fidelity of a student whose simulated runs stay in the safe set, at least."""

_STEPS = 2000
"""Steps after which a law has brought back everything; the slowest state of the cart-pole keeps a millionth."""


@dataclass(frozen=True, eq=False)
class Fence:
    """A law, and the width in which a student acts; ``reach`` is how far the worst may get, in shares of what is safe.

    Widths are in units of what one action rather than the other changes of the law's function in a step.
    """

    law: Mixture
    width: float
    reach: float


def can_be_fenced(student: Mixture, law: Mixture) -> bool:
    """Whether both have two actions, and the law is a sign."""
    return law.n_experts == len(law.classes) == len(student.classes) == 2


def fenced(student: Mixture, law: Mixture, width: float, system: System, states: Floats) -> Mixture:
    """A student inside the fence of a law.

    Parameters
    ----------
    student : Mixture
    law : Mixture
        Of two experts, one for each action of the system, in their order.
    width : float
        In units of what the other action changes of the law's function in a step.
    system : System
    states : array of float, shape (n, n_states)
        Where the student's logits are looked at, for their size.
    """
    outer, limit = _function(law), width * _jump(law, at_rest(system))
    own = np.hstack([student.gate_bias[:, None], student.gate_weights])
    own -= own.mean(axis=0)
    size = float(np.abs(own[:, 0] + states @ own[:, 1:].T).max()) or 1.0
    ends = np.array([-outer, outer])
    ends[:, 0] -= limit
    gate = np.vstack([own * (_INSIDE * limit / size), ends])
    scale = 100 / np.abs(gate[:, 1:]).max()
    actions = list(system.actions_of(student))
    leaves = [Tree.leaf(np.eye(2)[actions.index(action)]) for action in range(2)]
    return Mixture(
        gate[:, 1:] * scale,
        gate[:, 0] * scale,
        [*student.trees, *leaves],
        student.classes,
        feature_names=student.feature_names,
        prediction="hard",
        provenance=student.provenance,
    )


def band(fence: Fence, system: System) -> Band:
    """Where a student acts in a fence, as proofs want to know it."""
    bias, *weights = _function(fence.law)
    size, limit = np.linalg.norm(weights), fence.width * _jump(fence.law, at_rest(system))
    return Band(np.array(weights) / size, float((-limit - bias) / size), float((limit - bias) / size))


def fences(
    student: Mixture,
    laws: Sequence[Mixture],
    teacher: Teacher,
    system: System,
    states: Floats,
    lost: Sequence[float],
    least: float = 0.0,
) -> list[Fence]:
    """For each loss of fidelity the fence with the least reach of those that lose no more beside the best, none twice.

    Parameters
    ----------
    student : Mixture
    laws : sequence of Mixture
    teacher : Teacher
    system : System
    states : array of float, shape (n, n_states)
        See :func:`fenced`.
    lost : sequence of float
        From small to large.
    least : float
        Fidelity of those that are worth a question.
    """
    shares: dict[Fence, float] = {}
    for fence in _near(laws, system):
        share = fidelity(fenced(student, fence.law, fence.width, system, states), teacher, system)
        if share >= max(least, _ANY):
            shares[fence] = share
    if not shares:
        return []
    best = max(shares.values())
    enough = [[fence for fence, share in shares.items() if share >= best - loss] for loss in lost]
    return list(dict.fromkeys(min(some, key=lambda fence: fence.reach) for some in enough))


def _near(laws: Sequence[Mixture], system: System) -> Iterator[Fence]:
    """All fences in which even the worst student would not get too far."""
    rest = at_rest(system)
    for law in laws:
        swing = _swing(law, rest, system)
        wide = (Fence(law, width, (width + _LATE) * swing) for width in WIDTHS)
        yield from (fence for fence in wide if fence.reach <= _FURTHEST)


def _swing(law: Mixture, rest: AtRest, system: System) -> float:
    """How far states may get, in shares of what is safe, if the law's function is off by as much as a push changes it.

    A law that pushes as it must keeps its function at zero. What a step does then, and what it adds if the function is
    off, is linear; and the worst that can come together are the absolute values of all that one step adds.
    """
    push, row = rest.pushes[1] - rest.pushes[0], _function(law)[1:]
    limits = _limits(rest, system)
    total = np.zeros(len(limits))
    with np.errstate(all="ignore"):
        kept = rest.matrix - np.outer(push, row @ rest.matrix) / (row @ push)
        for _ in range(_STEPS):
            total += np.abs(limits @ push)
            push = kept @ push
    return float(np.nan_to_num(total.max(initial=0.0), nan=np.inf))


def _limits(rest: AtRest, system: System) -> Floats:
    """Conditions of the safe set as rows that are one where a state that begins at rest would break them."""
    rows = np.array([[float(a) for a in half.coefficients] for half in system.safe]).reshape(-1, system.n_states)
    rooms = np.array([float(half.bound) for half in system.safe]) - rows @ rest.state
    return rows[rooms > 0] / rooms[rooms > 0, None]


def _function(law: Mixture) -> Floats:
    """Bias and weights of the function that is positive where a law of two experts takes the later action."""
    return np.append(np.diff(law.gate_bias), np.diff(law.gate_weights, axis=0))


def _jump(law: Mixture, rest: AtRest) -> float:
    """How much an action rather than the other one changes a law's function of the next state."""
    return float(abs(_function(law)[1:] @ np.subtract(*rest.pushes)))
