"""The walk over all paths that a closed loop can take from a set, with the records that prove what is claimed of it.

For every polytope that a block starts from, the records are those of a walk over all paths the loop can take:

- first, bounds over the whole polytope: of everything watched, for every step, and of every row of the template at the
  end; each is a code n and n multipliers;
- at a *node* after the first step, for everything watched: code 0 (the bound over the whole polytope will do), n < 64
  (n multipliers prove the limit), or 64 + n (n multipliers are a contradiction: nobody gets here, and the node ends);
- then, if there is a goal: 192, and n multipliers for each of its conditions, if all states are in it, and the node
  ends; 64 + n as before; or 128;
- at the last step, for every cell of the set: 64 + n, or 128 and then for every row of the template as above;
- else, if the enclosure has several pieces, for the upper and the lower side of its variable: n multipliers, and the
  last or first piece that they leave; or 64 + n. Then for every leaf: 64 + n, or 128: it may be taken. If those that
  may be taken do not agree on the action: 1, and the nodes that follow are one for each of them, cut by its guards; or
  0, and one node follows, whose step may be that of any of these actions. If they agree, one node follows.

Multipliers name rows: those of the polytope (slice, other directions), then the guards of the path in order, then
those of the leaf or of the cell in question. All numbers are integers over 2^BITS; rounding is always to the
unfavourable side.
"""

from __future__ import annotations

from fractions import Fraction
from operator import mul
from typing import NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.certificate import Records
from moet.verify.checker.loops.claims import BlockClaim
from moet.verify.checker.loops.sets.claim import Conditions, Enclosure, Template
from moet.verify.checker.loops.sets.enclosures import BITS, rounded

MULTIPLIER_BITS = 64
EMPTY, POSSIBLE, ARRIVED = 64, 128, 192
MERGED, SPLIT = 0, 1

Row = tuple[list[int], int]
"""Integers (a, b) such that a·x <= b, over 2^BITS."""


class _Path(NamedTuple):
    """Step, offset, radii of the steps so far in a row, guards, and how far directions may be off."""

    t: int
    offset: list[int]
    radii: list[int]
    guards: list[Row]
    spreads: dict[int, int]


