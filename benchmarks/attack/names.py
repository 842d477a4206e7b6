"""Two models whose words differ: other names, orders, kinds and types of features, categories and labels.

A row is what a person writes: words by column. Each model turns it into features by its own table, which is done here
once more; models that are proved to be equivalent must answer all rows alike that both can read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from random_tables import random_model, random_schema, random_sum

from attack.inputs import CPU_LIMIT, confirmed, demand
from attack.judge import Plain, accepted
from attack.sums import Votes
from moet import Column, Mixture, Schema
from moet.errors import CertificateError, MoetError
from moet.model.file import digest
from moet.verify import Proved, Refuted, check, equivalent

_TYPES: list[list[Any]] = [["no", "yes", "maybe"], [0, 1, 2], [0.0, 1.0, 2.0], ["0", "1", "2"], [False, True]]
_KINDS = ("ordered", "category", "integer", "boolean", "number")


def attack_names(seed: int) -> str:
    """What is proved of two models, or accepted of a forged proof, must hold of every row in words."""
    rng = np.random.default_rng(seed)
    make = random_sum if rng.random() < 0.3 else random_model
    first = make(rng, random_schema(rng), n_classes=2)
    if rng.random() < 0.3:
        first = replace(first, classes=np.array(_TYPES[int(rng.integers(len(_TYPES)))][:2]))
    second = _renamed(first, rng)
    if rng.random() < 0.5:
        first, second = second, first
    outcome = _asked(first, second)
    return f"{outcome}, forged: {_forged(first, second)}"


def _asked(first: Mixture, second: Mixture) -> str:
    try:
        verdict = accepted(equivalent(first, second, cpu_limit=CPU_LIMIT))
    except MoetError:
        return "refused"
    if isinstance(verdict, Proved):
        confirmed(verdict, first, second)
        demand((row := _refuting(first, second)) is None, f"{row} is answered otherwise by the second model")
    if isinstance(verdict, Refuted):
        answers = [_answer(model, verdict.point.tolist()) for model in (first, second)]
        demand(answers[0] != answers[1], f"{verdict.point} is no counterexample: {answers}")
    return type(verdict).__name__


def _forged(first: Mixture, second: Mixture) -> str:
    """A proof that a model is like itself, said of both."""
    proof = equivalent(first, first, cpu_limit=CPU_LIMIT)
    if not isinstance(proof, Proved):
        return "nothing"
    claim = proof.certificate.claim | {"models": [digest(first), digest(second)]}
    try:
        check(proof.certificate.claiming(proof.certificate.kind, claim), first, second)
    except CertificateError:
        return "refused"
    demand((row := _refuting(first, second)) is None, f"a forged proof was accepted, and {row} refutes it")
    return "accepted, true"


def _renamed(model: Mixture, rng: np.random.Generator) -> Mixture:
    """The same arrays under other words; what they say of a row in words may be something else."""
    schema: Schema | None = model.schema
    assert schema is not None
    columns, names, classes = list(schema.columns), list(schema.feature_names), model.classes.tolist()
    k = int(rng.integers(len(columns)))
    match int(rng.integers(8)):
        case 0:
            columns[k] = _shuffled(columns[k], rng)
        case 1:
            columns[k] = _of_another_kind(columns[k], rng)
        case 2 if len(columns) > 1:
            rng.shuffle(columns)
        case 3:
            columns[k] = replace(columns[k], name="other")
        case 4:
            schema, names = None, [f"x{i}" for i in range(len(names))]
        case 5:
            schema = None
            rng.shuffle(names)
        case 6:
            rng.shuffle(classes)
        case _:
            classes = list(_TYPES[int(rng.integers(len(_TYPES)))][:2])
    if schema is not None:
        schema = Schema(columns)
        names = list(schema.feature_names)
    gate = model.gate_weights, model.gate_bias
    return Mixture(*gate, model.trees, classes, feature_names=names, prediction=model.prediction, schema=schema)


def _shuffled(column: Column, rng: np.random.Generator) -> Column:
    if not column.categories:
        return column
    order = rng.permutation(len(column.categories)).tolist()
    features = column.features
    if column.kind == "category" and rng.random() < 0.5:
        features = tuple(features[j] for j in order)
    return replace(column, categories=tuple(column.categories[j] for j in order), features=features)


def _of_another_kind(column: Column, rng: np.random.Generator) -> Column:
    """A column with as many features, of another kind."""
    kind = str(rng.choice(_KINDS))
    if kind == "category" or column.kind == "category":
        words = tuple("abcde"[: len(column.features)])
        return Column(column.name, "category", column.features, categories=words)
    if kind == "ordered":
        return Column(column.name, "ordered", column.features, categories=("a", "b", "c"))
    if kind == "boolean":
        return Column(column.name, "boolean", column.features)
    return Column(column.name, "integer" if kind == "integer" else "number", column.features, 0, 2)


def _refuting(first: Mixture, second: Mixture) -> dict[str, Any] | None:
    """A row of the first model's table, or of the second's, that both can read and answer otherwise."""
    for row in _rows(first.schema or second.schema):
        points = [_features(model, other, row) for model, other in ((first, second), (second, first))]
        if None in points:
            continue
        answers = [_answer(model, x) for model, x in zip((first, second), points, strict=True) if x is not None]
        if answers[0] != answers[1]:
            return row
    return None


def _rows(schema: Schema | None) -> Iterator[dict[str, Any]]:
    """All rows of a table in words: of every column its name and a word, or a number."""
    assert schema is not None
    words = [column.labels or range(int(column.low or 0), int(column.high or 0) + 1) for column in schema.columns]
    for row in product(*words):
        yield {column.name: word for column, word in zip(schema.columns, row, strict=True)}


def _features(model: Mixture, other: Mixture, row: dict[str, Any]) -> list[float] | None:
    """Features of a row; of a model without a table those of the other one, by name if they have the same names."""
    if model.schema is None:
        names, features = list(other.feature_names), _features(other, model, row)
        if features is None or sorted(names) != sorted(model.feature_names):
            return features
        return [features[names.index(name)] for name in model.feature_names]
    found: list[float] = []
    for column in model.schema.columns:
        if column.name not in row:
            return None
        word = row[column.name]
        if column.labels:
            if word not in column.labels:
                return None
            place = column.labels.index(word)
            found += [float(k == place) for k in range(len(column.labels))] if column.kind == "category" else [place]
        elif isinstance(word, str):
            return None
        else:
            found.append(float(word))
    return found


def _answer(model: Mixture, x: list[float]) -> tuple[str, Any]:
    """The label in exact arithmetic, with its type: 1 and True and "1" are three answers."""
    if model.prediction == "soft":
        label = model.classes.tolist()[Votes.of(model).answers(x)[1]]
    else:
        label = Plain.of(model).exact(list(map(Fraction, x)))
    is_number = isinstance(label, int | float) and not isinstance(label, bool)
    return "number" if is_number else type(label).__name__, label
