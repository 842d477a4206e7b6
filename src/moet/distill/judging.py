"""How policies on the way to a proof are judged, and which of them is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.distill.evaluation import agreement
from moet.distill.outcome import Candidate, Distillation
from moet.distill.policy import Policy
from moet.envs.rollout import play
from moet.envs.seeds import Purpose, episode_seeds
from moet.envs.task import Task
from moet.model.file import Model
from moet.shield.controls import ControlShield
from moet.shield.goals import GoalShield
from moet.shield.shield import Shield
from moet.teachers.teacher import Teacher
from moet.verify.loops.interval_replay import idle_disturbance, seen
from moet.verify.loops.simulation import excess
from moet.verify.result import Proved, Refuted, Trace, Verdict
from moet.verify.systems.controls import observed
from moet.verify.systems.system import System

Floats = NDArray[np.float64]
AnyShield = Shield | GoalShield | ControlShield

LONG = 5000
"""Steps that the teacher is simulated for."""

GIVEN_UP = 0.05
"""So much fidelity may be given up for a proof without a shield."""

_EPISODES = 50
_MOST_CORNERS = 64


class Loop(NamedTuple):
    """What a policy is to be proved of, and how it is judged; ``within`` so many steps it is to reach the goal."""

    teacher: Teacher
    task: Task
    system: System
    steps: int | None
    seed: int
    within: int | None = None


def failing_run(teacher: Teacher, system: System, n_steps: int = LONG) -> Trace | None:
    """A simulated run, from a corner of the first states, in which the teacher itself leaves the safe set."""
    sides = [(float(low), float(high)) for low, high in system.initial]
    corners = np.array(list(product(*sides)))[:_MOST_CORNERS]
    idle = np.array(idle_disturbance(system), np.float64)
    states, actions = [corners], []
    for _ in range(n_steps):
        actions.append(
            np.asarray(teacher.act(observed(system, states[-1]) if system.controls else seen(system, states[-1])))
        )
        with np.errstate(all="ignore"):
            states.append(system.successor(states[-1], actions[-1]) + idle)
        unsafe = excess(system.safe, states[-1]) > 0
        if unsafe.any():
            one = int(unsafe.argmax())
            taken = [step[one] for step in actions]
            names = tuple(tuple(row.tolist()) if system.controls else system.actions[row] for row in taken)
            return Trace(np.array([state[one] for state in states]), names)
    return None


def candidate_of(name: str, share: float, mixture: Model, verdict: Verdict, loop: Loop) -> Candidate:
    """A policy and how it does, on episodes that no report is about."""
    policy = Policy.of(mixture, loop.task)
    episodes = play(policy.act, loop.task, episode_seeds(loop.seed, Purpose.FINAL_SELECTION, _EPISODES))
    right = agreement(loop.task, episodes.actions, loop.teacher.act(episodes.observations))
    return Candidate(
        name=name,
        share=share,
        fidelity=float(right.mean()),
        reward=float(episodes.returns.mean()),
        verdict="proved" if isinstance(verdict, Proved) else "refuted" if isinstance(verdict, Refuted) else "unknown",
        seconds=float(verdict.effort.get("cpu_seconds", verdict.effort.get("seconds", 0.0))),
        mixture=mixture,
        answer=verdict,
    )


def decided(
    run: Distillation, candidates: list[Candidate], guard: Callable[[], AnyShield] | None, loop: Loop
) -> Distillation:
    """Keep the most faithful of what was proved, or put the free student behind a shield."""
    free = candidates[0]
    sure = [one for one in candidates if one.verdict == "proved"]
    best = max(sure, key=lambda one: one.fidelity, default=None)
    kept = replace(run, candidates=tuple(candidates), verdict=free.answer)
    if best is not None and (best is free or best.fidelity >= free.fidelity - GIVEN_UP or guard is None):
        policy = run.policy if best is free else _policy(run, best, loop)
        return replace(kept, policy=policy, verdict=best.answer, kept=candidates.index(best))
    if guard is None:
        return kept
    shield = guard()
    return replace(kept, shield=shield, overridden=_overridden(free.mixture, shield, loop), kept=0)


def _policy(run: Distillation, candidate: Candidate, loop: Loop) -> Policy:
    provenance = dict(run.policy.provenance) | {"moved": {"name": candidate.name, "share": candidate.share}}
    return replace(Policy.of(candidate.mixture, loop.task), provenance=provenance)


def _overridden(mixture: Model, shield: AnyShield, loop: Loop) -> float:
    """Share of the student's actions that the shield replaces, in play."""
    policy = Policy.of(mixture, loop.task)
    counts, steps = [0, 0], count()

    def act(observations: Floats) -> NDArray[Any]:
        wanted, done = policy.act(observations), next(steps)
        if loop.task.box is not None:
            wanted = loop.task.box.clipped(wanted)
        taken: NDArray[Any]
        if isinstance(shield, GoalShield):  # all episodes begin together
            taken = shield.act_many(observations, wanted, max(shield.within - done, 0))
        else:
            taken = shield.act_many(observations, wanted)
        counts[0] += int(np.count_nonzero((taken != wanted).reshape(len(taken), -1).any(axis=1)))
        counts[1] += len(taken)
        return taken

    play(act, loop.task, episode_seeds(loop.seed, Purpose.FINAL_SELECTION, _EPISODES))
    return counts[0] / max(counts[1], 1)
