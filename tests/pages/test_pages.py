"""Every block of Python and every command of the pages does what a reader would have it do.

One page is one session: a folder, the names of its Python, and its commands, in their order. Budgets are small, so what
is printed is not compared. What cannot be run says why in the page: ``<!-- not run: needs a network -->``. The pages of
results hold commands that took hours; those are known commands with known options, and no more is asked of them.
"""

from __future__ import annotations

import inspect
import re
import shutil
import warnings

import click
import pytest
import typer
from typer.testing import CliRunner

import moet.distill
from moet.cli.app import app
from moet.errors import MoetError
from moet.verify.loops import questions
from tests.pages.blocks import ROOT, blocks, commands, unknown_parts
from tests.pages.scenes import SCENES
from tests.processes import run

GUIDES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("[!r]*.md")), ROOT / "docs" / "reports.md"]
RECORDS = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("results*.md"))]
BUDGETS = {
    "distill": {"iterations": 3, "rollouts_per_iteration": 2, "selection_episodes": 2, "max_samples": 2000},
    "evaluate": {"episodes": 3},
    "tune": {"episodes": 40, "rollouts": 2, "selection_episodes": 2},
}
"""The most that pages may spend here, whatever they say."""


def named(path):
    return str(path.relative_to(ROOT))


def thrifty(function, most):
    """The same function with arguments that are no larger than ``most``."""

    def call(*arguments, **options):
        bound = inspect.signature(function).bind(*arguments, **options)
        bound.apply_defaults()
        for name, limit in most.items():
            bound.arguments[name] = min(limit, bound.arguments[name] or limit)
        if bound.arguments.get("student", 0) is None:
            bound.arguments["budget"] = 0.02
        return function(*bound.args, **bound.kwargs)

    return call


@pytest.fixture
def session(request, tmp_path, monkeypatch):
    """A folder in which little is spent."""
    monkeypatch.chdir(tmp_path)
    if "index" not in request.node.name:  # the first page is run as it stands
        for name, most in BUDGETS.items():
            monkeypatch.setattr(moet.distill, name, thrifty(getattr(moet.distill, name), most))
        monkeypatch.setattr(questions, "safe", thrifty(questions.safe, {"cpu_limit": 10.0}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # agents of no use, statistics that do not matter: what readers are told
        yield tmp_path


@pytest.mark.processes
@pytest.mark.parametrize("page", [page for page in GUIDES if blocks(page)], ids=named)
def test_the_blocks_of(page, session):
    try:
        carry_out(page, session)
    except MoetError as error:
        skip_without_extra(str(error))
        raise


def carry_out(page, session):
    names = {"__name__": "__main__"}
    for scene in SCENES.get(named(page), ()):
        names |= scene(session)
    for block in blocks(page):
        if block.why_not is None:
            where = f"{named(page)}, line {block.line}"
            print(where)
            if block.kind == "python":
                exec(compile("\n" * block.line + block.code, page, "exec"), names)
            for words in commands(block.code) if block.kind == "console" else ():
                carried_out(words, where)


def skip_without_extra(said):
    """CI runs the pages again with all extras."""
    if missing := re.search(r"pip install 'moet\[\w+\]'", said):
        pytest.skip(f"needs {missing[0]}")


def carried_out(words, where):
    """Run a command, and those that it is piped into; a negative or open answer is an answer.

    What takes minutes whatever the budget, proofs in a distillation and sweeps, is known and not run.
    """
    said = ""
    line = " ".join(words)
    while words:
        end = words.index("|") if "|" in words else len(words)
        part, words = words[:end], words[end + 1 :]
        if part[0] in ("python", "make") or {"--prove", "sweep", "worker"} & set(part):
            check_known(part)
        elif part[0] == "moet":
            result = CliRunner().invoke(app, part[1:])
            failed = result.exit_code not in (0, 1, 3) or (
                result.exception and not isinstance(result.exception, SystemExit)
            )
            if failed:
                skip_without_extra(result.output)
            assert not failed, f"{where}: {line}\n{result.output}\n{result.exception!r}"
            said = result.stdout
        elif shutil.which(part[0]):
            run(part, input=said, check=True)


@pytest.mark.parametrize("page", [page for page in RECORDS if blocks(page)], ids=named)
def test_the_commands_are_known_of(page):
    for block in blocks(page):
        for words in commands(block.code) if block.kind == "console" and block.why_not is None else ():
            check_known([word for word in words if not re.fullmatch(r"MOET_[A-Z]+=.*", word)])


def check_known(words):
    """A command of ours exists and has these options, whatever it would do."""
    if words[0] == "moet":
        check_parsed(words[1:])
    elif words[0] == "python":
        assert unknown_parts(words) == [], words
    elif words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M), words


def check_parsed(words):
    """Have the command line read these words without doing anything."""
    command = typer.main.get_command(app)
    while isinstance(command, click.Group) or hasattr(command, "commands"):
        name, *words = words
        command = command.commands[name]
    command.make_context("moet", words, resilient_parsing=False)
