"""Where two grouped models disagree: the compiled search, and exact arithmetic for what it leaves undecided."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from moet.model.flat import FlatMixture
from moet.model.mixture import Mixture
from moet.model.tree import LEAF, Tree
from moet.verify.checker.certificate import Certificate
from moet.verify.exact import ExactMixture, exactly, rounded
from moet.verify.inputs import agreement_kernel as kernel
from moet.verify.inputs.records import add_cut
from moet.verify.limits import Deadline
from moet.verify.polytopes import Polytope, single_groups
from moet.verify.rational import Row
from moet.verify.rounding import LogitErrors, may_overflow

Floats = NDArray[np.float64]

_BUDGET = 1000
"""Nodes between two looks at the clock."""
_ROOM = 4096
"""Records between two moves of them to the certificate."""
_SLACKS = [Fraction(1), Fraction(1, 2**10), Fraction(1, 2**20), Fraction(1, 2**40), Fraction(0)]
"""How far inside a region, in units of its logits, to look for a float64 point."""


class Grouped:
    """A hard mixture whose classes are gathered into groups.

    Parameters
    ----------
    mixture : Mixture
    group_of_class : array of int
    relaxed : LogitErrors, optional
        If given, an expert answers wherever its logit is largest up to these errors; otherwise where it is the first
        largest in exact arithmetic.
    lo, hi : array of float
        The box. Each feature with an open side must be of one sign in it if errors are given.
    """

    def __init__(
        self,
        mixture: Mixture,
        group_of_class: NDArray[np.int64],
        lo: Floats,
        hi: Floats,
        relaxed: LogitErrors | None = None,
    ) -> None:
        self.mixture = mixture
        self.exact = ExactMixture(mixture)
        self.group_of_class = group_of_class
        self._relaxed = relaxed
        self._sign = np.where(lo >= 0, 1.0, np.where(hi <= 0, -1.0, 0.0))
        self._flat = FlatMixture.of(mixture.gate_weights, mixture.gate_bias, mixture.trees)
        self.only = [single_groups(tree, group_of_class) for tree in mixture.trees]

    @classmethod
    def constant(cls, n_features: int, group: int) -> Grouped:
        """Model that answers every input with the same group."""
        mixture = Mixture(np.zeros((1, n_features)), np.zeros(1), [Tree.leaf([1.0])], ["always"])
        everything = np.full(n_features, np.inf)
        return cls(mixture, np.array([group]), -everything, everything)

    @property
    def roots(self) -> NDArray[np.int32]:
        """Node of every expert's root among the nodes of all trees."""
        return self._flat.routing.roots

    @cached_property
    def trees(self) -> kernel.Trees:
        """All trees, and the groups below their nodes."""
        return kernel.Trees(self._flat.routing.nodes, self._flat.routing.threshold, np.concatenate(self.only))

    def conditions(self) -> tuple[Floats, Floats]:
        """Rows and sizes of a :class:`~moet.verify.inputs.agreement_kernel.Problem`."""
        gate = np.column_stack([self.mixture.gate_weights, -self.mixture.gate_bias])
        with np.errstate(over="ignore", invalid="ignore"):  # the walk takes what is not finite for undecided
            rows = gate[:, None, :] - gate[None, :, :]
            sizes = np.abs(gate)[:, None, :] + np.abs(gate)[None, :, :]
            if self._relaxed is not None:
                errors = np.column_stack([self._relaxed.slope * self._sign, -self._relaxed.constant])
                rows += errors[:, None, :] + errors[None, :, :]
                sizes += np.abs(errors)[:, None, :] + np.abs(errors)[None, :, :]
        n_numbers = rows.shape[2]
        return rows.reshape(-1, n_numbers), sizes.reshape(-1, n_numbers)

    def exact_rows(self, expert: int) -> list[Row]:
        """Conditions under which an expert answers, one per rival in order."""
        rows = self.exact.rows(expert)
        if self._relaxed is None:
            return rows
        rivals = [k for k in range(self.mixture.n_experts) if k != expert]
        return [self._relax(row, expert, rival) for row, rival in zip(rows, rivals, strict=True)]

    def _relax(self, row: Row, expert: int, rival: int) -> Row:
        assert self._relaxed is not None
        constant, slope = self._relaxed
        shifts = zip(row.coefficients, slope[expert].tolist(), slope[rival].tolist(), self._sign.tolist(), strict=True)
        coefficients = [c + Fraction(sign) * (Fraction(s) + Fraction(t)) for c, s, t, sign in shifts]
        return Row(coefficients, row.bound - Fraction(float(constant[expert])) - Fraction(float(constant[rival])))

    def deployed_groups(self, X: Floats) -> NDArray[np.int64]:
        """Groups of the answers that the deployed predictor gives to the rows of ``X``."""
        _, leaf = self._flat.leaves(X)
        return self.group_of_class[self._flat.leaf_class[leaf]]

    def deployed_class(self, x: Floats) -> int:
        """Class that the deployed predictor answers to one input, or -1 if its logits may overflow there."""
        if may_overflow(self.mixture.gate_weights, self.mixture.gate_bias, x, x):
            return -1
        _, leaf = self._flat.leaves(np.ascontiguousarray(x)[None, :])
        return int(self._flat.leaf_class[leaf[0]])

    def deployed_group(self, x: Floats) -> int:
        """Group of the answer that the deployed predictor gives to one input, or -1 if its logits may overflow."""
        answer = self.deployed_class(x)
        return -1 if answer < 0 else int(self.group_of_class[answer])

    def groups_of_tree(self, expert: int, X: Floats) -> NDArray[np.int64]:
        """Groups of the answers that an expert would give to the rows of ``X``."""
        flat = FlatMixture.of(np.zeros((1, X.shape[1])), np.zeros(1), [self.mixture.trees[expert]])
        return self.group_of_class[flat.leaf_class[flat.leaves(X)[1]]]

    def exact_class(self, x: Floats) -> int:
        """Class of the answer in exact arithmetic."""
        return self.exact.answer(exactly(x.tolist()))

    def exact_group(self, x: Floats) -> int:
        """Group of the answer in exact arithmetic."""
        return int(self.group_of_class[self.exact_class(x)])


