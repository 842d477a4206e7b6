"""Where studies live: a SQLite file for one machine, PostgreSQL for many; and how processes share it."""

from __future__ import annotations

import logging
import os
import re
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar
from urllib.parse import urlsplit

from moet.errors import StudyError

if TYPE_CHECKING:
    from optuna.storages import RDBStorage

FILE_NAME = "study.db"

MOST_SECONDS_TO_CONNECT = 10

_REFUSED = re.compile("FATAL:.*(does not exist|authentication failed|no pg_hba.conf entry|permission denied)")
"""What PostgreSQL says of a wrong name or password, which waiting does not mend; psycopg has no code for it."""

log = logging.getLogger(__name__)

Result = TypeVar("Result")


@dataclass(frozen=True)
class Timing:
    """How patient processes are with each other and with the storage, in seconds.

    Attributes
    ----------
    heartbeat : int
        How often a worker says that it is alive.
    grace : int
        After how long a silence its trial is given to another.
    patience : int
        How long a storage that does not answer is tried again.
    """

    heartbeat: int = 5
    grace: int = 60
    patience: int = 60

    @classmethod
    def from_environment(cls) -> Timing:
        """What ``MOET_HEARTBEAT``, ``MOET_GRACE`` and ``MOET_PATIENCE`` say, so that all workers agree."""
        given = {name: os.environ.get(f"MOET_{name.upper()}") for name in cls.__dataclass_fields__}
        try:
            timing = cls(**{name: int(text) for name, text in given.items() if text is not None})
        except ValueError:
            timing = None
        if timing is None or timing.heartbeat < 1 or timing.grace < 1 or timing.patience < 0:
            raise StudyError(f"MOET_HEARTBEAT, MOET_GRACE and MOET_PATIENCE are whole seconds, got {given}")
        return timing


def storage_url(where: str | Path) -> str:
    """URL of the storage that a user names by a folder, a file or a URL."""
    text = str(where)
    scheme, separator, rest = text.partition("://")
    if not separator and "?" not in text:  # which would begin the options of a URL
        path = Path(text)
        return f"sqlite:///{path if path.suffix == '.db' else path / FILE_NAME}"
    if scheme == "sqlite" and rest.startswith("/") and rest.strip("/"):
        return text
    if scheme in ("postgresql", "postgres", "postgresql+psycopg") and _is_whole(text):
        return f"postgresql+psycopg://{rest}"
    raise StudyError(
        f"cannot keep a study in {text!r}; name a folder, sqlite:///FILE or postgresql://USER@HOST/DATABASE"
    )


def _is_whole(url: str) -> bool:
    """Whether its port, if it has one, is a number."""
    try:
        urlsplit(url).port  # noqa: B018 - it is read only to see whether it can be
    except ValueError:
        return False
    return True


def display(url: str) -> str:
    """The URL without its password."""
    from sqlalchemy.engine import make_url

    return make_url(url).render_as_string(hide_password=True)


def sqlite_path(url: str) -> Path | None:
    """The file behind a URL of SQLite."""
    return Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite:") else None


def open_storage(url: str, timing: Timing, *, create: bool = False) -> RDBStorage:
    """Connect to a storage; with ``create``, make what is missing of it. Otherwise nothing is written.

    Raises
    ------
    StudyError
        If Optuna is missing, there is nothing (unless ``create``), or the storage cannot be reached or read.
    """
    optuna = require_optuna()
    path = sqlite_path(url)
    if path is not None:
        if create:
            path.parent.mkdir(parents=True, exist_ok=True)
        elif not path.is_file():
            raise StudyError(f"there is no study in {path}; `moet sweep` begins one")
    import sqlalchemy

    options = engine_options(url, timing)

    def connect() -> RDBStorage:
        with exclusive(url, timing) if create else nullcontext(), warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # of heartbeats
            if path is not None and path.is_file():
                _check_whole(sqlalchemy.create_engine(url, **options), path)
            if not create and not sqlalchemy.inspect(sqlalchemy.create_engine(url, **options)).has_table("studies"):
                raise StudyError(f"{display(url)} holds no study; `moet sweep` begins one")
            storage = optuna.storages.RDBStorage(
                url,
                engine_kwargs=options,
                skip_table_creation=not create,
                heartbeat_interval=timing.heartbeat,
                grace_period=timing.grace,
            )
        if path is not None and create:
            with storage.engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA journal_mode=WAL")  # readers do not wait for writers
        return storage

    try:
        return persistently(connect, url, timing)
    except ImportError:
        raise StudyError(f"{display(url)} needs psycopg; install it with: pip install 'moet[sweep]'") from None
    except (RuntimeError, sqlalchemy.exc.DatabaseError) as error:  # tables of another Optuna, or no database at all
        raise StudyError(f"cannot use {display(url)} as a storage: {_first_line(error)}") from None


