"""Questions as SMT-LIB text, for an opinion that shares nothing with this package; and a way to ask z3 for it.

Every text is in QF_LRA (linear arithmetic on reals, no quantifiers) and asserts that a counterexample exists: *unsat*
is a proof, *sat* comes with a counterexample. Numbers are the exact rationals that the float64 numbers of a model are.
All questions are about exact arithmetic; only :func:`always` also covers the rounding of the gate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from moet.errors import InputError
from moet.model.mixture import Mixture
from moet.model.text import printable
from moet.model.tree import LEAF, Tree
from moet.verify.arguments import common_groups, comparable, domain_bounds, known_labels, parts_of_one_sign, state
from moet.verify.box import Box
from moet.verify.exact import ExactMixture, exactly
from moet.verify.inputs.agreement import Grouped
from moet.verify.inputs.distance import Norm
from moet.verify.rational import Row
from moet.verify.regions import hard_mixture
from moet.verify.result import Proved, Refuted, Unknown
from moet.verify.rounding import logit_errors
from moet.verify.systems.system import AffineSystem

Encoding = Literal["compact", "published"]
"""``"published"``: the nested ifs of the paper, one per expert and per test, whose values are the actions."""


def always(model: Any, domain: Box | None = None, answers: Iterable[Any] = ()) -> str:
    """Text of "some input of the domain is answered otherwise, if the gate's rounding is the worst possible"."""
    mixture = hard_mixture(model)
    permitted = known_labels(answers, [mixture])
    forbidden = np.array([int(label not in permitted) for label in mixture.classes.tolist()])
    lo, hi = domain_bounds(domain, mixture)
    names = _input_names(mixture)
    cases = []
    for part_lo, part_hi in parts_of_one_sign(mixture, lo, hi):
        errors = logit_errors(mixture.gate_weights, mixture.gate_bias, part_lo, part_hi)
        grouped = Grouped(mixture, forbidden, part_lo, part_hi, errors)
        sides = _sides(names, part_lo.tolist(), part_hi.tolist())
        for expert, tree in enumerate(mixture.trees):
            conditions = [_condition(row, names) for row in grouped.exact_rows(expert)]
            cases.append(_all([*sides, *conditions, _tree_test(tree, forbidden == 1, names)]))
    return _text(
        f"an input that is not answered {_shown(permitted)}, the gate being rounded",
        _declarations(mixture, names),
        [_any(cases)],
    )


def equivalent(a: Any, b: Any, domain: Box | None = None, classes: Iterable[Any] | None = None) -> str:
    """Text of "the models answer some input of the domain differently"."""
    pair = comparable(hard_mixture(a), hard_mixture(b))
    groups = common_groups(pair, None if classes is None else known_labels(classes, pair))
    names = _input_names(pair[0])
    lo, hi = domain_bounds(domain, pair[0])
    lines = _declarations(pair[0], names)
    sides = _sides(names, lo.tolist(), hi.tolist())
    together = []
    for group in sorted({int(number) for of_classes in groups for number in of_classes}):
        answered = []
        for side, mixture, group_of_class in zip("ab", pair, groups, strict=True):
            name = f"{side}_answers_{group}"
            labels = mixture.classes[group_of_class == group].tolist()
            lines += [f"; model {side} answers {_shown(labels)}" if labels else f"; model {side} has no such class"]
            lines += [f"(define-fun {name} () Bool {_answers(mixture, group_of_class == group, names)})"]
            answered.append(name)
        together.append(_all(answered))
    return _text("an input that the models answer differently", lines, [*sides, f"(not {_any(together)})"])


def closest(
    model: Any,
    x: ArrayLike,
    distance: Fraction | float | None,
    norm: Norm = "linf",
    domain: Box | None = None,
    answer: Any = None,
) -> str:
    """Text of "an input nearer than ``distance`` has another answer than ``x``" (or the given answer).

    Without a distance the text asks for the smallest one, in the words of solvers that can minimise (such as z3).
    """
    mixture = hard_mixture(model)
    centre = exactly(state(x, mixture).tolist())
    if answer is None:
        wanted = np.arange(len(mixture.classes)) != ExactMixture(mixture).answer(centre)
    else:
        wanted = mixture.classes == known_labels([answer], [mixture])[0]
    names = _input_names(mixture)
    lo, hi = domain_bounds(domain, mixture)
    lines = _declarations(mixture, names)
    if distance is None:
        radius, below = "distance", "<="
        lines.append("(declare-const distance Real) ; to be as small as possible")
    else:
        radius, below = _number(Fraction(distance)), "<"
    gaps = [f"(- {name} {_number(c)})" for name, c in zip(names, centre, strict=True)]
    if norm == "linf":
        near = [f"(and ({below} {gap} {radius}) ({below} (- {gap}) {radius}))" for gap in gaps]
    else:
        moves = [f"move{k}" for k in range(len(names))]
        lines += [f"(declare-const {m} Real) ; at least the change of {n}" for m, n in zip(moves, names, strict=True)]
        near = [f"(and (>= {m} {gap}) (>= {m} (- {gap})))" for m, gap in zip(moves, gaps, strict=True)]
        near += [f"({below} (+ 0.0 {' '.join(moves)}) {radius})"]
    title = "the nearest input" if distance is None else f"an input nearer than {float(distance)} ({norm})"
    text = _text(
        f"{title} that is answered {_shown(mixture.classes[wanted].tolist())}",
        lines,
        [*_sides(names, lo.tolist(), hi.tolist()), *near, _answers(mixture, wanted, names)],
    )
    return text if distance is not None else text.replace("(check-sat)", "(minimize distance)\n(check-sat)")


def safe(model: Any, system: AffineSystem, steps: int, encoding: Encoding = "compact") -> str:
    """Text of "a run of policy and system is unsafe after at most ``steps`` steps, or leaves the system's domain"."""
    lines, conditions, states = _runs(model, system, steps, encoding)
    wrong = [
        f"(> {_sum(space.coefficients, names)} {_number(space.bound)})" for names in states for space in system.safe
    ]
    for names in states:
        for name, side in zip(names, system.domain, strict=True):
            if side is not None:
                wrong += [f"(< {name} {_number(side[0])})", f"(> {name} {_number(side[1])})"]
    return _text(f"a run of {system.name} that is unsafe within {steps} steps", lines, [*conditions, _any(wrong)])


def reaches(model: Any, system: AffineSystem, within: int) -> str:
    """Text of "a run of policy and system does not meet the goal within so many steps"."""
    if not system.goal:
        raise InputError(f"the system {system.name!r} has no goal")
    lines, conditions, states = _runs(model, system, within, "compact")
    missed = [
        _any([f"(> {_sum(space.coefficients, names)} {_number(space.bound)})" for space in system.goal])
        for names in states
    ]
    return _text(f"a run of {system.name} that misses its goal for {within} steps", lines, [*conditions, *missed])


def definition(mixture: Mixture) -> str:
    """Text of the hard answer itself, to be followed by questions about it: no assertion, but functions of the inputs.

    ``(answer x0 x1 ...)`` is the number of the class that answers, ``(expert x0 x1 ...)`` that of the expert. They are
    numbers of sort Real, the only sort of QF_LRA.
    """
    exact = ExactMixture(mixture)
    names = _input_names(mixture)
    experts = range(mixture.n_experts)
    inputs = " ".join(names)

    def function(name: str, body: str) -> str:
        return f"(define-fun {name} ({' '.join(f'({x} Real)' for x in names)}) Real {body})"

    lines = [f"; {name}: {printable(meaning)}" for name, meaning in zip(names, mixture.feature_names, strict=True)]
    numbers = [_number(Fraction(c)) for c in range(len(mixture.classes))]
    lines += [f"; answer {n}: {_shown([label])}" for n, label in zip(numbers, mixture.classes.tolist(), strict=True)]
    lines += ["(set-logic QF_LRA)"]
    for j, (weights, bias) in enumerate(zip(exact.weights, exact.bias, strict=True)):
        lines += [function(f"logit{j}", f"(+ {_number(bias)} {_sum(weights, names)})")]
    first, chosen = _number(Fraction(mixture.n_experts - 1)), f"(tree{mixture.n_experts - 1} {inputs})"
    for j in reversed(experts[:-1]):
        # later rivals suffice: had an earlier one a larger logit, it would have been chosen
        leads = _all([f"(>= (logit{j} {inputs}) (logit{rival} {inputs}))" for rival in experts[j + 1 :]])
        first = f"(ite {leads} {_number(Fraction(j))} {first})"
        chosen = f"(ite (= (expert {inputs}) {_number(Fraction(j))}) (tree{j} {inputs}) {chosen})"
    lines += [function("expert", first)]
    lines += [function(f"tree{j}", _tree_ifs(tree, numbers, names)) for j, tree in enumerate(mixture.trees)]
    return "\n".join([*lines, function("answer", chosen), ""])


def solve(text: str, timeout: float | None = None) -> Proved | Refuted | Unknown:
    """Ask z3, which must be installed (``pip install z3-solver``).

    Returns
    -------
    Proved
        Without a certificate: z3 says *unsat*.
    Refuted
        z3 says *sat*; ``point`` holds its values of the inputs (or first states), rounded to float64.
    Unknown
        Anything else, a time limit above all.
    """
    try:
        import z3
    except ImportError:
        raise InputError("z3 is not installed: pip install z3-solver") from None
    context = z3.Context()
    solver = z3.Optimize(ctx=context) if "(minimize " in text else z3.Solver(ctx=context)
    if timeout is not None:
        solver.set("timeout", max(10, round(1000 * timeout)))  # in ms; z3 may miss one that ends before it starts
    solver.from_string(text)
    verdict = solver.check()
    if verdict == z3.unsat:
        return Proved()
    if verdict != z3.sat:
        return Unknown(reason=f"z3 says unknown: {solver.reason_unknown()}")
    values = solver.model()
    point: list[float] = []
    while f"(declare-const x{len(point)} Real)" in text:
        value = values.eval(z3.Real(f"x{len(point)}", context), model_completion=True)
        point.append(float(Fraction(value.numerator_as_long(), value.denominator_as_long())))
    return Refuted(point=np.array(point))


def _text(title: str, lines: Sequence[str], assertions: Sequence[str]) -> str:
    asserted = [f"(assert {assertion})" for assertion in assertions]
    return "\n".join([f"; Is there {title}?", "(set-logic QF_LRA)", *lines, *asserted, "(check-sat)", ""])


def _input_names(mixture: Mixture) -> list[str]:
    return [f"x{k}" for k in range(mixture.n_features)]


def _declarations(mixture: Mixture, names: Sequence[str]) -> list[str]:
    return [
        f"(declare-const {name} Real) ; {printable(meaning)}"
        for name, meaning in zip(names, mixture.feature_names, strict=True)
    ]


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
        raise InputError(f"only affine systems can be written in linear arithmetic; {system.name!r} is nonlinear")
    if encoding not in get_args(Encoding):
        raise InputError(f"encoding must be one of {', '.join(get_args(Encoding))}, got {encoding!r}")
    if steps < 0:
        raise InputError(f"the number of steps must be at least 0, got {steps}")
    actions = system.actions_of(mixture)
    states = [[f"x{k}" if t == 0 else f"x{k}_{t}" for k in range(system.n_states)] for t in range(steps + 1)]
    lines = [
        f"(declare-const {name} Real) ; {printable(meaning)} after {t} steps"
        for t, names in enumerate(states)
        for name, meaning in zip(names, system.states, strict=True)
    ]
    conditions = _sides(states[0], [low for low, _ in system.initial], [high for _, high in system.initial])
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
        conditions += [f"(<= (- {name} {of}) {_number(error)})", f"(<= (- {of} {name}) {_number(error)})"]
    return seen


def _disturbed(system: AffineSystem, t: int, lines: list[str], conditions: list[str]) -> list[str]:
    """Terms that are added to the next state."""
    terms = []
    for k, (low, high) in enumerate(system.disturbance):
        if low == high:
            terms.append(_number(low))
            continue
        name = f"d{k}_{t}"
        lines.append(f"(declare-const {name} Real) ; disturbance of {printable(system.states[k])} in step {t + 1}")
        conditions += [f"(>= {name} {_number(low)})", f"(<= {name} {_number(high)})"]
        terms.append(name)
    return terms


def _compact_step(mixture: Mixture, system: AffineSystem, actions: tuple[int, ...], step: _Step) -> list[str]:
    """One implication per action: where the policy takes it, the next state is this."""
    implications = []
    for action in sorted(set(actions)):
        taken = _answers(mixture, np.array(actions) == action, step.seen)
        moved = [
            f"(= {name} (+ {_sum(row, step.now)} {_number(offset)} {term}))"
            for name, row, offset, term in zip(
                step.after, system.matrix, system.offsets[action], step.disturbance, strict=True
            )
        ]
        implications.append(f"(=> {taken} {_all(moved)})")
    return implications


def _published_step(mixture: Mixture, system: AffineSystem, actions: tuple[int, ...], step: _Step) -> list[str]:
    """The action as the value of nested ifs, and one equation per state with what the action adds."""
    equations = [f"(= {step.action} {_nested_ifs(mixture, [_number(Fraction(a)) for a in actions], step.seen)})"]
    for k, name in enumerate(step.after):
        added = _number(system.offsets[-1][k])
        for a in reversed(range(len(system.actions) - 1)):
            added = f"(ite (= {step.action} {_number(Fraction(a))}) {_number(system.offsets[a][k])} {added})"
        equations.append(f"(= {name} (+ {_sum(system.matrix[k], step.now)} {added} {step.disturbance[k]}))")
    return equations


def _nested_ifs(mixture: Mixture, value_of_class: list[str], names: Sequence[str]) -> str:
    exact = ExactMixture(mixture)
    trees = [_tree_ifs(tree, value_of_class, names) for tree in mixture.trees]
    text = trees[-1]
    for expert in reversed(range(mixture.n_experts - 1)):
        chosen = _all([_condition(row, names) for row in exact.rows(expert)])
        text = f"(ite {chosen} {trees[expert]} {text})"
    return text


def _tree_ifs(tree: Tree, value_of_class: list[str], names: Sequence[str]) -> str:
    texts = [value_of_class[c] for c in tree.value.argmax(axis=1)]
    for node in np.flatnonzero(tree.feature != LEAF)[::-1]:  # children come after their parents
        test = f"(<= {names[tree.feature[node]]} {_number(Fraction(float(tree.threshold[node])))})"
        texts[node] = f"(ite {test} {texts[tree.left[node]]} {texts[tree.right[node]]})"
    return texts[0]


def _answers(mixture: Mixture, wanted: Any, names: Sequence[str]) -> str:
    """The mixture answers with a wanted class."""
    exact = ExactMixture(mixture)
    cases = []
    for expert, tree in enumerate(mixture.trees):
        conditions = [_condition(row, names) for row in exact.rows(expert)]
        cases.append(_all([*conditions, _tree_test(tree, wanted, names)]))
    return _any(cases)


def _tree_test(tree: Tree, wanted: Any, names: Sequence[str]) -> str:
    """The tree answers with a wanted class."""
    return _tree_ifs(tree, ["true" if is_wanted else "false" for is_wanted in wanted], names)


def _sides(names: Sequence[str], lo: Iterable[Any], hi: Iterable[Any]) -> list[str]:
    finite = [(">=", name, low) for name, low in zip(names, lo, strict=True) if low != -np.inf]
    finite += [("<=", name, high) for name, high in zip(names, hi, strict=True) if high != np.inf]
    return [f"({sign} {name} {_number(Fraction(side))})" for sign, name, side in finite]


def _condition(row: Row, names: Sequence[str]) -> str:
    return f"({'>' if row.strict else '>='} {_sum(row.coefficients, names)} {_number(row.bound)})"


def _sum(coefficients: Sequence[Fraction], names: Sequence[str]) -> str:
    terms = [f"(* {_number(c)} {name})" for c, name in zip(coefficients, names, strict=True) if c]
    return f"(+ 0.0 {' '.join(terms)})" if terms else "0.0"


def _number(value: Fraction) -> str:
    size = f"{abs(value.numerator)}.0"
    if value.denominator != 1:
        size = f"(/ {size} {value.denominator}.0)"
    return f"(- {size})" if value < 0 else size


def _all(conditions: Sequence[str]) -> str:
    return f"(and {' '.join(conditions)})" if conditions else "true"


def _any(conditions: Sequence[str]) -> str:
    return f"(or {' '.join(conditions)})" if conditions else "false"


def _shown(labels: Iterable[Any]) -> str:
    return printable(" or ".join(str(label) for label in labels))
