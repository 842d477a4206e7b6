"""How much of the teacher's play in Pong can be learned from what a student sees.

python benchmarks/pong_features.py [--games 10]

The teacher plays noisy games; several models learn its choices from VIPER's seven features and from its own eighteen,
and are judged on the last fifth of the games. A forest of many randomised trees tells about how much there is to learn.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from harness import console, cpu_seconds, machine, show, single_threaded
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.tree import DecisionTreeClassifier

from moet import MoETClassifier, teachers
from moet.envs import resolve
from moet.envs.rollout import Episodes, play

TASKS = {"seven": resolve("pong-noisy"), "eighteen": resolve("pong-18-noisy")}
MODELS: dict[str, Any] = {
    "forest of 150": ExtraTreesClassifier(150, random_state=0),
    "tree": DecisionTreeClassifier(random_state=0),
    "hard E8-D15": MoETClassifier(8, 15, prediction="hard", min_samples_leaf=1, random_state=0),
    "boosted E32-D16": MoETClassifier(32, 16, training="boosting", min_samples_leaf=1, random_state=0),
}


def measured(name: str, features: str, played: Episodes) -> list[Any]:
    """Share of the choices in the games held out that a model makes alike: all, and with the ball out of sight."""
    X, learned = TASKS[features].view(played.observations), played.number < 0.8 * len(played.lengths)
    _, seconds = cpu_seconds(lambda: MODELS[name].fit(X[learned], played.actions[learned]))
    right = MODELS[name].predict(X[~learned]) == played.actions[~learned]
    away = played.observations[~learned, 1] == 0
    return [name, features, f"{right.mean():.3f}", f"{right[away].mean():.3f}", round(seconds, 1)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=10)
    options = parser.parse_args()
    single_threaded()
    console.print(machine())
    played = play(teachers.load("pong").act, TASKS["seven"], range(options.games))
    distinct = len(np.unique(TASKS["seven"].view(played.observations), axis=0))
    console.print(f"{len(played.actions)} steps, {distinct} different rows of seven features")
    rows = [measured(name, features, played) for features in TASKS for name in MODELS]
    show("The teacher's choices, learned", ["model", "features", "right", "ball out of sight", "CPU s"], rows)


if __name__ == "__main__":
    main()
