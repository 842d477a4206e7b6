"""Whether mixtures of deep trees are behind one tree of as many leaves, on the data of distillations.

python benchmarks/deep_trees.py [AGENT ...] [--json rows.json]

A distillation of 20 iterations collects states; a quarter of its episodes is held out. On the others mixtures of
several sizes are fitted, and for each a tree that may have as many leaves. What is printed is the accuracy on the
held-out episodes.
"""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path

import numpy as np
from brought import agents
from defaults import BestFirstTree, teacher_of
from harness import Results, Row, console, cpu_seconds, machine, show, single_threaded

from moet import MoETClassifier
from moet.distill import distill
from moet.distill.dataset import Labelled

AGENTS = ("bundled mountaincar", "bundled acrobot", "bundled pendulum", "published acrobot", "dqn_CartPole-v1")
SIZES = ((8, 3), (8, 4), (8, 6), (8, 8), (8, 12), (16, 6), (16, 12))


@cache
def states(agent: str) -> Labelled:
    """What a distillation of the agent collects."""
    student = MoETClassifier(8, 4, prediction="hard")
    settings = {"iterations": 20, "selection_episodes": 5, "digits": 17}
    return distill(teacher_of(agent), dict(agents())[agent].task, student, **settings).data


def compare(agent: str, experts: int, depth: int) -> Row:
    """Fit a mixture and a tree of as many leaves to the same rows."""
    data = states(agent)
    X, y, episode = data.features, data.actions, data.episode
    numbers = np.unique(episode)
    test = np.isin(episode, np.random.default_rng(0).choice(numbers, len(numbers) // 4, replace=False))
    student = MoETClassifier(experts, depth, prediction="hard", random_state=0)
    _, seconds = cpu_seconds(lambda: student.fit(X[~test], y[~test], groups=episode[~test]))
    mixture = student.mixture_.prune()
    tree = BestFirstTree(mixture.size.leaves).fit(X[~test], y[~test])
    return {
        "leaves": mixture.size.leaves,
        "mixture": float(np.mean(mixture.predict(X[test]) == y[test])),
        "tree": float(np.mean(tree.predict(X[test]) == y[test])),
        "cpu_seconds": seconds,
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", default=AGENTS)
    parser.add_argument("--json", type=Path, help="keep the rows in this file")
    options = parser.parse_args()
    single_threaded()
    results = Results(options.json)
    console.print(machine())
    rows = [
        results.measure(compare, agent=agent, experts=experts, depth=depth)
        for agent in options.agents
        for experts, depth in SIZES
    ]
    lines = [
        [
            row["agent"],
            f"E{row['experts']}-D{row['depth']}",
            row["leaves"],
            f"{row['mixture']:.4f}",
            f"{row['tree']:.4f}",
            f"{row['cpu_seconds']:.1f}",
        ]
        for row in rows
    ]
    show("Held-out accuracy at equal leaves", ["agent", "size", "leaves", "mixture", "tree", "CPU s"], lines)


if __name__ == "__main__":
    main()
