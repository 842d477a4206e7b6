"""From a table to a mixture of laws: one expert first, then a race of starts, EM, a hard phase and a joint one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from moet.model.bins import Bins, bin_table, no_bins
from moet.model.gate import Scaler
from moet.model.init import cluster_centres, nearest_centre
from moet.model.regression.em import STUB, TrainingRows, hard_round, soft_round
from moet.model.regression.grow import GrowOptions
from moet.model.regression.joint import improve
from moet.model.regression.leaves import fit_laws
from moet.model.regression.mixture import RegressionMixture
from moet.model.regression.state import Rows, State, Units
from moet.model.solve import Singles
from moet.model.table import Table, split

Floats = NDArray[np.float64]

SMALL_TABLE = 50
"""Tables of fewer distinct rows hold nothing out: models are then judged by the rows they were trained on."""

MOST_HELD_OUT, MOST_FITTED, RACE_ROWS = 10_000, 50_000, 3_000
"""Rows to judge by, to train on (only the last steps see more), and to race starting points on."""

AFFINE_BINS, CONSTANT_BINS = 32, 255
"""Places to look for a split at: affine laws on both sides make up for a threshold that is a little off."""

RIDGES = (1.0, 50.0)
"""Rows that the law for all rows weighs in the laws of leaves; noisy targets want the second. It itself is drawn to
zero by the first."""

SURVIVORS, SAME = 2, 1e-3
"""How many starting points run on all rows, and the relative difference of errors below which two are the same."""

NEGLIGIBLE = 1e-4
"""Share of the targets' variance that nobody wants more than one law for, however surely it is gained."""

RACE_ROUNDS, CLUSTER_ROUNDS, OWN_SHARE = 3, 20, 0.9
GATE_L2, GATE_STEPS = 1e-4, 25
"""Rounds of a race and of clustering for a start; what a start gives to an owner, and how its gate is fitted to it."""

WATCHED_STEPS = 5
"""Every so many steps of the joint phase are judged."""

LAST_STEPS = 30
"""Steps on all rows, once the held-out ones have done their work."""


@dataclass(frozen=True)
class Settings:
    """Parameters of :class:`moet.MoETRegressor` that training needs; weights are relative to a mean of 1."""

    n_experts: int
    max_depth: int
    affine: bool
    soft: bool
    min_samples_leaf: float | None
    ridge: float | None
    n_init: int
    max_iter: int
    hard_iter: int
    joint_iter: int
    validation_fraction: float


@dataclass
class Judge:
    """Keeps the best state so far, by the error on the rows to judge by."""

    rows: Rows
    soft: bool
    best: State | None = None
    least: float = np.inf
    errors: list[float] = field(default_factory=list)

    def squares(self, state: State, leaf: NDArray[np.int32] | None = None) -> Floats:
        """Squared error of every row."""
        return state.squares(self.rows, self.rows.leaves(state.tests) if leaf is None else leaf, self.soft)

    def error(self, state: State, leaf: NDArray[np.int32] | None = None) -> float:
        """Mean squared error of a state."""
        return self._mean(self.squares(state, leaf))

    def is_no_worse(self, plain: State, other: State) -> bool:
        """Whether what ``other`` gains on ``plain`` is less than the standard error of that gain, or negligible."""
        gain = self.squares(plain) - self.squares(other)
        spread = self._mean((gain - self._mean(gain)) ** 2) / len(gain)
        return self._mean(gain) <= max(np.sqrt(spread), NEGLIGIBLE)

    def _mean(self, numbers: Floats) -> float:
        return float(self.rows.weight @ numbers / self.rows.weight.sum())

    def consider(self, state: State, leaf: NDArray[np.int32] | None = None) -> float:
        """Measure a state, and keep it if it is better than all before."""
        error = self.error(state, leaf)
        self.errors.append(error)
        if error < self.least:
            self.best, self.least = state, error
        return error


