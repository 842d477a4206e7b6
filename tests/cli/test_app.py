"""What holds for every command."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest
from typer.main import get_command

import moet
from moet.__main__ import main
from moet.cli.app import app
from moet.cli.output import Exit, write_text
from tests.processes import LIMIT, started, stopped, wait_until
from tests.processes import run as run_process

GROUP = get_command(app)
COMMANDS = sorted(
    f"{name} {inner}" if inner else name
    for name, command in GROUP.commands.items()
    for inner in getattr(command, "commands", [""])
)


def moet_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run_process([sys.executable, "-m", "moet", *arguments])


def test_commands():
    assert COMMANDS == [
        "audit",
        "bench archcomp",
        "bench gridworld",
        "bench supervised",
        "bundle",
        "check",
        "closest",
        "compare",
        "demo",
        "distill",
        "evaluate",
        "explore",
        "export",
        "fit",
        "plot",
        "predict",
        "recourse",
        "report",
        "shield",
        "show",
        "sweep",
        "tasks",
        "teach",
        "tune",
        "verify",
        "warm",
        "watch",
        "why",
        "why-unknown",
        "worker",
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_option_has_help(run, command):
    result = run(*command.split(), "--help")
    assert result.exit_code == Exit.OK
    found = GROUP
    for name in command.split():
        found = found.commands[name]
    assert found.help
    for parameter in found.params:
        assert parameter.help, parameter.name
    assert "--json" in result.stdout


@pytest.mark.parametrize("group", ["", "bench"])
def test_what_commands_are_for_is_told_to_the_end(run, group):
    listed = run(*group.split(), "--help").stdout
    assert "archcomp" in listed if group else "recourse" in listed
    assert "..." not in listed.split("Options:")[1]


@pytest.mark.processes
def test_help_and_version_in_a_process():
    result = moet_process("--help")
    assert (result.returncode, result.stderr) == (0, "")
    assert all(command in result.stdout for command in GROUP.commands)
    assert moet_process("--version").stdout == f"moet {moet.__version__}\n"


@pytest.mark.processes
def test_help_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from moet.cli.app import main\n"
        "sys.argv = ['moet', '--help']\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'numba', 'pandas', 'sklearn', 'scipy', 'rich'} & set(sys.modules)))\n"
    )
    output = run_process([sys.executable, "-c", code], check=True).stdout
    assert output.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "arguments", ["--wrong", "nonsense", "fit", "show m.json --wrong", "fit a.csv --target y -o m.json --experts 0"]
)
def test_wrong_usage_is_exit_code_2(run, arguments):
    result = run(*arguments.split())
    assert (result.exit_code, result.stdout) == (Exit.USAGE, "")
    assert result.stderr


@pytest.mark.processes
def test_an_error_is_one_line_without_a_traceback():
    result = moet_process("show", "missing.moet.json")
    assert (result.returncode, result.stdout) == (Exit.USAGE, "")
    assert result.stderr.startswith("moet: error: cannot load missing.moet.json: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("moment", ["importing", "running"])
def test_an_interrupt_before_there_is_a_command_is_short(moment, monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    half_imported = ModuleType("moet.cli.app")
    setattr(half_imported, "__getattr__" if moment == "importing" else "main", interrupt)
    monkeypatch.setitem(sys.modules, "moet.cli.app", half_imported)
    with pytest.raises(SystemExit) as end:
        main()
    assert (end.value.code, capsys.readouterr().err) == (130, "moet: interrupted\n")


@pytest.mark.processes
@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", "data", "--target", "y", "-o", "m.moet.json"),
        ("show", "data"),
        ("verify", "data", "--system", "cartpole"),
        ("distill", "cartpole", "--arrays", "data", "-o", "m.moet.json"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_an_interrupt_is_short_and_leaves_no_file(tmp_path, arguments):
    fifo = tmp_path / "data"
    os.mkfifo(fifo)  # reading it blocks, so the command is certain to be at work when interrupted
    command = [sys.executable, "-m", "moet", *arguments]
    with started(command, cwd=tmp_path) as process:
        writer = open_once_read(fifo, process)
        stdout, stderr = stopped(process)
        os.close(writer)
    assert (process.returncode, stdout, stderr) == (Exit.INTERRUPTED, "", "moet: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def open_once_read(fifo: Path, process: subprocess.Popen[str]) -> int:
    """Open a fifo for writing as soon as the process reads it."""
    opened: list[int] = []

    def is_read() -> bool:
        assert process.poll() is None, process.communicate(timeout=LIMIT)
        with suppress(OSError):  # nobody reads yet
            opened.append(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        return bool(opened)

    wait_until(is_read)
    return opened[0]


def test_files_are_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out.csv"
    write_text(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "new \ud800")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
