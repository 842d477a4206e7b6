"""Random plants with schedules, memory, several boxes or polytopes of first states, and forged proofs about them.

The plants, their simulation and z3's opinion are those of :mod:`plant_questions`. A proof is then said of a plant with
another schedule, other memory or other first states, with digests made to fit: what is accepted must hold in its runs.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import plant_questions
from plant_questions import RUNS, TOLERANCE, Judge

from attack import container
from attack.judge import RejectedProofError, WrongVerdictError
from moet.errors import CertificateError
from moet.verify import Proved, check, meets

CPU_LIMIT = 4.0


def attack_language(seed: int) -> str:
    """A verdict on a random plant must be right, and so must be what is accepted of a forged proof."""
    kind, wrong, _ = plant_questions.ask(seed)
    if "does not accept" in wrong:
        raise RejectedProofError(wrong)
    if wrong:
        raise WrongVerdictError(wrong)
    return kind


def forge_language(seed: int) -> str:
    """Say a proof of a plant that is another one in what the language of plants has."""
    rng = np.random.default_rng(seed)
    plant = plant_questions.random_plant(rng)
    policy = plant_questions.random_policy(plant, rng)
    judge = Judge(plant, policy, seed)
    if not len(judge.starts(RUNS)):
        return "no first state"
    said, missed = plant_questions.random_question(plant, judge, rng)
    verdict = meets(policy, plant, said, cpu_limit=CPU_LIMIT, seed=seed)
    if not isinstance(verdict, Proved):
        return f"nothing to forge: {type(verdict).__name__}"
    document = json.loads(json.dumps(plant.document()))
    change = _CHANGES[int(rng.integers(len(_CHANGES)))]
    change(document, rng)
    if document == plant.document():
        change = _other_start
        change(document, rng)
    parts = copy.deepcopy(container.parts(verdict.certificate))
    parts.claim["system"] = container.fitting_system_digest(document) or parts.claim["system"]
    try:
        check(container.load(parts), policy, document)
    except CertificateError:
        return "refused"
    other = copy.copy(plant)
    vars(other)["document"] = lambda: document
    simulated = Judge(other, policy, seed)
    rows = simulated.starts(4 * RUNS)
    steps = round(float(Fraction(parts.claim["spec"][0]["to"])) / simulated.period)
    if len(rows):
        times, states = simulated.runs(rows, steps)
        worst = float(missed(states, times).max())
        if worst > TOLERANCE:
            raise WrongVerdictError(f"the checker was fooled by {change.__name__}: a run misses it by {worst}")
    return "accepted, and true"


def _other_schedule(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Another interval at some step, an entry more or one less."""
    for _, sides in document["dynamics"].get("schedule", []):
        k = int(rng.integers(len(sides)))
        match int(rng.integers(3)):
            case 0:
                sides[k] = [_moved(sides[k][0], -rng.random()), _moved(sides[k][1], rng.random())]
            case 1:
                sides.append([_moved(end, rng.normal()) for end in sides[k]])
                sides[-1].sort(key=Fraction)
            case 2 if len(sides) > 1:
                sides.pop(k)


def _other_memory(document: dict[str, Any], rng: np.random.Generator) -> None:
    """Something else is remembered, or nothing is."""
    memory = document["dynamics"].get("memory", [])
    if memory and rng.random() < 0.7:
        memory[0][1] = str(rng.choice(["u + 1", "-x", "0.5 * m + x * u + 0.3", "3"]))
    elif memory:
        document["dynamics"].pop("memory")


def _other_start(document: dict[str, Any], rng: np.random.Generator) -> None:
    """A wider box, a box more, no polytope, or another initial box than the first states say."""
    first = document.get("first")
    boxes = document["initial"] if first is None else first["boxes"][int(rng.integers(len(first["boxes"])))]
    k = int(rng.integers(len(boxes)))
    if first is not None and rng.random() < 0.5:
        if first["where"] and rng.random() < 0.5:
            first["where"].pop()
        else:
            first["boxes"].append([[_moved(low, 0.1), _moved(high, 0.2)] for low, high in boxes])
    else:
        boxes[k] = [_moved(boxes[k][0], -0.1 * rng.random()), _moved(boxes[k][1], 0.1 * rng.random())]
    if first is not None and rng.random() < 0.8:  # the least box that has all of them
        ends = list(zip(*first["boxes"], strict=True))
        document["initial"] = [
            [min((s[0] for s in own), key=Fraction), max((s[1] for s in own), key=Fraction)] for own in ends
        ]


def _moved(number: str, by: float) -> str:
    return str(Fraction(number) + Fraction(round(by, 3)).limit_denominator(1000))


_CHANGES: list[Callable[[dict[str, Any], np.random.Generator], None]] = [_other_schedule, _other_memory, _other_start]
