"""Students with a fence: where a safe law is sure of what to do it acts, and the student where the law hardly cares.

A law of two actions is the sign of a linear function, and its *fence* are two experts more, one for each action, that
are ahead where that function is further from zero than some width. Good policies differ from each other mostly where
they are about to change their minds, so a student that is asked there only is nearly as faithful as a free one. And all
that it can do wrong is bounded: the law switches a little too soon or too late, which the sets of a proof can bear.
The narrower the fence, the more is proved and the less faithful it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from moet.distill.ways import fidelity
from moet.model.mixture import Mixture
from moet.model.tree import Tree
from moet.teachers.teacher import Teacher
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

FENCE = "fence"
"""Name of students in a fence, among all that are asked about."""

WIDTHS = (0.1, 0.14, 0.18, 0.25, 0.35, 0.5, 0.7, 1.0)
"""Widths that are looked at, in units of what one action changes of the law's function."""

_INSIDE = 0.01
"""How much the student's logits count beside the width: they decide between its experts only."""


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
    outer = _function(law)
    own = np.hstack([student.gate_bias[:, None], student.gate_weights])
    own -= own.mean(axis=0)
    limit = width * _jump(outer, system)
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


def outer_switch(law: Mixture) -> Floats:
    """Direction in which a policy inside the fence of a law switches at the fence."""
    return _function(law)[1:]


def widths(policy: Callable[[float], Mixture], teacher: Teacher, system: System, lost: Sequence[float]) -> list[float]:
    """For each loss of fidelity the narrowest fence that loses no more than that beside the widest, none twice.

    Parameters
    ----------
    policy : callable
        The student in a fence of some width.
    teacher : Teacher
    system : System
    lost : sequence of float
    """
    seen = {width: fidelity(policy(width), teacher, system) for width in WIDTHS}
    best = max(seen.values())
    narrowest = (next(width for width in WIDTHS if seen[width] >= best - loss) for loss in lost)
    return list(dict.fromkeys(narrowest))


def _function(law: Mixture) -> Floats:
    """Bias and weights of the function that is positive where a law of two experts takes the later action."""
    return np.append(np.diff(law.gate_bias), np.diff(law.gate_weights, axis=0))


def _jump(function: Floats, system: System) -> float:
    """How much an action rather than the other one changes a function of the next state, in the middle of the first."""
    middle = np.array([[float(low + high) / 2 for low, high in system.initial]])
    ends = system.successor(np.repeat(middle, 2, axis=0), np.arange(2))
    return float(abs(function[1:] @ (ends[1] - ends[0])))
