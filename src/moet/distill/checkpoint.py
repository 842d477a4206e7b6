"""A run on disk: what was played and how its students did, so that it can go on after being stopped.

Students are not stored. They follow from the data, to the bit, and are fitted anew where they are needed: so a
checkpoint holds numbers only, and reading one executes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from moet.distill.dataset import Labelled
from moet.errors import CheckpointError
from moet.files import written_whole

_RUN = "run.json"
_LOCK = "lock"


class Checkpoint:
    """A folder that belongs to one run.

    Parameters
    ----------
    folder : path
        Made if it does not exist.
    settings : mapping
        Everything that the run's results depend on, as JSON values.
    """

    def __init__(self, folder: str | Path, settings: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.settings = dict(settings)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out while the run goes on."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = open(self.folder / _LOCK, "w")  # noqa: SIM115 - held until the run ends
        except OSError as error:
            raise CheckpointError(f"cannot use {self.folder} for checkpoints: {error.strerror}") from None
        with lock:
            _lock(lock, self.folder)
            yield

    def load(self) -> list[tuple[Labelled, dict[str, Any]]]:
        """Data and record of every finished iteration; an empty list for a run that has not begun."""
        run = self.folder / _RUN
        if not run.exists():
            return []
        try:
            document = json.loads(run.read_text(encoding="utf-8"))
            records, settings = document["records"], document["settings"]
            data = [self._read(k) for k in range(len(records))]
        except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
            raise CheckpointError(
                f"the checkpoint {self.folder} is damaged ({error}); remove the folder to begin again"
            ) from None
        for name in self.settings.keys() | settings.keys():
            mine, theirs = self.settings.get(name), settings.get(name)
            if mine != theirs:
                raise CheckpointError(
                    f"{self.folder} belongs to another run: its {name} is {theirs!r}, not {mine!r}; "
                    "use another folder, or remove this one to begin again"
                )
        return list(zip(data, records, strict=True))

    def append(self, data: Labelled, records: list[dict[str, Any]]) -> None:
        """Add the last iteration's data; ``records`` are those of all iterations so far."""
        document = json.dumps({"settings": self.settings, "records": records}, indent=1)
        try:
            with written_whole(self._data_file(len(records) - 1)) as unfinished, open(unfinished, "wb") as file:
                np.savez_compressed(file, **{name: getattr(data, name) for name in Labelled.__dataclass_fields__})
            with written_whole(self.folder / _RUN) as unfinished:
                unfinished.write_text(document, encoding="utf-8")
        except OSError as error:
            raise CheckpointError(
                f"cannot write the checkpoint {self.folder}: {error.strerror}; {len(records) - 1} iterations are safe "
                "there: make room and run the same command again to go on from them"
            ) from None

    def _data_file(self, iteration: int) -> Path:
        return self.folder / f"data-{iteration:04d}.npz"

    def _read(self, iteration: int) -> Labelled:
        with np.load(self._data_file(iteration), allow_pickle=False) as arrays:
            return Labelled(**{name: arrays[name] for name in Labelled.__dataclass_fields__})


def remove_checkpoint(folder: Path) -> None:
    """Delete a finished run's files, and its folder if nothing else is in it."""
    for file in [*folder.glob("data-*.npz"), folder / _RUN, folder / _LOCK]:
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
