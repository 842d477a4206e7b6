"""Checker of proofs about closed loops. Standard library only; it shares nothing with the search but the file format.

A proof visits every sequence of actions that is possible from the box of first states. Its records (a code, which is
kind + 8·n, and n multipliers, each with the name of a row) come in this order:

- A *frame* is a set of first states at a time t that have had the same actions. If there is a goal, there is one record
  for each of its conditions: ``DEAD`` (nobody misses it) or ``OPEN`` (who misses it is visited later, the last such
  condition first). Without a goal, or for those who miss a condition, and before the last step: perhaps ``VOID``, which
  names rows that rule out an expert each; then for every expert that is left ``DEAD`` (not chosen by anyone), or
  ``OPEN`` with the nodes of its tree that nobody gets to, by the last test on the way to each, or ``BOTH`` if there are
  none, or ``OPEN`` without references and its tree, split by split. Or, if there is no goal, one ``BOTH`` with
  references instead: any action may be taken by anyone; its references are all actions of the model, with multipliers
  of 1, and its pieces have no tests.
- A *tree* is nothing if all its leaves have one action; otherwise ``LEFT`` (nobody goes right) and the left subtree, or
  ``RIGHT`` likewise, or ``BOTH`` and both subtrees.
- What is left are *pieces*, one per leaf or subtree of one action. The pieces below a node, or of an expert, or of all
  experts are merged to one where they agree on the action. If the claim says ``coarse``, more are merged: the pieces
  of the same action of each expert (1), or of all experts (2). Then each piece in turn: for every need, ``BOUND`` (it
  holds after the action), or once ``OPEN`` (all of them do, of every first state), or instead ``VOID`` (there is nobody
  in this piece); and its frame, one step later. Or, if there is no goal, ``SURE`` and no frame: from the action on,
  every need holds whatever is done, of every first state; but for those that its references name (time·needs + need,
  with multipliers of 1), which need a ``BOUND`` each, in this order.

Multipliers combine rows to a contradiction, or to the bound in question; if the first reference of a ``BOUND`` is -1,
to so many times that bound as its number says. The name of a row is t·(E² + 2d + G) + k:
with k = E·e + j, expert e is chosen at time t, and not j; with k − E² = 2·i or 2·i + 1, state i is at most, or above,
what the tests on the way down its tree say (for merged pieces: the least that the tests of all of them say); with
k − E² − 2d = i, condition i of the goal is missed (E experts, d states, G conditions).
"""

from __future__ import annotations

from math import ldexp
from operator import getitem, le

from moet.errors import CertificateError
from moet.verify.checker.certificate import Certificate, Records
from moet.verify.checker.documents.model import PlainModel
from moet.verify.checker.documents.reading import plain
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.loops import claims as loop_claims
from moet.verify.checker.loops.paths.pieces import Nodes, Piece, Pieces, agree
from moet.verify.checker.loops.paths.rows import ClosedLoop, Tests
from moet.verify.checker.meter import Interrupted, Meter, cost

OPEN, DEAD, BOTH, LEFT, RIGHT, BOUND, VOID, SURE = range(8)

MULTIPLIER_BITS, EXACT_MULTIPLIER_BITS = 80, 128
"""Multipliers are rounded down to so many binary digits, which changes tiny ones; any that are not negative will do.

In exact arithmetic there are more of them.
"""

SHORT_BITS = 24
SHORT = 2.0**SHORT_BITS
"""Multipliers that are multiples of one over this are taken as they are."""

ITSELF = -1
"""First reference of a ``BOUND``: the number is how often the condition is taken, for thirds of rows are no floats."""

Multipliers = list[tuple[int, float]]
Row = tuple[list[int], int, int, bool]
"""Coefficients a, the least value of a·x_0, and the limit b of a·x_0 <= b, or a·x_0 < b if the last entry says so."""


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
    sums = 2 * loop.steps * (1 + (loop.bits >> 9))
    records.charge(loop.n_experts + loop.d + sums, cost(2 * loop.d, loop.bits) + sums)
    _Walk(loop, records, coarse).finish()


