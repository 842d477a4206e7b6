"""Questions about sums of trees with nasty numbers, and forged proofs about them."""

from __future__ import annotations

from array import array
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from attack.inputs import CPU_LIMIT, confirmed, demand, distance_of, inside
from attack.judge import Plain, accepted, nasty_points
from attack.models import nasty_box, nasty_tree, number_source
from moet import Box, Mixture, Tree
from moet.errors import CertificateError
from moet.model.file import digest
from moet.verify import Certificate, Closest, Proved, Refuted, always, check, closest, equivalent

_POINTS = 60
VOTES = (0.0, 0.25, 0.5, 1.0 / 3.0, 0.1, 0.3, 2.0**-60, 1e-300, 5e-324)


class Votes(NamedTuple):
    """A sum of trees in lists: tests as :class:`Plain` has them, and the votes of every node."""

    plain: Plain
    votes: list[list[list[float]]]

    @classmethod
    def of(cls, mixture: Mixture) -> Votes:
        """Read the arrays of a mixture."""
        return cls(Plain.of(mixture), [tree.value.tolist() for tree in mixture.trees])

    def answers(self, x: list[float]) -> tuple[int, int]:
        """The class with the most votes in float64, added up tree by tree, and in exact arithmetic."""
        rows = [votes[self._leaf(t, x)] for t, votes in enumerate(self.votes)]
        n_classes = len(self.plain.classes)
        rounded, exact = [0.0] * n_classes, [Fraction(0)] * n_classes
        for row in rows:
            rounded = [total + vote for total, vote in zip(rounded, row, strict=True)]
            exact = [total + Fraction(vote) for total, vote in zip(exact, row, strict=True)]
        rounded = [total / len(rows) for total in rounded]
        return rounded.index(max(rounded)), exact.index(max(exact))

    def _leaf(self, t: int, x: list[float]) -> int:
        tree, node = self.plain.trees[t], 0
        while tree.feature[node] >= 0:
            node = (tree.left if x[tree.feature[node]] <= tree.threshold[node] else tree.right)[node]
        return node


class Subject(NamedTuple):
    """A sum of trees, the same in lists, and a domain."""

    mixture: Mixture
    votes: Votes
    domain: Box
    lo: list[float]
    hi: list[float]


def attack_sum(seed: int) -> str:
    """What is proved of a sum of trees must hold as deployed and in exact arithmetic, and of forged proofs too."""
    rng = np.random.default_rng(seed)
    subject, number = _subject(rng)
    if rng.random() < 0.3:
        return _attack_pair(subject, rng)
    if rng.random() < 0.5:
        answer = str(rng.integers(len(subject.mixture.classes)))
        verdict = accepted(always(subject.mixture, subject.domain, [answer], cpu_limit=CPU_LIMIT))
        _judge_always(verdict, subject, [answer], rng)
    else:
        centre = [min(max(number(), -1e150), 1e150) for _ in subject.lo]
        norm = rng.choice(["linf", "l1"]).item()
        verdict = accepted(closest(subject.mixture, centre, norm, subject.domain, cpu_limit=CPU_LIMIT))
        if isinstance(verdict, Closest):
            _judge_closest(verdict, subject, rng)
    if isinstance(verdict, Proved):
        confirmed(verdict, subject.mixture)
        return f"{type(verdict).__name__}, forged: {_forge(verdict, subject, rng)}"
    return type(verdict).__name__


def _attack_pair(subject: Subject, rng: np.random.Generator) -> str:
    """What is proved of two sums must hold in exact arithmetic, and a forged proof must not be accepted of others."""
    other, third = _like(subject, rng), _like(subject, rng)
    verdict = accepted(equivalent(subject.mixture, other.mixture, subject.domain, cpu_limit=CPU_LIMIT))
    if isinstance(verdict, Refuted):
        x = inside(verdict.point, subject.lo, subject.hi)
        pairs = zip(subject.votes.answers(x), other.votes.answers(x), strict=True)
        demand(all(a != b for a, b in pairs), f"{x} is no counterexample")
    if not isinstance(verdict, Proved):
        return f"pair, {type(verdict).__name__}"
    demand(_refuting_pair(subject, other, rng) is None, "the sums are not equivalent")
    confirmed(verdict, subject.mixture, other.mixture)
    models = [digest(one.mixture) for one in (subject, third)]
    forged = Certificate("equivalent", verdict.certificate.claim | {"models": models})
    for codes, refs, numbers in verdict.certificate._read_blocks():
        forged.add(*_changed(rng, bytearray(codes), array("i", refs)), numbers)
    try:
        check(forged, subject.mixture, third.mixture)
    except CertificateError:
        return "pair, Proved, forged: refused"
    x = _refuting_pair(subject, third, rng)
    demand(x is None, f"a forged proof was accepted, and {x} refutes it")
    return "pair, Proved, forged: accepted, true"


def _like(subject: Subject, rng: np.random.Generator) -> Subject:
    """A sum like another: in another order, with other votes in one tree, or less one tree."""
    trees = list(subject.mixture.trees)
    own = int(rng.integers(len(trees)))
    match int(rng.integers(3)):
        case 0:
            rng.shuffle(trees)
        case 1:
            trees[own] = _voting(rng, trees[own])
        case 2:
            trees.pop(own)
    n_trees, n_features = len(trees), subject.mixture.n_features
    mixture = Mixture(
        np.zeros((n_trees, n_features)), np.zeros(n_trees), trees, subject.mixture.classes, prediction="soft"
    )
    return subject._replace(mixture=mixture, votes=Votes.of(mixture))


