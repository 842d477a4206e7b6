"""A shield for controls: the nearest one that leads into the set of a proof, on the way to the policy's own."""

from __future__ import annotations

import os
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import CertificateError, InputError
from moet.model.file import as_model, digest
from moet.model.regression.mixture import RegressionMixture
from moet.shield.control_kernel import ControlTables, decide, decide_rows, is_allowed
from moet.shield.reading import numbers
from moet.verify.checker.certificate import Certificate
from moet.verify.checker.words import claim_in_words
from moet.verify.checking import check
from moet.verify.limits import Deadline
from moet.verify.loops.admissible.step import Step, errors_of_seen, step_on
from moet.verify.rounding import UNIT
from moet.verify.systems.description import float_above
from moet.verify.systems.discrete import AffineSystem
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

_EXACTLY, _LOOSELY = 1e-12, 1e-6
"""What a simulated step may be off: matrices in float64, and other equations."""


class ControlShield:
    """Keeps a system with controls safe for ever, whatever controls are wanted.

    A control is allowed if, from every state that may be seen as this one, it leads into the set in which the policy is
    proved to hold the system. If it is not, the control is taken that is nearest to it on the line to the policy's own
    and allowed, and if there is none the policy's. ``docs/shields.md`` has the proof.

    Parameters
    ----------
    certificate : Certificate or path
        Proof that ``policy`` keeps ``system`` safe for ever, as :func:`moet.verify.safe` finds it for one affine law
        (kind ``"admissible"``), or the certificate of a shield. It is checked, with all numbers of the shield.
    policy : RegressionMixture, fitted regressor, policy or path
        One affine law; :func:`moet.distill.control_law` finds one that a system yields by itself.
    system : System
        With controls, in discrete or continuous time; the policy sees its states.

    Attributes
    ----------
    certificate : Certificate
        Of the shield itself (kind ``"control_shield"``).
    policy : RegressionMixture
    system : System

    Raises
    ------
    CertificateError
        If the exact checker refuses the certificate, or the numbers of the shield.

    References
    ----------
    - Alshiekh, M., et al. *Safe Reinforcement Learning via Shielding.* AAAI 2018.
    - Gilbert, E., K. Tan. *Linear Systems with State and Control Constraints: The Theory and Application of Maximal
      Output Admissible Sets.* IEEE Transactions on Automatic Control 36, 1991.

    Examples
    --------
    >>> from moet.distill import control_law
    >>> from moet.shield import ControlShield
    >>> from moet.verify import systems
    >>> cart = systems.AffineSystem("cart", states=["place", "speed"], controls={"push": (-1, 1)},
    ...     matrix=[[1, "0.1"], [0, 1]], input_matrix=[[0], ["0.1"]],
    ...     initial={"place": ("-0.1", "0.1"), "speed": ("-0.1", "0.1")}, safe=["-1 <= place <= 1"])
    >>> law = control_law(cart)
    >>> shield = ControlShield(law.verdict.certificate, law.policy, cart)
    >>> shield.allows([0.0, 0.0], [0.01])
    True
    """

    def __init__(self, certificate: Certificate | str | os.PathLike[str], policy: Any, system: System) -> None:
        if not isinstance(system, System) or not system.controls:
            raise InputError("this shield is about a system with controls; Shield is for one with actions")
        mixture = as_model(policy)
        if not isinstance(mixture, RegressionMixture):
            raise InputError("a shield for controls needs a policy that answers with numbers")
        self.policy, self.system = mixture, system
        proof = certificate if isinstance(certificate, Certificate) else Certificate.load(certificate)
        self.certificate = proof if proof.kind == "control_shield" else _extended(proof, mixture, system)
        check(self.certificate, self.policy, system)
        self.tables = _tables(self.certificate.claim["shield"], mixture, system)

    @property
    def digest(self) -> str:
        """Name of the shield by content: the SHA-256 of its certificate."""
        return self.certificate.digest

    @cached_property
    def claim(self) -> str:
        """What is proved, in words."""
        return claim_in_words(self.certificate, self.policy, self.system)

    def allows(self, state: ArrayLike, control: ArrayLike) -> bool:
        """Whether a control may be taken in a state, given as it is seen; it is clipped to the actuators' limits."""
        wanted = np.clip(self._wanted(control), self.tables.low, self.tables.high)
        return bool(is_allowed(self._seen(state), wanted, self.tables))

    def act(self, state: ArrayLike, wanted: ArrayLike) -> Floats:
        """The control to take in a state, given as it is seen: the wanted one, the nearest allowed, or the policy's."""
        taken = np.empty(len(self.tables.low))
        decide(self._seen(state), self._wanted(wanted), taken, self.tables)
        return taken

    def act_many(self, states: ArrayLike, wanted: ArrayLike) -> Floats:
        """Controls to take in many states, one per row, for as many that are wanted."""
        rows, controls = numbers(states, "states"), numbers(wanted, "controls")
        if controls.shape == rows.shape[:1]:
            controls = controls[:, None]
        if rows.shape[1:] != (self.system.n_states,) or controls.shape != (len(rows), len(self.tables.low)):
            raise InputError(f"expected states and as many controls, got shapes {rows.shape} and {controls.shape}")
        if not np.all(np.isfinite(rows)) or np.any(np.isnan(controls)):
            raise InputError("states must be finite, and controls numbers")
        taken = np.empty_like(controls)
        decide_rows(rows, controls, taken, self.tables)
        return taken

    def covers_start(self, state: ArrayLike) -> bool:
        """Whether what is proved holds of a run that begins in a state, given as it is seen.

        So it is if the state is surely in the polytope of the proof, or may be one of the system's first states.
        """
        seen = self._seen(state)
        wrong = errors_of_seen(self.system, np.abs(seen))
        low, high = np.array([[float(a), float(b)] for a, b in self.system.initial]).T
        return bool(np.all((low - wrong <= seen) & (seen <= high + wrong))) or self.holds(seen)

    def holds(self, state: ArrayLike) -> bool:
        """Whether a state, given as it is seen, is surely in the polytope of the proof.

        If it is, and the shield decides from here on, all that comes after is safe, wherever the run began.
        """
        seen = self._seen(state)
        wrong = errors_of_seen(self.system, np.abs(seen))
        exact = [Fraction(a) for a in seen.tolist()]
        for row, limit in sides_of(self.certificate.claim):
            value = sum(a * x + abs(a) * Fraction(e) for a, x, e in zip(row, exact, wrong.tolist(), strict=True))
            if value > limit:
                return False
        return True

    def explains(self, before: ArrayLike, control: ArrayLike, after: ArrayLike) -> bool:
        """Whether the system, as it was proved, can lead from one state to another, both given as they are seen.

        If not, what the shield acts on is another system, its sensors are worse than described, or something else than
        this control was done; then nothing is guaranteed any more.
        """
        seen, following = self._seen(before), self._seen(after)
        taken = np.clip(self._wanted(control), self.tables.low, self.tables.high)
        expected, least, most = self._ahead(seen, taken)
        slopes = np.abs(np.array(self._step.matrix, np.float64))
        reach = slopes @ errors_of_seen(self.system, np.abs(seen)) + errors_of_seen(self.system, np.abs(following))
        reach += (_EXACTLY if isinstance(self.system, AffineSystem) else _LOOSELY) * (slopes @ np.abs(seen) + 1)
        return bool(np.all((expected + least - reach <= following) & (following <= expected + most + reach)))

    def _ahead(self, seen: Floats, taken: Floats) -> tuple[Floats, Floats, Floats]:
        """The next state, and the limits of what may be added to it; what is scheduled does not say when."""
        least, most = np.array([[float(a), float(b)] for a, b in self.system.disturbance]).T
        rest = self._step.rest
        if self.system.schedule:
            matrix, inputs, offset = (np.array(part, np.float64) for part in self._step[:3])
            return matrix @ seen + inputs @ taken + offset, -rest, rest
        expected = self.system.successor(seen[None], taken[None])[0]
        if isinstance(self.system, AffineSystem):
            return expected, least, most
        return expected, least - rest, most + rest

    @cached_property
    def _step(self) -> Step:
        return _step_of(self.certificate.claim, self.policy, self.system)

    def _seen(self, state: ArrayLike) -> Floats:
        seen = numbers(state, "states")
        if seen.shape != (self.system.n_states,) or not np.all(np.isfinite(seen)):
            raise InputError(
                f"a state of {self.system.name!r} has {self.system.n_states} finite numbers "
                f"({', '.join(self.system.states)}), got {np.asarray(state).tolist()}"
            )
        return seen

    def _wanted(self, control: ArrayLike) -> Floats:
        wanted = np.atleast_1d(numbers(control, "controls"))
        if wanted.shape != self.tables.low.shape or np.any(np.isnan(wanted)):
            names = ", ".join(self.system.controls)
            raise InputError(f"the controls are {names}, got {np.asarray(control).tolist()}")
        return wanted

    def __repr__(self) -> str:
        return f"ControlShield({digest(self.policy)[:12]}, {self.system.name!r})"


