"""``moet verify --system`` and ``moet check``."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from moet import Mixture, RegressionMixture, Tree, save
from moet.cli.app import app
from moet.cli.output import Exit
from moet.model.regression.tree import RegressionTree
from moet.verify import systems

RULE = np.array([2.1846, 7.2247, 20.647, 25.340])


@pytest.fixture
def models(tmp_path):
    leaves = [Tree.leaf([1, 0]), Tree.leaf([0, 1])]
    for name, sign in (("good", 1.0), ("bad", -1.0)):
        mixture = Mixture([0 * RULE, sign * RULE], [0.0, sign], leaves, classes=["left", "right"])
        save(mixture, tmp_path / f"{name}.moet.json")
    return tmp_path


def moet(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_proof_is_written_and_checked(models):
    result = moet(
        *("verify", models / "good.moet.json", "--system", "cartpole_published", "--steps", 5),
        *("--certificate", models / "proof.cert"),
    )
    assert result.exit_code == Exit.OK
    assert result.stdout.startswith("proved: cartpole_published stays safe for 5 steps")
    accepted = moet("check", models / "proof.cert", models / "good.moet.json", "cartpole_published")
    assert accepted.exit_code == Exit.OK
    assert accepted.stdout.startswith("accepted")
    claim = "safe at the times 0 to 5: angle >= -0.1 and angle <= 0.1"
    assert claim in accepted.stdout
    assert claim in result.stdout
    told = json.loads(
        moet("check", models / "proof.cert", models / "good.moet.json", "cartpole_published", "--json").stdout
    )
    assert claim in told["claim"]
    rejected = moet("check", models / "proof.cert", models / "bad.moet.json", "cartpole_published", "--json")
    assert rejected.exit_code == Exit.NEGATIVE
    assert "another model" in json.loads(rejected.stdout)["reason"]


def test_a_system_of_ones_own_is_a_file(models):
    system = models / "mine.json"
    systems.save(systems.cartpole_published(angle="0.09"), system)
    policy, proof = models / "good.moet.json", models / "proof.cert"
    assert moet("verify", policy, "--system", system, "--steps", 3, "--certificate", proof).exit_code == Exit.OK
    assert moet("check", proof, policy, system).exit_code == Exit.OK
    assert moet("check", proof, policy, "cartpole_published").exit_code == Exit.NEGATIVE
    missing = moet("verify", policy, "--system", models / "none.json", "--steps", 3)
    assert missing.exit_code == Exit.USAGE
    assert "no such file" in missing.stderr


def test_a_refutation_is_a_table_and_a_plot(models):
    result = moet(
        *("verify", models / "bad.moet.json", "--system", "cartpole_linear", "--steps", 20),
        *("--plot", models / "trace.png"),
    )
    assert result.exit_code == Exit.NEGATIVE
    assert result.stdout.startswith("refuted:")
    header = result.stdout.splitlines()[1].split()
    assert header == ["time", "position", "velocity", "angle", "angular_velocity", "action"]
    assert (models / "trace.png").stat().st_size > 0


def test_json_has_the_trace(models):
    result = moet("verify", models / "bad.moet.json", "--system", "cartpole_published", "--steps", 10, "--json")
    document = json.loads(result.stdout)
    assert document["verdict"] == "refuted"
    assert len(document["trace"]["states"]) == len(document["trace"]["actions"]) + 1


def test_reaching_a_goal(models):
    arguments = ("verify", models / "good.moet.json", "--system", "cartpole_published")
    result = moet(*arguments, "--within", 0, "--goal", "angle <= 0.05")
    assert result.exit_code == Exit.OK
    assert moet(*arguments, "--within", 2, "--goal", "angle <= -0.1").exit_code == Exit.NEGATIVE


def test_no_time_is_no_verdict(models):
    result = moet("verify", models / "good.moet.json", "--system", "cartpole_published", "--steps", 5, "--timeout", 0)
    assert result.exit_code == Exit.UNDECIDED
    assert result.stdout.startswith("unknown:")


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--system", "cartpole_published", "--always", "left"),
        ("--system", "nowhere", "--steps", 1),
        ("--system", "cartpole_published", "--steps", 1, "--where", "angle>=0"),
        ("--system", "cartpole_published", "--steps", 1, "--within", 1),
        ("--system", "cartpole_published", "--goal", "angle <= 0"),
        ("--system", "cartpole_published", "--steps", 1, "--certificate", "no/such/folder"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(models, options):
    result = moet("verify", models / "good.moet.json", *options)
    assert result.exit_code == Exit.USAGE
    assert "error:" in result.stderr


def test_always_is_the_other_question(models):
    result = moet(
        "verify",
        models / "good.moet.json",
        "--always",
        "right",
        "--where",
        "x2>=1, -1<=x0<=1, -1<=x1<=1, -0.1<=x3<=0.1",
    )
    assert result.exit_code == Exit.OK


def test_a_plant_with_controls_is_asked_about_in_the_same_way(tmp_path):
    leaf = RegressionTree.leaf([1.0], slope=[[-0.25]])
    save(RegressionMixture([[0.0]], [0.0], [leaf], ["inflow"]), tmp_path / "law.moet.json")
    tank = systems.SampledSystem(
        "tank",
        flow={"level": "inflow - level / 10"},
        controls={"inflow": (0, 1)},
        period="0.5",
        initial={"level": (1, 2)},
        safe=["level <= 3"],
    )
    systems.save(tank, tmp_path / "tank.json")
    files = [str(tmp_path / "law.moet.json"), str(tmp_path / "tank.json")]
    proof = str(tmp_path / "tank.cert")
    asked = CliRunner().invoke(app, ["verify", files[0], "--system", files[1], "--steps", "20", "--certificate", proof])
    assert asked.exit_code == 0
    assert "from time 0 to 10 has level <= 3" in asked.output
    assert CliRunner().invoke(app, ["check", proof, *files]).exit_code == 0
