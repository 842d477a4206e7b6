"""``moet export``."""

import json

import pytest

from moet import Mixture, Tree, export, save
from moet.cli.output import Exit
from moet.model.file import digest

MIXTURE = Mixture([[0.0, 0.0], [1.0, -2.0]], [0, 1], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["left", "right"])


@pytest.fixture
def model(tmp_path):
    save(MIXTURE, tmp_path / "m.moet.json")
    return tmp_path / "m.moet.json"


@pytest.fixture
def soft_model(tmp_path):
    parts = (MIXTURE.gate_weights, MIXTURE.gate_bias, MIXTURE.trees, MIXTURE.classes)
    save(Mixture(*parts, prediction="soft"), tmp_path / "soft.moet.json")
    return tmp_path / "soft.moet.json"


@pytest.mark.parametrize("language", ["c", "python", "dot"])
def test_prints_or_writes_the_same_text(run, model, tmp_path, language):
    text = getattr(export, language)(MIXTURE)
    printed = run("export", model, "--to", language)
    assert (printed.exit_code, printed.stdout, printed.stderr) == (Exit.OK, text, "")
    assert run("export", model, "--to", language, "-o", "-").stdout == text
    output = tmp_path / "out"
    written = run("export", model, "--to", language, "-o", output)
    assert (written.exit_code, written.stdout, written.stderr) == (Exit.OK, "", f"moet: wrote {output}\n")
    assert output.read_text(encoding="utf-8") == text


def test_options_of_c(run, model):
    result = run("export", model, "--to", "c", "--name", "pilot", "--style", "ifs")
    assert result.stdout == export.c(MIXTURE, name="pilot", style="ifs")


def test_as_json(run, model, tmp_path):
    report = json.loads(run("export", model, "--to", "c", "--json").stdout)
    assert report["digest"] == digest(MIXTURE)
    assert report["text"] == export.c(MIXTURE)
    output = tmp_path / "m.h"
    report = json.loads(run("export", model, "--to", "c", "--json", "-o", output).stdout)
    assert (report["output"], report["to"]) == (str(output), "c")
    assert report["size"] == MIXTURE.size._asdict()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", "c", "--name", "a b"], "name must be"),
        (["--to", "dot", "--name", "a"], "--name is an option of --to c"),
        (["--to", "python", "--style", "ifs"], "--style is an option of --to c"),
        (["--to", "c", "-o", "nowhere/m.h"], "there is no folder nowhere"),
        (["--to", "c", "-o", "/"], "is not a file"),
    ],
)
def test_errors_are_one_line(run, model, arguments, message):
    result = run("export", model, *arguments)
    assert (result.exit_code, result.stdout) == (Exit.USAGE, "")
    assert result.stderr.startswith("moet: error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("language", ["c", "python"])
def test_soft_models_are_refused_and_nothing_is_written(run, soft_model, tmp_path, language):
    result = run("export", soft_model, "--to", language, "-o", tmp_path / "out")
    assert (result.exit_code, result.stdout) == (Exit.USAGE, "")
    assert "--hard" in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == [soft_model]
    assert run("export", soft_model, "--to", "dot").exit_code == Exit.OK


def test_unknown_languages_and_missing_models(run, model):
    assert run("export", model, "--to", "cobol").exit_code == Exit.USAGE
    assert run("export", model.with_name("none"), "--to", "c").exit_code == Exit.USAGE
