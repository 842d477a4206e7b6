"""``moet fit``: a table in, a model file out."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moet.cli.output import AsJson, check_writable, print_json, print_report, say, size_in_words
from moet.cli.sizes import Budget, Depth, Digits, Experts, Hard, size_report
from moet.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from moet.model.mixture import Mixture, Prediction


MADE_ROWS = 5_000
"""Rows made of those of the table, on which a model keeps its answers when its numbers are rounded."""


def fit(
    data: Annotated[Path, typer.Argument(help="Table to learn from: comma-separated values with a header.")],
    target: Annotated[str, typer.Option(help="Column to predict; all others are features.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Model file to write, such as m.moet.json.")],
    experts: Experts = None,
    depth: Depth = None,
    hard: Hard = None,
    distill: Annotated[
        bool,
        typer.Option("--distill", help="Fit a large soft mixture first, and let this one learn what it answers."),
    ] = False,
    test_fraction: Annotated[
        float, typer.Option(min=0.0, max=0.9, help="Share of rows to keep out of training and to test on.")
    ] = 0.0,
    category: Annotated[
        list[str] | None, typer.Option(help="Column to take for categories, whatever it holds; may be repeated.")
    ] = None,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Count all classes alike, however rare: finds more of the rare ones.")
    ] = False,
    numbers: Annotated[
        bool | None,
        typer.Option(
            "--numbers/--labels",
            help="Whether the target holds numbers to come close to, or labels. By default what it looks like.",
            show_default=False,
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="Column that the model must not look at; may be repeated.")
    ] = None,
    monotone: Annotated[
        list[str] | None,
        typer.Option(
            help="Such as Duration=good: more of the column never takes that answer away; two classes, may be repeated."
        ),
    ] = None,
    gate_columns: Annotated[
        int | None, typer.Option(min=1, help="Most columns that the gate may look at, for one that people can read.")
    ] = None,
    digits: Digits = None,
    budget: Budget = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of everything random.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Fit a mixture of expert trees to a table.

    Without --experts and --depth the smallest mixture is found whose accuracy on held-out rows is within half a point
    (or one standard error) of the best. A hard one is pruned and rounded, so that `moet show` prints it exactly.

    A target of numbers (one with fractions, or with many different values) is learned by a mixture of affine laws, in
    the smallest size whose R² on held-out rows is within half a point, or one standard error, of the best.

    What --ignore and --monotone ask for is proved of the model by `moet verify --ignores` and `--monotone`.

    --distill is worth some points of accuracy where rows are few, labels noisy or the model small.

    Numeric columns are used as they are; a text column becomes one feature per value, named "column=value". An empty
    cell of a text column is a value, too, called (empty). The model keeps what the columns were, so that it can be
    asked in their words.
    """
    check_writable(output)
    if budget is not None and (experts is not None or depth is not None):
        raise InputError("--budget is for finding a size; leave out --experts and --depth")
    import numpy as np
    import pandas as pd
    from sklearn.base import clone

    from moet import MoETClassifier, Schema, save
    from moet.cli.data import labels, read_table
    from moet.cli.fit_numbers import fit_numbers, holds_numbers, refuse_distilling

    table = read_table(data, category or ())
    if table.shape[1] == 1:
        raise InputError(f"{data} has the single column {table.columns[0]!r}; are its values separated by commas?")
    if numbers or (numbers is None and target in table.columns and holds_numbers(table[target])):
        if numbers is None:
            say(f"{target!r} holds numbers, and is learned as such; --labels takes them for labels")
        if distill:
            refuse_distilling()
        if balanced or ignore or monotone or gate_columns:
            raise InputError("--balanced, --ignore, --monotone and --gate-columns are for labels; add --labels")
        fit_numbers(
            table,
            target,
            output,
            category=tuple(category or ()),
            size=(experts, depth),
            prediction="soft" if hard is False else "hard",
            test_fraction=test_fraction,
            digits=digits,
            budget=budget,
            seed=seed,
            as_json=as_json,
        )
        return
    y = labels(table, target)
    schema = Schema.of(table.drop(columns=target), category or ())
    X = pd.DataFrame(schema.encode(table), columns=list(schema.feature_names))
    order = np.random.default_rng(seed).permutation(len(y))
    n_test = int(test_fraction * len(y))
    test, train = np.sort(order[:n_test]), np.sort(order[n_test:])

    prediction: Prediction = "soft" if hard is False else "hard"
    settings: dict[str, Any] = {
        "class_weight": "balanced" if balanced else None,
        "ignore": ignore or None,
        "monotone": _directions(monotone or [], sorted(set(y.tolist()))) or None,
        "gate_columns": gate_columns,
    }
    choice = None
    if experts is None and depth is None:
        from moet.model.sizes import choose_size

        choice = choose_size(
            X.iloc[train], y[train], prediction=prediction, budget=budget, settings=settings, seed=seed, verbose=1
        )
    classifier = MoETClassifier(
        n_experts=4 if experts is None else experts,
        max_depth=3 if depth is None else depth,
        prediction=prediction,
        random_state=seed,
        verbose=1,
        **settings,
    )
    if choice is not None:
        classifier = clone(choice.classifier).set_params(verbose=1)
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
        classifier = classifier.fit(X.iloc[train], y[train]) if choice is None else choice.classifier
    mixture = replace(_finished(classifier.mixture_, X.iloc[train], digits, seed), schema=schema)
    save(mixture, output)

    correct = mixture.predict(X.to_numpy()) == y
    log_likelihood = _log_likelihood(mixture, X.to_numpy()[train], y[train]) if prediction == "soft" else math.nan
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
        "sizes": [] if choice is None else [one._asdict() for one in choice.front],
        "taken": None if choice is None else choice.taken,
        "tolerance": None if choice is None else choice.tolerance,
    }
    if as_json:
        print_json(result)
        return
    report = {"train accuracy": f"{result['train_accuracy']:.4f} ({len(train)} rows)"}
    if len(test):
        report["test accuracy"] = f"{result['test_accuracy']:.4f} ({len(test)} rows)"
    if teacher_report is not None:
        report["teacher"] = _teacher_in_words(teacher_report)
    if prediction == "soft":
        report["log-likelihood"] = f"{log_likelihood:.4f} per row"
    if choice is not None:
        report |= size_report(choice.front, choice.taken, choice.tolerance, "accuracy")
    report["size"] = size_in_words(mixture.size)
    report["saved to"] = str(output)
    print_report(report)


def _finished(mixture: Mixture, X: pd.DataFrame, digits: int | None, seed: int) -> Mixture:
    """The model that is saved: pruned, and if it is hard, with short numbers where that costs nothing.

    Answers are kept on the rows, and on as many again as are enough that are made of them. The probabilities of a soft
    model are part of what it says, so its numbers stay unless digits are asked for.
    """
    import numpy as np

    from moet.distill.distilled_classifier import recombined
    from moet.model.digits import EXACT, rounded, simplify

    if digits is not None and digits < EXACT:
        short = rounded(mixture, digits)
    elif digits is None and mixture.prediction == "hard":
        rows = np.concatenate([X.to_numpy(), recombined(X, MADE_ROWS, np.random.default_rng(seed)).to_numpy()])
        short = simplify(mixture, rows)
    else:
        short = mixture.prune()
    return replace(short, provenance={"made_by": "moet fit"})


def _directions(monotone: list[str], classes: list[Any]) -> dict[str, int]:
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
