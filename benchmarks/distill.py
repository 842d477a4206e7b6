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
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import reference
from harness import Results, Row, console, cpu_seconds, machine, show, single_threaded
from sklearn.tree import DecisionTreeClassifier

from moet import MoETClassifier, teachers
from moet.distill import Evaluation, Policy, Teacher, distill, evaluate
from moet.distill.dataset import Importance
from moet.distill.evaluation import play_report
from moet.distill.selection import Selection
from moet.envs.catalog import resolve
from moet.envs.rollout import Episodes
from moet.study.presets import BOOSTED, PUBLISHED_GATE


@dataclass(frozen=True)
class Plan:
    """What a task is tried with, and how long; the same for every student."""

    mixtures: tuple[tuple[int, int], ...]
    """Experts and depth."""
    tree_depths: tuple[int, ...]
    boosted: tuple[tuple[int, int], ...] = ()
    """Experts and depth of boosted soft mixtures."""
    iterations: int = 20
    rollouts: int = 40
    selection_episodes: int = 100
    report_episodes: int = 500
    selection: Selection = "harmonic"
    importance: Importance = "uniform"
    options: dict[str, Any] = field(default_factory=dict)
    """Of our mixtures, where the defaults are not the best."""
    elsewhere: str | None = None
    """A variant of the task, with more or less chance in it, that the chosen student plays as well."""


FAMILIES = ("tree", "published soft", "hard", "soft", "boosted soft")

PLANS = {
    "cartpole": Plan(((2, 0),), (4, 8, 15), iterations=40, rollouts=10, selection_episodes=50),
    "acrobot": Plan(
        ((32, 0),),
        (8, 12, 16),
        boosted=((16, 10),),
        iterations=15,
        rollouts=100,
        selection_episodes=250,
        selection="reward_then_fidelity",
    ),
    "mountaincar": Plan(((8, 4),), (6, 10, 15)),
    "lunarlander": Plan(
        ((16, 0), (32, 7)),
        (10, 15, 20),
        boosted=((8, 12), (16, 8)),
        iterations=8,
        rollouts=100,
        selection_episodes=40,
        report_episodes=250,
        selection="reward_then_fidelity",
    ),
    "pendulum": Plan(((16, 6), (8, 12)), (8, 12, 16), boosted=((16, 16),), report_episodes=1_000),
    # a game of Pong takes seconds, and greedy play has four to offer: what was seen once counts
    "pong-18": Plan(
        ((8, 30),),
        (30,),
        iterations=4,
        rollouts=15,
        selection_episodes=1,
        report_episodes=30,
        options={"min_samples_leaf": 1},
        elsewhere="pong-18-noisy",
    ),
    "pong": Plan(
        ((8, 30),),
        (30,),
        boosted=((16, 12),),
        iterations=6,
        rollouts=10,
        selection_episodes=1,
        report_episodes=30,
        selection="reward_then_fidelity",
        importance="q_gap",
        options={"min_samples_leaf": 1},
    ),
}


def chosen_teacher(task: str, published: bool) -> Teacher:
    """Our teacher of a task, or the one that others published."""
    if not published:
        return teachers.load(task)
    return Teacher.from_arrays(published_weights(task))


def published_weights(task: str) -> Path:
    """Where the teacher is that others published, if there is one."""
    return Path(os.environ["MOET_TEACHERS"]) / f"{task}.npz"


def student_of(family: str, n_experts: int, depth: int, ours: dict[str, Any]) -> Any:
    """A student that has not learned anything yet."""
    if family == "tree":
        return DecisionTreeClassifier(max_depth=depth, random_state=0)
    options = {"published": PUBLISHED_GATE | {"max_iter": 50}, "boosted": BOOSTED}.get(family.split()[0], ours)
    prediction = "hard" if family.endswith("hard") else "soft"
    return MoETClassifier(n_experts, depth, prediction=prediction, random_state=0, **options)


@cache
def teacher_play(task: str, published: bool, episodes: int, seed: int) -> Episodes:
    """The teacher's play of the episodes that students are reported on, which all of them share."""
    return play_report(chosen_teacher(task, published), resolve(task), episodes, seed)


