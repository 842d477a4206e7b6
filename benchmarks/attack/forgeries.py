"""Forged proofs: certificates, models and systems changed in every way, and digests made to fit.

What a checker accepts must be true. A forged claim that it accepts is tried like a question: if an input or a run
refutes it, the checker was fooled. Anything but a refusal by CertificateError is an escape.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from attack import container
from attack.judge import Plain, WrongVerdictError, nasty_points
from attack.simulate import PlainSystem, half_spaces, holds, runs, told
from moet import Box, Mixture, Tree
from moet.errors import CertificateError
from moet.model.file import encoded
from moet.verify import always, check, closest, equivalent, reaches, safe, systems

LONG = 30
"""Steps for which accepted claims are tried."""

JUNK = (None, True, False, 0, -1, 1, 3, 2**70, 10**400, 0.5, 1e308, "", "1", "1/3", "1/0", "nan", "1e999999999", "left")
JUNK += ([], [None], [[]], [0, 1], {}, {"a": 1}, [[1e308]], "0" * 5000, [[["x"]]], float("1e-310"), "left right")
"""What may stand where something else is expected."""


class Proof(NamedTuple):
    """A certificate's file in parts, and what it is about as documents."""

    kind: str
    parts: container.Parts
    models: list[dict[str, Any]]
    system: dict[str, Any] | None


def forge(seed: int) -> str:
    """Change a proof, ask the checker, and judge what it accepts."""
    rng = np.random.default_rng(seed)
    proof = proofs()[int(rng.integers(len(proofs())))]
    changed = copy.deepcopy(proof)
    for _ in range(int(rng.integers(1, 4))):
        changed = CHANGES[int(rng.integers(len(CHANGES)))](rng, changed)
    changed = fitting(changed)
    try:
        subjects = [*changed.models, *([changed.system] if changed.system is not None else [])]
        check(container.load(changed.parts), *subjects)
    except CertificateError:
        return f"{proof.kind} refused"
    _judge(changed, rng)
    return f"{proof.kind} accepted, and true"


