"""Storages to keep studies in: files, and a real PostgreSQL server."""

import os
import secrets
import shutil
import socket
import subprocess
import time
import uuid
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

POSTGRES_FOLDERS = Path("/usr/lib/postgresql")


class Server:
    """A private PostgreSQL server on loopback, as a user who is not root."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs, self._data = programs, folder / "data"
        self._as = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self._as:
            shutil.chown(folder, "postgres")
        self._port = free_port()
        self._run("initdb", "-D", self._data, "-U", "moet", "-A", "trust", "--no-sync")
        self.url = f"postgresql://moet@127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        options = f"-p {self._port} -k '' -c listen_addresses=127.0.0.1 -c fsync=off"
        self._run("pg_ctl", "-D", self._data, "-l", self._data / "log", "-w", "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop")

    def _run(self, program: str, *arguments: object) -> None:
        command = [*self._as, str(self._programs / program), *map(str, arguments)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")


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
    if os.geteuid() == 0 and shutil.which("runuser") is None:
        pytest.skip("PostgreSQL refuses to run as root, and there is no runuser")
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        server = Server(programs[-1], Path(folder))
        server.start()
        yield server
        server.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def storage(request, tmp_path):
    """A storage that nobody else uses: a folder, or a database on the server in MOET_POSTGRES or a private one."""
    if request.param == "sqlite":
        yield str(tmp_path / "study")
        return
    psycopg = pytest.importorskip("psycopg")
    url = os.environ.get("MOET_POSTGRES") or request.getfixturevalue("server").url
    name = f"moet_{uuid.uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield f"{url.rpartition('/')[0]}/{name}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def wait_until(condition, seconds=300):
    """Wait for other processes; the limit is for a test that hangs."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the other processes did nothing"
        time.sleep(0.05)


@pytest.fixture(name="wait_until")
def wait_until_fixture():
    return wait_until
