"""What tests rely on: whatever they start ends, and nothing waits for ever."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import run, started, stopped, wait_until
from tests.stress import files_of_tests

pytestmark = pytest.mark.processes

FOLDER = Path(__file__).parent
STARTS = re.compile(
    r"\b(subprocess\.(run|call|check_call|check_output|Popen)|os\.(system|popen|posix_spawn|spawn\w*))\("
)

HAZARDS = re.compile(
    r"\bworkers=[2-9]|--workers|\bn_jobs=[2-9]|\bos\.kill\(|\bsocket\.|raise_signal|\burlopen\(|serve_forever"
)
"""What tests do, beside starting programs, that ends in processes, signals or sockets."""


def alive(number: int) -> bool:
    """Whether a process runs; one that nobody has asked for its code is dead."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_tests_start_processes_in_one_place_only():
    starting = {path.name for path in FOLDER.rglob("*.py") if STARTS.search(path.read_text(encoding="utf-8"))}
    assert starting == {"processes.py", "stress.py", Path(__file__).name}


def test_every_test_that_may_hang_has_the_mark_that_stress_repeats():
    unmarked = [f"{path.relative_to(FOLDER)}: {name}" for path in FOLDER.rglob("test_*.py") for name in _unmarked(path)]
    assert not unmarked


def _unmarked(path: Path) -> list[str]:
    """Tests of a file that start processes, or ask a helper or a fixture that does, without the mark."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if any(isinstance(line, ast.Assign) and "mark.processes" in ast.unparse(line) for line in tree.body):
        return []
    hazards = _imported_hazards(tree) | {"browser", "server"}
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    while more := {name for name, node in functions.items() if name not in hazards and _is_hazard(node, hazards)}:
        hazards |= more
    tests = (functions[name] for name in sorted(hazards & functions.keys()) if name.startswith("test_"))
    return [test.name for test in tests if not any("mark.processes" in ast.unparse(d) for d in test.decorator_list)]


def _imported_hazards(tree: ast.Module) -> set[str]:
    """What of tests.processes and tests.browser a file uses."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    ours = (node for node in imports if node.module in ("tests.processes", "tests.browser"))
    return {alias.asname or alias.name for node in ours for alias in node.names} - {"wait_until", "LIMIT"}


def _is_hazard(function: ast.FunctionDef, hazards: set[str]) -> bool:
    named = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    asked = {argument.arg for argument in function.args.args}
    return bool((named | asked) & hazards or HAZARDS.search(ast.unparse(function)))


def test_stress_repeats_a_file_and_goes_on_from_its_record(tmp_path):
    record = tmp_path / "record.json"
    everything_else = dict.fromkeys(files_of_tests(), 2)
    record.write_text(json.dumps(everything_else | {"tests/test_processes.py": 1}))
    command = [sys.executable, FOLDER / "stress.py", "2", "--record", record, "-k", "a_failure_shows", "-p", "no:xdist"]
    done = run(command, check=True)
    assert "tests/test_processes.py: 1 of 2" in done.stdout
    assert "1 passed" in done.stdout
    assert "all passed 2 times" in done.stdout
    assert json.loads(record.read_text()) == everything_else


def test_a_process_that_hangs_is_killed():
    with pytest.raises(subprocess.TimeoutExpired):
        run([sys.executable, "-c", "import time; time.sleep(3600)"], limit=0.1)


def test_a_failure_shows_what_was_said():
    with pytest.raises(AssertionError, match="sorry"):
        run([sys.executable, "-c", "import sys; sys.exit('sorry')"], check=True)


@pytest.mark.skipif(not Path("/proc").exists(), reason="there is no /proc")
def test_children_in_other_sessions_do_not_outlive_it(tmp_path):
    child = [sys.executable, "-c", "import time; time.sleep(3600)"]
    code = f"import subprocess, time; print(subprocess.Popen({child}, start_new_session=True).pid, flush=True)"
    with started([sys.executable, "-c", f"{code}; time.sleep(3600)"]) as process:
        number = int(process.stdout.readline())
        assert alive(number)
    wait_until(lambda: not alive(number))


def test_a_signal_is_sent_until_it_is_heard(monkeypatch):
    monkeypatch.setattr("tests.processes.AGAIN", 0.1)
    code = (
        "import signal, sys, time\n"
        "came = []\n"
        "signal.signal(signal.SIGINT, lambda *_: came.append(1))\n"
        "print('ready', flush=True)\n"
        "while len(came) < 3: time.sleep(0.01)\n"
    )
    with started([sys.executable, "-c", code]) as process:
        assert process.stdout.readline() == "ready\n"
        stopped(process)
    assert process.returncode == os.EX_OK
