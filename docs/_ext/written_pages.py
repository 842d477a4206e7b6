"""Pages of the site that are written from the code: the reference of public names, and the command line."""

from __future__ import annotations

import shutil
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner

PARTS = {
    "moet": "The model: what is trained, saved, loaded and asked",
    "moet.distill": "From agents to policies",
    "moet.teachers": "Agents to learn from",
    "moet.envs": "Tasks",
    "moet.verify": "Questions with proofs",
    "moet.verify.systems": "What a policy acts on",
    "moet.verify.smtlib": "Questions for other solvers",
    "moet.shield": "A proved set guards any agent",
    "moet.explain": "Models as text and pictures",
    "moet.export": "Models in other languages",
    "moet.study": "Many runs compared",
    "moet.study.report": "What a study says",
}
"""The public packages in the order of the reference, with what they are about."""


def write_pages(folder: Path) -> None:
    """Write the pages into a folder of their own, anew: a name that is public no more leaves no page."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, text in {"reference.rst": reference(), "command-line.md": command_line()}.items():
        (folder / name).write_text(text, encoding="utf-8")


def reference() -> str:
    """Every public name: what ``__all__`` of the public packages holds."""
    title = "Public names\n============\n"
    told: set[int] = set()  # what is public in two places is described in the first
    return "\n".join([title, *(_names_of(part, about, told) for part, about in PARTS.items())])


def _names_of(part: str, about: str, told: set[int]) -> str:
    heading = f"``{part}``: {about}"
    package = import_module(part)
    new = [name for name in public_names(package) if id(getattr(package, name)) not in told]
    told.update(id(getattr(package, name)) for name in new)
    entries = "\n".join(f"   {name}" for name in new)
    above = f"{heading}\n{'-' * len(heading)}\n\n.. currentmodule:: {part}\n\n"
    return f"{above}.. autosummary::\n   :toctree: .\n\n{entries}\n"


def public_names(package: ModuleType) -> list[str]:
    """The names of a package that are no packages themselves, and no version."""
    return [
        name
        for name in package.__all__
        if not name.startswith("_") and not isinstance(getattr(package, name), ModuleType)
    ]


def command_line() -> str:
    """What ``--help`` says, of every command."""
    from moet.cli.app import app

    pages = [_help_of(path) for path in _commands(get_command(app), [])]
    return "# Command line\n\n" + "\n".join(pages)


def _commands(command: Any, path: list[str]) -> list[list[str]]:
    """The paths of a command and of all below it."""
    below = sorted(getattr(command, "commands", {}).items())
    return [path, *(found for name, inner in below for found in _commands(inner, [*path, name]))]


def _help_of(path: list[str]) -> str:
    from moet.cli.app import app

    text = CliRunner().invoke(app, [*path, "--help"], prog_name="moet", env={"COLUMNS": "100"}).stdout.strip()
    command = " ".join(["moet", *path])
    return f"## `{command}`\n\n```text\n$ {command} --help\n{text}\n```\n"
