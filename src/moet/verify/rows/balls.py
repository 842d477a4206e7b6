"""Rows of a table around which one look suffices: intervals tell which experts may answer, for all rows at once.

Most rows of a table are far from where answers change. Around such a row every expert that has other answers is behind
some rival wherever the row may move, by more than rounding may hide, or says the row's answer in all leaves that it
gets to. The records of that proof are written without a linear program; other rows are left to the search.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.verify.checker.certificate import Certificate
from moet.verify.inputs.records import add_cut, add_split
from moet.verify.rounding import may_overflow
from moet.verify.rows.domain import Domain
from moet.verify.rows.search import groups_below
from moet.verify.rows.space import Body, Space

Floats = NDArray[np.float64]

_SURE = 1e-10
"""An expert is behind if it is by this share of the sizes of logits; what is nearer is left to the search."""
_AT_ONCE = 1024


class Balls:
    """What rows of a table may become if every column changes by at most a radius.

    Parameters
    ----------
    mixture : Mixture
        A hard one.
    rows : Domain
    radius : dict
        By column.
    """

    def __init__(self, mixture: Mixture, rows: Domain, radius: dict[str, float]) -> None:
        self._mixture, self._rows, self._radius = mixture, rows, radius
        self._space = Space(rows)
        weights = mixture.gate_weights
        ahead = (weights[:, None, :] - weights[None, :, :]).reshape(-1, mixture.n_features)
        self._ahead, self._up, self._down = ahead, np.maximum(ahead, 0.0), np.minimum(ahead, 0.0)
        self._below: dict[int, list[list[int]]] = {}

    def proofs(self, X: Floats, answers: NDArray[np.intp]) -> Iterator[Certificate | None]:
        """For every row the records that it keeps its answer, the position of a class; None where that is not plain."""
        for start in range(0, len(X), _AT_ONCE):
            part = X[start : start + _AT_ONCE]
            lo, hi = self._sides(part)
            rivals = self._rivals(lo, hi)
            for i, answer in enumerate(answers[start : start + _AT_ONCE].tolist()):
                yield self._proof(lo[i], hi[i], rivals[i].tolist(), answer)

    def _sides(self, X: Floats) -> tuple[Floats, Floats]:
        """Least and largest features of all that rows may become, as :meth:`Domain.within` has them."""
        lo, hi = X.copy(), X.copy()
        for part in self._rows.values:
            own, radius = list(part.features), self._radius[part.column.name]
            if part.column.kind == "category":
                if radius >= 1.0:
                    hi[:, own] = np.maximum(X[:, own], [float(k in part.allowed) for k in range(len(own))])
                    lo[:, own] = np.where(hi[:, own].sum(axis=1, keepdims=True) == 1.0, X[:, own], 0.0)
                continue
            x = X[:, own]
            step = np.floor(radius) if part.column.is_whole else radius
            lo[:, own] = np.maximum(np.minimum(part.low, x), x - step)
            hi[:, own] = np.minimum(np.maximum(part.high, x), x + step)
        return lo, hi

    def _rivals(self, lo: Floats, hi: Floats) -> NDArray[np.intp]:
        """For every row and expert one that is surely ahead of it, or -1."""
        mixture = self._mixture
        n, n_experts = len(lo), mixture.n_experts
        reach = np.maximum(np.abs(lo), np.abs(hi))
        sizes = np.abs(mixture.gate_bias) + reach @ np.abs(mixture.gate_weights).T
        lead = hi @ self._up.T + lo @ self._down.T
        for members in self._space.groups:
            if np.any(hi[:, members].sum(axis=1) > 1.0):  # not all at once: one of them is 1
                lead -= hi[:, members] @ self._up[:, members].T + lo[:, members] @ self._down[:, members].T
                lead += np.where(hi[:, None, members] == 1.0, self._ahead[:, members], -np.inf).max(axis=2)
        lead = lead.reshape(n, n_experts, n_experts)
        lead += mixture.gate_bias[:, None] - mixture.gate_bias[None, :]
        lead += _SURE * (sizes[:, :, None] + sizes[:, None, :])
        lead[:, np.arange(n_experts), np.arange(n_experts)] = np.inf
        best = lead.argmin(axis=2)
        return np.where(np.take_along_axis(lead, best[:, :, None], axis=2)[:, :, 0] < 0.0, best, -1)

    def _proof(self, lo: Floats, hi: Floats, rivals: list[int], answer: int) -> Certificate | None:
        proof = Certificate("robust", {})
        if may_overflow(self._mixture.gate_weights, self._mixture.gate_bias, lo, hi):
            return None
        for below, tree, rival in zip(self._groups(answer), self._mixture.trees, rivals, strict=True):
            stack = [(0, Body(lo, hi, np.zeros(len(lo), dtype=bool)))]
            while stack:
                node, body = stack.pop()
                if not below[node] & 2:
                    continue
                if rival >= 0:
                    add_cut(proof, {0: Fraction(1)}, [rival])
                    continue
                if not below[node] & 1:
                    return None
                add_split(proof)
                k, place = int(tree.feature[node]), float(tree.threshold[node])
                parts = [
                    (int(tree.right[node]), self._space.over(body, k, place)),
                    (int(tree.left[node]), self._space.below(body, k, place)),
                ]
                stack += [(child, part) for child, part in parts if part is not None]
        return proof

    def _groups(self, answer: int) -> list[list[int]]:
        """Of every tree, whether the leaves below its nodes have other answers (2) or this one (1), as bits."""
        if answer not in self._below:
            other = (np.arange(len(self._mixture.classes)) != answer).astype(np.int64)
            self._below[answer] = [groups_below(tree, other) for tree in self._mixture.trees]
        return self._below[answer]
