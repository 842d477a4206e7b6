"""``moet plot``: pictures of a model."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from moet.cli.choices import Env
from moet.cli.output import AsJson, check_writable, print_json, say
from moet.errors import InputError


class Kind(StrEnum):
    """What can be drawn."""

    REGIONS = "regions"
    EXPERTS = "experts"
    TREES = "trees"
    GATE = "gate"
    ROLLOUT = "rollout"
    PROOF = "proof"


_OPTIONS = {
    Kind.REGIONS: {"features", "at", "where", "data", "env", "seed", "teacher"},
    Kind.EXPERTS: {"features", "at", "where", "data", "env", "seed"},
    Kind.TREES: {"at", "depth", "expert"},
    Kind.GATE: {"data", "env", "seed"},
    Kind.ROLLOUT: {"features", "env", "seed"},
    Kind.PROOF: {"features", "certificate", "system", "seed"},
}


def plot(
    models: Annotated[list[Path], typer.Argument(help="Model file; up to three, side by side, for regions.")],
    kind: Annotated[Kind, typer.Option(help="What to draw.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Picture to write, a .png or .svg.")],
    features: Annotated[str | None, typer.Option(help="Features to show, separated by commas; two for a map.")] = None,
    at: Annotated[
        str | None,
        typer.Option(help="An input, as numbers or by name: what a map holds, or whose path is marked in the trees."),
    ] = None,
    where: Annotated[str | None, typer.Option(help='Range of a map, such as "-1<=angle<=1, 0<=speed<=9".')] = None,
    data: Annotated[Path | None, typer.Option(help="Table (CSV) that says which values features take.")] = None,
    env: Env = None,
    teacher: Annotated[bool, typer.Option("--teacher", help="Put the task's bundled teacher beside.")] = False,
    expert: Annotated[list[int] | None, typer.Option(min=0, help="Draw this tree only; may be repeated.")] = None,
    depth: Annotated[int | None, typer.Option(min=0, help="Draw trees to this depth (default: 3).")] = None,
    seed: Annotated[int | None, typer.Option(min=0, max=2**32 - 1, help="Seed of the episodes played.")] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="For proof: the certificate, as moet verify writes it.")
    ] = None,
    system: Annotated[
        str | None, typer.Option(help="For proof: the system, a name or a file of its JSON document.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw a model.

    regions: its answers (numbers as colours) over two features. experts: who answers where. trees: each expert. gate:
    its weights; with --data or --env scaled by the spread of the features. rollout: an episode over time. proof: the
    sets of a --certificate about a --system, with simulated runs and limits; --features a:b draws b over a.

    A map shows the values that occur in --data, or else in play, unless --where gives them; what it holds is their
    median, unless --at gives it.
    """
    given = {"features": features, "at": at, "where": where, "data": data, "env": env, "teacher": teacher or None}
    given |= {"certificate": certificate, "system": system}
    for name, value in {**given, "expert": expert or None, "depth": depth, "seed": seed}.items():
        if value is not None and name not in _OPTIONS[kind]:
            raise InputError(f"--{name} does not go with --kind {kind}")
    if len(models) > (3 if kind == Kind.REGIONS else 1):
        raise InputError(f"--kind {kind} draws {'up to three models' if kind == Kind.REGIONS else 'one model'}")
    from moet.cli import pictures
    from moet.explain.style import check_format, save_figure
    from moet.model.file import as_model
    from moet.model.words import names_in

    check_format(output)
    check_writable(output)
    subjects = [pictures.Subject(path, as_model(path), env, data, seed or 0) for path in models]
    first = subjects[0]
    wanted = None if features is None else names_in(features, first.mixture.feature_names)
    match kind:
        case Kind.REGIONS:
            figure = pictures.regions(subjects, wanted, at, where, teacher)
        case Kind.EXPERTS:
            figure = pictures.experts(first, wanted, at, where)
        case Kind.TREES:
            figure = pictures.trees(first, expert, at, depth)
        case Kind.GATE:
            figure = pictures.gate(first)
        case Kind.ROLLOUT:
            figure = pictures.rollout(first, wanted)
        case Kind.PROOF:
            figure = pictures.proof(first, certificate, system, wanted)
    save_figure(figure, output)
    say(f"wrote {output}")
    if as_json:
        print_json({"picture": str(output), "kind": kind.value, "models": [str(path) for path in models]})
