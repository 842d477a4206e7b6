"""Checker of proofs about closed loops. Standard library only; it shares nothing with the search but the file format.

A proof visits every sequence of actions that is possible from the box of first states. Its records (a code, which is
kind + 8·n, and n multipliers, each with the name of a row) come in this order:

- A *frame* is a set of first states at a time t that have had the same actions. If there is a goal, there is one record
  for each of its conditions: ``DEAD`` (nobody misses it) or ``OPEN`` (who misses it is visited later, the last such
  condition first). Without a goal, or for those who miss a condition, and before the last step: who is not there, in
  any number of ``DEAD`` and ``VOID`` and at last one ``OPEN``. Names stand for those who choose an expert, or get to a
  node of its tree, and for a row of theirs (see :class:`Pieces`). All references of ``VOID`` and ``OPEN`` are names
  whose row has nobody in the box. The first reference of ``DEAD`` is a name, and its number says how often its row is
  taken; the others are rows that together have nobody. Or, if there is no goal, one ``BOTH`` instead: any action may be
  taken by anyone; its references are all actions of the model, with multipliers of 1, and its pieces have no tests.
- What is left are leaves, in *pieces* of one action: all that are left below a node, or of an expert, or of all
  experts, where they agree on it. If the claim says ``coarse``, a piece has all leaves of an action that are left of
  an expert (1), or of all experts (2). Then each piece in turn, that of the first leaf first: for every need, ``BOUND``
  (it holds after the action), or once ``OPEN`` (all of them do, of every first state), or instead ``VOID`` (there is
  nobody in this piece); and its frame, one step later. Or, if there is no goal, ``SURE`` and no frame: from the action
  on, every need holds whatever is done, of every first state; but for those that its references name (time·needs +
  need, with multipliers of 1), which need a ``BOUND`` each, in this order.

Multipliers combine rows to a contradiction, or to the bound in question; if the first reference of a ``BOUND`` is -1,
to so many times that bound as its number says. The name of a row is t·(E² + 2d + G) + k:
with k = E·e + j, expert e is chosen at time t, and not j; with k − E² = 2·i or 2·i + 1, state i is at most, or above,
what the tests on the way to its leaves say (the least that those of all leaves of the piece say); with
k − E² − 2d = i, condition i of the goal is missed (E experts, d states, G conditions).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from operator import mul

from moet.errors import CertificateError
from moet.verify.checker.certificate import Certificate, Multipliers, Records
from moet.verify.checker.documents.model import PlainModel
from moet.verify.checker.documents.reading import plain
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.loops import claims as loop_claims
from moet.verify.checker.loops.paths.pieces import ANYBODY, Piece, Pieces
from moet.verify.checker.loops.paths.rows import MOST_TIMES_BITS, ClosedLoop
from moet.verify.checker.made import Made
from moet.verify.checker.meter import Interrupted, Meter, cost

OPEN, DEAD, BOTH = range(3)
BOUND, VOID, SURE = range(5, 8)

MULTIPLIER_BITS, EXACT_MULTIPLIER_BITS = 80, 128
"""Multipliers are rounded down to so many binary digits, which changes tiny ones; any that are not negative will do.

