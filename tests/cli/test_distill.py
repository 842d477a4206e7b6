import json
import os
import sys

import numpy as np
import pytest

from moet import Mixture, RegressionMixture, RegressionTree, Tree, load, save
from moet.cli.output import Exit
from moet.cli.sizes import size_report
from moet.model.sizes import Tried
from moet.teachers import Teacher
from tests.processes import INTERRUPTED, started, stopped, wait_until
from tests.processes import run as run_process

QUICK = ("--iterations", 2, "--rollouts", 3, "--episodes", 5)
SMALL = ("--experts", 2, "--depth", 0, "--hard")


@pytest.fixture
def policy(run, tmp_path):
    path = tmp_path / "policy.moet.json"
    result = run("distill", "cartpole", *SMALL, *QUICK, "-o", path)
    assert result.exit_code == Exit.OK, result.stderr
    assert "fidelity" in result.stdout
    return path


def test_distill_writes_a_policy_and_cleans_up(policy, tmp_path):
    assert load(policy).provenance["task"] == "cartpole"
    assert [path.name for path in tmp_path.iterdir()] == [policy.name]


def test_distill_for_programs(run, tmp_path):
    result = run("distill", "gridworld-5", "--tree", 4, *QUICK, "-o", tmp_path / "tree.moet.json", "--json")
    document = json.loads(result.stdout)
    assert document["task"] == "gridworld-5"
    assert document["evaluation"]["size"]["experts"] == 1
    assert [entry["iteration"] for entry in document["history"]] == [0, 1]


def test_distill_into_boosted_experts(run, tmp_path):
    boosted = ("--boosted", "--experts", 3, "--depth", 2, "--selection-episodes", 4)
    result = run("distill", "cartpole", *boosted, *QUICK, "-o", tmp_path / "votes.moet.json")
    assert result.exit_code == Exit.OK, result.stderr
    mixture = load(tmp_path / "votes.moet.json")
    assert "training='boosting'" in mixture.provenance["student"]
    assert mixture.provenance["selection_episodes"] == 4


def test_distill_any_environment_with_ones_own_teacher(run, tmp_path):
    network = {
        "hidden_1/kernel": np.eye(4, 8),
        "hidden_1/bias": np.zeros(8),
        "output/kernel": np.ones((8, 2)),
        "output/bias": np.zeros(2),
    }
    np.savez(tmp_path / "agent.npz", **network)
    arguments = ("CartPole-v1", "--arrays", tmp_path / "agent.npz", *SMALL, *QUICK)
    result = run("distill", *arguments, "-o", tmp_path / "policy.moet.json")
    assert result.exit_code == Exit.OK, result.stderr
    provenance = load(tmp_path / "policy.moet.json").provenance
    assert provenance["task"] == "CartPole-v1"
    assert provenance["teacher"] == Teacher.from_arrays(tmp_path / "agent.npz").digest
    # the bundled teacher is another one, so its fidelity would mislead
    result = run("evaluate", tmp_path / "policy.moet.json", "--episodes", 2)
    assert result.exit_code == Exit.OK
    assert "fidelity" not in result.stdout


def test_evaluate(run, policy):
    result = run("evaluate", policy, "--episodes", 5)
    assert result.exit_code == Exit.OK, result.stderr
    assert "5 episodes" in result.stdout
    assert "fidelity" in result.stdout
    evaluation = json.loads(run("evaluate", policy, "--episodes", 5, "--json").stdout)["evaluation"]
    assert evaluation["episodes"] == 5
    assert 0 <= evaluation["fidelity"] <= 1
    longer = json.loads(run("evaluate", policy, "--episodes", 2, "--env", "cartpole-500", "--json").stdout)
    assert longer["evaluation"]["mean_length"] > 200


def test_watch_prints_every_step(run, policy):
    result = run("watch", policy)
    assert result.exit_code == Exit.OK, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["step", "position", "velocity", "angle", "angular_velocity", "expert", "action"]
    steps = json.loads(run("watch", policy, "--json").stdout)["steps"]
    assert len(steps) == len(lines) - 2
    assert steps[0]["action"] in ("left", "right")


def test_watch_prints_what_was_flattened_as_one_thing(run, tmp_path):
    trees = [Tree.leaf([1, 0, 0, 0]), Tree.leaf([0, 0, 1, 0])]
    gate = np.zeros((2, 16))
    gate[1, :8] = 1.0
    lake = Mixture(gate, [0, -0.5], trees, [0, 1, 2, 3], provenance={"task": "FrozenLake-v1"})
    save(lake, tmp_path / "lake.moet.json")
    lines = run("watch", tmp_path / "lake.moet.json").stdout.splitlines()
    assert lines[0].split() == ["step", "x", "expert", "action"]
    assert lines[1].split() == ["0", "0", "1", "2"]


