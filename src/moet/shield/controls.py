"""A shield for controls: the nearest one that leads into the set of a proof, on the way to the policy's own."""

from __future__ import annotations

import os
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import CertificateError, InputError
from moet.model.file import as_model
from moet.model.regression.mixture import RegressionMixture
from moet.verify.checker.certificate import Certificate
from moet.verify.checker.meter import Meter
from moet.verify.checker.words import claim_in_words
from moet.verify.checking import check
from moet.verify.systems.description import float_above
from moet.verify.systems.discrete import AffineSystem
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

_ROUNDING = 2.0**-44
"""Generous bound of what rounding does to the test, relative to the sizes of all terms."""

_WIDER = 4.0
"""What is seen may be so much larger than the first states and the set; beyond that the policy acts."""

_SHRUNK = 1e-9
"""Share by which a control that is computed to be on the edge is kept off it."""


class ControlShield:
    """Keeps an affine system with controls safe for ever, whatever controls are wanted.

    A control is allowed if, from every state that may be seen as this one, it leads into the set in which the proof of
    the policy ends. If it is not, the control is taken that is nearest to it on the line to the policy's own and
    allowed, and if there is none the policy's. ``docs/shields.md`` has the proof.

    Parameters
    ----------
    certificate : Certificate or path
        Proof that ``policy`` keeps ``system`` safe for ever, as :func:`moet.verify.safe` finds it, or the certificate
        of a shield. It is checked, with all numbers of the shield.
    policy : RegressionMixture, fitted regressor, policy or path
    system : AffineSystem
        With controls; the policy sees its states.

    Attributes
    ----------
    certificate : Certificate
        Of the shield itself (kind ``"control_shield"``).
    policy : RegressionMixture
    system : AffineSystem

    Raises
    ------
    CertificateError
        If the exact checker refuses the certificate, or the numbers of the shield.

    Examples
    --------
    >>> from moet.distill.control_law import control_law
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
        if not isinstance(system, AffineSystem) or not system.controls:
            raise InputError("a shield for controls is about an AffineSystem with controls, in discrete time")
        mixture = as_model(policy)
        if not isinstance(mixture, RegressionMixture):
            raise InputError("a shield for controls needs a policy that answers with numbers")
        self.policy, self.system = mixture, system
        proof = certificate if isinstance(certificate, Certificate) else Certificate.load(certificate)
        self.certificate = proof if proof.kind == "control_shield" else _extended(proof, system)
        check(self.certificate, self.policy, system)
        numbers = {name: np.array(value, np.float64) for name, value in self.certificate.claim["shield"].items()}
        self._largest, self._middle = numbers["largest"], numbers["middle"]
        self._rows, self._limits = numbers["rows"], numbers["limits"]
        self._matrix, self._inputs, self._offset = _step(system)
        self._low, self._high = _limits_of_controls(system)

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
        return self._is_allowed(self._seen(state), self._wanted(control))

    def act(self, state: ArrayLike, wanted: ArrayLike) -> Floats:
        """The control to take in a state, given as it is seen: the wanted one, the nearest allowed, or the policy's."""
        seen, control = self._seen(state), self._wanted(wanted)
        if self._is_allowed(seen, control):
            return control
        own = np.clip(self.policy.predict(seen[None])[0], self._low, self._high)
        nearest = self._nearest(seen, control, own)
        return nearest if nearest is not None and self._is_allowed(seen, nearest) else own

    def _nearest(self, seen: Floats, control: Floats, own: Floats) -> Floats | None:
        """On the line through the policy's control and the wanted one, the point nearest to the latter that may do."""
        start, end = self._test(seen, own), self._test(seen, control)
        sides = np.concatenate([self._limits - start, self._limits + start, self._high - own, own - self._low])
        slopes = np.concatenate([end - start, start - end, control - own, own - control])
        with np.errstate(all="ignore"):
            ends = sides * (1 - _SHRUNK) / slopes
        most = np.min(ends[slopes > 0], initial=np.inf)
        least = np.max(ends[slopes < 0], initial=-np.inf)
        if not least <= most:
            return None
        share = min(max(1.0, least), most)
        return np.clip(own + share * (control - own), self._low, self._high)

    def _is_allowed(self, seen: Floats, control: Floats) -> bool:
        # comparisons with NaN are false, and mean no
        return bool(np.all(np.abs(seen) <= self._largest) and np.all(np.abs(self._test(seen, control)) <= self._limits))

    def _test(self, seen: Floats, control: Floats) -> Floats:
        following = self._matrix @ seen + self._inputs @ control + self._offset
        return np.asarray(self._rows @ (following - self._middle))

    def _seen(self, state: ArrayLike) -> Floats:
        seen = np.ascontiguousarray(state, dtype=np.float64)
        if seen.shape != (self.system.n_states,) or not np.all(np.isfinite(seen)):
            raise InputError(
                f"a state of {self.system.name!r} has {self.system.n_states} finite numbers "
                f"({', '.join(self.system.states)}), got {np.asarray(state).tolist()}"
            )
        return seen

    def _wanted(self, control: ArrayLike) -> Floats:
        wanted = np.atleast_1d(np.asarray(control, np.float64))
        if wanted.shape != self._low.shape or np.any(np.isnan(wanted)):
            names = ", ".join(self.system.controls)
            raise InputError(f"the controls are {names}, got {np.asarray(control).tolist()}")
        return np.clip(wanted, self._low, self._high)

    def __repr__(self) -> str:
        return f"ControlShield({self.digest[:12]}, {self.system.name!r})"


