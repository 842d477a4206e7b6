"""``moet shield``."""

import json
from pathlib import Path

import pytest

import moet
from moet.cli.output import Exit
from moet.verify import safe, systems
from tests.shield.conftest import cart, cart_policy


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shield")
    moet.save(cart_policy(), folder / "policy.moet.json")
    systems.save(cart(), folder / "cart.json")
    safe(cart_policy(), cart(), steps=None).certificate.save(folder / "proof.cert")
    return [str(folder / name) for name in ("proof.cert", "policy.moet.json", "cart.json")]


def test_a_shield_is_made_and_its_certificate_is_accepted(run, files, tmp_path):
    saved = str(tmp_path / "shield.cert")
    result = run("shield", *files, "-o", saved, "--ahead", "8")
    assert result.exit_code == Exit.OK, result.output
    assert "whichever actions are wanted" in result.stdout
    assert "8 steps" in result.stdout
    assert run("check", saved, *files[1:]).exit_code == Exit.OK


def test_json(run, files):
    document = json.loads(run("shield", *files, "--json").stdout)
    assert document["accepted"]
    assert document["steps"] >= 1


def test_a_proof_about_another_system_is_refused(run, files, tmp_path):
    result = run("shield", *files[:2], "cartpole_linear")
    assert result.exit_code == Exit.USAGE  # the model does not fit
    other = json.loads(Path(files[2]).read_text())
    other["initial"][0] = ["-1/5", "1/5"]
    changed = tmp_path / "other.json"
    changed.write_text(json.dumps(other))
    result = run("shield", *files[:2], str(changed))
    assert result.exit_code == Exit.NEGATIVE
    assert "refused" in result.stdout


def test_the_shield_is_written_as_c(run, files, tmp_path):
    header = tmp_path / "guard.h"
    assert run("shield", *files, "--c", str(header), "--name", "guard").exit_code == Exit.OK
    assert "int guard_act(" in header.read_text()


def test_a_policy_is_distilled_until_it_is_proved_and_its_certificate_holds(run, tmp_path, monkeypatch):
    """The law is proved at once; what is written is what `moet check` accepts."""
    teacher = tmp_path / "hand_made_law.py"
    monkeypatch.syspath_prepend(tmp_path)
    teacher.write_text(
        "import numpy as np\n"
        "def act(x):\n"
        "    return (np.asarray(x) @ np.array([3.27, 6.89, 100.0, 23.71]) > 0).astype(int)\n"
    )
    policy = tmp_path / "policy.moet.json"
    short = ["--iterations", "2", "--rollouts", "4", "--selection-episodes", "4", "--episodes", "4"]
    size = ["--experts", "2", "--depth", "0", "--prove", "cartpole", "--json"]
    result = run("distill", "CartPole-v1", "--agent", "hand_made_law:act", *size, *short, "-o", str(policy))
    assert result.exit_code == Exit.OK, result.output
    proof = json.loads(result.stdout)["proof"]
    assert proof["verdict"] == "proved"
    assert run("check", proof["certificate"], str(policy), "cartpole").exit_code == Exit.OK


def test_steps_without_prove_are_refused(run, tmp_path):
    result = run("distill", "cartpole", "--steps", "10", "-o", str(tmp_path / "policy.moet.json"))
    assert result.exit_code == Exit.USAGE
    assert "--prove" in result.output


def test_what_would_be_ignored_is_refused(run, files, tmp_path):
    saved = str(tmp_path / "shield.cert")
    assert run("shield", *files, "-o", saved).exit_code == Exit.OK
    for told, options in [("--c", ["--self-test"]), ("shield already", ["--ahead", "3"])]:
        result = run("shield", saved, *files[1:], *options)
        assert result.exit_code == Exit.USAGE
        assert told in result.output


def test_a_certificate_that_is_not_there_is_no_refused_proof(run, files):
    result = run("shield", "missing.cert", *files[1:])
    assert result.exit_code == Exit.USAGE
    assert "missing.cert" in result.output


@pytest.mark.parametrize(("front", "told"), [("nowhere/front.png", "no folder"), ("front.xyz", "written as")])
def test_a_picture_that_cannot_be_written_is_refused_before_the_work(run, tmp_path, monkeypatch, front, told):
    monkeypatch.chdir(tmp_path)
    result = run("distill", "CartPole-v1", "--prove", "cartpole", "--front", front, "-o", "policy.moet.json")
    assert result.exit_code == Exit.USAGE
    assert told in result.output
    assert not list(tmp_path.iterdir())
