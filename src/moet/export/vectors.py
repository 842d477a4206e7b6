"""Inputs that show where a copy of a model answers otherwise: on thresholds, in every leaf, and at ties of the gate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moet.export.float32 import gate_band
from moet.model.base import BaseMixture
from moet.model.mixture import Mixture

Floats = NDArray[np.float64]

COUNT = 64
"""Vectors of a self-test."""
CANDIDATES = 4000
NUMBERS = 20_000
"""Most numbers that the vectors of one model may have: a row of a wide table is long."""


def self_test_rows(mixture: BaseMixture, precision: str = "float64") -> Floats:
    """Rows for a self-test, finite and representable in the type of the states.

    Up to a quarter are ties of the gate that a fused multiply-add would decide otherwise; then come rows of leaves that
    no row before reaches, then any. For an approximate gate only rows are taken whose answers it must share.
    """
    rows = _candidates(mixture)
    if precision != "float64":
        with np.errstate(over="ignore"):
            rows = rows.astype(np.float32).astype(np.float64)
    rows = np.unique(rows[_has_answer(mixture, rows)], axis=0)
    rows = np.random.default_rng(1).permutation(rows)
    if precision == "float32-approximate" and mixture.n_experts > 1:
        rows = rows[_beyond_band(mixture, rows)]
    count = min(COUNT, max(4, NUMBERS // mixture.n_features))
    return rows[_chosen(mixture, rows, count)]


def _chosen(mixture: BaseMixture, rows: Floats, count: int) -> NDArray[np.intp]:
    fused = _largest(_logits(mixture, rows, fused=True)) != mixture.expert(rows)
    _, new = np.unique(np.stack(mixture.leaves(rows)), axis=1, return_index=True)
    order = np.concatenate([np.flatnonzero(fused)[: count // 4], np.sort(new), np.arange(len(rows))])
    _, first = np.unique(order, return_index=True)
    return order[np.sort(first)][:count]


def _candidates(mixture: BaseMixture) -> Floats:
    """Rows on thresholds and one step beside them, a third of them led to ties of the gate."""
    rng = np.random.default_rng(0)
    columns = []
    for k in range(mixture.n_features):
        met = np.concatenate([tree.threshold[tree.feature == k] for tree in mixture.trees])
        met = met if met.any() else np.zeros(1)
        scale = float(np.abs(met).max()) or 1.0
        beside = np.concatenate([met, np.nextafter(met, np.inf), rng.normal(0.0, scale, len(met) + 8)])
        columns.append(rng.choice(beside, CANDIDATES))
    rows = np.stack(columns, axis=1)
    if mixture.n_experts > 1:
        _lead_to_ties(mixture, rows[: CANDIDATES // 3], rng)
    return rows


def _lead_to_ties(mixture: BaseMixture, rows: Floats, rng: np.random.Generator) -> None:
    """Change one feature of every row so that its best expert and a random one nearly tie."""
    best, other = mixture.expert(rows), rng.integers(mixture.n_experts, size=len(rows))
    difference = mixture.gate_weights[other] - mixture.gate_weights[best]
    place = np.abs(difference).argmax(axis=1)
    steepest = np.take_along_axis(difference, place[:, None], axis=1)[:, 0]
    logits = _logits(mixture, rows)
    every = np.arange(len(rows))
    with np.errstate(all="ignore"):
        moved = rows[every, place] - (logits[every, other] - logits[every, best]) / steepest
    moved += rng.integers(-2, 3, len(rows)) * np.spacing(np.abs(moved))
    rows[every, place] = np.where(np.isfinite(moved), moved, rows[every, place])


def _logits(mixture: BaseMixture, rows: Floats, *, fused: bool = False) -> Floats:
    """Logits of all experts, every product rounded before it is added, or (nearly always) as if fused."""
    found = np.repeat(mixture.gate_bias[None, :], len(rows), axis=0)
    with np.errstate(all="ignore"):
        for k in range(mixture.n_features):
            product, rest = _product(rows[:, k, None], mixture.gate_weights[None, :, k])
            total = found + product
            if fused:
                back = total - found
                rest += (found - (total - back)) + (product - back)
                total = total + rest
            found = total
    return found


def _product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Round a product, and tell what rounding took away (Dekker)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _halves(a: Floats) -> tuple[Floats, Floats]:
    scaled = a * (2.0**27 + 1)
    high = scaled - (scaled - a)
    return high, a - high


def _largest(logits: Floats) -> NDArray[np.intp]:
    return np.where(np.isnan(logits), -np.inf, logits).argmax(axis=1)


def _has_answer(mixture: BaseMixture, rows: Floats) -> NDArray[np.bool_]:
    """Rows that are finite and whose logits and outputs are: a model of numbers has no answer otherwise."""
    sound = np.asarray(np.isfinite(rows).all(axis=1))
    sound &= np.isfinite(_logits(mixture, np.where(sound[:, None], rows, 0.0))).all(axis=1)
    slopes = [np.abs(tree.slope).max(axis=(0, 1)) for tree in mixture.trees if getattr(tree, "slope", None) is not None]
    if slopes:
        with np.errstate(all="ignore"):
            sound &= np.isfinite(np.abs(rows) @ np.sum(slopes, axis=0))
    return sound


def _beyond_band(mixture: BaseMixture, rows: Floats) -> NDArray[np.bool_]:
    """Rows whose expert a gate in float32 finds, too."""
    assert isinstance(mixture, Mixture)
    band = gate_band(mixture)
    two = np.sort(_logits(mixture, rows), axis=1)[:, -2:]
    width = float(band.constant) + np.abs(rows) @ np.array([float(slope) for slope in band.slopes])
    small: NDArray[np.bool_] = np.abs(rows).max(axis=1) < 1e15  # beyond it a score in float32 might overflow
    return (two[:, 1] - two[:, 0] > 1.01 * width) & small
