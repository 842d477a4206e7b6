"""Boxes that are cut in two again and again: many at once for the search, and as a tree for the certificate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.verify.checker.certificate import Certificate

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Integers = NDArray[np.int64]

SPLIT, SURE, SAME = 0, 3, 4
"""Codes of the records that :mod:`moet.verify.checker.inputs.soft` reads."""


class SplitTree:
    """How boxes came from one another. Node 0 is all; the halves of a node are neighbours, the lower one first."""

    def __init__(self) -> None:
        self._feature = [-1]
        self._place = [0.0]
        self._below = [-1]

    def split(self, nodes: Integers, feature: Integers, place: Floats) -> Integers:
        """Cut nodes in two; return the lower halves."""
        below = len(self._feature) + 2 * np.arange(len(nodes))
        for node, k, at, first in zip(nodes.tolist(), feature.tolist(), place.tolist(), below.tolist(), strict=True):
            self._feature[node], self._place[node], self._below[node] = k, at, first
        self._feature += [-1] * (2 * len(nodes))
        self._place += [0.0] * (2 * len(nodes))
        self._below += [-1] * (2 * len(nodes))
        return below

    def write(
        self,
        certificate: Certificate,
        lo: Floats,
        hi: Floats,
        is_outside: Callable[[Floats, Floats], bool] | None = None,
    ) -> None:
        """Write the records of the tree in preorder; of nodes that are outside the checker wants none."""
        codes, refs, numbers = bytearray(), [], []
        stack = [(0, lo, hi)]
        while stack:
            node, low, high = stack.pop()
            if is_outside is not None and is_outside(low, high):
                continue
            k, at, below = self._feature[node], self._place[node], self._below[node]
            if k < 0:
                codes.append(SURE)
                continue
            codes.append(SPLIT)
            refs.append(k)
            numbers.append(at)
            lower, upper = high, low
            if is_outside is not None:
                lower, upper = high.copy(), low.copy()
                lower[k] = upper[k] = at
            stack += [(below + 1, upper, high), (below, low, lower)]
        certificate.add(bytes(codes), np.array(refs, np.int32), np.array(numbers))


class Boxes(NamedTuple):
    """Boxes, one per row, and the nodes of the tree that they are; x > lo where ``above``."""

    lo: Floats
    hi: Floats
    above: Bools
    node: Integers

    @classmethod
    def whole(cls, lo: Floats, hi: Floats) -> Boxes:
        """One box."""
        return cls(lo[None, :], hi[None, :], np.zeros((1, len(lo)), dtype=bool), np.zeros(1, dtype=np.int64))

    @classmethod
    def points(cls, X: Floats) -> Boxes:
        """Boxes of one point each."""
        return cls(X, X, np.zeros(X.shape, dtype=bool), np.zeros(len(X), dtype=np.int64))

    def take(self, index: Any) -> Boxes:
        """Some of the boxes."""
        return Boxes(*(part[index] for part in self))

    def join(self, other: Boxes) -> Boxes:
        """These boxes and others."""
        return Boxes(*(np.concatenate(parts) for parts in zip(self, other, strict=True)))

    def halves(self, tree: SplitTree, feature: Integers, place: Floats, which: Bools) -> tuple[Boxes, int]:
        """Cut some of the boxes in two; also the number of those that are too small to be cut."""
        rows = np.arange(len(self.lo))
        inside = (place < self.hi[rows, feature]) & (place >= self.lo[rows, feature])
        inside &= (place > self.lo[rows, feature]) | ~self.above[rows, feature]
        cut = np.flatnonzero(which & inside)
        parent, k, at = self.take(cut), feature[cut], place[cut]
        below = tree.split(parent.node, k, at)
        rows = np.arange(len(cut))
        hi, lo, above = parent.hi.copy(), parent.lo.copy(), parent.above.copy()
        hi[rows, k], lo[rows, k], above[rows, k] = at, at, True
        lower, upper = Boxes(parent.lo, hi, parent.above, below), Boxes(lo, parent.hi, above, below + 1)
        return lower.join(upper), int(np.sum(which & ~inside))