In exact arithmetic there are more of them.
"""

SHORT_BITS = 24
"""Multipliers with so many binary digits after the point, and up to as many more before it, are taken as they are."""

ITSELF = -1
"""First reference of a ``BOUND``: the number is how often the condition is taken, for thirds of rows are no floats."""

Row = tuple[int, bool]
"""A function that is at most 0 of those whom the row is about, or below 0 if the last entry says so."""


def check_paths(certificate: Certificate, model: PlainModel, system: PlainSystem, meter: Meter) -> None:
    """Confirm a proof of ``"safe"`` or ``"reaches"``; raises CertificateError with the reason if it fails."""
    claim = loop_claims.paths(certificate.kind, plain(certificate.claim), model, system)
    try:
        _walk(certificate, ClosedLoop(model, system, claim, meter, exact=False), claim.coarse, meter)
    except Interrupted:
        raise
    except CertificateError:  # it may be a matter of the last digits
        _walk(certificate, ClosedLoop(model, system, claim, meter, exact=True), claim.coarse, meter)


def _walk(certificate: Certificate, loop: ClosedLoop, coarse: int, meter: Meter) -> None:
    records = certificate.records(meter)
    sums = 2 * loop.steps * (1 + (loop.bits >> 9)) + (sum(len(tree.label) for tree in loop.trees) >> 12)
    records.charge(loop.n_experts + loop.d + sums, cost(2 * loop.d, loop.bits) + sums)
    _Walk(loop, records, coarse).finish()


class _Walk:
    """The walk through the records of a proof. Rows are made when a multiplier asks for them.

    ``actions[t]`` and ``known[t]`` describe the way to the frame at hand: what has been done, and the constant parts of
    logits and states (none, if nobody asked). ``leaves[t]`` and ``missed[t]`` are what rows of a time are about, and
    ``rows[t]`` are those that were made already.
    """

    def __init__(self, loop: ClosedLoop, records: Records, coarse: int) -> None:
        self.loop = loop
        self.path = loop.path
        self.records, self.record = records, records.in_turn().__next__
        self.pieces = Pieces(loop, coarse)
        self.bits = EXACT_MULTIPLIER_BITS if loop.exact else MULTIPLIER_BITS
        self.short = Made(_short)
        self.stack: list[Iterator[tuple[int, Piece]]] = []
        n_times = loop.steps + 1
        self.actions = [0] * loop.steps
        self.known: list[list[int]] = [[] for _ in range(n_times)]
        self.needs = range(loop.d, loop.d + len(loop.path.needs))
        self.leaves = [ANYBODY] * n_times
        self.missed = [-1] * n_times
        self.rows: list[dict[int, Row]] = [{} for _ in range(n_times)]
        self.alone: list[dict[int, tuple[int, int, int, int]]] = [{} for _ in range(n_times)]
        self.n_pairs = loop.n_experts**2
        self.per_step = self.n_pairs + 2 * loop.d + len(self.path.goals)

    def finish(self) -> None:
        """Raise CertificateError unless the records prove the claim."""
        if self.path.unmet is not None:
            raise CertificateError(f"condition {self.path.unmet} does not hold of every first state")
        self._frame(0)
        while self.stack:
            for t, piece in self.stack[-1]:
                self._visit(t, piece)
                break
            else:
                self.stack.pop()
        self.records.finish()

    def _visit(self, t: int, piece: Piece) -> None:
        loop = self.loop
        if piece.action is None:
            self._miss(t, piece.missed)
            if t < loop.steps:
                self._expand(t)
            return
        self._choose(t, piece.leaves)
        self.actions[t] = piece.action
        self.known[t + 1] = []
        self._miss(t + 1, -1)
        for i in self.needs:
            kind, multipliers = self.record()
            if kind == BOUND:
                self._bound(t + 1, i, multipliers)
            elif kind == OPEN and i == loop.d:
                self._hold(t + 1)
                break
            elif kind == VOID:
                self._contradiction(multipliers, t)
                return
            elif kind == SURE and i == loop.d and not self.path.goals:
                self._sure(t + 1, multipliers)
                return
            else:
                raise CertificateError(f"record {kind} where a condition is due")
        self._frame(t + 1)

    def _frame(self, t: int) -> None:
        if self.path.goals:
            self._miss_goal(t)
        elif t < self.loop.steps:
            self._expand(t)

    def _miss_goal(self, t: int) -> None:
        for i in range(len(self.path.goals)):
            kind, multipliers = self.record()
            self._miss(t, i)
            if kind == DEAD:
                self._contradiction(multipliers, t)
            elif kind == OPEN and t < self.loop.steps:
                self._push(t, [Piece(ANYBODY, None, i)])
            else:
                raise CertificateError(f"record {kind} where the goal at time {t} is due")

    def _expand(self, t: int) -> None:
        """Who may be chosen at time t: the pieces of all experts."""
        kind, named = self.record()
        if kind == BOTH and not self.path.goals:
            self._push(t, self._free(named))
            return
        out = 0
        while kind in (VOID, DEAD):
            out |= self._alone(t, named) if kind == VOID else self._together(t, named)
            kind, named = self.record()
        if kind != OPEN:
            raise CertificateError(f"record {kind} where it is due who is not there")
        out |= self._alone(t, named)
        self._push(t, self.pieces.left[out])

    def _alone(self, t: int, named: Multipliers) -> int:
        """Leaves of those who are not there at time t, for a row of theirs has nobody in the box."""
        known, alone, out = self._known(t), self.alone[t], 0
        for name, number in named:
            if name not in alone:
                leaves, k, threshold = self.pieces.named[name]
                alone[name] = *self.loop.alone(t, k, threshold), leaves
            first, second, enough, leaves = alone[name]
            if number != 1.0 or known[first] - known[second] < enough:
                raise CertificateError(f"somebody may be {name} at time {t}")
            out |= leaves
        return out

    def _together(self, t: int, multipliers: Multipliers) -> int:
        """Leaves of those who are not there at time t, for their rows and those before exclude one another."""
        if not multipliers:
            raise CertificateError(f"nobody is named who is not there at time {t}")
        (name, number), *others = multipliers
        leaves, k, _ = self.pieces.named[name]
        self._choose(t, leaves)
        self._contradiction([(t * self.per_step + k, number), *others], t)
        return leaves

    def _push(self, t: int, pieces: list[Piece]) -> None:
        """Have pieces visited, the first one first, before those that wait already."""
        self.loop.meter.spend(20 * len(pieces))
        self.stack.append(zip(repeat(t), pieces, strict=False))

    def _free(self, multipliers: Multipliers) -> list[Piece]:
        """Pieces of which nothing is said but their actions, in this order."""
        actions = [name for name, number in multipliers if number == 1.0]
        if (
            len(actions) != len(multipliers)
            or len(actions) != len(self.loop.possible)
            or set(actions) != self.loop.possible
        ):
            raise CertificateError(f"the actions {actions} are not all that the model can take")
        return [Piece(ANYBODY, action) for action in actions]

    def _choose(self, t: int, leaves: int) -> None:
        self.leaves[t], self.rows[t] = leaves, {}

    def _miss(self, t: int, condition: int) -> None:
        self.leaves[t], self.missed[t], self.rows[t] = ANYBODY, condition, {}

    def _contradiction(self, multipliers: Multipliers, last: int) -> None:
        """Confirm that rows of times up to ``last`` exclude one another."""
        rows = [self._named(name, last) for name, _ in multipliers]
        factors, _ = self._factors(multipliers)
        if not self._exclude(rows, factors):
            raise CertificateError("multipliers do not add up to a contradiction")

    def _bound(self, t: int, i: int, multipliers: Multipliers) -> None:
        """Confirm that condition i holds at time t of all that rows of earlier times leave."""
        left = self.path.outright(t, i) - self._value(t, i)
        if left < 0:
            self._at_most(t, i, left, t - 1, multipliers)

    def _at_most(self, t: int, i: int, left: int, last: int, multipliers: Multipliers) -> None:
        """Confirm that condition i holds at time t of all that rows up to ``last`` leave: they exclude that it fails.

        Of all first states it holds if ``left`` is not negative.
        """
        factors, once = self._factors(multipliers)
        if multipliers and multipliers[0][0] == ITSELF:
            once, *factors = factors
            multipliers = multipliers[1:]
        if once <= 0:
            raise CertificateError("a condition is not taken at all")
        rows = [self._named(name, last) for name, _ in multipliers]
        fails = self.loop.missed[t, i] + self.loop.constant(left), True
        if not self._exclude([fails, *rows], [once, *factors]):
            raise CertificateError(f"multipliers do not prove condition {i - self.loop.d} at time {t}")

    def _exclude(self, rows: list[Row], factors: list[int]) -> bool:
        """Whether rows have nobody in common, for taken so many times they add up to more than 0 in all of the box."""
        least = self.loop.functions.least(sum(map(mul, factors, [function for function, _ in rows])))
        return least > 0 or (
            least == 0 and any(below and factor for (_, below), factor in zip(rows, factors, strict=True))
        )

    def _factors(self, multipliers: Multipliers) -> tuple[list[int], int]:
        """Multipliers as integers, and 1 as one; few digits if they are short, and never too many for functions."""
        factors = [self.short[number] for _, number in multipliers]
        if -1 not in factors:
            return factors, 1 << SHORT_BITS
        factors, once = [_whole(number, self.bits) for _, number in multipliers], 1 << self.bits
        beyond = max(0, (sum(factors) + once).bit_length() - MOST_TIMES_BITS)
        return [factor >> beyond for factor in factors], once >> beyond

    def _hold(self, t: int) -> None:
        """Confirm that all needs hold at time t of every first state."""
        if not self.path.lanes.hold(t, self.actions[:t]):
            raise CertificateError(f"a condition at time {t} does not hold of every first state")

    def _sure(self, t: int, named: Multipliers) -> None:
        """Confirm that all needs hold from time t on, whatever the actions will be; those named, by a record each."""
        loop, path, n_needs = self.loop, self.path, len(self.needs)
        loop.meter.spend(n_needs * (loop.steps - t + 1) * (t + 1))
        left = path.lanes.left(t, self.actions[:t])
        for name in path.lanes.failing(t, left).difference(name for name, _ in named):
            raise CertificateError(f"condition {name % n_needs} may fail at time {name // n_needs}")
        for name, number in named:
            then, i = divmod(name, n_needs)
            if number != 1.0 or not t <= then <= loop.steps:
                raise CertificateError(f"condition {i} at time {then} is none of those after time {t - 1}")
            kind, multipliers = self.record()
            if kind != BOUND:
                raise CertificateError(f"record {kind} where a condition is due")
            self._at_most(then, loop.d + i, path.lanes.left_to(name - t * n_needs, left), t - 1, multipliers)

    def _named(self, name: int, last: int) -> Row:
        """The row of that name on the way to the frame at hand."""
        t, k = divmod(name, self.per_step)
        if not 0 <= t <= last:
            raise CertificateError(f"row {name} does not exist yet")
        known = self.rows[t]
        if k not in known:
            known[k] = self._make(t, k)
        return known[k]

    def _make(self, t: int, k: int) -> Row:
        loop, leaves = self.loop, self.leaves[t]
        if k < self.n_pairs:
            e, j = divmod(k, loop.n_experts)
            if e != self.pieces.expert[leaves] or j == e:
                raise CertificateError(f"expert {j} is no rival of expert {e} at time {t}")
            known = self._known(t)
            return loop.rival[t, e, j] + (known[j] - known[e] << loop.functions.above), False
        k -= self.n_pairs
        if k < 2 * loop.d:
            state, below = k // 2, k % 2 == 0
            function, strict = loop.split[t, state, self.pieces.limit[leaves, state, below], below]
            value = self._known(t)[loop.n_experts + state] << loop.functions.above
            return function + value if below else function - value, strict
        k -= 2 * loop.d
        i = self.needs.stop + k
        if self.missed[t] != k:
            raise CertificateError(f"condition {k} of the goal is not missed at time {t}")
        return loop.missed[t, i] + loop.constant(self.path.outright(t, i) - self._value(t, i)), True

    def _known(self, t: int) -> list[int]:
        """Constant parts of all logits and states at time t, and 0."""
        known = self.known[t]
        if not known:
            known = self.known[t] = self.loop.known(t, self.actions[:t])
        return known

    def _value(self, t: int, i: int) -> int:
        """Constant part of condition i at time t."""
        gain = self.path.gain
        return sum(gain(i, t - 1 - k)[action] for k, action in enumerate(self.actions[:t]))


def _short(number: float) -> int:
    """A multiplier as an integer; -1 if it is not short."""
    scaled = number * 2.0**SHORT_BITS if number < 1 << SHORT_BITS else 0.5
    return int(scaled) if scaled.is_integer() else -1


def _whole(number: float, bits: int) -> int:
    """A number times two to the power of so many bits, rounded down."""
    top, bottom = number.as_integer_ratio()
    return (top << bits) // bottom