class _Walk:
    """The walk through the records of a proof. Rows are made when a multiplier asks for them.

    ``actions[t]`` and ``values[t]`` describe the way to the frame at hand: what has been done, and the constant parts
    of functions of the state. ``experts[t]``, ``tests[t]`` and ``missed[t]`` are what rows of a time are about, and
    ``rows[t]`` are those that were made already.
    """

    def __init__(self, loop: ClosedLoop, records: Records, coarse: int) -> None:
        self.loop = loop
        self.path = loop.path
        self.records = records
        self.pieces = Pieces(loop, coarse)
        self.bits = EXACT_MULTIPLIER_BITS if loop.exact else MULTIPLIER_BITS
        self.stack: list[tuple[int, Piece]] = []
        n_times = loop.steps + 1
        self.actions = [0] * loop.steps
        self.values: list[dict[int, int]] = [{} for _ in range(n_times)]
        self.logits: list[list[int]] = [loop.scaled_bias] + [[] for _ in range(loop.steps)]
        self.needs = range(loop.d, loop.d + len(loop.path.needs))
        self.experts: list[int | None] = [None] * n_times
        self.tests: list[Tests] = [{} for _ in range(n_times)]
        self.missed = [-1] * n_times
        self.rows: list[dict[int, Row]] = [{} for _ in range(n_times)]
        self.per_step = loop.n_experts**2 + 2 * loop.d + len(self.path.goals)

    def finish(self) -> None:
        """Raise CertificateError unless the records prove the claim."""
        if self.path.unmet is not None:
            raise CertificateError(f"condition {self.path.unmet} does not hold of every first state")
        self._frame(0)
        while self.stack:
            self._visit(*self.stack.pop())
        self.records.finish()

    def _visit(self, t: int, piece: Piece) -> None:
        loop = self.loop
        if piece.action is None:
            self._miss(t, piece.missed)
            if t < loop.steps:
                self._expand(t)
            return
        self._choose(t, piece)
        self.actions[t] = piece.action
        self.values[t + 1], self.logits[t + 1] = {}, []
        self._miss(t + 1, -1)
        for i in self.needs:
            kind, multipliers = self.records.record()
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
            kind, multipliers = self.records.record()
            self._miss(t, i)
            if kind == DEAD:
                self._contradiction(multipliers, t)
            elif kind == OPEN and t < self.loop.steps:
                self.stack.append((t, Piece(None, {}, None, i)))
            else:
                raise CertificateError(f"record {kind} where the goal at time {t} is due")

    def _expand(self, t: int) -> None:
        """Who may be chosen at time t: the pieces of all experts."""
        kind, multipliers = self.records.record()
        if kind == BOTH and multipliers and not self.path.goals:
            self._push(t, self._free(multipliers))
            return
        out: set[int] = set()
        while kind == VOID:
            out.update(self._behind(t, multipliers))
            kind, multipliers = self.records.record() if len(out) < self.loop.n_experts else (DEAD, [])
        chosen: list[tuple[int, Nodes]] = []
        split: dict[int, list[Piece]] = {}
        due = [e for e in range(self.loop.n_experts) if e not in out]
        for e in due:
            if e != due[0]:
                kind, multipliers = self.records.record()
            if kind == DEAD:
                self._choose(t, self.pieces.at(e, 0))
                self._contradiction(multipliers, t)
            elif kind == OPEN and not multipliers:
                split[e] = self._tree(t, e, 0)
            elif kind == OPEN or (kind == BOTH and not multipliers):
                chosen.append((e, self._unreached(t, e, multipliers)))
            else:
                raise CertificateError(f"record {kind} where an expert is due")
        if not split:
            self._push(t, self.pieces.chosen(tuple(chosen)))
            return
        named = {e: self.pieces.left(e, nodes) for e, nodes in chosen}
        self._push(t, self.pieces.merged([part for _, part in sorted((split | named).items())]))

    def _behind(self, t: int, multipliers: Multipliers) -> list[int]:
        """Experts that nobody chooses at time t, for each row says by itself that another one is ahead everywhere."""
        n_experts, first = self.loop.n_experts, t * self.per_step
        logits, ahead, found = self._logits(t), self.loop.ahead, []
        for name, number in multipliers:
            e, j = divmod(name - first, n_experts)
            if number != 1.0 or not 0 <= e < n_experts or e == j:
                raise CertificateError(f"row {name} does not rule out an expert at time {t}")
            if logits[j] - logits[e] < ahead(t, e, j):
                raise CertificateError(f"expert {j} is not ahead of expert {e} everywhere at time {t}")
            found.append(e)
        return found

    def _unreached(self, t: int, e: int, multipliers: Multipliers) -> Nodes:
        """Nodes of expert e's tree that nobody gets to at time t, by the last test on the way to each."""
        nodes = tuple([node for node, number in multipliers if number == 1.0])
        if len(nodes) < len(multipliers):
            raise CertificateError("a node has a multiplier that is not 1")
        for node in nodes:
            state, below, threshold = self.pieces.last_test(e, node)
            value = self._value(t, self.loop.n_experts + state)
            if (value if below else -value) < self.loop.beyond(t, state, threshold, below):
                raise CertificateError(f"somebody may get to node {node} of expert {e} at time {t}")
        return nodes

    def _push(self, t: int, pieces: list[Piece]) -> None:
        self.loop.meter.spend(len(pieces))
        self.stack.extend([(t, piece) for piece in reversed(pieces)])

    def _free(self, multipliers: Multipliers) -> list[Piece]:
        """Pieces of which nothing is said but their actions, in this order."""
        actions = [name for name, number in multipliers if number == 1.0]
        if (
            len(actions) != len(multipliers)
            or len(actions) != len(self.loop.possible)
            or set(actions) != self.loop.possible
        ):
            raise CertificateError(f"the actions {actions} are not all that the model can take")
        return [Piece(None, {}, action) for action in actions]

    def _tree(self, t: int, e: int, node: int) -> list[Piece]:
        """Pieces below a node of expert e's tree, split by split."""
        own, tree = self.pieces.at(e, node), self.loop.trees[e]
        if own.action is not None:
            return [own]
        kind, multipliers = self.records.record()
        if kind == BOTH:
            parts = self._tree(t, e, tree.left[node]) + self._tree(t, e, tree.right[node])
            return [own._replace(action=parts[0].action)] if agree(parts) else parts
        if kind not in (LEFT, RIGHT):
            raise CertificateError(f"record {kind} where a split is due")
        taken, empty = tree.left[node], tree.right[node]
        if kind == RIGHT:
            taken, empty = empty, taken
        self._choose(t, self.pieces.at(e, empty))
        self._contradiction(multipliers, t)
        return self._tree(t, e, taken)

    def _choose(self, t: int, piece: Piece) -> None:
        self.experts[t], self.tests[t], self.rows[t] = piece.expert, piece.tests, {}

    def _miss(self, t: int, condition: int) -> None:
        self.experts[t], self.tests[t], self.missed[t], self.rows[t] = None, {}, condition, {}

    def _contradiction(self, multipliers: Multipliers, last: int) -> None:
        """Confirm that rows of times up to ``last`` exclude one another: their sum exceeds its limit in the box."""
        loop = self.loop
        if len(multipliers) == 1 and multipliers[0][1] >= 1.0:
            _, least, limit, strict = self._named(multipliers[0][0], last)
        else:
            total, limit, strict = [0] * loop.d, 0, False
            factors, _ = self._factors(multipliers)
            for (name, _), factor in zip(multipliers, factors, strict=True):
                row, _, most, below = self._named(name, last)
                strict |= below and factor > 0
                total = [a + factor * b for a, b in zip(total, row, strict=True)]
                limit += factor * most
            least = loop.least(total)
        excess = least - limit * loop.x_denominator
        if excess < 0 or (excess == 0 and not strict):
            raise CertificateError("multipliers do not add up to a contradiction")

    def _bound(self, t: int, i: int, multipliers: Multipliers) -> None:
        """Confirm that condition i holds at time t of all that rows of earlier times leave."""
        value = self._value(t, self.loop.n_experts + i)
        if value > self.path.outright(t, i):
            self._at_most(t, i, value, t - 1, multipliers)

    def _at_most(self, t: int, i: int, constant: int, last: int, multipliers: Multipliers) -> None:
        """Confirm that condition i with this constant part holds at time t of all that rows up to ``last`` leave."""
        loop = self.loop
        row, _, limit = self.path.condition(t, i)
        factors, bits = self._factors(multipliers)
        weight = 1 << bits
        if multipliers and multipliers[0][0] == ITSELF:
            weight, multipliers, factors = factors[0], multipliers[1:], factors[1:]
            if weight <= 0:
                raise CertificateError("a condition is not taken at all")
        total = [-a * weight for a in row]
        room = (limit - constant) * weight
        for (name, _), factor in zip(multipliers, factors, strict=True):
            row, _, most, _ = self._named(name, last)
            total = [a + factor * b for a, b in zip(total, row, strict=True)]
            room -= factor * most
        if -loop.least(total) > room * loop.x_denominator:
            raise CertificateError(f"multipliers do not prove condition {i - loop.d} at time {t}")

    def _factors(self, multipliers: Multipliers) -> tuple[list[int], int]:
        """Multipliers as integers over two to the power of so many bits, few if they are short."""
        scaled = [number * SHORT for _, number in multipliers]
        if all(map(float.is_integer, scaled)):
            return list(map(int, scaled)), SHORT_BITS
        return [int(ldexp(number, self.bits)) for _, number in multipliers], self.bits

    def _hold(self, t: int) -> None:
        """Confirm that all needs hold at time t of every first state."""
        if not all(map(le, self._pushed(t, t), self.path.limits(t))):
            raise CertificateError(f"a condition at time {t} does not hold of every first state")

    def _sure(self, t: int, named: Multipliers) -> None:
        """Confirm that all needs hold from time t on, whatever the actions will be; those named, by a record each."""
        loop, path, n_needs = self.loop, self.path, len(self.needs)
        loop.meter.spend(n_needs * (loop.steps - t + 1) * (t + 1))
        known, limits = self._pushed(t, loop.steps), path.limits_ahead(t)
        if not all(map(le, known, limits)):
            doubtful = {name for name, _ in named}
            for name, (value, limit) in enumerate(zip(known, limits, strict=True), t * n_needs):
                if value > limit and name not in doubtful:
                    raise CertificateError(f"condition {name % n_needs} may fail at time {name // n_needs}")
        for name, number in named:
            then, i = divmod(name, n_needs)
            if number != 1.0 or not t <= then <= loop.steps:
                raise CertificateError(f"condition {i} at time {then} is none of those after time {t - 1}")
            kind, multipliers = self.records.record()
            if kind != BOUND:
                raise CertificateError(f"record {kind} where a condition is due")
            most = known[name - t * n_needs] + path.worst(loop.d + i)[then - t]
            self._at_most(then, loop.d + i, most, t - 1, multipliers)

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
        loop, tests = self.loop, self.tests[t]
        if k < loop.n_experts**2:
            e, j = divmod(k, loop.n_experts)
            if e != self.experts[t] or j == e:
                raise CertificateError(f"expert {j} is no rival of expert {e} at time {t}")
            row, least, limit = loop.rival(t, e, j)
            logits = self._logits(t)
            return row, least, limit + logits[e] - logits[j], False
        k -= loop.n_experts**2
        if k < 2 * loop.d:
            feature, left = k // 2, k % 2 == 0
            if (feature, left) not in tests:
                raise CertificateError(f"there is no test {k} at time {t}")
            row, least, limit, strict = loop.split(t, feature, tests[feature, left], left)
            value = self._value(t, loop.n_experts + feature)
            return row, least, limit - value if left else limit + value, strict
        k -= 2 * loop.d
        i = self.needs.stop + k
        if self.missed[t] != k:
            raise CertificateError(f"condition {k} of the goal is not missed at time {t}")
        row, least, limit = self.path.condition(t, i)
        return [-a for a in row], least, self._value(t, loop.n_experts + i) - limit, True

    def _logits(self, t: int) -> list[int]:
        """Constant parts of all logits at time t."""
        if not self.logits[t]:
            done = [self.loop.pushes(t - 1 - k)[action] for k, action in enumerate(self.actions[:t])]
            self.logits[t] = list(map(sum, zip(self.loop.scaled_bias, *done, strict=True)))
        return self.logits[t]

    def _value(self, t: int, i: int) -> int:
        """Constant part of function i, which is no logit, at time t."""
        known = self.values[t]
        if i not in known:
            known[i] = sum(map(getitem, self.loop.gains(i, t), self.actions))
        return known[i]

    def _pushed(self, t: int, until: int) -> list[int]:
        """What the actions before time t add to all needs at time t, at t + 1, and so on up to ``until``."""
        n_needs, pushes = len(self.needs), self.path.pushes
        parts = [
            pushes(action)[(t - 1 - k) * n_needs : (until - k) * n_needs] for k, action in enumerate(self.actions[:t])
        ]
        return list(map(sum, zip(*parts, strict=True)))
