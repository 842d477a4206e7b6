"""Forged shields: certificates of shields changed in every way, and what is accepted tried with agents that mean harm.

The checker confirms every number with which a shield decides. If it accepts a forged one, a shield is made of it and
runs are simulated behind it in exact arithmetic, or with fifty digits, with noise and disturbance at their worst. A
state that is not safe shows that the checker was fooled.
"""

from __future__ import annotations

import copy
import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from attack import container
from attack.forgeries import CHANGES, Proof, fitting, nudge_somewhere, simple_loops
from attack.judge import WrongVerdictError
from attack.simulate import PlainSystem, between, holds, seen, step, told
from moet.errors import CertificateError
from moet.model.file import decoded, encoded
from moet.shield import Shield
from moet.verify import check, safe, systems

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
    if proof.parts.kind != "shield":
        return "accepted, of another kind"
    _judge(proof, rng)
    return "accepted, and true"


@cache
def shields() -> list[Proof]:
    """Shields of small loops: an affine one, one with noise, disturbance and a root."""
    return [_shield(policy, system) for policy, system in simple_loops()]


def _shield(policy: Any, system: Any) -> Proof:
    verdict = safe(policy, system, None)
    if not verdict:
        raise WrongVerdictError(f"a simple question was not proved: {verdict}")
    shield = Shield(verdict.certificate, policy, system, steps=6)
    document = json.loads(encoded(policy))
    return Proof("shield", container.parts(shield.certificate), [document], system.document())


def _judge(proof: Proof, rng: np.random.Generator) -> None:
    """No run behind an accepted shield may leave the safe set."""
    shield = Shield(container.load(proof.parts), decoded(json.dumps(proof.models[0]).encode()), _system(proof.system))
    plain = PlainSystem.of(proof.system or {})
    for _ in range(RUNS):
        run = _run(shield, plain, rng)
        if not all(holds(plain.safe, state) for state in run):
            raise WrongVerdictError(f"a forged shield was accepted: {list(map(told, run))}")


def _system(document: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "system.json")
        path.write_text(json.dumps(document))
        return systems.load(path)


def _run(shield: Shield, system: PlainSystem, rng: np.random.Generator) -> list[list[Any]]:
    """States of a run behind a shield, with an agent that pushes one way, or at random."""
    state: list[Any] = [between(side, rng) for side in system.initial]
    run, stubborn = [state], rng.random() < 0.7
    wanted = int(rng.integers(len(system.actions)))
    for _ in range(STEPS):
        noise = [between((-most, most), rng) for most in system.noise]
        wanted = wanted if stubborn else int(rng.integers(len(system.actions)))
        action = shield.act(seen(system, state, noise), wanted)
        state = step(system, state, action, [between(side, rng) for side in system.disturbance])
        run.append(state)
    return run
