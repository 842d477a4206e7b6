"""Checker of proofs that lead from set to set. Standard library only; it shares nothing with the search but the format.

The claim names a *shape* (axes, a slice and its edges, template rows), affine *models* of one step on a box of states,
and *blocks*: the number of steps that are taken from one set, with which model, limits of what is watched on the way,
and the set they lead to. A set is a family of polytopes, one per interval of the slice. The first block starts from
the first states; the next from the set of the one before; for an invariant the last set is the one before it.

For every polytope that a block starts from, the records are those of a walk over all paths the loop can take:

- first, bounds over the whole polytope: of everything watched, for every step, and of every row of the shape at the
  end; each is a code n and n multipliers;
- at a *node* after the first step, for everything watched: code 0 (the bound over the whole polytope will do), n < 64
  (n multipliers prove the limit), or 64 + n (n multipliers are a contradiction: nobody gets here, and the node ends);
- at the last step, for every cell of the set: 64 + n, or 128 and then for every row of the shape as above;
- else, if the model has several pieces, for the upper and the lower side of its variable: n multipliers, and the last
  or first piece that they leave; or 64 + n. Then for every leaf: 64 + n, or 128: it may be taken. Then the nodes that
  follow: one if all leaves that may be taken agree on the action, otherwise one for each of them, cut by its guards.

Multipliers name rows: those of the polytope (slice, template), then the guards of the path in order, then those of the
leaf or of the cell in question. All numbers are integers over 2^BITS; rounding is always to the unfavourable side.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.certificate import Certificate, Records
from moet.verify.checker.check_enclosure import BITS, StepChecker, rounded
from moet.verify.checker.documents import action_number, interval, sized, vector
from moet.verify.checker.plain import PlainModel, PlainTree, system_digest

MULTIPLIER_BITS = 64
EMPTY, POSSIBLE = 64, 128

_MALFORMED = (
    ArithmeticError,
    AttributeError,
    IndexError,
    KeyError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
)

Vector = list[Fraction]
Row = tuple[list[int], int]
"""Integers (a, b) such that a·x <= b, over 2^BITS."""


def check_blocks(certificate: Certificate, model: PlainModel, system: dict[str, Any]) -> None:
    """Confirm a proof of kind ``"blocks"`` or ``"invariant"``; raises CertificateError with the reason if it fails."""
    claim = certificate.claim
    if claim.get("model") != model.digest:
        raise CertificateError("the certificate is about another model")
    if claim.get("system") != system_digest(system):
        raise CertificateError("the certificate is about another system")
    if model.prediction != "hard" and len(model.trees) > 1:
        raise CertificateError("the proof is about a hard mixture, but this model predicts softly")
    try:
        _check(certificate, model, system)
    except CertificateError:
        raise
    except _MALFORMED as error:
        raise CertificateError(f"the system or the certificate is malformed: {error!r}") from error


def _check(certificate: Certificate, model: PlainModel, system: dict[str, Any]) -> None:
    claim = certificate.claim
    blocks = claim["blocks"]
    lengths = [block["steps"] for block in blocks]
    if not all(type(length) is int and 0 <= length <= 1000 for length in lengths):
        raise CertificateError("a block has no proper number of steps")
    if certificate.kind == "invariant":
        if claim["steps"] is not None or len(blocks) < 2 or lengths[-1] < 1 or blocks[-1]["set"] != blocks[-2]["set"]:
            raise CertificateError("the last set does not lead to itself")
    elif type(claim["steps"]) is not int or sum(lengths) != claim["steps"]:
        raise CertificateError(f"the blocks have {sum(lengths)} steps, and {claim['steps']!r} are claimed")

    conditions = Conditions(system)
    conditions.check_first_states()
    shape = _Shape(claim, len(system["states"]))
    models = [_Model(part, model, conditions, shape) for part in claim["models"]]
    records = certificate.records()
    cells: list[list[Fraction] | None] = [[bound for low, high in conditions.initial for bound in (high, -low)]]
    for block in blocks:
        walk = _Walk(models[_index(block["model"], models)], block, conditions, shape, records)
        for cell in cells:
            if cell is not None:
                walk.start(cell)
        cells = walk.target
    records.finish()


class Conditions:
    """What the system demands of its states."""

    def __init__(self, system: dict[str, Any]) -> None:
        self.document = system
        d = self.d = len(system["states"])
        self.initial = [interval(side) for side in sized(system["initial"], d)]
        self.low: list[Fraction | None] = [None] * d
        self.high: list[Fraction | None] = [None] * d
        self.slanted: list[tuple[Vector, Fraction]] = []
        self.safe = [(vector(part["coefficients"], d), Fraction(part["bound"])) for part in system["safe"]]
        for k, side in enumerate(sized(system["domain"], d)):
            if side is not None:
                low, high = interval(side)
                self._narrow(k, low, high)
        for row, bound in self.safe:
            used = [k for k in range(d) if row[k]]
            if len(used) > 1:
                self.slanted.append((row, bound))
            elif used and row[used[0]] > 0:
                self._narrow(used[0], None, bound / row[used[0]])
            elif used:
                self._narrow(used[0], bound / row[used[0]], None)
            elif bound < 0:
                raise CertificateError("no state is safe")

    def _narrow(self, k: int, low: Fraction | None, high: Fraction | None) -> None:
        before = self.low[k], self.high[k]
        if low is not None:
            self.low[k] = low if before[0] is None else max(before[0], low)
        if high is not None:
            self.high[k] = high if before[1] is None else min(before[1], high)

    def check_box(self, box: list[tuple[Fraction, Fraction]], what: str) -> None:
        """Complain if a box leaves the sides of the safe set or the domain."""
        for k, (low, high) in enumerate(box):
            least, most = self.low[k], self.high[k]
            if (least is not None and low < least) or (most is not None and high > most):
                raise CertificateError(f"{what} leave the safe set or the domain")

    def check_first_states(self) -> None:
        """Complain if a first state is unsafe."""
        self.check_box(self.initial, "first states")
        for row, bound in self.slanted:
            if sum(max(a * low, a * high) for a, (low, high) in zip(row, self.initial, strict=True)) > bound:
                raise CertificateError("first states are unsafe")


class _Shape:
    """Directions of the polytopes, and the intervals of the slice."""

    def __init__(self, claim: dict[str, Any], d: int) -> None:
        units = [[Fraction(sign * (i == k)) for i in range(d)] for k in range(d) for sign in (1, -1)]
        slice_ = vector(claim["slice"], d)
        template = [vector(row, d) for row in claim["template"]]
        self.rows = [*units, slice_, [-value for value in slice_], *template]
        self.up = 2 * d
        edges = [Fraction(edge) for edge in claim["edges"]]
        if not _ascending(edges):
            raise CertificateError("the edges of the slice are not in order")
        self.cells: list[tuple[Fraction | None, Fraction | None]] = list(
            zip([None, *edges], [*edges, None], strict=True)
        )


class _Leaf(NamedTuple):
    """An action, and the guards of it: directions and limits."""

    action: int
    guards: list[tuple[int, Fraction]]


class _Model:
    """An affine model of one step on a box, and the leaves of the policy as they are on it."""

    def __init__(self, part: dict[str, Any], model: PlainModel, conditions: Conditions, shape: _Shape) -> None:
        d = conditions.d
        system = conditions.document
        self.box = list(zip(vector(part["bottom"], d), vector(part["top"], d), strict=True))
        conditions.check_box(self.box, "states of a model")
        self.matrix = [vector(row, d) for row in sized(part["matrix"], d)]
        self.variable = _index(part["variable"], self.box)
        self.edges = [Fraction(edge) for edge in part["edges"]]
        low, high = self.box[self.variable]
        whole = self.edges == [low, high]  # also where the box is flat
        if not whole and not (_ascending(self.edges) and self.edges[0] <= low and high <= self.edges[-1]):
            raise CertificateError("the pieces of a model do not cover its box")
        n_actions = len(system["actions"])
        self._low, self._high = (
            [[vector(row, d) for row in sized(rows, n_actions)] for rows in sized(part[side], len(self.edges) - 1)]
            for side in ("low", "high")
        )
        self._steps = StepChecker(system)
        self._residuals: dict[tuple[int, int], list[tuple[int, int]]] = {}

        error = vector(system["observation_error"], d)
        self.directions = [*shape.rows, *(row for row, _ in conditions.slanted)]
        self.watched = [*range(2 * d), *range(len(shape.rows), len(self.directions))]
        self.leaves = _leaves(model, system["actions"], self.box, error, self.directions)
        self._powers: list[list[list[int]]] = []
        self._exact = self.directions

    def powers(self, n_steps: int) -> list[list[list[int]]]:
        """Directions times powers of the matrix, as integers (off by less than one)."""
        while len(self._powers) <= n_steps:
            if self._powers:
                columns = list(zip(*self.matrix, strict=True))
                self._exact = [
                    [sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in columns]
                    for row in self._exact
                ]
            self._powers.append([[rounded(value)[0] for value in row] for row in self._exact])
        return self._powers

    def residual(self, piece: int, action: int) -> list[tuple[int, int]]:
        """What a step adds to matrix·x in one piece, once that is confirmed."""
        if (piece, action) not in self._residuals:
            low, high = self._low[piece][action], self._high[piece][action]
            box = list(self.box)
            box[self.variable] = self.edges[piece], self.edges[piece + 1]
            self._steps.check(self.matrix, box, action, low, high)
            self._residuals[piece, action] = [(rounded(a)[0], rounded(b)[1]) for a, b in zip(low, high, strict=True)]
        return self._residuals[piece, action]


class _Path(NamedTuple):
    """Step, offset, radii of the steps so far, and guards."""

    t: int
    offset: list[int]
    radii: list[list[int]]
    guards: list[Row]


class _Walk:
    """One block: the walk over all paths from each polytope."""

    def __init__(
        self, model: _Model, block: dict[str, Any], conditions: Conditions, shape: _Shape, records: Records
    ) -> None:
        self.model, self.shape, self.records = model, shape, records
        self.d = conditions.d
        self.n_steps = block["steps"]
        self.powers = model.powers(self.n_steps)
        self.matrix = [[value.as_integer_ratio() for value in row] for row in model.matrix]
        watch = vector(block["watch"], len(model.watched))
        for (low, high), most, least in zip(model.box, watch[0::2], watch[1::2], strict=False):
            if self.n_steps and (most > high or -least < low):
                raise CertificateError("a run may leave the box of its model")
        for (_, bound), limit in zip(conditions.slanted, watch[2 * self.d :], strict=True):
            if self.n_steps and limit > bound:
                raise CertificateError("a run may leave the safe set")
        self.watch = [rounded(limit)[0] for limit in watch]
        self.target = [None if cell is None else vector(cell, len(shape.rows)) for cell in block["set"]]
        if len(self.target) != len(shape.cells):
            raise CertificateError("a set does not have one polytope per cell")
        self.target_limits = [None if cell is None else [rounded(v)[0] for v in cell] for cell in self.target]

    def start(self, limits: Vector) -> None:
        """Check all paths from one polytope, given by limits of the axes and of the other rows of the shape."""
        d = self.d
        box = [(-limits[2 * k + 1], limits[2 * k]) for k in range(d)]
        for (low, high), (least, most) in zip(box, self.model.box, strict=True):
            if low < least or high > most:
                raise CertificateError("a set leaves the box of its model")
        self.low = [rounded(low)[0] for low, _ in box]
        self.high = [rounded(high)[1] for _, high in box]
        # an error below one in every coefficient changes a row by less than this
        self.blur = 1 + sum(max(abs(a), abs(b)) for a, b in zip(self.low, self.high, strict=True)) // (1 << BITS) + d
        rows = zip(self.powers[0][2 * d :], limits[2 * d :], strict=False)
        self.rows = [(row, rounded(limit)[1] + self.blur) for row, limit in rows]
        self.watch_roots = [
            [self._proved(self.powers[t][q], self._multipliers(self.records.code(), [])) for q in self.model.watched]
            for t in range(1, self.n_steps + 1)
        ]
        last = self.powers[self.n_steps]
        self.target_roots = [
            self._proved(last[q], self._multipliers(self.records.code(), [])) for q in range(len(self.shape.rows))
        ]
        self._visit(_Path(0, [0] * d, [], []))

    def _visit(self, path: _Path) -> None:
        if path.t > 0 and not self._watch(path):
            return
        if path.t == self.n_steps:
            for cell in range(len(self.shape.cells)):
                self._arrive(path, cell)
            return
        pieces = self._pieces(path)
        if pieces is None:
            return
        taken = []
        for leaf in self.model.leaves:
            guards = [self._guard(path, q, limit) for q, limit in leaf.guards]
            code = self.records.code()
            if code == POSSIBLE:
                taken.append((leaf.action, guards))
            else:
                self._contradiction(code, path.guards + guards)
        if len({action for action, _ in taken}) == 1:
            taken = [(taken[0][0], [])]
        for action, guards in taken:
            self._visit(self._step(path, action, pieces, guards))

    def _watch(self, path: _Path) -> bool:
        """Whether anybody takes the path; everything watched is within its limits then."""
        for i, q in enumerate(self.model.watched):
            code = self.records.code()
            if code >= EMPTY:
                self._contradiction(code, path.guards)
                return False
            self._hold(path, q, code, path.guards, self.watch_roots[path.t - 1][i], self.watch[i], "a limit on the way")
        return True

    def _arrive(self, path: _Path, cell: int) -> None:
        """See that states that end in a cell are in its polytope."""
        low, high = self.shape.cells[cell]
        up = self.shape.up
        everywhere: Row = ([0] * self.d, 0)
        guards = [
            *path.guards,
            everywhere if high is None else self._guard(path, up, high),
            everywhere if low is None else self._guard(path, up + 1, -low),
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
        edges = self.model.edges
        first, last = 0, len(edges) - 2
        if last == 0:
            return 0, 0
        for side in range(2):
            code = self.records.code()
            if code >= EMPTY:
                self._contradiction(code, path.guards)
                return None
            q = 2 * self.model.variable + side
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

    def _step(self, path: _Path, action: int, pieces: tuple[int, int], guards: list[Row]) -> _Path:
        offset, radii = [], []
        residuals = [self.model.residual(piece, action) for piece in range(pieces[0], pieces[1] + 1)]
        for k, row in enumerate(self.matrix):
            low, high = min(part[k][0] for part in residuals), max(part[k][1] for part in residuals)
            middle = (low + high) >> 1
            moved = sum([n * c // m for (n, m), c in zip(row, path.offset, strict=True)])
            offset.append(moved + middle)
            radii.append(high - middle + 1 + self.d)  # each division may have lost less than one
        return _Path(path.t + 1, offset, [*path.radii, radii], path.guards + guards)

    def _hold(self, path: _Path, q: int, code: int, guards: list[Row], root: int, limit: int, what: str) -> None:
        """See that direction q stays below a limit."""
        if code:
            root = self._proved(self.powers[path.t][q], self._multipliers(code, guards))
        if root + self._most(path, q) > limit:
            raise CertificateError(f"{what} is not proved (step {path.t})")

    def _guard(self, path: _Path, q: int, limit: Fraction) -> Row:
        """Row of the first states from which direction q may be at most ``limit`` after the steps of a path."""
        centre, spread = self._shift(path, q)
        return self.powers[path.t][q], rounded(limit)[1] - centre + spread + self.blur

    def _most(self, path: _Path, q: int) -> int:
        centre, spread = self._shift(path, q)
        return centre + spread

    def _shift(self, path: _Path, q: int) -> tuple[int, int]:
        """What a path adds to direction q, and how far that may be off."""
        centre = sum([a * b for a, b in zip(self.powers[0][q], path.offset, strict=True)]) >> BITS
        spread = sum([abs(b) for b in path.offset])
        for s, radius in enumerate(path.radii):
            row = self.powers[path.t - 1 - s][q]
            spread += sum([(abs(a) + 1) * r for a, r in zip(row, radius, strict=True)])
        return centre, (spread >> BITS) + 2

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


def _leaves(
    model: PlainModel, actions: list[str], box: list[tuple[Fraction, Fraction]], error: Vector, directions: list[Vector]
) -> list[_Leaf]:
    """Leaves of all trees, a subtree of one action as one; the directions of their guards are added to the list."""
    d = len(box)
    weights = [vector(row, d) for row in model.weights]
    bias = [Fraction(value) for value in model.bias]
    if any(e < 0 for e in error):
        raise CertificateError("an observation error is negative")
    seen = [max(abs(low), abs(high)) + e for (low, high), e in zip(box, error, strict=True)]
    sizes = [
        abs(b) + sum(abs(w) * x for w, x in zip(row, seen, strict=True)) for row, b in zip(weights, bias, strict=True)
    ]
    if max(sizes) >= 2**1020:
        raise CertificateError("the gate's logits may overflow")
    errors = [(d + 2) * Fraction(1, 2**53) * size + Fraction(1, 2**300) for size in sizes]
    number = [action_number(label, actions) for label in model.classes]
    leaves = []
    for j, tree in enumerate(model.trees):
        rivals = []
        for i in range(len(weights)):
            if i != j:
                row = [a - b for a, b in zip(weights[i], weights[j], strict=True)]
                slack = errors[i] + errors[j] + sum(abs(a) * e for a, e in zip(row, error, strict=True))
                rivals.append((len(directions), bias[j] - bias[i] + slack))
                directions.append(row)
        for action, tests in _parts(tree, number):
            guards = [(2 * k + (sign < 0), sign * threshold + error[k]) for k, sign, threshold in tests]
            leaves.append(_Leaf(action, rivals + guards))
    return leaves


def _parts(tree: PlainTree, number: list[int]) -> list[tuple[int, list[tuple[int, int, Fraction]]]]:
    """Action and tests (state, sign, threshold) of every leaf or subtree of one action, from left to right."""
    common: list[int | None] = [number[label] if label >= 0 else None for label in tree.label]
    for node in reversed(range(len(common))):
        if tree.label[node] < 0 and common[tree.left[node]] == common[tree.right[node]]:
            common[node] = common[tree.left[node]]
    parts = []
    stack: list[tuple[int, list[tuple[int, int, Fraction]]]] = [(0, [])]
    while stack:
        node, tests = stack.pop()
        action = common[node]
        if action is not None:
            parts.append((action, tests))
            continue
        k, threshold = tree.feature[node], Fraction(tree.threshold[node])
        stack.append((tree.right[node], [*tests, (k, -1, threshold)]))
        stack.append((tree.left[node], [*tests, (k, 1, threshold)]))
    return parts


def _ascending(values: Vector) -> bool:
    return all(a < b for a, b in pairwise(values))


def _index(value: Any, items: list[Any]) -> int:
    if type(value) is not int or not 0 <= value < len(items):
        raise CertificateError(f"there is no item {value!r}")
    return value
