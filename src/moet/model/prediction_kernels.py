"""Compiled kernels of the one meaning of a prediction.

The gate's logits are summed left to right starting from the bias, in float64, without fused multiply-add, so that
every implementation (batch, single state, C, JavaScript) gets the same bits. Batches are worked in blocks of rows: the
order of additions *within* a logit stays left to right while the compiler vectorises *across* rows.

``gate[j]`` is (bias, weights...) of expert j and ``nodes[node]`` is (feature, left, right): the child is looked up by
index, for the processor would mispredict a branch half the time. A leaf is its own child (and tests feature 0 against
+inf), so a walk may overshoot: several steps are taken per check.
"""

from __future__ import annotations

import math
from typing import Any

from numba import njit

from moet.jit import BORROWING, INTERNAL

BLOCK = 128


@njit(inline="always", **INTERNAL)
def _block_logits(X: Any, start: int, rows: int, gate: Any, columns: Any, logits: Any) -> None:
    """Fill ``logits`` (n_experts, BLOCK) for ``rows`` rows from ``start`` on; ``columns`` is scratch space."""
    n_experts, width = gate.shape
    for i in range(rows):
        for k in range(width - 1):
            columns[k, i] = X[start + i, k]
    for j in range(n_experts):
        logit = logits[j]
        for i in range(BLOCK):
            logit[i] = gate[j, 0]
        for k in range(0, width - 2, 2):  # two features at a time save half the memory traffic
            w, v = gate[j, k + 1], gate[j, k + 2]
            column, next_column = columns[k], columns[k + 1]
            for i in range(BLOCK):
                logit[i] = (logit[i] + w * column[i]) + v * next_column[i]
        if width % 2 == 0:
            w, column = gate[j, width - 1], columns[width - 2]
            for i in range(BLOCK):
                logit[i] += w * column[i]


@njit(inline="always", **INTERNAL)
def _block_argmax(logits: Any, top: Any, expert: Any) -> None:
    """First maximum over the experts of every column of ``logits``."""
    logit = logits[0]
    for i in range(BLOCK):
        top[i] = logit[i]
        expert[i] = 0
    for j in range(1, logits.shape[0]):
        logit = logits[j]
        for i in range(BLOCK):
            expert[i] = j if logit[i] > top[i] else expert[i]
            top[i] = logit[i] if logit[i] > top[i] else top[i]


@njit(**INTERNAL)
def _block_walk(X: Any, start: int, rows: int, nodes: Any, threshold: Any, at: Any) -> None:
    """Move the ``rows`` rows from ``start`` on from the nodes ``at`` to the leaves below them.

    Four at a time hide the latency of one another's memory accesses; the last ones may be moved twice.
    """
    for i in range(0, rows, 4):
        i1 = i + 1 if i + 1 < rows else i
        i2 = i + 2 if i + 2 < rows else i1
        i3 = i + 3 if i + 3 < rows else i2
        a, b, c, d = at[i], at[i1], at[i2], at[i3]
        while nodes[a, 1] != a or nodes[b, 1] != b or nodes[c, 1] != c or nodes[d, 1] != d:
            for _ in range(2):
                a = nodes[a, 2 - (X[start + i, nodes[a, 0]] <= threshold[a])]
                b = nodes[b, 2 - (X[start + i1, nodes[b, 0]] <= threshold[b])]
                c = nodes[c, 2 - (X[start + i2, nodes[c, 0]] <= threshold[c])]
                d = nodes[d, 2 - (X[start + i3, nodes[d, 0]] <= threshold[d])]
        at[i], at[i1], at[i2], at[i3] = a, b, c, d


@njit(**BORROWING)
def leaf_of_state(x: Any, gate: Any, roots: Any, nodes: Any, threshold: Any) -> int:
    """Node index of the leaf that answers for one state, or -1 if the state is not finite."""
    n_experts, width = gate.shape
    for k in range(width - 1):
        if not math.isfinite(x[k]):
            return -1
    best = 0
    top = 0.0
    for j in range(n_experts):
        logit = gate[j, 0]
        for k in range(width - 1):
            logit += gate[j, k + 1] * x[k]
        if j == 0 or logit > top:
            top = logit
            best = j
    node = roots[best]
    while nodes[node, 1] != node:
        for _ in range(4):
            node = nodes[node, 2 - int(x[nodes[node, 0]] <= threshold[node])]
    return node


@njit(**BORROWING)
def leaves_of_rows(
    X: Any, gate: Any, roots: Any, nodes: Any, threshold: Any, expert: Any, leaf: Any,
    columns: Any, logits: Any, at: Any,
) -> None:  # fmt: skip
    """Write the expert (argmax of the logits) and the answering leaf of every row.

    The last three are scratch space for a block of rows: ``columns`` (zeros), one per feature and two for sums over
    experts, ``logits``, and two rows of indices. Columns and logits must not share memory: loops over rows that are
    neighbours in one array would not vectorise. No tuple, for that would take a microsecond of a single prediction.
    """
    n_rows = len(X)
    top, chosen, place = columns[X.shape[1]], at[0], at[1]
    for start in range(0, n_rows, BLOCK):
        rows = BLOCK if start + BLOCK < n_rows else n_rows - start
        _block_logits(X, start, rows, gate, columns, logits)
        _block_argmax(logits, top, chosen)
        for i in range(rows):
            expert[start + i] = chosen[i]
            place[i] = roots[chosen[i]]
        _block_walk(X, start, rows, nodes, threshold, place)
        for i in range(rows):
            leaf[start + i] = place[i]


@njit(**BORROWING)
def soft_probabilities(
    X: Any, gate: Any, roots: Any, nodes: Any, threshold: Any, value: Any, out: Any,
    columns: Any, logits: Any, at: Any,
) -> None:  # fmt: skip
    """Add the gate-weighted average of the experts' leaf probabilities to ``out``, one row per row of ``X``.

    The last three are scratch space as for :func:`leaves_of_rows`.
    """
    n_rows = len(X)
    top, total, chosen, place = columns[X.shape[1]], columns[X.shape[1] + 1], at[0], at[1]
    for start in range(0, n_rows, BLOCK):
        rows = BLOCK if start + BLOCK < n_rows else n_rows - start
        _block_logits(X, start, rows, gate, columns, logits)
        _block_argmax(logits, top, chosen)
        for i in range(rows):
            total[i] = 0.0
        for j in range(len(gate)):
            for i in range(rows):
                place[i] = roots[j]
            _block_walk(X, start, rows, nodes, threshold, place)
            g = logits[j]
            for i in range(rows):
                g[i] = math.exp(g[i] - top[i])
                total[i] += g[i]
            for c in range(value.shape[1]):  # a loop over few classes within one over rows would be set up for each row
                for i in range(rows):
                    out[start + i, c] += g[i] * value[place[i], c]
        for c in range(value.shape[1]):
            for i in range(rows):
                out[start + i, c] /= total[i]
