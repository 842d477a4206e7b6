"""What shields of systems with actions share: they look ahead along a proved policy, step by step, with errors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError
from moet.model.file import as_mixture, digest
from moet.model.flat import FlatMixture
from moet.model.mixture import Mixture
from moet.shield.kernel import Tables, decide, decide_rows, explained, packed, policy_action, steps_to_set
from moet.shield.program import polynomials, step_program
from moet.shield.reading import numbers, whole
from moet.verify.checker.certificate import Certificate
from moet.verify.checker.words import claim_in_words
from moet.verify.checking import check
from moet.verify.systems.conditions import HalfSpace
from moet.verify.systems.system import System

Floats = NDArray[np.float64]


class LookAhead:
    """Follows a proved policy into a set; see :class:`~moet.shield.Shield` and :class:`~moet.shield.GoalShield`.

    Parameters
    ----------
    certificate : Certificate
        Of the shield; it is checked.
    policy : Mixture
    system : System
    rows : array, shape (n_rows, n_states)
        Rows of the polytopes of the set.
    safe_rows : array, shape (n_conditions, n_states)
        Conditions of several states that hold on the way.
    """

    def __init__(
        self, certificate: Certificate, policy: Mixture, system: System, rows: ArrayLike, safe_rows: ArrayLike
    ) -> None:
        self.certificate, self.policy, self.system = certificate, policy, system
        check(certificate, policy, system)
        self.tables = _tables(certificate.claim["shield"], policy, system, rows, safe_rows)
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

    def steps_ahead(self, state: ArrayLike, action: Any) -> int:
        """Steps after which the state is surely in the set, this action first; 0 if that is not sure."""
        return int(steps_to_set(self._seen(state), self._action(action), self.steps, *self._packed))

    def _act(self, state: ArrayLike, wanted: Any, left: int) -> Any:
        """The wanted action if the set is surely reached in the steps that are left, else the policy's."""
        number = self._action(wanted)
        taken = int(decide(self._seen(state), number, left, *self._packed))
        if taken == number:
            return wanted
        if taken < 0:
            raise InputError(f"a state must be finite, got {np.asarray(state).tolist()}")
        return self.system.actions[taken] if isinstance(wanted, str) else taken

    def _act_many(self, states: ArrayLike, wanted: ArrayLike, left: ArrayLike) -> NDArray[np.int64]:
        rows, asked = numbers(states, "states"), numbers(wanted, "actions")
        if rows.ndim != 2 or rows.shape[1] != self.system.n_states or asked.shape != rows.shape[:1]:
            raise InputError(f"expected states and as many actions, got shapes {rows.shape} and {asked.shape}")
        if not np.all((asked >= 0) & (asked < len(self._number)) & (asked == np.floor(asked))):
            raise InputError(f"action numbers are whole, from 0 to {len(self._number) - 1}")
        taken = np.empty(len(asked), np.int64)
        limits = np.ascontiguousarray(np.broadcast_to(np.asarray(left, np.int64), asked.shape))
        decide_rows(rows, asked.astype(np.int64), limits, taken, *self._packed)
        if np.any(taken < 0):
            raise InputError("states must be finite")
        return taken

    def _policy_arrives(self, state: ArrayLike, most: int) -> bool:
        """Whether the policy surely gets into the set from a state, in so many steps."""
        seen = self._seen(state)
        if not np.all(np.isfinite(seen)):
            return False
        own = int(policy_action(seen, *self._packed))
        return int(steps_to_set(seen, own, most, *self._packed)) > 0

    def _may_be_first(self, seen: Floats) -> bool:
        """Whether what is seen may be one of the system's first states."""
        reach = self.tables.errors[0] * self.tables.shape
        low, high = np.array([[float(a), float(b)] for a, b in self.system.initial]).T
        return bool(np.all((low - reach <= seen) & (seen <= high + reach)))

    def explains(self, before: ArrayLike, action: Any, after: ArrayLike) -> bool:
        """Whether the system, as it was proved, can lead from one state to another, both given as they are seen.

        If not, what the shield acts on is another system, its sensors are worse than described, or something else than
        this action was done; then nothing is guaranteed any more.
        """
        seen = self._seen(before), self._action(action), self._seen(after)
        return bool(explained(*seen, *self._packed))

    def _seen(self, state: ArrayLike) -> Floats:
        seen = numbers(state, "states")
        if seen.shape != (self.system.n_states,):
            raise InputError(
                f"a state of {self.system.name!r} has {self.system.n_states} numbers "
                f"({', '.join(self.system.states)}), got shape {seen.shape}"
            )
        return seen

    def _action(self, action: Any) -> int:
        number = self._number.get(action) if isinstance(action, str) else whole(action)
        if number is None or not 0 <= number < len(self._number):
            known = ", ".join(f"{k} or {name!r}" for name, k in self._number.items())
            raise InputError(f"{action!r} is no action of the system {self.system.name!r}: {known}")
        return number

    def __repr__(self) -> str:
        return f"{type(self).__name__}({digest(self.policy)[:12]}, {self.system.name!r}, steps={self.steps})"


