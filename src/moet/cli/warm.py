"""``moet warm``: what the first use would wait for, done now."""

from __future__ import annotations

import os
import time
from typing import Annotated

import typer

from moet.cli.output import AsJson, print_json, say


def warm(
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes to compile in.", show_default="as many as there are cores")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compile all kernels now, several at a time, instead of on first use.

    They are kept on disk, so this is done once for an installation, when an image is built for example.
    """
    from moet.precompile import warm as compiled

    begin = time.perf_counter()
    for name in compiled(workers or os.cpu_count() or 1):
        say(f"compiled: {name} ({time.perf_counter() - begin:.0f} s)")
    if as_json:
        print_json({"seconds": time.perf_counter() - begin})