def _refuting_pair(first: Subject, second: Subject, rng: np.random.Generator) -> list[float] | None:
    points = nasty_points([first.votes.plain, second.votes.plain], first.lo, first.hi, rng, _POINTS)
    points = [x for x in points if not first.votes.plain.overflows(x)]
    return next((x for x in points if first.votes.answers(x)[1] != second.votes.answers(x)[1]), None)


def _subject(rng: np.random.Generator) -> tuple[Subject, Any]:
    number = number_source(rng)
    n_features, n_classes, n_trees = int(rng.integers(1, 4)), int(rng.integers(2, 4)), int(rng.integers(2, 9))
    trees = [nasty_tree(rng, n_features, n_classes, int(rng.integers(0, 4)), number) for _ in range(n_trees)]
    if rng.random() < 0.8:
        trees = [_voting(rng, tree) for tree in trees]
    weights = np.zeros((n_trees, n_features))
    if rng.random() < 0.2:
        weights += rng.choice([1.0, -1e90, 1e-300])
    names = [str(c) for c in range(n_classes)]
    mixture = Mixture(weights, np.full(n_trees, rng.choice([0.0, 1e50])), trees, names, prediction="soft")
    domain = nasty_box(rng, mixture, number)
    lo, hi = domain.bounds(mixture.feature_names)
    return Subject(mixture, Votes.of(mixture), domain, lo.tolist(), hi.tolist()), number


def _voting(rng: np.random.Generator, tree: Tree) -> Tree:
    """The same tests with votes that tie, nearly tie, vanish or are ordinary."""
    value = rng.choice(VOTES, size=tree.value.shape) if rng.random() < 0.5 else rng.random(tree.value.shape)
    value[:, 0] = np.maximum(1.0 - value[:, 1:].sum(axis=1), 0.0)
    return Tree(tree.feature, tree.threshold, tree.left, tree.right, value / value.sum(axis=1, keepdims=True))


def _judge_always(verdict: Any, subject: Subject, permitted: list[str], rng: np.random.Generator) -> None:
    if isinstance(verdict, Proved):
        x = _refuting_always(subject, permitted, rng)
        demand(x is None, f"{x} has another answer, proved {permitted}")
    if isinstance(verdict, Refuted):
        x = inside(verdict.point, subject.lo, subject.hi)
        demand(str(subject.votes.answers(x)[0]) not in permitted, f"{x} is no counterexample")


def _refuting_always(subject: Subject, permitted: list[str], rng: np.random.Generator) -> list[float] | None:
    points = _points(subject, rng)
    return next((x for x in points if any(str(c) not in permitted for c in subject.votes.answers(x))), None)


def _judge_closest(found: Closest, subject: Subject, rng: np.random.Generator) -> None:
    claim = found.certificate.claim
    x = _refuting_closest(subject, claim, rng)
    demand(x is None, f"{x} is nearer than {found.distance}")
    if found.point is not None:
        y = inside(found.point, subject.lo, subject.hi)
        own = subject.votes.answers(claim["point"])[1]
        demand(all(c != own for c in subject.votes.answers(y)), f"{y} has no other answer")
        away = distance_of(y, claim["point"], claim["norm"])
        demand(Fraction(found.distance) <= away <= Fraction(found.point_distance), f"{y} is at {away}")


def _refuting_closest(subject: Subject, claim: dict[str, Any], rng: np.random.Generator) -> list[float] | None:
    centre, limit = claim["point"], claim["distance"]
    own = subject.votes.answers(centre)[1]
    near = [[min(max(c, a), b) for c, a, b in zip(centre, subject.lo, subject.hi, strict=True)]]
    for x in near + _points(subject, rng):
        mixed = [c if rng.random() < 0.5 else v for c, v in zip(near[0], x, strict=True)]
        for y in (x, mixed):
            inner = limit is None or distance_of(y, centre, claim["norm"]) < Fraction(limit)
            if inner and any(c != own for c in subject.votes.answers(y)):
                return y
    return None


def _points(subject: Subject, rng: np.random.Generator) -> list[list[float]]:
    points = nasty_points([subject.votes.plain], subject.lo, subject.hi, rng, _POINTS)
    return [x for x in points if not subject.votes.plain.overflows(x)]


def _forge(proved: Proved, subject: Subject, rng: np.random.Generator) -> str:
    """Change claim or records; what is accepted all the same must be true."""
    claim = dict(proved.certificate.claim)
    if rng.random() < 0.5 and claim.get("distance") is not None:
        claim["distance"] = str(Fraction(claim["distance"]) * Fraction(rng.choice(["1000001/1000000", "2", "1/2"])))
    elif rng.random() < 0.3 and "answers" in claim:
        claim["answers"] = [str(rng.integers(len(subject.mixture.classes)))]
    forged = Certificate(proved.certificate.kind, claim)
    for codes, refs, numbers in proved.certificate._read_blocks():
        forged.add(*_changed(rng, bytearray(codes), array("i", refs)), numbers)
    try:
        check(forged, subject.mixture)
    except CertificateError:
        return "refused"
    refuted = _refuting_always(subject, claim["answers"], rng) if "answers" in claim else None
    refuted = _refuting_closest(subject, claim, rng) if "distance" in claim else refuted
    demand(refuted is None, f"a forged proof was accepted, and {refuted} refutes it: {claim}")
    return "accepted, true"


def _changed(rng: np.random.Generator, codes: bytearray, refs: array[int]) -> tuple[bytearray, array[int]]:
    match int(rng.integers(5)):
        case 0 if len(codes):
            codes[int(rng.integers(len(codes)))] = int(rng.choice([0, 3, 7, 255]))
        case 1 if len(refs):
            refs[int(rng.integers(len(refs)))] += int(rng.choice([-1, 1, 10**6]))
        case 2:
            codes, refs = bytearray([3]), array("i")
        case 3 if len(codes) > 1:
            codes = codes[:-1]
    return codes, refs
