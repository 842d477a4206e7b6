"""Runs of nonlinear systems, confirmed with intervals that are rounded outward.

There are two ways. Where the system allows some disturbance of every state, however little, a run that was computed in
float64 is itself a run: what rounding did is a disturbance. That holds for thousands of steps. Otherwise a tiny box is
followed that holds the true run, and grows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.mixture import Mixture
from moet.model.tree import LEAF
from moet.verify.limits import Deadline
from moet.verify.loops.replay import as_float32
from moet.verify.result import Trace
from moet.verify.rounding import gate_errors
from moet.verify.systems.conditions import HalfSpace
from moet.verify.systems.description import float_above
from moet.verify.systems.discrete import NonlinearSystem
from moet.verify.systems.enclose import next_boxes
from moet.verify.systems.intervals import Interval
from moet.verify.systems.system import System

Floats = NDArray[np.float64]
Box = tuple[Floats, Floats]
"""Least and largest value of every state."""


class IntervalReplay:
    """Runs of a policy in a nonlinear system."""

    def __init__(self, mixture: Mixture, system: NonlinearSystem, deadline: Deadline) -> None:
        self.mixture, self.system, self._deadline = mixture, system, deadline
        self._number = dict(zip(mixture.classes.tolist(), system.actions_of(mixture), strict=True))

    def shadow(self, states: Floats) -> Trace | None:
        """The run with exactly these states, if disturbances that the system allows make it one."""
        start = tuple(map(Fraction, states[0].tolist()))
        if not all(low <= x <= high for x, (low, high) in zip(start, self.system.initial, strict=True)):
            return None
        if not self._inside_domain(states.min(axis=0), states.max(axis=0)):
            return None
        labels = [self.mixture.act(row) for row in seen(self.system, states[:-1])]
        actions = np.array([self._number[label] for label in labels], dtype=np.intp)
        bottom, top = (side.T for side in next_boxes(self.system, actions, states[:-1].T, states[:-1].T))
        added = Interval(states[1:], states[1:]) - Interval(bottom, top)
        least, most = np.array([(float_above(a), -float_above(-b)) for a, b in self.system.disturbance]).T
        if not np.all((least <= added.low) & (added.high <= most)):
            return None
        return Trace(states.copy(), tuple(labels), (added.low + added.high) / 2, start)

    def follow(
        self, start: Sequence[Fraction], n_steps: int, refutes: Callable[[list[Box]], bool | None]
    ) -> Trace | None:
        """Follow a box around the true run from ``start``, on all of which the policy must act alike.

        ``refutes`` is told all boxes so far; it says whether they refute what was claimed, or None to go on.
        """
        exact = [Interval.exactly(x) for x in start]
        boxes: list[Box] = [(np.array([x.low for x in exact]), np.array([x.high for x in exact]))]
        quiet = idle_disturbance(self.system)
        added = [Interval.exactly(x) for x in quiet]
        noise = Interval(np.array([x.low for x in added]), np.array([x.high for x in added]))
        labels: list[Any] = []
        for _ in range(n_steps + 1):
            low, high = boxes[-1]
            if self._deadline.passed or not self._inside_domain(low, high):
                return None
            decided = refutes(boxes)
            if decided is not None:
                middles = np.array([np.array(start, np.float64), *((a + (b - a) / 2) for a, b in boxes[1:])])
                used = np.tile(np.array(quiet, np.float64), (len(labels), 1)) if any(quiet) else None
                return Trace(middles, tuple(labels), used, tuple(start)) if decided else None
            label = self._sure_label(low, high)
            if label is None:
                return None
            bottom, top = next_boxes(self.system, np.array([self._number[label]]), low[:, None], high[:, None])
            following = Interval(bottom[:, 0], top[:, 0]) + noise
            boxes.append((following.low, following.high))
            labels.append(label)
        return None

    def _inside_domain(self, low: Floats, high: Floats) -> bool:
        if not (np.all(np.isfinite(low)) and np.all(np.isfinite(high))):
            return False
        sides = zip(self.system.domain, low.tolist(), high.tolist(), strict=True)
        return all(side is None or (side[0] <= a and b <= side[1]) for side, a, b in sides)

    def _sure_label(self, low: Floats, high: Floats) -> Any:
        """What the deployed policy answers wherever in a box the state is; None if that is not sure."""
        low, high = self._observed(low, high)
        expert = self._sure_expert(low, high)
        if expert is None:
            return None
        tree = self.mixture.trees[expert]
        node = 0
        while (k := tree.feature[node]) != LEAF:
            threshold = tree.threshold[node]
            if low[k] <= threshold < high[k]:
                return None
            node = tree.left[node] if high[k] <= threshold else tree.right[node]
        return self.mixture.classes.tolist()[int(tree.value[node].argmax())]

    def _observed(self, low: Floats, high: Floats) -> Box:
        """Box of what the policy may see from a box of states; one point if the noise of the sensor can make it so."""
        if self.system.float32_observations:  # rounding keeps the order
            return np.array(as_float32(low.tolist())), np.array(as_float32(high.tolist()))
        middle = low + (high - low) / 2
        noise = np.array([-float_above(-e) for e in self.system.noise])
        if np.all(np.nextafter(np.maximum(high - middle, middle - low), np.inf) <= noise):
            return middle, middle
        return low, high

    def _sure_expert(self, low: Floats, high: Floats) -> int | None:
        """The expert that the gate chooses everywhere in a box."""
        mixture = self.mixture
        expert = int(mixture.expert((low + (high - low) / 2)[None])[0])
        if np.array_equal(low, high):
            return expert
        try:
            errors = gate_errors(mixture.gate_weights, mixture.gate_bias, low, high)
        except InputError:
            return None
        for rival in range(mixture.n_experts):
            if rival != expert:
                row = mixture.gate_weights[expert] - mixture.gate_weights[rival]
                lead = mixture.gate_bias[expert] - mixture.gate_bias[rival] + np.minimum(row * low, row * high).sum()
                # once for the logits, once for the rounding of this comparison
                if not lead > 2 * (errors[expert] + errors[rival]):
                    return None
        return expert


def seen(system: System, states: Floats) -> Floats:
    """What a policy sees of states without noise."""
    return states.astype(np.float32).astype(np.float64) if system.float32_observations else states


def idle_disturbance(system: System) -> list[Fraction]:
    """The disturbance that is nearest to none."""
    return [min(max(Fraction(0), low), high) for low, high in system.disturbance]


def surely_violated(conditions: Sequence[HalfSpace], low: Floats, high: Floats) -> bool:
    """Whether one of the conditions holds nowhere in a box; exactly so for the box as given."""
    sides = [(Fraction(a), Fraction(b)) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    for half in conditions:
        terms = zip(half.coefficients, sides, strict=True)
        if sum((min(c * a, c * b) for c, (a, b) in terms), Fraction(0)) > half.bound:
            return True
    return False
