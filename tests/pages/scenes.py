"""What the pages take for granted: the files of their readers, and the names that blocks use without defining them."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from moet import Box, Mixture, MoETClassifier, RegressionMixture, RegressionTree, Tree, load, save, teachers, verify
from moet.verify import systems

Scene = Callable[[Path], dict[str, Any]]

STATES = ["position", "velocity", "angle", "angular_velocity"]


def pole_policy() -> Mixture:
    """A line that is proved to balance CartPole for ever."""
    gains = [[0.0] * 4, [5.778, 11.041, 96.362, 25.0]]
    leaves = [Tree.leaf([1, 0]), Tree.leaf([0, 1])]
    return Mixture(gains, [0.0, 0.0], leaves, ["left", "right"], STATES, provenance={"task": "cartpole"})


def law(height: float = 1.0) -> RegressionMixture:
    """A torque for an angle and a speed."""
    tree = RegressionTree([0, -1, -1], [0.0, 0.0, 0.0], [1, -1, -1], [2, -1, -1], [[0], [height], [-height]])
    return RegressionMixture([[0.0, 0.0]], [0.0], [tree], ["torque"], feature_names=["angle", "speed"])


def policies(folder: Path) -> dict[str, Any]:
    """Policies of CartPole under the names that pages give them."""
    (folder / "demo").mkdir()
    (folder / "docs" / "figures").mkdir(parents=True)
    for name in ("policy", "cartpole", "demo/cartpole", "lunarlander", "agent"):
        save(pole_policy(), folder / f"{name}.moet.json")
    return {"policy": pole_policy(), "state": np.zeros(4), "states": np.zeros((3, 4)), "wanted": "left", "action": 0}


def laws(folder: Path) -> dict[str, Any]:
    """Models that answer with numbers, and two that are to be compared."""
    save(law(), folder / "law.moet.json")
    save(law(1.001), folder / "short.moet.json")
    for name, slope in (("old", 1.0), ("new", 1.1)):
        leaves = [Tree.leaf([1, 0]), Tree.leaf([0, 1])]
        save(Mixture([[0, 0], [slope, 1]], [0, 0], leaves, ["no", "yes"], ["x", "y"]), folder / f"{name}.moet.json")
    old, new = (load(folder / f"{name}.moet.json") for name in ("old", "new"))
    return {"law": law(), "old": old, "new": new, "domain": Box(x=(-1, 1), y=(-1, 1))}


def pushed(folder: Path) -> dict[str, Any]:
    """A system of the reader's own, and what pushes it towards its goal."""
    sides = {"place": ("-0.1", "0.1"), "speed": ("-0.1", "0.1")}
    moves = {
        "matrix": [[1, "0.1"], [0, 1]],
        "offsets": [["-0.005", "-0.1"], ["0.005", "0.1"]],
        "goal": ["place >= 0.5"],
    }
    system = systems.AffineSystem(
        "pushed", states=["place", "speed"], actions=["back", "forth"], initial=sides, **moves
    )
    pusher = Mixture([[0.0, 0.0]], [0.0], [Tree.leaf([0, 1])], ["back", "forth"], ["place", "speed"])
    systems.save(system, folder / "pushed.json")
    save(pusher, folder / "pusher.moet.json")
    return {"pushed": system, "pusher": pusher}


def agent(env: str, name: str = "agent.zip") -> Scene:
    """An untrained agent of Stable-Baselines3, and the statistics of its observations."""

    def scene(folder: Path) -> dict[str, Any]:
        pytest.importorskip("torch")
        algorithms = pytest.importorskip("stable_baselines3")
        vectors = pytest.importorskip("stable_baselines3.common.vec_env")
        one = vectors.DummyVecEnv([lambda: gymnasium.make(env)])
        normalized = vectors.VecNormalize(one)
        model = algorithms.PPO("MlpPolicy", normalized, n_steps=8, batch_size=8, device="cpu", seed=0)
        model.save(folder / name)
        normalized.save(folder / "vecnormalize.pkl")
        return {"model": model, "v": normalized}

    return scene