def subjects(certificate: Any, policy: Any, system: System) -> tuple[Certificate, Mixture]:
    """A certificate and a policy for a shield, read and found to fit."""
    if not isinstance(system, System):
        raise InputError(f"expected a system, such as systems.cartpole(), got {type(system).__name__}")
    mixture = as_mixture(policy)
    system.actions_of(mixture)
    return certificate if isinstance(certificate, Certificate) else Certificate.load(certificate), mixture


def check_ahead(steps: Any) -> int:
    """Steps to look ahead, which are at least one."""
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise InputError(f"a shield looks at least 1 step ahead, got steps={steps!r}")
    return steps


def _tables(claimed: dict[str, Any], mixture: Mixture, system: System, rows: ArrayLike, safe_rows: ArrayLike) -> Tables:
    """Numbers of the certificate, the policy and the system, as the kernel wants them."""
    claims: dict[str, Any] = {name: np.array(claimed[name], np.float64) for name in _NUMBERS}
    flat = FlatMixture.of(mixture.gate_weights, mixture.gate_bias, mixture.trees)
    sines, cosines = polynomials(claimed["terms"])
    rows = np.ascontiguousarray(rows, np.float64)
    limits = np.array(_cells(claimed["limits"]) or [[-np.finfo(float).max] * len(rows)])
    order = _order(rows, limits, claims["bottom"], claims["top"])
    return Tables(
        **step_program(system)._asdict(),
        **flat.routing._asdict(),
        **{**claims, "spreads": claims["spreads"][order]},
        sines=sines,
        cosines=cosines,
        rows=rows[order],
        limits=np.ascontiguousarray(limits[:, order]),
        most=limits.max(axis=0)[order],
        safe_rows=np.array(safe_rows, np.float64).reshape(-1, system.n_states),
        actions=np.array(system.actions_of(mixture), np.int64)[flat.leaf_class],
    )


def _cells(limits: Sequence[Sequence[float] | None]) -> list[Sequence[float]]:
    """Polytopes that are not empty. If all are, the kernel is given one that no state is in: C has no empty arrays."""
    return [cell for cell in limits if cell is not None]


def _order(rows: Floats, limits: Floats, low: Floats, high: Floats) -> NDArray[np.int64]:
    """Rows in the order in which states of a box are found out soonest to be beyond polytopes.

    What is decided does not depend on it: a state is in a polytope if it is below all limits.
    """
    n_states = max(1, min(_STATES, _COMPARISONS // limits.size))
    share = np.random.default_rng(0).random((n_states, len(low)))
    states = (1.0 - share) * low + share * high  # whose difference may be beyond float64
    beyond = ((states @ rows.T)[:, None] > limits).reshape(-1, len(rows))
    order: list[int] = []
    while len(order) < len(rows):
        found_out = beyond.sum(axis=0)
        found_out[order] = -1
        order.append(int(found_out.argmax()))
        beyond = beyond[~beyond[:, order[-1]]]
    return np.array(order)


_STATES, _COMPARISONS = 4096, 10**7
"""States that rows are put in order for, and how often they are compared with limits at most."""

_NUMBERS = (
    *("bottom", "top", "shape", "errors", "spreads"),
    *("safe_spreads", "safe_limits", "gate_spreads", "gate_errors"),
)
"""What the kernel takes from a certificate as it is."""


def in_floats(halves: Sequence[HalfSpace]) -> list[list[float]]:
    """Coefficients of conditions, as a shield computes with them."""
    return [[float(a) for a in half.coefficients] for half in halves]
