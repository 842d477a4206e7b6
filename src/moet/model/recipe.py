"""From a table to a mixture: a race of restarts, EM, a hard phase, and the best snapshot of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.bins import bin_table, no_bins
from moet.model.calibration import Trial
from moet.model.deepen import deepened, deepens, shallow
from moet.model.em import Experts, TrainingRows, em_round, hard_share, refit_gate_on_rightness, soft_share
from moet.model.grow import GrowOptions
from moet.model.init import initial_gates, sliced_gates
from moet.model.mixture import Mixture
from moet.model.settings import Settings
from moet.model.snapshot import Judge, Snapshot
from moet.model.table import Table, split

Floats = NDArray[np.float64]

SMALL_TABLE = 1000
"""Tables of fewer distinct rows hold nothing out: models are then judged by the rows they were trained on."""

MOST_HELD_OUT = 20_000
"""More rows are not needed to tell two models apart."""

MOST_IN_ROUNDS = 200_000
"""More rows do not move a linear gate; the trees of the best round are grown on all of them in the end."""

RACE_ROWS = 1500
RACE_SURVIVORS, FLAT_RACE_SURVIVORS = 2, 4
"""How many starting points run on all rows, with trees and with mere leaves."""

RACE_FLAT_ROUNDS, RACE_DEEP_ROUNDS = 3, 1
"""Rounds of a race: with leaves only, then with whole trees."""

RACE_STEPS, GATE_STEPS, LONG_GATE_STEPS = 8, 5, 20
"""L-BFGS iterations of the gate per round: of a race, of EM, and where the trees are leaves or stay as they are."""

MIN_SAMPLES_LEAF = 5.0
MIN_SAMPLES_LEAF_CHOICES = (1.0, 5.0, 20.0)
"""Defaults of EM, and what the hard phase chooses from on held-out rows."""

SMOOTHING = 0.1
"""Weight of the prior in leaf probabilities while the mixture's likelihood is maximised: log 0 has no gradient."""

HARD_TRIAL_ROUNDS = 3
"""Rounds of the hard phase after which only the best run goes on."""

HARD_L2 = 1e-7
"""Ridge of the gate in the hard phase; boundaries between right and wrong experts may be sharp."""

PATIENCE = 4
"""Rounds without a better score before a phase ends."""

Watch = Callable[[float, Callable[[], Mixture]], None]
"""Called after every round on all rows with the mean log-likelihood and a function that makes the model so far."""


class Trained(NamedTuple):
    """The best snapshot of all runs, the course of its run, and the same as it was judged, if rows were held out."""

    mixture: Mixture
    score: float
    log_likelihoods: list[float]
    converged: bool
    trial: Trial | None = None


@dataclass
class Run:
    """Training from one starting point: the present gate, the best snapshot, and how it came about."""

    theta: Floats
    training: TrainingRows
    settings: Settings
    judge: Judge
    watch: Watch
    best: Snapshot | None = None
    score: float = -np.inf
    leaf_choices: tuple[float, ...] = (MIN_SAMPLES_LEAF,)
    stale: int = 0
    log_likelihoods: list[float] = field(default_factory=list)
    converged: bool = False

    def consider(self, snapshot: Snapshot) -> float:
        """Score a state and keep it if it is the best so far."""
        score = self.judge.score(snapshot)
        if score > self.score:
            self.best, self.score = snapshot, score
        return score

    def finish_round(self, snapshot: Snapshot, log_likelihood: float) -> None:
        """Record a round and tell the watcher."""
        self.log_likelihoods.append(log_likelihood)
        self.watch(log_likelihood, lambda: snapshot.freeze(self.training.scaler, self.settings))


