"""Closed loops of a policy and an affine system, decided by searching all that can happen in a number of steps.

:mod:`~moet.verify.loops.paths.tables` turns the loop into tables, :mod:`~moet.verify.loops.paths.kernel` searches,
:mod:`~moet.verify.loops.paths.exact_fallback` decides what the search was unsure about,
:mod:`~moet.verify.loops.replay` confirms counterexamples, and here these are put together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from moet.errors import InputError
from moet.model.file import digest
from moet.model.mixture import Mixture
from moet.verify.checker.certificate import Certificate
from moet.verify.confirm import confirmed
from moet.verify.limits import Deadline, Progress
from moet.verify.loops.paths.exact_fallback import Doubt, Proofs, Violation
from moet.verify.loops.paths.kernel import run
from moet.verify.loops.paths.state import (
    ASKING,
    COARSE,
    CODES,
    CONDITION,
    EXHAUSTED,
    MET,
    N_PIECES,
    N_ROWS,
    NOBODY,
    PATHS,
    PAUSED,
    PIECES,
    PROGRAMS,
    REFS,
    RESOLVED,
    SILENT,
    STACK,
    START,
    TIME,
    VOID,
    Search,
    X,
)
from moet.verify.loops.paths.tables import AffineLoop, Floats, Policy, look_ahead, tabulate
from moet.verify.loops.refute import outside_domain, unsafe_first_state
from moet.verify.loops.replay import Replay, domain_sides
from moet.verify.result import Proved, Refuted, Trace, Unknown, Verdict
from moet.verify.rounding import gate_errors
from moet.verify.simplex import OPTIMAL, solve
from moet.verify.systems.conditions import HalfSpace
from moet.verify.systems.discrete import AffineSystem

SLICE = 500
"""Pieces between two looks at the clock."""

MOST_COARSE = 20_000
"""Pieces after which a coarse search is given up: it was to save time."""

_MOST_FAILURES = 20
"""Candidates that may fail to replay before the search gives up."""

_RANDOM_RUNS = 4096

_MOST_STATES = 29
"""A record has up to 31 multipliers, and a proof needs up to two more than there are states."""

_INFLATION = 1 + 1e-9
"""Makes up for the rounding of a bound."""


class PathSearch:
    """One question about a closed loop.

    Parameters
    ----------
    mixture : Mixture
        A hard one, whose classes are actions of the system.
    system : AffineSystem
    steps : int
    goal : sequence of HalfSpace, or None
        If given, the question is whether every run reaches it; otherwise, whether every run stays safe.
    deadline : Deadline
    seed : int
        Of the random runs that are tried when a possible violation cannot be replayed.
    """

    def __init__(
        self,
        mixture: Mixture,
        system: AffineSystem,
        steps: int,
        goal: Sequence[HalfSpace] | None,
        deadline: Deadline,
        seed: int = 0,
    ) -> None:
        self.mixture, self.system = mixture, system
        self.steps, self.deadline, self.seed = steps, deadline, seed
        if system.n_states > _MOST_STATES:
            raise InputError(f"at most {_MOST_STATES} states are supported, {system.name!r} has {system.n_states}")
        self.needs = domain_sides(system) if goal is not None else [*system.safe, *domain_sides(system)]
        self.goals = list(goal or [])
        self.policy = Policy.of(mixture, system.actions_of(mixture))
        self.loop = _loop(system, steps, tuple(self.needs), tuple(self.goals))
        magnitude = self.loop.magnitude
        self.gate_errors = gate_errors(self.policy.weights, self.policy.bias, -magnitude, magnitude)
        self.tables = tabulate(self.loop, self.policy, self.gate_errors)
        self.claim = {"model": digest(mixture), "system": system.digest, "name": system.name, "steps": steps}
        if goal is not None:
            self.claim["goal"] = [half.document() for half in goal]
        self.failures = 0
        self._begin(self.policy.mergers)

    def _begin(self, mergers: Sequence[int]) -> None:
        """Start the search, or start it again; ``mergers`` are which pieces to merge, now and should that fail."""
        coarse, *self.mergers = mergers
        self.search = Search.of(self.policy, self.tables, (self.loop.low + self.loop.high) / 2, coarse)
        claim = self.claim | {"coarse": coarse} if coarse else self.claim
        self.certificate = Certificate("reaches" if self.goals else "safe", claim)

    @cached_property
    def replay(self) -> Replay:
        """Confirms counterexamples."""
        return Replay(self.mixture, self.system, self.deadline)

    @cached_property
    def doubt(self) -> Doubt:
        """Decides what the compiled search was unsure about."""
        return Doubt(
            self.system, self.policy, self.tables, self.needs, self.goals, self.gate_errors, self.loop.magnitude
        )

    def decide(self, progress: Progress | None = None) -> Verdict:
        """Search until the question is decided or time is up."""
        deadline = self.deadline
        if (early := self._look_at_start()) is not None:
            return early
        while not deadline.passed:
            counts = self.search.counts
            status = run(self.policy, self.tables, self.search, SLICE)
            if counts[COARSE] and (status == ASKING or (status == PAUSED and counts[PIECES] > MOST_COARSE)):
                self._begin(self.mergers)
                continue
            self._flush()
            if progress is not None:
                progress(self._share_done(), f"{counts[PIECES]} pieces, {counts[STACK]} open")
            if status == EXHAUSTED:
                effort = self._effort()
                if self.failures:
                    return Unknown(reason=self._not_replayed(), effort=effort)
                proved = Proved(certificate=self.certificate, effort=effort)
                return confirmed(proved, self.mixture, self.system, deadline=deadline)
            if status == PAUSED:
                continue
            trace = self._settle()
            if trace is not None:
                return Refuted(trace=trace, effort=self._effort())
            if self.failures > _MOST_FAILURES:
                return Unknown(reason=self._not_replayed(), effort=self._effort())
        return Unknown(reason=deadline.reason, effort=self._effort())

    def _look_at_start(self) -> Verdict | None:
        """A verdict that the first states give already."""
        if _starts_well(self.system):
            return None
        trace = unsafe_first_state(self.system) if not self.goals else None
        verdict = outside_domain(self.system) if trace is None else Refuted(trace=trace)
        return None if verdict is None else replace(verdict, effort=self._effort())

    def _settle(self) -> Trace | None:
        """Decide the piece that the search asks about: a counterexample, a proof, or neither."""
        counts, search = self.search.counts, self.search
        frame, expert = search.stack[counts[STACK] - 1, :2].tolist()
        frame += int(expert != START)
        trace = self._counterexample(frame, self._candidates(frame))
        if trace is not None:
            return trace
        answer = self.doubt.settle(search, frame)
        if isinstance(answer, Violation):
            trace = self._counterexample(frame, [np.array(answer.start, dtype=np.float64)])
            if trace is not None:
                return trace
        counts[RESOLVED] = MET
        if isinstance(answer, Proofs):
            if answer.records[-1][0] == VOID:
                counts[RESOLVED] = NOBODY
            if not counts[SILENT]:
                answer.write(self.certificate)
            return None
        self.failures += 1
        counts[SILENT] = 1  # there is nothing left to certify
        return self._try_random_runs() if self.failures == 1 else None

    def _try_random_runs(self) -> Trace | None:
        """A counterexample among random runs."""
        states, upper = self.replay.random_runs(self.steps, _RANDOM_RUNS, np.random.default_rng(self.seed))
        if not self.goals:
            rows, limits = _rows(self.system.safe, states.shape[2]), [c.bound for c in self.system.safe]
            suspicious = np.any(states @ rows.T > np.array(limits, dtype=np.float64), axis=(0, 2))
        else:
            inside = np.all(states @ self.loop.goal_rows.T <= self.loop.goal_limits, axis=2)
            suspicious = ~np.any(inside, axis=0)
        confirm = self.replay.leaves_safe_set if not self.goals else self._misses_goal
        for i in np.flatnonzero(suspicious)[:_MOST_FAILURES]:
            chosen = self.replay.disturbances(upper[:, i])
            within = self.replay.starts([states[0, i]])
            if trace := next(filter(None, (confirm(start, chosen) for start in within)), None):
                return trace
        return None

    def _candidates(self, frame: int) -> Iterator[Floats]:
        """First states at which the condition in question may be violated, the safest ones first."""
        search, loop = self.search, self.loop
        middle, radius = (loop.low + loop.high) / 2, (loop.high - loop.low) / 2
        vertex = search.vectors[X].copy()
        centre = self._centre(frame)
        if centre is not None:
            yield middle + radius * centre
            yield middle + radius * (centre + vertex) / 2
        yield middle + radius * vertex

    def _centre(self, frame: int) -> Floats | None:
        """Centre of the largest ball in a piece where the condition in question is violated."""
        search, tables, d = self.search, self.tables, len(self.loop.low)
        time, n, i = int(search.frames[frame, TIME]), int(search.frames[frame, N_ROWS]), self._function()
        constant = tables.coefficients[i] @ search.constants[frame, :d]
        rows = np.vstack([search.rows[:, :n].T, -tables.rows[time, i], np.eye(d), -np.eye(d)])
        limits = np.concatenate([search.limits[:n], [constant - tables.limit[time, i]], np.ones(2 * d)])
        rows = np.column_stack([rows, np.linalg.norm(rows, axis=1)])
        solution = solve([0.0] * d + [1.0], rows, limits, [-1.0] * d + [0.0], [1.0] * (d + 1))
        return solution.x[:d] if solution.status == OPTIMAL else None

    def _function(self) -> int:
        """Number, among the linear functions, of the condition in question."""
        conditions = len(self.needs) + len(self.goals)
        first = len(self.tables.coefficients) - conditions
        return first + int(self.search.counts[CONDITION])

    def _counterexample(self, frame: int, candidates: Iterator[Floats] | list[Floats]) -> Trace | None:
        time = int(self.search.frames[frame, TIME])
        row = [Fraction(a) for a in self.tables.coefficients[self._function()].tolist()]
        if not self.goals:
            disturbances = self.replay.worst_disturbances(row, self.steps, time)
            confirm = self.replay.leaves_safe_set
        else:
            disturbances = self.replay.worst_disturbances(row, self.steps, self.steps)
            confirm = self._misses_goal
        for start in self.replay.starts(candidates):
            trace = confirm(start, disturbances)
            if trace is not None:
                return trace
        return None

    def _misses_goal(self, start: Sequence[Fraction], disturbances: Sequence[Sequence[Fraction]]) -> Trace | None:
        return self.replay.misses_goal(self.goals, start, disturbances)

    def _flush(self) -> None:
        """Move the records of the last slice to the certificate."""
        s, counts = self.search, self.search.counts
        codes, refs = counts[CODES], counts[REFS]
        self.certificate.add(s.codes[:codes], s.refs[:refs], s.numbers[:refs])
        counts[CODES] = counts[REFS] = 0

    def _share_done(self) -> float:
        """Share of the search that is done, if all pieces of a frame were equally much work."""
        s = self.search
        frames = s.stack[: s.counts[STACK], 0]
        left, share = 0.0, 1.0
        for frame in range(int(frames[-1]) + 1 if len(frames) else 0):
            n_pieces = max(1, int(s.frames[frame, N_PIECES]))
            left += share * np.count_nonzero(frames == frame) / n_pieces
            share /= n_pieces
        return 1.0 - min(1.0, left)

    def _effort(self) -> dict[str, float]:
        counts = self.search.counts
        return {
            "seconds": self.deadline.seconds,
            "pieces": int(counts[PIECES]),
            "programs": int(counts[PROGRAMS]),
            "paths": int(counts[PATHS]),
        }

    def _not_replayed(self) -> str:
        if self.replay.left_domain:
            return (
                "runs leave the domain, where the description of the system holds, before they refute the claim; give "
                "a wider domain if it holds there, too"
            )
        return (
            f"precision: {self.failures} possible violations could be neither excluded nor replayed; they depend on "
            "rounding, on observation errors, or on which disturbances can occur together"
        )


@lru_cache(maxsize=8)  # one system is often asked about many policies
def _starts_well(system: AffineSystem) -> bool:
    """Whether all first states are safe and in the domain."""
    return unsafe_first_state(system) is None and outside_domain(system) is None


@lru_cache(maxsize=8)
def _loop(system: AffineSystem, steps: int, needs: tuple[HalfSpace, ...], goals: tuple[HalfSpace, ...]) -> AffineLoop:
    d = system.n_states
    low, high = np.array(system.initial, dtype=np.float64).T
    disturbance = np.array(system.disturbance, dtype=np.float64)
    matrix = np.array(system.matrix, dtype=np.float64)
    offsets = np.array(system.offsets, dtype=np.float64) + disturbance.mean(axis=1)
    radius = (disturbance[:, 1] - disturbance[:, 0]) / 2
    error = np.array(system.observation_error, dtype=np.float64)
    arrays = (low, high, disturbance, matrix, offsets, error)
    if not all(np.all(np.isfinite(values)) for values in arrays):
        raise InputError(f"the system {system.name!r} has numbers beyond the range of float64")
    powers = [np.eye(d)]
    for _ in range(steps):
        powers.append(matrix @ powers[-1])
    need_rows = _rows(needs, d)
    later, worst = look_ahead(need_rows, np.stack(powers), offsets)
    return AffineLoop(
        low=low,
        high=high,
        powers=np.stack(powers),
        offsets=np.ascontiguousarray(offsets),
        radius=radius,
        need_rows=need_rows,
        need_limits=np.array([need.bound for need in needs], dtype=np.float64),
        goal_rows=_rows(goals, d),
        goal_limits=np.array([goal.bound for goal in goals], dtype=np.float64),
        later=later,
        worst=worst,
        observation_error=error,
        magnitude=_magnitude(low, high, matrix, offsets, radius, needs, steps) + error,
    )


def _rows(conditions: Sequence[HalfSpace], d: int) -> Floats:
    return np.array([condition.coefficients for condition in conditions], dtype=np.float64).reshape(-1, d)


def _magnitude(
    low: Floats, high: Floats, matrix: Floats, offsets: Floats, radius: Floats, needs: Sequence[HalfSpace], steps: int
) -> Floats:
    """Bound the absolute value of every state, before every step, as far as the needs are met."""
    least, most = np.full(len(low), -np.inf), np.full(len(low), np.inf)
    for row, bound in needs:
        (used,) = np.nonzero(np.array(row, dtype=np.float64))
        if len(used) == 1:
            k = used[0]
            side = float(bound / row[k])
            if row[k] > 0:
                most[k] = min(most[k], side)
            else:
                least[k] = max(least[k], side)
    largest = np.maximum(np.abs(low), np.abs(high))
    for _ in range(steps - 1):
        middle, half = matrix @ (low + high) / 2, np.abs(matrix) @ (high - low) / 2
        low = np.maximum(middle - half + offsets.min(axis=0) - radius, least)
        high = np.maximum(low, np.minimum(middle + half + offsets.max(axis=0) + radius, most))
        largest = np.maximum(largest, np.maximum(np.abs(low), np.abs(high)))
    return largest * _INFLATION
