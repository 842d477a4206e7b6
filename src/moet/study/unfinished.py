"""Iterations of trials that are not finished, kept in the storage for whoever goes on with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from moet.study.storage import Timing, exclusive, persistently

if TYPE_CHECKING:
    from optuna.storages import RDBStorage


class Unfinished:
    """A store of one trial's iterations, see :class:`moet.distill.checkpoint.Store`.

    Parameters
    ----------
    storage : RDBStorage
        Where the study is.
    timing : Timing
        Patience with it.
    study : str
        Name of the study.
    slot : int
        Which of its trials.
    """

    def __init__(self, storage: RDBStorage, timing: Timing, study: str, slot: int) -> None:
        self._storage, self._timing, self._study, self._slot = storage, timing, study, slot

    def __str__(self) -> str:
        return f"of trial {self._slot} of {self._study}"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep nobody out: a trial is claimed by one worker, and one that was taken for dead writes the same."""
        yield

    def read(self, name: str) -> bytes | None:
        """What was written, or None."""

        def read() -> bytes | None:
            with self._storage.engine.connect() as connection:
                content = connection.execute(table.select().with_only_columns(table.c.content).where(*mine)).scalar()
                return None if content is None else bytes(content)

        table, mine = _table(), self._rows(name)
        return persistently(read, str(self._storage.url), self._timing)

    def write(self, name: str, content: bytes) -> None:
        """Keep it, in place of what was there."""

        def write() -> None:
            with self._storage.engine.begin() as connection:
                connection.execute(table.delete().where(*mine))
                connection.execute(table.insert().values(row))

        table, mine = _table(), self._rows(name)
        row = {"study": self._study, "slot": self._slot, "name": name, "content": content}
        persistently(write, str(self._storage.url), self._timing)

    def _rows(self, name: str) -> list[Any]:
        columns = _table().c
        return [columns.study == self._study, columns.slot == self._slot, columns.name == name]


def forget(storage: RDBStorage, timing: Timing, study: str, slot: int | None = None) -> None:
    """Remove what a trial left, or all trials of a study."""

    def remove() -> None:
        with storage.engine.begin() as connection:
            connection.execute(table.delete().where(*rows))

    table = _table()
    rows = [table.c.study == study] if slot is None else [table.c.study == study, table.c.slot == slot]
    persistently(remove, str(storage.url), timing)


def make_table(storage: RDBStorage, timing: Timing) -> None:
    """Make the table, if there is none."""
    url = str(storage.url)

    def make() -> None:
        with exclusive(url, timing):
            _table().create(storage.engine, checkfirst=True)

    persistently(make, url, timing)


@cache
def _table() -> Any:
    from sqlalchemy import Column, Integer, LargeBinary, MetaData, String, Table

    return Table(
        "moet_unfinished",
        MetaData(),
        Column("study", String(512), primary_key=True),
        Column("slot", Integer, primary_key=True),
        Column("name", String(64), primary_key=True),
        Column("content", LargeBinary, nullable=False),
    )
