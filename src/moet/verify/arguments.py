"""What questions take: labels, pairs of models and domains, checked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moet.errors import InputError
from moet.model.base import BaseMixture
from moet.model.file import as_mixture, as_model
from moet.model.mixture import Mixture
from moet.model.regression.mixture import RegressionMixture
from moet.model.schema import Schema
from moet.verify.box import Bounds, Box
from moet.verify.rounding import FURTHEST

Floats = NDArray[np.float64]

CPU_LIMIT = 60.0
"""Default limit of a question about single inputs, in seconds of CPU time."""

_MOST_OPEN = 12
_LARGEST_GATE = 1e100
"""Weights of a gate that no input of up to 1e150 makes overflow."""


def is_soft(mixture: Mixture) -> bool:
    """Whether several experts vote; one alone answers as in a hard mixture."""
    return mixture.prediction == "soft" and mixture.n_experts > 1


def is_sum(mixture: Mixture) -> bool:
    """Whether the experts of a soft mixture always have the same weight: then it is a sum of trees."""
    if not is_soft(mixture):
        return False
    gate = np.column_stack([mixture.gate_weights, mixture.gate_bias])
    return bool(np.all(gate == gate[0]) and np.all(np.abs(gate) <= _LARGEST_GATE))


def answers_with_numbers(model: Any) -> bool:
    """Whether a question about this model is one about outputs."""
    return isinstance(as_model(model), RegressionMixture)


def check_no_tolerance(tolerance: Any) -> None:
    """Complain about a tolerance where there are no numbers that could be off."""
    if tolerance is not None:
        raise InputError("this model answers with labels, which are the same or not: leave the tolerance out")


def has_groups(*mixtures: Mixture) -> bool:
    """Whether questions about hard models are about possible rows that are no box: whole numbers and categories."""
    schemas = [mixture.schema for mixture in mixtures]
    hard = not any(map(is_soft, mixtures))
    return hard and any(
        schema is not None and any(column.kind != "number" for column in schema.columns) for schema in schemas
    )


def known_labels(labels: Iterable[Any], mixtures: Sequence[Mixture]) -> list[Any]:
    """Return the labels as the models have them; one that no model has is an error."""
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise InputError(f"expected a list of labels, got {labels!r}: write [{labels!r}]")
    known = [label for mixture in mixtures for label in mixture.classes.tolist()]
    found = []
    for label in labels:
        if label not in known:
            raise InputError(f"there is no class {label!r}; the models have {listed(dict.fromkeys(known))}")
        found.append(known[known.index(label)])
    return found


def comparable(a: Any, b: Any) -> tuple[Mixture, Mixture]:
    """Return the mixtures of two models if they are about the same features and have classes in common."""
    first, second = as_mixture(a), as_mixture(b)
    check_same_features(first, second)
    if not set(first.classes.tolist()) & set(second.classes.tolist()):
        raise InputError(f"no class in common: {listed(first.classes)} and {listed(second.classes)}")
    kinds = [type(mixture.classes.tolist()[0]).__name__ for mixture in (first, second)]
    if kinds[0] != kinds[1]:
        raise InputError(
            f"the models answer with labels of types {kinds[0]} and {kinds[1]}, such as {first.classes.tolist()[0]!r} "
            f"and {second.classes.tolist()[0]!r}, which are never the same; fit both to labels of one type"
        )
    return first, second


def check_same_features(first: BaseMixture, second: BaseMixture) -> None:
    """Complain about two models whose inputs are not the same."""
    if first.n_features != second.n_features:
        raise InputError(f"the models have {first.n_features} and {second.n_features} features")
    unnamed = tuple(f"x{k}" for k in range(first.n_features))
    if first.feature_names != second.feature_names and unnamed not in (first.feature_names, second.feature_names):
        raise InputError(
            f"the models have different features: {listed(first.feature_names)} and {listed(second.feature_names)}"
        )
    if first.schema is not None and second.schema is not None:
        _check_same_words(first.schema, second.schema)


def _check_same_words(first: Schema, second: Schema) -> None:
    """Complain about two tables whose words stand for other features: a row of one means another row of the other."""
    one, other = ({c.name: (c.kind, c.features, c.categories) for c in s.columns} for s in (first, second))
    if one == other or not all(any(c.kind != "number" for c in s.columns) for s in (first, second)):
        return
    wrong = [name for name in dict.fromkeys([*one, *other]) if one.get(name) != other.get(name)]
    raise InputError(
        f"the tables of the models do not mean the same by {listed(wrong)}: other kinds, or categories in another "
        "order; fit both models to tables with the same columns"
    )


def common_groups(pair: Sequence[Mixture], wanted: list[Any] | None) -> list[NDArray[np.int64]]:
    """Number the labels of two models alike; labels that are not wanted are all the same."""
    number: dict[Any, int] = {}
    for mixture in pair:
        for label in mixture.classes.tolist():
            number.setdefault(label, len(number) + 1 if wanted is None or label in wanted else 0)
    return [np.array([number[label] for label in mixture.classes.tolist()]) for mixture in pair]


def domain_bounds(domain: Box | None, mixture: BaseMixture) -> Bounds:
    """Sides of a domain that is to be searched."""
    if domain is not None and not isinstance(domain, Box):
        raise InputError(f"domain must be a Box, got {type(domain).__name__}")
    if mixture.schema is not None:
        from moet.verify.rows.domain import rows_of

        return rows_of(domain, mixture).bounds()
    lo, hi = (domain or Box()).bounds(mixture.feature_names)
    for side in (*lo, *hi):
        if FURTHEST < abs(side) < math.inf:
            raise InputError(f"a side of the domain is {side:g}; leave it open instead")
    return lo, hi


def state(x: ArrayLike, mixture: BaseMixture) -> Floats:
    """One input of a model as an array, checked; of a model with a schema also a row in the user's words."""
    if mixture.schema is not None:
        from moet.model.words import features_of_row

        encoded = features_of_row(x, mixture.schema)
        x = x if encoded is None else encoded
    try:
        array = np.array(x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"an input must be an array of numbers: {error}") from None
    if array.shape != (mixture.n_features,):
        raise InputError(f"an input of this model has {mixture.n_features} numbers, got shape {array.shape}")
    if not np.all(np.abs(array) <= FURTHEST):
        raise InputError(f"an input must be finite, and not beyond {FURTHEST:g}, got {array.tolist()}")
    return array


