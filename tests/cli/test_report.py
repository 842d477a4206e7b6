import json
from pathlib import Path

import pytest

pytest.importorskip("optuna")

from moet.cli.output import Exit
from moet.study import Plan, Sweep

from .conftest import Run

PLAN = Plan(
    tree_depths=(1, 3), mixtures=((2, 0),), iterations=1, rollouts=2, selection_episodes=1, episodes=5, verify_seconds=1
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished sweep and one that has only begun."""
    folder = tmp_path_factory.mktemp("runs")
    Sweep("gridworld-4", plan=PLAN, storage=folder / "done").run()
    Sweep("gridworld-5", plan=PLAN, storage=folder / "begun").begin()
    return folder


def test_everything_is_written(run: Run, runs: Path, tmp_path: Path) -> None:
    places = [tmp_path / name for name in ("report.html", "tables", "tables.md", "tables.tex")]
    page, tables, markdown, latex = places
    result = run("report", runs, "-o", page, "--csv", tables, "--markdown", markdown, "--latex", latex)
    assert result.exit_code == Exit.OK
    assert "\ngridworld-4\n  On fresh episodes the global front holds " in result.stdout
    left_out, *wrote = result.stderr.splitlines()
    assert left_out.startswith("moet: left out: ")
    assert "begun" in left_out
    assert sorted(wrote) == sorted(f"moet: wrote {path}" for path in places)
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "**gridworld-4: global Pareto front before re-evaluation**" in markdown.read_text(encoding="utf-8")
    assert r"\caption{gridworld-4: global Pareto front before re-evaluation}" in latex.read_text(encoding="utf-8")
    assert (tables / "outcomes.csv").read_text(encoding="utf-8").count("\n") == 5
    assert {"overview.csv", "gridworld-4-saturation.csv"} <= {path.name for path in tables.iterdir()}


def test_as_json(run: Run, runs: Path) -> None:
    result = run("report", runs / "done", runs / "done", "--json")
    assert result.exit_code == Exit.OK
    (task,) = json.loads(result.stdout)["tasks"]
    assert len(task["models"]) == 4
    assert {model["configuration"] for model in task["models"]} == {"D1", "D3", "E2-D0"}
    assert set(task["fronts"]["after"]) <= set(task["fronts"]["chosen"])
    assert task["saturation"]["depths"] == [1, 3]


@pytest.mark.parametrize("source", ["begun", "missing", "empty"])
def test_nothing_to_report(run: Run, runs: Path, tmp_path: Path, source: str) -> None:
    (tmp_path / "empty").mkdir()
    page = tmp_path / "report.html"
    result = run("report", tmp_path / source if source == "empty" else runs / source, "-o", page)
    assert (result.exit_code, result.stdout) == (Exit.USAGE, "")
    assert result.stderr.startswith("moet: error: ")
    assert result.stderr.count("\n") == 1
    assert source in result.stderr
    assert not page.exists()


@pytest.mark.parametrize("option", ["--output", "--csv", "--markdown", "--latex"])
def test_unwritable_places_are_refused_before_anything_is_written(
    run: Run, runs: Path, tmp_path: Path, option: str
) -> None:
    result = run("report", runs, "--output", tmp_path / "report.html", option, tmp_path / "missing" / "place")
    assert (result.exit_code, result.stdout) == (Exit.USAGE, "")
    assert "missing" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_bench_archcomp_proves_and_checks_again_from_files(run: Run, tmp_path: Path) -> None:
    names = ["tora_reach", "single_pendulum"]
    result = run("bench", "archcomp", *names, "--runs", 64, "--check", "--keep", tmp_path / "kept", "--json")
    assert result.exit_code == Exit.OK, result.output
    rows = json.loads(result.stdout)["rows"]
    assert [row["name"] for row in rows] == names
    assert all(row["verdict"] == "proved" and row["controller"] > 0 for row in rows)
    assert (tmp_path / "kept" / "tora_reach.cert").exists()
    assert "| TORA, reach |" in run("bench", "archcomp", "tora_reach", "--runs", 64).stdout
    assert run("bench", "archcomp", "tora").exit_code == Exit.USAGE


def test_bench_gridworld(run: Run) -> None:
    result = run("bench", "gridworld", "--size", 3, "--seeds", 1, "--json")
    assert result.exit_code == Exit.OK
    (row,) = json.loads(result.stdout)["rows"]
    assert (row["N"], row["MoËT: right"], row["MoËT: nodes"]) == (3, "1 of 1", 3)
