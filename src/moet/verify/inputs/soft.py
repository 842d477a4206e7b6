"""Questions about soft models, by branch and bound over boxes.

A soft answer depends on exponentials, so there are no exact regions: a proof here is a tree of boxes that covers the
domain, in each leaf of which bounds rule out all but one answer. The search bounds in float64 (see
:mod:`moet.verify.inputs.soft_bounds`), the checker with integers. Where two answers meet, boxes never get small enough;
the verdict is Unknown.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.file import digest
from moet.model.flat import FlatMixture
from moet.model.mixture import Mixture
from moet.verify.arguments import json_sides
from moet.verify.checker.certificate import Certificate
from moet.verify.confirm import confirmed
from moet.verify.exact import exactly
from moet.verify.inputs.distance import Norm, distance_of, distances
from moet.verify.inputs.float_doubt import MOST_DOUBTFUL, caveat_of, percent
from moet.verify.inputs.sampling import sample_inputs
from moet.verify.inputs.soft_bounds import Found, Voters, possible_classes
from moet.verify.inputs.soft_tree import SAME, Boxes, SplitTree
from moet.verify.limits import Deadline
from moet.verify.result import Closest, Proved, Refuted, Unknown
from moet.verify.rounding import UNIT, gate_errors, largest_sizes

P = TypeVar("P", bound=Proved)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MAX_BOXES = 1_000_000
"""So many boxes are looked at before the search gives up."""
TOLERANCE = 1e-3
"""Relative difference of the bounds of a distance with which :func:`closest_soft` is content."""

_BATCH = 256
_TRIES = 1000
_OUTWARDS = 1.0 - 1e-12
_RESOLUTION = 1e-9
"""Distances that differ by less than this, relative to the size of the input, are not told apart."""
_HOPELESS = 1e-6
"""What rounding adds to a logit beyond which a proof that the checker does not accept needs no other reason."""
_TIED = "at the input itself two answers are too close to call; give the answer that is looked for"
_TOO_SMALL = "where two answers meet, boxes of the size of rounding errors remain undecided"


def always_soft(
    mixture: Mixture, lo: Floats, hi: Floats, permitted: list[Any], deadline: Deadline
) -> Proved | Refuted | Unknown:
    """Answer :func:`moet.verify.always` for a soft model."""
    forbidden = np.array([label not in permitted for label in mixture.classes.tolist()])

    def never(masks: list[Bools]) -> Bools:
        return ~np.any(masks[0][:, forbidden], axis=1)

    def shows(X: Floats) -> Bools:
        return forbidden[_deployed(mixture, X)]

    claim = {"model": digest(mixture), "lo": json_sides(lo), "hi": json_sides(hi), "answers": permitted}
    return _decide([mixture], lo, hi, never, shows, Certificate("always", claim), deadline)


def equivalent_soft(
    pair: Sequence[Mixture],
    groups: Sequence[NDArray[np.int64]],
    wanted: list[Any] | None,
    lo: Floats,
    hi: Floats,
    deadline: Deadline,
    seed: int,
) -> Proved | Refuted | Unknown:
    """Answer :func:`moet.verify.equivalent` where at least one of the models is soft."""
    digests = [digest(mixture) for mixture in pair]
    claim = {"models": digests, "lo": json_sides(lo), "hi": json_sides(hi), "classes": wanted}
    certificate = Certificate("equivalent", claim)
    if not deadline.passed and are_same(*pair):
        X = sample_inputs(pair, lo, hi, _TRIES, np.random.default_rng(seed))
        first, second = (group[_deployed(mixture, X)] for mixture, group in zip(pair, groups, strict=True))
        return _same(pair, certificate, float(np.mean(first != second)), deadline)
    n_groups = 1 + max(int(group.max()) for group in groups)
    members = [np.arange(n_groups) == group[:, None] for group in groups]

    def agree(masks: list[Bools]) -> Bools:
        a, b = (mask @ member for mask, member in zip(masks, members, strict=True))
        return (a.sum(axis=1) == 1) & np.all(a == b, axis=1)

    def shows(X: Floats) -> Bools:
        a, b = (group[_deployed(mixture, X)] for mixture, group in zip(pair, groups, strict=True))
        surely = [_Bounds(mixture, lo, hi).at(X).sum(axis=1) == 1 for mixture in pair]
        return (a != b) & surely[0] & surely[1]

    return _decide(pair, lo, hi, agree, shows, certificate, deadline)


def _same(pair: Sequence[Mixture], certificate: Certificate, differ: float, deadline: Deadline) -> Proved | Unknown:
    """Verdict on two models that are the same function, unless float64 rounding makes them different ones."""
    effort = {"seconds": deadline.seconds}
    if differ > MOST_DOUBTFUL:
        return Unknown(
            reason="in exact arithmetic the models are the same function, but the deployed models differ at about "
            f"{percent(differ)} of the inputs, by rounding; make the numbers of the gate smaller",
            effort=effort,
        )
    certificate.add(bytes([SAME]))
    return confirmed(
        Proved(certificate=certificate, effort=effort, caveats=caveat_of(differ)), *pair, deadline=deadline
    )


def closest_soft(
    mixture: Mixture, x: Floats, norm: Norm, lo: Floats, hi: Floats, answer: Any, deadline: Deadline, seed: int
) -> Closest | Unknown:
    """Answer :func:`moet.verify.closest` for a soft model, up to a relative ``TOLERANCE`` of the distance."""
    search = _ClosestSoft(mixture, x, norm, lo, hi, answer, deadline, seed)
    reason = search.run()
    effort = {"boxes": search.boxes, "seconds": deadline.seconds}
    if reason:
        return Unknown(reason=reason, effort=effort)
    nearest, upper = search.nearest, search.upper
    distance = min(search.lower, upper) * _OUTWARDS
    exact = None if nearest is None else Fraction(distance)
    if answer is None and exact != 0 and not _is_clear(mixture, x, search.lo, search.hi):
        return Unknown(reason=_TIED, effort=effort)
    claim = {
        "model": digest(mixture),
        "lo": json_sides(lo),
        "hi": json_sides(hi),
        "point": x.tolist(),
        "norm": norm,
        "answer": answer,
        "distance": None if exact is None else str(exact),
    }
    certificate = Certificate("closest", claim)
    if exact != 0:
        is_outside = None if exact is None else partial(_is_outside, x, norm, exact)
        search.tree.write(certificate, lo, hi, is_outside)
    found = Closest(
        distance=distance,
        exact_distance=None,
        point=nearest,
        point_distance=upper / _OUTWARDS,
        answer=None if nearest is None else mixture.classes.tolist()[_deployed(mixture, nearest[None, :])[0]],
        certificate=certificate,
        effort=effort,
    )
    return _confirmed(found, [mixture], lo, hi, deadline)


class _ClosestSoft:
    """Boxes around an input, the nearest ones cut first, until no waiting one is nearer than what was found.

    Attributes
    ----------
    nearest : array or None
        The nearest input with the answer that was found.
    lower : float
        No input with the answer is nearer than this; infinite if none is left to look at.
    """

    def __init__(
        self,
        mixture: Mixture,
        x: Floats,
        norm: Norm,
        lo: Floats,
        hi: Floats,
        answer: Any,
        deadline: Deadline,
        seed: int,
    ) -> None:
        self._mixture, self._x, self._norm, self._deadline = mixture, x, norm, deadline
        own = _deployed(mixture, x[None, :])[0]
        labels = mixture.classes.tolist()
        self._wanted = np.array([k != own if answer is None else label == answer for k, label in enumerate(labels)])
        self.lo, self.hi = lo, hi
        self.tree, self.boxes, self.lower = SplitTree(), 0, 0.0
        self.nearest = self._tried(np.random.default_rng(seed))
        if self.nearest is not None:
            self.lo = np.maximum(lo, np.nextafter(x - self.upper, -np.inf))
            self.hi = np.minimum(hi, np.nextafter(x + self.upper, np.inf))

    @property
    def upper(self) -> float:
        """Distance of what was found."""
        return math.inf if self.nearest is None else float(distances(self._x, self.nearest, self._norm))

    def run(self) -> str:
        """Search; what is told is why it ended too early."""
        bounds, waiting = _Bounds(self._mixture, self.lo, self.hi), Boxes.whole(self.lo, self.hi)
        resolution = _RESOLUTION * (1.0 + float(np.abs(self._x).max()))
        while len(waiting.lo):
            far = _OUTWARDS * distances(self._x, np.clip(self._x, waiting.lo, waiting.hi), self._norm)
            upper = self.upper
            self.lower = float(far.min())
            if self.lower >= upper * (1.0 - TOLERANCE) - resolution:
                return ""
            if self._deadline.passed or self.boxes > MAX_BOXES:
                return f"the distance lies between {self.lower:.6g} and {upper:.6g}, but {_why(self._deadline)}"
            first = np.argsort(far)[:_BATCH]
            batch, waiting = waiting.take(first), waiting.take(np.setdiff1d(np.flatnonzero(far < upper), first))
            self.boxes += len(first)
            mask, feature, place = bounds.of(batch)
            is_open = np.any(mask[:, self._wanted], axis=1)
            self._look_at((batch.lo + (batch.hi - batch.lo) / 2)[is_open][:4])
            halves, too_small = batch.halves(self.tree, feature, place, is_open)
            if too_small:
                return _TOO_SMALL
            waiting = waiting.join(halves)
        self.lower = math.inf
        return ""

    def _tried(self, rng: np.random.Generator) -> Floats | None:
        """The nearest of some inputs that have the answer, moved towards the one in question."""
        X = sample_inputs([self._mixture], self.lo, self.hi, 1000, rng)
        X = np.concatenate([np.clip(self._x, self.lo, self.hi)[None, :], X])
        X = X[self._wanted[_deployed(self._mixture, X)]]
        return self._towards(X[distances(self._x, X, self._norm).argmin()]) if len(X) else None

    def _look_at(self, centres: Floats) -> None:
        """Take middles of boxes that have the answer and are nearer than what was found."""
        for centre in centres:
            if self._has_answer(centre) and distances(self._x, centre, self._norm) < self.upper:
                self.nearest = self._towards(centre)

    def _towards(self, found: Floats) -> Floats:
        """Input with the answer on the way to one that has it."""
        near, far = 0.0, 1.0
        for _ in range(40):
            middle = (near + far) / 2
            near, far = (near, middle) if self._has_answer(self._on_way(found, middle)) else (middle, far)
        y = self._on_way(found, far)
        return y if self._has_answer(y) else found

    def _on_way(self, found: Floats, share: float) -> Floats:
        return np.clip(self._x + share * (found - self._x), self.lo, self.hi)

    def _has_answer(self, x: Floats) -> bool:
        return bool(self._wanted[_deployed(self._mixture, x[None, :])[0]])


def _confirmed(found: P, mixtures: Sequence[Mixture], lo: Floats, hi: Floats, deadline: Deadline) -> P | Unknown:
    """Have a proof checked; the checker allows for more rounding than the search where logits are huge."""
    verdict = confirmed(found, *mixtures, deadline=deadline)
    largest = max(largest_sizes(m.gate_weights, m.gate_bias, lo, hi).max() for m in mixtures)
    if not isinstance(verdict, Unknown) or deadline.passed or largest * UNIT < _HOPELESS:
        return verdict
    reason = f"logits may be as large as {largest:.3g}, and rounding them may change the shares of the experts"
    return replace(verdict, reason=reason)


def _is_clear(mixture: Mixture, x: Floats, lo: Floats, hi: Floats) -> bool:
    """Whether bounds tell what is answered at an input, which may be outside the box in question."""
    return bool(_Bounds(mixture, np.minimum(lo, x), np.maximum(hi, x)).at(x[None, :]).sum() == 1)


def _is_outside(x: Floats, norm: Norm, distance: Fraction, lo: Floats, hi: Floats) -> bool:
    """Whether a box is at least so far away; exactly, as the checker will have it."""
    nearest = np.clip(x, lo, hi)
    rough = float(distances(x, nearest, norm))
    if abs(rough - float(distance)) > 1e-9 * rough:
        return rough > distance
    return distance_of(exactly(x.tolist()), exactly(nearest.tolist()), norm) >= distance


class _Bounds:
    """Bounds of the answers of a mixture in boxes within a box."""

    def __init__(self, mixture: Mixture, lo: Floats, hi: Floats) -> None:
        if not (np.all(np.isfinite(lo)) and np.all(np.isfinite(hi))):
            open_features = [n for n, a, b in zip(mixture.feature_names, lo, hi, strict=True) if math.isinf(b - a)]
            raise InputError(f"questions about soft models need a bounded domain: bound {', '.join(open_features)}")
        flat = FlatMixture.of(mixture.gate_weights, mixture.gate_bias, mixture.trees)
        errors = gate_errors(mixture.gate_weights, mixture.gate_bias, lo, hi)
        self._voters = Voters(flat.routing, errors, flat.value, mixture.prediction == "soft")
        self._n_classes = len(mixture.classes)

    def of(self, boxes: Boxes) -> Found:
        """Classes that may be answered in each box, and where to cut it: feature and place."""
        found = Found.room(len(boxes.lo), self._n_classes)
        possible_classes(*map(np.ascontiguousarray, boxes[:3]), self._voters, found)
        return found

    def at(self, X: Floats) -> Bools:
        """Classes that may be answered at each input."""
        return self.of(Boxes.points(X))[0]


def _decide(
    mixtures: Sequence[Mixture],
    lo: Floats,
    hi: Floats,
    is_fine: Callable[[list[Bools]], Bools],
    shows: Callable[[Floats], Bools],
    certificate: Certificate,
    deadline: Deadline,
) -> Proved | Refuted | Unknown:
    """Cut a box until each piece is fine, judged by the classes possible in it, or its middle is a counterexample."""
    bounds, tree = [_Bounds(mixture, lo, hi) for mixture in mixtures], SplitTree()
    waiting, looked_at, stuck = Boxes.whole(lo, hi), 0, 0
    while len(waiting.lo):
        effort = {"boxes": looked_at, "seconds": deadline.seconds}
        if deadline.passed or looked_at > MAX_BOXES:
            return Unknown(reason=f"{len(waiting.lo)} boxes remain undecided, but {_why(deadline)}", effort=effort)
        batch, waiting = waiting.take(slice(-_BATCH, None)), waiting.take(slice(0, -_BATCH))
        looked_at += len(batch.lo)
        masks, features, places = zip(*(bound.of(batch) for bound in bounds), strict=True)
        undecided = ~is_fine(list(masks))
        middles = (batch.lo + (batch.hi - batch.lo) / 2)[undecided]
        if len(middles) and np.any(shown := shows(middles)):
            point = middles[shown.argmax()]
            answers = tuple(mixture.predict(point[None, :]).tolist()[0] for mixture in mixtures)
            return Refuted(point=point, answers=answers, effort=effort)
        # cut where a model that is still undecided wants it
        second = (masks[0].sum(axis=1) == 1) if len(masks) == 2 else np.zeros(len(batch.lo), dtype=bool)
        feature, place = np.where(second, features[-1], features[0]), np.where(second, places[-1], places[0])
        halves, too_small = batch.halves(tree, feature, place, undecided)
        waiting, stuck = waiting.join(halves), stuck + too_small
    effort = {"boxes": looked_at, "seconds": deadline.seconds}
    if stuck:
        return Unknown(reason=_TOO_SMALL, effort=effort)
    tree.write(certificate, lo, hi)
    return _confirmed(Proved(certificate=certificate, effort=effort), mixtures, lo, hi, deadline)


def _why(deadline: Deadline) -> str:
    return deadline.reason if deadline.passed else f"the limit of {MAX_BOXES} boxes was reached"


def _deployed(mixture: Mixture, X: Floats) -> NDArray[np.intp]:
    """Index of the class that the deployed predictor answers to every row."""
    return mixture.votes(X).argmax(axis=1)


def are_same(a: Mixture, b: Mixture) -> bool:
    """Whether two soft mixtures are the same function: equal trees behind gates that differ by a common logit."""
    if a.prediction != "soft" or b.prediction != "soft" or not np.array_equal(a.classes, b.classes):
        return False
    parts = _parts(a, 0)
    return any(parts == _parts(b, reference) for reference in range(b.n_experts))


def _parts(mixture: Mixture, reference: int) -> Counter[tuple[Any, ...]]:
    """Experts as what they are: a tree, and exact differences of gate numbers from a reference expert."""
    gate = [[Fraction(v) for v in row] for row in np.column_stack([mixture.gate_weights, mixture.gate_bias]).tolist()]
    return Counter(
        (
            *(u - v for u, v in zip(row, gate[reference], strict=True)),
            *(getattr(tree, name).tobytes() for name in ("feature", "threshold", "left", "right", "value")),
        )
        for row, tree in zip(gate, mixture.trees, strict=True)
    )