def train(table: Table, wanted: Settings, rng: np.random.Generator, watch: Watch) -> Trained:
    """Fit a mixture whose classes are the class indices of the table; its weights have mean 1."""
    taught, asked = table.weight, np.zeros(len(table))
    if len(table) >= SMALL_TABLE:
        taught, asked = split(table, min(wanted.validation_fraction, MOST_HELD_OUT / len(table)), rng)
    holds_out = bool(asked.any())
    deepening = deepens(wanted) and holds_out
    settings = shallow(wanted) if deepening else wanted
    scaler = settings.scaler(table)
    bins = bin_table(table) if settings.max_depth > 0 else no_bins(table)
    smoothing = SMOOTHING if settings.gate_solver == "likelihood" else 0.0

    def prepared(rows: NDArray[np.intp]) -> TrainingRows:
        return TrainingRows(table.take(rows, taught), bins.take(rows), scaler, wanted.max_depth, smoothing)

    regrows = holds_out and settings.hard_iter > 0
    kept = np.flatnonzero(taught)
    if regrows and len(kept) > MOST_IN_ROUNDS:
        kept = np.sort(rng.choice(kept, MOST_IN_ROUNDS, replace=False))
    judge = Judge(table.take(np.flatnonzero(asked), asked) if holds_out else table, scaler, settings)
    training = prepared(kept)
    track = prepared(rng.choice(kept, RACE_ROWS, replace=False)) if len(kept) > RACE_ROWS else training
    runs = [Run(theta, training, settings, judge, watch) for theta in starting_gates(track, settings, judge, rng)]
    for run in runs:
        em_phase(run)
    runs = distinct(runs, settings.tol)
    if races(settings) and settings.max_depth > 0 and holds_out:
        runs += [Run(theta, training, settings, judge, watch) for theta in sliced_starts(track, settings, judge)]
    leaf_choices = MIN_SAMPLES_LEAF_CHOICES if holds_out else (MIN_SAMPLES_LEAF,)
    for run in runs:
        run.leaf_choices = leaf_choices
        hard_phase(run, trial_rounds(settings))
        leaf_choices = run.leaf_choices  # what the first one chose
    best = max(runs, key=lambda run: run.score)
    hard_phase(best, settings.hard_iter - trial_rounds(settings))
    assert best.best is not None
    found = best.score, best.best
    if deepening:
        leaves = dict.fromkeys(grow_options(wanted, len(training.table), leaf) for leaf in MIN_SAMPLES_LEAF_CHOICES[:2])
        found = max(found, deepened(training, judge, best.best.theta, list(leaves)), key=lambda entry: entry[0])
    score, snapshot = found
    trial = Trial(snapshot.freeze(scaler, settings), training.table, judge.table) if holds_out else None
    if regrows:  # the held-out rows have done their work and may now teach
        everything = TrainingRows(table, bins, scaler, wanted.max_depth, smoothing)
        snapshot = regrown(everything, snapshot)
    return Trained(snapshot.freeze(scaler, settings), score, best.log_likelihoods, best.converged, trial)


def regrown(training: TrainingRows, snapshot: Snapshot) -> Snapshot:
    """The same gate with trees grown on other rows."""
    hard, theta, trees = snapshot.hard, snapshot.theta, snapshot.trees
    share = hard_share(training, theta) if hard else soft_share(training, theta, trees)
    return snapshot._replace(trees=training.grow_experts(share, snapshot.options).trees)


def most_rounds(settings: Settings) -> int:
    """Rounds on all rows that a training takes unless it ends early."""
    runs = min(settings.n_init, n_survivors(settings))
    sliced = 1 if races(settings) and settings.max_depth > 0 else 0
    trial = trial_rounds(settings)
    return runs * settings.max_iter + (runs + sliced) * trial + settings.hard_iter - trial


def trial_rounds(settings: Settings) -> int:
    """Rounds of the hard phase that every run takes; mere leaves are cheap enough for all of them."""
    return min(settings.hard_iter, HARD_TRIAL_ROUNDS) if settings.max_depth > 0 else settings.hard_iter


def races(settings: Settings) -> bool:
    """Whether several kinds of starting points compete."""
    return settings.init == "race" and settings.n_init > 1


def n_survivors(settings: Settings) -> int:
    """How many starting points run on all rows after a race."""
    return RACE_SURVIVORS if settings.max_depth > 0 else FLAT_RACE_SURVIVORS


def grow_options(settings: Settings, n_rows: int, default_leaf: float = MIN_SAMPLES_LEAF) -> GrowOptions:
    """How trees are grown on ``n_rows`` rows of mean weight 1; the default leaf shrinks with a small table."""
    leaf = settings.min_samples_leaf
    if leaf is None:
        leaf = default_leaf * min(1.0, n_rows / SMALL_TABLE)
    return GrowOptions(settings.max_depth, settings.criterion, leaf, settings.min_impurity_decrease)


