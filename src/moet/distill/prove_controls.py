"""Distillation into numbers that ends with a certificate: proved as it is, moved until it is proved, or shielded.

As :mod:`moet.distill.prove` does for actions: the student is asked about, then one affine law that imitates the
teacher, then laws on the straight line from it to a regulator of the plant, as near to the student as is proved. The
regulator itself is the last resort where its proof is none that a shield can stand on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from moet.distill.dataset import Sample
from moet.distill.judging import GIVEN_UP, LONG, Loop, candidate_of, decided, failing_run
from moet.distill.outcome import Candidate, Distillation
from moet.distill.regulators import ControlLaw, control_law
from moet.distill.student import fit_student
from moet.errors import InputError
from moet.model.regression.mixture import RegressionMixture
from moet.model.regression.regressor import MoETRegressor
from moet.model.regression.tree import RegressionTree
from moet.shield.controls import ControlShield
from moet.verify.loops.questions import safe
from moet.verify.systems.controls import check_policy
from moet.verify.systems.sampled import SampledSystem

FOR_STUDENT, FOR_LAW, FOR_SHARE = 20.0, 40.0, 8.0
"""Seconds of CPU time for the questions about the student, regulators of the plant, and each law between."""

HALVINGS = 4
"""How often a share of the way that is proved is brought closer to the student."""


def proved_controls(run: Distillation, loop: Loop, say: Callable[[str], None]) -> Distillation:
    """Go on from a distillation until its policy has a certificate, or a shield does."""
    free = run.policy.mixture
    if not isinstance(free, RegressionMixture):
        raise InputError(f"the system {loop.system.name!r} has controls, and the policy chooses actions")
    check_policy(loop.system, free)
    say("simulating the teacher")
    failure = failing_run(loop.teacher, loop.system, LONG // 10 if isinstance(loop.system, SampledSystem) else LONG)
    say("asking about the student")
    candidates = [_asked("student", 0.0, free, loop, FOR_STUDENT)]
    law: ControlLaw | None = None
    if candidates[0].verdict != "proved":
        say("looking for a regulator of the plant")
        law = control_law(loop.system, cpu_limit=FOR_LAW, widen=True)
        candidates += _on_the_way(run, free, law, loop, say)
        if law is not None and not any(one.verdict == "proved" for one in candidates):
            candidates.append(candidate_of("line", 1.0, law.policy, law.verdict, loop))
    guard = None if law is None or law.verdict.certificate.kind != "admissible" else _guard(law, loop)
    return replace(decided(run, candidates, guard, loop), teacher_failure=failure)


def _guard(law: ControlLaw, loop: Loop) -> Callable[[], ControlShield]:
    return lambda: ControlShield(law.verdict.certificate, law.policy, loop.system)


def _asked(name: str, share: float, mixture: RegressionMixture, loop: Loop, limit: float) -> Candidate:
    verdict = safe(mixture, loop.system, loop.steps, cpu_limit=limit)
    return candidate_of(name, share, mixture, verdict, loop)


def _on_the_way(
    run: Distillation, free: RegressionMixture, law: ControlLaw | None, loop: Loop, say: Callable[[str], None]
) -> Iterator[Candidate]:
    """One law that imitates the teacher and, if it is not proved, laws between it and the regulator."""
    line = _linear(run, free, loop)
    say("asking about one affine law")
    found = _asked("line", 0.0, line, loop, FOR_SHARE)
    yield found
    if found.verdict == "proved" or law is None or tuple(loop.system.features) != tuple(loop.system.states):
        return
    near, far, asked = 0.0, 1.0, [found]
    for _ in range(HALVINGS):
        share = (near + far) / 2
        say(f"asking about {share:.1%} of the way to the regulator")
        found = _asked("line", share, _between(line, law.policy, share), loop, FOR_SHARE)
        yield found
        asked.append(found)
        near, far = (near, share) if found.verdict == "proved" else (share, far)
        if found.verdict != "proved" and found.fidelity < asked[0].fidelity - GIVEN_UP:
            return  # what is further is less faithful than what may be given up


def _linear(run: Distillation, free: RegressionMixture, loop: Loop) -> RegressionMixture:
    """One affine law that imitates the teacher as well as such a law can."""
    if free.n_experts == 1 and free.trees[0].n_nodes == 1:
        return free
    data = run.data
    student = MoETRegressor(n_experts=1, max_depth=0, leaf="affine", prediction="hard")
    model: Any = fit_student(student, Sample(data.features, data.actions, None, data.episode), loop.seed, loop.task.box)
    assert isinstance(model, RegressionMixture)
    return _named(model, loop)


def _between(line: RegressionMixture, law: RegressionMixture, share: float) -> RegressionMixture:
    """The law that is a share of the way from one to another."""
    first, second = line.trees[0], law.trees[0]
    slopes = [0.0 if tree.slope is None else tree.slope[0] for tree in (first, second)]
    value = (1 - share) * first.value[0] + share * second.value[0]
    slope = (1 - share) * slopes[0] + share * slopes[1]
    return law.rebuilt(law.gate_weights, law.gate_bias, [RegressionTree.leaf(value, slope=slope)])


def _named(model: RegressionMixture, loop: Loop) -> RegressionMixture:
    """The same model with the names that the plant has for what it sees and does."""
    return RegressionMixture(
        model.gate_weights,
        model.gate_bias,
        model.trees,
        tuple(loop.system.controls),
        low=model.low,
        high=model.high,
        feature_names=tuple(loop.system.features),
        prediction=model.prediction,
    )
