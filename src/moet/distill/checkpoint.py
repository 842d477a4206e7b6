"""A run that is kept: what was played and how its students did, so that it can go on after being stopped.

Students are not stored. They follow from the data, to the bit, and are fitted anew where they are needed: so a
checkpoint holds numbers only, and reading one executes nothing.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from moet.distill.dataset import Labelled
from moet.errors import CheckpointError
from moet.files import written_whole

_RUN = "run.json"
TUNING = "tuning.json"
_LOCK = "lock"


class Store(Protocol):
    """Where a run is kept: contents by name, each of which is there as a whole or not at all; `str` says where."""

    def locked(self) -> AbstractContextManager[None]:
        """Keep other processes out, and raise CheckpointError if one is in."""

    def read(self, name: str) -> bytes | None:
        """What was written, or None."""

    def write(self, name: str, content: bytes) -> None:
        """Keep it, in place of what was there."""


class Folder:
    """A store on disk, which is made if it does not exist."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __str__(self) -> str:
        return str(self.path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out while the run goes on."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = open(self.path / _LOCK, "w")  # noqa: SIM115 - held until the run ends
        except OSError as error:
            raise CheckpointError(f"cannot use {self} for checkpoints: {error.strerror}") from None
        with lock:
            _lock(lock, self.path)
            yield

    def read(self, name: str) -> bytes | None:
        """What was written, or None."""
        file = self.path / name
        return file.read_bytes() if file.exists() else None

    def write(self, name: str, content: bytes) -> None:
        """Write a file."""
        with written_whole(self.path / name) as unfinished:
            unfinished.write_bytes(content)


class Part:
    """A store of one's own within a store, for one of several runs."""

    def __init__(self, whole: Store, name: str) -> None:
        self.whole, self.name = whole, name

    def __str__(self) -> str:
        return f"{self.whole} ({self.name})"

    def locked(self) -> AbstractContextManager[None]:
        """Keep other processes out of the whole store."""
        return self.whole.locked()

    def read(self, name: str) -> bytes | None:
        """What was written, or None."""
        return self.whole.read(f"{self.name}-{name}")

    def write(self, name: str, content: bytes) -> None:
        """Keep it, in place of what was there."""
        self.whole.write(f"{self.name}-{name}", content)


class Checkpoint:
    """What belongs to one run.

    Parameters
    ----------
    store : Store
        Where it is kept.
    settings : mapping
        Everything that the run's results depend on, as JSON values.
    """

    def __init__(self, store: Store, settings: Mapping[str, Any]) -> None:
        self.store = store
        self.settings = dict(settings)

    def load(self) -> list[tuple[Labelled, dict[str, Any]]]:
        """Data and record of every finished iteration; an empty list for a run that has not begun."""
        try:
            run = self.store.read(_RUN)
            if run is None:
                return []
            document = json.loads(run)
            records, settings = document["records"], document["settings"]
            data = [self._read(k) for k in range(len(records))]
        except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
            raise CheckpointError(
                f"the checkpoint {self.store} is damaged ({error}); remove it to begin again"
            ) from None
        check_same(self.store, self.settings, settings)
        return list(zip(data, records, strict=True))

    def append(self, data: Labelled, records: list[dict[str, Any]]) -> None:
        """Add the last iteration's data; ``records`` are those of all iterations so far."""
        arrays = io.BytesIO()
        np.savez_compressed(arrays, **{name: getattr(data, name) for name in Labelled.__dataclass_fields__})
        document = json.dumps({"settings": self.settings, "records": records}, indent=1)
        try:
            self.store.write(_data_name(len(records) - 1), arrays.getvalue())
            self.store.write(_RUN, document.encode())
        except OSError as error:
            raise CheckpointError(
                f"cannot write the checkpoint {self.store}: {error.strerror}; {len(records) - 1} iterations are safe "
                "there: make room and run the same command again to go on from them"
            ) from None

    def _read(self, iteration: int) -> Labelled:
        name = _data_name(iteration)
        content = self.store.read(name)
        if content is None:
            raise ValueError(f"{name} is missing")
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return Labelled(**{name: arrays[name] for name in Labelled.__dataclass_fields__})


def check_same(store: Store, mine: Mapping[str, Any], saved: Mapping[str, Any]) -> None:
    """Complain about a place that belongs to a run with other settings."""
    for name in sorted(mine.keys() | saved.keys()):
        if mine.get(name) != saved.get(name):
            raise CheckpointError(
                f"{store} belongs to another run: its {name} is {saved.get(name)!r}, not {mine.get(name)!r}; "
                "use another folder, or remove this one to begin again"
            )


def _data_name(iteration: int) -> str:
    return f"data-{iteration:04d}.npz"


def remove_checkpoint(folder: Path) -> None:
    """Delete a finished run's files, and its folder if nothing else is in it."""
    for file in [*folder.glob("*data-*.npz"), *folder.glob(f"*{_RUN}"), folder / TUNING, folder / _LOCK]:
        file.unlink(missing_ok=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _lock(file: Any, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows has no advisory locks; there, two runs in one folder are the user's to avoid
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise CheckpointError(f"another process is at work on the run in {folder}") from None
