"""Questions about closed loops of a policy and an affine system."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from moet.errors import InputError
from moet.model.mixture import Mixture
from moet.model.text import printable
from moet.verify.polytopes import hard_mixture
from moet.verify.smtlib.terms import all_of, answers_one_of, any_of, nested_ifs, number, question, weighted_sum, within
from moet.verify.systems.conditions import HalfSpace
from moet.verify.systems.discrete import AffineSystem

Encoding = Literal["compact", "published"]
"""``"published"``: the nested ifs of the paper, one per expert and per test, whose values are the actions."""


def safe(model: Any, system: AffineSystem, steps: int, encoding: Encoding = "compact") -> str:
    """Text of "a run of policy and system is unsafe after at most ``steps`` steps, and until then in its domain".

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> from moet.verify import smtlib, systems
    >>> tank = systems.AffineSystem(
    ...     "tank", states=["level"], actions=["drain", "fill"], matrix=[["0.9"]], offsets=[["0"], ["0.5"]],
    ...     initial={"level": (1, 2)}, safe=["0.5 <= level <= 4"],
    ... )
    >>> leaves = [Tree.leaf([0, 1]), Tree.leaf([1, 0])]
    >>> valve = Mixture([[-1], [0]], [2, 0], leaves, ["drain", "fill"], feature_names=["level"])
    >>> "(check-sat)" in smtlib.safe(valve, tank, steps=2)
    True
    """
    lines, conditions, states = _runs(model, system, steps, encoding)
    wrong: list[str] = []
    inside: list[str] = []
    for names in states:
        inside += _in_domain(system, names)
        missed = [_missed(space, names) for space in system.safe]
        wrong += [all_of([*inside, any_of(missed)])] if inside else missed
    return question(f"a run of {system.name} that is unsafe within {steps} steps", lines, [*conditions, any_of(wrong)])


def reaches(model: Any, system: AffineSystem, within: int, goal: str | Sequence[str] | None = None) -> str:
    """Text of "a run of policy and system, always in its domain, does not meet the goal within so many steps".

    The goal is that of the system unless the question has one, such as ``"position >= 0.5"``.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> from moet.verify import smtlib, systems
    >>> tank = systems.AffineSystem(
    ...     "tank", states=["level"], actions=["drain", "fill"], matrix=[["0.9"]], offsets=[["0"], ["0.5"]],
    ...     initial={"level": (1, 2)}, safe=["0.5 <= level <= 4"], goal=["level >= 2"],
    ... )
    >>> leaves = [Tree.leaf([0, 1]), Tree.leaf([1, 0])]
    >>> valve = Mixture([[-1], [0]], [2, 0], leaves, ["drain", "fill"], feature_names=["level"])
    >>> "(check-sat)" in smtlib.reaches(valve, tank, 2)
    True
    """
    lines, conditions, states = _runs(model, system, within, "compact")
    spaces = system.goal_conditions(goal)
    missed = [any_of([_missed(space, names) for space in spaces]) for names in states]
    inside = [side for names in states for side in _in_domain(system, names)]
    title = f"a run of {system.name} that misses its goal for {within} steps"
    return question(title, lines, [*conditions, *inside, *missed])


def _in_domain(system: AffineSystem, names: Sequence[str]) -> list[str]:
    """Where the description of the system holds; a run that leaves it is no counterexample."""
    bounded = [(name, side) for name, side in zip(names, system.domain, strict=True) if side is not None]
    return within([name for name, _ in bounded], [low for _, (low, _) in bounded], [high for _, (_, high) in bounded])


def _missed(space: HalfSpace, names: Sequence[str]) -> str:
    return f"(> {weighted_sum(space.coefficients, names)} {number(space.bound)})"


class _Step(NamedTuple):
    """Names of what takes part in one step; a disturbance may also be a number."""

    now: list[str]
    seen: list[str]
    action: str
    disturbance: list[str]
    after: list[str]


def _runs(
    model: Any, system: AffineSystem, steps: int, encoding: Encoding
) -> tuple[list[str], list[str], list[list[str]]]:
    """Declarations, conditions and names of the states of all runs; the first state is x0, x1, ..."""
    mixture = hard_mixture(model)
    if not isinstance(system, AffineSystem):
        raise InputError(
            f"questions in QF_LRA are linear, and the steps of {system.name!r} are not: this is for affine systems"
        )
    if encoding not in get_args(Encoding):
        raise InputError(f"encoding must be one of {', '.join(get_args(Encoding))}, got {encoding!r}")
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 0:
        raise InputError(
            f"the number of steps must be an integer, at least 0, got {steps!r} (for ever takes quantifiers)"
        )
    actions = system.actions_of(mixture)
    states = [[f"x{k}" if t == 0 else f"x{k}_{t}" for k in range(system.n_states)] for t in range(steps + 1)]
    lines = [
        f"(declare-const {name} Real) ; {printable(meaning)} after {t} steps"
        for t, names in enumerate(states)
        for name, meaning in zip(names, system.states, strict=True)
    ]
    conditions = within(states[0], [low for low, _ in system.initial], [high for _, high in system.initial])
    dynamics = _published_step if encoding == "published" else _compact_step
    for t in range(steps):
        if encoding == "published":
            lines.append(f"(declare-const action{t} Real) ; number of the action after {t} steps")
        step = _Step(
            now=states[t],
            seen=_observed(system, t, states[t], lines, conditions),
            action=f"action{t}",
            disturbance=_disturbed(system, t, lines, conditions),
            after=states[t + 1],
        )
        conditions += dynamics(mixture, system, actions, step)
    return lines, conditions, states


def _observed(system: AffineSystem, t: int, names: list[str], lines: list[str], conditions: list[str]) -> list[str]:
    """Names of what the policy sees: the states, unless it sees them with an error."""
    if not any(system.observation_error):
        return names
    seen = [f"seen{k}_{t}" for k in range(len(names))]
    lines += [f"(declare-const {name} Real) ; {of} as the policy sees it" for name, of in zip(seen, names, strict=True)]
    for name, of, error in zip(seen, names, system.observation_error, strict=True):
        conditions += [f"(<= (- {name} {of}) {number(error)})", f"(<= (- {of} {name}) {number(error)})"]
    return seen


def _disturbed(system: AffineSystem, t: int, lines: list[str], conditions: list[str]) -> list[str]:
    """Terms that are added to the next state."""
    terms = []
    for k, (low, high) in enumerate(system.disturbance):
        if low == high:
            terms.append(number(low))
            continue
        name = f"d{k}_{t}"
        lines.append(f"(declare-const {name} Real) ; disturbance of {printable(system.states[k])} in step {t + 1}")
        conditions += [f"(>= {name} {number(low)})", f"(<= {name} {number(high)})"]
        terms.append(name)
    return terms


def _compact_step(mixture: Mixture, system: AffineSystem, actions: tuple[int, ...], step: _Step) -> list[str]:
    """One implication per action: where the policy takes it, the next state is this."""
    implications = []
    for action in sorted(set(actions)):
        taken = answers_one_of(mixture, np.array(actions) == action, step.seen)
        moved = [
            f"(= {name} (+ {weighted_sum(row, step.now)} {number(offset)} {term}))"
            for name, row, offset, term in zip(
                step.after, system.matrix, system.offsets[action], step.disturbance, strict=True
            )
        ]
        implications.append(f"(=> {taken} {all_of(moved)})")
    return implications


def _published_step(mixture: Mixture, system: AffineSystem, actions: tuple[int, ...], step: _Step) -> list[str]:
    """The action as the value of nested ifs, and one equation per state with what the action adds."""
    equations = [f"(= {step.action} {nested_ifs(mixture, [number(Fraction(a)) for a in actions], step.seen)})"]
    for k, name in enumerate(step.after):
        added = number(system.offsets[-1][k])
        for a in reversed(range(len(system.actions) - 1)):
            added = f"(ite (= {step.action} {number(Fraction(a))}) {number(system.offsets[a][k])} {added})"
        equations.append(f"(= {name} (+ {weighted_sum(system.matrix[k], step.now)} {added} {step.disturbance[k]}))")
    return equations
