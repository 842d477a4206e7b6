import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from moet.cli.app import app

Run = Callable[..., Any]


@pytest.fixture
def run() -> Run:
    """Run the command in this process; the result has exit_code, stdout and stderr."""

    def run(*arguments: Any) -> Any:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return run


@pytest.fixture
def write_csv(tmp_path: Path) -> Callable[..., Path]:
    def write(name: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
        path = tmp_path / name
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([header, *rows])
        return path

    return write
