"""Forged shields: certificates of shields changed in every way, and what is accepted tried with agents that mean harm.

The checker confirms every number with which a shield decides. If it accepts a forged one, a shield is made of it and
runs are simulated behind it in exact arithmetic, or with fifty digits, with noise and disturbance at their worst. A
state that is not safe, or a goal that is not reached in time, shows that the checker was fooled.
"""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from attack import container
from attack.forgeries import CHANGES, Proof, fitting, nudge_somewhere, simple_loops
from attack.judge import WrongVerdictError
from attack.simulate import PlainSystem, between, half_spaces, holds, seen, step, told
from moet import Mixture, Tree
from moet.errors import CertificateError
from moet.model.file import decoded, encoded
from moet.shield import GoalShield, Shield
from moet.verify import check, reaches, safe, systems

RUNS, STEPS = 6, 120
"""Runs behind a shield that was accepted, and their length: long enough for one that is wrong to let them leave."""


def attack_shield(seed: int) -> str:
    """Change the certificate of a shield, ask the checker, and run into what it accepts."""
    rng = np.random.default_rng(seed)
    proof = copy.deepcopy(shields()[int(rng.integers(len(shields())))])
    if rng.random() < 0.7:
        nudge_somewhere(rng, proof.parts.claim["shield"])
    else:
        proof = CHANGES[int(rng.integers(len(CHANGES)))](rng, proof)
    proof = fitting(proof)
    try:
        check(container.load(proof.parts), *proof.models, proof.system)
    except CertificateError:
        return "refused"
    if proof.parts.kind not in ("shield", "goal_shield"):
        return "accepted, of another kind"
    _judge(proof, rng)
    return "accepted, and true"


@cache
def shields() -> list[Proof]:
    """Shields of small loops: an affine one, one with noise, disturbance and a root; and one for a goal."""
    return [*(_shield(policy, system) for policy, system in simple_loops()), _goal_shield()]


def _goal_shield() -> Proof:
    walk = systems.NonlinearSystem(
        "walk",
        states=["place"],
        actions=["back", "forth"],
        inputs={"pace": (-1, 1)},
        step={"place": "place + 0.25 * pace - 0.01 * place**2"},
        initial={"place": (0, "0.5")},
        safe=["place >= -3"],
        goal=["place >= 2"],
        domain={"place": (-4, 4)},
        disturbance={"place": ("-0.01", "0.02")},
        observation_error={"place": "0.01"},
    )
    goer = Mixture([[0.0], [1.0]], [0.0, -1.0], [Tree.leaf([0, 1])] * 2, ["back", "forth"], feature_names=["place"])
    verdict = reaches(goer, walk, within=14)
    if not verdict:
        raise WrongVerdictError(f"a simple question was not proved: {verdict}")
    shield = GoalShield(verdict.certificate, goer, walk, within=30)
    return Proof("goal_shield", container.parts(shield.certificate), [json.loads(encoded(goer))], walk.document())


def _shield(policy: Any, system: Any) -> Proof:
    verdict = safe(policy, system, None)
    if not verdict:
        raise WrongVerdictError(f"a simple question was not proved: {verdict}")
    shield = Shield(verdict.certificate, policy, system, steps=6)
    document = json.loads(encoded(policy))
    return Proof("shield", container.parts(shield.certificate), [document], system.document())


def _judge(proof: Proof, rng: np.random.Generator) -> None:
    """No run behind an accepted shield may leave the safe set, or miss the goal."""
    subjects = decoded(json.dumps(proof.models[0]).encode()), _system(proof.system)
    certificate, plain = container.load(proof.parts), PlainSystem.of(proof.system or {})
    if proof.parts.kind == "goal_shield":
        return _judge_goal(GoalShield(certificate, *subjects), plain, proof.parts.claim["goal"], rng)
    shield = Shield(certificate, *subjects)
    for _ in range(RUNS):
        run = _run(lambda seen, wanted, _: shield.act(seen, wanted), plain, rng, STEPS)
        if not all(holds(plain.safe, state) for state in run):
            raise WrongVerdictError(f"a forged shield was accepted: {list(map(told, run))}")
    return None


def _judge_goal(shield: GoalShield, plain: PlainSystem, goal: Any, rng: np.random.Generator) -> None:
    conditions = half_spaces(goal)
    steps = min(shield.within, STEPS)
    for _ in range(RUNS):
        run = _run(lambda seen, wanted, done: shield.act(seen, wanted, shield.within - done), plain, rng, steps)
        if shield.within <= STEPS and not any(holds(conditions, state) for state in run):
            raise WrongVerdictError(f"a forged shield for a goal was accepted: {list(map(told, run))}")


def _system(document: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "system.json")
        path.write_text(json.dumps(document))
        return systems.load(path)


def _run(
    act: Callable[[Any, int, int], Any], system: PlainSystem, rng: np.random.Generator, steps: int
) -> list[list[Any]]:
    """States of a run behind a shield, with an agent that pushes one way, or at random."""
    state: list[Any] = [between(side, rng) for side in system.initial]
    run, stubborn = [state], rng.random() < 0.7
    wanted = int(rng.integers(len(system.actions)))
    for done in range(steps):
        noise = [between((-most, most), rng) for most in system.noise]
        wanted = wanted if stubborn else int(rng.integers(len(system.actions)))
        action = act(seen(system, state, noise), wanted, done)
        state = step(system, state, action, [between(side, rng) for side in system.disturbance])
        run.append(state)
    return run
