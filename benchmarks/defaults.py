"""What comes out without any option, agent by agent, beside a VIPER tree of as many leaves.

python benchmarks/defaults.py [AGENT ...] [--seeds 1] [--episodes 250] [--json rows.json]

Each agent is distilled with ``distill(teacher, env)`` and nothing else. Then the same rounds, episodes and seeds make
trees that may have as many leaves as the mixture that came out, counted after pruning as the mixture's are: one for
each kind of importance. All are measured on the same fresh episodes, and of the trees the higher reward and the higher
fidelity are told, whichever had them. A row that the file holds is not measured again.

Agents are the bundled ones, the published ones in the folder that MOET_TEACHERS names, and the zips in the folders that
MOET_AGENTS names (benchmarks/train_agents.py makes some); what is not there is left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from brought import agents
from harness import Results, Row, console, cpu_seconds, machine, show, single_threaded
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

from moet.distill import Distillation, Evaluation, Teacher, distill, evaluate
from moet.distill.dataset import Importance
from moet.model.file import as_mixture

IMPORTANCE: tuple[Importance, ...] = ("uniform", "q_gap")


class BestFirstTree(ClassifierMixin, BaseEstimator):
    """scikit-learn's tree, grown best first to as many leaves as leave at most ``leaves`` of them after pruning."""

    def __init__(self, leaves: int = 2) -> None:
        self.leaves = leaves

    def fit(self, X: NDArray[Any], y: NDArray[Any], sample_weight: NDArray[Any] | None = None) -> BestFirstTree:
        """Grow trees of more and more leaves until the pruned one has too many."""
        grown, limit = 0, self.leaves
        while True:
            tree = DecisionTreeClassifier(max_leaf_nodes=max(limit, 2), random_state=0).fit(X, y, sample_weight)
            pruned = as_mixture(tree).prune()
            if grown and pruned.size.leaves > self.leaves:
                return self
            self.mixture_, self.classes_ = pruned, tree.classes_
            if pruned.size.leaves >= self.leaves or tree.get_n_leaves() <= grown:
                return self
            grown = tree.get_n_leaves()
            limit = grown + max(1, self.leaves - pruned.size.leaves)

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Answer as the tree does."""
        return np.asarray(self.mixture_.predict(X))


@cache
def teacher_of(agent: str) -> Teacher:
    """The agent, loaded once."""
    return dict(agents())[agent].load()


def figures(found: Evaluation, run: Distillation, seconds: float) -> Row:
    """What is told about a student."""
    model = run.policy.model
    return {
        "reward": found.reward,
        "returns": found.returns.tolist(),
        "fidelity": found.fidelity,
        "leaves": model.size.leaves,
        "experts": len(model.trees),
        "teacher_reward": found.teacher_reward,
        "cpu_seconds": seconds,
    }


def by_default(agent: str, seed: int, episodes: int) -> Row:
    """Distil with no option at all (but the seed)."""
    task = dict(agents())[agent].task
    run, seconds = cpu_seconds(lambda: distill(teacher_of(agent), task, seed=seed))
    found = evaluate(run.policy, episodes=episodes, seed=seed, teacher=teacher_of(agent))
    taken = run.front[run.taken or 0].name
    return figures(found, run, seconds) | {"taken": taken, "rounds": len(run.history), "sizes": len(run.front)}


def viper(agent: str, seed: int, episodes: int, leaves: int, importance: Importance) -> Row:
    """Distil a tree of so many leaves with the same rounds and episodes."""
    task = dict(agents())[agent].task
    teacher = teacher_of(agent)
    run, seconds = cpu_seconds(lambda: distill(teacher, task, BestFirstTree(leaves), importance=importance, seed=seed))
    return figures(evaluate(run.policy, episodes=episodes, seed=seed, teacher=teacher), run, seconds)


def mean(rows: Sequence[Row], figure: str) -> float:
    """Mean over the seeds."""
    return float(np.mean([row[figure] for row in rows]))


def line(agent: str, ours: Sequence[Row], trees: Sequence[Sequence[Row]]) -> list[str]:
    """The students of one agent side by side, means over the seeds; of the trees, the best of each figure."""
    richest = max(trees, key=lambda rows: mean(rows, "reward"))
    truest = max(trees, key=lambda rows: mean(rows, "fidelity"))
    gaps = np.array([np.subtract(a["returns"], b["returns"]) for a, b in zip(ours, richest, strict=True)])
    return [
        agent,
        ", ".join(row["taken"] for row in ours),
        f"{mean(ours, 'leaves'):g}",
        f"{mean(ours, 'teacher_reward'):.1f}",
        f"{mean(ours, 'reward'):.1f}",
        f"{mean(richest, 'reward'):.1f}",
        f"{gaps.std() / np.sqrt(gaps.size):.1f}",
        f"{mean(ours, 'fidelity'):.4f}",
        f"{mean(truest, 'fidelity'):.4f}",
        f"{mean(ours, 'cpu_seconds'):.0f}",
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", help="some of the names printed; all by default")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--episodes", type=int, default=250)
    parser.add_argument("--json", type=Path, help="keep the rows in this file")
    options = parser.parse_args()
    single_threaded()
    results = Results(options.json)
    console.print(machine())
    table = []
    for agent in options.agents or [name for name, _ in agents()]:
        kinds = IMPORTANCE if teacher_of(agent).has_scores else IMPORTANCE[:1]
        seeds: list[dict[str, Any]] = [
            {"agent": agent, "seed": seed, "episodes": options.episodes} for seed in range(options.seeds)
        ]
        ours = [results.measure(by_default, **told) for told in seeds]
        trees = [
            [
                results.measure(viper, **told, leaves=row["leaves"], importance=kind)
                for told, row in zip(seeds, ours, strict=True)
            ]
            for kind in kinds
        ]
        table.append(line(agent, ours, trees))
        console.print(" ".join(table[-1]))
    columns = ["agent", "size", "leaves", "teacher", "reward", "trees", "±", "fidelity", "trees", "CPU s"]
    show("Defaults only, against VIPER trees of as many leaves", columns, table)


if __name__ == "__main__":
    main()
