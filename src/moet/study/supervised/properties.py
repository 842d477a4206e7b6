"""A question about the tuned MoËT_h of every data set, asked of the model itself rather than of a sample of inputs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from moet.model.mixture import Mixture
from moet.study.supervised.datasets import Dataset
from moet.study.supervised.models import MODELS
from moet.study.supervised.protocol import refit, split, tune
from moet.verify import Box, Proved, Refuted, always, check, differences

MOST_REGIONS = 100_000
Side = tuple[float, float]


@dataclass(frozen=True)
class Property:
    """What should hold in a box of inputs.

    Numbers that are not named lie in their usual range; categories that are not named are the most frequent ones, so
    that columns of zeros and ones stay what a real input has there.

    Attributes
    ----------
    sentence : str
        For people.
    ranges : mapping
        Bounds of numbers.
    categories : mapping
        Values of categories.
    like : int or None
        Class whose rows say what is usual; all rows by default.
    tail : float
        Share of those rows that is beyond the usual range on each side.
    answers : sequence of int
        Classes that alone may be the answer; none for a question about a change.
    change : mapping
        What is added to some features at once, by name (``column=value`` for a category).
    never : pair of int
        An answer before and after the change that must not occur.
    """

    sentence: str
    ranges: Mapping[str, Side] = field(default_factory=dict)
    categories: Mapping[str, str] = field(default_factory=dict)
    like: int | None = None
    tail: float = 0.05
    answers: Sequence[int] = ()
    change: Mapping[str, float] = field(default_factory=dict)
    never: tuple[int, int] = (1, 0)


@dataclass(frozen=True)
class Finding:
    """The verdict on a property.

    Attributes
    ----------
    verdict : str
        "proved", "proved and checked" (its certificate was), "refuted" or "unknown".
    seconds : float
        Time of the proof, without training.
    counterexample : mapping or None
        The features in the box that are not fixed, if refuted.
    """

    verdict: str
    seconds: float
    counterexample: Mapping[str, float] | None = None


def _longer_loan(column: str) -> Property:
    return Property(
        "A loan that takes 12 months longer never turns a bad risk into a good one (6 to 36 months, the most frequent "
        "category everywhere).",
        ranges={column: (6, 36)},
        change={column: 12},
        never=(0, 1),
    )


PROPERTIES: dict[str, Property] = {
    "adult": Property(
        "A bachelor's degree instead of a high-school diploma never lowers the answer (no capital gains or losses, "
        "25 to 60 years, 20 to 60 hours a week, the most frequent category elsewhere).",
        ranges={
            "age": (25, 60),
            "hours-per-week": (20, 60),
            "education-num": (9, 9),
            "capital-gain": (0, 0),
            "capital-loss": (0, 0),
        },
        categories={"education": "HS-grad"},
        change={"education-num": 4, "education=HS-grad": -1, "education=Bachelors": 1},
    ),
    "german": _longer_loan("duration"),
    "german9": _longer_loan("Duration"),
    "fetal": Property(
        "A record whose 21 features all lie in the middle tenth of those of suspect and pathological records is never "
        "called normal.",
        like=1,
        tail=0.45,
        answers=(1,),
    ),
    "fetal3": Property(
        "A record whose 21 features all lie in the middle three tenths of those of suspect records is never "
        "called normal.",
        like=1,
        tail=0.35,
        answers=(1, 2),
    ),
}


def tuned_hard_mixture(dataset: Dataset, seed: int = 0) -> tuple[Mixture, float]:
    """Tune MoËT_h for accuracy as the benchmark does; return the model and its test accuracy."""
    model = MODELS["moet_h"]
    estimator, encode = refit(dataset, model, seed, tune(dataset, model, seed)["accuracy"].params)
    test = split(dataset, seed).test
    accuracy = float(np.mean(estimator.predict(encode.transform(dataset.X.iloc[test])) == dataset.y[test]))
    return estimator.mixture_, accuracy


def prove(mixture: Mixture, dataset: Dataset, asked: Property, timeout: float = 300.0) -> Finding:
    """Decide a property of a model on the table's features."""
    sides = box_of(dataset, asked, mixture.feature_names)
    box = Box(**sides)
    started = time.process_time()
    if not asked.change:
        verdict = always(mixture, box, list(asked.answers), timeout=timeout)
        if isinstance(verdict, Proved):
            check(verdict.certificate, mixture)
            return Finding("proved and checked", time.process_time() - started)
        seconds = time.process_time() - started
        if isinstance(verdict, Refuted):
            return Finding("refuted", seconds, _free(verdict.point, mixture, sides))
        return Finding("unknown", seconds)
    found = differences(mixture, shifted(mixture, asked.change), box, limit=MOST_REGIONS, samples=1, timeout=timeout)
    seconds = time.process_time() - started
    for point, answers in zip(found.points, found.answers, strict=True):
        if answers == asked.never:
            return Finding("refuted", seconds, _free(point, mixture, sides))
    return Finding("proved" if found.complete and not found.unseen else "unknown", seconds)


def shifted(mixture: Mixture, change: Mapping[str, float]) -> Mixture:
    """Return the mixture that answers at x what this one answers at x + change (to within rounding of its numbers)."""
    shift = np.array([change.get(name, 0.0) for name in mixture.feature_names])
    trees = [replace(tree, threshold=tree.threshold - shift[tree.feature]) for tree in mixture.trees]
    bias = mixture.gate_bias + mixture.gate_weights @ shift
    return Mixture(mixture.gate_weights, bias, trees, mixture.classes, mixture.feature_names, mixture.prediction)


def box_of(dataset: Dataset, asked: Property, feature_names: Sequence[str]) -> dict[str, Side]:
    """Sides of the box in which a property is asked, for all features of a model."""
    sides: dict[str, Side] = {}
    rows = dataset.X if asked.like is None else dataset.X[dataset.y == asked.like]
    category = {name: str(rows[name].mode()[0]) for name in dataset.texts} | dict(asked.categories)
    for name in feature_names:
        if name in dataset.ranks:
            rank = float(dataset.ranks[name].index(category[name]))
            sides[name] = rank, rank
        elif name in rows.columns:
            low, high = rows[name].quantile([asked.tail, 1.0 - asked.tail])
            sides[name] = asked.ranges.get(name, (float(low), float(high)))
        else:
            column_name, _, value = name.partition("=")
            present = float(category[column_name] == value)
            sides[name] = present, present
    return sides


def report(dataset: Dataset, timeout: float = 300.0) -> str:
    """Tune MoËT_h on the first split, ask the question of its data set, and tell the verdict in Markdown."""
    asked = PROPERTIES[dataset.name]
    mixture, accuracy = tuned_hard_mixture(dataset)
    finding = prove(mixture, dataset, asked, timeout)
    size = mixture.size
    lines = [
        f"**{dataset.title}**, MoËT_h with {size.experts} experts and {size.leaves} leaves, "
        f"test accuracy {accuracy:.3f}: {asked.sentence} *{finding.verdict.capitalize()}* in {finding.seconds:.2f} s."
    ]
    if finding.counterexample:
        point = ", ".join(f"{name} = {value:.6g}" for name, value in finding.counterexample.items())
        lines.append(f"Counterexample: {point}.")
    return " ".join(lines)


def _free(point: Any, mixture: Mixture, sides: Mapping[str, Side]) -> dict[str, float]:
    """Leave out the features that the box fixes."""
    named = zip(mixture.feature_names, point.tolist(), strict=True)
    return {name: value for name, value in named if sides[name][0] < sides[name][1]}
