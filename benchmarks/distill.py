"""Distilled students beside their teachers, plain VIPER trees and the published training of mixtures.

python benchmarks/distill.py quality [TASK ...] [--published] [--quick] [--seeds 1] [--json rows.json]
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
from pathlib import Path
from typing import Any

import numpy as np
import reference
from harness import Results, Row, console, cpu_seconds, machine, show, single_threaded
from sklearn.tree import DecisionTreeClassifier

from moet import MoETClassifier, teachers
from moet.distill import Teacher, distill, evaluate
from moet.envs.catalog import resolve

EPISODES = {"cartpole": 250, "cartpole-500": 250, "pendulum": 1_000, "pong": 30}
"""Fresh episodes per evaluation; 250 for the other tasks."""

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

GRID: dict[str, dict[str, list[Any]]] = {
    "cartpole": {"moet": [(2, 0)], "tree": [2, 4, 6, 8, 10, 12, 15]},
    "acrobot": {"moet": [(4, 6), (8, 5), (8, 8), (16, 6)], "tree": [4, 6, 8, 10, 12, 16, 20]},
    "mountaincar": {"moet": [(4, 4), (8, 4), (8, 6), (16, 5)], "tree": [4, 6, 8, 10, 12, 16, 20]},
    "lunarlander": {"moet": [(4, 8), (8, 8), (8, 12), (16, 8)], "tree": [6, 8, 10, 12, 15, 20, 30]},
    "pendulum": {"moet": [(4, 6), (8, 5), (8, 8), (16, 6)], "tree": [4, 6, 8, 10, 12, 16, 20]},
    "pong": {"moet": [(8, 8), (8, 12), (16, 10), (32, 8)], "tree": [8, 12, 16, 20, 25, 30, 35]},
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


def quality(
    task: str,
    published: bool,
    family: str,
    n_experts: int,
    depth: int,
    importance: str,
    rollouts: int,
    iterations: int,
    seed: int,
) -> Row:
    """Distil one configuration, and evaluate it on fresh episodes."""
    begin = time.process_time()
    teacher = chosen_teacher(task, published)
    run = distill(
        teacher,
        task,
        student_of(family, n_experts, depth),
        iterations=iterations,
        rollouts_per_iteration=rollouts,
        importance=importance,
        seed=seed,
    )
    seconds = time.process_time() - begin
    found = evaluate(run.policy, task, episodes=EPISODES.get(task, 250), seed=seed, teacher=teacher)
    return {
        "selection_reward": run.score.reward,
        "selection_fidelity": run.score.fidelity,
        "reward": found.reward,
        "interval": list(found.reward_interval),
        "fidelity": found.fidelity,
        "fidelity_teacher_play": found.fidelity_teacher_play,
        "teacher_reward": found.teacher_reward,
        "leaves": found.size.leaves,
        "depth_reached": found.size.depth,
        "cpu_seconds": seconds,
    }


def configurations(task: str, families: Sequence[str]) -> list[tuple[str, int, int]]:
    """Family, experts and depth of all students that a task is tried with."""
    grid = GRID[task]
    return [
        (family, *size)
        for family in families
        for size in ([(1, depth) for depth in grid["tree"]] if family == "tree" else grid["moet"])
    ]


def show_quality(task: str, rows: list[Row]) -> None:
    """Print, per family, the student chosen by reward and the one chosen by fidelity (both on selection episodes)."""
    lines = []
    for family in dict.fromkeys(row["family"] for row in rows):
        own = [row for row in rows if row["family"] == family]
        chosen = {
            "reward": max(own, key=lambda row: (row["selection_reward"], row["selection_fidelity"])),
            "fidelity": max(own, key=lambda row: row["selection_fidelity"]),
        }
        for by, row in chosen.items():
            low, high = row["interval"]
            size = f"E{row['n_experts']}-D{row['depth']}"
            fidelities = (f"{row[name]:.4f}" for name in ("fidelity", "fidelity_teacher_play"))
            reward = (f"{row['reward']:.2f}", f"{low:.1f} … {high:.1f}")
            seconds = f"{row['cpu_seconds']:.0f}"
            lines.append([family, by, size, row["leaves"], *reward, *fidelities, row["importance"], seconds])
    show(
        f"{task}: teacher {rows[0]['teacher_reward']:.2f}",
        [
            "student",
            "chosen by",
            "size",
            "leaves",
            "reward",
            "95 %",
            "fidelity",
            "in teacher's play",
            "importance",
            "s",
        ],
        lines,
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
    parser.add_argument("what", choices=["quality", "speed"])
    parser.add_argument("tasks", nargs="*", default=[])
    parser.add_argument("--published", action="store_true", help="teachers from the folder MOET_TEACHERS")
    parser.add_argument("--quick", action="store_true", help="few iterations, to see that it works")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rollouts", type=int, default=10)
    parser.add_argument("--importance", nargs="+", default=["q_gap", "uniform"])
    parser.add_argument("--families", nargs="+", default=["tree", "published hard", "hard", "soft"])
    parser.add_argument("--json", type=Path, help="keep the rows in this file; rows found there are not measured again")
    options = parser.parse_args()
    single_threaded()
    results = Results(options.json)
    console.print(machine())
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
    for task in options.tasks or list(GRID):
        rows = [
            results.measure(
                quality,
                task=task,
                published=options.published,
                family=family,
                n_experts=n_experts,
                depth=depth,
                importance=importance,
                rollouts=options.rollouts,
                iterations=3 if options.quick else 40,
                seed=seed,
            )
            for family, n_experts, depth in configurations(task, options.families)
            for importance in options.importance
            for seed in range(options.seeds)
        ]
        show_quality(task, rows)


if __name__ == "__main__":
    main()
