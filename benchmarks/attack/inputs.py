"""Questions about single inputs with nasty models: always, equivalent, differences and closest."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from attack.judge import Plain, WrongVerdictError, accepted, nasty_points
from attack.models import disguised, nasty_box, nasty_mixture, number_source
from attack.solver import answers_otherwise, differ_somewhere
from moet import Box, Mixture
from moet.verify import Closest, Proved, Refuted, Unknown, always, check, closest, differences, equivalent

CPU_LIMIT = 20.0
_POINTS = 60
_ASK_Z3 = 16
"""Every so many seeds z3 is asked, too: it takes most of the time."""


def demand(condition: bool, what: str) -> None:
    """Complain about a wrong verdict."""
    if not condition:
        raise WrongVerdictError(what)


def _subject(rng: np.random.Generator) -> tuple[Mixture, Box, list[float], list[float], Any]:
    number = number_source(rng)
    mixture = nasty_mixture(rng, int(rng.integers(1, 4)), int(rng.integers(2, 4)), number)
    domain = nasty_box(rng, mixture, number)
    lo, hi = domain.bounds(mixture.feature_names)
    return mixture, domain, lo.tolist(), hi.tolist(), number


def attack_always(seed: int) -> str:
    """A proof must hold for the deployed predictor at every input that does not overflow."""
    rng = np.random.default_rng(seed)
    mixture, domain, lo, hi, _ = _subject(rng)
    permitted = rng.choice(mixture.classes, size=rng.integers(1, len(mixture.classes)), replace=False).tolist()
    verdict = accepted(always(mixture, domain, permitted, cpu_limit=CPU_LIMIT))
    plain = Plain.of(mixture)
    if isinstance(verdict, Proved):
        confirmed(verdict, mixture)
        open_sides = not all(map(math.isfinite, [*lo, *hi]))
        for x in nasty_points([plain], lo, hi, rng, _POINTS):
            allowed = plain.deployed(x) in permitted or (open_sides and plain.overflows(x))
            demand(allowed, f"{x} is answered {plain.deployed(x)}, proved {permitted}")
        if seed % _ASK_Z3 == 0:
            demand(not answers_otherwise(plain, permitted, lo, hi), "z3 finds another answer")
    if isinstance(verdict, Refuted):
        x = inside(verdict.point, lo, hi)
        demand(plain.deployed(x) not in permitted, f"{x} is answered {plain.deployed(x)}: no counterexample")
    return type(verdict).__name__


def attack_equivalent(seed: int) -> str:
    """A proof must hold in exact arithmetic, and mean something for the deployed predictors."""
    rng = np.random.default_rng(seed)
    a, domain, lo, hi, number = _subject(rng)
    b = disguised(rng, a, number) if rng.random() < 0.7 else nasty_mixture(rng, a.n_features, len(a.classes), number)
    if len(b.classes) != len(a.classes):
        return "not comparable"
    verdict = accepted(equivalent(a, b, domain, cpu_limit=CPU_LIMIT))
    first, second = Plain.of(a), Plain.of(b)
    if isinstance(verdict, Proved):
        confirmed(verdict, a, b)
        points = nasty_points([first, second], lo, hi, rng, _POINTS)
        for x in points:
            exact = [Fraction(v) for v in x]
            demand(first.exact(exact) == second.exact(exact), f"the answers differ at {x}")
        differing = sum(first.deployed(x) != second.deployed(x) for x in points)
        demand(differing < len(points), "proved equal, and deployed they differ at every input tried")
        if seed % _ASK_Z3 == 0:
            demand(not differ_somewhere(first, second, lo, hi), "z3 finds a difference")
    if isinstance(verdict, Refuted):
        x = inside(verdict.point, lo, hi)
        exact = [Fraction(v) for v in x]
        demand(first.exact(exact) != second.exact(exact), f"equal in exact arithmetic at {x}")
        demand(first.deployed(x) != second.deployed(x), f"equal as deployed at {x}")
    return type(verdict).__name__


def attack_differences(seed: int) -> str:
    """In all of a region the answers are those that were reported, and no difference lies outside."""
    rng = np.random.default_rng(seed)
    a, domain, lo, hi, number = _subject(rng)
    b = disguised(rng, a, number)
    if len(b.classes) != len(a.classes):
        return "not comparable"
    found = differences(a, b, domain, limit=30, samples=200, cpu_limit=CPU_LIMIT)
    first, second = Plain.of(a), Plain.of(b)
    for x, answers in zip(found.points.tolist(), found.answers, strict=True):
        exact = [Fraction(v) for v in x]
        demand((first.exact(exact), second.exact(exact)) == answers, f"{answers} are not the answers at {x}")
        demand((first.deployed(x), second.deployed(x)) == answers, f"{answers} are not the deployed answers at {x}")
    for x in nasty_points([first, second], lo, hi, rng, _POINTS):
        exact = [Fraction(v) for v in x]
        pair = first.exact(exact), second.exact(exact)
        for region, answers in zip(found.regions, found.answers, strict=True):
            demand(x not in region or pair == answers, f"{x} in the region of {answers} has {pair}")
        if found.complete and not found.unseen:
            inside = any(x in region for region in found.regions)
            demand(
                inside == (pair[0] != pair[1]), f"{x} has {pair}, and lies {'in' if inside else 'out of'} the regions"
            )
    return f"{'all' if found.complete else 'some'} regions" if len(found) else "no region"


def attack_closest(seed: int) -> str:
    """No input may be nearer than the distance, and the point must be an input of the domain with that answer."""
    rng = np.random.default_rng(seed)
    mixture, domain, lo, hi, number = _subject(rng)
    centre = [min(max(number(), -1e150), 1e150) for _ in lo]
    norm = rng.choice(["linf", "l1"]).item()
    found = accepted(closest(mixture, centre, norm, domain, cpu_limit=CPU_LIMIT))
    if isinstance(found, Unknown):
        return "Unknown"
    confirmed(found, mixture)
    plain = Plain.of(mixture)
    own = plain.exact([Fraction(v) for v in centre])
    for x in nasty_points([plain], lo, hi, rng, _POINTS):
        if plain.exact([Fraction(v) for v in x]) != own:
            distance = distance_of(x, centre, norm)
            nearer = found.exact_distance is None or distance < found.exact_distance
            demand(not nearer, f"{x} is nearer than {found.distance}")
    return _judge_point(found, plain, own, centre, norm, lo, hi)


def _judge_point(
    found: Closest, plain: Plain, own: Any, centre: list[float], norm: str, lo: list[float], hi: list[float]
) -> str:
    if found.point is None:
        return "none"
    x = inside(found.point, lo, hi)
    demand(plain.deployed(x) == found.answer != own, f"the point {x} is answered {plain.deployed(x)}")
    distance = distance_of(x, centre, norm)
    demand(Fraction(found.distance) <= distance <= Fraction(found.point_distance), f"the point {x} is at {distance}")
    return "found"


def distance_of(x: list[float], centre: list[float], norm: str) -> Fraction:
    """Distance of two inputs, exactly."""
    gaps = [abs(Fraction(a) - Fraction(b)) for a, b in zip(x, centre, strict=True)]
    return max(gaps) if norm == "linf" else sum(gaps, Fraction(0))


def inside(point: Any, lo: list[float], hi: list[float]) -> list[float]:
    """A point as a list; one outside the domain is a wrong verdict."""
    demand(point is not None, "no point")
    x = point.tolist()
    demand(all(a <= v <= b for a, v, b in zip(lo, x, hi, strict=True)), f"{x} is outside the domain")
    return x


def confirmed(verdict: Proved, *models: Any) -> None:
    """Have a proof checked again, from outside."""
    demand(verdict.checked, "a proof was not checked")
    check(verdict.certificate, *models)
