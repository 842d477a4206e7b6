"""Invariants that are larger than a proof needs: a shield overrides the less, the more states its policy can hold.

The search for an invariant begins with a hull of simulated runs. Here the runs begin further out, for one state after
another towards its limit, as long as the set that grows around them is still proved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.verify.confirm import confirmed
from moet.verify.limits import Deadline, Stopped
from moet.verify.loops.sets.enclosures import limits_of
from moet.verify.loops.sets.invariant import REFINEMENTS, invariant_blocks
from moet.verify.loops.sets.post import Effort
from moet.verify.loops.sets.refinement import Fineness, propagation_of
from moet.verify.loops.sets.template import Band
from moet.verify.loops.simulation import Runs, excess, simulate
from moet.verify.result import Proved, Unknown, Verdict
from moet.verify.systems.description import Side
from moet.verify.systems.system import System

SHARES = (0.75, 0.5, 0.25)
"""How far out runs begin, as shares of the way to the limit of a state; the first that is proved is kept."""

_SIMULATED_STEPS = 600
_UNSETTLED = [setting for setting in REFINEMENTS if not setting.settles]
_WIDE = tuple(setting for setting in _UNSETTLED if not setting.n_pulled)[:2]
_NARROW = (_UNSETTLED[0], *(setting for setting in _UNSETTLED if setting.n_pulled))
"""Coarse settings, for sets that are to be large, and for proofs only: what they do not prove is not worth the time."""


def widened(mixture: Mixture, system: System, deadline: Deadline, *, widen: bool = True, workers: int = 1) -> Verdict:
    """Prove a policy safe for ever with a set that is as large as it was found to be."""
    box = list(system.initial)
    best = _proof(mixture, system, [box], _WIDE if widen else _NARROW, deadline, workers)
    if not widen or not isinstance(best, Proved):
        return best
    boxes = [box]
    for wider in _outwards(system, box):
        for one in wider:
            if deadline.passed:
                return best
            found = _proof(mixture, system, [*boxes, one], _WIDE, deadline, workers)
            if isinstance(found, Proved):
                best, boxes = found, [*boxes, one]
                break
    return best


def closely(mixture: Mixture, system: System, deadline: Deadline, band: Band | None = None) -> Verdict:
    """Prove a policy safe for ever with finer sets than :func:`widened` begins with, or tell at once that they grow.

    If the policy has a band, sets are cut where it switches within the band, and then at the ends of the band.
    """
    settings = _WIDE[1:] if band is None else (*_WIDE[1:], *(setting._replace(at_band=True) for setting in _WIDE[1:]))
    return _proof(mixture, system, [list(system.initial)], settings, deadline, 1, band)


def _outwards(system: System, box: list[Side]) -> Iterator[list[list[Side]]]:
    """For every state with two limits, boxes of first states that reach towards them, widest first."""
    low, high = limits_of(system)
    for k in np.flatnonzero(np.isfinite(low) & np.isfinite(high) & _limited(system)).tolist():
        middle = (box[k][0] + box[k][1]) / 2
        half = min(Fraction(float(high[k])) - middle, middle - Fraction(float(low[k])))
        sides = [(middle - half * Fraction(share), middle + half * Fraction(share)) for share in SHARES]
        yield [[*box[:k], side, *box[k + 1 :]] for side in sides if side[1] > box[k][1]]


def _limited(system: System) -> NDArray[np.bool_]:
    """States that a condition of the safe set is about alone."""
    alone = np.zeros(system.n_states, dtype=bool)
    for half in system.safe:
        used = [k for k, a in enumerate(half.coefficients) if a]
        if len(used) == 1:
            alone[used[0]] = True
    return alone


def _proof(
    mixture: Mixture,
    system: System,
    boxes: Sequence[Sequence[Side]],
    settings: Sequence[Fineness],
    deadline: Deadline,
    workers: int,
    band: Band | None = None,
) -> Verdict:
    """An invariant around runs that begin in these boxes, by the first setting that has one."""
    runs = _runs(mixture, system, boxes, deadline)
    if runs is None:
        return Unknown(reason="simulated runs leave the safe set")
    reason = "time is up"
    for setting in settings:
        effort = Effort()
        try:
            found = _attempt(mixture, system, runs, setting, deadline, effort, workers, band)
        except Stopped as stop:
            reason = str(stop)
            continue
        verdict = confirmed(found, mixture, system, deadline=deadline)
        if isinstance(verdict, Proved) or deadline.passed:
            return verdict
        reason = verdict.reason
    return Unknown(reason=reason, effort=effort.report(deadline))


def _attempt(
    mixture: Mixture,
    system: System,
    runs: Runs,
    setting: Fineness,
    deadline: Deadline,
    effort: Effort,
    workers: int,
    band: Band | None,
) -> Proved:
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        try:
            propagation = propagation_of(mixture, system, None, runs, setting, deadline, effort, workers, band)
            blocks = invariant_blocks(propagation, runs, setting, lambda share, note: None)
            certificate = propagation.certificate(blocks, None)
        except (FloatingPointError, OverflowError, np.linalg.LinAlgError) as error:
            raise Stopped(f"numbers grow beyond the range of float64: {error}") from None
    return Proved(certificate=certificate, effort=effort.report(deadline))


def _runs(mixture: Mixture, system: System, boxes: Sequence[Sequence[Side]], deadline: Deadline) -> Runs | None:
    """Simulated runs from all boxes; None if one of them leaves the safe set."""
    parts = [simulate(mixture, system, _SIMULATED_STEPS, initial=box, deadline=deadline) for box in boxes]
    if any(len(part.states) <= _SIMULATED_STEPS or excess(system.safe, part.states).max() > 0 for part in parts):
        return None
    return Runs(
        np.concatenate([part.states for part in parts], axis=1),
        np.concatenate([part.actions for part in parts], axis=1),
    )
