"""Whether states should count by how much the teacher cares (VIPER's q_gap) or all the same, agent by agent.

python benchmarks/importance.py [AGENT ...] [--seeds 3] [--iterations 12] [--json rows.json]

Agents are the bundled ones, the published ones in the folder that MOET_TEACHERS names, and those of MOET_AGENTS; what
is not there is left out. Both kinds distil the same sizes with the same seeds, and are reported on the same fresh
episodes. A row that the file holds is not measured again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from brought import agents
from harness import Results, Row, console, cpu_seconds, machine, show, single_threaded

from moet import MoETClassifier
from moet.distill import distill, evaluate
from moet.distill.dataset import Importance

KINDS: tuple[Importance, ...] = ("q_gap", "uniform")
SIZES = {"lunarlander": (8, 5), "cartpole": (4, 3)}
"""Experts and depth, by task; four of depth 5 for all others."""


def compare(agent: str, importance: Importance, seed: int, iterations: int, episodes: int) -> Row:
    """Distil one agent with one kind of importance, and report on fresh episodes."""
    task, load = dict(agents())[agent]
    teacher = load()
    kind = task.partition("-")[0].lower()
    experts, depth = SIZES.get(kind, (4, 5))
    run, seconds = cpu_seconds(
        lambda: distill(
            teacher,
            task,
            MoETClassifier(experts, depth, prediction="hard"),
            iterations=iterations,
            importance=importance,
            selection_episodes=20 if kind == "lunarlander" else 50,
            seed=seed,
        )
    )
    found = evaluate(run.policy, episodes=episodes, seed=seed, teacher=teacher)
    return {
        "size": f"E{experts}-D{depth}",
        "reward": found.reward,
        "error": float(found.returns.std() / np.sqrt(len(found.returns))),
        "fidelity": found.fidelity,
        "teacher_reward": found.teacher_reward,
        "cpu_seconds": seconds,
    }


def mean(rows: list[Row], figure: str) -> float:
    return float(np.mean([row[figure] for row in rows]))


def line(agent: str, rows: dict[str, list[Row]]) -> list[str]:
    """Both kinds of one agent side by side, means over the seeds."""
    first = rows["uniform"][0]
    cells = [agent, first["size"], f"{mean(rows['uniform'], 'teacher_reward'):.1f}"]
    for figure, form in (("reward", ".1f"), ("fidelity", ".4f")):
        cells += [f"{mean(rows[kind], figure):{form}}" for kind in KINDS]
    error = np.hypot(mean(rows["q_gap"], "error"), mean(rows["uniform"], "error")) / np.sqrt(len(rows["uniform"]))
    return [*cells, f"{error:.1f}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", help="some of the names printed; all by default")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=12)
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--json", type=Path, help="keep the rows in this file")
    options = parser.parse_args()
    single_threaded()
    results = Results(options.json)
    console.print(machine())
    table = []
    for agent in options.agents or [name for name, _ in agents()]:
        rows: dict[str, list[Row]] = {kind: [] for kind in KINDS}
        for seed in range(options.seeds):
            for kind in KINDS:
                settings = {"iterations": options.iterations, "episodes": options.episodes}
                rows[kind].append(results.measure(compare, agent=agent, importance=kind, seed=seed, **settings))
        table.append(line(agent, rows))
    columns = ["agent", "size", "teacher", "reward q_gap", "uniform", "fidelity q_gap", "uniform", "± reward"]
    show("Importance as weights against none", columns, table)


if __name__ == "__main__":
    main()
