"""``moet explore``: a page in which a model runs."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moet.cli.output import AsJson, check_writable, print_json, say, write_text
from moet.errors import MoetError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from moet.cli.pictures import Subject


def explore(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    data: Annotated[
        Path | None, typer.Option(help="Table of inputs to draw and to take ranges from; by default the task's play.")
    ] = None,
    compare: Annotated[Path | None, typer.Option(help="Model file of a second model to show beside the first.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Page to write, an .html; by default a temporary file.")
    ] = None,
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    as_json: AsJson = False,
) -> None:
    """Write a page in which a model runs, and open it: move its inputs and see what it answers, and why.

    The page is one file that loads nothing and sends nothing. Without --data, a policy for a task of the catalogue
    plays a few episodes to find out which states matter.
    """
    if output is not None:
        check_writable(output)
    from moet.cli.pictures import EPISODES, Subject
    from moet.explain import explorer
    from moet.model.file import as_model, digest

    mixture = as_model(model)
    subject = Subject(model, mixture, env=None, data=data, seed=0)
    page = explorer(
        mixture,
        compare=None if compare is None else as_model(compare),
        data=_rows(subject),
        units=subject.units,
        names=_names(model, compare),
        source=f"{EPISODES} episodes of its own play" if data is None else data.name,
    )
    if output is None:
        output = Path(tempfile.mkdtemp(prefix="moet-")) / f"{_stem(model)}.html"
    write_text(output, page)
    say(f"wrote {output}")
    if open_page and not webbrowser.open(output.resolve().as_uri()):
        say("no browser could be opened; open the page yourself")
    if as_json:
        print_json({"model": str(model), "digest": digest(mixture), "output": str(output), "bytes": len(page.encode())})


def _names(*paths: Path | None) -> list[str]:
    """Short names of model files, or the paths where those are the same."""
    given = [path for path in paths if path is not None]
    short = [_stem(path) for path in given]
    return short if len(set(short)) == len(given) else [str(path) for path in given]


def _stem(path: Path) -> str:
    return path.name.removesuffix(".json").removesuffix(".moet") or path.name


def _rows(subject: Subject) -> NDArray[np.float64] | None:
    """Inputs to draw: those of the table, or of the model's own play in a task of the catalogue."""
    if subject.data is not None:
        return subject.rows
    if subject.task is None or subject.task.feature_names != subject.mixture.feature_names:
        return None
    try:
        return subject.rows
    except MoetError as error:  # an environment that is not installed is no reason to show nothing
        say(f"cannot play {subject.task.name}, so the sliders span the model's thresholds: {error}")
        return None
