"""From a table to a mixture of laws: one expert first, then a race of starts, EM, a hard phase and a joint one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from moet.model.bins import Bins, bin_table, no_bins
from moet.model.gate import Scaler
from moet.model.init import random_gate, voronoi_gate
from moet.model.regression.em import STUB, Bench, hard_round, soft_round
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

PRIOR_RIDGE, RIDGES = 1.0, (0.01, 3.0, 100.0)
"""Rows that the prior of the law for all rows weighs (it is zero), and what that law may weigh in all others."""

SURVIVORS = 2
"""How many starting points run on all rows."""

RACE_ROUNDS = 3
GATE_L2, GATE_STEPS = 1e-4, 25
"""Of the gate that follows the leaves of a tree, as a starting point."""

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

    def error(self, state: State, leaf: NDArray[np.int32] | None = None) -> float:
        """Error of a state."""
        return state.error(self.rows, self.rows.leaves(state.tests) if leaf is None else leaf, self.soft)

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
    held_out = np.zeros(len(table), dtype=bool)
    if len(table) >= SMALL_TABLE:
        held_out = split(table, min(settings.validation_fraction, MOST_HELD_OUT / len(table)), rng)
    kept = np.flatnonzero(~held_out)[:MOST_FITTED]
    judge = Judge(everyone.take(np.flatnonzero(held_out)) if held_out.any() else everyone, settings.soft)
    rows = everyone.take(kept)
    prior = _law_for_all(rows)
    bench = Bench(rows, _bins(rows.table, settings), prior)
    options = _options(bench, judge, settings, bool(held_out.any()))
    _one_expert(bench, judge, options, settings)
    if settings.n_experts > 1:
        for theta in _starts(bench, judge, options, settings, rng):
            _em_and_hard_phase(bench, judge, theta, options, settings)
        _joint_phase(bench, judge, options, settings)
    state = judge.best
    assert state is not None
    if len(kept) < len(table):
        leaf = everyone.leaves(state.tests)
        state = improve(state, everyone, leaf, prior, options.ridge, settings.soft, LAST_STEPS)
    return state.freeze(units, settings.soft), judge.errors


def _bins(table: Table, settings: Settings) -> Bins:
    if settings.max_depth == 0 and settings.n_experts == 1:
        return no_bins(table)
    return bin_table(table, AFFINE_BINS if settings.affine else CONSTANT_BINS)


def _law_for_all(rows: Rows) -> Floats:
    """The one law that fits all rows best; the prior of all others."""
    width, n_outputs = rows.design.shape[1], rows.targets.shape[1]
    everywhere = np.zeros(len(rows.table), dtype=np.int32)
    nothing = np.zeros((n_outputs, width))
    return fit_laws(rows.design, rows.targets, rows.weight, everywhere, nothing, PRIOR_RIDGE, rows.units.bounds, 1)[0]


def _options(bench: Bench, judge: Judge, settings: Settings, held_out: bool) -> GrowOptions:
    """How trees are grown; the ridge is what suits one tree with as many leaves as the mixture may have."""
    width = bench.rows.design.shape[1]
    leaf = settings.min_samples_leaf
    if leaf is None:
        leaf = max(5.0, 2.0 * width) * min(1.0, len(bench.rows.table) / 1000)
    options = GrowOptions(settings.max_depth, max(leaf, 1e-9), settings.ridge or 0.0)
    if settings.ridge is not None:
        return options
    if not held_out:
        return replace(options, ridge=PRIOR_RIDGE)
    n_leaves = settings.n_experts * 2 ** min(settings.max_depth, 10)
    wide = replace(options, max_depth=31, max_leaves=n_leaves) if n_leaves > 1 else options
    everyone = np.ones((1, len(bench.rows.table)), dtype=np.float32)

    def error(ridge: float) -> float:
        tests, laws, _ = bench.experts(everyone, replace(wide, ridge=ridge))
        return judge.error(State(np.zeros((1, bench.rows.standard.shape[1])), tests, laws))

    return replace(options, ridge=min(RIDGES, key=error))


def _one_expert(bench: Bench, judge: Judge, options: GrowOptions, settings: Settings) -> None:
    """The law for all rows, and one tree: often they are enough."""
    nothing = np.zeros((1, bench.rows.standard.shape[1]))
    everyone = np.ones((1, len(bench.rows.table)), dtype=np.float32)
    judge.consider(State(nothing, [STUB], bench.prior[None]))
    tests, laws, leaf = bench.experts(everyone, options)
    judge.consider(State(nothing, tests, laws))
    if settings.n_experts == 1:
        _climb(bench, judge, State(nothing, tests, laws), leaf, options, settings)


def _starts(
    bench: Bench, judge: Judge, options: GrowOptions, settings: Settings, rng: np.random.Generator
) -> list[Floats]:
    """Race starting points on a sample of the rows, with one law per expert; return the best."""
    rows = bench.rows
    sample = np.arange(min(len(rows.table), RACE_ROWS))  # the order of a canonical table is as good as random
    track = Bench(rows.take(sample), _bins(rows.table.take(sample), settings), bench.prior)
    flat = replace(options, max_depth=0)
    finished = []
    for kind in range(settings.n_init):
        theta = _start(kind, track, options, settings, rng)
        share: Singles = track.rows.gate_rows.probabilities(theta)
        for _ in range(RACE_ROUNDS):
            state, _, share = soft_round(track, theta, share, flat)
            theta = state.theta
        finished.append((judge.error(state), theta))
    finished.sort(key=lambda entry: entry[0])
    return [theta for _, theta in finished[:SURVIVORS]]


def _start(kind: int, track: Bench, options: GrowOptions, settings: Settings, rng: np.random.Generator) -> Floats:
    """Clusters of (x, u), the leaves of a tree, clusters of x, and random gates, in turn."""
    rows, n_experts = track.rows, settings.n_experts
    x = rows.standard[:, :-1]
    if kind % 4 == 0:
        return voronoi_gate(np.hstack([x, 2.0 * rows.targets]), rows.weight, n_experts, rng, x.shape[1])
    if kind % 4 == 1:
        return _leaves_gate(track, options, n_experts)
    if kind % 4 == 2:
        return voronoi_gate(x, rows.weight, n_experts, rng)
    return random_gate(rows.gate_rows, n_experts, rng)


def _leaves_gate(track: Bench, options: GrowOptions, n_experts: int) -> Floats:
    """The gate that comes nearest to the leaves of one tree."""
    everyone = np.ones((1, len(track.rows.table)), dtype=np.float32)
    _, _, leaf = track.experts(everyone, replace(options, max_depth=31, max_leaves=n_experts))
    wanted = np.where(leaf[0] == np.arange(n_experts)[:, None], np.float32(0.9), np.float32(0.1 / n_experts))
    theta = np.zeros((n_experts, track.rows.standard.shape[1]))
    return track.rows.gate_rows.climb_expected(theta, wanted / wanted.sum(axis=0), GATE_L2, GATE_STEPS)


def _em_and_hard_phase(bench: Bench, judge: Judge, theta: Floats, options: GrowOptions, settings: Settings) -> None:
    share: Singles = bench.rows.gate_rows.probabilities(theta)
    for _ in range(settings.max_iter):
        state, _, share = soft_round(bench, theta, share, options)
        theta = state.theta
        judge.consider(state)
    for _ in range(settings.hard_iter):
        state = hard_round(bench, theta, options, settings.soft).state
        theta = state.theta
        judge.consider(state)


def _joint_phase(bench: Bench, judge: Judge, options: GrowOptions, settings: Settings) -> None:
    """Improve gate and laws of the best state together, let its gate regrow the trees, and once more."""
    for again in range(2):
        state = judge.best
        assert state is not None
        if again and settings.max_depth > 0 and len(state.theta) > 1:
            state = hard_round(bench, state.theta, options, settings.soft).state
        _climb(bench, judge, state, bench.rows.leaves(state.tests), options, settings)


def _climb(
    bench: Bench, judge: Judge, state: State, leaf: NDArray[np.int32], options: GrowOptions, settings: Settings
) -> None:
    seen = judge.rows.leaves(state.tests)
    steps = 0

    def watch(state: State) -> None:
        nonlocal steps
        steps += 1
        if steps % WATCHED_STEPS == 0:
            judge.consider(state, seen)

    final = improve(
        state, bench.rows, leaf, bench.prior, options.ridge, settings.soft, settings.joint_iter, watch=watch
    )
    judge.consider(final, seen)
