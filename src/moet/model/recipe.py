"""From a table to a mixture: a race of restarts, EM, a hard phase, and the best snapshot of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.bins import Bins, bin_table
from moet.model.ccp import cost_complexity_prune
from moet.model.em import Bench, Experts, em_round, hard_share, refit_gate_on_rightness
from moet.model.flat import FlatMixture
from moet.model.gate import Scaler
from moet.model.grow import Criterion, GrownTree, GrowOptions
from moet.model.init import Init, initial_gates
from moet.model.mixture import Mixture, Prediction
from moet.model.solve import GateSolver, GateStep
from moet.model.table import Table, split
from moet.model.tree import Tree

Floats = NDArray[np.float64]

SMALL_TABLE = 1000
"""Tables of fewer distinct rows hold nothing out: models are then judged by the rows they were trained on."""

RACE_ROWS = 1500
RACE_SURVIVORS = 2
FLAT_ROUNDS, DEEP_ROUNDS = 2, 3
"""Rounds of a race: with leaves only, then with whole trees."""

MIN_SAMPLES_LEAF = 5.0
MIN_SAMPLES_LEAF_CHOICES = (1.0, 5.0, 20.0)
"""Defaults of EM, and what the hard phase chooses from on held-out rows."""

SMOOTHING = 0.1
"""Weight of the prior in leaf probabilities while the mixture's likelihood is maximised: log 0 has no gradient."""

HARD_L2 = 1e-5
GATE_STEPS, LONG_GATE_STEPS = 5, 15
"""L-BFGS iterations of the gate per round; long where the trees are cheap or fixed."""

PATIENCE = 5
"""Rounds without a better score on held-out rows before EM stops."""

HARD_PATIENCE = 8
HARD_SURVIVORS = 2
RACE_FLAT_STEPS = 15
HARD_STEPS = 15


@dataclass(frozen=True)
class Settings:
    """What the user chose; see :class:`moet.MoETClassifier`."""

    n_experts: int
    max_depth: int
    prediction: Prediction
    criterion: Criterion
    min_samples_leaf: float | None
    min_impurity_decrease: float
    ccp_alpha: float
    init: Init
    n_init: int
    gate_solver: GateSolver
    gate_l2: float
    learning_rate: float
    learning_rate_decay: float
    max_iter: int
    tol: float
    hard_iter: int
    validation_fraction: float

    def grow_options(self, n_rows: int, default_leaf: float = MIN_SAMPLES_LEAF) -> GrowOptions:
        """How trees are grown on ``n_rows`` rows of mean weight 1; the default leaf shrinks with a small table."""
        leaf = default_leaf * min(1.0, n_rows / SMALL_TABLE) if self.min_samples_leaf is None else self.min_samples_leaf
        return GrowOptions(self.max_depth, self.criterion, leaf, self.min_impurity_decrease)

    def new_gate_step(self) -> GateStep:
        """Return a gate solver without memory of earlier steps."""
        return GateStep(self.gate_solver, self.gate_l2, self.learning_rate, self.learning_rate_decay)


class Snapshot(NamedTuple):
    """A state of training: gate parameters and trees."""

    theta: Floats
    trees: list[GrownTree]

    def flatten(self, scaler: Scaler, settings: Settings) -> FlatMixture:
        """Return the form that predicts."""
        return FlatMixture.of(*scaler.fold(self.theta), self.final_trees(settings))

    def freeze(self, scaler: Scaler, settings: Settings) -> Mixture:
        """Return the public form, in raw units; its classes are class indices."""
        trees = [Tree(t.feature, t.threshold, t.left, t.right, t.value) for t in self.final_trees(settings)]
        classes = np.arange(trees[0].n_classes)
        return Mixture(*scaler.fold(self.theta), trees, classes, prediction=settings.prediction)

    def final_trees(self, settings: Settings) -> list[GrownTree] | list[Tree]:
        """Return the trees after cost-complexity pruning."""
        if settings.ccp_alpha == 0:
            return self.trees
        return [
            cost_complexity_prune(
                Tree(t.feature, t.threshold, t.left, t.right, t.value),
                t.class_weight.sum(axis=1),
                settings.ccp_alpha,
                settings.criterion,
            )
            for t in self.trees
        ]


Watch = Callable[[float, Callable[[], Mixture]], None]
"""Called after every round on all rows with the mean log-likelihood and a function that makes the model so far."""


class Judge:
    """Scores snapshots in the prediction mode that will be used."""

    def __init__(self, table: Table, scaler: Scaler, settings: Settings) -> None:
        self._X = table.X[table.rows]
        self._y = table.y
        self._share = table.weight / table.weight.sum()
        self._scaler = scaler
        self._settings = settings

    def score(self, snapshot: Snapshot) -> float:
        """Weighted accuracy."""
        flat = snapshot.flatten(self._scaler, self._settings)
        if self._settings.prediction == "hard":
            answer = flat.leaf_class[flat.leaves(self._X)[1]]
        else:
            answer = flat.soft_proba(self._X).argmax(axis=1)
        return float(self._share @ (answer == self._y))


@dataclass
class Run:
    """Training from one starting point: its best snapshot and how it came about."""

    theta: Floats
    best: Snapshot | None = None
    score: float = -np.inf
    log_likelihoods: list[float] = field(default_factory=list)
    converged: bool = False

    def consider(self, theta: Floats, experts: Experts, judge: Judge) -> float:
        """Score a state and keep it if it is the best so far."""
        snapshot = Snapshot(theta, experts.trees)
        score = judge.score(snapshot)
        if score > self.score:
            self.best, self.score = snapshot, score
        return score


class Trained(NamedTuple):
    """The best snapshot of all runs, and the course of its run."""

    mixture: Mixture
    score: float
    log_likelihoods: list[float]
    converged: bool