def report(policy: Policy, task: str, published: bool, episodes: int, seed: int) -> Evaluation:
    """Measure a student on fresh episodes, beside its teacher."""
    guided = teacher_play(task, published, episodes, seed)
    teacher = chosen_teacher(task, published)
    return evaluate(policy, task, episodes=episodes, seed=seed, teacher=teacher, guided=guided)


def quality(task: str, published: bool, family: str, n_experts: int, depth: int, iterations: int, seed: int) -> Row:
    """Distil one configuration and evaluate the chosen student on fresh episodes."""
    plan = PLANS[task]
    teacher = chosen_teacher(task, published)
    run, seconds = cpu_seconds(
        lambda: distill(
            teacher,
            task,
            student_of(family, n_experts, depth, plan.options),
            iterations=iterations,
            rollouts_per_iteration=plan.rollouts,
            importance=plan.importance,
            selection=plan.selection,
            selection_episodes=plan.selection_episodes,
            seed=seed,
        )
    )
    found = report(run.policy, task, published, plan.report_episodes, seed)
    figures = ("reward", "reward_interval", "fidelity", "fidelity_teacher_play", "teacher_reward", "q_regret")
    return {name: getattr(found, name) for name in figures} | {
        "distinct_games": found.distinct_games,
        "leaves": run.score.leaves,
        "selected": run.selected,
        "selection_reward": run.score.reward,
        "selection_fidelity": run.score.fidelity,
        "cpu_seconds": seconds,
        "elsewhere": play_elsewhere(run.policy, plan, published, seed) if plan.elsewhere else None,
    }


def play_elsewhere(policy: Policy, plan: Plan, published: bool, seed: int) -> Row:
    """How a student does in a variant of the task that it was not trained on."""
    assert plan.elsewhere is not None
    found = report(policy, plan.elsewhere, published, plan.report_episodes, seed)
    figures = ("reward", "reward_interval", "fidelity", "teacher_reward", "distinct_games")
    return {"task": plan.elsewhere} | {name: getattr(found, name) for name in figures}


def configurations(task: str, families: Sequence[str]) -> list[tuple[str, int, int]]:
    """Family, experts and depth of all students that a task is tried with."""
    plan = PLANS[task]
    special = {"tree": [(1, depth) for depth in plan.tree_depths], "boosted soft": plan.boosted}
    return [(family, *size) for family in families for size in special.get(family, plan.mixtures)]


def show_quality(task: str, rows: list[Row]) -> None:
    """Print how each student did on fresh episodes."""
    show(
        f"{task}: teacher {rows[0]['teacher_reward']:.2f}",
        ["student", "size", "leaves", "reward", "95 %", "fidelity", "teacher's play", "regret", "s"],
        [
            [
                row["family"],
                f"E{row['n_experts']}-D{row['depth']}",
                row["leaves"],
                f"{row['reward']:.2f}",
                "{:.1f} … {:.1f}".format(*row["reward_interval"]),
                f"{row['fidelity']:.4f}",
                f"{row['fidelity_teacher_play']:.4f}",
                row["q_regret"],
                f"{row['cpu_seconds']:.0f}",
            ]
            for row in rows
        ],
    )


def show_elsewhere(rows: list[Row]) -> None:
    """Print how the students did in another variant of their task, if it was tried."""
    played = [(row, row["elsewhere"]) for row in rows if row["elsewhere"]]
    if played:
        show(
            "{task}: teacher {teacher_reward:.2f}".format(**played[0][1]),
            ["student", "size", "reward", "95 %", "fidelity", "games"],
            [
                [
                    row["family"],
                    f"E{row['n_experts']}-D{row['depth']}",
                    f"{found['reward']:.2f}",
                    "{:.1f} … {:.1f}".format(*found["reward_interval"]),
                    f"{found['fidelity']:.4f}",
                    found["distinct_games"],
                ]
                for row, found in played
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
    parser.add_argument("what", choices=["quality", "speed"])
    parser.add_argument("tasks", nargs="*", default=[])
    parser.add_argument("--published", action="store_true", help="teachers from the folder MOET_TEACHERS")
    parser.add_argument("--quick", action="store_true", help="few iterations, to see that it works")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--families", nargs="+", default=FAMILIES)
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
    taught = [task for task in PLANS if not options.published or published_weights(task).exists()]
    for task in options.tasks or taught:
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
        show_elsewhere(rows)


if __name__ == "__main__":
    main()
