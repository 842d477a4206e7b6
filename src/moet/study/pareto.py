"""Which models no other model beats in everything, and how much of what is possible they cover.

More is better in every coordinate; a size enters with a minus sign.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.study.outcome import Family, Outcome

FAMILIES: tuple[Family, ...] = get_args(Family)

Point = tuple[float, ...]


def non_dominated(points: ArrayLike) -> list[int]:
    """Indices of the points that no other point dominates.

    A point dominates another if it is nowhere worse and somewhere better; so equal points all stay.

    Parameters
    ----------
    points : array of float, shape (n_points, n_objectives)
    """
    values = np.asarray(points, dtype=np.float64)
    return [
        k
        for k, point in enumerate(values)
        if not np.any(np.all(values >= point, axis=1) & np.any(values > point, axis=1))
    ]


def hypervolume(points: ArrayLike, reference: tuple[float, float]) -> float:
    """Area of all that is worse than some point and better than ``reference`` in both coordinates."""
    area, height = 0.0, reference[1]
    for x, y in sorted(map(tuple, np.asarray(points, dtype=np.float64)), reverse=True):
        if x > reference[0] and y > height:
            area += (x - reference[0]) * (y - height)
            height = y
    return float(area)


def rescaled(points: ArrayLike, among: ArrayLike) -> NDArray[np.float64]:
    """``points`` on a scale from the worst value of each coordinate in ``among``, 0, to the best, 1.

    A coordinate in which all are equal tells nothing: everybody gets 1.
    """
    values, scale = np.asarray(points, dtype=np.float64), np.asarray(among, dtype=np.float64)
    low, spread = scale.min(axis=0), np.ptp(scale, axis=0)
    return np.where(spread > 0, (values - low) / np.where(spread > 0, spread, 1.0), 1.0)


def before(outcome: Outcome) -> Point:
    """Reward and fidelity on the episodes that configurations are compared by."""
    return outcome.before.reward, outcome.before.fidelity


def after(outcome: Outcome) -> Point:
    """Reward and fidelity on fresh episodes."""
    return outcome.after.reward, outcome.after.fidelity


def before_with_size(outcome: Outcome) -> Point:
    """Reward, fidelity and how few numbers the model has."""
    return *before(outcome), -float(outcome.parameters)


def front(
    outcomes: Sequence[Outcome], measure: Callable[[Outcome], Point], among: Sequence[int] | None = None
) -> list[int]:
    """Indices of the outcomes that are not dominated by others, the lowest reward first.

    Parameters
    ----------
    outcomes : sequence of Outcome
    measure : callable
        What is to be large.
    among : sequence of int, optional
        Consider only these; by default all.
    """
    candidates = range(len(outcomes)) if among is None else among
    points = [measure(outcomes[k]) for k in candidates]
    return sorted((candidates[k] for k in non_dominated(points)), key=lambda k: measure(outcomes[k])) if points else []


@dataclass(frozen=True)
class Fronts:
    """The best models of one task; all as indices of its outcomes.

    Models are chosen on the episodes before, and what they are worth is read from fresh episodes: nobody is judged by
    the episodes it was chosen by.

    Attributes
    ----------
    families : dict
        Front of each family before re-evaluation.
    chosen : list of int
        All models of these fronts: those that are re-evaluated.
    before : list of int
        Global front before re-evaluation.
    after : list of int
        Which of the chosen ones are not dominated by other chosen ones on fresh episodes.
    with_size : list of int
        Global front before re-evaluation if the number of numbers counts as well.
    coverage : dict
        How much of the rectangle between the worst and the best reward and fidelity on fresh episodes a front covers,
        0 to 1: its hypervolume on that scale. The rectangle spans all outcomes of the task, chosen or not. Keys:
        families, and ``"mixtures"`` for the fronts of MoËT and MoËT_h together. Who is absent has no key.
    """

    families: dict[Family, list[int]]
    chosen: list[int]
    before: list[int]
    after: list[int]
    with_size: list[int]
    coverage: dict[str, float]


def fronts(outcomes: Sequence[Outcome]) -> Fronts:
    """Fronts of the outcomes of one task."""
    of_family = {name: [k for k, o in enumerate(outcomes) if o.family == name] for name in FAMILIES}
    families = {name: front(outcomes, before, members) for name, members in of_family.items() if members}
    chosen = sorted(k for members in families.values() for k in members)
    contestants = {str(name): members for name, members in families.items()}
    if mixtures := [k for k in chosen if outcomes[k].family != "VIPER"]:
        contestants["mixtures"] = mixtures
    everything = [after(outcome) for outcome in outcomes]
    return Fronts(
        families=families,
        chosen=chosen,
        before=front(outcomes, before),
        after=front(outcomes, after, chosen),
        with_size=front(outcomes, before_with_size),
        coverage={
            name: hypervolume(rescaled([everything[k] for k in members], everything), (0.0, 0.0))
            for name, members in contestants.items()
        },
    )
