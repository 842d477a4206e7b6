"""What a proof about a controlled system says, in words. Standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from moet.verify.checker.documents.dynamics import ControlledAffine, ControlledEquations, Flow, Sides
from moet.verify.checker.documents.laws import PlainLaws
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.loops.flowpipe.claims import Condition, Requirement, flowpipe
from moet.verify.checker.numbers import between, exactly, name_of

MOST_TOLD = 12
"""Entries of a schedule that are told one by one."""


def flowpipe_words(claim: Any, model: PlainLaws, system: PlainSystem) -> list[str]:
    """The claim of a proof that follows sets through time."""
    read = flowpipe(claim, model, system)
    without_end = "until then" if read.reaches else "for ever"
    parts = [_requirement(part, system, without_end) for part in read.spec]
    return [f"Every run that begins with {_first(system)}:", *parts, *_surroundings(system, model.labels)]


def _first(system: PlainSystem) -> str:
    """Where runs begin."""
    boxes = [_sides(system.states, box) for box in system.first.boxes]
    where = [
        condition_in_words(Condition(half.coefficients, [], half.bound), system.states) for half in system.first.where
    ]
    return "; or with ".join(boxes) + (", where " + " and ".join(where) if where else "")


def _requirement(part: Requirement, system: PlainSystem, without_end: str) -> str:
    conditions = " and ".join(condition_in_words(one, system.states) for one in part.conditions)
    if part.kind == "reach":
        return f"  is, at a time {_times(part, system, '')} at which the model looks, where {conditions};"
    when = _times(part, system, without_end)
    verb = "has" if part.kind == "hold" else "never enters the set where"
    return f"  {when} {verb} {conditions};"


def _times(part: Requirement, system: PlainSystem, without_end: str) -> str:
    unit = "" if isinstance(system.dynamics, Flow) else "step "
    if part.end is None:
        return without_end if not part.start else f"from {unit}{exactly(part.start)} on, {without_end},"
    if part.start == part.end:
        return f"at {unit or 'time '}{exactly(part.start)}"
    return f"from {unit or 'time '}{exactly(part.start)} to {exactly(part.end)}"


def condition_in_words(condition: Condition, names: Sequence[str]) -> str:
    """A condition as text that could be read again."""
    terms = _terms(condition.coefficients, names)
    for norm in condition.norms:
        squares = " + ".join(f"({_joined(_terms(row, names))})**2" for row in norm.rows)
        terms.append((norm.factor, f"sqrt({squares})"))
    return f"{_joined(terms)} <= {exactly(condition.bound)}"


def _terms(coefficients: Sequence[Fraction], names: Sequence[str]) -> list[tuple[Fraction, str]]:
    return [(a, name_of(name)) for a, name in zip(coefficients, names, strict=True) if a]


def _joined(terms: list[tuple[Fraction, str]]) -> str:
    written = ""
    for factor, what in terms:
        sign = ("-" if factor < 0 else "") if not written else (" - " if factor < 0 else " + ")
        written += sign + (what if abs(factor) == 1 else f"{exactly(abs(factor))} * {what}")
    return written or "0"


def _sides(names: Sequence[str], sides: Sides) -> str:
    return ", ".join(f"{name_of(name)} {between(*side)}" for name, side in zip(names, sides, strict=True))


def _acting(system: PlainSystem, labels: bool) -> list[str]:
    """How the model acts."""
    names = list(system.controls)
    if not labels:
        limits = _sides(names, list(system.controls.values()))
        return [f"The model, computed in float64, chooses the controls, which are clipped: {limits}."]
    effects = [f"  {name_of(action)}: {_sides(names, sides)}" for action, sides in system.effects.items()]
    anew = ", any number between them, another one in every step" if _vary(system) else ""
    return [f"The model, computed in float64, chooses an action, which sets controls{anew}:", *effects]


def _vary(system: PlainSystem) -> bool:
    return any(low < high for sides in system.effects.values() for low, high in sides)


def _surroundings(system: PlainSystem, labels: bool) -> list[str]:
    """What such a proof takes into account."""
    lines = []
    inside = [(name, side) for name, side in zip(system.states, system.domain, strict=True) if side is not None]
    if inside:
        names, sides = zip(*inside, strict=True)
        lines.append(f"Until then it stays where the description of the system holds: {_sides(names, list(sides))}.")
    lines += _acting(system, labels)
    noise = [f"{exactly(e)} in {name_of(n)}" for n, e in zip(system.features, system.noise, strict=True) if e]
    what = ", ".join(f"{name_of(name)} = {_text(said)}" for name, said in system.observe) or "the state"
    added = f", with noise of at most {', '.join(noise)}" if noise else ""
    rounding = "rounded to float64 and then to float32" if system.float32 else "rounded to float64"
    lines.append(f"It sees {what}{added}, {rounding}.")
    return [*lines, *_dynamics(system)]


def _dynamics(system: PlainSystem) -> list[str]:
    dynamics = system.dynamics
    lines = []
    disturbed = [(name, side) for name, side in zip(system.states, system.disturbance, strict=True) if any(side)]
    if disturbed:
        names, sides = zip(*disturbed, strict=True)
        lines.append(f"In every step anything in these intervals is added: {_sides(names, list(sides))}.")
    if isinstance(dynamics, ControlledAffine | ControlledEquations | Flow) and dynamics.schedule:
        more = " added to the next state" if isinstance(dynamics, ControlledAffine) else ""
        lines.append(f"Numbers{more} that change from step to step, the last of which holds on:")
        lines += [f"  {name_of(name)}: {_scheduled(sides)}" for name, sides in dynamics.schedule.items()]
    if isinstance(dynamics, ControlledAffine):
        rows = zip(system.states, dynamics.matrix, dynamics.input_matrix, dynamics.offset, strict=True)
        columns = [*system.states, *system.controls]
        steps = [(name, [*row, *gain], offset) for name, row, gain, offset in rows]
        texts = [f"  next {name_of(n)} = {_joined(_terms(row, columns))} + {exactly(c)}" for n, row, c in steps]
        return [*lines, "A step of the system:", *texts]
    if isinstance(dynamics, ControlledEquations):
        texts = [
            f"  next {name_of(name)} = {_text(said)}" for name, said in zip(system.states, dynamics.step, strict=True)
        ]
        return [*lines, "A step of the system:", *_let(dynamics.let), *texts]
    assert isinstance(dynamics, Flow)
    if dynamics.parameters:
        fixed = _sides(list(dynamics.parameters), list(dynamics.parameters.values()))
        lines.append(f"Numbers that are the same for all of a run: {fixed}.")
    if dynamics.signals:
        varying = _sides(list(dynamics.signals), list(dynamics.signals.values()))
        lines.append(f"Numbers that may change at any time: {varying}.")
    lines.append(f"Controls are held for {exactly(dynamics.period)} units of time; in between, at all times:")
    flow = zip(system.states, dynamics.flow, strict=True)
    texts = [f"  derivative of {name_of(name)} = {_text(said)}" for name, said in flow if name not in dynamics.memory]
    held = [f"  next {name_of(name)} = {_text(said)}" for name, said in dynamics.memory.items()]
    again = ["At the next look, in terms of what holds at this one:", *held] if held else []
    return [*lines, *_let(dynamics.let), *texts, *again]


def _scheduled(sides: Sides) -> str:
    """What is scheduled, step by step; of long schedules how long they are, and their limits."""
    if len(sides) <= MOST_TOLD:
        return ", ".join(exactly(low) if low == high else between(low, high) for low, high in sides)
    least, most = min(low for low, _ in sides), max(high for _, high in sides)
    return f"{len(sides)} entries {between(least, most)}, which the system's file has"


def _let(let: list[tuple[str, str]]) -> list[str]:
    return [f"  {name_of(name)} = {_text(said)}" for name, said in let]


def _text(said: str) -> str:
    return ascii(said)[1:-1]
