import json

from moet import RegressionMixture, RegressionTree, load, save
from moet.cli.output import Exit

CAR = "MountainCarContinuous-v0"


def weak_car() -> RegressionMixture:
    law = RegressionTree.leaf([0.0], slope=[[0.0, 3.0]])
    return RegressionMixture([[0.0, 0.0]], [0.0], [law], ["force"], [-1], [1], ["position", "velocity"])


def test_the_command_tunes_tells_and_cleans_up(run, tmp_path):
    path, out = tmp_path / "weak.moet.json", tmp_path / "better.moet.json"
    save(weak_car(), path)
    arguments = ("tune", path, "--env", CAR, "-o", out, "--episodes", 300, "--selection-episodes", 10)
    result = run(*arguments, "--report-episodes", 10, "--json")
    assert result.exit_code == Exit.OK, result.stderr
    document = json.loads(result.stdout)
    assert document["tuned"]["kept"]["reward"] >= document["tuned"]["start"]["reward"]
    assert {"before", "evaluation"} <= document.keys()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["better.moet.json", "weak.moet.json"]
    assert load(out).provenance["tuned"]["task"] == CAR
    assert run("tune", path, "-o", out).exit_code == Exit.USAGE  # it does not say what it plays
