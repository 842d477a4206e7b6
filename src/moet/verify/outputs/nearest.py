"""The nearest input at which the outputs of a model are as one looks for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError
from moet.model.file import digest
from moet.model.regression.mixture import RegressionMixture
from moet.model.tree import LEAF
from moet.verify.arguments import domain_bounds, json_sides, state
from moet.verify.box import Box
from moet.verify.checker.certificate import Certificate
from moet.verify.confirm import confirmed
from moet.verify.exact import as_float, exactly
from moet.verify.inputs.closest_search import Key, NearestSearch, first_radius, inputs_around
from moet.verify.inputs.distance import Norm, distance_of
from moet.verify.inputs.float_doubt import caveat_of, doubtful_gates, float_band
from moet.verify.inputs.nearest import near_inputs, round_down
from moet.verify.inputs.records import add_cut, add_split
from moet.verify.inputs.witness import GROWTH, Witness
from moet.verify.limits import Deadline
from moet.verify.outputs.case_rows import Output, Wanted, cases, is_possible
from moet.verify.outputs.laws import Laws, hard_laws
from moet.verify.outputs.possible import refuse_groups
from moet.verify.outputs.questions import (
    a_tolerance,
    conditions_on_outputs,
    deployed_outputs,
    meets,
    run,
)
from moet.verify.outputs.search import NowhereSearch
from moet.verify.polytopes import Cell, Polytope, cells, children
from moet.verify.rational import ZERO, Row
from moet.verify.result import Closest, Unknown
from moet.verify.systems.conditions import HalfSpace

Floats = NDArray[np.float64]


def closest_outputs(
    model: Any,
    x: ArrayLike,
    norm: Norm,
    domain: Box | None,
    answer: Any,
    tolerance: Any,
    deadline: Deadline,
    seed: int,
) -> Closest | Unknown:
    """Answer :func:`moet.verify.closest` for a model that answers with numbers."""
    mixture = hard_laws(model)
    refuse_groups(mixture, "the nearest input")
    start = state(x, mixture)
    lo, hi = domain_bounds(domain, mixture)
    conditions, change = asked_outputs(mixture, answer, tolerance)
    if deadline.passed:
        return Unknown(reason=deadline.reason)
    laws = Laws(mixture, lo, hi, rounded=False)
    wanted = wanted_outputs(laws, exactly(start.tolist()), conditions, change)
    claim = {
        "model": digest(mixture),
        "lo": json_sides(lo),
        "hi": json_sides(hi),
        "point": start.tolist(),
        "norm": norm,
        "conditions": None if conditions is None else [half.document() for half in conditions],
        "tolerance": None if change is None else str(change),
    }
    return _Question(mixture, laws, wanted, start, norm, lo, hi, deadline, seed).answer(claim)


def asked_outputs(
    mixture: RegressionMixture, answer: Any, tolerance: Any
) -> tuple[list[HalfSpace] | None, Fraction | None]:
    """What outputs are looked for: those that meet conditions, or those that change by more than a tolerance."""
    if (answer is None) == (tolerance is None):
        raise InputError(
            f'this model answers with numbers: say what to look for, answer="{mixture.outputs[0]} >= 1", or by how '
            "much an output is to change, tolerance=0.1; one of both"
        )
    if answer is not None:
        return conditions_on_outputs(answer, mixture.outputs), None
    return None, a_tolerance(tolerance)


def wanted_outputs(
    laws: Laws, centre: list[Fraction], conditions: list[HalfSpace] | None, change: Fraction | None
) -> list[Wanted]:
    """The same as alternatives, seen from an input."""
    if conditions is not None:
        return _as_given(conditions)
    assert change is not None
    return _changed(laws.answer(centre), change)


class _Question:
    """Which input with one of the wanted outputs is nearest."""

    def __init__(
        self,
        mixture: RegressionMixture,
        laws: Laws,
        wanted: list[Wanted],
        x: Floats,
        norm: Norm,
        lo: Floats,
        hi: Floats,
        deadline: Deadline,
        seed: int,
    ) -> None:
        self._mixture, self._laws = mixture, laws
        self._wanted = [rows for rows in wanted if is_possible(rows, laws.low, laws.high)]
        self._x, self._norm = x, norm
        self._lo, self._hi = lo, hi
        self._deadline, self._seed = deadline, seed

    def answer(self, claim: dict[str, Any]) -> Closest | Unknown:
        """Search, prove, and find an input that is as near."""
        deadline, band = self._deadline, float_band([self._mixture], self._lo, self._hi)
        X = inputs_around([self._mixture], self._x, self._lo, self._hi, np.random.default_rng(self._seed))
        radius = first_radius(X[[self._is_wanted(x) for x in X]], self._x, self._norm, self._is_wanted)
        search = NearestSearch(dict(self._regions()), self._x, self._norm, radius, deadline)
        if not search.run():
            return Unknown(reason=deadline.reason, band=band, effort=search.effort)
        certificate = Certificate("distance", claim | {"distance": None if search.best is None else str(search.best)})
        self._write_proof(search, certificate)
        shared: dict[str, Any] = {"certificate": certificate, "band": band, "effort": search.effort}
        if search.best is None:
            nowhere = Closest(
                distance=math.inf, exact_distance=None, point=None, point_distance=math.inf, answer=None, **shared
            )
            return confirmed(nowhere, self._mixture, deadline=deadline)
        assert search.winner is not None
        witness = Witness(self._is_wanted, self._in_box, self._x, self._norm, search.best, self._lo, self._hi)
        point = witness.find(*search.winner)
        if point is None:
            return Unknown(
                reason=f"in exact arithmetic the distance is {as_float(search.best):.17g}, but within "
                f"{1 + GROWTH[-1]:g} times that no float64 input was found whose outputs are as wanted both in exact "
                "arithmetic and as deployed",
                band=band,
                effort=search.effort,
            )
        near = near_inputs(self._x, self._norm, search.best, self._lo, self._hi, self._seed)
        gap = distance_of(exactly(self._x.tolist()), exactly(point.tolist()), self._norm)
        outputs = self._mixture.predict(point[None, :])[0].tolist()
        found = Closest(
            distance=round_down(search.best),
            exact_distance=search.best,
            point=point,
            point_distance=-round_down(-gap),
            answer=dict(zip(self._mixture.outputs, outputs, strict=True)),
            caveats=caveat_of(doubtful_gates(self._mixture, near)),
            **shared,
        )
        return confirmed(found, self._mixture, deadline=deadline)

    def _is_wanted(self, x: Floats) -> bool:
        deployed = deployed_outputs(self._mixture, x)
        if deployed is None or not meets(self._wanted, exactly(deployed)):
            return False
        return meets(self._wanted, self._laws.answer(exactly(x.tolist())))

    def _in_box(self, lo: Floats, hi: Floats) -> Floats | None:
        laws = Laws(self._mixture, lo, hi, rounded=False)
        return run(NowhereSearch([laws], self._wanted, lo, hi, self._deadline), self._is_wanted).point

    def _regions(self) -> Iterator[tuple[Key, Polytope]]:
        for expert in range(self._mixture.n_experts):
            tree, gate = self._mixture.trees[expert], self._laws.rows(expert)
            leaves = np.where(tree.feature == LEAF, np.arange(tree.n_nodes), -1)
            for cell in cells(tree, leaves, self._lo, self._hi):
                for number, rows in enumerate(self._cases(expert, cell.node)):
                    polytope = Polytope(cell.lo, cell.hi, cell.above, (*gate, *rows))
                    yield (expert, cell.node, number), polytope

    def _cases(self, expert: int, leaf: int) -> Iterator[list[Row]]:
        parts = zip(self._laws.laws(expert, leaf), self._laws.low, self._laws.high, strict=True)
        outputs = [Output(*part) for part in parts]
        for wanted in self._wanted:
            yield from cases(wanted, outputs)

    def _write_proof(self, search: NearestSearch, certificate: Certificate) -> None:
        """Write the records that the checker expects for "no such input is nearer"."""
        if not self._wanted:
            return
        n_experts = self._mixture.n_experts
        for expert in range(n_experts):
            rivals = [k for k in range(n_experts) if k != expert]
            tree = self._mixture.trees[expert]
            stack = [Cell(0, self._lo, self._hi, np.zeros(len(self._lo), dtype=bool))]
            while stack:
                cell = stack.pop()
                if cell.is_empty or search.is_outside(cell):
                    continue
                add_split(certificate)
                if tree.feature[cell.node] != LEAF:
                    stack += reversed(children(tree, cell))
                    continue
                for number, rows in enumerate(self._cases(expert, cell.node)):
                    names = [*rivals, *range(n_experts, n_experts + len(rows))]
                    add_cut(certificate, search.multipliers((expert, cell.node, number)), names)


def _as_given(conditions: list[HalfSpace]) -> list[Wanted]:
    return [[Row([-a for a in half.coefficients], -half.bound) for half in conditions]]


def _changed(outputs: list[Fraction], tolerance: Fraction) -> list[Wanted]:
    """An output is larger, or smaller, than it was by more than the tolerance."""
    alternatives: list[Wanted] = []
    for o, u in enumerate(outputs):
        for sign in (1, -1):
            unit = [Fraction(sign) if k == o else ZERO for k in range(len(outputs))]
            alternatives.append([Row(unit, sign * u + tolerance, True)])
    return alternatives
