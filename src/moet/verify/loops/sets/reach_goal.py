"""Goals of nonlinear systems: small parts of the first states, each followed until all of it has been in the goal.

The first states are cut in two until each part can be followed. That goes block by block, as in
:mod:`~moet.verify.loops.sets.bounded`, but every block has an enclosure of its own, on a box around where this part is
then: the smaller the part, the better these enclosures are. Where runs of a part drift apart (the policy changed its
mind between them), the set is cut at the gaps between them, and what is on either side is followed for itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.file import digest
from moet.model.mixture import Mixture
from moet.verify.checker.certificate import Certificate
from moet.verify.confirm import confirmed
from moet.verify.limits import Deadline, Progress, Stopped
from moet.verify.loops.refute import outside_domain
from moet.verify.loops.sets.crew import in_order
from moet.verify.loops.sets.enclosures import Enclosures, best_variable
from moet.verify.loops.sets.post import Effort, Post, box_family
from moet.verify.loops.sets.propagate import Block, Propagation, plain_enclosure
from moet.verify.loops.sets.template import Template, switching_direction
from moet.verify.loops.simulation import find_miss, runs_outside, simulate
from moet.verify.result import Proved, Refuted, Unknown, Verdict
from moet.verify.systems.conditions import HalfSpace
from moet.verify.systems.description import Side
from moet.verify.systems.discrete import NonlinearSystem

Floats = NDArray[np.float64]
Box = tuple[Side, ...]

_SMALLEST = 2**-10
"""Width of the smallest parts, as a share of the box of first states: what these cannot do, disturbances prevent."""

_LENGTHS = (2, 1)
"""Steps of a block; fewer if so many lead to sets that are too large."""

_AT_ONCE = 8
"""Parts that are followed at once, whatever the number of workers: results must not depend on it."""

_MOST_LEGS = 1000
"""Blocks of one part."""

_N_PIECES = 8
_RUNS_PER_PART = 60
_CORNERS = 32
"""Runs to learn from where a part goes in the long run, and in the next steps."""

_N_FINE = 16
"""Cells in which gaps of a set are looked for."""

_N_TIMES = 16
"""Times of the runs from which the directions of the sets are taken."""


class _Records(list[tuple[Any, Any, Any]]):
    """Records of a part, kept until all of it has been followed."""

    def add(self, codes: Any, refs: Any, numbers: Any) -> None:
        """Append records."""
        self.append((codes, refs, numbers))


class _Leg(NamedTuple):
    """A block, and where it starts: the number of an earlier leg and a cell of the set it leads to; None at first."""

    start: tuple[int, int] | None
    block: Block
    edges: Floats


class _Part(NamedTuple):
    """A box of first states, the template of its sets, the legs of its ways to the goal, and their records."""

    box: Box
    template: Template
    legs: list[_Leg]
    records: _Records


class GoalSearch:
    """The question whether every run of a nonlinear system enters a goal."""

    def __init__(
        self,
        mixture: Mixture,
        system: NonlinearSystem,
        goal: Sequence[HalfSpace],
        within: int,
        deadline: Deadline,
        seed: int = 0,
        workers: int = 1,
    ) -> None:
        self.mixture, self.system, self.goal, self.within = mixture, system, goal, within
        self.deadline, self.seed, self.workers = deadline, seed, workers
        self.effort = Effort()
        self.cut_along: int | None = None

    def decide(self, progress: Progress | None = None) -> Verdict:
        """Cut the first states into parts and follow each of them."""
        if (unknown := outside_domain(self.system)) is not None:
            return replace(unknown, effort=self.effort.report(self.deadline))
        runs = simulate(self.mixture, self.system, self.within, self.seed, deadline=self.deadline)
        trace = find_miss(self.mixture, self.system, self.goal, runs, self.within, self.deadline)
        if trace is not None:
            return Refuted(trace=trace, effort=self.effort.report(self.deadline))
        if runs_outside(self.goal, runs).size:
            reason = "precision: simulated runs do not reach the goal, by less than can be confirmed"
            reason = self.deadline.reason if self.deadline.passed else reason
            return Unknown(reason=reason, effort=self.effort.report(self.deadline))
        low, high = runs.states.min(axis=(0, 1)), runs.states.max(axis=(0, 1))
        try:
            matrix = self.system.fitted_matrix(low, high)
            self.cut_along = best_variable(self.system, matrix, low, high, self.deadline)
        except Stopped as stop:
            return Unknown(reason=str(stop), effort=self.effort.report(self.deadline))
        parts: list[_Part] = []
        waiting: list[Box] = [self.system.initial]
        while waiting:
            if progress is not None:
                done = sum((math.prod(filter(None, self._shares(part.box))) for part in parts), 0.0)
                progress(done, f"{len(parts)} parts followed, {len(waiting)} open")
            boxes, waiting = waiting[:_AT_ONCE], waiting[_AT_ONCE:]
            self.effort["parts"] += len(boxes)
            for box, part in zip(boxes, in_order(self._tried, boxes, self.workers, self.deadline), strict=True):
                if isinstance(part, _Part):
                    parts.append(part)
                    continue
                halves = self._halves(box)
                if self.deadline.passed or not halves:
                    return Unknown(reason=str(part), effort=self.effort.report(self.deadline))
                waiting += halves
        proved = Proved(certificate=self._certificate(parts), effort=self.effort.report(self.deadline))
        return confirmed(proved, self.mixture, self.system, deadline=self.deadline)

    def _tried(self, box: Box) -> _Part | Stopped:
        """A part, if it can be followed, or why it cannot."""
        try:
            return self._follow(box)
        except Stopped as stop:
            return stop

    def _follow(self, box: Box) -> _Part:
        """Follow one part until all of it has been in the goal."""
        part = _Part(box, self._template(box), [], _Records())
        if all(_most(box, half) <= half.bound for half in self.goal):
            return part
        waiting: list[tuple[tuple[int, int] | None, Floats, int]] = [(None, box_family(box), 0)]
        while waiting:
            start, family, done = waiting.pop()
            if done == self.within or len(part.legs) > _MOST_LEGS:
                raise Stopped(f"some runs may not have reached the goal after {done} steps")
            propagation, block = self._advance(part.template, family, self.within - done)
            if not propagation.post.prove(family, block.enclosure, block.n_steps, block.image, part.records):
                raise Stopped("a claim that holds in floats could not be proved with a margin")
            part.legs.append(_Leg(start, block, propagation.post.template.edges))
            for cell, limits in enumerate(block.image.family):
                if np.all(np.isfinite(limits)):
                    waiting.append(((len(part.legs) - 1, cell), limits[None], done + block.n_steps))
        return part

    def _advance(self, template: Template, family: Floats, n_left: int) -> tuple[Propagation, Block]:
        """Take some steps from a polytope, and cut the set they lead to where nobody is."""
        for length in _LENGTHS:
            n_steps = min(length, n_left)
            propagation = self._propagation(template, self._enclosures(family, n_steps))
            try:
                block = propagation.advance(family, n_steps)
            except Stopped:
                if length == _LENGTHS[-1] or self.deadline.passed:
                    raise
                continue
            edges = self._gaps(propagation, block)
            if len(edges):
                propagation = self._propagation(replace(template, edges=edges), propagation.enclosures)
                block = propagation.advance(family, n_steps)
            return propagation, block
        raise AssertionError("unreachable")

    def _enclosures(self, family: Floats, n_steps: int) -> Enclosures:
        """Enclosures around what the corners of a polytope's box do."""
        box = [(-limits[1], limits[0]) for limits in family[0][: 2 * self.system.n_states].reshape(-1, 2)]
        runs = simulate(self.mixture, self.system, n_steps, 0, _CORNERS, box, self.deadline)
        rows = runs.states.reshape(-1, self.system.n_states)
        low, high = rows.min(axis=0), rows.max(axis=0)
        return Enclosures(self.system, low, high, _N_PIECES, False, self.cut_along, self.deadline)

    def _propagation(self, template: Template, enclosures: Enclosures) -> Propagation:
        post = Post(self.mixture, self.system, template, self.deadline, self.effort, goal=self.goal)
        return Propagation(post, enclosures)

    def _gaps(self, propagation: Propagation, block: Block) -> Floats:
        """Values of the slice where nobody is at the end of a block, one from each gap."""
        up, down = propagation.post.template.slice_sides
        (limits,) = block.image.family
        if not limits[up] > -limits[down]:
            return np.zeros(0)
        edges = np.linspace(-limits[down], limits[up], _N_FINE + 1)
        fine = self._propagation(
            replace(propagation.post.template, edges=np.unique(edges[1:-1])), propagation.enclosures
        )
        ends = fine.advance(block.family, block.n_steps).image.family
        taken = np.flatnonzero(np.isfinite(ends[:, up]))
        return np.array([(edges[a + 1] + edges[b]) / 2 for a, b in pairwise(taken) if b > a + 1])

    def _template(self, box: Box) -> Template:
        """Sets with sides across which the runs of a part are close to one another, at some time or other."""
        runs = simulate(self.mixture, self.system, self.within, 0, _RUNS_PER_PART, box, self.deadline)
        states = runs.states.reshape(-1, self.system.n_states)
        direction, _ = switching_direction(self.mixture, states, runs.actions.ravel())
        spread = np.median(np.ptp(runs.states, axis=1), axis=0)
        scale = np.where(spread > 0, spread, 1.0)
        times = np.linspace(0, len(runs.states) - 1, _N_TIMES).astype(int)
        # runs of a small part lie along a line; what matters is how thin the sets are across it
        thin = [np.linalg.svd(part - part.mean(axis=0))[2][1:] for part in runs.states[times] / scale]
        rows = np.concatenate(thin) / scale
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return Template(direction, np.zeros(0), np.concatenate([rows, -rows]))

    def _shares(self, box: Box) -> list[float]:
        """Width of every side, as a share of that of the box of first states; 0 where that is flat."""
        whole = [high - low for low, high in self.system.initial]
        return [float((high - low) / (width or 1)) for (low, high), width in zip(box, whole, strict=True)]

    def _halves(self, box: Box) -> list[Box]:
        """Both halves of a box, cut along its widest side; none if that is narrow already."""
        shares = self._shares(box)
        k = int(np.argmax(shares))
        low, high = box[k]
        middle = Fraction(float((low + high) / 2))
        if shares[k] <= _SMALLEST or not low < middle < high:
            return []
        return [(*box[:k], side, *box[k + 1 :]) for side in ((low, middle), (middle, high))]

    def _certificate(self, parts: list[_Part]) -> Certificate:
        claim = {
            "steps": self.within,
            "model": digest(self.mixture),
            "system": self.system.digest,
            "name": self.system.name,
            "goal": [half.document() for half in self.goal],
            "parts": [_described(part) for part in parts],
        }
        certificate = Certificate("arrival", claim)
        for part in parts:
            for record in part.records:
                certificate.add(*record)
        return certificate


def _described(part: _Part) -> dict[str, Any]:
    """What a certificate says of a part."""
    return {
        "initial": [[str(low), str(high)] for low, high in part.box],
        "slice": part.template.slice.tolist(),
        "directions": part.template.directions.tolist(),
        "blocks": [
            {"start": leg.start, "edges": leg.edges.tolist(), "enclosure": plain_enclosure(leg.block.enclosure)}
            | leg.block.described()
            for leg in part.legs
        ],
    }


def _most(box: Box, half: HalfSpace) -> Fraction:
    """Largest value of a linear function in a box."""
    return sum((max(a * low, a * high) for a, (low, high) in zip(half.coefficients, box, strict=True)), Fraction(0))
