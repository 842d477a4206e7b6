"""Distilled students beside their teachers, plain VIPER trees and the published training of mixtures.

python benchmarks/distill.py quality [TASK ...] [--published] [--quick] [--seeds 1] [--json rows.json]
python benchmarks/distill.py gridworld [--json rows.json]
python benchmarks/distill.py speed [--json rows.json]

``quality`` distils the configurations below and evaluates each on fresh episodes. The model of every line is chosen by
its score on the episodes for selection; what is printed was measured on others. ``--published`` takes the teachers in
the folder that MOET_TEACHERS names instead of ours. ``speed`` also runs that loop with students of scikit-learn's
trees, one episode at a time.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import reference
from harness import Results, Row, console, cpu_seconds, machine, show, single_threaded
from sklearn.tree import DecisionTreeClassifier

from moet import MoETClassifier, teachers
from moet.distill import Teacher, distill, evaluate
from moet.envs.catalog import resolve

PUBLISHED_GATE = {
    "init": "random",
    "n_init": 1,
    "gate_solver": "adam",
    "gate_l2": 0.0,
    "min_samples_leaf": 1,
    "max_iter": 50,
    "tol": 0.0,
    "hard_iter": 0,
}
"""The paper's training of a mixture, on our kernels."""


SELECTIONS = ("reward", "harmonic")
"""How the student of a run is chosen: once for reward alone, once for reward and fidelity."""


@dataclass(frozen=True)
class Plan:
    """What a task is tried with, and how long; the same for every student."""

    mixtures: tuple[tuple[int, int], ...]
    """Experts and depth."""
    tree_depths: tuple[int, ...]
    iterations: int = 20
    rollouts: int = 40
    selection_episodes: int = 100
    report_episodes: int = 500


PLANS = {
    "cartpole": Plan(((2, 0),), (4, 8, 15), iterations=40, rollouts=10, selection_episodes=50),
    "acrobot": Plan(((32, 0), (48, 0)), (8, 12, 16)),
    "mountaincar": Plan(((8, 4),), (6, 10, 15)),
    "lunarlander": Plan(((16, 0), (16, 10)), (10, 15, 20), selection_episodes=40, report_episodes=250),
    "pendulum": Plan(((16, 6), (8, 12)), (8, 12, 16), report_episodes=1_000),
    # greedy play has four games to offer, so more episodes would tell nothing new
    "pong": Plan(((16, 8),), (12, 20), iterations=10, rollouts=4, selection_episodes=4, report_episodes=30),
}


def chosen_teacher(task: str, published: bool) -> Teacher:
    """Our teacher of a task, or the one that others published."""
    if not published:
        return teachers.load(task)
    return Teacher.from_arrays(Path(os.environ["MOET_TEACHERS"]) / f"{task}.npz")


def student_of(family: str, n_experts: int, depth: int) -> Any:
    """A student that has not learned anything yet."""
    if family == "tree":
        return DecisionTreeClassifier(max_depth=depth, random_state=0)
    options = PUBLISHED_GATE if family.startswith("published") else {}
    prediction = "hard" if family.endswith("hard") else "soft"
    return MoETClassifier(n_experts, depth, prediction=prediction, random_state=0, **options)


def quality(task: str, published: bool, family: str, n_experts: int, depth: int, iterations: int, seed: int) -> Row:
    """Distil one configuration, choose a student in two ways, and evaluate both on fresh episodes."""
    plan = PLANS[task]
    teacher = chosen_teacher(task, published)
    row: Row = {}
    begin = time.process_time()
    with TemporaryDirectory() as folder:  # the second choice is made among the students of the first
        for selection in SELECTIONS:
            run = distill(
                teacher,
                task,
                student_of(family, n_experts, depth),
                iterations=iterations,
                rollouts_per_iteration=plan.rollouts,
                importance="uniform",
                selection=selection,
                selection_episodes=plan.selection_episodes,
                seed=seed,
                checkpoint=folder,
            )
            row.setdefault("cpu_seconds", time.process_time() - begin)
            found = evaluate(run.policy, task, episodes=plan.report_episodes, seed=seed, teacher=teacher)
            row[selection] = {
                "selection_reward": run.score.reward,
                "selection_fidelity": run.score.fidelity,
                "reward": found.reward,
                "interval": list(found.reward_interval),
                "fidelity": found.fidelity,
                "fidelity_teacher_play": found.fidelity_teacher_play,
                "teacher_reward": found.teacher_reward,
                "leaves": found.size.leaves,
            }
    return row


