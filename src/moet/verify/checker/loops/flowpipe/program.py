"""Equations of a controlled system on boxes, as linear forms. Standard library only.

Variables are the states, the parameters and the controls, in this order; signals are numbers between two limits.
"""

from __future__ import annotations

import ast
from copy import copy
from fractions import Fraction
from typing import Any

from moet.errors import CertificateError
from moet.verify.checker.documents.dynamics import ControlledAffine, ControlledEquations, Flow, Schedule, Sides
from moet.verify.checker.documents.reading import exact, shown
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.loops.equations import MOST_DEPTH
from moet.verify.checker.loops.flowpipe.forms import Form, Forms
from moet.verify.checker.loops.intervals import BITS
from moet.verify.checker.meter import Meter

Entry = tuple[Any, tuple[int, ...]]
"""What is computed, and the entries that it is computed from, if any; of a variable its number.

An operation is the name of a method of the arithmetic that it is computed in; a whole number is a power.
"""

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
}
_FUNCTIONS: dict[str, tuple[int, str]] = {
    "sin": (1, "sine"),
    "cos": (1, "cosine"),
    "tan": (1, "tangent"),
    "exp": (1, "exponential"),
    "sqrt": (1, "root"),
    "abs": (1, "magnitude"),
    "min": (2, "least"),
    "max": (2, "most"),
}


def number(value: Fraction) -> Form:
    """A constant, which is off by less than one."""
    scaled = value.numerator << BITS
    return Form(scaled // value.denominator, {}, 0 if scaled % value.denominator == 0 else 1)


def between(low: Fraction, high: Fraction) -> Form:
    """Any number of an interval."""
    middle, half = number((low + high) / 2), number((high - low) / 2)
    return Form(middle.center, {}, half.center + 2)


def entry(sides: Sides, step: int) -> tuple[Fraction, Fraction]:
    """What is scheduled for a step; the last entry holds on."""
    return sides[min(step, len(sides) - 1)]


class Program:
    """Expressions as a list of operations on earlier entries of the list, of which equal ones are shared.

    Parameters
    ----------
    variables : list of str
    signals : mapping from name to (low, high)
    let : list of (name, text)
    wanted : list of str
        The expressions whose values are wanted.
    schedule : mapping from name to intervals
        Numbers that change from step to step; the last interval holds on. They are those of the first step until
        :meth:`at` is asked about another.

    Attributes
    ----------
    entries : list of Entry
    wanted : list of int
        Places of the expressions whose values are wanted.
    """

    def __init__(
        self,
        variables: list[str],
        signals: dict[str, tuple[Fraction, Fraction]],
        let: list[tuple[str, str]],
        wanted: list[str],
        schedule: Schedule | None = None,
    ) -> None:
        self.n_variables = len(variables)
        self.entries: list[Entry] = []
        self._places: dict[Any, int] = {}
        self._fixed: dict[int, Form] = {}
        named = {name: self._entry("variable", (k,)) for k, name in enumerate(variables)}
        for name, (low, high) in signals.items():
            named[name] = self._entry(("signal", name), ())
            self._fixed[named[name]] = between(low, high)
        self._scheduled = {self._entry(("signal", name), ()): sides for name, sides in (schedule or {}).items()}
        named |= dict(zip(schedule or {}, self._scheduled, strict=True))
        for name, text in let:
            named[name] = self._read(text, named)
        self.wanted = [self._read(text, named) for text in wanted]
        self._fixed |= {place: between(*sides[0]) for place, sides in self._scheduled.items()}

    def at(self, step: int) -> Program:
        """The equations of a step."""
        if not self._scheduled:
            return self
        found = copy(self)
        found._fixed = self._fixed | {k: between(*entry(sides, step)) for k, sides in self._scheduled.items()}
        return found

    def forms(self, middles: list[int], radii: list[int], meter: Meter) -> list[Form]:
        """Values on a box; raises Undefined where there are none."""
        values = self.values(middles, radii, meter)
        return [values[place] for place in self.wanted]

    def values(self, middles: list[int], radii: list[int], meter: Meter) -> list[Form]:
        """Values of all entries on a box."""
        meter.spend(len(self.entries) * (4 + 2 * self.n_variables))
        arithmetic = Forms(radii)
        return self.computed(arithmetic, [arithmetic.variable(k, middle) for k, middle in enumerate(middles)])

    def computed(self, arithmetic: Any, variables: list[Any]) -> list[Any]:
        """Values of all entries, in any arithmetic that has the operations by their names."""
        values: list[Any] = []
        for place, (what, arguments) in enumerate(self.entries):
            if what == "variable":
                values.append(variables[arguments[0]])
            elif place in self._fixed:
                values.append(arithmetic.constant(self._fixed[place]))
            elif isinstance(what, int):
                values.append(arithmetic.power(values[arguments[0]], what))
            else:
                values.append(getattr(arithmetic, what)(*[values[i] for i in arguments]))
        return values

    def is_pushed(self, place: int) -> bool:
        """Whether an entry is a signal, which may change at any time, or scheduled and not known exactly."""
        what = self.entries[place][0]
        is_known = all(low == high for low, high in self._scheduled.get(place, [(0, 1)]))
        return isinstance(what, tuple) and what[0] == "signal" and not is_known

    def _entry(self, what: Any, arguments: tuple[int, ...]) -> int:
        key = (what, arguments)
        if key not in self._places:
            self._places[key] = len(self.entries)
            self.entries.append(key)
        return self._places[key]

    def _read(self, text: str, named: dict[str, int]) -> int:
        try:
            tree = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise CertificateError(f"the equation {shown(text)} cannot be read") from None
        return self._taken_apart(tree, text, named, 0)

    def _taken_apart(self, node: ast.expr, text: str, named: dict[str, int], depth: int) -> int:
        """Place of an expression in the list."""
        if depth > MOST_DEPTH:
            raise CertificateError(f"the equation {shown(text)} is nested more than {MOST_DEPTH} deep")

        def applied(what: Any, *parts: ast.expr) -> int:
            return self._entry(what, tuple(self._taken_apart(part, text, named, depth + 1) for part in parts))

        match node:
            case ast.Name(id=name) if name in named:
                return named[name]
            case ast.Constant():
                value = exact(ast.get_source_segment(text, node), "an equation")
                place = self._entry(("constant", value), ())
                self._fixed[place] = number(value)
                return place
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return applied("negative", operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._taken_apart(operand, text, named, depth + 1)
            case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=int(exponent))) if 1 <= exponent <= 16:
                return applied(exponent, base)
            case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _BINARY:
                return applied(_BINARY[type(operation)], left, right)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
                if len(arguments) == _FUNCTIONS[name][0]:
                    return applied(_FUNCTIONS[name][1], *arguments)
        raise CertificateError(f"the equation {shown(text)} is not understood")


