"""Questions about systems with controls, as specifications."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from moet.errors import InputError
from moet.model.regression.mixture import RegressionMixture
from moet.verify.limits import Deadline, Progress
from moet.verify.result import Verdict
from moet.verify.spec import Requirement, always, never, reached
from moet.verify.systems.sampled import SampledSystem
from moet.verify.systems.system import System


def asked(
    model: Any, system: System, spec: Sequence[Requirement], deadline: Deadline, seed: int
) -> Callable[[Progress | None], Verdict]:
    """The search that decides whether a model meets a specification."""
    from moet.verify.loops.admissible.search import held_for_ever, is_asked
    from moet.verify.loops.flowpipe.labels import acting_model
    from moet.verify.loops.flowpipe.search import FlowpipeSearch

    mixture = acting_model(model, system)
    follow = FlowpipeSearch(mixture, system, spec, deadline, seed).decide
    if not isinstance(mixture, RegressionMixture) or not is_asked(mixture, system, spec):
        return follow
    return lambda progress: held_for_ever(mixture, system, spec, deadline) or follow(progress)


def staying_safe(system: System, steps: int | None) -> list[Requirement]:
    """The system's safe set and its sets to avoid, for some steps or for ever."""
    end = None if steps is None else steps * period(system)
    spec = always(system.safe, end) + never(system.avoid, end)
    if not spec:
        raise InputError(f"the system {system.name!r} has no safe set, and nothing to avoid")
    return spec


def getting_there(system: System, goal: str | Sequence[str] | None, within: int) -> list[Requirement]:
    """A goal within some steps, safe until then."""
    there = reached(system.goal_conditions(goal), within * period(system))
    return [*always(system.safe, None), *never(system.avoid, None), there]


def period(system: System) -> Fraction:
    """Time of one step."""
    return system.period if isinstance(system, SampledSystem) else Fraction(1)