def sides_of(claim: dict[str, Any]) -> list[tuple[list[Fraction], Fraction]]:
    """All conditions row·x <= limit of the polytope of a proof: of the box, state by state, then its half-spaces."""
    d, found = len(claim["box"]), []
    for k, (low, high) in enumerate(claim["box"]):
        for sign, bound in ((1, Fraction(high)), (-1, -Fraction(low))):
            found.append(([Fraction(sign if i == k else 0) for i in range(d)], bound))
    rows = [[Fraction(a) for a in row] for row in claim["rows"]]
    return found + list(zip(rows, map(Fraction, claim["limits"]), strict=True))


def _extended(proof: Certificate, mixture: RegressionMixture, system: System) -> Certificate:
    """The certificate of a proof for ever with the numbers of a shield."""
    if proof.kind != "admissible":
        raise CertificateError(
            f"a shield for controls needs a proof that one affine law is safe for ever, and this is one of kind "
            f"{proof.kind!r}: moet.distill.control_law(system) finds a law and its proof"
        )
    return proof.claiming("control_shield", {**proof.claim, "shield": _numbers(proof.claim, mixture, system)})


def _step_of(claim: dict[str, Any], mixture: RegressionMixture, system: System) -> Step:
    low, high = np.array([[float(Fraction(end)) for end in side] for side in claim["box"]]).T
    return step_on(system, mixture, low, high, Deadline())


