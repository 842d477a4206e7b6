"""``moet fit``: a table in, a model file out."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moet.cli.output import AsJson, check_writable, print_json, print_report, say, size_in_words
from moet.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from moet.model.mixture import Mixture


def fit(
    data: Annotated[Path, typer.Argument(help="Table to learn from: comma-separated values with a header.")],
    target: Annotated[str, typer.Option(help="Column to predict; all others are features.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Model file to write, such as m.moet.json.")],
    experts: Annotated[int, typer.Option(min=1, help="Number of experts.")] = 4,
    depth: Annotated[int, typer.Option(min=0, help="Largest depth of their trees; 0 is a single leaf.")] = 3,
    hard: Annotated[bool, typer.Option("--hard", help="Let the most probable expert answer alone.")] = False,
    distill: Annotated[
        bool,
        typer.Option("--distill", help="Fit a large soft mixture first, and let this one learn what it answers."),
    ] = False,
    test_fraction: Annotated[
        float, typer.Option(min=0.0, max=0.9, help="Share of rows to keep out of training and to test on.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of everything random.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Fit a mixture of expert trees to a table.

    --distill is worth some points of accuracy where rows are few, labels noisy or the model small.

    Numeric columns are used as they are; a text column becomes one column per value, named "column=value". An empty
    cell of a text column is a value, too.
    """
    check_writable(output)
    import numpy as np

    from moet import MoETClassifier, save
    from moet.cli.data import encode, labels, read_table

    table = read_table(data)
    if table.shape[1] == 1:
        raise InputError(f"{data} has the single column {table.columns[0]!r}; are its values separated by commas?")
    y = labels(table, target)
    X = encode(table.drop(columns=target))
    order = np.random.default_rng(seed).permutation(len(y))
    n_test = int(test_fraction * len(y))
    test, train = np.sort(order[:n_test]), np.sort(order[n_test:])

    classifier = MoETClassifier(
        n_experts=experts, max_depth=depth, prediction="hard" if hard else "soft", random_state=seed, verbose=1
    )
    teacher_report = None
    if distill:
        from moet.distill import DistilledClassifier

        say("fitting the large mixture first")
        distilled = DistilledClassifier(classifier, random_state=seed).fit(X.iloc[train], y[train])
        classifier, teacher = distilled.student_, distilled.teacher_.mixture_
        answers = teacher.predict(X.to_numpy())
        alike = classifier.mixture_.predict(X.to_numpy()) == answers
        teacher_report = {
            "test_accuracy": float(np.mean(answers[test] == y[test])) if len(test) else None,
            "train_fidelity": float(alike[train].mean()),
            "test_fidelity": float(alike[test].mean()) if len(test) else None,
            "size": teacher.size._asdict(),
        }
    else:
        classifier.fit(X.iloc[train], y[train])
    mixture = classifier.mixture_
    save(mixture, output)

    correct = mixture.predict(X.to_numpy()) == y
    log_likelihood = _log_likelihood(mixture, X.to_numpy()[train], y[train])
    result = {
        "model": str(output),
        "prediction": mixture.prediction,
        "rows": len(train),
        "features": mixture.n_features,
        "classes": mixture.classes.tolist(),
        "train_accuracy": float(correct[train].mean()),
        "test_rows": len(test),
        "test_accuracy": float(correct[test].mean()) if len(test) else None,
        "log_likelihood": log_likelihood if math.isfinite(log_likelihood) else None,
        "iterations": int(classifier.n_iter_),
        "size": mixture.size._asdict(),
        "teacher": teacher_report,
    }
    if as_json:
        print_json(result)
        return
    report = {"train accuracy": f"{result['train_accuracy']:.4f} ({len(train)} rows)"}
    if len(test):
        report["test accuracy"] = f"{result['test_accuracy']:.4f} ({len(test)} rows)"
    if teacher_report is not None:
        report["teacher"] = _teacher_in_words(teacher_report)
    report["log-likelihood"] = f"{log_likelihood:.4f} per row"
    report["size"] = size_in_words(mixture.size)
    report["saved to"] = str(output)
    print_report(report)


def _teacher_in_words(report: dict[str, Any]) -> str:
    text = f"{report['size']['leaves']} leaves, fidelity {report['train_fidelity']:.4f}"
    if report["test_accuracy"] is None:
        return text
    return f"{text}; test accuracy {report['test_accuracy']:.4f}, fidelity {report['test_fidelity']:.4f}"


def _log_likelihood(mixture: Mixture, X: NDArray[np.float64], y: NDArray[Any]) -> float:
    """Mean log P(y|x) of the saved model, minus infinity if it rules a label out."""
    import numpy as np

    column = {label: c for c, label in enumerate(mixture.classes.tolist())}
    probabilities = mixture.predict_proba(X)[np.arange(len(y)), [column[label] for label in y.tolist()]]
    with np.errstate(divide="ignore"):
        return float(np.log(probabilities).mean())