def _check_whole(engine: Any, path: Path) -> None:
    """Complain about a file of SQLite that was partly overwritten, before what is left of it is believed."""
    with engine.connect() as connection:
        found = str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar())
    if found != "ok":
        what = " ".join(found.split())
        raise StudyError(f"{path} is damaged ({what}); restore a copy of it, or try `sqlite3 {path} .recover`")


def engine_options(url: str, timing: Timing) -> dict[str, Any]:
    """How SQLAlchemy connects: once for each use, so that no connection is held open for hours, or found dead later.

    A server that takes a call and says nothing, and a host that vanished, must count as away some time, too.
    """
    from sqlalchemy.pool import NullPool

    if sqlite_path(url) is not None:
        return {"poolclass": NullPool, "connect_args": {"timeout": timing.patience}}
    keepalives = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 30_000}
    return {"poolclass": NullPool, "connect_args": {"connect_timeout": MOST_SECONDS_TO_CONNECT, **keepalives}}


def require_optuna() -> Any:
    """Optuna, quiet; it is needed by sweeps only."""
    try:
        import optuna
    except ImportError:
        raise StudyError("sweeps need Optuna; install it with: pip install 'moet[sweep]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


@contextmanager
def exclusive(url: str, timing: Timing, name: str = "") -> Iterator[None]:
    """Let one process at a time do what must not be done twice; a process that dies lets go.

    Optuna leaves SQLite's readers unlocked between looking at a trial and taking it, and makes tables without a lock.
    """
    path = sqlite_path(url)
    if path is not None:
        with _locked_file(path.with_name(path.name + ".lock")):
            yield
        return
    import sqlalchemy

    engine = sqlalchemy.create_engine(url, **engine_options(url, timing))
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("SET LOCAL lock_timeout = '60s'"))
        key = zlib.crc32(f"moet {name}".encode())
        connection.execute(sqlalchemy.text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})
        yield


def _locked_file(path: Path) -> TextIO:
    """A file that nobody else has opened in this way, until it is closed."""
    try:
        import fcntl
    except ImportError:
        raise StudyError("sweeps share SQLite files by POSIX locks, which this system lacks; use PostgreSQL") from None
    try:
        lock = open(path, "w")  # noqa: SIM115 - the caller closes it
    except OSError as error:
        raise StudyError(f"cannot write to {path}: {error.strerror}") from None
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def persistently(action: Callable[[], Result], url: str, timing: Timing) -> Result:
    """Do what needs the storage, and try again for a while if it does not answer.

    Actions may be repeated: each must leave the storage as it was when it fails, or find its own work done.
    """
    import optuna
    import sqlalchemy

    begin, pause = time.monotonic(), 0.5
    while True:
        try:
            return action()
        except (sqlalchemy.exc.SQLAlchemyError, optuna.exceptions.StorageInternalError) as error:
            reason = _lost_connection(error)
            if reason is None:
                raise
            if _REFUSED.search(str(reason)):
                raise StudyError(f"the storage {display(url)} refuses us: {_first_line(reason)}") from None
            left = timing.patience - (time.monotonic() - begin)
            problem = f"the storage {display(url)} does not answer ({_first_line(reason)})"
            if left <= 0:
                raise StudyError(
                    f"{problem}; gave up after {timing.patience} s. Finished trials are safe there: "
                    "give the same command again once it is back"
                ) from None
            log.warning("%s; trying again for %.0f s", problem, left)
            time.sleep(min(pause, left))
            pause = min(2 * pause, 10.0)


def _lost_connection(error: BaseException | None) -> BaseException | None:
    """The error, among those that led to this one, that says that the storage is away; None if there is none.

    A server that dies while it answers is an error of one kind, which undoing the transaction may hide behind another.
    """
    from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

    while error is not None:
        gone = isinstance(error, DBAPIError) and error.connection_invalidated
        if gone or isinstance(error, OperationalError | InterfaceError):
            return error
        error = error.__cause__ or error.__context__
    return None


def _first_line(error: BaseException) -> str:
    return str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