class AffineProgram:
    """The same of matrix·(x, u) + offset."""

    def __init__(self, dynamics: ControlledAffine, states: list[str]) -> None:
        rows = zip(dynamics.matrix, dynamics.input_matrix, strict=True)
        self._rows = [[number(value) for value in (*row, *gain)] for row, gain in rows]
        self._offset = [number(value) for value in dynamics.offset]
        self._always = self._offset
        self.n_variables = len(self._rows[0])
        self._scheduled = [dynamics.schedule.get(state, []) for state in states]

    def at(self, step: int) -> AffineProgram:
        """The equations of a step."""
        if not any(self._scheduled):
            return self
        found, offset = copy(self), []
        for always, sides in zip(self._always, self._scheduled, strict=True):
            added = between(*entry(sides, step)) if sides else Form(0, {}, 0)
            offset.append(Form(always.center + added.center, {}, always.radius + added.radius))
        found._offset = offset
        return found

    def forms(self, middles: list[int], radii: list[int], meter: Meter) -> list[Form]:
        """Values on a box."""
        meter.spend(4 * len(self._rows) * self.n_variables)
        found = []
        for row, offset in zip(self._rows, self._offset, strict=True):
            center = sum(a.center * x for a, x in zip(row, middles, strict=True)) >> BITS
            doubt = sum(a.radius * (abs(x) + r) for a, x, r in zip(row, middles, radii, strict=True)) >> BITS
            slopes = {k: a.center for k, a in enumerate(row) if a.center}
            found.append(Form(center + offset.center, slopes, doubt + offset.radius + 2))
        return found


def program_of(system: PlainSystem) -> Program | AffineProgram:
    """The equations of a system with controls."""
    dynamics = system.dynamics
    if isinstance(dynamics, ControlledAffine):
        return AffineProgram(dynamics, system.states)
    if isinstance(dynamics, ControlledEquations):
        return Program([*system.states, *system.controls], {}, dynamics.let, dynamics.step, dynamics.schedule)
    assert isinstance(dynamics, Flow)
    return _flow_program(system, dynamics, dynamics.flow)


def memory_of(system: PlainSystem) -> Program | None:
    """What states that do not flow are at the next look; None if all of them flow."""
    dynamics = system.dynamics
    if not isinstance(dynamics, Flow) or not dynamics.memory:
        return None
    return _flow_program(system, dynamics, list(dynamics.memory.values()))


def memory_names(system: PlainSystem) -> list[str]:
    """States that do not flow."""
    return list(system.dynamics.memory) if isinstance(system.dynamics, Flow) else []


def _flow_program(system: PlainSystem, dynamics: Flow, wanted: list[str]) -> Program:
    variables = [*system.states, *dynamics.parameters, *system.controls]
    return Program(variables, dynamics.signals, dynamics.let, wanted, dynamics.schedule)


def last_scheduled(system: PlainSystem) -> int:
    """The step from which on nothing scheduled changes any more."""
    dynamics = system.dynamics
    if not isinstance(dynamics, ControlledAffine | ControlledEquations | Flow):
        return 0
    return max((len(sides) - 1 for sides in dynamics.schedule.values()), default=0)


def features_of(system: PlainSystem) -> Program | None:
    """What the policy sees, as functions of the state; None if that is the state."""
    return Program(system.states, {}, [], [text for _, text in system.observe]) if system.observe else None


def parameters_of(system: PlainSystem) -> Sides:
    """Limits of the numbers that stay the same for all of a run."""
    return list(system.dynamics.parameters.values()) if isinstance(system.dynamics, Flow) else []
