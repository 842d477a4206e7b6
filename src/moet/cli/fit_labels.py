"""``moet fit`` of a column of labels."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from moet.cli.fitted import Fitted, Rows, Wanted
from moet.cli.output import say
from moet.distill.distilled_classifier import DistilledClassifier, default_teacher
from moet.distill.made_rows import recombined
from moet.distill.table_sizes import choose_distilled
from moet.errors import InputError
from moet.model.classifier import MoETClassifier
from moet.model.digits import EXACT, MOST_ROWS, rounded, simplify
from moet.model.file import as_mixture
from moet.model.short_gate import evenly
from moet.model.sizes import choose_size

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from moet.model.mixture import Mixture
    from moet.model.sizes import Chosen

MADE_ROWS = 5_000
"""Rows made of those of the table, on which a model keeps its answers when its numbers are rounded."""


def fitted_to_labels(rows: Rows, wanted: Wanted, distill: bool, settings: dict[str, Any]) -> Fitted:
    """Fit trees to labels; ``settings`` are what else the user wants of a :class:`moet.MoETClassifier`."""
    X, y = rows.to_fit
    chosen, estimator = (_distilled if distill else _trained)(X, y, wanted, settings)
    student = estimator.student_ if distill else estimator
    document: dict[str, Any] = {"teacher": None, "log_likelihood": None}
    report: dict[str, str] = {}
    if distill:
        document["teacher"] = _compared(student.mixture_, as_mixture(estimator.teacher_), rows)
        report["teacher"] = _teacher_in_words(document["teacher"])
    mixture = replace(_finished(student.mixture_, X, wanted.digits, wanted.seed), schema=rows.schema)
    if wanted.prediction == "soft":
        likelihood = _log_likelihood(mixture, X.to_numpy(), y)
        document["log_likelihood"] = likelihood if math.isfinite(likelihood) else None
        report["log-likelihood"] = f"{likelihood:.4f} per row"
    correct = mixture.predict(rows.X.to_numpy()) == rows.y
    document |= {"classes": mixture.classes.tolist(), "iterations": int(student.n_iter_)}
    return Fitted(
        mixture, "accuracy", "accuracy", lambda some: float(correct[some].mean()), chosen, document, report
    )  # fmt: skip


def _trained(
    X: pd.DataFrame, y: NDArray[Any], wanted: Wanted, settings: dict[str, Any]
) -> tuple[Chosen[MoETClassifier] | None, MoETClassifier]:
    """A classifier of these labels, and how its size was found if it is not given."""
    if not wanted.finds_size:
        return None, _student(wanted, settings).fit(X, y)
    chosen = choose_size(X, y, settings=settings, **_how(wanted))
    return chosen, chosen.estimator


def _distilled(
    X: pd.DataFrame, y: NDArray[Any], wanted: Wanted, settings: dict[str, Any]
) -> tuple[Chosen[DistilledClassifier] | None, DistilledClassifier]:
    """The same of one that learns what a large mixture answers."""
    say("fitting the large mixture first")
    if not wanted.finds_size:
        return None, DistilledClassifier(_student(wanted, settings), random_state=wanted.seed).fit(X, y)
    teacher = default_teacher(len(X)).set_params(random_state=wanted.seed).fit(X, y)
    chosen = choose_distilled(X, y, teacher, settings=settings, **_how(wanted))
    return chosen, chosen.estimator


def _how(wanted: Wanted) -> dict[str, Any]:
    """How a size is looked for."""
    return {"prediction": wanted.prediction, "budget": wanted.budget, "seed": wanted.seed, "verbose": 1}


def _student(wanted: Wanted, settings: dict[str, Any]) -> MoETClassifier:
    """Of the size that was asked for."""
    size = wanted.size_or(4, 3)
    return MoETClassifier(*size, prediction=wanted.prediction, random_state=wanted.seed, verbose=1, **settings)


def directions(monotone: list[str], classes: list[Any]) -> dict[str, int]:
    """1 for columns more of which keeps the second class, -1 for the first."""
    found = {}
    for text in monotone:
        column, equals, answer = text.rpartition("=")
        places = [k for k, label in enumerate(classes) if str(label) == answer.strip()]
        if not equals or not places:
            raise InputError(
                f"--monotone takes a column and an answer, such as Duration={classes[-1]}, got {text!r}; "
                f"the answers are {', '.join(map(str, classes[:20]))}"
            )
        found[column.strip()] = 1 if places[0] == 1 else -1
    return found


def _finished(mixture: Mixture, X: pd.DataFrame, digits: int | None, seed: int) -> Mixture:
    """The model that is saved: pruned, and if it is hard, with short numbers where that costs nothing.

    Answers are kept on the rows, and on as many again as are enough that are made of them. The probabilities of a soft
    model are part of what it says, so its numbers stay unless digits are asked for.
    """
    if digits is not None and digits < EXACT:
        short = rounded(mixture, digits)
    elif digits is None and mixture.prediction == "hard":
        made = recombined(X, MADE_ROWS, np.random.default_rng(seed)).to_numpy()
        rows = np.concatenate([X.to_numpy()[evenly(len(X), MOST_ROWS)], made])
        short = simplify(mixture, rows)
    else:
        short = mixture.prune()
    return replace(short, provenance={"made_by": "moet fit"})


def _compared(student: Mixture, teacher: Mixture, rows: Rows) -> dict[str, Any]:
    """How the large mixture does, and how much like it the small one is."""
    X, test = rows.X.to_numpy(), rows.test
    answers = teacher.predict(X)
    alike = student.predict(X) == answers
    return {
        "test_accuracy": float(np.mean(answers[test] == rows.y[test])) if len(test) else None,
        "train_fidelity": float(alike[rows.train].mean()),
        "test_fidelity": float(alike[test].mean()) if len(test) else None,
        "size": teacher.size._asdict(),
    }


def _teacher_in_words(report: dict[str, Any]) -> str:
    text = f"{report['size']['leaves']} leaves, fidelity {report['train_fidelity']:.4f}"
    if report["test_accuracy"] is None:
        return text
    return f"{text}; test accuracy {report['test_accuracy']:.4f}, fidelity {report['test_fidelity']:.4f}"


def _log_likelihood(mixture: Mixture, X: NDArray[np.float64], y: NDArray[Any]) -> float:
    """Mean log P(y|x) of the saved model, minus infinity if it rules a label out."""
    column = {label: c for c, label in enumerate(mixture.classes.tolist())}
    probabilities = mixture.predict_proba(X)[np.arange(len(y)), [column[label] for label in y.tolist()]]
    with np.errstate(divide="ignore"):
        return float(np.log(probabilities).mean())