class Walk:
    """One block: the walk over all paths from each polytope."""

    def __init__(
        self, enclosure: Enclosure, block: BlockClaim, conditions: Conditions, template: Template, records: Records
    ) -> None:
        self.enclosure, self.template, self.records = enclosure, template, records
        self.d = conditions.d
        self.n_steps = block.steps
        self.powers = enclosure.powers(self.n_steps)
        self.sizes = enclosure.sizes(self.n_steps)
        self.matrix = [[value.as_integer_ratio() for value in row] for row in enclosure.matrix]
        watch = block.watch
        if len(watch) != len(enclosure.watched):
            raise CertificateError("a block does not say how far everything watched may go")
        for (low, high), most, least in zip(enclosure.box, watch[0::2], watch[1::2], strict=False):
            if self.n_steps and (most > high or -least < low):
                raise CertificateError("a run may leave the box of its enclosure")
        for (_, bound), limit in zip(conditions.slanted, watch[2 * self.d :], strict=True):
            if self.n_steps and limit > bound:
                raise CertificateError("a run may leave the safe set")
        self.watch = [rounded(limit)[0] for limit in watch]
        self.target = block.target
        self.target_limits = [None if cell is None else [rounded(v)[0] for v in cell] for cell in self.target]
        most_guards = max((len(leaf.guards) for leaf in enclosure.leaves), default=0)
        records.charge(20 + most_guards * self.n_steps * self.d, 20 + 10 * self.d)

    def start(self, limits: list[Fraction]) -> None:
        """Check all paths from one polytope, given by limits of the axes and of the other rows of the template."""
        d = self.d
        box = [(-limits[2 * k + 1], limits[2 * k]) for k in range(d)]
        for (low, high), (least, most) in zip(box, self.enclosure.box, strict=True):
            if low < least or high > most:
                raise CertificateError("a set leaves the box of its enclosure")
        self.low = [rounded(low)[0] for low, _ in box]
        self.high = [rounded(high)[1] for _, high in box]
        # an error below one in every coefficient changes a row by less than this
        self.blur = 1 + sum(max(abs(a), abs(b)) for a, b in zip(self.low, self.high, strict=True)) // (1 << BITS) + d
        rows = zip(self.powers[0][2 * d :], limits[2 * d :], strict=False)
        self.rows = [(row, rounded(limit)[1] + self.blur) for row, limit in rows]
        self.watch_roots = [
            [
                self._proved(self.powers[t][q], self._multipliers(self.records.code(), []))
                for q in self.enclosure.watched
            ]
            for t in range(1, self.n_steps + 1)
        ]
        last = self.powers[self.n_steps]
        self.target_roots = [
            self._proved(last[q], self._multipliers(self.records.code(), [])) for q in range(len(self.template.rows))
        ]
        paths = [_Path(0, [0] * d, [], [], {})]
        while paths:
            paths.extend(reversed(self._visit(paths.pop())))

    def _visit(self, path: _Path) -> list[_Path]:
        """Check what is said of a path, and return those that go on from there."""
        if path.t > 0 and (not self._watch(path) or (self.enclosure.goal and self._arrived(path))):
            return []
        if path.t == self.n_steps:
            for cell in range(len(self.template.cells)):
                self._arrive(path, cell)
            return []
        pieces = self._pieces(path)
        if pieces is None:
            return []
        taken = []
        for leaf in self.enclosure.leaves:
            guards = [self._guard(path, q, limit) for q, limit in leaf.guards]
            code = self.records.code()
            if code == POSSIBLE:
                taken.append((leaf.action, guards))
            else:
                self._contradiction(code, path.guards + guards)
        actions = list(dict.fromkeys(action for action, _ in taken))
        code = self.records.code() if len(actions) > 1 else MERGED
        if code == SPLIT:
            return [self._step(path, [action], pieces, guards) for action, guards in taken]
        if code != MERGED:
            raise CertificateError(f"the code {code} is out of place")
        return [self._step(path, actions, pieces, [])] if actions else []

    def _watch(self, path: _Path) -> bool:
        """Whether anybody takes the path; everything watched is within its limits then."""
        for i, q in enumerate(self.enclosure.watched):
            code = self.records.code()
            if code >= EMPTY:
                self._contradiction(code, path.guards)
                return False
            self._hold(path, q, code, path.guards, self.watch_roots[path.t - 1][i], self.watch[i], "a limit on the way")
        return True

    def _arrived(self, path: _Path) -> bool:
        """Whether everybody on the path is in the goal."""
        code = self.records.code()
        if code == POSSIBLE:
            return False
        if code != ARRIVED:
            self._contradiction(code, path.guards)
            return True
        for q, limit in self.enclosure.goal:
            multipliers = self._multipliers(self.records.code(), path.guards)
            if self._proved(self.powers[path.t][q], multipliers) + self._most(path, q) > rounded(limit)[0]:
                raise CertificateError(f"the goal is not shown to be reached (step {path.t})")
        return True

    def _arrive(self, path: _Path, cell: int) -> None:
        """See that states that end in a cell are in its polytope."""
        low, high = self.template.cells[cell]
        up = self.template.up
        everywhere: Row = ([0] * self.d, 0)
        guards = [
            *path.guards,
            everywhere if high is None else self._guard(path, up, rounded(high)[1]),
            everywhere if low is None else self._guard(path, up + 1, rounded(-low)[1]),
        ]
        code = self.records.code()
        limits = self.target_limits[cell]
        if code != POSSIBLE:
            self._contradiction(code, guards)
            return
        if limits is None:
            raise CertificateError("states may end in a cell that should be empty")
        for q, limit in enumerate(limits):
            code = self.records.code()
            if code >= EMPTY:
                self._contradiction(code, guards)
                return
            if code == 0 and q == up and high is not None and rounded(high)[1] <= limit:
                continue
            if code == 0 and q == up + 1 and low is not None and rounded(-low)[1] <= limit:
                continue
            self._hold(path, q, code, guards, self.target_roots[q], limit, "a limit at the end")

    def _pieces(self, path: _Path) -> tuple[int, int] | None:
        """First and last piece that states may be in; None if nobody takes the path."""
        edges = self.enclosure.edges
        first, last = 0, len(edges) - 2
        if last == 0:
            return 0, 0
        for side in range(2):
            code = self.records.code()
            if code >= EMPTY:
                self._contradiction(code, path.guards)
                return None
            q = 2 * self.enclosure.variable + side
            bound = self._proved(self.powers[path.t][q], self._multipliers(code, path.guards)) + self._most(path, q)
            (piece,) = self.records.refs(1)
            if not 0 <= piece <= len(edges) - 2:
                raise CertificateError(f"there is no piece {piece}")
            if side == 0:
                last = piece
                if piece < len(edges) - 2 and bound > rounded(edges[piece + 1])[0]:
                    raise CertificateError("states may be beyond the last piece")
            else:
                first = piece
                if piece > 0 and bound > rounded(-edges[piece])[0]:
                    raise CertificateError("states may be before the first piece")
        if first > last:
            raise CertificateError("the pieces are not in order")
        return first, last

    def _step(self, path: _Path, actions: list[int], pieces: tuple[int, int], guards: list[Row]) -> _Path:
        offset, radii = [], []
        residuals = [self.enclosure.residual(p, action) for p in range(pieces[0], pieces[1] + 1) for action in actions]
        for k, row in enumerate(self.matrix):
            low, high = min(part[k][0] for part in residuals), max(part[k][1] for part in residuals)
            middle = (low + high) >> 1
            moved = sum([n * c // m for (n, m), c in zip(row, path.offset, strict=True)])
            offset.append(moved + middle)
            radii.append(high - middle + 1 + self.d)  # each division may have lost less than one
        return _Path(path.t + 1, offset, path.radii + radii, path.guards + guards, {})

    def _hold(self, path: _Path, q: int, code: int, guards: list[Row], root: int, limit: int, what: str) -> None:
        """See that direction q stays below a limit."""
        if code:
            root = self._proved(self.powers[path.t][q], self._multipliers(code, guards))
        if root + self._most(path, q) > limit:
            raise CertificateError(f"{what} is not proved (step {path.t})")

    def _guard(self, path: _Path, q: int, limit: int) -> Row:
        """Row of the first states from which direction q may be at most ``limit`` after the steps of a path."""
        centre, spread = self._shift(path, q)
        return self.powers[path.t][q], limit - centre + spread + self.blur

    def _most(self, path: _Path, q: int) -> int:
        centre, spread = self._shift(path, q)
        return centre + spread

    def _shift(self, path: _Path, q: int) -> tuple[int, int]:
        """What a path adds to direction q, and how far that may be off."""
        same = self.enclosure.same[q]
        if same not in path.spreads:
            skipped = (self.n_steps - path.t) * self.d
            spread = sum(map(mul, self.sizes[same][skipped:], path.radii)) + sum(map(abs, path.offset))
            path.spreads[same] = (spread >> BITS) + 2
        return sum(map(mul, self.powers[0][q], path.offset)) >> BITS, path.spreads[same]

    def _multipliers(self, code: int, guards: list[Row]) -> list[tuple[Row, int]]:
        if code >= EMPTY:
            raise CertificateError(f"the code {code} is out of place")
        chosen = []
        for name, number in self.records.multipliers(code):
            numerator, denominator = number.as_integer_ratio()
            factor = (numerator << MULTIPLIER_BITS) // denominator
            if not 0 <= name < len(self.rows) + len(guards):
                raise CertificateError(f"there is no row {name}")
            row = self.rows[name] if name < len(self.rows) else guards[name - len(self.rows)]
            chosen.append((row, factor))
        return chosen

    def _proved(self, objective: list[int], multipliers: list[tuple[Row, int]]) -> int:
        """Bound of a direction that multipliers prove: what they leave over is bounded by the box."""
        bound = 0
        rest = [value << MULTIPLIER_BITS for value in objective]
        for (row, limit), factor in multipliers:
            bound += factor * limit
            rest = [a - factor * b for a, b in zip(rest, row, strict=True)]
        over = sum([r * (high if r > 0 else low) for r, low, high in zip(rest, self.low, self.high, strict=True)])
        return -(-((bound << BITS) + over) >> (MULTIPLIER_BITS + BITS)) + self.blur

    def _contradiction(self, code: int, guards: list[Row]) -> None:
        if not EMPTY < code < POSSIBLE:
            raise CertificateError(f"the code {code} is out of place")
        if self._proved([0] * self.d, self._multipliers(code - EMPTY, guards)) - self.blur >= 0:
            raise CertificateError("a branch is not shown to be empty")
