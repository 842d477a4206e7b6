"""``moet worker``: takes part in the sweeps of a storage, from any machine."""

from __future__ import annotations

from typing import Annotated

import typer

from moet.cli.output import AsJson, print_json, say


def worker(
    storage: Annotated[
        str,
        typer.Option(
            envvar="MOET_STORAGE",
            help="Storage of the sweep: its folder, sqlite:///FILE or postgresql://USER@HOST/DATABASE.",
        ),
    ],
    study: Annotated[
        list[str] | None, typer.Option(help="Study to work on, may be given again; all by default.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Work on a sweep that `moet sweep` has begun, one trial at a time on one core.

    The study says all that a worker needs. Ctrl-C or SIGTERM gives the running trial back; one that is killed loses its
    trial to the others after a minute.
    """
    from moet.study.storage import storage_url
    from moet.study.worker import work

    try:
        finished = work(storage_url(storage), study or ())
    except KeyboardInterrupt:
        say("stopped; a trial that was running is left to others")
        raise
    if as_json:
        print_json({"finished": finished})
    else:
        typer.echo(f"nothing left to do; this worker finished {finished} trial(s)")
