"""Checker of proofs about closed loops. Standard library only; it shares nothing with the search but the file format.

A proof visits every sequence of actions that is possible from the box of first states. Its records (a code, which is
kind + 8·n, and n multipliers, each with the name of a row) come in this order:

- A *frame* is a set of first states at a time t that have had the same actions. If there is a goal, there is one record
  for each of its conditions: ``DEAD`` (nobody misses it) or ``OPEN`` (who misses it is visited later, the last such
  condition first). Without a goal, or for those who miss a condition, and before the last step: for every expert
  ``DEAD`` (not chosen by anyone) or ``OPEN`` and its tree.
- A *tree* is nothing if all its leaves have one action; otherwise ``LEFT`` (nobody goes right) and the left subtree, or
  ``RIGHT`` likewise, or ``BOTH`` and both subtrees.
- What is left are *pieces*, one per leaf or subtree of one action. The pieces below a node, or of an expert, or of all
  experts are merged to one where they agree on the action. Then each piece in turn: for every need, ``BOUND`` (it holds
  after the action), or instead ``VOID`` (there is nobody in this piece); and its frame, one step later.

Multipliers combine rows to a contradiction, or to the bound in question. The name of a row is t·(E + D + G) + k: rival
k of the expert chosen at time t; or split k − E on the way down its tree; or condition k − E − D of the goal, missed
(E experts, trees of depth D at most, G conditions).
"""

from __future__ import annotations

from math import ldexp
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.certificate import Certificate, Records
from moet.verify.checker.check_rows import ClosedLoop
from moet.verify.checker.plain import PlainModel, system_digest

OPEN, DEAD, BOTH, LEFT, RIGHT, BOUND, VOID = range(7)

MULTIPLIER_BITS = 128
ONE = 1 << MULTIPLIER_BITS
"""Multipliers are rounded down to multiples of 1/ONE, which changes tiny ones; any that are not negative will do."""

Multipliers = list[tuple[int, float]]
Row = tuple[list[int], int, bool]
"""Coefficients a and limit b of a·x_0 <= b, or a·x_0 < b if the last entry says so."""


def check_reach(certificate: Certificate, model: PlainModel, system: dict[str, Any]) -> None:
    """Confirm a proof of ``"safe"`` or ``"reaches"``; raises CertificateError with the reason if it fails."""
    claim = certificate.claim
    if claim.get("model") != model.digest:
        raise CertificateError("the certificate is about another model")
    if claim.get("system") != system_digest(system):
        raise CertificateError("the certificate is about another system")
    steps = claim.get("steps")
    if type(steps) is not int or steps < 0:
        raise CertificateError(f"the certificate claims {steps!r} steps")
    if model.prediction != "hard" and len(model.trees) > 1:
        raise CertificateError("the proof is about a hard mixture, but this model predicts softly")
    try:
        loop = ClosedLoop(model, system, steps, claim.get("goal", []) if certificate.kind == "reaches" else None)
        _Walk(loop, certificate.records()).finish()
    except CertificateError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, ArithmeticError, RecursionError, AttributeError) as error:
        raise CertificateError(f"the system or the certificate is malformed: {error!r}") from error


class _Piece(NamedTuple):
    """What leads from a frame at some time to the next: an expert (None if all agree), a node and an action.

    Without an action it is those who miss a condition of the goal.
    """

    time: int
    expert: int | None
    node: int
    action: int | None
    missed: int = -1


class _Choices(NamedTuple):
    """What the rows of one time are about, and those that were made already."""

    expert: int | None
    splits: list[tuple[int, bool]]
    missed: int
    rows: dict[int, Row]


_NO_CHOICES = _Choices(None, [], -1, {})


