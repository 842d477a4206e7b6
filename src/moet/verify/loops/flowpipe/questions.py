"""Questions about systems with controls, as specifications."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from moet.errors import InputError
from moet.model.regression.mixture import RegressionMixture
from moet.verify.limits import Deadline, Progress
from moet.verify.result import Unknown, Verdict
from moet.verify.spec import Requirement, always, never, reached
from moet.verify.systems.description import Side, scheduled
from moet.verify.systems.discrete import AffineSystem
from moet.verify.systems.equations import PLAIN_FLOATS
from moet.verify.systems.sampled import SampledSystem
from moet.verify.systems.system import System

_FEW_STATES = 8
"""States up to which an admissible set is looked for before sets are followed: its sides grow with them."""


def asked(
    model: Any, system: System, spec: Sequence[Requirement], deadline: Deadline, seed: int
) -> Callable[[Progress | None], Verdict]:
    """The search that decides whether a model meets a specification."""
    from moet.verify.loops.admissible.search import held_for_ever, is_asked
    from moet.verify.loops.flowpipe.labels import acting_model
    from moet.verify.loops.flowpipe.search import FlowpipeSearch

    mixture = acting_model(model, system)
    _check_first_states(system)
    follow = FlowpipeSearch(mixture, system, spec, deadline, seed).decide
    if not isinstance(mixture, RegressionMixture) or not is_asked(mixture, system, spec):
        return follow

    def admissible() -> Verdict:
        return held_for_ever(mixture, system, spec, deadline)

    if system.n_states <= _FEW_STATES:
        return lambda progress: admissible() or follow(progress)
    return lambda progress: _unless_unknown(follow(progress), admissible)


def _unless_unknown(found: Verdict, instead: Callable[[], Verdict]) -> Verdict:
    return (instead() or found) if isinstance(found, Unknown) else found


def _check_first_states(system: System) -> None:
    """Complain about first states that the description does not hold of."""
    for k, (name, side) in enumerate(zip(system.states, system.domain, strict=True)):
        unit = [Fraction(int(i == k)) for i in range(system.n_states)]
        low, high = -system.first.most([-a for a in unit]), system.first.most(unit)
        if side is not None and not side[0] <= low <= high <= side[1]:
            raise InputError(
                f"{name!r} is from {low} to {high} at first, and the domain, where the equations hold, is from "
                f"{side[0]} to {side[1]}: widen the domain, or narrow initial"
            )
    for box in system.first.boxes if not isinstance(system, AffineSystem) else ():
        for name, value in zip(system.states, _in_the_middle(system, box), strict=True):
            if not np.isfinite(value):
                raise InputError(
                    f"the equation of {name!r} has no value in the middle of the first states: it divides by zero "
                    "there, or takes the root of a negative number"
                )


def _in_the_middle(system: Any, box: Sequence[Side]) -> list[Any]:
    """Values of the equations where all numbers are in the middle of their limits."""
    sides = dict(zip(system.states, box, strict=True)) | system.controls
    if isinstance(system, SampledSystem):
        sides |= system.parameters | system.signals
    middles = {name: np.float64((low + high) / 2) for name, (low, high) in sides.items()}
    with np.errstate(all="ignore"):
        return list(system.equations(middles | scheduled(system.schedule, 0), PLAIN_FLOATS))


def staying_safe(system: System, steps: int | None) -> list[Requirement]:
    """The system's safe set and its sets to avoid, for some steps or for ever."""
    end = None if steps is None else steps * period(system)
    spec = always(system.safe, end) + never(system.avoid, end)
    if not spec:
        raise InputError(
            f"the system {system.name!r} has no safe set, and nothing to avoid; give one, such as "
            f"safe=['-1 <= {system.states[0]} <= 1'], or ask meets"
        )
    return spec


def getting_there(system: System, goal: str | Sequence[str] | None, within: int) -> list[Requirement]:
    """A goal within some steps, safe until then."""
    there = reached(system.goal_conditions(goal), within * period(system))
    return [*always(system.safe, None), *never(system.avoid, None), there]


def period(system: System) -> Fraction:
    """Time of one step."""
    return system.period if isinstance(system, SampledSystem) else Fraction(1)