def train(
    table: Table, targets: Floats, low: Floats, high: Floats, settings: Settings, rng: np.random.Generator
) -> tuple[RegressionMixture, list[float]]:
    """Fit a mixture to the rows of a table of mean weight 1; returns it, and the errors of all that was considered."""
    target_table = Table(targets, np.arange(len(table), dtype=np.int32), table.y, table.weight, None, 1)
    units = Units(Scaler.of(table), Scaler.of(target_table), low, high)
    standard = (targets - units.targets.mean) * units.targets.inverse_scale
    everyone = Rows(table, standard, units, settings.affine)
    taught, asked = table.weight, np.zeros(len(table))
    if len(table) >= SMALL_TABLE:
        taught, asked = split(table, min(settings.validation_fraction, MOST_HELD_OUT / len(table)), rng)
    holds_out = bool(asked.any())
    kept = np.flatnonzero(taught)[:MOST_FITTED]
    judge = Judge(everyone.take(np.flatnonzero(asked), asked) if holds_out else everyone, settings.soft)
    rows = everyone.take(kept, taught)
    prior = _law_for_all(rows)
    training = TrainingRows(rows, _bins(rows.table, settings), prior)
    ridge = RIDGES[0]
    candidates = _options(training, settings, holds_out)
    thetas: list[Floats] = []
    for options in candidates:
        least = judge.least
        _one_expert(training, judge, options, settings)
        if settings.n_experts > 1:
            thetas = thetas or _starts(training, judge, options, settings, rng)
            _mixtures(training, judge, thetas, options, settings)
        ridge = options.ridge if judge.least < least else ridge
    state = judge.best
    assert state is not None
    plain = _one_law(training)
    if holds_out and judge.is_no_worse(plain, state):
        state = plain
    if holds_out or len(kept) < len(table):
        state = _on_all_rows(state, everyone, prior, ridge, settings)
    return state.freeze(units, settings.soft), judge.errors


def _on_all_rows(state: State, rows: Rows, prior: Floats, ridge: float, settings: Settings) -> State:
    """Fit the laws, and the gate if there is one, to all rows: those held out have done their work and may teach."""
    leaf = rows.leaves(state.tests)
    if len(state.theta) > 1:
        steps = min(LAST_STEPS, settings.joint_iter)
        return improve(state, rows, leaf, prior, ridge, settings.soft, steps)
    bounds, n_laws = rows.units.bounds, len(state.laws)
    return state._replace(laws=fit_laws(rows.design, rows.targets, rows.weight, leaf[0], prior, ridge, bounds, n_laws))


def _bins(table: Table, settings: Settings) -> Bins:
    if settings.max_depth == 0 and settings.n_experts == 1:
        return no_bins(table)
    return bin_table(table, AFFINE_BINS if settings.affine else CONSTANT_BINS)


def _law_for_all(rows: Rows) -> Floats:
    """The one law that fits all rows best; the prior of all others."""
    width, n_outputs = rows.design.shape[1], rows.targets.shape[1]
    everywhere = np.zeros(len(rows.table), dtype=np.int32)
    nothing = np.zeros((n_outputs, width))
    return fit_laws(rows.design, rows.targets, rows.weight, everywhere, nothing, RIDGES[0], rows.units.bounds, 1)[0]


def _options(training: TrainingRows, settings: Settings, holds_out: bool) -> list[GrowOptions]:
    """How trees are grown, and laws fitted: with the ridge that was asked for, or with several that can be judged."""
    leaf = settings.min_samples_leaf
    if leaf is None:
        leaf = max(5.0, 2.0 * training.rows.design.shape[1]) * min(1.0, len(training.rows.table) / 1000)
    ridges = RIDGES if holds_out and settings.affine else RIDGES[:1]  # a constant is free of any ridge
    if settings.ridge is not None:
        ridges = (settings.ridge,)
    return [GrowOptions(settings.max_depth, leaf, ridge) for ridge in ridges]


def _one_expert(training: TrainingRows, judge: Judge, options: GrowOptions, settings: Settings) -> None:
    """The law for all rows, and one tree: often they are enough."""
    everyone = np.ones((1, len(training.rows.table)), dtype=np.float32)
    plain = _one_law(training)
    judge.consider(plain)
    tests, laws, leaf = training.experts(everyone, options)
    tree = State(plain.theta, tests, laws)
    judge.consider(tree)
    if settings.n_experts == 1:
        _improve_jointly(training, judge, tree, leaf, options, settings)


def _one_law(training: TrainingRows) -> State:
    return State(np.zeros((1, training.rows.standard.shape[1])), [STUB], training.prior[None])


