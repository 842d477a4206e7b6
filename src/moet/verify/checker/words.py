"""What a certificate proves, in words, from its claim and its subjects, with exact numbers. Standard library only.

Nothing here comes from free text in the certificate. Names are those of the model's features and the system's states.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from moet.verify.checker import claims
from moet.verify.checker.certificate import Certificate
from moet.verify.checker.plain import PlainModel, plain_model
from moet.verify.checker.plain_system import Affine, HalfSpace, PlainSystem, plain_system
from moet.verify.checker.reading import plain

_LONGEST_DECIMAL = 40


def claim_in_words(certificate: Certificate, *subjects: Any) -> str:
    """The claim of a certificate about these subjects, which it must be about; some lines of text.

    Whether the certificate proves it is another question: see :func:`moet.verify.check`.

    Raises
    ------
    CertificateError
        If the certificate is about something else, or its claim makes no sense.
    """
    claim, kind = plain(certificate.claim), certificate.kind
    model = plain_model(subjects[0])
    if kind == "always":
        lines = _always(claims.always(claim, model), model)
    elif kind == "equivalent":
        second = plain_model(subjects[1])
        lines = [*_equivalent(claims.equivalent(claim, model, second), model), _about("the other model", second.digest)]
    elif kind == "closest":
        lines = _closest(claims.closest(claim, model), model)
    else:
        system = plain_system(subjects[1])
        lines = [*_loop(kind, claim, model, system), _about(f"the system {_quoted(system.name)}", system.digest)]
    return "\n".join([*lines, _about("the model", model.digest)])


def exactly(value: Fraction) -> str:
    """A number without rounding: as a decimal if that is short, else as a fraction."""
    power, rest = 0, value.denominator
    while rest % 10 == 0:
        power, rest = power + 1, rest // 10
    while rest % 2 == 0 or rest % 5 == 0:
        power, rest = power + 1, rest // (2 if rest % 2 == 0 else 5)
        if power > _LONGEST_DECIMAL:
            break
    if rest == 1 and power <= _LONGEST_DECIMAL:
        digits = str(abs(value.numerator) * 10**power // value.denominator).rjust(power + 1, "0")
        written = digits[:-power] + "." + digits[-power:].rstrip("0") if power else digits
        written = written.rstrip(".")
        if len(written) <= _LONGEST_DECIMAL:
            return ("-" if value < 0 else "") + written
    return str(value) if len(str(value)) <= _LONGEST_DECIMAL else _as_float(value)


def _as_float(value: Fraction) -> str:
    """A long number: the float64 that it is, or between which two it lies."""
    near = float(value)
    if Fraction(near) == value:
        return f"{near!r} (the float64 number)"
    return f"{near!r} (rounded; exactly {value})"


def _always(claim: claims.Always, model: PlainModel) -> list[str]:
    answers = " or ".join(map(_quoted, claim.answers))
    return [
        f"For every input of float64 numbers {_where(claim.box, model.feature_names)}, the model as deployed answers "
        f"{answers}, whatever float64 arithmetic rounds in its gate, as long as no logit overflows."
    ]


def _equivalent(claim: claims.Equivalent, model: PlainModel) -> list[str]:
    what = "give the same answer"
    if claim.classes is not None:
        what = f"agree on which of {', '.join(map(_quoted, claim.classes))} is the answer, or that none is"
    return [
        f"For all real numbers {_where(claim.box, model.feature_names)}, both models {what} in exact arithmetic (the "
        "first of equal logits wins). Rounding in a gate may make a deployed model choose another expert."
    ]


def _closest(claim: claims.Closest, model: PlainModel) -> list[str]:
    names = model.feature_names
    point = ", ".join(f"{_name(name)} = {exactly(x)}" for name, x in zip(names, claim.point, strict=True))
    near = ""
    if claim.distance is not None:
        measure = "the largest change of a feature" if claim.norm == "linf" else "the sum of all changes"
        near = f" and nearer to this point than {exactly(claim.distance)} by {claim.norm} ({measure})"
    wanted = "another answer than there" if claim.answer is None else f"the answer {_quoted(claim.answer)}"
    return [
        f"At the point {point}: in exact arithmetic (the first of equal logits wins), no real numbers "
        f"{_where(claim.box, names)}{near} have {wanted}."
    ]


def _loop(kind: str, claim: Any, model: PlainModel, system: PlainSystem) -> list[str]:
    """Claims about runs."""
    goal: list[HalfSpace] = []
    steps: int | None
    if kind in ("safe", "reaches"):
        steps, goal = (read := claims.paths(kind, claim, model, system)).steps, read.goal or []
    elif kind == "arrival":
        steps, goal = (found := claims.arrival(claim, model, system)).steps, found.goal
    else:
        steps = claims.sets(kind, claim, model, system).steps
    sides = [f"{_name(n)} {_between(low, high)}" for n, (low, high) in zip(system.states, system.initial, strict=True)]
    start = f"Every run that begins with {', '.join(sides)}"
    if goal:
        what = f"is, after at most {steps} steps, at some time in the goal: {_conditions(goal, system.states)}"
    else:
        horizon = "for ever" if steps is None else f"at the times 0 to {steps}"
        what = f"is safe {horizon}: {_conditions(system.safe, system.states)}"
    return [f"{start} {what}.", *_surroundings(system)]


def _surroundings(system: PlainSystem) -> list[str]:
    """What a proof about runs takes into account."""
    lines = []
    inside = [
        f"{_name(name)} {_between(*side)}"
        for name, side in zip(system.states, system.domain, strict=True)
        if side is not None
    ]
    if inside:
        lines.append(f"Until then it stays where the description of the system holds: {', '.join(inside)}.")
    lines.append("The model, its gate computed in float64, chooses the action in every step.")
    disturbed = [
        f"{_name(name)} {_between(*side)}"
        for name, side in zip(system.states, system.disturbance, strict=True)
        if any(side)
    ]
    if disturbed:
        lines.append(f"In every step anything in these intervals is added: {', '.join(disturbed)}.")
    noise = [f"{_name(name)} {exactly(e)}" for name, e in zip(system.states, system.noise, strict=True) if e]
    seen = f"with noise of at most {', '.join(noise)}, " if noise else ""
    rounding = "rounded to float64 and then to float32" if system.float32 else "rounded to float64"
    lines.append(f"The model sees the state {seen}{rounding}.")
    how = "an affine map" if isinstance(system.dynamics, Affine) else "by its equations"
    lines.append(f"One step of the system is {how}, exactly as in its document.")
    return lines


def _conditions(conditions: Sequence[HalfSpace], names: Sequence[str]) -> str:
    if not conditions:
        return "no condition"
    return " and ".join(f"{_sum(half.coefficients, names)} <= {exactly(half.bound)}" for half in conditions)


def _sum(coefficients: Sequence[Fraction], names: Sequence[str]) -> str:
    terms = [
        (a, _name(name) if abs(a) == 1 else f"{exactly(abs(a))} * {_name(name)}")
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
            parts.append(f"{_name(name)} {_between(low, high)}")
        elif low is not None:
            parts.append(f"{_name(name)} >= {exactly(low)}")
        elif high is not None:
            parts.append(f"{_name(name)} <= {exactly(high)}")
    return f"with {', '.join(parts)}" if parts else "whatsoever"


def _between(low: Fraction, high: Fraction) -> str:
    return f"= {exactly(low)}" if low == high else f"from {exactly(low)} to {exactly(high)}"


def _name(name: str) -> str:
    """A name as it is, if it cannot be mistaken for anything else."""
    return name if name.isidentifier() else _quoted(name)


def _quoted(label: Any) -> str:
    return ascii(label) if isinstance(label, str) else str(label)


def _about(what: str, digest: str) -> str:
    return f"SHA-256 of {what}: {digest}"
