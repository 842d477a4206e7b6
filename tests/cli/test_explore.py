"""``moet explore``."""

import json
import webbrowser

import pytest

from moet import Mixture, Tree, save
from moet.cli.output import Exit
from moet.model.file import digest

LEAVES = [Tree.leaf([1, 0]), Tree.leaf([0, 1])]
MIXTURE = Mixture([[0.0, 0.0], [1.0, -2.0]], [0, 1], LEAVES, ["left", "right"], ["angle", "speed"])


@pytest.fixture(autouse=True)
def opened(monkeypatch):
    """Addresses that a browser was asked to open."""
    addresses = []
    monkeypatch.setattr(webbrowser, "open", lambda address: addresses.append(address) or True)
    return addresses


@pytest.fixture
def model(tmp_path):
    save(MIXTURE, tmp_path / "m.moet.json")
    return tmp_path / "m.moet.json"


def test_writes_the_page_and_opens_it(run, model, tmp_path, opened):
    page = tmp_path / "a page.html"
    result = run("explore", model, "-o", page)
    assert (result.exit_code, result.stdout, result.stderr) == (Exit.OK, "", f"moet: wrote {page}\n")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert opened == [page.as_uri()]


def test_without_output_the_page_is_a_temporary_file(run, model, tmp_path, monkeypatch, opened):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    report = json.loads(run("explore", model, "--no-open", "--json").stdout)
    (page,) = tmp_path.glob("moet-*/m.html")
    assert (report["output"], report["bytes"]) == (str(page), page.stat().st_size)
    assert report["digest"] == digest(MIXTURE)
    assert opened == []


def test_says_when_there_is_no_browser(run, model, tmp_path, monkeypatch):
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    result = run("explore", model, "-o", tmp_path / "p.html")
    assert result.exit_code == Exit.OK
    assert "open the page yourself" in result.stderr


def test_data_and_a_second_model(run, model, tmp_path, write_csv):
    data = write_csv("d.csv", ["speed", "name", "angle"], [[1, "a", 2], [3, "b", 5]])
    other = tmp_path / "other.moet.json"
    save(Mixture(MIXTURE.gate_weights, [0, 2], LEAVES, MIXTURE.classes, MIXTURE.feature_names), other)
    page = tmp_path / "p.html"
    result = run("explore", model, "--data", data, "--compare", other, "-o", page, "--no-open")
    assert result.exit_code == Exit.OK
    text = page.read_text(encoding="utf-8")
    assert '"values":[[2.0,1.0],[5.0,3.0]]' in text  # in the order of the model's features
    assert '"name":"other"' in text
    assert "from d.csv" in text


def test_a_policy_of_the_catalogue_plays_and_has_units(run, tmp_path):
    names = ["position", "velocity", "angle", "angular_velocity"]
    weights = [[0, 0, 0, 0], [2.185, 7.225, 20.65, 25.34]]
    policy = Mixture(weights, [0, 1], LEAVES, ["left", "right"], names, provenance={"task": "cartpole"})
    save(policy, tmp_path / "policy.moet.json")
    run("explore", tmp_path / "policy.moet.json", "-o", tmp_path / "p.html", "--no-open")
    text = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "from 10 episodes of its own play" in text
    assert '"unit":"rad/s"' in text


@pytest.mark.parametrize("task", ["os:system-v0", "CartPole-v1", ["cartpole"], "cartpole"])
def test_the_task_a_file_names_is_not_looked_up_unless_it_is_ours_and_fits(run, tmp_path, monkeypatch, task):
    monkeypatch.setattr("gymnasium.make", None)
    save(
        Mixture(MIXTURE.gate_weights, [0, 1], LEAVES, ["left", "right"], provenance={"task": task}), tmp_path / "m.json"
    )
    result = run("explore", tmp_path / "m.json", "-o", tmp_path / "p.html", "--no-open")
    assert result.exit_code == Exit.OK
    assert '"rows":null' in (tmp_path / "p.html").read_text(encoding="utf-8")


def test_errors_are_one_line_and_leave_nothing_behind(run, model, tmp_path, write_csv, opened):
    foreign = tmp_path / "foreign.moet.json"
    save(Mixture(MIXTURE.gate_weights, [0, 1], LEAVES, ["left", "right"]), foreign)
    lacking = write_csv("lacking.csv", ["angle"], [[1]])
    holes = write_csv("holes.csv", ["angle", "speed"], [[1, ""], [2, 3]])
    page = tmp_path / "p.html"
    before = set(tmp_path.iterdir())
    for arguments, message in [
        ([tmp_path / "none", "-o", page], "cannot load"),
        ([lacking, "-o", page], "cannot load"),
        ([model, "--compare", foreign, "-o", page], "same features"),
        ([model, "--compare", lacking, "-o", page], "cannot load"),
        ([model, "--data", lacking, "-o", page], "lacks 'speed'"),
        ([model, "--data", holes, "-o", page], "values are missing"),
        ([model, "--data", tmp_path / "none.csv", "-o", page], "no file"),
        ([model, "-o", tmp_path / "nowhere" / "p.html"], "there is no folder"),
        ([model, "-o", tmp_path], "is not a file"),
    ]:
        result = run("explore", *arguments)
        assert (result.exit_code, result.stdout) == (Exit.USAGE, ""), arguments
        assert result.stderr.startswith("moet: error: ")
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
    assert set(tmp_path.iterdir()) == before
    assert opened == []
