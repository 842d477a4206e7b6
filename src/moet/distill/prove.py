"""Distillation that ends with a certificate: proved as it is, moved until it is proved, or behind a shield.

The teacher is simulated for long first: one that fails by itself says so. Then the student is asked about, then one
linear law that imitates the teacher, in fences of laws that the system yields; then the same student taught by what
refuted it, and students on ways from the linear law to one that is proved. What is most faithful among what was proved
is kept.
If that is much less faithful than the free student, the free student is kept, behind a shield that the safe law makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.distill.dataset import Labelled, Sample
from moet.distill.fence import FENCE, Fence, band, can_be_fenced, fenced, fences
from moet.distill.judging import GIVEN_UP, Loop, candidate_of, decided, failing_run, is_enough
from moet.distill.line import can_be_moved, moved
from moet.distill.lqr import SafeLaw, regulators, safe_law
from moet.distill.outcome import Candidate, Distillation
from moet.distill.policy import Policy
from moet.distill.student import fit_student
from moet.distill.ways import ALL, Search, Way, fidelity
from moet.errors import InputError
from moet.model.classifier import MoETClassifier
from moet.model.mixture import Mixture
from moet.shield.shield import Shield
from moet.verify.limits import Deadline
from moet.verify.loops.interval_replay import seen
from moet.verify.loops.questions import safe
from moet.verify.loops.sets.widen import closely, widened
from moet.verify.result import Proved, Refuted, Trace, Verdict
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

FOR_STUDENT, FOR_LAW, FOR_SHARE, FOR_WAYS = 20.0, 30.0, 15.0, 40.0
"""Seconds of CPU time for each of the questions, and for all those on ways to the safe law."""

FOR_FENCES = 70.0
"""Seconds of CPU time for students in fences: a proof takes 15 to 60, and sets that grow too wide tell so sooner."""

LOST_IN_FENCES = (0.0005, 0.003, 0.015, GIVEN_UP)
"""Fidelity that may be lost by a fence: hardly any, then more."""


def proved(run: Distillation, student: Any, loop: Loop, say: Callable[[str], None] = lambda note: None) -> Distillation:
    """Go on from a distillation until its policy has a certificate, or a shield does.

    Parameters
    ----------
    run : Distillation
        Of the free student.
    student : classifier or None
        What was fitted in it; None if its size was found.
    loop : Loop
    say : callable
        Told what is being done.
    """
    if loop.system.controls and loop.within is None:
        from moet.distill.prove_controls import proved_controls

        return proved_controls(run, loop, say)
    free = _free(run, loop.system)
    if loop.within is not None:
        from moet.distill.prove_goal import proved_goal

        return proved_goal(run, student, free, loop, say)
    say("simulating the teacher")
    failure = failing_run(loop.teacher, loop.system)
    say("asking about the student")
    verdict = _ask(free, loop)
    candidates = [candidate_of("student", 0.0, free, verdict, loop)]
    law: SafeLaw | None = None
    if not isinstance(verdict, Proved):
        line = free if can_be_moved(free) else _linear(run, loop)
        if line is not None and loop.steps is None:
            candidates += _in_fences(line, free, run.data.features, loop, say)
        if not is_enough(candidates):
            say("looking for a safe law")
            law = safe_law(loop.system, cpu_limit=FOR_LAW)
        if law is not None:
            candidates += _attempts(run, student, line, candidates, law, failure, loop, say)
    return replace(decided(run, candidates, _guard(law, loop), loop), teacher_failure=failure)


def _free(run: Distillation, system: System) -> Mixture:
    mixture = run.policy.mixture
    if not isinstance(mixture, Mixture):
        raise InputError(f"the system {system.name!r} has actions, and the policy answers with numbers")
    if not system.effects:
        system.actions_of(mixture)
    if mixture.prediction != "hard" and mixture.n_experts > 1:
        raise InputError("prove is about hard mixtures, and this student is soft; leave prediction='soft' out")
    return mixture


def _guard(law: SafeLaw | None, loop: Loop) -> Callable[[], Shield] | None:
    return None if law is None else lambda: Shield(law.verdict.certificate, law.policy, loop.system)


def _ask(mixture: Mixture, loop: Loop, limit: float = FOR_STUDENT) -> Verdict:
    return safe(mixture, loop.system, loop.steps, cpu_limit=limit)


def _ask_coarsely(mixture: Mixture, loop: Loop) -> Verdict:
    """A cheap question: no more than coarse sets, for ever or for the steps that are wanted."""
    if loop.steps is not None:
        return _ask(mixture, loop, FOR_SHARE)
    deadline = Deadline(None, FOR_SHARE)
    verdict = widened(mixture, loop.system, deadline, widen=False)
    return replace(verdict, effort={**verdict.effort, "cpu_seconds": deadline.cpu_seconds})


def _attempts(
    run: Distillation,
    student: Any,
    line: Mixture | None,
    asked: list[Candidate],
    law: SafeLaw,
    failure: Trace | None,
    loop: Loop,
    say: Callable[[str], None],
) -> Iterator[Candidate]:
    """Policies near the free student, or between its linear one and a safe law, that may be proved."""
    free, verdict = asked[0].mixture, asked[0].answer
    if isinstance(verdict, Refuted) and verdict.trace is not None:
        say("teaching the student what refuted it")
        taught = _taught(run, student, verdict.trace, law.policy if failure is not None else None, loop)
        if taught is not None:
            answer = _ask_coarsely(taught, loop)
            yield candidate_of("taught", 0.0, taught, answer, loop)
            if isinstance(answer, Proved):
                return
    if line is None or any(one.verdict == "proved" for one in asked):
        return
    if line is not free:
        candidate = candidate_of(ALL, 0.0, line, _ask_coarsely(line, loop), loop)
        yield candidate
        if candidate.verdict == "proved":
            return
    yield from _on_ways(partial(moved, line, law.policy, system=loop.system, states=run.data.features), loop, say)


def _in_fences(line: Mixture, free: Mixture, states: Floats, loop: Loop, say: Callable[[str], None]) -> list[Candidate]:
    """Ask about a linear student in fences, the least faithful first, which is mostly proved soon; then by halves."""
    laws = [law for law in regulators(loop.system) if can_be_fenced(line, law)]
    least = fidelity(free, loop.teacher, loop.system) - GIVEN_UP
    found = fences(line, laws, loop.teacher, loop.system, states, LOST_IN_FENCES, least)
    asked: list[Candidate] = []
    left, low, high, number = Deadline(None, FOR_FENCES), 0, len(found), len(found) - 1
    while low < high and not left.passed:
        fence = found[number]
        say(f"asking about a fence of width {fence.width:g}")
        mixture = fenced(line, fence.law, fence.width, loop.system, states)
        asked.append(_fenced_candidate(mixture, fence, Deadline(None, left.left), loop))
        low, high = (low, number) if asked[-1].verdict == "proved" else (number + 1, high)
        number = (low + high) // 2
    return asked


def _fenced_candidate(mixture: Mixture, fence: Fence, deadline: Deadline, loop: Loop) -> Candidate:
    verdict = closely(mixture, loop.system, deadline, band(fence, loop.system))
    verdict = replace(verdict, effort={**verdict.effort, "cpu_seconds": deadline.cpu_seconds})
    return candidate_of(FENCE, 1 - fence.width, mixture, verdict, loop)


def _on_ways(policy: Callable[[Floats], Mixture], loop: Loop, say: Callable[[str], None]) -> Iterator[Candidate]:
    """Ask about policies on ways to the safe law that are faithful enough to be kept."""
    asked: list[Candidate] = []

    def ask(way: Way, share: float) -> tuple[bool, float]:
        what = "" if way.name == ALL else f" with {way.name} alone"
        say(f"asking about {share:.1%} of the way to the safe law{what}")
        mixture = policy(share * way.moves)
        asked.append(candidate_of(way.name, share, mixture, _ask_coarsely(mixture, loop), loop))
        return asked[-1].verdict == "proved", asked[-1].fidelity

    deadline = Deadline(None, FOR_WAYS)
    student = fidelity(policy(np.zeros(loop.system.n_states + 1)), loop.teacher, loop.system)
    Search(policy, loop.teacher, loop.system, ask).run(student - GIVEN_UP, lambda: deadline.passed)
    return iter(asked)


def _taught(run: Distillation, student: Any, trace: Trace, law: Mixture | None, loop: Loop) -> Mixture | None:
    """The student fitted again, with the states of a run that left the safe set: by the law, or by the teacher."""
    states = trace.states[:-1]
    if law is None:
        actions = np.asarray(loop.teacher.act(states))
    else:
        number = dict(zip(law.classes.tolist(), loop.system.actions_of(law), strict=True))
        actions = np.array([number[label] for label in law.predict_hard(seen(loop.system, states)).tolist()])
    data = run.data
    episode = np.full(len(states), data.episode.max() + 1)
    more = Labelled(states, actions, np.full(len(states), data.importance.mean()), episode)
    joined = Labelled.joined([data, more])
    return _fitted(_prototype(run, student), joined, loop)


def _linear(run: Distillation, loop: Loop) -> Mixture | None:
    """One linear law that imitates the teacher as well as such a law can."""
    found = _fitted(_law_student(len(loop.system.actions)), run.data, loop)
    return found if found is not None and can_be_moved(found) else None


def _fitted(prototype: Any, data: Labelled, loop: Loop) -> Mixture | None:
    sample = Sample(data.features, data.actions, None, data.episode)
    model = fit_student(prototype, sample, loop.seed)
    if not isinstance(model, Mixture):
        return None
    mixture = Policy(model, loop.task).mixture
    assert isinstance(mixture, Mixture)
    return mixture


def _prototype(run: Distillation, student: Any) -> Any:
    if student is not None:
        return student
    size = run.policy.mixture.size
    return MoETClassifier(n_experts=size.experts, max_depth=size.depth, prediction="hard")


def _law_student(n_actions: int) -> MoETClassifier:
    return MoETClassifier(n_experts=n_actions, max_depth=0, prediction="hard")
