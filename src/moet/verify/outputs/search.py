"""Whether nowhere in a box the outputs of one or two models are as they should not be: the search for a proof."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.model.tree import LEAF
from moet.verify.checker.certificate import Certificate
from moet.verify.exact import rounded
from moet.verify.inputs.records import add_cut, add_split
from moet.verify.limits import Deadline
from moet.verify.outputs.case_rows import Output, Wanted, cases, is_possible
from moet.verify.outputs.laws import Laws
from moet.verify.outputs.linear import inputs_near, quick_contradiction, settled
from moet.verify.polytopes import Cell, Polytope, children
from moet.verify.rational import Row

Floats = NDArray[np.float64]


class Found(NamedTuple):
    """Somewhere in this polytope an alternative holds, in exact arithmetic or within rounding; at ``point``, say."""

    polytope: Polytope
    point: Floats


class _Node(NamedTuple):
    """A node of each model's tree, and the part of the box that leads to all of them."""

    nodes: tuple[int, ...]
    cell: Cell


class NowhereSearch:
    """Goes through all experts and leaves, and proves that no alternative holds, or says where one may.

    Parameters
    ----------
    sides : sequence of Laws
        One model, or two.
    alternatives : sequence of Wanted
        None of which is to hold anywhere.
    lo, hi : array of float
        The box.
    deadline : Deadline
    certificate : Certificate, optional
        Where to write the records of the proof.
    shared : sequence of Row
        What is known of all inputs, besides the box.
    """

    def __init__(
        self,
        sides: Sequence[Laws],
        alternatives: Sequence[Wanted],
        lo: Floats,
        hi: Floats,
        deadline: Deadline,
        certificate: Certificate | None = None,
        shared: Sequence[Row] = (),
    ) -> None:
        self.n_regions = self.n_programs = 0
        self._sides = sides
        self._lo, self._hi = lo, hi
        self._deadline = deadline
        self._certificate = certificate
        self._shared = list(shared)
        self._low = [end for side in sides for end in side.low]
        self._high = [end for side in sides for end in side.high]
        self._possible = [wanted for wanted in alternatives if is_possible(wanted, self._low, self._high)]

    def regions(self) -> Iterator[tuple[tuple[int, ...], _Node, list[Row]]]:
        """Experts, leaves with their box, and the rows of gates and possible inputs, where these leave somebody.

        Raises
        ------
        Stopped
            If time is up.
        """
        for experts in product(*(range(side.mixture.n_experts) for side in self._sides)):
            gates = [row for side, e in zip(self._sides, experts, strict=True) for row in side.rows(e)] + self._shared
            whole = Cell(0, self._lo, self._hi, np.zeros(len(self._lo), dtype=bool))
            stack = [_Node((0,) * len(self._sides), whole)]
            while stack:
                node = stack.pop()
                if node.cell.is_empty:
                    continue
                self._deadline.look()
                self.n_regions += 1
                nobody = self._nobody(node, gates)
                if nobody is not None:
                    self._cut(nobody, self._names(experts))
                    continue
                if self._certificate is not None:
                    add_split(self._certificate)
                inner = self._inner(experts, node)
                if inner is None:
                    yield experts, node, gates
                else:
                    stack += inner

    def violations(self) -> Iterator[Found]:
        """Where alternatives may hold; nowhere, if there is none, and the certificate proves it."""
        if not self._possible:
            return
        for experts, node, gates in self.regions():
            names = self._names(experts)
            for rows in self._cases(experts, node):
                self._deadline.look()
                self.n_programs += 1
                cell = node.cell
                polytope = Polytope(cell.lo, cell.hi, cell.above, (*gates, *rows))
                verdict = settled(polytope)
                if isinstance(verdict, dict):
                    self._cut(verdict, [*names, *range(self._n_known, self._n_known + len(rows))])
                else:
                    yield Found(polytope, rounded(verdict))

    @property
    def box(self) -> tuple[Floats, Floats]:
        """Sides of the box."""
        return self._lo, self._hi

    @property
    def effort(self) -> dict[str, float]:
        """Regions looked at and linear programs solved so far."""
        return {"regions": self.n_regions, "programs": self.n_programs}

    @property
    def _n_known(self) -> int:
        return sum(side.mixture.n_experts for side in self._sides) + len(self._shared)

    def _names(self, experts: tuple[int, ...]) -> list[int]:
        """What the checker calls the conditions of the gates under which these experts answer, and the shared ones."""
        names, first = [], 0
        for side, e in zip(self._sides, experts, strict=True):
            names += [first + k for k in range(side.mixture.n_experts) if k != e]
            first += side.mixture.n_experts
        return [*names, *range(first, first + len(self._shared))]

    def _nobody(self, node: _Node, gates: list[Row]) -> dict[int, Fraction] | None:
        """Multipliers of the gates' conditions that leave nobody in a box; exact arithmetic is worth it at the roots.

        Experts of two models that share a gate meet on its borders at most, which floats cannot tell.
        """
        if not gates:
            return None
        self.n_programs += 1
        polytope = Polytope(node.cell.lo, node.cell.hi, node.cell.above, tuple(gates))
        if any(node.nodes):
            return quick_contradiction(polytope)[0]
        verdict = settled(polytope)
        return verdict if isinstance(verdict, dict) else None

    def _inner(self, experts: tuple[int, ...], node: _Node) -> list[_Node] | None:
        """Children of the first model's node that is no leaf, the left one last; None if all are leaves."""
        for m, (side, e) in enumerate(zip(self._sides, experts, strict=True)):
            tree = side.mixture.trees[e]
            if tree.feature[node.nodes[m]] != LEAF:
                left, right = children(tree, node.cell._replace(node=node.nodes[m]))
                return [_Node((*node.nodes[:m], part.node, *node.nodes[m + 1 :]), part) for part in (right, left)]
        return None

    def _cases(self, experts: tuple[int, ...], node: _Node) -> Iterator[list[Row]]:
        places = zip(self._sides, experts, node.nodes, strict=True)
        laws = [law for side, e, leaf in places for law in side.laws(e, leaf)]
        outputs = [Output(*parts) for parts in zip(laws, self._low, self._high, strict=True)]
        for wanted in self._possible:
            yield from cases(wanted, outputs)

    def _cut(self, multipliers: dict[int, Fraction], names: list[int]) -> None:
        if self._certificate is not None:
            add_cut(self._certificate, multipliers, names)


def float_inputs(found: Found) -> Iterator[Floats]:
    """Inputs at which the alternative of a region may show."""
    if found.polytope.rows:
        _, extreme = quick_contradiction(found.polytope)
        yield from inputs_near(found.polytope, extreme)
    yield from inputs_near(found.polytope, found.point)