def configurations(task: str, families: Sequence[str]) -> list[tuple[str, int, int]]:
    """Family, experts and depth of all students that a task is tried with."""
    trees = [(1, depth) for depth in PLANS[task].tree_depths]
    return [(family, *size) for family in families for size in (trees if family == "tree" else PLANS[task].mixtures)]


def show_quality(task: str, rows: list[Row]) -> None:
    """Print, per family and way of choosing, the configuration that did best on the episodes for selection."""
    lines = []
    for family in dict.fromkeys(row["family"] for row in rows):
        for selection, figure in zip(SELECTIONS, ("selection_reward", "selection_fidelity"), strict=True):
            best = max((row for row in rows if row["family"] == family), key=lambda row: row[selection][figure])
            found = best[selection]
            low, high = found["interval"]
            fidelities = (f"{found[name]:.4f}" for name in ("fidelity", "fidelity_teacher_play"))
            size = f"E{best['n_experts']}-D{best['depth']}"
            reward = (f"{found['reward']:.2f}", f"{low:.1f} … {high:.1f}")
            seconds = f"{best['cpu_seconds']:.0f}"
            lines.append([family, selection, size, found["leaves"], *reward, *fidelities, seconds])
    show(
        f"{task}: teacher {rows[0]['reward']['teacher_reward']:.2f}",
        ["student", "chosen by", "size", "leaves", "reward", "95 %", "fidelity", "teacher's play", "s"],
        lines,
    )


def gridworld(n: int, seed: int) -> Row:
    """Distil the optimal rule of an n×n grid into two leaves behind a gate, and into one tree that may grow."""
    task = f"gridworld-{n}"
    teacher = teachers.load(task)
    row: Row = {}
    for name, student in (
        ("mixture", MoETClassifier(2, 0, prediction="hard", random_state=0)),
        ("tree", DecisionTreeClassifier(random_state=0)),
    ):
        run = distill(teacher, task, student, selection="harmonic", seed=seed)
        found = evaluate(run.policy, task, episodes=500, seed=seed, teacher=teacher)
        cells = np.stack(np.meshgrid(np.arange(n), np.arange(n)), axis=-1).reshape(-1, 2).astype(np.float64)
        cells = cells[cells.sum(axis=1) != n - 1]
        row[name] = {
            "optimal": bool((run.policy.act(cells) == teacher.act(cells)).all()),
            "reward": found.reward,
            "teacher_reward": found.teacher_reward,
            "depth": found.size.depth,
            "nodes": found.size.nodes,
        }
    return row


def show_gridworld(rows: list[Row]) -> None:
    """Print the paper's Table 1; the gate counts as the one inner node of the mixture."""
    show(
        "Gridworld: right in every cell, reward (teacher's), depth and nodes",
        ["N", "MoET right", "reward", "depth", "nodes", "tree right", "reward", "depth", "nodes"],
        [
            [row["n"]]
            + [
                cell
                for name, gate in (("mixture", 1), ("tree", 0))
                for found in [row[name]]
                for cell in (
                    "yes" if found["optimal"] else "no",
                    f"{found['reward']:.3f} ({found['teacher_reward']:.3f})",
                    found["depth"] + gate,
                    found["nodes"] + gate,
                )
            ]
            for row in rows
        ],
    )


class PublishedMixture:
    """A mixture trained as published, with scikit-learn's trees, as a student."""

    def __init__(self, n_experts: int, depth: int) -> None:
        self.n_experts, self.depth = n_experts, depth

    def fit(self, X: Any, y: Any) -> PublishedMixture:
        """Learn from four fifths of the rows; the rest chooses the epoch."""
        held_out = np.arange(len(y)) % 5 == 0
        self.inputs = X[~held_out]
        split = (self.inputs, y[~held_out], X[held_out], y[held_out])
        self.model = reference.published(*split, self.n_experts, self.depth)["hard"]
        return self

    def predict(self, X: Any) -> Any:
        """Class given by the most probable expert."""
        none = np.zeros(len(X), dtype=np.int64)
        return self.model.predict_hard(reference.Rows.standardised(X, none, like=self.inputs))


