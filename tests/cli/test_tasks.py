import json
from typing import Any

import gymnasium
import pytest

from moet.envs import tasks

from .conftest import Run


@pytest.fixture
def without_box2d(monkeypatch: pytest.MonkeyPatch) -> None:
    real = gymnasium.make

    def make(env_id: str, **options: Any) -> Any:
        if env_id == "LunarLander-v3":
            raise gymnasium.error.DependencyNotInstalled("Box2D is not installed")
        return real(env_id, **options)

    monkeypatch.setattr(gymnasium, "make", make)


def test_every_task_has_a_line(run: Run) -> None:
    result = run("tasks")
    assert result.exit_code == 0
    header, *lines = result.stdout.splitlines()
    assert header.split() == ["task", "environment", "features", "actions", "steps", "here"]
    assert [line.split()[0] for line in lines] == list(tasks())
    cartpole = next(line for line in lines if line.startswith("cartpole "))
    assert cartpole.split() == ["cartpole", "CartPole-v1", "4", "2", "200", "yes"]


def test_as_json(run: Run) -> None:
    result = run("tasks", "--json")
    assert result.exit_code == 0
    listed = {task["name"]: task for task in json.loads(result.stdout)["tasks"]}
    assert list(listed) == list(tasks())
    assert listed["pendulum"]["actions"] == ["negative", "none", "positive"]
    assert listed["cartpole"]["features"][2] == {"name": "angle", "unit": "rad"}
    assert listed["gridworld"]["env_id"] is None
    assert listed["gridworld"]["available"] is True


@pytest.mark.usefixtures("without_box2d")
def test_what_is_missing_is_said(run: Run) -> None:
    lines = run("tasks").stdout.splitlines()
    lander = next(line for line in lines if line.startswith("lunarlander"))
    assert lander.endswith("LunarLander-v3 needs Box2D: pip install 'moet[box2d]'")
    listed = {task["name"]: task for task in json.loads(run("tasks", "--json").stdout)["tasks"]}
    assert listed["lunarlander"]["available"] is False
    assert "moet[box2d]" in listed["lunarlander"]["problem"]