class _Walk:
    """The walk through the records of a proof. Rows are made when a multiplier asks for them.

    ``constants[t]``, ``values[t]`` and ``choices[t]`` describe the way to the frame at hand: the constant part of the
    state, the constant parts of functions of it, and what has been chosen.
    """

    def __init__(self, loop: ClosedLoop, records: Records) -> None:
        self.loop = loop
        self.records = records
        self.stack: list[_Piece] = []
        self.constants = [[0] * loop.d for _ in range(loop.steps + 1)]
        self.values: list[dict[int, int]] = [{} for _ in range(loop.steps + 1)]
        self.choices = [_NO_CHOICES] * (loop.steps + 1)
        self.per_step = loop.n_experts + loop.depth + len(loop.goals)

    def finish(self) -> None:
        """Raise CertificateError unless the records prove the claim."""
        loop = self.loop
        for i, (row, bound) in enumerate(loop.needs):
            if sum(a * (high if a > 0 else low) for a, (low, high) in zip(row, loop.box, strict=True)) > bound:
                raise CertificateError(f"condition {i} does not hold of every first state")
        self._frame(0)
        while self.stack:
            self._visit(self.stack.pop())
        self.records.finish()

    def _visit(self, piece: _Piece) -> None:
        loop, t = self.loop, piece.time
        if piece.action is None:
            self.choices[t] = _Choices(None, [], piece.missed, {})
            if t < loop.steps:
                self._expand(t)
            return
        way = loop.ways[piece.expert][piece.node] if piece.expert is not None else []
        self.choices[t] = _Choices(piece.expert, way, self.choices[t].missed, {})
        self.constants[t + 1] = loop.successor(t, self.constants[t], piece.action)
        self.values[t + 1] = {}
        self.choices[t + 1] = _NO_CHOICES
        for i in range(loop.first_need, loop.first_goal):
            kind, multipliers = self._record()
            if kind == VOID:
                self._contradiction(multipliers, t)
                return
            if kind != BOUND:
                raise CertificateError(f"record {kind} where a condition is due")
            self._bound(t + 1, i, multipliers)
        self._frame(t + 1)

    def _frame(self, t: int) -> None:
        if self.loop.goals:
            self._miss_goal(t)
        elif t < self.loop.steps:
            self._expand(t)

    def _miss_goal(self, t: int) -> None:
        for i in range(len(self.loop.goals)):
            kind, multipliers = self._record()
            self.choices[t] = _Choices(None, [], i, {})
            if kind == DEAD:
                self._contradiction(multipliers, t)
            elif kind == OPEN and t < self.loop.steps:
                self.stack.append(_Piece(t, None, -1, None, i))
            else:
                raise CertificateError(f"record {kind} where the goal at time {t} is due")

    def _expand(self, t: int) -> None:
        pieces: list[_Piece] = []
        for e in range(self.loop.n_experts):
            kind, multipliers = self._record()
            self.choices[t] = _Choices(e, [], self.choices[t].missed, {})
            if kind == DEAD:
                self._contradiction(multipliers, t)
            elif kind == OPEN:
                pieces += self._tree(t, e, 0)
            else:
                raise CertificateError(f"record {kind} where an expert is due")
        if len(pieces) > 1 and _agree(pieces):
            pieces = [_Piece(t, None, -1, pieces[0].action)]
        self.stack.extend(reversed(pieces))

    def _tree(self, t: int, e: int, node: int) -> list[_Piece]:
        action = self.loop.actions[e][node]
        if action is not None:
            return [_Piece(t, e, node, action)]
        kind, multipliers = self._record()
        if kind == LEFT or kind == RIGHT:
            self._go(t, node, kind == RIGHT)
            self._contradiction(multipliers, t)
            self._return(t)
        elif kind != BOTH:
            raise CertificateError(f"record {kind} where a split is due")
        tree = self.loop.trees[e]
        pieces: list[_Piece] = []
        if kind != RIGHT:
            self._go(t, node, True)
            pieces += self._tree(t, e, tree.left[node])
            self._return(t)
        if kind != LEFT:
            self._go(t, node, False)
            pieces += self._tree(t, e, tree.right[node])
            self._return(t)
        return [_Piece(t, e, node, pieces[0].action)] if _agree(pieces) else pieces

    def _go(self, t: int, node: int, left: bool) -> None:
        self.choices[t].splits.append((node, left))

    def _return(self, t: int) -> None:
        choices = self.choices[t]
        choices.splits.pop()
        choices.rows.pop(self.loop.n_experts + len(choices.splits), None)

    def _record(self) -> tuple[int, Multipliers]:
        code = self.records.code()
        return code % 8, self.records.multipliers(code // 8)

    def _contradiction(self, multipliers: Multipliers, last: int) -> None:
        """Confirm that rows of times up to ``last`` exclude one another: their sum exceeds its limit in the box."""
        loop = self.loop
        total, limit, strict = [0] * loop.d, 0, False
        for name, number in multipliers:
            row, most, below = self._named(name, last)
            factor = int(ldexp(number, MULTIPLIER_BITS))
            strict |= below and factor > 0
            total = [a + factor * b for a, b in zip(total, row, strict=True)]
            limit += factor * most
        least = sum([a * (loop.low[k] if a > 0 else loop.high[k]) for k, a in enumerate(total)])
        excess = least - limit * loop.x_denominator
        if excess < 0 or (excess == 0 and not strict):
            raise CertificateError("multipliers do not add up to a contradiction")

    def _bound(self, t: int, i: int, multipliers: Multipliers) -> None:
        """Confirm that condition i holds at time t of all that rows of earlier times leave."""
        loop = self.loop
        row, limit = loop.condition(t, i)
        total = [a * ONE for a in row]
        room = (limit - self._value(t, i)) * ONE
        for name, number in multipliers:
            row, most, _ = self._named(name, t - 1)
            factor = int(ldexp(number, MULTIPLIER_BITS))
            total = [a - factor * b for a, b in zip(total, row, strict=True)]
            room -= factor * most
        most = sum([a * (loop.high[k] if a > 0 else loop.low[k]) for k, a in enumerate(total)])
        if most > room * loop.x_denominator:
            raise CertificateError(f"multipliers do not prove condition {i - loop.first_need} at time {t}")

    def _named(self, name: int, last: int) -> Row:
        """The row of that name on the way to the frame at hand."""
        t, k = divmod(name, self.per_step)
        if not 0 <= t <= last:
            raise CertificateError(f"row {name} does not exist yet")
        known = self.choices[t].rows
        if k not in known:
            known[k] = self._make(t, k)
        return known[k]

    def _make(self, t: int, k: int) -> Row:
        loop, (expert, splits, missed, _) = self.loop, self.choices[t]
        if k < loop.n_experts:
            if expert is None or k == expert:
                raise CertificateError(f"expert {k} is no rival at time {t}")
            row, limit = loop.rival(t, expert, k)
            return row, limit + self._value(t, expert) - self._value(t, k), False
        k -= loop.n_experts
        if k < loop.depth:
            if expert is None or k >= len(splits):
                raise CertificateError(f"there is no split {k} at time {t}")
            node, left = splits[k]
            tree = loop.trees[expert]
            row, limit, strict = loop.split(t, tree.feature[node], tree.threshold[node], left)
            value = self._value(t, loop.n_experts + tree.feature[node])
            return row, limit - value if left else limit + value, strict
        i = loop.first_goal + k - loop.depth
        if missed < 0 or i != loop.first_goal + missed:
            raise CertificateError(f"condition {k - loop.depth} of the goal is not missed at time {t}")
        row, limit = loop.condition(t, i)
        return [-a for a in row], self._value(t, i) - limit, True

    def _value(self, t: int, i: int) -> int:
        """Constant part of function i at time t."""
        known = self.values[t]
        if i not in known:
            known[i] = self.loop.constant(t, self.constants[t], i)
        return known[i]


def _agree(pieces: list[_Piece]) -> bool:
    return bool(pieces) and all(piece.action == pieces[0].action for piece in pieces)
