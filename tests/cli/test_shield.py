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
