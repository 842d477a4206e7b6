"""The nearest input at which the outputs of a model are as one looks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from moet.verify.inputs.nearest import near_inputs, nowhere, round_down
from moet.verify.inputs.records import add_cut, add_split
from moet.verify.inputs.witness import GROWTH, Witness
from moet.verify.limits import Deadline
from moet.verify.outputs.case_rows import Output, Wanted, cases, is_possible
from moet.verify.outputs.laws import Laws, hard_laws
from moet.verify.outputs.nearest_rows import PieceSearch
from moet.verify.outputs.possible import Possible
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
    start = state(x, mixture)
    lo, hi = domain_bounds(domain, mixture)
    possible = Possible(mixture, domain)
    if not possible.is_row(start):
        row = None if mixture.schema is None else mixture.schema.row(start)
        raise InputError(f"the row {row} is none of the table: exactly one category, whole numbers")
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
    return _Question(laws, wanted, start, norm, possible, lo, hi, deadline, seed).answer(claim)


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
        laws: Laws,
        wanted: list[Wanted],
        x: Floats,
        norm: Norm,
        possible: Possible,
        lo: Floats,
        hi: Floats,
        deadline: Deadline,
        seed: int,
    ) -> None:
        self._mixture, self._laws, self._possible = laws.mixture, laws, possible
        self._wanted = [rows for rows in wanted if is_possible(rows, laws.low, laws.high)]
        self._x, self._norm = x, norm
        self._lo, self._hi = lo, hi
        self._deadline, self._seed = deadline, seed

    def answer(self, claim: dict[str, Any]) -> Closest | Unknown:
        """Search, prove, and find an input that is as near."""
        deadline, band = self._deadline, float_band([self._mixture], self._lo, self._hi)
        X = inputs_around([self._mixture], self._x, self._lo, self._hi, np.random.default_rng(self._seed))
        X = np.array([self._possible.nearest(x) for x in X])
        radius = first_radius(X[[self._is_wanted(x) for x in X]], self._x, self._norm, self._is_wanted)
        search = PieceSearch(self._in_piece(radius), self._possible, self._lo, self._hi)
        if not search.run():
            return Unknown(reason=deadline.reason, band=band, effort=search.effort)
        certificate = Certificate("distance", claim | {"distance": None if search.best is None else str(search.best)})
        search.write_proof(self._write_proof, certificate)
        shared: dict[str, Any] = {"certificate": certificate, "band": band, "effort": search.effort}
        if search.best is None:
            return confirmed(nowhere(**shared), self._mixture, deadline=deadline)
        assert search.winner is not None
        witness = Witness(self._is_wanted, self._in_box, self._x, self._norm, search.best, *search.box)
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
            caveats=caveat_of(doubtful_gates(self._mixture, np.array([self._possible.nearest(y) for y in near]))),
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

    def _in_piece(self, radius: float) -> Callable[[Floats, Floats], NearestSearch]:
        def search(lo: Floats, hi: Floats) -> NearestSearch:
            return NearestSearch(dict(self._regions(lo, hi)), self._x, self._norm, radius, self._deadline)

        return search

    def _regions(self, lo: Floats, hi: Floats) -> Iterator[tuple[Key, Polytope]]:
        for expert in range(self._mixture.n_experts):
            tree, known = self._mixture.trees[expert], (*self._laws.rows(expert), *self._possible.rows)
            leaves = np.where(tree.feature == LEAF, np.arange(tree.n_nodes), -1)
            for cell in cells(tree, leaves, lo, hi):
                for number, rows in enumerate(self._cases(expert, cell.node)):
                    polytope = Polytope(cell.lo, cell.hi, cell.above, (*known, *rows))
                    yield (expert, cell.node, number), polytope

    def _cases(self, expert: int, leaf: int) -> Iterator[list[Row]]:
        parts = zip(self._laws.laws(expert, leaf), self._laws.low, self._laws.high, strict=True)
        outputs = [Output(*part) for part in parts]
        for wanted in self._wanted:
            yield from cases(wanted, outputs)

    def _write_proof(self, search: NearestSearch, lo: Floats, hi: Floats, certificate: Certificate) -> None:
        """Write the records that the checker expects for "no such input of a box is nearer"."""
        if not self._wanted:
            return
        n_experts = self._mixture.n_experts
        n_known = n_experts + len(self._possible.rows)
        for expert in range(n_experts):
            known = [k for k in range(n_known) if k != expert]
            tree = self._mixture.trees[expert]
            stack = [Cell(0, lo, hi, np.zeros(len(lo), dtype=bool))]
            while stack:
                cell = stack.pop()
                if cell.is_empty or search.is_outside(cell):
                    continue
                add_split(certificate)
                if tree.feature[cell.node] != LEAF:
                    stack += reversed(children(tree, cell))
                    continue
                for number, rows in enumerate(self._cases(expert, cell.node)):
                    names = [*known, *range(n_known, n_known + len(rows))]
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
