import json

import pytest

from moet.cli.output import Exit

pytest.importorskip("optuna")

TINY = ("--preset", "quick", "--sampler", "tpe", "--trials", 1, "--workers", 1)


@pytest.mark.processes
def test_a_sweep_for_people_and_programs(run, tmp_path):
    result = run("sweep", "gridworld-3", *TINY, "-o", tmp_path / "run")
    assert result.exit_code == Exit.OK, result.stderr
    assert "gridworld-3" in result.stdout
    again = run("sweep", "gridworld-3", *TINY, "-o", tmp_path / "run", "--json")
    (outcome,) = json.loads(again.stdout)["outcomes"]
    assert outcome["task"] == "gridworld-3"
    assert outcome["after"]["episodes"] == 30
    assert (
        run("worker", "--storage", tmp_path / "run").stdout == "nothing left to do; this worker finished 0 trial(s)\n"
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("nosuchtask",), "nosuchtask"),
        (("cartpole", "--preset", "slow"), "'slow' is not one of 'quick', 'standard', 'paper'"),
        (("cartpole", "-o", "here", "--storage", "sqlite:///there.db"), "two places"),
        (("all", "--study", "mine"), "belong to one task"),
        (("cartpole", "--sampler", "nsga2"), "needs a number of trials"),
        (("cartpole", "--storage", "redis://host"), "cannot keep a study"),
    ],
)
def test_a_sweep_that_makes_no_sense(run, arguments, complaint):
    result = run("sweep", *arguments)
    assert result.exit_code == Exit.USAGE
    assert complaint in result.stderr
