"""Continuous agents as small mixtures of laws: reward against numbers, before and after tuning.

    MOET_AGENTS=folder python benchmarks/continuous.py rows.json                      # everything that is missing
    MOET_AGENTS=folder python benchmarks/continuous.py rows.json --only pendulum
    python benchmarks/continuous.py rows.json --show                                  # what is there, as tables

A row is a teacher, a student and a seed: distilled, perhaps tuned, and played on 100 fresh episodes, on Pendulum and
BipedalWalker 1,000: how hard episodes are, and how many end in a fall, is luck, of which 100 leave eight and four
points. Rows that the file has are not made again, so that
a run may be stopped at any time. MOET_AGENTS holds agents of the public zoo, named algorithm_environment.zip, with
algorithm_environment.vecnormalize.pkl beside some, and crossq_HalfCheetah-v5.zip of benchmarks/train_agents.py.
"""

import argparse
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from moet import MoETRegressor, teachers
from moet.distill import Teacher, distill, evaluate, tune
from moet.distill.evaluation import play_report
from moet.distill.selection import Selection
from moet.teachers.adapters import checked

EPISODES, REPORT = 100, 12_345
MANY = {"BipedalWalker-v3": 1_000, "Pendulum-v1": 1_000}


@dataclass(frozen=True)
class Plan:
    """A row to be: who teaches what to whom."""

    table: str
    agent: str
    env: str
    experts: int | None
    depth: int = 0
    seed: int = 0
    importance: str = "uniform"
    iterations: int = 20
    rollouts: int = 10
    tuning: int = 0
    selection: int = 50
    rule: Selection = "reward"
    tree: int = 0

    @property
    def key(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


def plans() -> list[Plan]:
    """In the order in which a part of the table is useful."""
    car, lander, walker = "MountainCarContinuous-v0", "LunarLanderContinuous-v3", "BipedalWalker-v3"
    found = [Plan("car", f"ars_{car}", car, 1, seed=seed, iterations=5) for seed in range(3)]
    for seed in range(3):
        for agent in ("tqc", "sac", "ddpg"):
            for importance in ("uniform", "q_gap"):
                found.append(Plan("importance", f"{agent}_Pendulum-v1", "Pendulum-v1", 4, 0, seed, importance, 12, 5))
    zoo = "trpo_LunarLanderContinuous-v2"
    found += [Plan("lander", zoo, lander, experts, 0, seed, iterations=20, selection=20, rule="reward_then_fidelity")
              for experts in (1, 4) for seed in range(3)]  # fmt: skip
    for seed in range(3):
        for agent in ("tqc", "sac", "ddpg", "ppo"):
            critic = "uniform" if agent == "ppo" else "q_gap"
            plan = Plan("pendulum", f"{agent}_Pendulum-v1", "Pendulum-v1", 4, 0, seed, critic, 12, 5, tuning=20_000)
            found.append(plan)
    found += [Plan("tuned-law", zoo, lander, 1, 0, seed, iterations=4, selection=20, tuning=6_000) for seed in range(3)]
    found += [Plan("tuned-lander", zoo, lander, 2, 0, seed, iterations=4, selection=20, tuning=24_000)
              for seed in range(3)]  # fmt: skip
    found += [Plan("swimmer", "bundled", "Swimmer-v5", 1, 0, seed, iterations=3, rollouts=2, selection=3)
              for seed in range(3)]  # fmt: skip
    found += [Plan("walker", f"a2c_{walker}", walker, 3, 0, seed, iterations=16, rollouts=5, selection=10)
              for seed in range(3)]  # fmt: skip
    cheetah = "HalfCheetah-v5"
    found += [Plan("cheetah", f"crossq_{cheetah}", cheetah, experts, depth, 0, "uniform", 10, 4, 0, 8, "reward", tree)
              for experts, depth, tree in ((7, 2, 0), (None, 0, 437), (4, 0, 0), (8, 0, 0), (1, 0, 0))]  # fmt: skip
    return found


def student_of(plan: Plan) -> Any:
    """A mixture of laws, one tree with so many constant leaves, or nothing where the size is to be found."""
    if plan.tree:
        return DecisionTreeRegressor(max_leaf_nodes=plan.tree, random_state=plan.seed)
    return None if plan.experts is None else MoETRegressor(plan.experts, plan.depth)


def teacher_of(plan: Plan) -> Teacher:
    if plan.agent == "bundled":
        return teachers.load(plan.env)
    folder = Path(os.environ["MOET_AGENTS"])
    statistics = folder / f"{plan.agent}.vecnormalize.pkl"
    return Teacher.from_sb3(folder / f"{plan.agent}.zip", normalize=statistics if statistics.exists() else None)


def measured(policy, teacher, guided) -> dict:
    episodes = len(guided.returns)
    found = evaluate(policy, episodes=episodes, seed=REPORT, teacher=teacher, guided=guided)
    worst = np.sort(found.returns)
    return {
        "reward": found.reward,
        "interval": found.reward_interval,
        "worst": float(worst[0]),
        "fifth": float(worst[: episodes // 20].mean()),
        "teacher": found.teacher_reward,
        "numbers": found.numbers,
        "r2": found.r2,
        "fidelity": found.fidelity,
        "q_regret": found.q_regret,
    }


def row(plan: Plan) -> dict:
    teacher = teacher_of(plan)
    begin = time.process_time()
    run = distill(
        teacher, plan.env, student_of(plan), iterations=plan.iterations, rollouts_per_iteration=plan.rollouts,
        importance=plan.importance, selection=plan.rule, selection_episodes=plan.selection, seed=plan.seed,
    )  # fmt: skip
    seconds = time.process_time() - begin
    guided = play_report(checked(teacher, run.policy.task), run.policy.task, MANY.get(plan.env, EPISODES), REPORT)
    found = {"distilled": measured(run.policy, teacher, guided), "distilling": seconds}
    if plan.tuning:
        begin = time.process_time()
        better = tune(run.policy, episodes=plan.tuning, seed=plan.seed)
        seconds = time.process_time() - begin
        found |= {"tuned": measured(better, teacher, guided), "tuning": seconds}
    return found


def show(rows: dict) -> None:
    """One line per teacher and size: mean over seeds, and what every seed came to."""
    groups: dict[tuple, list] = {}
    for plan in plans():
        if plan.key in rows:
            size = f"tree of {plan.tree}" if plan.tree else f"E{plan.experts}-D{plan.depth}"
            group = (plan.table, plan.agent, size, plan.importance)
            groups.setdefault(group, []).append(rows[plan.key])
    for (table, agent, size, importance), members in groups.items():
        for stage in ("distilled", "tuned"):
            seen = [member[stage] for member in members if stage in member]
            if not seen:
                continue
            rewards = ", ".join(f"{one['reward']:.1f}" for one in seen)
            worst = min(one["worst"] for one in seen)
            r2 = ", ".join("" if one["r2"] is None else f"{one['r2']:.3f}" for one in seen)
            regret = "" if seen[0]["q_regret"] is None else f"{np.mean([one['q_regret'] for one in seen]):.3f}"
            numbers = "/".join(sorted({str(one["numbers"]) for one in seen}))
            teacher = np.mean([one["teacher"] for one in seen])
            mean = np.mean([one["reward"] for one in seen])
            seconds = np.mean([member["distilling" if stage == "distilled" else "tuning"] for member in members])
            print(
                f"| {table} | {agent} {size} {importance} | {stage} | {numbers} | {teacher:.1f} | "
                f"{mean:.1f} | {rewards} | {worst:.1f} | {r2} | {regret} | {seconds:.0f} s |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--only", help="a table")
    parser.add_argument("--seed", type=int, help="rows of this seed only")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    rows = json.loads(options.rows.read_text()) if options.rows.exists() else {}
    for plan in [] if options.show else plans():
        if plan.key not in rows and options.only in (None, plan.table) and options.seed in (None, plan.seed):
            rows[plan.key] = row(plan)
            unfinished = options.rows.with_suffix(".part")
            unfinished.write_text(json.dumps(rows, indent=1))
            unfinished.replace(options.rows)
            print(plan, rows[plan.key], flush=True)
    show(rows)


if __name__ == "__main__":
    main()
