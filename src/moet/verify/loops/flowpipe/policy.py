"""What a policy does on a set of states: one affine law for all leaves that may answer, and how far they are from it.

Where a leaf answers, conditions hold (*guards*: its expert is ahead, its tests went its way, an output is between its
bounds or beyond one). The difference between a leaf's law and the common one is bounded by weak duality: its largest
value on the set where the guards are not negative is at most that of it plus multiples of them on all of the set.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.model.regression.mixture import RegressionMixture
from moet.model.tree import LEAF
from moet.verify.loops.flowpipe.forms import on_box
from moet.verify.loops.flowpipe.labels import laws_of, spreads_of
from moet.verify.rounding import UNIT
from moet.verify.systems.controls import observed
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

LAW, AT_LOW, AT_HIGH = range(3)

_TOUCH = 1e-12
"""Sets that come so near to what a leaf answers, relative to sizes, count as touching it."""

_SAMPLES = 120
_ROUNDS = 3
"""Samples to which the common law is fitted; rounds in which multipliers are improved one by one."""


class Seen(NamedTuple):
    """Features of a set: a zonotope, the error of each, and the columns of both."""

    middle: Floats
    columns: Floats
    errors: Floats

    @property
    def all_columns(self) -> Floats:
        """Columns, and those of the errors."""
        return np.concatenate([self.columns, np.diag(self.errors)], axis=1)


class Multiplier(NamedTuple):
    """A guard of a case of a leaf, and the number it is multiplied with."""

    expert: int
    leaf: int
    output: int
    place: int
    side: int
    guard: int
    factor: float


class Law(NamedTuple):
    """Controls on a set: slopes and values per feature and output, what may be added, and how that is shown.

    ``given`` says whether the law has to be given to the checker; it finds that of a single leaf by itself.
    """

    slopes: Floats
    values: Floats
    low: Floats
    high: Floats
    multipliers: list[Multiplier]
    given: bool


class Leaf(NamedTuple):
    """A leaf that may answer."""

    expert: int
    node: int
    rows: Floats
    bounds: Floats
    """Guards: rows·y + bounds >= 0."""


class Case(NamedTuple):
    """Leaves that have the same laws, and the sides of the columns of a set between which one of them may answer."""

    leaves: list[Leaf]
    low: Floats
    high: Floats


class Acting:
    """A mixture that acts on a system.

    Attributes
    ----------
    mixture : RegressionMixture
        Laws; those of a model that answers with labels are constants.
    jumps : bool
        Whether all laws are constants: then no law is close to several of them.
    changes : bool
        Whether there is more than one leaf.
    random : numpy.random.Generator
        Where laws are fitted to samples.
    """

    def __init__(self, model: Mixture | RegressionMixture, system: System) -> None:
        self.mixture, self.system = laws_of(model, system), system
        self._spreads = spreads_of(model, system)
        self.changes = self.mixture.n_experts > 1 or any(len(tree.feature) > 1 for tree in self.mixture.trees)
        self.jumps = all(tree.slope is None or not np.any(tree.slope) for tree in self.mixture.trees)
        least, most = (np.array(side, np.float64) for side in zip(*system.controls.values(), strict=True))
        self.low, self.high = (np.clip(side, least, most) for side in (self.mixture.low, self.mixture.high))
        self._noise = np.array(system.noise, np.float64)
        self.random = np.random.default_rng(0)

    def seen(self, middle: Floats, columns: Floats) -> Seen:
        """What the policy sees of a zonotope of states."""
        system, errors = self.system, self._noise
        if system.observe:
            radii = np.abs(columns).sum(axis=1)
            expressions = list(system.observe.values())
            forms = on_box(
                lambda known, algebra: [e.value(known, algebra) for e in expressions],
                list(system.states),
                middle,
                radii,
                {},
            )
            matrix = np.array([form.slopes for form in forms])
            middle, columns = np.array([form.center for form in forms]), matrix @ columns
            errors = errors + [form.radius for form in forms]
        size = np.abs(middle) + np.abs(columns).sum(axis=1) + errors
        return Seen(middle, columns, errors + size * (2.0**-23 if system.float32_observations else 2.0**-51))

    def law(self, seen: Seen, states: tuple[Floats, Floats], leaves: list[Leaf]) -> Law:
        """A law for all of a set, which has this middle and these columns, and in which these leaves may answer."""
        alone = self._are_alike(leaves)
        if alone and not self._may_clip(seen, leaves[0]):
            slopes, values = self.law_of(leaves[0])
            errors = self._errors(leaves[0], seen)
            return Law(slopes, values, -errors, errors, [], given=False)
        candidates = [self._fitted(states)] + ([self.law_of(leaves[0])] if alone else [])
        laws = [self._bounded(seen, leaves, slopes, values) for slopes, values in candidates]
        return min(laws, key=lambda law: float((law.high - law.low).sum()))

    def cases(self, seen: Seen, leaves: list[Leaf]) -> list[Case]:
        """Leaves that have the same laws each, and where they may answer."""
        groups: dict[bytes, list[Leaf]] = {}
        for leaf in leaves:
            laws = [*self.law_of(leaf), self._spreads[leaf.expert][leaf.node]]
            groups.setdefault(b"".join(part.tobytes() for part in laws), []).append(leaf)
        return [Case(group, *self._sides(seen, group)) for group in groups.values()]

    def _sides(self, seen: Seen, leaves: list[Leaf]) -> tuple[Floats, Floats]:
        n = seen.columns.shape[1]
        found = [narrowed(n, leaf.rows @ seen.columns, _levels(seen, leaf)) for leaf in leaves]
        sides = [side for side in found if side is not None] or [nobody(n)]
        return np.min([low for low, _ in sides], axis=0), np.max([high for _, high in sides], axis=0)

    def _are_alike(self, leaves: list[Leaf]) -> bool:
        """Whether leaves have the same laws."""
        laws = [(*self.law_of(leaf), self._spreads[leaf.expert][leaf.node]) for leaf in leaves]
        return all(np.array_equal(a, b) for law in laws[1:] for a, b in zip(law, laws[0], strict=True))

    def leaves(self, seen: Seen) -> list[Leaf]:
        """Leaves that may answer somewhere, or all but touch a set, for the checker rounds outward."""
        radii = np.abs(seen.all_columns).sum(axis=1)
        radii += _TOUCH * (1 + np.abs(seen.middle) + radii)
        low, high = seen.middle - radii, seen.middle + radii
        found = []
        for expert in range(self.mixture.n_experts):
            rows, bounds = self._lead(expert, seen)
            if np.any(rows @ seen.middle + bounds + _reach(rows, bounds, seen) < 0):
                continue
            found += self._leaves_of(expert, rows, bounds, low, high)
        return found

    def _lead(self, expert: int, seen: Seen) -> tuple[Floats, Floats]:
        """How far an expert is ahead of each rival, rounding included."""
        weights, bias = self.mixture.gate_weights, self.mixture.gate_bias
        if len(bias) == 1:
            return np.zeros((0, len(seen.middle))), np.zeros(0)
        errors = _sum_errors(bias, weights, seen)
        rivals = [k for k in range(len(bias)) if k != expert]
        return weights[expert] - weights[rivals], bias[expert] - bias[rivals] + errors[expert] + errors[rivals]

    def _leaves_of(self, expert: int, rows: Floats, bounds: Floats, low: Floats, high: Floats) -> list[Leaf]:
        tree, found, waiting = self.mixture.trees[expert], [], [(0, rows, bounds)]
        while waiting:
            node, rows, bounds = waiting.pop()
            k = tree.feature[node]
            if k == LEAF:
                found.append(Leaf(expert, node, rows, bounds))
                continue
            threshold, unit = tree.threshold[node], np.eye(len(low))[k]
            if high[k] > threshold:
                waiting.append((int(tree.right[node]), np.vstack([rows, unit]), np.append(bounds, -threshold)))
            if low[k] <= threshold:
                waiting.append((int(tree.left[node]), np.vstack([rows, -unit]), np.append(bounds, threshold)))
        return found

    def law_of(self, leaf: Leaf) -> tuple[Floats, Floats]:
        """Slopes and values of a leaf, before clipping."""
        tree = self.mixture.trees[leaf.expert]
        slopes = np.zeros((tree.n_outputs, self.mixture.n_features)) if tree.slope is None else tree.slope[leaf.node]
        return slopes, tree.value[leaf.node]

    def _errors(self, leaf: Leaf, seen: Seen) -> Floats:
        """Errors of the float64 sums of a leaf, and how far the effect of its action may be from them."""
        slopes, values = self.law_of(leaf)
        return np.asarray(_sum_errors(values, slopes, seen) + self._spreads[leaf.expert][leaf.node])

    def _may_clip(self, seen: Seen, leaf: Leaf) -> bool:
        slopes, values = self.law_of(leaf)
        if not np.any(slopes) and np.all((self.low <= values) & (values <= self.high)):
            return False
        center, spread = slopes @ seen.middle + values, np.abs(slopes @ seen.all_columns).sum(axis=1)
        slack = 1e-12 * (1 + np.abs(center) + spread)
        return bool(np.any(center - spread - slack < self.low) or np.any(center + spread + slack > self.high))

    def _fitted(self, states: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """The affine law that is closest to what the policy does at random points of the set."""
        middle, columns = states
        t = self.random.uniform(-1, 1, (_SAMPLES, columns.shape[1]))
        t[: _SAMPLES // 2] = np.sign(t[: _SAMPLES // 2])
        features = observed(self.system, middle + t @ columns.T)
        wanted = np.clip(self.mixture.predict(features), self.low, self.high)
        center = features.mean(axis=0)
        scale = np.maximum(np.abs(features - center).max(axis=0), 1e-12)
        design = np.concatenate([(features - center) / scale, np.ones((len(t), 1))], axis=1)
        solution = np.linalg.lstsq(design, wanted, rcond=1e-7)[0]
        slopes = (solution[:-1] / scale[:, None]).T
        return slopes, solution[-1] - slopes @ center

    def _bounded(self, seen: Seen, leaves: list[Leaf], slopes: Floats, values: Floats) -> Law:
        n = len(values)
        low, high = np.full(n, np.inf), np.full(n, -np.inf)
        multipliers: list[Multiplier] = []
        for leaf in leaves:
            laws, offsets = self.law_of(leaf)
            rounding = self._errors(leaf, seen)
            for o in range(n):
                for place, row, constant, rows, bounds in self._cases(seen, leaf, laws[o], float(offsets[o]), o):
                    for side, sign in ((0, 1.0), (1, -1.0)):
                        line, value = sign * (row - slopes[o]), sign * (constant - values[o])
                        most, factors = _most(seen, line, value, rows, bounds)
                        multipliers += [
                            Multiplier(leaf.expert, leaf.node, o, place, side, guard, factor)
                            for guard, factor in enumerate(factors.tolist())
                            if factor > 0
                        ]
                        if side == 0:
                            high[o] = max(high[o], most + rounding[o])
                        else:
                            low[o] = min(low[o], -most - rounding[o])
        return Law(slopes, values, low, high, multipliers, given=True)

    def _cases(
        self, seen: Seen, leaf: Leaf, row: Floats, value: float, o: int
    ) -> list[tuple[int, Floats, float, Floats, Floats]]:
        """Places of an output of a leaf: the line that it is there, and guards of the place."""
        center, spread = float(row @ seen.middle) + value, float(np.abs(row @ seen.all_columns).sum())
        low, high, zero = float(self.low[o]), float(self.high[o]), np.zeros(len(row))
        cases = []
        if center + spread >= low and center - spread <= high:
            rows, bounds = np.vstack([leaf.rows, row, -row]), np.append(leaf.bounds, [value - low, high - value])
            cases.append((LAW, row, value, rows, bounds))
        if center - spread < low:
            cases.append((AT_LOW, zero, low, np.vstack([leaf.rows, -row]), np.append(leaf.bounds, low - value)))
        if center + spread > high:
            cases.append((AT_HIGH, zero, high, np.vstack([leaf.rows, row]), np.append(leaf.bounds, value - high)))
        return cases


def still_answering(leaves: list[Leaf], only: list[Leaf]) -> list[Leaf]:
    """Those of the leaves that are in a case; if none is, its first one, of which nothing is known to hold.

    A set was cut to where its case may answer, so fewer leaves may than before the cut. The checker does the same.
    """
    names = {(leaf.expert, leaf.node) for leaf in only}
    found = [leaf for leaf in leaves if (leaf.expert, leaf.node) in names]
    first = only[0]
    return found or [Leaf(first.expert, first.node, np.zeros((0, first.rows.shape[1])), np.zeros(0))]


def _reach(rows: Floats, bounds: Floats, seen: Seen) -> Floats:
    """How far rows may be from their values in the middle of a set, and a little more."""
    reach = np.abs(rows @ seen.all_columns).sum(axis=1)
    return np.asarray(reach + _TOUCH * (1 + reach + np.abs(rows) @ np.abs(seen.middle) + np.abs(bounds)))


def _levels(seen: Seen, leaf: Leaf) -> Floats:
    """Guards of a leaf in the middle of a set, and a little more than the errors of what is seen."""
    spread = np.abs(leaf.rows) @ seen.errors
    size = np.abs(leaf.rows) @ np.abs(seen.middle) + np.abs(leaf.bounds)
    return np.asarray(leaf.rows @ seen.middle + leaf.bounds + spread + 1e-11 * size + 1e-15)


def nobody(n: int) -> tuple[Floats, Floats]:
    """Sides of t where nobody is, as the checker takes them."""
    return np.zeros(n), np.zeros(n)


def narrowed(
    n: int, rows: Floats, levels: Floats, sides: tuple[Floats, Floats] | None = None
) -> tuple[Floats, Floats] | None:
    """Sides of t, from -1 to 1 at first if none are given, where rows·t + levels >= 0; None if that is nowhere."""
    low, high = (np.full(n, -1.0), np.full(n, 1.0)) if sides is None else sides
    for row, level in [*zip(rows, levels, strict=True)] * 2:
        best = np.maximum(row * low, row * high)
        room = float(best.sum() + level)
        if room < 0:
            return None
        least = best - room
        with np.errstate(all="ignore"):
            bound = least / row
        low = np.where((row > 0) & (bound > low), np.minimum(bound, high), low)
        high = np.where((row < 0) & (bound < high), np.maximum(bound, low), high)
    return low, high


def _sum_errors(values: Floats, slopes: Floats, seen: Seen) -> Floats:
    """Errors of sums of products in float64."""
    size = np.abs(values) + np.abs(slopes) @ (np.abs(seen.middle) + np.abs(seen.all_columns).sum(axis=1))
    return np.where(np.any(slopes, axis=1), size * (slopes.shape[1] + 2) * UNIT, 0.0)


def _most(seen: Seen, row: Floats, value: float, rows: Floats, bounds: Floats) -> tuple[float, Floats]:
    """Bound row·y + value where the guards are not negative, and the multipliers that show it."""
    columns = seen.all_columns
    part, parts = row @ columns, rows @ columns
    levels = rows @ seen.middle + bounds
    factors = np.zeros(len(bounds))
    for _ in range(_ROUNDS):
        before = factors.copy()
        for k in range(len(bounds)):
            rest = part + (factors @ parts - factors[k] * parts[k])
            factors[k] = _best_factor(rest, parts[k], levels[k])
        if np.array_equal(before, factors):
            break
    bound = value + row @ seen.middle + factors @ levels + np.abs(part + factors @ parts).sum()
    plain = value + row @ seen.middle + np.abs(part).sum()
    return (float(bound), factors) if bound < plain else (float(plain), np.zeros(len(bounds)))


def _best_factor(rest: Floats, part: Floats, level: float) -> float:
    """The λ >= 0 at which Σ|rest + λ·part| + λ·level is least: where its slope changes sign."""
    slope = float(np.where(rest == 0, np.abs(part), np.sign(rest) * part).sum()) + level
    if slope >= 0:
        return 0.0
    turns = rest * part < 0
    if not turns.any():
        return 0.0
    places = -rest[turns] / part[turns]
    order = np.argsort(places)
    slopes = slope + np.cumsum(2 * np.abs(part[turns])[order])
    reached = int(np.searchsorted(slopes, 0.0))
    return float(places[order][min(reached, len(places) - 1)])