def test_watch_prints_the_numbers_of_a_continuous_action(run, tmp_path):
    law = RegressionTree.leaf([0.5], [[1.0, 0.0, -1.0]])
    laws = RegressionMixture(np.zeros((1, 3)), [0], [law], ["torque"], [-2], [2], provenance={"task": "Pendulum-v1"})
    save(laws, tmp_path / "law.moet.json")
    lines = run("watch", tmp_path / "law.moet.json").stdout.splitlines()
    assert lines[0].split()[-2:] == ["expert", "torque"]
    assert len(lines) == 202
    step = json.loads(run("watch", tmp_path / "law.moet.json", "--json").stdout)["steps"][0]
    cosine, _, speed = step["features"].values()
    assert step["action"] == {"torque": np.clip(0.5 + cosine - speed, -2, 2)}


def test_watch_writes_a_film(run, policy, tmp_path):
    pytest.importorskip("pygame")
    from PIL import Image

    result = run("watch", policy, "-o", tmp_path / "film.gif", "--json")
    assert result.exit_code == Exit.OK, result.stderr
    with Image.open(tmp_path / "film.gif") as film:
        assert film.n_frames > 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name a task, see `moet tasks`"),
        (("cartpol",), "did you mean"),
        (("Nothing-v9",), "Nothing"),
        (("cartpole", "--trust"), "name it with --sb3"),
        (("cartpole", "--sb3", "a.zip", "--arrays", "b.npz"), "name 2 teachers"),
        (("cartpole", "--arrays", "missing.npz"), "missing.npz"),
        (("cartpole", "--tree", "3", "--hard"), "--hard is about experts"),
        (("cartpole", "--tree", "3", "--boosted"), "--boosted is about experts"),
        (("cartpole", "--tree", "3", "--experts", "2"), "--experts is about experts"),
        (("cartpole", "--tree", "3", "--depth", "2"), "--depth is about experts"),
        (("cartpole", "--hard", "--boosted"), "vote together"),
        (("cartpole", "--selection", "luck"), "is not one of 'reward'"),
    ],
)
def test_what_distill_refuses(run, tmp_path, arguments, message):
    result = run("distill", *arguments, *QUICK, "-o", tmp_path / "policy.moet.json")
    assert result.exit_code == Exit.USAGE
    assert message.lower() in result.stderr.lower()
    assert list(tmp_path.iterdir()) == []


def test_what_watch_and_evaluate_refuse(run, policy, tmp_path):
    assert ".gif" in run("watch", policy, "-o", tmp_path / "film.avi").stderr
    assert "features" in run("evaluate", policy, "--env", "mountaincar").stderr
    assert run("evaluate", tmp_path / "missing.moet.json").exit_code == Exit.USAGE


@pytest.mark.processes
def test_an_interrupted_run_goes_on(policy, tmp_path):
    arguments = ["distill", "cartpole", *SMALL, "--iterations", 20, "--rollouts", 2, "--episodes", 2]
    command = [sys.executable, "-m", "moet", *map(str, arguments), "-o"]
    folder = tmp_path / "stopped.moet.json.run"
    said = ""
    while "same command" not in said:  # again if it was done, or all but done, before we looked
        (tmp_path / "stopped.moet.json").unlink(missing_ok=True)
        with started([*command, tmp_path / "stopped.moet.json"]) as process:
            wait_until(lambda: list(folder.glob("data-0001.npz")) or process.poll() is not None)
            _, said = stopped(process)
        assert process.returncode in (Exit.OK, *INTERRUPTED), said
    assert process.returncode in INTERRUPTED
    assert os.listdir(folder)
    for name in ("stopped", "straight"):
        run_process([*command, tmp_path / f"{name}.moet.json"], check=True)
    assert (tmp_path / "stopped.moet.json").read_bytes() == (tmp_path / "straight.moet.json").read_bytes()
    assert not folder.exists()


def test_a_useless_teacher_is_told_on_stderr(run, tmp_path):
    layers = {"output/weight": np.zeros((2, 4)), "output/bias": np.array([1.0, 0.0])}
    np.savez(tmp_path / "agent.npz", **layers, activation="relu", meaning="logits")
    result = run("distill", "cartpole", "--arrays", tmp_path / "agent.npz", *SMALL, *QUICK, "-o", tmp_path / "p.json")
    assert result.exit_code == Exit.OK
    warned = [line for line in result.stderr.splitlines() if line.startswith("moet: warning: ")]
    assert len(warned) == 1
    assert "always acts alike: 'left' in all" in warned[0]
    assert "--normalize vecnormalize.pkl" in warned[0]
    assert "warning" not in result.stdout