def train(table: Table, settings: Settings, rng: np.random.Generator, watch: Watch) -> Trained:
    """Fit a mixture whose classes are the class indices of the table, weights having mean 1."""
    bins = bin_table(table)
    scaler = Scaler.of(table)
    held_out = np.zeros(len(table), dtype=bool)
    if len(table) >= SMALL_TABLE:
        held_out = split(table, settings.validation_fraction, rng)
    judge = Judge(table.take(np.flatnonzero(held_out)) if held_out.any() else table, scaler, settings)
    if held_out.any():
        kept = np.flatnonzero(~held_out)
        table, bins = table.take(kept), bins.take(kept)
    smoothing = SMOOTHING if settings.gate_solver == "likelihood" else 0.0
    bench = Bench.of(table, bins, scaler, settings.max_depth, smoothing)
    leaf_choices = MIN_SAMPLES_LEAF_CHOICES if held_out.any() else (MIN_SAMPLES_LEAF,)

    def watch_run(run: Run, log_likelihood: float, snapshot: Snapshot) -> None:
        run.log_likelihoods.append(log_likelihood)
        watch(log_likelihood, lambda: snapshot.freeze(scaler, settings))

    runs = [Run(theta) for theta in starting_gates(bench, bins, settings, judge, rng)]
    for run in runs:
        em_phase(run, bench, settings, judge, watch_run)
    runs.sort(key=lambda run: -run.score)
    for run in runs[:HARD_SURVIVORS]:
        hard_phase(run, bench, settings, judge, leaf_choices, watch_run)
    best = max(runs, key=lambda run: run.score)
    assert best.best is not None
    return Trained(best.best.freeze(scaler, settings), best.score, best.log_likelihoods, best.converged)


def starting_gates(
    bench: Bench, bins: Bins, settings: Settings, judge: Judge, rng: np.random.Generator
) -> list[Floats]:
    """Race several starting points on a sample of the rows; return those worth a full run, best first."""
    if len(bench.table) > RACE_ROWS:
        sample = rng.choice(len(bench.table), RACE_ROWS, replace=False)
        table = bench.table.take(sample)
        track = Bench.of(table, bins.take(sample), bench.rows.scaler, settings.max_depth, bench.smoothing)
    else:
        track = bench
    gates = initial_gates(settings.init, settings.n_init, track.rows, settings.n_experts, rng)
    if len(gates) == 1:
        return gates
    finished = []
    for start in gates:
        theta, experts = race(track, start, settings)
        finished.append((judge.score(Snapshot(theta, experts.trees)), theta))
    finished.sort(key=lambda entry: -entry[0])
    return [theta for _, theta in finished[:RACE_SURVIVORS]]


def race(track: Bench, theta: Floats, settings: Settings) -> tuple[Floats, Experts]:
    """Run a starting point for a few rounds."""
    gate = settings.new_gate_step()
    options = settings.grow_options(len(track.table))
    flat = replace(options, max_depth=0)
    share = track.rows.probabilities(theta)
    rounds = [(flat, RACE_FLAT_STEPS)] * FLAT_ROUNDS + [(options, GATE_STEPS)] * DEEP_ROUNDS
    for grow, steps in rounds:
        theta, experts, share, _ = em_round(track, theta, share, grow, gate, steps)
    return theta, experts


def em_phase(run: Run, bench: Bench, settings: Settings, judge: Judge, watch: Callable[..., None]) -> None:
    """EM on all rows; leaves the gate of its best round in the run."""
    theta = run.theta
    gate = settings.new_gate_step()
    options = settings.grow_options(len(bench.table))
    share = bench.rows.probabilities(theta)
    if settings.n_init == 1:
        theta, _, share, _ = em_round(bench, theta, share, replace(options, max_depth=0), gate, LONG_GATE_STEPS)
    best_score, stale = -np.inf, 0
    steps = GATE_STEPS if settings.max_depth > 0 else LONG_GATE_STEPS
    for _ in range(settings.max_iter):
        theta, experts, share, log_likelihood = em_round(bench, theta, share, options, gate, steps)
        score = run.consider(theta, experts, judge)
        watch(run, log_likelihood, Snapshot(theta, experts.trees))
        stale += 1
        if score > best_score:
            best_score, run.theta, stale = score, theta, 0
        history = run.log_likelihoods
        run.converged = len(history) > 1 and abs(history[-1] - history[-2]) < settings.tol
        if run.converged or (settings.tol > 0 and stale >= PATIENCE):
            break


def hard_phase(
    run: Run,
    bench: Bench,
    settings: Settings,
    judge: Judge,
    leaf_choices: tuple[float, ...],
    watch: Callable[..., None],
) -> None:
    """Regrow the trees on the rows the gate gives them, refit the gate to who is right, and so on."""
    theta = run.theta
    options, stale, best_score = None, 0, -np.inf
    for _ in range(settings.hard_iter):
        share = hard_share(bench, theta)
        tried = []
        for candidate in [options] if options else [settings.grow_options(len(bench.table), c) for c in leaf_choices]:
            experts = bench.grow_experts(share, candidate)
            tried.append((run.consider(theta, experts, judge), candidate, experts))
        score, options, experts = max(tried, key=lambda entry: entry[0])
        theta = refit_gate_on_rightness(bench, theta, experts, HARD_L2, HARD_STEPS)
        score = max(score, run.consider(theta, experts, judge))
        likelihood = experts.label_likelihood(bench.table, bench.smoothing)
        watch(run, bench.rows.responsibilities(theta, likelihood)[1], Snapshot(theta, experts.trees))
        stale += 1
        if score > best_score:
            best_score, stale = score, 0
        if stale >= HARD_PATIENCE:
            break