def one_at_a_time(teacher: Teacher, task: str, student: Any, iterations: int, rollouts: int, seed: int) -> float:
    """The published loop: one environment, one state at a time, then a student of scikit-learn's trees.

    Returns the share of the last students' training states on which it acts as the teacher.
    """
    env = resolve(task).make()
    seen: list[Any] = []
    player: Any = teacher.act
    rng = np.random.default_rng(seed)
    for iteration in range(iterations):
        for rollout in range(rollouts):
            state, _ = env.reset(seed=iteration * rollouts + rollout)
            over = False
            while not over:
                row = np.asarray(state, dtype=np.float64)[None, :]
                seen.append(row[0])
                state, _, terminated, truncated, _ = env.step(int(player(row)[0]))
                over = terminated or truncated
        X = np.array(seen)
        scores = teacher.scores(X)
        gap = scores.max(axis=1) - scores.min(axis=1)
        rows = rng.choice(len(X), size=min(len(X), 200_000), p=gap / gap.sum())
        player = student.fit(X[rows], scores[rows].argmax(axis=1)).predict
    return float((player(X) == scores.argmax(axis=1)).mean())


def speed(task: str, n_experts: int, depth: int, reference_iterations: int) -> Row:
    """Forty iterations of ours, and some of the published loop, in CPU seconds."""
    teacher = teachers.load(task)
    student = MoETClassifier(n_experts, depth, prediction="hard", random_state=0)
    distill(teacher, task, student, iterations=2)  # compile
    _, ours = cpu_seconds(lambda: distill(teacher, task, student))
    _, same = cpu_seconds(lambda: distill(teacher, task, student, iterations=reference_iterations))
    reference = PublishedMixture(n_experts, depth)
    _, theirs = cpu_seconds(lambda: one_at_a_time(teacher, task, reference, reference_iterations, 10, seed=0))
    return {"forty": ours, "same": same, "published": theirs}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["quality", "gridworld", "speed"])
    parser.add_argument("tasks", nargs="*", default=[])
    parser.add_argument("--published", action="store_true", help="teachers from the folder MOET_TEACHERS")
    parser.add_argument("--quick", action="store_true", help="few iterations, to see that it works")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--families", nargs="+", default=["tree", "published soft", "hard", "soft"])
    parser.add_argument("--json", type=Path, help="keep the rows in this file; rows found there are not measured again")
    options = parser.parse_args()
    single_threaded()
    results = Results(options.json)
    console.print(machine())
    if options.what == "gridworld":
        show_gridworld(
            [results.measure(gridworld, n=n, seed=seed) for n in range(5, 11) for seed in range(options.seeds)]
        )
        return
    if options.what == "speed":
        cells = [("cartpole", 2, 0, 10), ("acrobot", 8, 8, 10)]
        rows = [
            results.measure(speed, task=task, n_experts=E, depth=D, reference_iterations=n) for task, E, D, n in cells
        ]
        show(
            "CPU seconds of a distillation",
            ["task", "size", "40 iterations", "the first 10", "published loop, first 10", "ratio"],
            [
                [
                    row["task"],
                    f"E{row['n_experts']}-D{row['depth']}",
                    *(row[name] for name in ("forty", "same", "published")),
                    row["published"] / row["same"],
                ]
                for row in rows
            ],
        )
        return
    for task in options.tasks or list(PLANS):
        rows = [
            results.measure(
                quality,
                task=task,
                published=options.published,
                family=family,
                n_experts=n_experts,
                depth=depth,
                iterations=3 if options.quick else PLANS[task].iterations,
                seed=seed,
            )
            for family, n_experts, depth in configurations(task, options.families)
            for seed in range(options.seeds)
        ]
        show_quality(task, rows)


if __name__ == "__main__":
    main()