@cache
def proofs() -> list[Proof]:
    """One small proof of every kind."""
    line = Mixture([[0.0, 0.0], [1.0, 2.0]], [0.0, 0.5], [Tree.leaf([1, 0]), _stump(0.25)], ["left", "right"])
    other = Mixture([[0.0, 0.0], [2.0, 4.0]], [0.0, 1.0], [Tree.leaf([1, 0]), _stump(0.25)], ["left", "right"])
    box = Box.from_bounds(np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    low = Box.from_bounds(np.array([-1.0, -1.0]), np.array([0.0, -0.5]))
    valve, tank = _valve(), _tank()
    room = _room()
    return [
        _proof(always(line, low, ["left"]), [line], None),
        _proof(equivalent(line, other, box), [line, other], None),
        _proof(closest(line, [-0.5, -0.5], "linf", box), [line], None),
        _proof(safe(valve, room, 5), [valve], room),
        _proof(safe(steering(), cart(), 5), [steering()], cart()),
        _proof(reaches(valve, room, "level <= 1.4", within=5), [valve], room),
        _proof(safe(valve, tank, 6), [valve], tank),
        _proof(safe(valve, tank, None), [valve], tank),
        _proof(reaches(valve, tank, "level >= 0.95", within=10), [valve], tank),
    ]


def simple_loops() -> list[tuple[Mixture, Any]]:
    """Policies that are proved safe for ever, and their systems."""
    return [(_valve(), _tank()), (_valve(), _room())]


def _proof(verdict: Any, models: list[Mixture], system: Any) -> Proof:
    if not verdict:
        raise WrongVerdictError(f"a simple question was not proved: {verdict}")
    described = None if system is None else system.document()
    documents = [json.loads(encoded(model)) for model in models]
    return Proof(verdict.certificate.kind, container.parts(verdict.certificate), documents, described)


def _stump(threshold: float) -> Tree:
    return Tree([1, -1, -1], [threshold, 0.0, 0.0], [1, -1, -1], [2, -1, -1], np.eye(2)[[0, 0, 1]])


def _valve() -> Mixture:
    tree = Tree([0, -1, -1], [1.0, 0.0, 0.0], [1, -1, -1], [2, -1, -1], np.eye(2)[[1, 1, 0]])
    return Mixture([[0.0]], [0.0], [tree], classes=["closed", "open"], feature_names=["level"])


def _tank() -> Any:
    return systems.NonlinearSystem(
        "tank",
        states=["level"],
        actions=["closed", "open"],
        inputs={"inflow": (0, "0.3")},
        step={"level": "level + 0.1 * (inflow - 0.15 * sqrt(level))"},
        initial={"level": (0.9, 1.1)},
        safe=["0.5 <= level <= 1.5"],
        disturbance={"level": 0.002},
        observation_error={"level": 0.01},
    )


def _room() -> Any:
    return systems.AffineSystem(
        "room",
        states=["level"],
        actions=["closed", "open"],
        matrix=[["0.9"]],
        offsets=[[0], ["0.2"]],
        initial={"level": (0.9, "1.1")},
        safe=["0.5 <= level <= 1.5"],
    )


def steering() -> Mixture:
    """Three experts, one of them with a tree: a proof about them has records of every kind."""
    weights = [[-1.0, -1.0], [1.0, 1.0], [0.75, 1.0]]
    trees = [Tree.leaf([1, 0]), Tree.leaf([0, 1]), _stump(0.125)]
    return Mixture(weights, [0.0, 0.0, 0.05], trees, classes=["right", "left"], feature_names=["place", "speed"])


def cart() -> Any:
    """A cart that is pushed to and fro."""
    return systems.AffineSystem(
        "cart",
        states=["place", "speed"],
        actions=["right", "left"],
        matrix=[[1, "0.25"], ["-0.1", "0.9"]],
        offsets=[[0, "0.2"], [0, "-0.2"]],
        initial={"place": ("-0.3", "0.3"), "speed": ("-0.3", "0.3")},
        safe=["-0.6 <= place <= 0.6", "speed <= 0.7"],
    )


def _change_claim(rng: np.random.Generator, proof: Proof) -> Proof:
    """Junk in place of some value of the claim, or a value changed a little."""
    nudge_somewhere(rng, proof.parts.claim)
    return proof


def _change_claim_keys(rng: np.random.Generator, proof: Proof) -> Proof:
    """A key missing, a key too many, or a key of another kind of proof."""
    claim = proof.parts.claim
    if rng.random() < 0.5 and claim:
        del claim[str(rng.choice(list(claim)))]
    else:
        claim[str(rng.choice(["answers", "goal", "steps", "extra", "classes", "distance"]))] = _junk(rng)
    return proof


def _change_kind(rng: np.random.Generator, proof: Proof) -> Proof:
    """A proof that says to be of another kind."""
    kinds = [other.kind for other in proofs()]
    return proof._replace(parts=proof.parts._replace(kind=str(rng.choice([*kinds, "", "other"]))))


def _change_records(rng: np.random.Generator, proof: Proof) -> Proof:
    """Codes, references or numbers changed, dropped or repeated."""
    codes, refs, numbers = proof.parts.records
    which = (codes, refs, numbers)[int(rng.integers(3))]
    if len(which):
        at = int(rng.integers(len(which)))
        match rng.integers(3):
            case 0:
                del which[at]
            case 1:
                which.insert(at, which[at])
            case _:
                which[at] = _other(rng, which[at], which is codes)
    return proof


def _other(rng: np.random.Generator, value: Any, is_code: bool) -> Any:
    if is_code:
        return int(rng.integers(256))
    if isinstance(value, int):
        return int(rng.choice([-(2**31), -1, 0, 1, value + 1, value - 1, 2**31 - 1]).clip(-(2**31), 2**31 - 1))
    return float(rng.choice([0.0, -value, 2 * value, value * (1 + 1e-9), 1e308, -1e-310, np.nan, np.inf]))


def _change_model(rng: np.random.Generator, proof: Proof) -> Proof:
    """Another model: some number of it changed."""
    nudge_somewhere(rng, proof.models[int(rng.integers(len(proof.models)))], gentle=0.8)
    return proof


def _change_system(rng: np.random.Generator, proof: Proof) -> Proof:
    """Another system: some number or text of it changed."""
    if proof.system is not None:
        nudge_somewhere(rng, proof.system, gentle=0.8)
    return proof


CHANGES: list[Callable[[np.random.Generator, Proof], Proof]] = [
    _change_claim,
    _change_claim_keys,
    _change_kind,
    _change_records,
    _change_model,
    _change_system,
]


def nudge_somewhere(rng: np.random.Generator, document: Any, gentle: float = 0.5) -> None:
    """Change one value, deep inside."""
    here = document
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        if not keys:
            return
        key = keys[int(rng.integers(len(keys)))]
        if isinstance(here[key], dict | list) and here[key] and rng.random() < 0.9:
            here = here[key]
            continue
        here[key] = _nudged(rng, here[key]) if rng.random() < gentle else _junk(rng)
        return


def _nudged(rng: np.random.Generator, value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return value + int(rng.choice([-1, 1, 2]))
    if isinstance(value, float):
        return float(rng.choice([-value, value + 0.1, value - 0.1, 2 * value, np.nextafter(value, np.inf)]))
    if isinstance(value, str):
        return str(rng.choice(["0", "-1", "1/3", "2", "1.0", value + " ", "-" + value, value + " + 1", "(1)"]))
    return _junk(rng)


def _junk(rng: np.random.Generator) -> Any:
    return copy.deepcopy(JUNK[int(rng.integers(len(JUNK)))])


def fitting(proof: Proof) -> Proof:
    """A forger makes digests fit, as far as documents have one."""
    digests = [container.model_digest(model) for model in proof.models]
    claim = proof.parts.claim
    if "model" in claim and digests[0] is not None:
        claim["model"] = digests[0]
    if "models" in claim:
        claim["models"] = (
            [new or old for new, old in zip(digests, claim["models"], strict=False)]
            if isinstance(claim["models"], list)
            else claim["models"]
        )
    if "system" in claim and proof.system is not None:
        claim["system"] = container.fitting_system_digest(proof.system) or claim["system"]
    return proof


def _judge(proof: Proof, rng: np.random.Generator) -> None:
    """An accepted claim must survive a search for what refutes it."""
    claim = proof.parts.claim
    what = json.dumps({"kind": proof.parts.kind, "claim": claim}, default=str)[:400]
    if proof.system is not None:
        if run := _refuting_run(proof.parts.kind, claim, proof, rng):
            raise WrongVerdictError(f"the checker was fooled: {list(map(told, run))}: {what}")
        return
    plains = [container.plain(model) for model in proof.models]
    lo = [-np.inf if side is None else side for side in claim["lo"]]
    hi = [np.inf if side is None else side for side in claim["hi"]]
    for x in nasty_points(plains, lo, hi, rng, 200):
        if _refutes(proof.parts.kind, claim, plains, x):
            raise WrongVerdictError(f"the checker was fooled: {x}: {what}")


def _refuting_run(kind: str, claim: dict[str, Any], proof: Proof, rng: np.random.Generator) -> list[list[Any]] | None:
    """A run that a claim about a closed loop rules out, if one is found."""
    plain, system = container.plain(proof.models[0]), PlainSystem.of(proof.system or {})
    steps = LONG if claim["steps"] is None else claim["steps"]
    for run in runs(plain, system, min(steps, LONG), rng):
        if kind in ("reaches", "arrival"):
            if len(run) > steps and not any(holds(half_spaces(claim["goal"]), state) for state in run):
                return run
        elif not all(holds(system.safe, state) for state in run):
            return run
    return None


def _refutes(kind: str, claim: dict[str, Any], plains: list[Plain], x: list[float]) -> bool:
    exact = [Fraction(v) for v in x]
    if kind == "always":
        return plains[0].deployed(x) not in claim["answers"] and not plains[0].overflows(x)
    if kind == "equivalent":
        first, second = (plain.exact(exact) for plain in plains)
        wanted = claim["classes"]
        return first != second and (wanted is None or first in wanted or second in wanted)
    own = plains[0].exact([Fraction(v) for v in claim["point"]])
    answer = plains[0].exact(exact)
    if (answer == own) if claim["answer"] is None else (answer != claim["answer"]):
        return False
    gaps = [abs(a - Fraction(b)) for a, b in zip(exact, claim["point"], strict=True)]
    distance = max(gaps) if claim["norm"] == "linf" else sum(gaps, Fraction(0))
    return claim["distance"] is None or distance < Fraction(claim["distance"])
