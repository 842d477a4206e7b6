"""Runs of a closed loop, replayed exactly and through the deployed predictor.

The search works with floating-point polytopes that are slightly too large, so what it finds is a candidate only. A run
counts as a counterexample if every state is computed with fractions, and at every state the exact policy and the
deployed one (float64 arithmetic, on the state as the policy sees it) take the same action.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from moet.model.mixture import Mixture
from moet.verify.exact import ExactMixture, exactly
from moet.verify.result import Trace
from moet.verify.systems.conditions import HalfSpace
from moet.verify.systems.system import AffineSystem

Vector = Sequence[Fraction]

_FAR_AWAY = 1e100
"""Beyond this, random runs are not followed."""


class Replay:
    """Runs of a policy in an affine system."""

    def __init__(self, mixture: Mixture, system: AffineSystem) -> None:
        self.mixture = mixture
        self.system = system
        self._exact = ExactMixture(mixture)
        self._actions = system.actions_of(mixture)

    def leaves_safe_set(self, start: Vector, disturbances: Sequence[Vector]) -> Trace | None:
        """Run from ``start`` until a state is unsafe; None if that does not happen within the given disturbances."""
        for states, actions in self._runs(start, disturbances):
            if not all(_holds(condition, states[-1]) for condition in self.system.safe):
                return self._trace(states, actions, disturbances)
        return None

    def misses_goal(self, goal: Sequence[HalfSpace], start: Vector, disturbances: Sequence[Vector]) -> Trace | None:
        """Run from ``start`` under all the given disturbances; None if the goal is reached at some time."""
        n_runs = 0
        for states, classes in self._runs(start, disturbances):  # noqa: B007 (the last ones are used)
            n_runs += 1
            if all(_holds(condition, states[-1]) for condition in goal):
                return None
        return self._trace(states, classes, disturbances) if n_runs == len(disturbances) + 1 else None

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
            states.append(self.system.successor(states[-1], actions[classes]) + np.where(upper, most, least))
            if not np.all(np.abs(states[-1]) < _FAR_AWAY):
                break
        return np.stack(states), chosen[: len(states) - 1]

    def disturbances(self, upper: NDArray[np.bool_]) -> list[list[Fraction]]:
        """Extreme disturbances by time."""
        return [[sides[int(up)] for up, sides in zip(step, self.system.disturbance, strict=True)] for step in upper]

    def starts(self, points: Iterable[NDArray[np.float64]]) -> Iterable[list[Fraction]]:
        """Initial states of float64 numbers near the given points."""
        for point in points:
            start = []
            for value, (low, high) in zip(point.tolist(), self.system.initial, strict=True):
                near = min(max(Fraction(value), low), high)
                number = float(near)
                if not low <= Fraction(number) <= high:
                    number = float(np.nextafter(number, np.inf if Fraction(number) < low else -np.inf))
                start.append(Fraction(number))
            if all(low <= x <= high for x, (low, high) in zip(start, self.system.initial, strict=True)):
                yield start

    def _runs(self, start: Vector, disturbances: Sequence[Vector]) -> Iterable[tuple[list[list[Fraction]], list[int]]]:
        """Longer and longer runs; they end where the exact and the deployed policy disagree."""
        states = [list(start)]
        classes: list[int] = []
        yield states, classes
        for disturbance in disturbances:
            chosen = self._class(states[-1])
            if chosen is None:
                return
            offset = self.system.offsets[self._actions[chosen]]
            states.append(
                [
                    sum(a * x for a, x in zip(row, states[-1], strict=True)) + o + w
                    for row, o, w in zip(self.system.matrix, offset, disturbance, strict=True)
                ]
            )
            classes.append(chosen)
            yield states, classes

    def _class(self, state: Vector) -> int | None:
        """Class that both policies choose, or None if they do not agree."""
        seen = [float(x) for x in state]
        meant = state
        if any(self.system.observation_error):
            rounded = [float(np.float32(x)) for x in seen]
            gaps = [abs(Fraction(r) - x) for r, x in zip(rounded, state, strict=True)]
            if all(gap <= error for gap, error in zip(gaps, self.system.observation_error, strict=True)):
                seen, meant = rounded, exactly(rounded)
        chosen = self._exact.answer(meant)
        return chosen if self.mixture.act(seen) == self.mixture.classes[chosen] else None

    def _trace(self, states: list[list[Fraction]], classes: list[int], disturbances: Sequence[Vector]) -> Trace:
        labels = self.mixture.classes.tolist()
        used = np.array(disturbances[: len(classes)], dtype=np.float64).reshape(len(classes), len(states[0]))
        return Trace(
            states=np.array(states, dtype=np.float64),
            actions=tuple(labels[c] for c in classes),
            disturbances=used if any(low != high for low, high in self.system.disturbance) else None,
        )


def _holds(condition: HalfSpace, state: Vector) -> bool:
    return sum(a * x for a, x in zip(condition.coefficients, state, strict=True)) <= condition.bound
