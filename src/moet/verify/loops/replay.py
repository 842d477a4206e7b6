"""Runs of a closed loop, replayed exactly and through the deployed predictor.

The search works with floating-point polytopes that are slightly too large, so what it finds is a candidate only. A run
counts as a counterexample if every state is computed exactly and lies in the domain of the system, and at every state
the exact policy and the deployed one (float64 arithmetic, on the state as the policy sees it) take the same action.

A state is integers over one denominator, which are never reduced: after thousands of steps that would take nearly all
of the time. The denominator grows by the same factor in every step.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from math import lcm
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.model.tree import LEAF
from moet.verify.limits import Deadline
from moet.verify.result import Trace
from moet.verify.systems.conditions import HalfSpace
from moet.verify.systems.description import float_above
from moet.verify.systems.discrete import AffineSystem
from moet.verify.systems.system import System

Vector = Sequence[Fraction]

_FAR_AWAY = 1e100
"""Beyond this, random runs are not followed."""


class State(NamedTuple):
    """A state as integers over one denominator."""

    numerators: list[int]
    denominator: int

    @classmethod
    def of(cls, values: Vector) -> State:
        """Exactly these numbers."""
        denominator = lcm(*(value.denominator for value in values))
        return cls([int(value * denominator) for value in values], denominator)

    def rounded(self) -> list[float]:
        """Nearest float64 numbers; infinite beyond their range."""
        return [_quotient(numerator, self.denominator) for numerator in self.numerators]


class Condition(NamedTuple):
    """row·x <= bound, in integers."""

    row: list[int]
    bound: int

    @classmethod
    def of(cls, half: HalfSpace) -> Condition:
        """The same condition without denominators."""
        scale = lcm(half.bound.denominator, *(value.denominator for value in half.coefficients))
        return cls([int(value * scale) for value in half.coefficients], int(half.bound * scale))

    def holds(self, state: State) -> bool:
        """Whether a state meets it."""
        return _dot(self.row, state.numerators) <= self.bound * state.denominator


class ExactPolicy:
    """A hard mixture whose numbers are integers over one denominator, for states that are so, too."""

    def __init__(self, mixture: Mixture) -> None:
        self._trees = mixture.trees
        numbers = [[Fraction(w) for w in row] for row in mixture.gate_weights.tolist()]
        bias = [Fraction(b) for b in mixture.gate_bias.tolist()]
        scale = lcm(*(value.denominator for row in [*numbers, bias] for value in row))
        self._weights = [[int(value * scale) for value in row] for row in numbers]
        self._bias = [int(value * scale) for value in bias]

    def answer(self, state: State) -> int:
        """Index of the class that answers, without any rounding."""
        x, denominator = state
        logits = [_dot(row, x) + b * denominator for row, b in zip(self._weights, self._bias, strict=True)]
        tree = self._trees[logits.index(max(logits))]
        node = 0
        while (feature := tree.feature[node]) != LEAF:
            above, below = float(tree.threshold[node]).as_integer_ratio()
            node = tree.left[node] if x[feature] * below <= above * denominator else tree.right[node]
        return int(tree.value[node].argmax())


class Replay:
    """Runs of a policy in an affine system.

    ``left_domain`` says whether a run has been given up because it left the domain of the system: from there on,
    nothing is known of it.
    """

    def __init__(self, mixture: Mixture, system: AffineSystem, deadline: Deadline | None = None) -> None:
        self.mixture = mixture
        self.system = system
        self.left_domain = False
        self._deadline = deadline or Deadline(None)
        self._policy = ExactPolicy(mixture)
        self._actions = system.actions_of(mixture)
        self._domain = [Condition.of(half) for half in domain_sides(system)]
        self._safe = [Condition.of(half) for half in system.safe]

    def leaves_safe_set(self, start: Vector, disturbances: Sequence[Vector]) -> Trace | None:
        """Run from ``start`` until a state is unsafe; None if that does not happen within the given disturbances."""
        for states, classes in self._runs(start, disturbances):
            if not all(condition.holds(states[-1]) for condition in self._safe):
                return self._trace(start, states, classes, disturbances)
        return None

    def misses_goal(self, goal: Sequence[HalfSpace], start: Vector, disturbances: Sequence[Vector]) -> Trace | None:
        """Run from ``start`` under all the given disturbances; None if the goal is reached at some time."""
        conditions = [Condition.of(half) for half in goal]
        n_states = 0
        for states, classes in self._runs(start, disturbances):  # noqa: B007 (the last ones are used)
            n_states += 1
            if all(condition.holds(states[-1]) for condition in conditions):
                return None
        return self._trace(start, states, classes, disturbances) if n_states == len(disturbances) + 1 else None

    def worst_disturbances(self, row: Vector, steps: int, end: int) -> list[list[Fraction]]:
        """Disturbances of ``steps`` steps that make row·x largest after ``end`` of them."""
        system = self.system
        chosen = []
        for _ in range(end):
            chosen.append([high if a >= 0 else low for a, (low, high) in zip(row, system.disturbance, strict=True)])
            row = [sum((row[q] * system.matrix[q][k] for q in range(len(row))), Fraction(0)) for k in range(len(row))]
        idle = [[(low + high) / 2 for low, high in system.disturbance]] * (steps - end)
        return [*chosen[::-1], *idle]

    def random_runs(
        self, steps: int, n_runs: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """States, and which disturbances were high, of runs with random first states and extreme disturbances.

        Both are by time, run and state.
        """
        low, high = np.array(self.system.initial, dtype=np.float64).T
        least, most = np.array(self.system.disturbance, dtype=np.float64).T
        share = rng.random((n_runs, len(low)))
        share[: n_runs // 2] = np.round(share[: n_runs // 2])  # corners
        states = [low + share * (high - low)]
        chosen = rng.random((steps, n_runs, len(low))) < 0.5
        actions = np.array(self._actions)
        for upper in chosen:
            classes = self.mixture.predict_proba_hard(states[-1]).argmax(axis=1)
            with np.errstate(over="ignore", invalid="ignore"):
                following = self.system.successor(states[-1], actions[classes]) + np.where(upper, most, least)
            if not np.all(np.abs(following) < _FAR_AWAY) or self._deadline.passed:
                break
            states.append(following)
        return np.stack(states), chosen[: len(states) - 1]

    def disturbances(self, upper: NDArray[np.bool_]) -> list[list[Fraction]]:
        """Extreme disturbances by time."""
        return [[sides[int(up)] for up, sides in zip(step, self.system.disturbance, strict=True)] for step in upper]

    def starts(self, points: Iterable[NDArray[np.float64]]) -> Iterator[list[Fraction]]:
        """First states near the given points: see :func:`first_state`."""
        for point in points:
            start = first_state(self.system, point)
            if start is None:
                self.left_domain = True
            else:
                yield start

    def _runs(self, start: Vector, disturbances: Sequence[Vector]) -> Iterator[tuple[list[State], list[int]]]:
        """Longer and longer runs; they end where they leave the domain, or where exact and deployed policy disagree."""
        denominators = {value.denominator for step in disturbances for value in step}
        known = [value for row in (*self.system.matrix, *self.system.offsets) for value in row]
        factor = lcm(*denominators, *(value.denominator for value in known))
        matrix = [[int(value * factor) for value in row] for row in self.system.matrix]
        state = State.of(start)
        states, classes = [state], list[int]()
        for disturbance in [*disturbances, None]:
            if not all(side.holds(state) for side in self._domain):
                self.left_domain = True
                return
            yield states, classes
            if disturbance is None or self._deadline.passed or (chosen := self._class(state)) is None:
                return
            added = [o + w for o, w in zip(self.system.offsets[self._actions[chosen]], disturbance, strict=True)]
            state = State(
                [
                    _dot(row, state.numerators) + int(add * factor) * state.denominator
                    for row, add in zip(matrix, added, strict=True)
                ],
                state.denominator * factor,
            )
            states.append(state)
            classes.append(chosen)

    def _class(self, state: State) -> int | None:
        """Class that both policies choose, or None if they do not agree.

        They are shown the state as it is rounded on its way; and the exact one the state itself, too, unless the
        system says that it is rounded, or noisy.
        """
        seen = as_float32(state.rounded()) if self.system.float32_observations else state.rounded()
        if not np.all(np.isfinite(seen)):
            return None
        chosen = self._policy.answer(State.of([Fraction(value) for value in seen]))
        plain = not self.system.float32_observations and not any(self.system.noise)
        if plain and self._policy.answer(state) != chosen:
            return None
        return chosen if self.mixture.act(seen) == self.mixture.classes[chosen] else None

    def _trace(self, start: Vector, states: list[State], classes: list[int], disturbances: Sequence[Vector]) -> Trace:
        labels = self.mixture.classes.tolist()
        used = np.array(disturbances[: len(classes)], dtype=np.float64).reshape(len(classes), len(start))
        return Trace(
            states=np.clip([state.rounded() for state in states], -sys.float_info.max, sys.float_info.max),
            actions=tuple(labels[c] for c in classes),
            disturbances=used if any(map(any, self.system.disturbance)) else None,
            start=tuple(start),
        )


def first_state(system: System, point: NDArray[np.float64]) -> list[Fraction] | None:
    """First state in the domain that is nearest to a point; of float64 numbers where there are any that near.

    None if no first state is in the domain.
    """
    start = []
    for value, (low, high), domain in zip(point.tolist(), system.initial, system.domain, strict=True):
        if domain is not None:
            low, high = max(low, domain[0]), min(high, domain[1])
        if low > high:
            return None
        near = min(max(Fraction(value), low), high)
        floats = map(Fraction, (-float_above(-near), float_above(near)))
        start.append(next((number for number in floats if low <= number <= high), near))
    return start


def domain_sides(system: System) -> list[HalfSpace]:
    """The domain of a system as conditions."""
    conditions = []
    for k, sides in enumerate(system.domain):
        if sides is not None:
            for sign, bound in ((1, sides[1]), (-1, -sides[0])):
                row = tuple(Fraction(sign * (i == k)) for i in range(system.n_states))
                conditions.append(HalfSpace(row, bound))
    return conditions


def as_float32(values: Sequence[float]) -> list[float]:
    """Numbers rounded to float32; infinite beyond its range."""
    with np.errstate(over="ignore"):
        return [float(np.float32(value)) for value in values]


def _dot(row: Sequence[int], x: Sequence[int]) -> int:
    return sum([a * b for a, b in zip(row, x, strict=True)])


def _quotient(numerator: int, denominator: int) -> float:
    try:
        return numerator / denominator
    except OverflowError:
        return float("inf") if numerator > 0 else float("-inf")
