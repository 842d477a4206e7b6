"""A shield for goals: an agent does what it wants as long as a proved policy can still get there in time."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import CertificateError, InputError
from moet.model.mixture import Mixture
from moet.shield.look_ahead import LookAhead, check_ahead, in_floats, subjects
from moet.shield.margins import find_goal_margins, goal_of
from moet.shield.reading import whole
from moet.verify.checker.certificate import Certificate
from moet.verify.systems.system import System

STEPS = 1000
"""How far a shield looks ahead for a goal by default; errors grow too large before that, as a rule."""


class GoalShield(LookAhead):
    """Gets a system to its goal in time, whatever agent wants to act on it.

    An action is allowed if, from every state that may be seen as this one, the proved policy surely gets to the goal
    after it, in the steps that are left; otherwise the policy acts. ``docs/shields.md`` has the proof. The shield has
    no memory: it is told how many steps are left.

    Parameters
    ----------
    certificate : Certificate or path
        Proof that ``policy`` gets ``system`` to a goal (kind ``"arrival"``), as :func:`moet.verify.reaches` finds it
        for nonlinear systems, or the certificate of such a shield. It is checked, with all numbers of the shield.
    policy : Mixture, fitted classifier, policy or path
        What the proof is about.
    system : System
    within : int, optional
        Steps in which the goal is to be reached: those of the proof, or more, which leaves an agent more freedom.
    steps : int
        How many steps to look ahead, at most.

    Attributes
    ----------
    certificate : Certificate
        Of the shield itself (kind ``"goal_shield"``).
    policy : Mixture
    system : System
    tables : Tables
        All numbers that decide.
    steps : int
        How many steps it looks ahead, which may be fewer than asked for: errors grow.
    within : int

    Raises
    ------
    CertificateError
        If the exact checker refuses the certificate, or the numbers of the shield.

    References
    ----------
    - Alshiekh, M., et al. *Safe Reinforcement Learning via Shielding.* AAAI 2018.

    Examples
    --------
    >>> import moet
    >>> from moet.shield import GoalShield
    >>> from moet.verify import reaches, systems
    >>> walk = systems.NonlinearSystem("walk", states=["place"], actions=["back", "forth"], inputs={"pace": (-1, 1)},
    ...     step={"place": "place + 0.25 * pace"}, initial={"place": (0, "0.5")}, safe=["place >= -9"],
    ...     goal=["place >= 2"], domain={"place": (-10, 10)})
    >>> leaves = [moet.Tree.leaf([0, 1])]
    >>> goer = moet.Mixture([[0.0]], [0.0], leaves, ["back", "forth"], feature_names=["place"])
    >>> shield = GoalShield(reaches(goer, walk, within=10).certificate, goer, walk, within=20)
    >>> shield.act([1.0], "back", left=20), shield.act([1.0], "back", left=5)
    ('back', 'forth')
    """

    def __init__(
        self,
        certificate: Certificate | str | os.PathLike[str],
        policy: Any,
        system: System,
        *,
        within: int | None = None,
        steps: int = STEPS,
    ) -> None:
        proof, mixture = subjects(certificate, policy, system)
        if proof.kind != "goal_shield":
            proof = _extended(proof, mixture, system, within, check_ahead(steps))
        elif within not in (None, proof.claim["shield"]["within"]):
            raise InputError(
                f"this shield was made for {proof.claim['shield']['within']} steps, not {within}; "
                "give the proof of arrival to make another"
            )
        self.within = int(proof.claim["shield"]["within"])
        super().__init__(proof, mixture, system, in_floats(goal_of(proof.claim)), [])

    def allows(self, state: ArrayLike, action: Any, left: int) -> bool:
        """Whether an action may be taken in a state, given as it is seen, with so many steps left, this one included.

        Actions are given by number or by name.
        """
        return 0 < self.steps_ahead(state, action) <= _steps_left(left)

    def act(self, state: ArrayLike, wanted: Any, left: int) -> Any:
        """The action to take in a state with so many steps left: the wanted one, or the policy's.

        It is a number or a name, as the wanted one is.
        """
        return self._act(state, wanted, _steps_left(left))

    def act_many(self, states: ArrayLike, wanted: ArrayLike, left: ArrayLike) -> NDArray[np.int64]:
        """Action numbers to take in many states, one per row; ``left`` is one number, or as many."""
        return self._act_many(states, wanted, np.vectorize(_steps_left, otypes=[np.int64])(left))

    def covers_start(self, state: ArrayLike) -> bool:
        """Whether what is proved holds of a run that begins in a state, given as it is seen.

        So it is if it may be one of the system's first states, or if the policy surely gets from there to the goal.
        """
        return self._may_be_first(self._seen(state)) or self.holds(state)

    def holds(self, state: ArrayLike) -> bool:
        """Whether the policy surely gets to the goal from a state, given as it is seen, in the steps of the shield."""
        return self._policy_arrives(state, self.within)


def _steps_left(left: Any) -> int:
    steps = whole(left)
    if steps is None:
        raise InputError(f"left is a whole number of steps, got {left!r}")
    return steps


def _extended(proof: Certificate, mixture: Mixture, system: System, within: int | None, steps: int) -> Certificate:
    """The certificate of an arrival with the numbers of a shield."""
    if proof.kind != "arrival":
        raise CertificateError(
            f"a shield for a goal needs a proof that its policy gets there, of a nonlinear system, and this is one of "
            f"kind {proof.kind!r}: moet verify POLICY --system SYSTEM --within N --certificate FILE finds one"
        )
    needed = int(proof.claim["steps"])
    allowed = needed if within is None else within
    if isinstance(allowed, bool) or not isinstance(allowed, int) or allowed < max(needed, 1):
        raise InputError(f"the policy may need {needed} steps, so within must be at least that, got {within!r}")
    numbers = find_goal_margins(proof.claim, mixture, system, min(steps, allowed))
    return proof.claiming("goal_shield", {**proof.claim, "shield": {"within": allowed, **numbers}})
