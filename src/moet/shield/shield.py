"""The shield: which actions are allowed, and which one to take."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import CertificateError, InputError
from moet.model.file import as_mixture, digest
from moet.model.flat import FlatMixture
from moet.model.mixture import Mixture
from moet.shield.kernel import Tables, decide, decide_rows, explained, packed, steps_to_set, surely_in_set
from moet.shield.margins import find_margins, slanted_conditions
from moet.shield.program import polynomials, step_program
from moet.verify.checker.certificate import Certificate
from moet.verify.checker.words import claim_in_words
from moet.verify.checking import check
from moet.verify.loops.sets.template import Template
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

STEPS = 30
"""How far a shield looks ahead by default, if errors do not grow too large before that."""


class Shield:
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
        if not isinstance(system, System):
            raise InputError(f"expected a system, such as systems.cartpole(), got {type(system).__name__}")
        self.policy, self.system = as_mixture(policy), system
        self._action_of = system.actions_of(self.policy)
        proof = certificate if isinstance(certificate, Certificate) else Certificate.load(certificate)
        self.certificate = proof if proof.kind == "shield" else _extended(proof, self.policy, system, steps)
        check(self.certificate, self.policy, system)
        self.tables = _tables(self.certificate.claim, self.policy, system, self._action_of)
        self._packed = packed(self.tables)
        self._number = {name: k for k, name in enumerate(system.actions)}

    @property
    def digest(self) -> str:
        """Name of the shield by content: the SHA-256 of its certificate."""
        return self.certificate.digest

    @property
    def steps(self) -> int:
        """How many steps the shield looks ahead, at most."""
        return len(self.tables.errors) - 1

    @cached_property
    def claim(self) -> str:
        """What is proved, in words."""
        return claim_in_words(self.certificate, self.policy, self.system)

    def allows(self, state: ArrayLike, action: Any) -> bool:
        """Whether an action may be taken in a state, given as it is seen; by number or by name."""
        return self.steps_ahead(state, action) > 0

    def steps_ahead(self, state: ArrayLike, action: Any) -> int:
        """Steps after which the state is surely in the invariant, this action first; 0 if that is not sure."""
        return int(steps_to_set(self._seen(state), self._action(action), *self._packed))

    def act(self, state: ArrayLike, wanted: Any) -> Any:
        """The action to take in a state, given as it is seen: the wanted one, or the policy's.

        It is a number or a name, as the wanted one is.
        """
        number = self._action(wanted)
        taken = int(decide(self._seen(state), number, *self._packed))
        if taken == number:
            return wanted
        if taken < 0:
            raise InputError(f"a state must be finite, got {np.asarray(state).tolist()}")
        return self.system.actions[taken] if isinstance(wanted, str) else taken

    def act_many(self, states: ArrayLike, wanted: ArrayLike) -> NDArray[np.int64]:
        """Action numbers to take in many states, one per row, for as many that are wanted."""
        rows = np.ascontiguousarray(states, dtype=np.float64)
        numbers = np.ascontiguousarray(wanted, dtype=np.int64)
        if rows.ndim != 2 or rows.shape[1] != self.system.n_states or numbers.shape != rows.shape[:1]:
            raise InputError(f"expected states and as many actions, got shapes {rows.shape} and {numbers.shape}")
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(self._number):
            raise InputError(f"action numbers are from 0 to {len(self._number) - 1}")
        taken = np.empty(len(numbers), np.int64)
        decide_rows(rows, numbers, taken, *self._packed)
        if np.any(taken < 0):
            raise InputError("states must be finite")
        return taken

    def covers_start(self, state: ArrayLike) -> bool:
        """Whether what is proved holds of a run that begins in a state, given as it is seen.

        So it is if the state is surely in the invariant, or may be one of the system's first states.
        """
        seen = self._seen(state)
        reach = self.tables.errors[0] * self.tables.shape
        low, high = np.array([[float(a), float(b)] for a, b in self.system.initial]).T
        may_be_first = bool(np.all((low - reach <= seen) & (seen <= high + reach)))
        return may_be_first or bool(surely_in_set(seen, *self._packed))

    def explains(self, before: ArrayLike, action: Any, after: ArrayLike) -> bool:
        """Whether the system, as it was proved, can lead from one state to another, both given as they are seen.

        If not, what the shield acts on is another system, its sensors are worse than described, or something else than
        this action was done; then nothing is guaranteed any more.
        """
        seen = self._seen(before), self._action(action), self._seen(after)
        return bool(explained(*seen, *self._packed))

    def _seen(self, state: ArrayLike) -> Floats:
        seen = np.ascontiguousarray(state, dtype=np.float64)
        if seen.shape != (self.system.n_states,):
            raise InputError(
                f"a state of {self.system.name!r} has {self.system.n_states} numbers "
                f"({', '.join(self.system.states)}), got shape {seen.shape}"
            )
        return seen

    def _action(self, action: Any) -> int:
        number = self._number.get(action, -1) if isinstance(action, str) else action
        try:
            whole = int(number)
        except (TypeError, ValueError, OverflowError):
            whole = -1
        if whole != number or not 0 <= whole < len(self._number):
            known = ", ".join(f"{k} or {name!r}" for name, k in self._number.items())
            raise InputError(f"{action!r} is no action of the system {self.system.name!r}: {known}")
        return whole

    def __repr__(self) -> str:
        return f"Shield({digest(self.policy)[:12]}, {self.system.name!r}, steps={self.steps})"


def _extended(proof: Certificate, mixture: Mixture, system: System, steps: int) -> Certificate:
    """The certificate of an invariant with the numbers of a shield."""
    if proof.kind != "invariant":
        raise CertificateError(
            f"a shield needs a proof that its policy is safe for ever, and this is one of kind {proof.kind!r}: "
            "moet verify POLICY --system SYSTEM --certificate FILE finds one"
        )
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise InputError(f"a shield looks at least 1 step ahead, got steps={steps!r}")
    return proof.claiming("shield", {**proof.claim, "shield": find_margins(proof.claim, mixture, system, steps)})


def _tables(claim: dict[str, Any], mixture: Mixture, system: System, actions: tuple[int, ...]) -> Tables:
    """Numbers of the certificate, the policy and the system, as the kernel wants them."""
    numbers: dict[str, Any] = {name: np.array(claim["shield"][name], np.float64) for name in _NUMBERS}
    template = Template(*(np.array(claim[name], np.float64) for name in ("slice", "edges", "directions")))
    flat = FlatMixture.of(mixture.gate_weights, mixture.gate_bias, mixture.trees)
    slanted = [[float(a) for a in half.coefficients] for half in slanted_conditions(system)]
    sines, cosines = polynomials(claim["shield"]["terms"])
    return Tables(
        **step_program(system)._asdict(),
        **flat.routing._asdict(),
        **numbers,
        sines=sines,
        cosines=cosines,
        rows=np.ascontiguousarray(template.rows),
        limits=np.array([cell for cell in claim["shield"]["limits"] if cell is not None], np.float64),
        safe_rows=np.array(slanted, np.float64).reshape(-1, system.n_states),
        actions=np.array(actions, np.int64)[flat.leaf_class],
    )


_NUMBERS = (
    *("bottom", "top", "shape", "errors", "spreads"),
    *("safe_spreads", "safe_limits", "gate_spreads", "gate_errors"),
)
"""What the kernel takes from a certificate as it is."""
