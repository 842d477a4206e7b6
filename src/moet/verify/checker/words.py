"""What a certificate proves, in words, from its claim and its subjects, with exact numbers. Standard library only.

Nothing here comes from free text in the certificate. Names are those of the model's features and the system's states.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from moet.verify.checker.certificate import Certificate
from moet.verify.checker.documents.dynamics import Affine, Equations
from moet.verify.checker.documents.laws import PlainLaws
from moet.verify.checker.documents.model import PlainModel
from moet.verify.checker.documents.reading import plain
from moet.verify.checker.documents.system import HalfSpace, PlainSystem
from moet.verify.checker.inputs import claims
from moet.verify.checker.loops import claims as loop_claims
from moet.verify.checker.loops import shield_claims
from moet.verify.checker.loops.flowpipe.admissible import OWN, read_admissible
from moet.verify.checker.loops.flowpipe.shield import control_shield
from moet.verify.checker.loops.flowpipe.words import flowpipe_words
from moet.verify.checker.numbers import between, exactly, name_of, quoted
from moet.verify.checker.outputs.possible_rows import has_groups
from moet.verify.checker.rows import claims as row_claims
from moet.verify.checker.rows import words as row_words
from moet.verify.checker.subjects import ABOUT_OUTPUTS, BY_FLOWPIPES, read_subjects


def claim_in_words(certificate: Certificate, *subjects: Any) -> str:
    """The claim of a certificate about these subjects, which it must be about; some lines of text.

    Whether the certificate proves it is another question: see :func:`moet.verify.check`.

    Raises
    ------
    CertificateError
        If the certificate is about something else, or its claim makes no sense.
    """
    return told(certificate, *read_subjects(certificate.kind, subjects))


def told(certificate: Certificate, model: Any, *others: Any) -> str:
    """The claim of a certificate about subjects that have been read."""
    claim, kind = plain(certificate.claim), certificate.kind
    if kind in ABOUT_OUTPUTS:
        return "\n".join(_outputs(kind, claim, [model, *others]))
    if kind == "always":
        lines = _always(claims.always(claim, model), model)
    elif kind == "equivalent":
        second: PlainModel = others[0]
        lines = [*_equivalent(claims.equivalent(claim, model, second), model), _about("the other model", second.digest)]
    elif kind == "closest":
        lines = _closest(claims.closest(claim, model), model)
    elif kind in row_claims.ROW_KINDS:
        lines = row_words.row_claim(kind, claim, [model, *others])
        lines += [_about("the other model", other.digest) for other in others]
    elif kind in BY_FLOWPIPES:
        plant: PlainSystem = others[0]
        lines = _controlled(kind, claim, model, plant)
        lines.append(_about(f"the system {quoted(plant.name)}", plant.digest))
    else:
        system: PlainSystem = others[0]
        lines = [*_loop(kind, claim, model, system), _about(f"the system {quoted(system.name)}", system.digest)]
    return "\n".join([*lines, _about("the model", model.digest)])


def _controlled(kind: str, claim: Any, model: PlainLaws, system: PlainSystem) -> list[str]:
    """Claims about systems with controls: what is shown by a polytope is said as if sets had been followed."""
    guarded = []
    if kind == "control_shield":
        control_shield(claim, model, system)
        guarded = ["Behind the shield that this model makes, whatever controls are wanted:"]
    elif kind == "admissible":
        read_admissible(claim, model, system)
    own = {key: value for key, value in claim.items() if key not in (*OWN, "shield")}
    return [*guarded, *flowpipe_words(own, model, system)]


def _always(claim: claims.Always, model: PlainModel) -> list[str]:
    answers = " or ".join(map(quoted, claim.answers))
    is_open = None in claim.box.lo or None in claim.box.hi
    beyond = "; beyond 1e150, as long as no logit overflows" if is_open and len(model.bias) > 1 else ""
    return [
        f"For every input of float64 numbers {_where(claim.box, model.feature_names)}, the model as deployed answers "
        f"{answers}, whatever float64 arithmetic rounds in its gate{beyond}."
    ]


def _equivalent(claim: claims.Equivalent, model: PlainModel) -> list[str]:
    what = "give the same answer"
    if claim.classes is not None:
        what = f"agree on which of {', '.join(map(quoted, claim.classes))} is the answer, or that none is"
    return [
        f"For all real numbers {_where(claim.box, model.feature_names)}, both models {what} in exact arithmetic (the "
        "first of equal logits wins). Rounding in a gate may make a deployed model choose another expert."
    ]


def _closest(claim: claims.Closest, model: PlainModel) -> list[str]:
    wanted = "another answer than there" if claim.answer is None else f"the answer {quoted(claim.answer)}"
    return [f"{_nobody_near(claim, model.feature_names, 'no real numbers')} have {wanted}."]


def _nobody_near(claim: claims.Closest | claims.Distance, names: Sequence[str], nobody: str) -> str:
    point = ", ".join(f"{name_of(name)} = {exactly(x)}" for name, x in zip(names, claim.point, strict=True))
    near = ""
    if claim.distance is not None:
        measure = "the largest change of a feature" if claim.norm == "linf" else "the sum of all changes"
        near = f" and nearer to this point than {exactly(claim.distance)} by {claim.norm} ({measure})"
    return (
        f"At the point {point}: in exact arithmetic (the first of equal logits wins), {nobody} "
        f"{_where(claim.box, names)}{near}"
    )


def _outputs(kind: str, claim: Any, models: list[PlainLaws]) -> list[str]:
    """Claims about models that answer with numbers."""
    model = models[0]
    digests = [_about("the model", model.digest)]
    if kind == "bounds":
        return [*_bounds(claims.bounds(claim, model), model), *digests]
    if kind == "distance":
        return [*_distance(claims.distance(claim, model), model), *digests]
    read = claims.tolerance(claim, model, models[1])
    inputs = f"every possible row, its features {_where(read.box, model.feature_names)}"
    if not has_groups(model.columns):
        inputs = f"all real numbers {_where(read.box, model.feature_names)}"
    return [
        f"For {inputs}, no output of one model is off that of the "
        f"other by more than {exactly(read.tolerance)}, in exact arithmetic (the first of equal logits wins): of "
        f"{', '.join(map(name_of, model.outputs))}. Rounding in a gate may make a deployed model choose another "
        "expert.",
        _about("the other model", models[1].digest),
        *digests,
    ]


def _bounds(claim: claims.Bounds, model: PlainLaws) -> list[str]:
    where = _where(claim.box, model.feature_names)
    inputs = (
        f"every possible row, its features {where},"
        if has_groups(model.columns)
        else f"every input of float64 numbers {where}"
    )
    return [
        f"For {inputs} that the model as deployed "
        "answers at all (a sum that overflows is an error), its outputs satisfy "
        f"{_conditions(claim.conditions, model.outputs)}, whatever float64 arithmetic rounds in its gate and its laws."
    ]


def _distance(claim: claims.Distance, model: PlainLaws) -> list[str]:
    wanted = "have an output that is off the one there by more than " + exactly(claim.tolerance or Fraction(0))
    if claim.conditions is not None:
        wanted = f"have outputs with {_conditions(claim.conditions, model.outputs)}"
    nobody = "no possible rows, their features" if has_groups(model.columns) else "no real numbers"
    return [f"{_nobody_near(claim, model.feature_names, nobody)} {wanted}."]


def _loop(kind: str, claim: Any, model: PlainModel, system: PlainSystem) -> list[str]:
    """Claims about runs."""
    if kind == "shield":
        return _shield(shield_claims.shield(claim, model, system), system)
    if kind == "goal_shield":
        return _goal_shield(shield_claims.goal_shield(claim, model, system), system)
    goal: list[HalfSpace] = []
    steps: int | None
    if kind in ("safe", "reaches"):
        steps, goal = (read := loop_claims.paths(kind, claim, model, system)).steps, read.goal or []
    elif kind == "arrival":
        steps, goal = (found := loop_claims.arrival(claim, model, system)).steps, found.goal
    else:
        steps = loop_claims.sets(kind, claim, model, system).steps
    start = f"Every run that begins with {_first_states(system)}"
    if goal:
        what = f"is, after at most {steps} steps, at some time in the goal: {_conditions(goal, system.states)}"
    else:
        horizon = "for ever" if steps is None else f"at the times 0 to {steps}"
        what = f"is safe {horizon}: {_conditions(system.safe, system.states)}"
    return [f"{start} {what}.", *_surroundings(system)]


def _shield(claim: shield_claims.Shield, system: PlainSystem) -> list[str]:
    """The claim of a shield."""
    return [
        f"Every run that begins with {_first_states(system)}, or in the set of the proof, is safe for ever, whichever "
        f"actions are wanted, if the shield decides which are taken: {_conditions(system.safe, system.states)}.",
        f"The shield allows an action if after it the model surely gets into the set of the proof within "
        f"{_looked_ahead(claim.margins, system)}; otherwise the model acts.",
        *_surroundings(system, "The model's gate is computed in float64."),
    ]


def _goal_shield(claim: shield_claims.GoalShield, system: PlainSystem) -> list[str]:
    """The claim of a shield that keeps a goal within reach."""
    return [
        f"Every run that begins with {_first_states(system)} is, after at most {claim.within} steps, at some time in "
        "the goal, whichever actions are wanted, if the shield decides which are taken and is told how many steps are "
        f"left: {_conditions(claim.arrival.goal, system.states)}.",
        f"The shield allows an action if after it the model surely gets into the goal in the steps that are left, and "
        f"within {_looked_ahead(claim.margins, system)}; otherwise the model acts.",
        *_surroundings(system, "The model's gate is computed in float64."),
    ]


def _looked_ahead(margins: shield_claims.Margins, system: PlainSystem) -> str:
    box = ", ".join(f"{name_of(n)} {between(*side)}" for n, side in zip(system.states, margins.box, strict=True))
    return f"{len(margins.errors) - 2} steps more, staying where {box}"


@lru_cache(maxsize=8)  # one system is often asked about many policies
def _first_states(system: PlainSystem) -> str:
    sides = zip(system.states, system.initial, strict=True)
    return ", ".join(f"{name_of(name)} {between(low, high)}" for name, (low, high) in sides)


@lru_cache(maxsize=8)
def _surroundings(
    system: PlainSystem, acting: str = "The model, its gate computed in float64, chooses the action in every step."
) -> tuple[str, ...]:
    """What a proof about runs takes into account."""
    lines = []
    inside = [
        f"{name_of(name)} {between(*side)}"
        for name, side in zip(system.states, system.domain, strict=True)
        if side is not None
    ]
    if inside:
        lines.append(f"Until then it stays where the description of the system holds: {', '.join(inside)}.")
    lines.append(acting)
    disturbed = [
        f"{name_of(name)} {between(*side)}"
        for name, side in zip(system.states, system.disturbance, strict=True)
        if any(side)
    ]
    if disturbed:
        lines.append(f"In every step anything in these intervals is added: {', '.join(disturbed)}.")
    noise = [f"{exactly(e)} in {name_of(name)}" for name, e in zip(system.states, system.noise, strict=True) if e]
    seen = f"with noise of at most {', '.join(noise)}, " if noise else ""
    rounding = "rounded to float64 and then to float32" if system.float32 else "rounded to float64"
    lines.append(f"The model sees the state {seen}{rounding}.")
    return (*lines, "A step of the system:", *_steps(system))


def _steps(system: PlainSystem) -> list[str]:
    """One line for every equation."""
    dynamics = system.dynamics
    if isinstance(dynamics, Affine):
        return [
            f"  next {name_of(name)} = {_sum(row, system.states)} + "
            + _by_action([offset[k] for offset in dynamics.offsets], system.actions)
            for k, (name, row) in enumerate(zip(system.states, dynamics.matrix, strict=True))
        ]
    assert isinstance(dynamics, Equations)  # systems with controls have words of their own
    inputs = [f"  {name_of(name)} = {_by_action(values, system.actions)}" for name, values in dynamics.inputs.items()]
    let = [f"  {name_of(name)} = {ascii(text)[1:-1]}" for name, text in dynamics.let]
    step = [
        f"  next {name_of(name)} = {ascii(text)[1:-1]}" for name, text in zip(system.states, dynamics.step, strict=True)
    ]
    return [*inputs, *let, *step]


def _by_action(values: Sequence[Fraction], actions: Sequence[str]) -> str:
    if len(set(values)) == 1:
        return exactly(values[0])
    return f"({', '.join(f'{name_of(a)}: {exactly(value)}' for a, value in zip(actions, values, strict=True))})"


def _conditions(conditions: Sequence[HalfSpace], names: Sequence[str]) -> str:
    return " and ".join(_condition(half, names) for half in conditions) if conditions else "no condition"


def _condition(half: HalfSpace, names: Sequence[str]) -> str:
    used = [k for k, a in enumerate(half.coefficients) if a]
    if len(used) != 1:
        return f"{_sum(half.coefficients, names)} <= {exactly(half.bound)}"
    a = half.coefficients[used[0]]
    return f"{name_of(names[used[0]])} {'<=' if a > 0 else '>='} {exactly(half.bound / a)}"


def _sum(coefficients: Sequence[Fraction], names: Sequence[str]) -> str:
    terms = [
        (a, name_of(name) if abs(a) == 1 else f"{exactly(abs(a))} * {name_of(name)}")
        for a, name in zip(coefficients, names, strict=True)
        if a
    ]
    if not terms:
        return "0"
    first, *others = terms
    written = ("-" if first[0] < 0 else "") + first[1]
    return written + "".join(f" {'-' if a < 0 else '+'} {term}" for a, term in others)


def _where(box: claims.Body, names: Sequence[str]) -> str:
    parts = []
    for name, low, high in zip(names, *box, strict=True):
        if low is not None and high is not None:
            parts.append(f"{name_of(name)} {between(low, high)}")
        elif low is not None:
            parts.append(f"{name_of(name)} >= {exactly(low)}")
        elif high is not None:
            parts.append(f"{name_of(name)} <= {exactly(high)}")
    return f"with {', '.join(parts)}" if parts else "whatsoever"


def _about(what: str, digest: str) -> str:
    return f"SHA-256 of {what}: {digest}"
