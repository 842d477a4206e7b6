"""Distillation that ends with a proof that a goal is reached: as it is, by a member of a family, or behind a shield.

As :mod:`moet.distill.prove` does for safety: the student is asked about, then others that were fitted to the same
states: with the run that refuted it, with other seeds, and smaller ones, whose proofs are cheaper. What is most
faithful among what was proved is kept; if that is much less faithful than the free student, the free student is, behind
a shield that gets it to the goal in time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.distill.dataset import Labelled, Sample
from moet.distill.judging import Loop, candidate_of, decided, followed, run_of
from moet.distill.outcome import Candidate, Distillation
from moet.distill.policy import Policy
from moet.distill.student import fit_student
from moet.model.classifier import MoETClassifier
from moet.model.file import digest
from moet.model.mixture import Mixture
from moet.shield.goals import GoalShield
from moet.verify.limits import Deadline
from moet.verify.loops.questions import reaches
from moet.verify.loops.simulation import excess, runs_outside, simulate
from moet.verify.result import Proved, Trace
from moet.verify.systems.controls import observed

FOR_STUDENT, FOR_MEMBER, FOR_MEMBERS = 120.0, 90.0, 400.0
"""Seconds of CPU time for the question about the student, each of the others, and all of them."""

_SIZES = ((4, 1), (2, 1), (3, 0), (2, 2))
"""Experts and depth of smaller students."""

_SEEDS = 3
_TEACHER_RUNS, _RUNS = 64, 400
"""Simulated runs of the teacher, and of a student before it is asked about."""


def proved_goal(run: Distillation, student: Any, free: Mixture, loop: Loop, say: Callable[[str], None]) -> Distillation:
    """Go on from a distillation until its policy surely reaches the goal, or does behind a shield."""
    assert loop.within is not None
    loop.system.goal_conditions(None)  # complains where there is none
    say("simulating the teacher")
    failure = missing_run(loop)
    say("asking about the student")
    candidates = [_asked("student", free, loop, FOR_STUDENT)]
    if candidates[0].verdict != "proved":
        candidates += _members(run, student, candidates[0], loop, say)
    best = max((one for one in candidates if one.verdict == "proved"), key=lambda one: one.fidelity, default=None)
    return replace(decided(run, candidates, _guard(best, loop), loop), teacher_failure=failure)


def missing_run(loop: Loop) -> Trace | None:
    """A simulated run in which the teacher itself does not get to the goal in time."""
    system, goal = loop.system, loop.system.goal_conditions(None)
    low, high = np.array([[float(a), float(b)] for a, b in system.initial]).T
    states = [np.random.default_rng(0).uniform(low, high, (_TEACHER_RUNS, len(low)))]
    actions: list[NDArray[np.int64]] = []
    for _ in range(loop.within or 0):
        taken, following = followed(loop.teacher, system, states[-1])
        actions.append(taken)
        states.append(following)
    missed = np.flatnonzero(np.all(excess(goal, np.array(states)) > 0, axis=0))
    return run_of(system, states, actions, int(missed[0])) if len(missed) else None


def _asked(name: str, mixture: Mixture, loop: Loop, limit: float) -> Candidate:
    assert loop.within is not None
    verdict = reaches(mixture, loop.system, within=loop.within, cpu_limit=limit)
    return candidate_of(name, 0.0, mixture, verdict, loop)


def _members(
    run: Distillation, student: Any, free: Candidate, loop: Loop, say: Callable[[str], None]
) -> Iterator[Candidate]:
    """Students that simulated runs do not refute, until one is proved or time is up."""
    deadline = Deadline(None, FOR_MEMBERS)
    known = {digest(free.mixture)}
    for name, prototype, seed in _prototypes(run, student):
        if deadline.passed:
            return
        mixture = _fitted(prototype, _data(run, free, loop), seed, loop)
        if mixture is None or digest(mixture) in known or _misses(mixture, loop):
            continue
        known.add(digest(mixture))
        say(f"asking about {name}")
        found = _asked(name, mixture, loop, FOR_MEMBER)
        yield found
        if found.verdict == "proved":
            return


def _prototypes(run: Distillation, student: Any) -> Iterator[tuple[str, Any, int]]:
    """Names, classifiers and seeds of students to try."""
    size = run.policy.mixture.size
    own = student or MoETClassifier(n_experts=size.experts, max_depth=size.depth, prediction="hard")
    for seed in range(_SEEDS):
        yield "taught", own, seed
    for experts, depth in _SIZES:
        smaller = MoETClassifier(n_experts=experts, max_depth=depth, prediction="hard")
        for seed in range(_SEEDS):
            yield f"E{experts}-D{depth}", smaller, seed


def _data(run: Distillation, free: Candidate, loop: Loop) -> Labelled:
    """All states that were collected and those of the run that refuted the student, by the teacher."""
    trace = getattr(free.answer, "trace", None)
    if trace is None:
        return run.data
    data, seen = run.data, observed(loop.system, trace.states[:-1])
    episode = np.full(len(seen), data.episode.max() + 1)
    weight = np.full(len(seen), data.importance.mean())
    return Labelled.joined([data, Labelled(seen, np.asarray(loop.teacher.act(seen)), weight, episode)])


def _fitted(prototype: Any, data: Labelled, seed: int, loop: Loop) -> Mixture | None:
    model = fit_student(prototype, Sample(data.features, data.actions, None, data.episode), seed)
    mixture = Policy(model, loop.task).mixture if isinstance(model, Mixture) else None
    return mixture if isinstance(mixture, Mixture) else None


def _misses(mixture: Mixture, loop: Loop) -> bool:
    """Whether a simulated run does not get to the goal in time; questions about plants begin with such runs."""
    assert loop.within is not None
    if loop.system.controls:
        return False
    runs = simulate(mixture, loop.system, loop.within, 0, _RUNS)
    return bool(runs_outside(loop.system.goal_conditions(None), runs).size)


def _guard(best: Candidate | None, loop: Loop) -> Callable[[], GoalShield] | None:
    """A shield; the proof must be one about sets that lead to the goal, which those of plants with controls are not."""
    if best is None or not isinstance(best.answer, Proved) or best.answer.certificate.kind != "arrival":
        return None
    certificate, mixture = best.answer.certificate, best.mixture
    return lambda: GoalShield(certificate, mixture, loop.system)
