"""Files that are whole or not there at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a place to write to, which becomes ``path`` once it is complete.

    Whatever goes wrong before, ``path`` stays as it was: a crash, an interruption or a full disk never leaves half a
    file. A link stays a link.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise ValueError("it exists and is not a file")  # renaming onto a device would destroy it
    unfinished = target.with_name(f".moet-{secrets.token_hex(8)}.tmp")
    try:
        yield unfinished
        with open(unfinished, "rb") as file:
            os.fsync(file.fileno())
        unfinished.replace(target)
    finally:
        with contextlib.suppress(OSError):  # gone already if all went well
            unfinished.unlink()
