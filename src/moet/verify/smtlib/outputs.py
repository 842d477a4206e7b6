"""Questions about single inputs of models that answer with numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from numpy.typing import ArrayLike

from moet.model.regression.mixture import RegressionMixture
from moet.verify.arguments import domain_bounds, state
from moet.verify.box import Box
from moet.verify.exact import ExactMixture, exactly
from moet.verify.inputs.distance import Norm
from moet.verify.outputs.laws import Laws, hard_laws
from moet.verify.outputs.nearest import asked_outputs, wanted_outputs
from moet.verify.outputs.questions import a_tolerance, apart, comparable_laws, conditions_on_outputs
from moet.verify.polytopes import Polytope
from moet.verify.rational import Row
from moet.verify.smtlib.definitions import laws_of_nodes
from moet.verify.smtlib.terms import (
    all_of,
    any_of,
    condition,
    declarations,
    input_names,
    inside,
    leaf_ifs,
    nearest_question,
    number,
    question,
    within,
)


def always_outputs(model: Any, domain: Box | None, conditions: Any) -> str:
    """Text of "some input of the domain is answered with numbers that miss a condition", in exact arithmetic."""
    mixture = hard_laws(model)
    wanted = conditions_on_outputs(conditions, mixture.outputs)
    names = input_names(mixture)
    lo, hi = domain_bounds(domain, mixture)
    lines, outputs = _defined(mixture, "", names)
    missed = [condition(Row(half.coefficients, half.bound, True), outputs) for half in wanted]
    sides = within(names, lo.tolist(), hi.tolist())
    title = "an input whose outputs miss a condition"
    return question(title, [*declarations(mixture, names), *lines], [*sides, any_of(missed)])


def different_outputs(a: Any, b: Any, domain: Box | None, tolerance: Any, beyond: Sequence[Polytope]) -> str:
    """Text of "some output of the models is apart by more than the tolerance, beyond these regions"."""
    pair = comparable_laws(a, b)
    most = a_tolerance(tolerance)
    names = input_names(pair[0])
    lo, hi = domain_bounds(domain, pair[0])
    defined = [_defined(mixture, f"{side}_", names) for side, mixture in zip("ab", pair, strict=True)]
    lines = declarations(pair[0], names) + [line for own, _ in defined for line in own]
    outputs = [output for _, own in defined for output in own]
    differ = [condition(row, outputs) for (row,) in apart(pair[0].n_outputs, most)]
    known = [f"(not {inside(region, names)})" for region in beyond]
    title = f"an input whose outputs differ by more than {float(most):g}"
    return question(title, lines, [*within(names, lo.tolist(), hi.tolist()), any_of(differ), *known])


def closest_outputs(
    model: Any,
    x: ArrayLike,
    distance: Fraction | float | None,
    norm: Norm,
    domain: Box | None,
    answer: Any,
    tolerance: Any,
) -> str:
    """Text of "an input nearer than ``distance`` has outputs as wanted, or changed by more than the tolerance"."""
    mixture = hard_laws(model)
    centre = exactly(state(x, mixture).tolist())
    names = input_names(mixture)
    lo, hi = domain_bounds(domain, mixture)
    lines, outputs = _defined(mixture, "", names)
    asked = asked_outputs(mixture, answer, tolerance)
    alternatives = wanted_outputs(Laws(mixture, lo, hi, rounded=False), centre, *asked)
    holds = any_of([all_of([condition(row, outputs) for row in rows]) for rows in alternatives])
    title = "whose outputs are as wanted" if tolerance is None else f"whose outputs change by more than {tolerance:g}"
    sides = [*within(names, lo.tolist(), hi.tolist()), holds]
    return nearest_question(title, [*declarations(mixture, names), *lines], sides, names, centre, distance, norm)


def _defined(mixture: RegressionMixture, prefix: str, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Lines that define every law and every output, and the names of the outputs."""
    exact = ExactMixture(mixture)
    chosen = [all_of([condition(row, names) for row in exact.rows(e)]) for e in range(mixture.n_experts)]
    lines, outputs = [], []
    for o, (low, high) in enumerate(zip(mixture.low.tolist(), mixture.high.tolist(), strict=True)):
        *others, text = [leaf_ifs(tree, laws_of_nodes(tree, o, names), names) for tree in mixture.trees]
        for expert, law in reversed(list(enumerate(others))):
            text = f"(ite {chosen[expert]} {law} {text})"
        lines += [f"(define-fun {prefix}law{o} () Real {text})"]
        clipped = f"{prefix}law{o}"
        for sign, bound in ((">", high), ("<", low)):
            if math.isfinite(bound):
                end = number(Fraction(bound))
                clipped = f"(ite ({sign} {prefix}law{o} {end}) {end} {clipped})"
        lines += [f"(define-fun {prefix}output{o} () Real {clipped})"]
        outputs.append(f"{prefix}output{o}")
    return lines, outputs