def starting_gates(track: TrainingRows, settings: Settings, judge: Judge, rng: np.random.Generator) -> list[Floats]:
    """Race several starting points on a sample of the rows; return those worth a full run, best first."""
    gates = initial_gates(settings.init, settings.n_init, track.gate_rows, settings.n_experts, rng)
    if len(gates) == 1:
        return gates
    finished = []
    options = grow_options(settings, len(track.table))
    for start in gates:
        theta, experts = race(track, start, settings)
        finished.append((judge.score(Snapshot(theta, experts.trees, options)), theta))
    finished.sort(key=lambda entry: -entry[0])
    return [theta for _, theta in finished[: n_survivors(settings)]]


def sliced_starts(track: TrainingRows, settings: Settings, judge: Judge) -> list[Floats]:
    """The feature that is best cut into one interval per expert, if there is any: a start for the hard phase."""
    options = grow_options(settings, len(track.table))

    def score(theta: Floats) -> float:
        return judge.score(Snapshot(theta, track.grow_experts(hard_share(track, theta), options).trees, options))

    gates = sliced_gates(track.gate_rows, settings.n_experts)
    return [max(gates, key=score)] if gates and settings.hard_iter > 0 else []


def race(track: TrainingRows, theta: Floats, settings: Settings) -> tuple[Floats, Experts]:
    """Run a starting point for a few rounds."""
    gate = settings.new_gate_step()
    options = grow_options(settings, len(track.table))
    share = track.probabilities(theta)
    flat = replace(options, max_depth=0)
    for grow, steps in [(flat, RACE_STEPS)] * RACE_FLAT_ROUNDS + [(options, GATE_STEPS)] * RACE_DEEP_ROUNDS:
        theta, experts, share, _ = em_round(track, theta, share, grow, gate, steps)
    return theta, experts


def em_phase(run: Run) -> None:
    """EM on all rows; leaves the gate of its best round in the run."""
    training, settings, theta = run.training, run.settings, run.theta
    gate = settings.new_gate_step()
    options = grow_options(settings, len(training.table))
    steps = GATE_STEPS if settings.max_depth > 0 else LONG_GATE_STEPS
    share = training.probabilities(theta)
    if settings.n_init == 1:  # a start that did not race begins with leaves
        theta, _, share, _ = em_round(training, theta, share, replace(options, max_depth=0), gate, steps)
    best_score, stale = -np.inf, 0
    for _ in range(settings.max_iter):
        theta, experts, share, log_likelihood = em_round(training, theta, share, options, gate, steps)
        snapshot = Snapshot(theta, experts.trees, options)
        score = run.consider(snapshot)
        run.finish_round(snapshot, log_likelihood)
        stale += 1
        if score > best_score:
            best_score, run.theta, stale = score, theta, 0
        history = run.log_likelihoods
        run.converged = len(history) > 1 and abs(history[-1] - history[-2]) < settings.tol
        if run.converged or run.score == 1.0 or (settings.tol > 0 and stale >= PATIENCE):
            break


def distinct(runs: list[Run], tolerance: float) -> list[Run]:
    """Leave out runs whose EM ended where that of another did: by likelihood and score, to within ``tolerance``."""
    kept: list[Run] = []
    for run in runs:
        ends = [
            abs(run.log_likelihoods[-1] - other.log_likelihoods[-1]) + abs(run.score - other.score) for other in kept
        ]
        if min(ends, default=np.inf) >= tolerance:
            kept.append(run)
    return kept


def hard_phase(run: Run, n_rounds: int) -> None:
    """Regrow the trees on the rows the gate gives them, refit the gate to who is right, and so on."""
    training, settings = run.training, run.settings
    for _ in range(n_rounds):
        if run.score == 1.0 or (settings.tol > 0 and run.stale >= PATIENCE):
            break
        score_before = run.score
        share = hard_share(training, run.theta)
        tried = []
        for leaf in run.leaf_choices:
            options = grow_options(settings, len(training.table), leaf)
            experts = training.grow_experts(share, options)
            score = run.consider(Snapshot(run.theta, experts.trees, options, hard=True))
            tried.append((score, leaf, options, experts))
        _, leaf, options, experts = max(tried, key=lambda entry: entry[0])
        run.leaf_choices = (leaf,)
        run.theta = refit_gate_on_rightness(training, run.theta, experts, HARD_L2, LONG_GATE_STEPS)
        snapshot = Snapshot(run.theta, experts.trees, options, hard=True)
        run.consider(snapshot)
        likelihood = experts.label_likelihood(training.table, training.smoothing)
        run.finish_round(snapshot, training.responsibilities(run.theta, likelihood)[1])
        run.stale = run.stale + 1 if run.score == score_before else 0