def used_by_gate(mixture: BaseMixture) -> NDArray[np.bool_]:
    """Features that decide which expert answers."""
    used: NDArray[np.bool_] = np.any(mixture.gate_weights, axis=0) & (mixture.n_experts > 1)
    return used


def parts_of_one_sign(mixture: BaseMixture, used: NDArray[np.bool_], lo: Floats, hi: Floats) -> Iterator[Bounds]:
    """Cut a box at zero along open features that are used.

    In each part the absolute value of such a feature is linear, and so are the bounds of rounding errors.
    """
    is_open = np.isinf(lo) | np.isinf(hi)
    cut = np.flatnonzero(is_open & used & (lo < 0) & (hi > 0))
    if len(cut) > _MOST_OPEN:
        names = [mixture.feature_names[k] for k in cut]
        raise InputError(f"more than {_MOST_OPEN} features that are used are open on both sides: bound some of {names}")
    for positive in product([False, True], repeat=len(cut)):
        part_lo, part_hi = lo.copy(), hi.copy()
        for k, above_zero in zip(cut, positive, strict=True):
            (part_lo if above_zero else part_hi)[k] = 0.0
        yield part_lo, part_hi


def json_sides(sides: Floats) -> list[float | None]:
    """Sides as JSON, open ones as null."""
    return [None if math.isinf(side) else side for side in sides.tolist()]


def listed(values: Iterable[Any]) -> str:
    """Return values as text."""
    return ", ".join(map(str, values))
