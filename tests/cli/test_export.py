"""``moet export``."""

import errno
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from moet import Mixture, Tree, export, load, save
from moet.cli.output import Exit
from moet.errors import ModelError
from moet.model.file import digest
from moet.verify import Certificate

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


@pytest.mark.parametrize("language", ["c", "python", "dot", "smt2"])
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
    result = run("export", model, "--to", "c", "--name", "pilot", "--style", "ifs", "--precision", "float32")
    assert result.stdout == export.c(MIXTURE, name="pilot", style="ifs", precision="float32")
    assert run("export", model, "--to", "c", "--self-test").stdout == export.c(MIXTURE, self_test=True)
    refused = run("export", model, "--to", "python", "--self-test")
    assert (refused.exit_code, refused.stderr) == (Exit.USAGE, "moet: error: --self-test is an option of --to c\n")


def test_onnx_is_a_file(run, model, soft_model, tmp_path):
    onnx = pytest.importorskip("onnx")
    output = tmp_path / "m.onnx"
    for path, mixture in ((model, MIXTURE), (soft_model, load(soft_model))):
        written = run("export", path, "--to", "onnx", "-o", output)
        assert (written.exit_code, written.stdout, written.stderr) == (Exit.OK, "", f"moet: wrote {output}\n")
        assert onnx.load(output) == export.onnx(mixture)


def test_onnx_without_its_package(run, model, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "moet.export.onnx_graph", raising=False)
    monkeypatch.setitem(sys.modules, "onnx", None)
    result = run("export", model, "--to", "onnx", "-o", tmp_path / "m.onnx")
    assert result.exit_code == Exit.USAGE
    assert result.stderr == "moet: error: ONNX needs the package onnx: pip install 'moet[onnx]'\n"
    assert list(tmp_path.iterdir()) == [model]


def test_verify_names_the_model_that_is_exported(run, model, tmp_path):
    """One digest: in the report, in the certificate, in the header."""
    header = run("export", model, "--to", "c").stdout
    named = re.search(r"^ \* model ([0-9a-f]{64})$", header, re.MULTILINE).group(1)
    proof = tmp_path / "proof.cert"
    question = ("verify", model, "--always", "right", "--where", "x0>=0, x1<=0", "--certificate", proof)
    told = run(*question)
    assert told.exit_code == Exit.OK
    assert re.search(r"^model +(\S+)$", told.stdout, re.MULTILINE).group(1) == named
    assert json.loads(run(*question, "--json").stdout)["digest"] == named
    assert Certificate.load(proof).claim["model"] == named
    assert json.loads(run("export", model, "--to", "c", "--json").stdout)["digest"] == named


def test_verify_names_the_model_of_a_system(run, tmp_path):
    policy = tmp_path / "policy.moet.json"
    save(Mixture(np.zeros((1, 4)), [0], [Tree.leaf([1, 0])], [0, 1]), policy)
    named = digest(policy)
    question = ("verify", policy, "--system", "cartpole_published", "--steps", "1", "--certificate", tmp_path / "proof")
    assert re.search(rf"^model +{named}$", run(*question).stdout, re.MULTILINE)
    assert json.loads(run(*question, "--json").stdout)["digest"] == named
    assert Certificate.load(tmp_path / "proof").claim["model"] == named


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
        (["--to", "smt2", "--precision", "float32"], "--precision is an option of --to c"),
        (["--to", "c", "-o", "/"], "is not a file"),
        (["--to", "c", "-o", "/proc/m.h"], "cannot write /proc/m.h"),
        (["--to", "onnx"], "name a file with -o"),
        (["--to", "onnx", "--json"], "name a file with -o"),
    ],
)
def test_errors_are_one_line(run, model, arguments, message):
    result = run("export", model, *arguments)
    assert (result.exit_code, result.stdout) == (Exit.USAGE, "")
    assert result.stderr.startswith("moet: error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("language", ["c", "python", "smt2"])
def test_soft_models_are_refused_and_nothing_is_written(run, soft_model, tmp_path, language):
    result = run("export", soft_model, "--to", language, "-o", tmp_path / "out")
    assert (result.exit_code, result.stdout) == (Exit.USAGE, "")
    assert 'prediction="hard"' in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == [soft_model]
    assert run("export", soft_model, "--to", "dot").exit_code == Exit.OK


def test_unknown_languages_and_missing_models(run, model):
    assert run("export", model, "--to", "cobol").exit_code == Exit.USAGE
    assert run("export", model.with_name("none"), "--to", "c").exit_code == Exit.USAGE


def test_a_model_without_experts_is_refused(run, model, tmp_path):
    with pytest.raises(ModelError, match="at least one expert"):
        Mixture(np.empty((0, 2)), [], [], ["left", "right"])
    document = json.loads(model.read_text())
    document["gate"] = {"weights": [], "bias": []}
    document["trees"] = []
    model.write_text(json.dumps(document))
    for language in ("c", "onnx", "python", "dot", "smt2"):
        result = run("export", model, "--to", language, "-o", tmp_path / "out")
        assert (result.exit_code, result.stdout) == (Exit.USAGE, "")
        assert result.stderr.startswith(f"moet: error: cannot load {model}: gate.weights must have rows")
        assert list(tmp_path.iterdir()) == [model]


def test_an_interrupted_export_leaves_the_old_file(run, model, tmp_path, monkeypatch):
    output = tmp_path / "m.h"
    output.write_text("old")

    def full(self, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    result = run("export", model, "--to", "c", "-o", output)
    assert result.stderr == f"moet: error: cannot write {output}: No space left on device\n"
    assert sorted(tmp_path.iterdir()) == sorted([model, output])
    assert output.read_text() == "old"
