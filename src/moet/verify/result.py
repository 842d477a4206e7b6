"""The three verdicts, and what comes with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    pass


class Trace(NamedTuple):
    """A run of a closed loop.

    ``states`` has one row more than there are actions; ``disturbances[t]`` was added to the step from ``states[t]``.
    Both are the float64 numbers nearest to those of the run, which was replayed without rounding from ``start``; in
    continuous time states are the middles of narrow sets that enclose it.
    ``unknowns`` says what the plant knows limits of only, as it was in this run: parameters and signals by name, one
    number per look for what is scheduled, one per control for what an action does.

    Examples
    --------
    >>> from moet import Mixture, Tree, verify
    >>> leaves = [Tree.leaf([1, 0]), Tree.leaf([0, 1])]
    >>> push = Mixture([[0], [0]], [1, 0], leaves, ["push", "hold"], feature_names=["place"])
    >>> line = verify.systems.AffineSystem("line", states=["place"], actions=["push", "hold"], matrix=[[1]],
    ...     offsets=[[1], [0]], initial={"place": (0, 0)}, safe=["place <= 1"])
    >>> trace = verify.safe(push, line, steps=3).trace
    >>> trace.states.tolist(), trace.actions
    ([[0.0], [1.0], [2.0]], ('push', 'push'))
    """

    states: NDArray[np.float64]
    actions: tuple[Any, ...]
    disturbances: NDArray[np.float64] | None = None
    start: tuple[Fraction, ...] | None = None
    unknowns: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Verdict:
    """What all verdicts have in common.

    A verdict is true in a condition only if it is :class:`Proved`, so that a time limit never passes for a proof.

    Attributes
    ----------
    band : float or None
        For questions about exact arithmetic: where two logits of a model are further apart than this, its gate chooses
        the same expert in float64 as in exact arithmetic. None for questions that cover the rounding of the gate.
    checked : bool
        Whether the exact checker accepted the certificate in this very call; so it is on every :class:`Proved`.
    claim : str or None
        What was proved, in words and with exact numbers, on every :class:`Proved` that has a certificate: what an
        auditor signs. None on others.
    caveats : tuple of str
        What the verdict does not say though one might think so, in words: inputs that are not covered, or that float64
        rounding may make a deployed model answer otherwise.
    effort : mapping
        What the answer took, by name: ``seconds`` (``search_seconds`` and ``check_seconds`` apart where there was
        something to check) and counts of what was examined.

    Examples
    --------
    >>> from moet import Mixture, Tree, verify
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> print(verify.always(model, answers=["up"]))
    Refuted: (...), answered down
    """

    band: float | None = None
    checked: bool = False
    claim: str | None = None
    caveats: tuple[str, ...] = ()
    effort: Mapping[str, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return isinstance(self, Proved)

    def __str__(self) -> str:
        """The verdict as a person would tell it; ``repr`` has all of its parts."""
        return "\n".join([f"{type(self).__name__}: {self._told()}", *(f"Note: {caveat}" for caveat in self.caveats)])

    def _told(self) -> str:
        return self.claim or "see its parts"

    def _repr_html_(self) -> str:
        from moet.notebook import verdict_html

        return verdict_html(self)


@dataclass(frozen=True, kw_only=True, eq=False)
class Proved(Verdict):
    """The answer is yes, and :func:`moet.verify.check` can confirm it from the certificate without trusting the search.

    Attributes
    ----------
    certificate : Certificate

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet import Box, verify
    >>> verdict = verify.always(model, Box.from_bounds([1, 1], [2, 2]), ["up"])
    >>> bool(verdict), verdict.checked
    (True, True)
    """

    certificate: Any = None

    def _told(self) -> str:
        first, *others = (self.claim or "see its certificate").splitlines()
        listed = takewhile(lambda line: line.startswith("  "), others if first.endswith(":") else ())
        return "\n".join([first, *listed])


@dataclass(frozen=True, kw_only=True, eq=False)
class Refuted(Verdict):
    """The answer is no, and here is an input that shows it; it was replayed through the deployed predictor.

    Attributes
    ----------
    point : array of float, shape (n_features,), or None
        The input, for questions about single inputs.
    answers : tuple
        What the models answer at ``point``.
    trace : Trace or None
        The run, for questions about a closed loop.
    rows : tuple of dict
        The possible row, or the pair of them, in the columns of the model's schema.
    points : tuple of arrays
        Their features.
    share : float or None
        For :func:`ignores`: the share of rows whose answer changes, of a table or of random possible rows.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet import Box, verify
    >>> verdict = verify.always(model, Box.from_bounds([-1, -1], [1, 1]), ["up"])
    >>> bool(verdict), verdict.answers
    (False, ('down',))
    """

    point: NDArray[np.float64] | None = None
    answers: tuple[Any, ...] = ()
    trace: Trace | None = None
    rows: tuple[dict[str, Any], ...] = ()
    points: tuple[NDArray[np.float64], ...] = ()
    share: float | None = None

    def _told(self) -> str:
        if self.trace is not None:
            begin = ", ".join(f"{x:.6g}" for x in self.trace.states[0])
            known = {name: x for name, x in (self.trace.unknowns or {}).items() if not isinstance(x, tuple)}
            told = ", ".join(f"{name} = {float(x):.6g}" for name, x in known.items())
            where = f" with {told}" if told else ""
            count = len(self.trace.actions)
            steps = "1 step" if count == 1 else f"{count} steps"
            return f"a run of {steps} from ({begin}){where} shows it, see its trace"
        points = [f"({', '.join(f'{x:.6g}' for x in point)})" for point in _points(self)]
        answers = f", answered {' and '.join(map(str, self.answers))}" if self.answers else ""
        return " and ".join(map(str, self.rows or points)) + answers


def _points(verdict: Refuted) -> tuple[NDArray[np.float64], ...]:
    return verdict.points or (() if verdict.point is None else (verdict.point,))


@dataclass(frozen=True, kw_only=True, eq=False)
class Unknown(Verdict):
    """There is no answer.

    Attributes
    ----------
    reason : str
        Why not, and what may help.

    Examples
    --------
    >>> from moet import Mixture, Tree, verify
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> print(verify.always(model, answers=["up"], timeout=0))
    Unknown: the time limit of 0 s was reached; allow more, or ask about a smaller domain
    """

    reason: str

    def _told(self) -> str:
        return self.reason


@dataclass(frozen=True, kw_only=True, eq=False)
class Closest(Proved):
    """The nearest input with another answer; the certificate proves that there is none nearer.

    Attributes
    ----------
    distance : float
        Rounded down. In exact arithmetic it is an infimum: at exactly this distance the answer may still be the old one
        (of two inputs at a threshold only one is on its far side). Infinite if the domain has no such input.
    exact_distance : Fraction or None
        The same, exactly; None if it is infinite.
    point : array of float, shape (n_features,), or None
        An input that close, up to ``point_distance - distance``, whose answer in exact arithmetic and as deployed is
        ``answer``. None if the distance is infinite.
    point_distance : float
        Distance of ``point``, rounded up.
    answer : Any
        What the model answers at ``point``.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet import verify
    >>> found = verify.closest(model, [1, 1])
    >>> found.exact_distance
    Fraction(1, 1)
    """

    distance: float
    exact_distance: Fraction | None
    point: NDArray[np.float64] | None
    point_distance: float
    answer: Any


@dataclass(frozen=True, kw_only=True, eq=False)
class Range(Proved):
    """Between which numbers the outputs of a model are; the certificate proves it of the model as deployed.

    Arrays have one entry, or one row, per output, in the order of ``outputs``.

    Attributes
    ----------
    outputs : tuple of str
    low, high : array of float, shape (n_outputs,)
        Proved bounds; infinite where there is none.
    least, largest : array of float, shape (n_outputs,)
        What the deployed model answers at ``least_at`` and ``largest_at``: so tight are the bounds.
    least_at, largest_at : array of float, shape (n_outputs, n_features)
        Inputs of the domain. In exact arithmetic the outputs there are the same, but for the rounding of their sums.
    gap : float
        The largest of ``high - largest`` and ``least - low``.

    Examples
    --------
    >>> from moet import Box, RegressionMixture, RegressionTree, verify
    >>> law = RegressionMixture([[0.0]], [0.0], [RegressionTree.leaf([1.0], slope=[[2.0]])], ["torque"])
    >>> found = verify.range(law, Box.from_bounds([0], [3]))
    >>> found.least.tolist(), found.largest.tolist(), found.checked
    ([1.0], [7.0], True)
    """

    outputs: tuple[str, ...]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    least: NDArray[np.float64]
    largest: NDArray[np.float64]
    least_at: NDArray[np.float64]
    largest_at: NDArray[np.float64]
    gap: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Recourse(Proved):
    """The cheapest change of a row that gets an answer; the certificate proves that none is cheaper.

    Attributes
    ----------
    row : dict or None
        The possible row with the answer, in the columns of the model's schema; None if there is none.
    point : array of float or None
        Its features.
    changes : dict
        Columns that change, each with what it was and what it is to become.
    cost : float
        What the changes cost, rounded up; infinite if no possible row has the answer.
    at_least : float
        What every change costs at least, as is proved; below ``cost`` by no more than a billionth of it.
    answer : Any
        What the model answers to ``row``.
    others : tuple of Recourse
        If several were asked for: further ones by other columns, cheapest first, each with its own certificate.

    Examples
    --------
    >>> import pandas as pd
    >>> from moet import MoETClassifier, verify
    >>> loans = pd.DataFrame({"Duration": [6, 12, 24, 36, 48, 60]})
    >>> risk = ["good", "good", "good", "bad", "bad", "bad"]
    >>> model = MoETClassifier(n_experts=1, max_depth=1, prediction="hard", random_state=0).fit(loans, risk)
    >>> found = verify.recourse(model, {"Duration": 48}, answer="good", cost={"Duration": 1})
    >>> found.row, found.cost, found.at_least <= found.cost
    ({'Duration': 30}, 18.0, True)
    """

    row: dict[str, Any] | None
    point: NDArray[np.float64] | None
    changes: dict[str, tuple[Any, Any]]
    cost: float
    at_least: float
    answer: Any
    others: tuple[Recourse, ...] = ()
