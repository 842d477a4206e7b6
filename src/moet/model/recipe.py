"""From a table to a mixture: a race of restarts, EM, a hard phase, and the best snapshot of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from moet.model.bins import Bins, bin_table
from moet.model.ccp import cost_complexity_prune
from moet.model.em import Bench, Experts, em_round, hard_share, refit_gate_on_rightness
from moet.model.gate import Scaler
from moet.model.grow import Criterion, GrowOptions
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


@dataclass(frozen=True)
class Trained:
    """The best snapshot of a run from one starting point, and how it came about."""

    mixture: Mixture
    score: float
    log_likelihoods: list[float]
    converged: bool


Watch = Callable[[float, Mixture], None]
"""Called after every round on all rows with the mean log-likelihood and the snapshot."""


class Judge:
    """Scores snapshots in the prediction mode that will be used."""

    def __init__(self, table: Table, prediction: Prediction) -> None:
        self._X = table.X[table.rows]
        self._y = table.y
        self._share = table.weight / table.weight.sum()
        self._hard = prediction == "hard"

    def score(self, mixture: Mixture) -> float:
        """Weighted accuracy."""
        answer = mixture.predict_hard(self._X) if self._hard else mixture.predict_soft(self._X)
        return float(self._share @ (answer == self._y))


def train(table: Table, settings: Settings, rng: np.random.Generator, watch: Watch) -> Trained:
    """Fit a mixture whose classes are the class indices of the table, weights having mean 1."""
    bins = bin_table(table)
    scaler = Scaler.of(table)
    held_out = np.zeros(len(table), dtype=bool)
    if len(table) >= SMALL_TABLE:
        held_out = split(table, settings.validation_fraction, rng)
    judge = Judge(table.take(np.flatnonzero(held_out)) if held_out.any() else table, settings.prediction)
    if held_out.any():
        kept = np.flatnonzero(~held_out)
        table, bins = table.take(kept), bins.take(kept)
    smoothing = SMOOTHING if settings.gate_solver == "likelihood" else 0.0
    bench = Bench.of(table, bins, scaler, settings.max_depth, smoothing)
    leaf_choices = MIN_SAMPLES_LEAF_CHOICES if held_out.any() else (MIN_SAMPLES_LEAF,)
    runs = [
        run_from(bench, theta, settings, judge, leaf_choices, watch)
        for theta in starting_gates(bench, bins, settings, judge, rng)
    ]
    return max(runs, key=lambda run: run.score)


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
        finished.append((judge.score(snapshot(theta, experts, track, settings)), theta))
    finished.sort(key=lambda entry: -entry[0])
    return [theta for _, theta in finished[:RACE_SURVIVORS]]


def race(track: Bench, theta: Floats, settings: Settings) -> tuple[Floats, Experts]:
    """Run a starting point for a few rounds."""
    gate = settings.new_gate_step()
    options = settings.grow_options(len(track.table))
    flat = replace(options, max_depth=0)
    share = track.rows.probabilities(theta)
    rounds = [(flat, LONG_GATE_STEPS)] * FLAT_ROUNDS + [(options, GATE_STEPS)] * DEEP_ROUNDS
    for grow, steps in rounds:
        theta, experts, share, _ = em_round(track, theta, share, grow, gate, steps)
    return theta, experts


def run_from(
    bench: Bench, theta: Floats, settings: Settings, judge: Judge, leaf_choices: tuple[float, ...], watch: Watch
) -> Trained:
    """EM from one starting point, then the hard phase from its best round."""
    log_likelihoods: list[float] = []
    best_mixture, best_score = None, -np.inf

    def consider(theta: Floats, experts: Experts, log_likelihood: float | None = None) -> float:
        nonlocal best_mixture, best_score
        mixture = snapshot(theta, experts, bench, settings)
        score = judge.score(mixture)
        if score > best_score:
            best_mixture, best_score = mixture, score
        if log_likelihood is not None:
            log_likelihoods.append(log_likelihood)
            watch(log_likelihood, mixture)
        return score

    gate = settings.new_gate_step()
    options = settings.grow_options(len(bench.table))
    share = bench.rows.probabilities(theta)
    if settings.n_init == 1:
        theta, _, share, _ = em_round(bench, theta, share, replace(options, max_depth=0), gate, LONG_GATE_STEPS)
    em_score, em_theta, stale, converged = -np.inf, theta, 0, False
    for _ in range(settings.max_iter):
        steps = GATE_STEPS if settings.max_depth > 0 else LONG_GATE_STEPS
        theta, experts, share, log_likelihood = em_round(bench, theta, share, options, gate, steps)
        score = consider(theta, experts, log_likelihood)
        if score > em_score:
            em_score, em_theta, stale = score, theta, 0
        else:
            stale += 1
        gain = np.inf if len(log_likelihoods) < 2 else log_likelihoods[-1] - log_likelihoods[-2]
        converged = abs(gain) < settings.tol
        if converged or (settings.tol > 0 and stale >= PATIENCE):
            break

    theta = em_theta
    for t in range(settings.hard_iter):
        share = hard_share(bench, theta)
        if t == 0:
            tried = []
            for leaf in leaf_choices:
                options = settings.grow_options(len(bench.table), leaf)
                experts = bench.grow_experts(share, options)
                tried.append((consider(theta, experts), options, experts))
            _, options, experts = max(tried, key=lambda entry: entry[0])
        else:
            experts = bench.grow_experts(share, options)
            consider(theta, experts)
        if t == settings.hard_iter - 1:
            break
        theta = refit_gate_on_rightness(bench, theta, experts, HARD_L2, LONG_GATE_STEPS)
        likelihood = experts.label_likelihood(bench.table, bench.smoothing)
        consider(theta, experts, bench.rows.responsibilities(theta, likelihood)[1])
    assert best_mixture is not None
    return Trained(best_mixture, best_score, log_likelihoods, converged)


def snapshot(theta: Floats, experts: Experts, bench: Bench, settings: Settings) -> Mixture:
    """Freeze the present state in raw units."""
    weights, bias = bench.rows.scaler.fold(theta)
    trees = []
    for grown in experts.trees:
        tree = Tree(grown.feature, grown.threshold, grown.left, grown.right, grown.probabilities())
        if settings.ccp_alpha > 0:
            tree = cost_complexity_prune(tree, grown.class_weight.sum(axis=1), settings.ccp_alpha, settings.criterion)
        trees.append(tree)
    return Mixture(weights, bias, trees, np.arange(bench.table.n_classes), prediction=settings.prediction)
