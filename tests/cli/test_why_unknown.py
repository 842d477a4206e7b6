"""``moet why-unknown``."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command

import moet
from moet.cli.agents import Named
from moet.cli.app import app
from moet.cli.next_steps import next_steps
from moet.cli.output import Exit
from moet.verify import systems
from moet.verify.loops.near_miss import nearest_miss
from tests.shield.conftest import cart, cart_policy


@pytest.fixture
def files(tmp_path):
    def write(weights):
        policy = cart_policy()
        changed = moet.Mixture(
            [[0.0, 0.0], weights], [0.0, 0.0], policy.trees, ["back", "forth"], feature_names=["place", "speed"]
        )
        moet.save(changed, tmp_path / "policy.moet.json")
        systems.save(cart(), tmp_path / "cart.json")
        return [str(tmp_path / "policy.moet.json"), "--system", str(tmp_path / "cart.json")]

    return write


def test_a_policy_that_is_proved_says_so(run, files):
    result = run("why-unknown", *files([-1.0, -1.5]))
    assert result.exit_code == Exit.OK, result.output
    assert "proved" in result.stdout


def test_an_unknown_names_what_outgrew_its_limit_the_closest_run_and_commands(run, files):
    result = run("why-unknown", *files([-1.0, -0.01]), "--json", "--cpu-limit", "30")
    document = json.loads(result.stdout)
    assert document["verdict"] in ("unknown", "refuted")
    assert result.exit_code in (Exit.UNDECIDED, Exit.NEGATIVE)
    assert document["try"]
    assert all(line.split()[:2][0] == "moet" for line in document["try"])
    assert len(document["closest"]["states"]) == document["closest"]["time"] + 1


def test_a_question_that_is_not_decided_names_commands_that_exist(run, files):
    model, option, system = files([-1.0, -0.01])
    asked = ("verify", model, option, system, "--cpu-limit", "0")
    told = run(*asked)
    assert told.exit_code == Exit.UNDECIDED, told.output
    commands = json.loads(run(*asked, "--json").stdout)["try"]
    assert commands[0] == f"moet why-unknown {model} --system {system}"
    assert all(command in told.stdout for command in commands)
    for command in commands:
        name, *options = shlex.split(command)[1:]
        known = {option for parameter in get_command(app).commands[name].params for option in parameter.opts}
        assert known.issuperset(option for option in options if option.startswith("-"))


def test_the_agent_that_was_distilled_is_named_again():
    told = {"task": "CartPole-v1", "agent": Named(sb3=Path("agents/my agent.zip")).file["agent"]}
    *_, last = next_steps("refuted", Path("p.json"), told, "cartpole", None)
    assert "CartPole-v1 --sb3 'my agent.zip' --experts" in last


@pytest.mark.parametrize(
    "told",
    [
        {"agent": ["--agent", "evil:run"]},
        {"agent": ["--sb3", "--trust"]},
        {"agent": ["--sb3", "a\x1b[2J"]},
        {"agent": "--sb3"},
        {"agent": ["--sb3", 1]},
        {"task": "--help"},
        {"task": "a\nb"},
    ],
)
def test_what_a_strangers_file_says_of_its_agent_is_no_part_of_a_command(told):
    *_, last = next_steps("refuted", Path("p.json"), {"task": "TASK", **told}, "cartpole", None)
    assert last == "moet distill TASK --experts 2 --depth 0 --prove cartpole -o proved.moet.json"


def test_limits_are_told_with_a_positive_factor_in_front(run, files):
    result = run("why-unknown", *files([-1.0, -0.01]), "--json", "--cpu-limit", "30")
    condition = json.loads(result.stdout)["closest"]["condition"]
    assert condition.split()[0] in ("place", "speed")
    assert condition.split()[1] in ("<=", ">=")


def test_sets_that_are_too_large_say_which_state_may_be_where(run, tmp_path):
    gains = [3.54, 1.622, 100.0, 25.76]
    leaves = [moet.Tree.leaf([1, 0]), moet.Tree.leaf([0, 1])]
    weak = moet.Mixture([[0.0] * 4, gains], [0.0, 0.0], leaves, ["left", "right"])
    from moet.verify import safe

    verdict = safe(weak, systems.cartpole_linear(), None, cpu_limit=20)
    assert not verdict
    assert "may reach" in verdict.reason or "limit" in verdict.reason


def test_the_closest_run_is_one_of_the_system():
    miss = nearest_miss(cart_policy(), cart(), 100)
    number = [cart().actions.index(action) for action in miss.trace.actions]
    for before, action, after in zip(miss.trace.states, number, miss.trace.states[1:], strict=False):
        assert np.allclose(cart().successor(before[None], [action])[0], after)
