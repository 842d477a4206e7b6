"""Questions about single inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from moet.verify.arguments import (
    answers_with_numbers,
    check_no_tolerance,
    common_groups,
    comparable,
    domain_bounds,
    known_labels,
    parts_of_one_sign,
    state,
    used_by_gate,
)
from moet.verify.box import Box
from moet.verify.exact import ExactMixture, exactly
from moet.verify.inputs.agreement import Grouped
from moet.verify.inputs.distance import Norm
from moet.verify.polytopes import Polytope, hard_mixture
from moet.verify.rounding import logit_errors
from moet.verify.smtlib.outputs import always_outputs, closest_outputs, different_outputs
from moet.verify.smtlib.terms import (
    all_of,
    answers_one_of,
    any_of,
    condition,
    declarations,
    input_names,
    inside,
    nearest_question,
    question,
    shown,
    tree_test,
    within,
)


def always(model: Any, domain: Box | None = None, answers: Iterable[Any] = ()) -> str:
    """Text of "some input of the domain is answered otherwise, if the gate's rounding is the worst possible".

    Of a model that answers with numbers, ``answers`` are conditions on its outputs, and arithmetic is exact.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet import Box
    >>> from moet.verify import smtlib
    >>> text = smtlib.always(model, Box.from_bounds([1, 1], [2, 2]), ["up"])
    >>> "(check-sat)" in text
    True
    """
    if answers_with_numbers(model):
        return always_outputs(model, domain, answers)
    mixture = hard_mixture(model)
    permitted = known_labels(answers, [mixture])
    forbidden = np.array([int(label not in permitted) for label in mixture.classes.tolist()])
    lo, hi = domain_bounds(domain, mixture)
    names = input_names(mixture)
    cases = []
    for part_lo, part_hi in parts_of_one_sign(mixture, used_by_gate(mixture), lo, hi):
        errors = logit_errors(mixture.gate_weights, mixture.gate_bias, part_lo, part_hi)
        grouped = Grouped(mixture, forbidden, part_lo, part_hi, errors)
        sides = within(names, part_lo.tolist(), part_hi.tolist())
        for expert, tree in enumerate(mixture.trees):
            conditions = [condition(row, names) for row in grouped.exact_rows(expert)]
            cases.append(all_of([*sides, *conditions, tree_test(tree, forbidden == 1, names)]))
    return question(
        f"an input that is not answered {shown(permitted)}, the gate being rounded",
        declarations(mixture, names),
        [any_of(cases)],
    )


def equivalent(
    a: Any,
    b: Any,
    domain: Box | None = None,
    classes: Iterable[Any] | None = None,
    *,
    tolerance: float | None = None,
) -> str:
    """Text of "the models answer some input of the domain differently", or with numbers that are too far apart.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet.verify import smtlib
    >>> "(check-sat)" in smtlib.equivalent(model, model)
    True
    """
    return differences(a, b, domain, classes, tolerance=tolerance)


def differences(
    a: Any,
    b: Any,
    domain: Box | None = None,
    classes: Iterable[Any] | None = None,
    beyond: Sequence[Polytope] = (),
    *,
    tolerance: float | None = None,
) -> str:
    """Text of "the models answer some input differently, beyond these regions": if not, these are all there are.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet.verify import smtlib
    >>> "(check-sat)" in smtlib.differences(model, model)
    True
    """
    if answers_with_numbers(a) and answers_with_numbers(b):
        return different_outputs(a, b, domain, tolerance or 0, beyond)
    check_no_tolerance(tolerance)
    pair = comparable(hard_mixture(a), hard_mixture(b))
    groups = common_groups(pair, None if classes is None else known_labels(classes, pair))
    names = input_names(pair[0])
    lo, hi = domain_bounds(domain, pair[0])
    lines = declarations(pair[0], names)
    sides = within(names, lo.tolist(), hi.tolist())
    together = []
    for group in sorted({int(group) for of_classes in groups for group in of_classes}):
        answered = []
        for side, mixture, group_of_class in zip("ab", pair, groups, strict=True):
            name = f"{side}_answers_{group}"
            labels = mixture.classes[group_of_class == group].tolist()
            lines += [f"; model {side} answers {shown(labels)}" if labels else f"; model {side} has no such class"]
            lines += [f"(define-fun {name} () Bool {answers_one_of(mixture, group_of_class == group, names)})"]
            answered.append(name)
        together.append(all_of(answered))
    known = [f"(not {inside(region, names)})" for region in beyond]
    title = "an input that the models answer differently" + (f", beyond {len(beyond)} known regions" if known else "")
    return question(title, lines, [*sides, f"(not {any_of(together)})", *known])


def closest(
    model: Any,
    x: ArrayLike,
    distance: Fraction | float | None,
    norm: Norm = "linf",
    domain: Box | None = None,
    answer: Any = None,
    *,
    tolerance: float | None = None,
) -> str:
    """Text of "an input nearer than ``distance`` has another answer than ``x``" (or the given answer).

    Without a distance the text asks for the smallest one, in the words of solvers that can minimise (such as z3). Of a
    model that answers with numbers, ``answer`` are conditions on its outputs, or ``tolerance`` is by how much one of
    them is to change; arithmetic is exact.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet.verify import smtlib
    >>> "(check-sat)" in smtlib.closest(model, [1, 1], distance=1)
    True
    """
    if answers_with_numbers(model):
        return closest_outputs(model, x, distance, norm, domain, answer, tolerance)
    check_no_tolerance(tolerance)
    mixture = hard_mixture(model)
    centre = exactly(state(x, mixture).tolist())
    if answer is None:
        wanted = np.arange(len(mixture.classes)) != ExactMixture(mixture).answer(centre)
    else:
        wanted = mixture.classes == known_labels([answer], [mixture])[0]
    names = input_names(mixture)
    lo, hi = domain_bounds(domain, mixture)
    title = f"that is answered {shown(mixture.classes[wanted].tolist())}"
    sides = [*within(names, lo.tolist(), hi.tolist()), answers_one_of(mixture, wanted, names)]
    return nearest_question(title, declarations(mixture, names), sides, names, centre, distance, norm)
