"""``moet fit``: a table in, a model file out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moet.cli.output import AsJson, check_writable, say
from moet.cli.sizes import Budget, Depth, Digits, Experts, Hard
from moet.errors import InputError


def fit(
    data: Annotated[
        Path, typer.Argument(help="Table to learn from: comma-separated values with a header, Parquet or Arrow.")
    ],
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
    from moet import save
    from moet.cli.data import labels, open_table, target_numbers
    from moet.cli.fit_labels import directions, fitted_to_labels
    from moet.cli.fit_numbers import fitted_to_numbers, holds_numbers
    from moet.cli.fitted import Rows, Wanted, tell

    table = open_table(data, category or ())
    if len(table.columns) == 1:
        raise InputError(f"{data} has the single column {table.columns[0]!r}; are its values separated by commas?")
    wanted = Wanted((experts, depth), "soft" if hard is False else "hard", digits, budget, seed)
    if numbers or (numbers is None and target in table.columns and holds_numbers(table[target])):
        if numbers is None:
            say(f"{target!r} holds numbers, and is learned as such; --labels takes them for labels")
        if distill:
            raise InputError(
                "--distill is for labels, and this target is numbers: leave it out, or take them for --labels"
            )
        if balanced or ignore or monotone or gate_columns:
            raise InputError("--balanced, --ignore, --monotone and --gate-columns are for labels; add --labels")
        rows = Rows.of(table, target, target_numbers(table, target), tuple(category or ()), test_fraction, seed)
        fitted = fitted_to_numbers(rows, target, wanted)
    else:
        y = labels(table, target)
        rows = Rows.of(table, target, y, tuple(category or ()), test_fraction, seed)
        settings = {
            "class_weight": "balanced" if balanced else None,
            "ignore": ignore or None,
            "monotone": directions(monotone or [], sorted(set(y.tolist()))) or None,
            "gate_columns": gate_columns,
        }
        fitted = fitted_to_labels(rows, wanted, distill, settings)
    save(fitted.mixture, output)
    tell(fitted, rows, output, as_json)