@dataclass(frozen=True, eq=False)
class Disagreement:
    """A region in which two models give different groups.

    Attributes
    ----------
    polytope : Polytope
    point : array of float or None
        An input in it that was confirmed; None if only numbers that are no float64 numbers are known to lie in it.
    exact_point : list of Fraction or None
        A point of it in exact arithmetic, if it took exact arithmetic to find it.
    """

    polytope: Polytope
    point: Floats | None
    exact_point: list[Fraction] | None = None


class AgreementSearch:
    """Walks through all regions of two grouped models and finds those where they differ.

    Parameters
    ----------
    sides : (Grouped, Grouped)
        The models.
    lo, hi : array of float
        The box, infinite at open sides.
    deadline : Deadline
    confirm : callable
        Whether a float64 point, meant for this region, really shows a difference.
    certificate : Certificate, optional
        Where to write the records of the proof.

    Attributes
    ----------
    timed_out : bool
        Whether the search ended before its time.
    """

    def __init__(
        self,
        sides: tuple[Grouped, Grouped],
        lo: Floats,
        hi: Floats,
        deadline: Deadline,
        confirm: Callable[[Floats, Polytope], bool],
        certificate: Certificate | None = None,
    ) -> None:
        self.timed_out = False
        self._sides = sides
        self._deadline = deadline
        self._confirm = confirm
        self._certificate = certificate
        a, b = sides
        self._n_experts = np.array([a.mixture.n_experts, b.mixture.n_experts])
        (rows_a, sizes_a), (rows_b, sizes_b) = a.conditions(), b.conditions()
        self._problem = kernel.Problem(
            np.concatenate([rows_a, rows_b]),
            np.concatenate([sizes_a, sizes_b]),
            self._n_experts,
            a.trees,
            b.trees,
            _far(sides, lo, hi),
        )
        self._stack = _stack_of_roots(sides, lo, hi)
        self._counters = np.zeros(7, dtype=np.int64)
        self._counters[kernel.SP] = self._n_experts.prod()
        room = _ROOM + 2 * int(self._n_experts.sum())
        self._records = kernel.Records(np.empty(room, np.uint8), np.empty(room, np.int32), np.empty(room))

    @property
    def effort(self) -> dict[str, float]:
        """Regions looked at and linear programs solved so far."""
        return {"regions": int(self._counters[kernel.VISITED]), "programs": int(self._counters[kernel.PROGRAMS])}

    def disagreements(self) -> Iterator[Disagreement]:
        """Go through the regions where the groups differ; all of them, unless :attr:`timed_out` in the end."""
        while not self._deadline.passed:
            status = kernel.walk(self._problem, self._stack, self._counters, self._records, _BUDGET)
            self._flush()
            if status == kernel.DONE:
                return
            if status == kernel.PAUSED:
                continue
            polytope = self._polytope()
            if status == kernel.CANDIDATE and self._confirm(self._hint, polytope):
                yield Disagreement(polytope, self._hint.copy())
                self._counters[kernel.SP] -= 1
            else:
                yield from self._decide_exactly(polytope)
        self.timed_out = True

    @property
    def _top(self) -> int:
        return int(self._counters[kernel.SP]) - 1

    @property
    def _hint(self) -> Floats:
        return self._stack.hint[self._top]

    def _decide_exactly(self, polytope: Polytope) -> Iterator[Disagreement]:
        verdict = polytope.decide(exactly(self._hint.tolist()))
        if isinstance(verdict, dict):
            self._record_cut(verdict)
            self._counters[kernel.SP] -= 1
        elif not self._is_terminal():
            self._counters[kernel.FORCE] = 1
        else:
            yield Disagreement(polytope, self._floating_point(polytope, verdict), verdict)
            self._counters[kernel.SP] -= 1

    def _is_terminal(self) -> bool:
        place = self._stack.places[self._top]
        return all(side.trees.only[place[2 + m]] >= 0 for m, side in enumerate(self._sides))

    def _polytope(self) -> Polytope:
        """Region of the node on top of the stack."""
        places, lo, hi, above, _ = self._stack
        rows = [row for m, side in enumerate(self._sides) for row in side.exact_rows(int(places[self._top, m]))]
        return Polytope(lo[self._top].copy(), hi[self._top].copy(), above[self._top].copy(), tuple(rows))

    def _floating_point(self, polytope: Polytope, point: list[Fraction]) -> Floats | None:
        """A float64 point that shows the difference, if one is found: from further inside, or else the exact point."""
        inner = np.where(polytope.above, np.nextafter(polytope.lo, np.inf), polytope.lo)
        for slack in _SLACKS:
            exact = polytope.decide(point, slack) if slack else point
            if isinstance(exact, list):
                candidate = np.minimum(np.maximum(rounded(exact), inner), polytope.hi)
                if self._confirm(candidate, polytope):
                    return candidate
        return None

    def _record_cut(self, multipliers: dict[int, Fraction]) -> None:
        if self._certificate is not None:
            a, b = self._stack.places[self._top, :2].tolist()
            n_a, n_b = self._n_experts.tolist()
            names = [k for k in range(n_a) if k != a] + [n_a + k for k in range(n_b) if k != b]
            add_cut(self._certificate, multipliers, names)

    def _flush(self) -> None:
        """Move the records of the compiled walk to the certificate."""
        codes, refs, numbers = self._records
        counts = self._counters[kernel.N_CODES :]
        if self._certificate is not None:
            self._certificate.add(codes[: counts[0]], refs[: counts[1]], numbers[: counts[2]])
        counts[:] = 0