def _step(system: AffineSystem) -> tuple[Floats, Floats, Floats]:
    matrix, inputs, offset = (
        np.array(part, np.float64) for part in (system.matrix, system.input_matrix, system.offset)
    )
    return matrix, inputs, offset


def _limits_of_controls(system: System) -> tuple[Floats, Floats]:
    """Limits of the actuators, rounded inwards."""
    low, high = zip(*system.controls.values(), strict=True)
    return np.array([float_above(value) for value in low]), np.array([-float_above(-value) for value in high])


def _extended(proof: Certificate, system: AffineSystem) -> Certificate:
    """The certificate of a proof for ever with the numbers of a shield."""
    spec = proof.claim.get("spec", [])
    if proof.kind != "flowpipe" or any(part["to"] is not None for part in spec):
        raise CertificateError(
            "a shield for controls needs a proof that its policy is safe for ever: "
            "moet verify POLICY --system SYSTEM --certificate FILE finds one"
        )
    d = system.n_states
    records = proof.records(Meter())
    records.code()
    middle = np.array(records.numbers(d))
    frame, rows = (np.array(records.numbers(d * d)).reshape(d, d) for _ in range(2))
    numbers = _numbers(system, middle, frame, rows)
    return proof.claiming("control_shield", {**proof.claim, "shield": numbers})


def _numbers(system: AffineSystem, middle: Floats, frame: Floats, rows: Floats) -> dict[str, Any]:
    """What the shield decides with; the checker confirms it."""
    matrix, inputs, offset = _step(system)
    first = np.array([max(abs(float(low)), abs(float(high))) for low, high in system.initial])
    largest = _WIDER * np.maximum(first, np.abs(middle) + np.abs(frame).sum(axis=1))
    noise = np.array([float_above(e) for e in system.noise])
    unit = 2.0**-22 if system.float32_observations else 2.0**-50
    seen = noise + (2 * (largest + noise) + 1) * unit
    shaken = np.array([float(max(map(abs, side))) for side in system.disturbance])
    controls = np.maximum(*np.abs(_limits_of_controls(system)))
    sizes = np.abs(matrix) @ largest + np.abs(inputs) @ controls + np.abs(offset) + np.abs(middle)
    skew = _skew(rows, frame)
    lost = np.abs(rows @ matrix) @ seen + np.abs(rows) @ (shaken + _ROUNDING * sizes) + skew
    return {
        "largest": largest.tolist(),
        "middle": middle.tolist(),
        "rows": rows.tolist(),
        "limits": ((1 - lost) * (1 - 2.0**-40) - 2.0**-60).tolist(),
    }


def _skew(rows: Floats, frame: Floats) -> float:
    """How far the rows are from the inverse of the frame, found exactly."""
    exact = [[Fraction(a) for a in line] for line in frame.tolist()]
    worst = Fraction(0)
    for i, row in enumerate(rows.tolist()):
        off = Fraction(0)
        for j in range(len(row)):
            product = sum((Fraction(a) * line[j] for a, line in zip(row, exact, strict=True)), Fraction(0))
            off += abs(product - (i == j))
        worst = max(worst, off)
    return float_above(worst) + 2.0**-60
