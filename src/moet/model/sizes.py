"""Sizes to try, the smallest that does as well as the best, and that size for a table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from moet.model.classifier import MoETClassifier
from moet.model.large import large_settings
from moet.model.mixture import Prediction
from moet.progress import progress_bar

SIZES = ((2, 0), (2, 1), (2, 2), (4, 2), (4, 3), (8, 3), (8, 4), (8, 6), (8, 9), (16, 12))
"""Experts and depth; each has room for twice the leaves of the one before, or more where leaves that do not pay go."""

WIDE_SIZES = ((16, 0), (32, 0), (32, 2))
"""Many linear pieces with few leaves behind each, for classes that are clusters; taken only if nothing else does."""

LINEAR: dict[str, Any] = {"max_depth": 0, "init": "linear", "n_init": 1}

PATIENCE = 3
"""So many sizes in a row that bring nothing end the search."""

POINTS = 0.005
"""Accuracy that a smaller classifier may lose, if one standard error is not more."""

FOLDS = 3
MANY_ROWS = 2_000
"""Larger tables hold out one fifth, once; smaller ones are cut into folds."""
MOST_HELD_OUT = 20_000
FEW_ROWS = 12


class Tried(NamedTuple):
    """A size and how it did: reward or accuracy, its standard error, and the fidelity if there is a teacher.

    With ``own_game`` it acts as its teacher hardly more often than at random, whatever it earns.
    """

    experts: int
    depth: int
    leaves: int
    score: float
    error: float
    fidelity: float | None = None
    boosted: bool = False
    own_game: bool = False

    @property
    def name(self) -> str:
        """``E2-D0``."""
        return f"E{self.experts}-D{self.depth}{' boosted' if self.boosted else ''}"


def candidate_sizes(n_classes: int) -> list[tuple[int, int]]:
    """The sizes that have a leaf for every class, small ones first; the largest at least."""
    return [size for size in SIZES if size[0] * 2 ** size[1] >= n_classes] or [SIZES[-1]]


def smallest_within(tried: Sequence[Tried], tolerance: float) -> int:
    """Number of the one of fewest leaves whose score is within the tolerance of the best; the better of equals.

    One that plays a game of its own tells nothing of its teacher, and is taken only if all of them do.
    A gate of many experts is harder to read than leaves are: where only ``WIDE_SIZES`` do, the best of them is taken.
    Of boosted ones, whose thousands of leaves nobody reads, the first is.
    """
    least = max(one.score for one in tried) - tolerance
    good = [k for k, one in enumerate(tried) if one.score >= least]
    good = [k for k in good if not tried[k].own_game] or good
    usual = [k for k in good if not _is_wide(tried[k])]
    if not usual:
        return max(good, key=lambda k: tried[k].score)
    readable = [k for k in usual if not tried[k].boosted]
    return min(readable, key=lambda k: (tried[k].leaves, -tried[k].score, k)) if readable else usual[0]


def _is_wide(one: Tried) -> bool:
    return (one.experts, one.depth) in WIDE_SIZES


def stalled(tried: Sequence[Tried], tolerance: float) -> bool:
    """Whether the last few sizes are no better, by more than the tolerance, than what came before them."""
    before, last = tried[:-PATIENCE], tried[-PATIENCE:]
    return bool(before) and max(one.score for one in last) <= max(one.score for one in before) + tolerance


E = TypeVar("E", bound=BaseEstimator)


@dataclass(frozen=True)
class Chosen(Generic[E]):
    """The size that was found for a table.

    Attributes
    ----------
    estimator : MoETClassifier or MoETRegressor
        Of the size chosen, fitted to all rows.
    front : tuple of Tried
        What was tried, in that order.
    taken : int
        Which of them was chosen.
    tolerance : float
        What it may be below the best of them.
    what : str
        How they were compared: accuracy, fidelity or R².
    """

    estimator: E
    front: tuple[Tried, ...]
    taken: int
    tolerance: float
    what: str


@dataclass(frozen=True)
class Contest(Generic[E]):
    """How the size of an estimator is found.

    Attributes
    ----------
    judge : callable
        How one does on held-out rows: an estimator and the parts to hold out in, a :class:`Tried` out.
    what : str
        The score, in a word.
    enough : float
        The score beyond which nothing larger is tried.
    tolerance : callable
        What a smaller one may lose, by the best one so far.
    """

    judge: Callable[[E, Sequence[NDArray[np.int64]]], Tried]
    what: str
    enough: float
    tolerance: Callable[[Tried], float]

    def run(
        self,
        small: Sequence[E],
        X: Any,
        y: NDArray[Any],
        *,
        budget: float | None,
        seed: int,
        verbose: int,
        large: Sequence[E] = (),
    ) -> Chosen[E]:
        """Try sizes in order until some in a row bring nothing, then ``large`` ones, and fit the one to take.

        ``budget`` is minutes, after which no other size is tried.
        """
        deadline = float("inf") if budget is None else time.monotonic() + 60 * budget
        parts = list(held_out_parts(len(y), np.random.default_rng(seed)))
        waiting, further = list(small), list(large)
        tried: list[Tried] = []
        asked: list[E] = []
        tolerance = 0.0
        with progress_bar("trying sizes", len(waiting) + len(further), shown=verbose > 0) as advance:
            while (waiting or further) and (not tried or time.monotonic() < deadline):
                asked.append((waiting or further).pop(0))
                tried.append(self.judge(asked[-1], parts))
                advance(f"{tried[-1].name}: {self.what} {tried[-1].score:.4f}")
                tolerance = self.tolerance(max(tried, key=lambda one: one.score))
                if tried[-1].score >= self.enough:
                    break
                if stalled(tried, 0.0):  # steps below the tolerance add up
                    waiting = []
                if _is_wide(tried[-1]) and tried[-1].score < max(one.score for one in tried) - tolerance:
                    further = []
        taken = smallest_within(tried, tolerance)
        return Chosen(clone(asked[taken]).fit(X, y), tuple(tried), taken, tolerance, self.what)


def choose_size(
    X: Any,
    y: NDArray[Any],
    *,
    prediction: Prediction = "hard",
    budget: float | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    verbose: int = 0,
) -> Chosen[MoETClassifier]:
    """Fit the smallest mixture whose accuracy on held-out rows is within a tolerance of the best.

    The tolerance is half a point of accuracy, or, of hard mixtures, one standard error of the best if that is more.
    Of hard ones, a linear start with one leaf per class is tried, too, and many experts with few leaves, which are
    taken if no other does. Who wants a soft one wants accuracy: large boosted ones are tried, a sum of trees, which is
    taken if it is within the tolerance, and one with a linear start, about which less can be proved.

    Parameters
    ----------
    X : DataFrame or array of shape (n_rows, n_features)
    y : array of shape (n_rows,)
    prediction : {"hard", "soft"}
    budget : float, optional
        Minutes after which no other size is tried. What comes out then depends on how fast the machine is.
    settings : mapping, optional
        Other parameters of :class:`moet.MoETClassifier`. With ``class_weight`` accuracy counts classes so, too.
    seed : int
        Seed of everything random.
    verbose : int
        1 shows a progress bar on stderr.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from moet.model.sizes import choose_size
    >>> X, y = load_iris(return_X_y=True)
    >>> found = choose_size(X, y)
    >>> found.front[found.taken].leaves <= max(tried.leaves for tried in found.front)
    True
    """
    rows, labels = X if hasattr(X, "iloc") else np.asarray(X, dtype=np.float64), np.asarray(y)
    chosen_by_user = dict(settings or {}, prediction=prediction, random_state=seed)
    students, further = candidates(labels, chosen_by_user)
    if prediction == "soft":
        boosted = [] if chosen_by_user.get("monotone") else large_settings(len(labels))
        boosted.sort(key=lambda one: "init" in one)  # sums of trees first: a gate that is uniform can be reasoned about
        further = [MoETClassifier(**one | chosen_by_user) for one in boosted]
    contest = Contest[MoETClassifier](
        judge=lambda student, parts: held_out_score(student, rows, labels, parts),
        what="accuracy",
        enough=1.0,
        tolerance=lambda best: POINTS if prediction == "soft" else max(POINTS, best.error),
    )
    return contest.run(students, X, y, budget=budget, seed=seed, verbose=verbose, large=further)


def candidates(y: NDArray[Any], chosen: dict[str, Any]) -> tuple[list[MoETClassifier], list[MoETClassifier]]:
    """The usual sizes, and what is tried after them where experts answer alone: a linear start, and many experts."""
    n_classes = len(np.unique(y))
    further: list[dict[str, Any]] = [{"n_experts": experts, "max_depth": depth} for experts, depth in WIDE_SIZES]
    if 2 < n_classes <= WIDE_SIZES[-1][0]:  # logistic regression, to begin with
        further.insert(0, dict(LINEAR, n_experts=n_classes))
    usual = [MoETClassifier(*size, **chosen) for size in candidate_sizes(n_classes)]
    return usual, [MoETClassifier(**one | chosen) for one in further]


def held_out_parts(n_rows: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Rows that sizes are judged on, part by part; held out, unless there are too few to learn from the others."""
    order = rng.permutation(n_rows)
    if n_rows < FEW_ROWS:
        yield order
    elif n_rows > MANY_ROWS:
        yield order[: min(n_rows // 5, MOST_HELD_OUT)]
    else:
        yield from np.array_split(order, FOLDS)


def held_out_score(student: Any, X: Any, y: NDArray[Any], parts: Sequence[NDArray[np.int64]]) -> Tried:
    """How a classifier that makes a mixture does on the parts that it is not fitted to.

    Parameters
    ----------
    student : MoETClassifier, or DistilledClassifier of one
    X : DataFrame or array of shape (n_rows, n_features)
    y : array of shape (n_rows,)
        The answers that are right.
    parts : sequence of arrays
        Rows to hold out, part by part.
    """
    from sklearn.utils.class_weight import compute_sample_weight

    right, leaves = [], []
    for held_out in parts:
        kept = np.ones(len(y), dtype=bool)
        kept[held_out] = len(held_out) == len(y)
        mixture = clone(student)._fit_answers(_taken(X, kept), y[kept]).mixture_.prune()
        right.append(mixture.predict(_taken(X, held_out)) == y[held_out])
        leaves.append(mixture.size.leaves)
    student = getattr(student, "student", student)
    weight = compute_sample_weight(student.class_weight, y)[np.concatenate(parts)]
    weight /= weight.sum()
    accuracy = float(weight @ np.concatenate(right))
    error = float(np.sqrt(accuracy * (1 - accuracy) * (weight @ weight)))
    size = student.n_experts, student.max_depth or 0, int(np.ceil(np.mean(leaves)))
    return Tried(*size, accuracy, error, boosted=student.training == "boosting")


def _taken(X: Any, rows: NDArray[Any]) -> Any:
    """Some rows of a DataFrame or array."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def front_lines(front: Sequence[Tried], taken: int, what: str) -> list[str]:
    """The sizes that were tried as lines of text, the one that was taken marked."""
    lines = []
    for k, one in enumerate(front):
        fidelity = "" if one.fidelity is None else f", fidelity {one.fidelity:.4f}"
        fidelity += ", a game of its own" if one.own_game else ""
        mark = "  <- taken" if k == taken else ""
        lines.append(f"{one.name}: {one.leaves} leaves, {what} {one.score:.4g} ± {one.error:.2g}{fidelity}{mark}")
    return lines
