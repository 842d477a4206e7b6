"""One run of a controlled system, enclosed: whether it surely misses a requirement. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.certificate import Certificate
from moet.verify.checker.documents.dynamics import ControlledAffine, ControlledEquations, Flow
from moet.verify.checker.documents.laws import PlainLaws
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.loops.flowpipe.claims import FlowpipeClaim, Requirement
from moet.verify.checker.loops.flowpipe.conditions import Where, holds, is_violated
from moet.verify.checker.loops.flowpipe.program import parameters_of
from moet.verify.checker.loops.flowpipe.sets import Zonotope, diagonal, whole
from moet.verify.checker.loops.flowpipe.walk import Walk
from moet.verify.checker.loops.intervals import ONE
from moet.verify.checker.meter import Meter

Side = tuple[Fraction, Fraction]


class Miss(NamedTuple):
    """A run that misses a requirement: its samples up to then, in the middle of what encloses them."""

    samples: list[list[float]]


class _Run(Walk):
    """Remembers where a run is at the end of every substep."""

    def __init__(self, model: PlainLaws, system: PlainSystem, meter: Meter) -> None:
        super().__init__(FlowpipeClaim([]), model, system, Certificate("flowpipe", {}).records(meter))
        self.tubes.append([])
        self.places: list[tuple[Fraction, Where]] = []

    def between(self, where: Where, at_end: Where, start: Fraction, end: Fraction, spec: list[Requirement]) -> None:
        """Remember where the run is; it must not leave the domain on the way."""
        super().between(where, at_end, start, end, spec)
        if end % self._period:  # at a sample memory jumps: that is looked at when it has
            self.places.append((end, at_end))


def missing(
    model: PlainLaws,
    system: PlainSystem,
    spec: list[Requirement],
    start: list[Fraction],
    steps: int,
    substeps: int,
    meter: Meter,
) -> Miss | None:
    """Whether the run from a first state misses a requirement within some steps; None if that is not sure.

    The system and the effects of the model's actions are :func:`without_unknowns`, so there is one run.
    """
    values = [*start, *(low for low, _ in parameters_of(system))]
    points = Zonotope([whole(x) for x in values], diagonal([1] * len(values), len(values)))
    run = _Run(model, system, meter)
    period = system.dynamics.period if isinstance(system.dynamics, Flow) else Fraction(1)
    samples = [_middle(points, len(start))]
    looks = [(Fraction(0), Where([(points, [0] * len(start))], [0] * len(start), meter))]
    run.places += looks
    try:
        for step in range(steps):
            points = run.advanced(points, step * period, substeps, None, {}, [])
            looks.append(((step + 1) * period, Where([(points, [0] * len(start))], [0] * len(start), meter)))
            run.places.append(looks[-1])
            samples.append(_middle(points, len(start)))
    except CertificateError:
        pass  # from here on it is not known where the run is; what is known may do
    n = len(points.middle)
    return Miss(samples) if any(_is_missed(part, run.places, looks, n) for part in spec) else None


def _is_missed(
    part: Requirement,
    places: list[tuple[Fraction, Where]],
    looks: list[tuple[Fraction, Where]],
    n: int,
) -> bool:
    if part.kind == "reach":
        assert part.end is not None
        here = [where for time, where in looks if part.start <= time <= part.end]
        if part.end > max(time for time, _ in looks):
            return False
        return all(any(is_violated(where, c, n) for c in part.conditions) for where in here)
    here = [where for time, where in places if part.start <= time and (part.end is None or time <= part.end)]
    if part.kind == "avoid":
        return any(holds(where, part.conditions, n) is None for where in here)
    return any(is_violated(where, condition, n) for where in here for condition in part.conditions)


def without_unknowns(system: PlainSystem, share: Fraction, shares: Mapping[str, Fraction] | None = None) -> PlainSystem:
    """The system with every unknown number fixed between its limits, which is one way it may be.

    ``shares`` says where those with these names are, ``share`` where the others are, those of actions among them.
    """

    def fixed(side: Side, at: Fraction = share) -> Side:
        return (side[0] + at * (side[1] - side[0]),) * 2

    def named(sides: Mapping[str, Side]) -> dict[str, Side]:
        return {name: fixed(side, (shares or {}).get(name, share)) for name, side in sides.items()}

    dynamics = system.dynamics
    if isinstance(dynamics, ControlledAffine | ControlledEquations | Flow):
        at = {name: (shares or {}).get(name, share) for name in dynamics.schedule}
        planned = {name: [fixed(side, at[name]) for side in sides] for name, sides in dynamics.schedule.items()}
        dynamics = dynamics._replace(schedule=planned)
    if isinstance(dynamics, Flow):
        dynamics = dynamics._replace(parameters=named(dynamics.parameters), signals=named(dynamics.signals))
    added = named(dict(zip(system.states, system.disturbance, strict=True)))
    return system._replace(
        dynamics=dynamics,
        noise=[Fraction(0)] * len(system.noise),
        disturbance=list(added.values()),
        effects={name: [fixed(side) for side in sides] for name, sides in system.effects.items()},
    )


def _middle(points: Zonotope, d: int) -> list[float]:
    return [value / ONE for value in points.middle[:d]]
