"""The shield: which actions are allowed, and which one to take."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import CertificateError
from moet.model.mixture import Mixture
from moet.shield.kernel import surely_in_set
from moet.shield.look_ahead import LookAhead, check_ahead, in_floats, subjects
from moet.shield.margins import find_margins, slanted_conditions
from moet.verify.checker.certificate import Certificate
from moet.verify.loops.sets.template import Template
from moet.verify.systems.system import System

STEPS = 10
"""How far a shield looks ahead by default, if errors do not grow too large before that."""


class Shield(LookAhead):
    """Keeps a system safe for ever, whatever agent wants to act on it.

    An action is allowed if, from every state that may be seen as this one, it leads to a state from which the proved
    policy surely gets back into the invariant of its proof, being safe on the way; otherwise the policy acts. Then
    every state is one from which the policy is safe for ever. ``docs/shields.md`` has the proof.

    Parameters
    ----------
    certificate : Certificate or path
        Proof that ``policy`` keeps ``system`` safe for ever (kind ``"invariant"``), as :func:`moet.verify.safe` finds
        it, or the certificate of a shield. It is checked, with all numbers of the shield.
    policy : Mixture, fitted classifier, policy or path
        What the proof is about.
    system : System
    steps : int
        How many steps to look ahead, at most; with 1 the next state must be in the invariant.

    Attributes
    ----------
    certificate : Certificate
        Of the shield itself (kind ``"shield"``): the invariant and every number that decides.
    policy : Mixture
    system : System
    tables : Tables
        All numbers that decide.
    steps : int
        How many steps it looks ahead, which may be fewer than asked for: errors grow.

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
    >>> from moet.shield import Shield
    >>> from moet.verify import safe, systems
    >>> tank = systems.AffineSystem("tank", states=["level"], actions=["drain", "fill"], matrix=[["0.9"]],
    ...     offsets=[["0"], ["0.5"]], initial={"level": (1, 2)}, safe=["0.5 <= level <= 4"])
    >>> valve = moet.Mixture([[-1.0], [0.0]], [2.0, 0.0], [moet.Tree.leaf([0, 1]), moet.Tree.leaf([1, 0])],
    ...     ["drain", "fill"], feature_names=["level"])
    >>> shield = Shield(safe(valve, tank, steps=None).certificate, valve, tank)
    >>> shield.act([1.5], "drain"), shield.act([0.52], "drain")
    ('drain', 'fill')
    """

    def __init__(
        self, certificate: Certificate | str | os.PathLike[str], policy: Any, system: System, *, steps: int = STEPS
    ) -> None:
        proof, mixture = subjects(certificate, policy, system)
        if proof.kind != "shield":
            proof = _extended(proof, mixture, system, check_ahead(steps))
        claim = proof.claim
        template = Template(*(np.array(claim[name], np.float64) for name in ("slice", "edges", "directions")))
        super().__init__(proof, mixture, system, template.rows, in_floats(slanted_conditions(system)))

    def allows(self, state: ArrayLike, action: Any) -> bool:
        """Whether an action may be taken in a state, given as it is seen; by number or by name."""
        return self.steps_ahead(state, action) > 0

    def act(self, state: ArrayLike, wanted: Any) -> Any:
        """The action to take in a state, given as it is seen: the wanted one, or the policy's.

        It is a number or a name, as the wanted one is.
        """
        return self._act(state, wanted, self.steps)

    def act_many(self, states: ArrayLike, wanted: ArrayLike) -> NDArray[np.int64]:
        """Action numbers to take in many states, one per row, for as many that are wanted."""
        return self._act_many(states, wanted, self.steps)

    def covers_start(self, state: ArrayLike) -> bool:
        """Whether what is proved holds of a run that begins in a state, given as it is seen.

        So it is if the state is surely in the invariant, or may be one of the system's first states.
        """
        seen = self._seen(state)
        return self._may_be_first(seen) or bool(surely_in_set(seen, *self._packed))

    def holds(self, state: ArrayLike) -> bool:
        """Whether the policy surely gets into the invariant from a state, given as it is seen.

        If it does, and the shield decides from here on, all that comes after is safe, wherever the run began.
        """
        return self._policy_arrives(state, self.steps)


def _extended(proof: Certificate, mixture: Mixture, system: System, steps: int) -> Certificate:
    """The certificate of an invariant with the numbers of a shield."""
    if proof.kind != "invariant":
        raise CertificateError(
            f"a shield needs a proof that its policy is safe for ever, and this is one of kind {proof.kind!r}: "
            "moet verify POLICY --system SYSTEM --certificate FILE finds one"
        )
    return proof.claiming("shield", {**proof.claim, "shield": find_margins(proof.claim, mixture, system, steps)})