def _far(sides: tuple[Grouped, Grouped], lo: Floats, hi: Floats) -> Floats:
    """Numbers beyond all tests and sides, to stand in for infinity."""
    far = np.maximum(np.where(np.isfinite(lo), np.abs(lo), 0.0), np.where(np.isfinite(hi), np.abs(hi), 0.0))
    for side in sides:
        for tree in side.mixture.trees:
            inner = tree.feature != LEAF
            np.maximum.at(far, tree.feature[inner], np.abs(tree.threshold[inner]))
    return 1e3 * (1.0 + np.minimum(far, 1e147))


def _stack_of_roots(sides: tuple[Grouped, Grouped], lo: Floats, hi: Floats) -> kernel.Stack:
    """One node per pair of experts, the first pair on top, and room for one more per test on the longest path."""
    a, b = sides
    pairs = [(e, f, root_a, root_b, 0) for e, root_a in enumerate(a.roots) for f, root_b in enumerate(b.roots)]
    capacity, d = len(pairs) + a.mixture.size.depth + b.mixture.size.depth + 1, len(lo)
    places = np.zeros((capacity, 5), dtype=np.int32)
    places[: len(pairs)] = pairs[::-1]
    stacked_lo, stacked_hi = np.empty((capacity, d)), np.empty((capacity, d))
    stacked_lo[: len(pairs)], stacked_hi[: len(pairs)] = lo, hi
    above, hint = np.zeros((capacity, d), dtype=bool), np.zeros((capacity, d))
    return kernel.Stack(places, stacked_lo, stacked_hi, above, hint)
