"""The command ``moet`` and what all its subcommands share: version, errors and exit codes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Annotated, Any, TextIO

import typer

from moet import __version__
from moet.cli import (
    audit,
    bench,
    bundle,
    check,
    closest,
    compare,
    demo,
    distill,
    evaluate,
    explore,
    export,
    fit,
    plot,
    predict,
    recourse,
    report,
    shield,
    show,
    sweep,
    tasks,
    teach,
    tune,
    verify,
    warm,
    watch,
    why,
    why_unknown,
    worker,
)
from moet.cli.interrupts import heard
from moet.cli.listing import Listing
from moet.cli.output import Exit, say
from moet.errors import MoetError, MoetWarning


class _Group(Listing):
    """Turns errors and warnings that are meant for the user into one line on stderr, and errors into an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", MoetWarning)
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except BrokenPipeError:  # `moet ... | head` is no error of the user's; typer ends quietly
            raise
        except (MoetError, OSError) as error:
            say(f"error: {error}")
            raise typer.Exit(Exit.USAGE) from None
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(Exit.INTERRUPTED) from None


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Tell the user what a warning says; where in our code it arose is for developers."""
    if issubclass(category, MoetWarning):
        say(f"warning: {message}")
    else:
        typer.echo(warnings.formatwarning(message, category, filename, lineno, line), err=True, nl=False)


app = typer.Typer(cls=_Group, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"moet {__version__}")
        raise typer.Exit


@app.callback()
def _moet(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Mixtures of expert trees: small models that people can read and solvers can prove.

    Results go to stdout, everything else to stderr. Exit codes: 0 ok, 1 negative answer, 2 usage error, 3 undecided.
    """


COMMANDS: dict[str, tuple[Callable[..., None], ...]] = {
    "Make": (fit.fit, distill.distill, tune.tune, evaluate.evaluate, teach.teach, tasks.tasks, demo.demo, warm.warm),
    "Prove": (
        verify.verify,
        check.check,
        shield.shield,
        why_unknown.why_unknown,
        compare.compare,
        closest.closest,
        recourse.recourse,
        audit.audit,
    ),
    "Look": (show.show, why.why, plot.plot, explore.explore, watch.watch),
    "Ship": (predict.predict, export.export, bundle.bundle),
    "Study": (sweep.sweep, worker.worker, report.report),
}
"""What ``moet --help`` lists, by what one wants to do."""

for _panel, _commands in COMMANDS.items():
    for _command in _commands:
        app.command(rich_help_panel=_panel)(_command)
app.add_typer(bench.bench, name="bench", rich_help_panel="Study")


def main() -> None:
    """Run the command line."""
    with heard():
        app(prog_name="moet")