def german(folder: Path) -> dict[str, Any]:
    """A table like German credit, a model of it, and a row."""
    import pandas as pd

    rng = np.random.default_rng(0)
    n = 120
    duration, age = rng.integers(4, 48, n), rng.integers(19, 75, n)
    columns = {
        "Age": age,
        "Sex": rng.choice(["male", "female"], n),
        "Job": rng.integers(0, 4, n),
        "Housing": rng.choice(["own", "rent", "free"], n),
        "Saving accounts": rng.choice(["little", "rich"], n),
        "Checking account": rng.choice(["little", "moderate"], n),
        "Credit amount": rng.integers(250, 9000, n),
        "Duration": duration,
        "Purpose": rng.choice(["car", "radio/TV"], n),
        "Risk": np.where(duration + rng.normal(size=n) * 6 > 24 + age / 10, "bad", "good"),
    }
    table = pd.DataFrame(columns)
    table.to_csv(folder / "german.csv", index=False)
    X = table.drop(columns="Risk")
    model = MoETClassifier(2, 1, prediction="hard", random_state=0).fit(X, table["Risk"]).mixture_
    names = {"loans": X, "risk": table["Risk"]}
    return names | {"model": model, "table": X, "row": X.iloc[17].to_dict(), "domain": None, "verify": verify}


def measurements(folder: Path) -> dict[str, Any]:
    """A table of four numbers and an outcome."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    with (folder / "table.csv").open("w", newline="") as file:
        rows = [[*row, f"kind {k}"] for row, k in zip(X.tolist(), y, strict=True)]
        csv.writer(file).writerows([["a", "b", "c", "d", "outcome"], *rows])
    return {"X": X, "y": y, "MoETClassifier": MoETClassifier}


def houses(folder: Path) -> dict[str, Any]:
    """A table whose outcome is a number."""
    rng = np.random.default_rng(0)
    with (folder / "houses.csv").open("w", newline="") as file:
        rows = [[area, rooms, 3000.0 * area + rng.normal()] for area, rooms in rng.integers(1, 9, (120, 2)).tolist()]
        csv.writer(file).writerows([["area", "rooms", "price"], *rows])
    return {}


def own_environment(folder: Path) -> dict[str, Any]:
    """``MyEnv-v0`` is the reader's own, and so are the student and the observation that pages speak of."""
    if "MyEnv-v0" not in gymnasium.registry:
        entry = "gymnasium.envs.classic_control.cartpole:CartPoleEnv"
        gymnasium.register("MyEnv-v0", entry_point=entry, max_episode_steps=200)
    student = MoETClassifier(n_experts=2, max_depth=0, prediction="hard")
    teacher = teachers.load("cartpole")
    names = {"student": student, "teacher": teacher, "systems": systems, "gymnasium": gymnasium, "np": np}
    return names | {"observations": np.zeros((3, 4)), "observation": np.zeros(2)}


def sweep(folder: Path) -> dict[str, Any]:
    """A sweep of CartPole that somebody has run."""
    from moet.study import Plan, Sweep

    plan = Plan((2,), ((2, 0),), iterations=2, rollouts=2, selection_episodes=2, episodes=4)
    Sweep("cartpole", plan=plan, storage=folder / "runs" / "cartpole-quick").run(workers=1)
    return {}


SCENES: dict[str, tuple[Scene, ...]] = {
    "README.md": (policies, german, houses, own_environment, agent("LunarLander-v3")),
    "docs/distillation.md": (
        policies,
        own_environment,
        agent("CartPole-v1"),
        agent("MountainCarContinuous-v0", "car.zip"),
    ),
    "docs/explain.md": (policies, laws),
    "docs/explorer.md": (policies,),
    "docs/export.md": (policies,),
    "docs/microcontroller.md": (policies,),
    "docs/reports.md": (sweep,),
    "docs/shields.md": (policies, own_environment),
    "docs/start.md": (policies, measurements, agent("CartPole-v1")),
    "docs/studies.md": (sweep,),
    "docs/tables.md": (german,),
    "docs/teachers.md": (policies, own_environment, agent("CartPole-v1")),
    "docs/training.md": (measurements, german),
    "docs/verification.md": (policies, laws, own_environment, pushed),
}
