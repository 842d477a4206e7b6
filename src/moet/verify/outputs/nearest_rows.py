"""The nearest of possible rows: boxes are divided until the nearest input of the nearest one is a possible row."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

import numpy as np
from numpy.typing import NDArray

from moet.verify.box import Bounds
from moet.verify.checker.certificate import Certificate
from moet.verify.exact import rounded
from moet.verify.inputs.closest_search import NearestSearch
from moet.verify.outputs.possible import PIECE, Division, Possible
from moet.verify.polytopes import Polytope

Floats = NDArray[np.float64]


@dataclass
class _Piece:
    """A box, the search for the nearest of its inputs, possible rows or not, and how it was divided, if it was."""

    lo: Floats
    hi: Floats
    search: NearestSearch
    division: Division | None = None
    parts: tuple[_Piece, ...] = ()


class PieceSearch:
    """Finds the distance of the nearest possible row of some regions; of the nearest input, where all are possible.

    Boxes wait under the distance of their nearest input, which no row of theirs is nearer than. The lowest is looked at
    first: if rows whose whole features are those of that input come as near, this is the distance. Otherwise the box is
    divided at a feature that is whole in possible rows.

    Parameters
    ----------
    nearest : callable
        A search for the nearest input of a box.
    possible : Possible
    lo, hi : array of float
        The domain.

    Attributes
    ----------
    best : Fraction or None
        The distance; None if no region has a possible row.
    winner : (Polytope, list of Fraction) or None
        The region that is nearest, and the point of its closure that is.
    box : pair of array of float
        Where that point is: a box in which every input is a possible row.
    """

    def __init__(
        self, nearest: Callable[[Floats, Floats], NearestSearch], possible: Possible, lo: Floats, hi: Floats
    ) -> None:
        self.best: Fraction | None = None
        self.winner: tuple[Polytope, list[Fraction]] | None = None
        self.box: Bounds = (lo, hi)
        self.effort: dict[str, float] = {}
        self._nearest, self._possible = nearest, possible
        self._root: _Piece | None = None

    def run(self) -> bool:
        """Find the distance; False if time was up."""
        self._root = self._piece(*self.box)
        waiting = [] if self._root is None else [self._root]
        order = count()
        heap: list[tuple[Fraction, int, _Piece]] = []
        while waiting or heap:
            for piece in waiting:
                if piece.search.best is not None:
                    heapq.heappush(heap, (piece.search.best, next(order), piece))
            if not heap:
                return True
            distance, _, piece = heapq.heappop(heap)
            if self._is_attained(piece, distance):
                return True
            assert piece.division is not None
            parts = [self._piece(*box) for box in piece.division.parts(piece.lo, piece.hi)]
            piece.parts = tuple(part for part in parts if part is not None)
            if len(piece.parts) < len(parts):
                return False
            waiting = list(piece.parts)
        return self._root is not None

    def write_proof(
        self, of_box: Callable[[NearestSearch, Floats, Floats, Certificate], None], certificate: Certificate
    ) -> None:
        """Write the records that the checker expects for "no possible row is nearer"."""
        assert self._root is not None
        stack = [self._root]
        while stack:
            piece = stack.pop()
            if piece.division is not None:
                piece.division.write(certificate)
                stack += reversed(piece.parts)
                continue
            if not self._possible.are_all:
                certificate.add(bytes([PIECE]))
            piece.search.best = self.best  # that of a box may be larger, which is more than there is to prove
            of_box(piece.search, piece.lo, piece.hi, certificate)

    def _piece(self, lo: Floats, hi: Floats) -> _Piece | None:
        """A box and the nearest of its inputs; None if time was up."""
        search = self._nearest(lo, hi)
        finished = search.run()
        for name, value in search.effort.items():
            self.effort[name] = value if name == "seconds" else self.effort.get(name, 0) + value
        return _Piece(lo, hi, search) if finished else None

    def _is_attained(self, piece: _Piece, distance: Fraction) -> bool:
        """Whether possible rows come as near as the nearest input; otherwise it is known where to divide the box."""
        assert piece.search.winner is not None
        x = rounded(piece.search.winner[1])
        piece.division = self._possible.division(x, piece.lo, piece.hi)
        if piece.division is not None:
            return False
        box = self._possible.as_in(x, piece.lo, piece.hi)
        rows = piece if self._possible.around(x, piece.lo, piece.hi) is None else self._piece(*box)
        if rows is None or rows.search.best != distance:
            piece.division = self._possible.around(x, piece.lo, piece.hi)
            return False
        self.best, self.winner, self.box = distance, rows.search.winner, box
        return True
