"""How policies on the way to a proof are judged, and which of them is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
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
from moet.verify.loops.interval_replay import idle_disturbance
from moet.verify.loops.simulation import excess
from moet.verify.result import Proved, Refuted, Trace, Verdict
from moet.verify.systems.controls import effects_at, observed
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
    states, actions = [np.array(list(product(*sides)))[:_MOST_CORNERS]], []
    for _ in range(n_steps):
        taken, following = followed(teacher, system, states[-1])
        actions.append(taken)
        states.append(following)
        unsafe = excess(system.safe, following) > 0
        if unsafe.any():
            return run_of(system, states, actions, int(unsafe.argmax()))
    return None


def followed(teacher: Teacher, system: System, states: Floats) -> tuple[NDArray[Any], Floats]:
    """What the teacher does in states, and where that leads with the least disturbance."""
    actions = np.asarray(teacher.act(observed(system, states)))
    taken = effects_at(system, 0.5)[actions] if system.effects else actions
    with np.errstate(all="ignore"):
        return actions, system.successor(states, taken) + np.array(idle_disturbance(system), np.float64)


def run_of(system: System, states: Sequence[Floats], actions: Sequence[NDArray[Any]], one: int) -> Trace:
    """One of the runs that were followed side by side, with its actions by name, or the numbers of its controls."""
    names, taken = tuple(system.effects) or system.actions, [step[one] for step in actions]
    told = tuple(names[action] if names else tuple(action.tolist()) for action in taken)
    return Trace(np.array([state[one] for state in states]), told)


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
    free, best = candidates[0], _most_faithful(candidates)
    kept = replace(run, candidates=tuple(candidates), verdict=free.answer)
    if best is not None and (guard is None or is_enough(candidates)):
        policy = run.policy if best is free else _policy(run, best, loop)
        return replace(kept, policy=policy, verdict=best.answer, kept=candidates.index(best))
    if guard is None:
        return kept
    shield = guard()
    return replace(kept, shield=shield, overridden=_overridden(free.mixture, shield, loop), kept=0)


def is_enough(candidates: list[Candidate]) -> bool:
    """Whether one of them is proved that is hardly less faithful than the first, which is the free student."""
    free, best = candidates[0], _most_faithful(candidates)
    return best is not None and (best is free or best.fidelity >= free.fidelity - GIVEN_UP)


def _most_faithful(candidates: list[Candidate]) -> Candidate | None:
    """Of those that were proved."""
    sure = [one for one in candidates if one.verdict == "proved"]
    return max(sure, key=lambda one: one.fidelity, default=None)


def _policy(run: Distillation, candidate: Candidate, loop: Loop) -> Policy:
    provenance = dict(run.policy.provenance) | {"moved": {"name": candidate.name, "share": candidate.share}}
    return replace(Policy.of(candidate.mixture, loop.task), provenance=provenance)


def _overridden(mixture: Model, shield: AnyShield, loop: Loop) -> float:
    """Share of the student's actions that the shield replaces, in play: of those that are taken while it guards."""
    policy, replaced, taken = Policy.of(mixture, loop.task), 0, 0
    for seed in episode_seeds(loop.seed, Purpose.FINAL_SELECTION, _EPISODES):
        guarded = Guarded(policy, shield)
        play(guarded, loop.task, [seed])
        replaced, taken = replaced + guarded.replaced, taken + guarded.taken
    return replaced / max(taken, 1)


class Guarded:
    """A policy behind a shield, in one episode, which may begin where no proof covers it.

    Then the policy acts alone until it is where the one that was proved surely holds.

    Attributes
    ----------
    taken, replaced : int
        Actions that were taken while the shield guarded, and those of them that were not the policy's.
    """

    def __init__(self, policy: Policy, shield: AnyShield) -> None:
        self._policy, self._shield = policy, shield
        self._begun = self._guards = False
        self.taken = self.replaced = 0

    def __call__(self, observations: Floats) -> NDArray[Any]:
        """Action for the one episode that is played."""
        wanted, box = self._policy.act(observations), self._policy.task.box
        if box is not None:
            wanted = box.clipped(wanted)
        seen = observations[0]
        self._guards = self._guards or self._shield.holds(seen) or (not self._begun and self._shield.covers_start(seen))
        self._begun = True
        if not self._guards:
            return wanted
        done = self._done(observations, wanted)
        self.taken, self.replaced = self.taken + 1, self.replaced + bool(np.any(done != wanted))
        return done

    def _done(self, observations: Floats, wanted: NDArray[Any]) -> NDArray[Any]:
        if isinstance(self._shield, GoalShield):
            return self._shield.act_many(observations, wanted, max(self._shield.within - self.taken, 0))
        return self._shield.act_many(observations, wanted)
