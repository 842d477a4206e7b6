"""Storages to keep studies in: files, and a real PostgreSQL server."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import uuid
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.processes import LIMIT, run, started, wait_until

POSTGRES_FOLDERS = Path("/usr/lib/postgresql")


class Server:
    """A private PostgreSQL server on loopback, as a user who is not root."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs, self._data = programs, folder / "data"
        self._options: dict[str, Any] = {"cwd": "/"}
        if os.geteuid() == 0:
            self._options |= {"user": "postgres", "group": "postgres", "extra_groups": []}
            shutil.chown(folder, "postgres")
        self._port = free_port()
        run(
            [programs / "initdb", "-D", self._data, "-U", "moet", "-A", "trust", "--no-sync"],
            **self._options,
            check=True,
        )
        self.url = f"postgresql://moet@127.0.0.1:{self._port}/postgres"
        self._running = ExitStack()

    def start(self) -> None:
        where = ["-D", self._data, "-p", self._port, "-k", "", "-c", "listen_addresses=127.0.0.1"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}  # a pipe that nobody reads may be full
        command = [self._programs / "postgres", *where, "-c", "fsync=off"]
        self._process = self._running.enter_context(started(command, **self._options, **quiet))
        wait_until(self._answers)

    def stop(self) -> None:
        """At once, as if it had crashed."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(LIMIT)
        self._running.close()

    def kill(self) -> None:
        self._running.close()

    def _answers(self) -> bool:
        assert self._process.poll() is None, "PostgreSQL ended"
        return run([self._programs / "pg_isready", "-h", "127.0.0.1", "-p", self._port]).returncode == 0


def free_port() -> int:
    """A port that nobody listens on, and that no client is given by chance while the server is stopped."""
    while True:
        port = secrets.choice(range(10_000, 30_000))
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@pytest.fixture(scope="session")
def server():
    programs = sorted(POSTGRES_FOLDERS.glob("*/bin"))
    if not programs:
        pytest.skip(f"no PostgreSQL server in {POSTGRES_FOLDERS}")
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        server = Server(programs[-1], Path(folder))
        try:
            server.start()
            yield server
        finally:
            server.kill()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.processes)])
def storage(request, tmp_path):
    """A storage that nobody else uses: a folder, or a database on the server in MOET_POSTGRES or a private one."""
    if request.param == "sqlite":
        yield str(tmp_path / "study")
        return
    psycopg = pytest.importorskip("psycopg")
    url = os.environ.get("MOET_POSTGRES") or request.getfixturevalue("server").url
    name = f"moet_{uuid.uuid4().hex}"
    limits = {"connect_timeout": 60, "options": f"-c statement_timeout={LIMIT:.0f}s"}
    with psycopg.connect(url, autocommit=True, **limits) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield f"{url.rpartition('/')[0]}/{name}"
    with psycopg.connect(url, autocommit=True, **limits) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