def _numbers(claim: dict[str, Any], mixture: RegressionMixture, system: System) -> dict[str, Any]:
    """What the shield decides with; the checker confirms it."""
    step = _step_of(claim, mixture, system)
    largest = np.array([max(abs(float(Fraction(end))) for end in side) for side in claim["box"]])
    wrong = errors_of_seen(system, largest)
    sizes = np.concatenate([largest + wrong, np.abs(np.array(list(system.controls.values()), np.float64)).max(axis=1)])
    sides = sides_of(claim)
    rows = np.array([[float(a) for a in row] for row, _ in sides])
    matrix, inputs, offset = (np.array(part, np.float64) for part in (step.matrix, step.inputs, step.offset))
    tests = np.hstack([rows @ matrix, rows @ inputs])
    parts = np.hstack([np.abs(rows) @ np.abs(matrix), np.abs(rows) @ np.abs(inputs)])
    rounding = 64 * tests.shape[1] * UNIT * (parts @ sizes + np.abs(rows) @ (np.abs(offset) + step.rest))
    slack = rows @ offset + np.abs(rows) @ step.rest + np.abs(rows @ matrix) @ wrong + rounding + 2.0**-200
    limits = [-float_above(Fraction(float(s)) - limit) for (_, limit), s in zip(sides, slack, strict=True)]
    return {"tests": tests.tolist(), "limits": limits}


def _tables(numbers: dict[str, Any], mixture: RegressionMixture, system: System) -> ControlTables:
    tree = mixture.trees[0]
    gain = np.zeros((len(system.controls), system.n_states)) if tree.slope is None else tree.slope[0]
    low, high = zip(*system.controls.values(), strict=True)
    least, most = np.array([float_above(a) for a in low]), np.array([-float_above(-b) for b in high])
    return ControlTables(
        np.array(numbers["tests"], np.float64),
        np.array(numbers["limits"], np.float64),
        np.ascontiguousarray(np.hstack([tree.value[0][:, None], gain])),
        np.ascontiguousarray(np.maximum(mixture.low, least)),
        np.ascontiguousarray(np.minimum(mixture.high, most)),
        least,
        most,
    )
