"""Fewer columns of a set: older ones are put together in a box, in coordinates in which that loses little."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moet.verify.loops.flowpipe.integrate import Points
from moet.verify.loops.flowpipe.script import Script

Floats = NDArray[np.float64]

_AHEAD = (0, 5, 20, 60)
_MOST_GROWTH = 1e8
"""Steps ahead at which boxes are compared, as long as nothing grows more than this."""


def reduced(points: Points, n_first: int, loop: Floats, script: Script) -> Points:
    """Put the older half of the columns together, in the coordinates in which that loses least.

    ``loop`` is the matrix of the last step.
    """
    last = n_first + (points.columns.shape[1] - n_first) // 2
    frame = _frame(points.columns[: len(loop), n_first:last], loop)
    return put_together(points, n_first, last, frame, script)


def put_together(points: Points, first: int, last: int, frame: Floats, script: Script) -> Points:
    """Put a box in the coordinates of a frame in place of the columns from ``first`` to before ``last``."""
    d, n = len(frame), len(points.middle)
    old = points.columns[:d, first:last]
    inverse = np.asarray(np.linalg.inv(frame), np.float64)
    script.more([first, last])
    script.more([], frame)
    script.more([], inverse)
    box = np.zeros((n, d))
    box[:d] = frame * np.abs(inverse @ old).sum(axis=1)
    extra = np.zeros((n, n))
    extra[d:, d:] = np.diag(np.abs(points.columns[d:, first:last]).sum(axis=1))
    columns = [points.columns[:, :first], box, extra, points.columns[:, last:]]
    return Points(points.middle, np.concatenate(columns, axis=1), points.box)


def _frame(old: Floats, loop: Floats) -> Floats:
    """Coordinates in which a box around columns will be smallest, now and after some steps of the loop."""
    size = np.abs(old).sum(axis=1)
    scale = np.where(size > 0, size, 1.0)
    candidates = [np.diag(scale), np.linalg.svd(old / scale[:, None])[0] * scale[:, None]]
    powers = [np.linalg.matrix_power(loop, k) for k in _AHEAD]
    largest = max(float(np.abs(power).max()) for power in powers)
    if not largest < _MOST_GROWTH:
        powers = [np.eye(len(loop))]
    for power in powers[1:]:  # a box whose sides are where columns will be wide
        ahead = np.linalg.svd(power @ old / scale[:, None])[0] * scale[:, None]
        if np.linalg.cond(power) < _MOST_GROWTH:
            candidates.append(np.linalg.solve(power, ahead))
    modes = real_modes(loop)
    candidates += [] if modes is None else [modes]
    usable = [frame for frame in candidates if np.linalg.cond(frame / scale[:, None]) < _MOST_GROWTH]
    return min(usable, key=lambda frame: _loss(frame, old, powers))


def _loss(frame: Floats, columns: Floats, powers: list[Floats]) -> float:
    """How much larger a box around columns in the coordinates of a frame is than they are, now and later."""
    box = frame * np.abs(np.linalg.inv(frame) @ columns).sum(axis=1)
    ratios = [np.abs(power @ box).sum(axis=1) / (np.abs(power @ columns).sum(axis=1) + 1e-300) for power in powers]
    return float(np.mean([ratio.mean() for ratio in ratios]))


def real_modes(matrix: Floats) -> Floats | None:
    """Real and imaginary parts of the eigenvectors; None if they are nearly dependent."""
    values, vectors = np.linalg.eig(matrix)
    columns = []
    for value, vector in zip(values, vectors.T, strict=True):
        if value.imag > 0:
            columns += [vector.real, vector.imag]
        elif value.imag == 0:
            columns.append(vector.real)
    frame = np.array(columns).T
    if frame.shape != matrix.shape or np.linalg.cond(frame) > 1e6:
        return None
    return np.asarray(frame / np.abs(frame).max(axis=0))
