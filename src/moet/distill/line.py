"""The straight line from a student to a safe law: between them a policy gives up fidelity for what can be proved.

Experts that answer with one action each are moved, row by row of the gate, towards the law's row for that action.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.verify.systems.system import System

Floats = NDArray[np.float64]


def can_be_moved(student: Mixture) -> bool:
    """Whether every expert answers with one action, and all actions have one."""
    answers = [tree.value[0].argmax() for tree in student.trees if tree.n_nodes == 1]
    return len(answers) == student.n_experts and len(set(answers)) == len(student.classes)


def moved(student: Mixture, law: Mixture, share: float | Floats, system: System, states: Floats) -> Mixture:
    """The policy that is a share of the way from a student to a law.

    Parameters
    ----------
    student, law : Mixture
        Of one action per expert; the law has one expert per action of the system, in their order.
    share : float or array of float, shape (1 + n_states,)
        0 is the student, 1 decides like the law; or one share for the bias and for each of the weights.
    system : System
    states : array of float, shape (n, n_states)
        Where they are compared: both gates count the same if their rows differ as much on these states.
    """
    actions = system.actions_of(student)
    own = np.hstack([student.gate_bias[:, None], student.gate_weights])
    expert_actions = [actions[int(tree.value[0].argmax())] for tree in student.trees]
    law_actions = list(system.actions_of(law))
    rows = [law_actions.index(action) for action in expert_actions]
    towards = np.hstack([law.gate_bias[:, None], law.gate_weights])[rows]
    gate = (1 - share) * own / _size(own, states) + share * towards / _size(towards, states)
    scale = 100 / np.abs(gate[:, 1:]).max()
    return Mixture(
        gate[:, 1:] * scale,
        gate[:, 0] * scale,
        student.trees,
        student.classes,
        feature_names=student.feature_names,
        prediction="hard",
        provenance=student.provenance,
    )


def _size(gate: Floats, states: Floats) -> float:
    """By how much the logits of a gate differ on states, as a root of a mean square."""
    logits = gate[:, 0] + states @ gate[:, 1:].T
    spread = logits - logits.mean(axis=1, keepdims=True)
    return float(np.sqrt(np.square(spread).mean())) or 1.0