def test_without_options_the_policy_is_hard_small_and_shown_exactly(run, tmp_path):
    path = tmp_path / "policy.moet.json"
    result = run("distill", "cartpole", "--iterations", 4, "--rollouts", 3, "--episodes", 5, "-o", path)
    assert result.exit_code == Exit.OK, result.stderr
    assert "size taken" in result.stdout
    assert "<- taken" in result.stderr
    mixture = load(path)
    assert (mixture.prediction, mixture.provenance["made_by"]) == ("hard", "moet distill")
    assert run("show", path).stdout == run("show", path, "--digits", 17).stdout
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_readers_that_want_a_hard_model_name_the_command_that_makes_one(run, tmp_path):
    path = tmp_path / "soft.moet.json"
    result = run("distill", "cartpole", "--experts", 2, "--depth", 1, "--soft", *QUICK, "-o", path)
    assert result.exit_code == Exit.OK, result.stderr
    for question in (("export", path, "--to", "c"), ("verify", path, "--system", "cartpole", "--steps", 1)):
        result = run(*question)
        assert result.exit_code == Exit.USAGE
        assert "`moet distill --hard`" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--tree", 3, "--soft"), "--soft is about experts"),
        (("--experts", 2, "--budget", 1), "--budget is for finding a size"),
        (("--importance", "luck"), "is not one of"),
        (("--weighting", "luck"), "is not one of"),
        (("--digits", 0), "--digits"),
    ],
)
@pytest.mark.processes
def test_wrong_choices_are_refused_before_anything_heavy_is_imported(tmp_path, arguments, message):
    script = (
        "import sys; from moet.cli.app import main\n"
        "try: main()\n"
        "except SystemExit as end: print(end.code, sorted({'numpy', 'numba', 'sklearn'} & set(sys.modules)))"
    )
    command = [
        sys.executable,
        "-c",
        script,
        "distill",
        "cartpole",
        *map(str, arguments),
        "-o",
        str(tmp_path / "p.json"),
    ]
    result = run_process(command)
    assert result.stdout.strip() == "2 []"
    assert message in result.stderr


def test_the_choices_of_the_command_are_those_of_the_library():
    from typing import get_args

    from moet.cli import choices
    from moet.distill import dataset, selection
    from moet.teachers import activations

    pairs = [
        (choices.Activation, activations.Activation),
        (choices.Importance, dataset.Importance),
        (choices.Weighting, dataset.Weighting),
        (choices.Selection, selection.Selection),
    ]
    for command, library in pairs:
        assert {choice.value for choice in command} == set(get_args(library))


def test_a_student_far_below_its_teacher_is_told_in_one_line(run, tmp_path):
    result = run("distill", "gridworld-10", "--tree", 1, *QUICK, "-o", tmp_path / "tree.moet.json")
    assert result.exit_code == Exit.OK, result.stderr
    (line,) = [line for line in result.stderr.splitlines() if "warning" in line]
    assert line.startswith("moet: warning: the student")
    assert "moet distill ... --experts 8 --depth 6" in line


def test_a_plant_in_a_file_is_a_task(run, tmp_path, monkeypatch):
    from moet.verify import systems
    from tests.verify.plants import cart

    systems.save(cart(), tmp_path / "cart.json")
    (tmp_path / "cart_agent_of_tests.py").write_text(
        "def act(x):\n    return (-x[:, :1] - 1.5 * x[:, 1:]).clip(-1, 1)\n"
    )
    monkeypatch.chdir(tmp_path)
    size = ("--experts", "1", "--depth", "0", "--iterations", "2", "--selection-episodes", "5", "--episodes", "5")
    agent = ("--agent", "cart_agent_of_tests:act", "--prove", "cart.json")
    result = run("distill", "cart.json", *agent, *size, "-o", "law.moet.json")
    assert result.exit_code == 0, result.output
    assert "proved: safe in cart.json" in result.stdout
    assert "moet check law.cert law.moet.json cart.json" in result.stdout
    assert run("check", "law.cert", "law.moet.json", "cart.json").exit_code == 0


def test_a_plant_without_controls_is_no_task(run, tmp_path, monkeypatch):
    from moet.verify import systems

    systems.save(systems.cartpole(), tmp_path / "pole.json")
    monkeypatch.chdir(tmp_path)
    result = run("distill", "pole.json", "-o", "policy.moet.json")
    assert result.exit_code == 2
    assert "needs controls" in result.output


def test_the_report_says_when_no_size_learned_anything(capsys):
    front = [Tried(2, 0, 2, -21.0, 0.0, 0.3), Tried(8, 6, 200, -21.0, 0.0, 0.6)]
    assert size_report(front, 0, 0.4, "reward")["size taken"].endswith(
        "the smallest within 0.4 of the best reward (-21)"
    )
    assert "E8-D6, the most faithful: none earned" in size_report(front, 1, 0.4, "reward")["size taken"]


def test_the_report_says_when_a_smaller_size_played_a_game_of_its_own(capsys):
    front = [Tried(2, 0, 2, 499.0, 0.0, 0.5, own_game=True), Tried(4, 2, 9, 500.0, 0.0, 0.9)]
    assert "E4-D2, the smallest within 10 of" in size_report(front, 1, 10.0, "reward")["size taken"]
    assert "E2-D0: 2 leaves, reward 499 ± 0, fidelity 0.5000, a game of its own" in capsys.readouterr().err