def _starts(
    training: TrainingRows, judge: Judge, options: GrowOptions, settings: Settings, rng: np.random.Generator
) -> list[Floats]:
    """Race starting points on a sample of the rows, with one law per expert; return the best."""
    rows = training.rows
    sample = np.arange(min(len(rows.table), RACE_ROWS))  # the order of a canonical table is as good as random
    track = TrainingRows(rows.take(sample), _bins(rows.table.take(sample), settings), training.prior)
    flat = replace(options, max_depth=0)
    nothing = np.zeros((settings.n_experts, rows.standard.shape[1]))
    finished = []
    for kind in range(settings.n_init):
        share = _shares(_owners(kind, track, options, settings, rng), settings.n_experts)
        theta = track.rows.gate_rows.maximize_expected(nothing, share, GATE_L2, GATE_STEPS)
        for _ in range(RACE_ROUNDS):
            state, _, share = soft_round(track, theta, share, flat)
            theta = state.theta
        finished.append((judge.error(state), theta))
    finished.sort(key=lambda entry: entry[0])
    return _distinct(finished)[:SURVIVORS]


def _distinct(finished: list[tuple[float, Floats]]) -> list[Floats]:
    """Leave out starts that ended where the one before did."""
    errors = np.array([-np.inf] + [error for error, _ in finished])
    new = np.diff(errors) > SAME * errors[1:]
    return [theta for (_, theta), kept in zip(finished, new, strict=True) if kept]


def _owners(
    kind: int, track: TrainingRows, options: GrowOptions, settings: Settings, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Give every row to an expert: by clusters of x, clusters of (x, u), leaves of a tree, or at random, in turn."""
    rows, n_experts = track.rows, settings.n_experts
    x = rows.standard[:, :-1]
    if kind % 4 == 2:
        everyone = np.ones((1, len(x)), dtype=np.float32)
        return track.experts(everyone, replace(options, max_depth=31, max_leaves=n_experts))[2][0].astype(np.intp)
    if kind % 4 == 3:
        return nearest_centre(x, rng.normal(size=(n_experts, x.shape[1])))
    points = x if kind % 4 == 0 else np.hstack([x, 2.0 * rows.targets])
    return nearest_centre(points, cluster_centres(points, rows.weight, n_experts, rng, CLUSTER_ROUNDS))


def _shares(owner: NDArray[np.intp], n_experts: int) -> Singles:
    """Almost all of a row for its owner."""
    own = owner == np.arange(n_experts)[:, None]
    return np.where(own, np.float32(OWN_SHARE), np.float32(0)) + np.float32((1 - OWN_SHARE) / n_experts)


def _mixtures(
    training: TrainingRows, judge: Judge, thetas: list[Floats], options: GrowOptions, settings: Settings
) -> None:
    """EM and hard phase from every start, and the joint phase from the best state of all."""
    best = Judge(judge.rows, judge.soft)
    for theta in thetas:
        _em_and_hard_phase(training, best, theta, options, settings)
    _joint_phase(training, best, options, settings)
    judge.errors += best.errors
    if best.best is not None and best.least < judge.least:
        judge.best, judge.least = best.best, best.least


def _em_and_hard_phase(
    training: TrainingRows, judge: Judge, theta: Floats, options: GrowOptions, settings: Settings
) -> None:
    share: Singles = training.rows.gate_rows.probabilities(theta)
    for _ in range(settings.max_iter):
        state, _, share = soft_round(training, theta, share, options)
        theta = state.theta
        judge.consider(state)
    for _ in range(settings.hard_iter):
        state = hard_round(training, theta, options, settings.soft).state
        theta = state.theta
        judge.consider(state)


def _joint_phase(training: TrainingRows, judge: Judge, options: GrowOptions, settings: Settings) -> None:
    """Improve gate and laws of the best state together, let its gate regrow the trees, and once more."""
    for again in range(2 if settings.max_depth > 0 else 1):
        state = judge.best
        assert state is not None
        if again:
            state = hard_round(training, state.theta, options, settings.soft).state
        _improve_jointly(training, judge, state, training.rows.leaves(state.tests), options, settings)


def _improve_jointly(
    training: TrainingRows,
    judge: Judge,
    state: State,
    leaf: NDArray[np.int32],
    options: GrowOptions,
    settings: Settings,
) -> None:
    seen = judge.rows.leaves(state.tests)
    steps = 0

    def watch(state: State) -> None:
        nonlocal steps
        steps += 1
        if steps % WATCHED_STEPS == 0:
            judge.consider(state, seen)

    final = improve(
        state, training.rows, leaf, training.prior, options.ridge, settings.soft, settings.joint_iter, watch=watch
    )
    judge.consider(final, seen)
