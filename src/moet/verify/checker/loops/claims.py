"""What certificates about closed loops claim: paths, sets and goals. Standard library only.

Read as the claims of :mod:`~moet.verify.checker.inputs.claims` are.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.documents.dynamics import Sides, Vector
from moet.verify.checker.documents.model import PlainModel
from moet.verify.checker.documents.reading import doubles, interval, items, members, shown, whole
from moet.verify.checker.documents.system import HalfSpace, PlainSystem, half_spaces
from moet.verify.checker.inputs.claims import named

MOST_STEPS = 10_000
"""Steps of one block, or of a proof that follows paths."""

MOST_STEPS_IN_BLOCKS = 10**9


class Paths(NamedTuple):
    """Runs stay safe for so many steps or, if there is a goal, reach it."""

    steps: int
    goal: list[HalfSpace] | None
    coarse: int


class EnclosureClaim(NamedTuple):
    """A step is matrix·x plus something between ``low`` and ``high``, by piece and action, on a box cut at edges."""

    box: Sides
    matrix: list[Vector]
    variable: int
    edges: Vector
    low: list[list[Vector]]
    high: list[list[Vector]]


class BlockClaim(NamedTuple):
    """Some steps from one set to the next; ``start`` and ``edges`` are given in proofs of arrival only."""

    steps: int
    watch: Vector
    target: list[Vector | None]
    enclosure: int | EnclosureClaim
    start: tuple[int, int] | None
    edges: Vector


class Sets(NamedTuple):
    """Runs stay safe for so many steps, None for ever, for they stay in these sets."""

    steps: int | None
    slice: Vector
    edges: Vector
    directions: list[Vector]
    enclosures: list[EnclosureClaim]
    blocks: list[BlockClaim]


class Part(NamedTuple):
    """Some of the first states, and how they get to the goal."""

    box: Sides
    slice: Vector
    directions: list[Vector]
    blocks: list[BlockClaim]


class Arrival(NamedTuple):
    """Every run is in the goal at some time within so many steps."""

    steps: int
    goal: list[HalfSpace]
    parts: list[Part]


def paths(kind: str, claim: Any, model: PlainModel, system: PlainSystem) -> Paths:
    """Read the claim of a proof that follows paths: ``"safe"`` or ``"reaches"``."""
    goal = ("goal",) if kind == "reaches" else ()
    members(claim, "the claim", ("model", "system", "name", "steps", *goal), optional=("coarse",))
    _loop(claim, model, system)
    return Paths(
        whole(claim["steps"], "steps", 0, MOST_STEPS),
        _goal(claim["goal"], system) if goal else None,
        whole(claim.get("coarse", 0), "coarse", 0, 2),
    )


def sets(kind: str, claim: Any, model: PlainModel, system: PlainSystem) -> Sets:
    """Read the claim of a proof that leads from set to set: ``"blocks"`` or ``"invariant"``."""
    template = ("slice", "edges", "directions")
    members(claim, "the claim", ("model", "system", "steps", *template, "enclosures", "blocks"))
    _loop(claim, model, system)
    d = len(system.states)
    steps = None if kind == "invariant" else whole(claim["steps"], "steps", 0, MOST_STEPS_IN_BLOCKS)
    if steps is None and claim["steps"] is not None:
        raise CertificateError(f"an invariant holds for ever, but {shown(claim['steps'])} steps are claimed")
    edges = ascending(doubles(claim["edges"], "edges"), "edges")
    enclosures = [_enclosure(part, system) for part in items(claim["enclosures"], "enclosures")]
    n_rows = 2 * d + 2 + len(items(claim["directions"], "directions"))
    blocks = []
    for part in items(claim["blocks"], "blocks"):
        members(part, "a block", ("steps", "watch", "set", "enclosure"))
        number = whole(part["enclosure"], "the enclosure of a block", 0, len(enclosures) - 1)
        blocks.append(_block(part, system, n_rows, len(edges) + 1, number, None, []))
    return Sets(
        steps,
        doubles(claim["slice"], "slice", d),
        edges,
        [doubles(row, "directions", d) for row in claim["directions"]],
        enclosures,
        blocks,
    )


def arrival(claim: Any, model: PlainModel, system: PlainSystem) -> Arrival:
    """Read the claim of a proof that every run gets to a goal."""
    members(claim, "the claim", ("model", "system", "name", "steps", "goal", "parts"))
    _loop(claim, model, system)
    d = len(system.states)
    parts = []
    for part in items(claim["parts"], "parts"):
        members(part, "a part", ("initial", "slice", "directions", "blocks"))
        directions = [doubles(row, "directions", d) for row in items(part["directions"], "directions")]
        blocks = [_leg(block, system, 2 * d + 2 + len(directions)) for block in items(part["blocks"], "blocks")]
        box = [interval(side, "initial") for side in items(part["initial"], "initial", d)]
        parts.append(Part(box, doubles(part["slice"], "slice", d), directions, blocks))
    return Arrival(whole(claim["steps"], "steps", 0, MOST_STEPS_IN_BLOCKS), _goal(claim["goal"], system), parts)


def _leg(part: Any, system: PlainSystem, n_rows: int) -> BlockClaim:
    members(part, "a block", ("steps", "watch", "set", "enclosure", "start", "edges"))
    start = part["start"]
    if start is not None:
        block, cell = (whole(number, "start", 0, 2**31) for number in items(start, "start", 2))
        start = block, cell
    edges = ascending(doubles(part["edges"], "edges"), "edges")
    return _block(part, system, n_rows, len(edges) + 1, _enclosure(part["enclosure"], system), start, edges)


def _block(
    part: Any,
    system: PlainSystem,
    n_rows: int,
    n_cells: int,
    enclosure: int | EnclosureClaim,
    start: tuple[int, int] | None,
    edges: Vector,
) -> BlockClaim:
    target = [None if cell is None else doubles(cell, "a set", n_rows) for cell in items(part["set"], "a set", n_cells)]
    return BlockClaim(
        whole(part["steps"], "the steps of a block", 0, MOST_STEPS),
        doubles(part["watch"], "watch"),
        target,
        enclosure,
        start,
        edges,
    )


def _enclosure(part: Any, system: PlainSystem) -> EnclosureClaim:
    members(part, "an enclosure", ("bottom", "top", "matrix", "variable", "edges", "low", "high"))
    d, n_actions = len(system.states), len(system.actions)
    edges = doubles(part["edges"], "the edges of an enclosure")
    low, high = (
        [
            [doubles(row, side, d) for row in items(rows, side, n_actions)]
            for rows in items(part[side], side, len(edges) - 1)
        ]
        for side in ("low", "high")
    )
    return EnclosureClaim(
        list(zip(doubles(part["bottom"], "bottom", d), doubles(part["top"], "top", d), strict=True)),
        [doubles(row, "matrix", d) for row in items(part["matrix"], "matrix", d)],
        whole(part["variable"], "variable", 0, d - 1),
        edges,
        low,
        high,
    )


def ascending(values: Vector, where: str) -> Vector:
    """Return numbers that must be in order."""
    if not all(a < b for a, b in pairwise(values)):
        raise CertificateError(f"{where} must be in order, each larger than the one before")
    return values


def _loop(claim: dict[str, Any], model: PlainModel, system: PlainSystem) -> None:
    """Complain unless a claim is about this model and this system."""
    named(claim["model"], model.digest, "model")
    named(claim["system"], system.digest, "system")
    if claim.get("name", system.name) != system.name:
        raise CertificateError(f"the claim calls the system {shown(claim['name'])}, its name is {shown(system.name)}")
    if system.controls:
        raise CertificateError("the proof is about a system with actions, and this one has controls")
    if not model.is_hard:
        raise CertificateError("the proof is about a hard mixture, but this model predicts softly")
    if len(model.feature_names) != len(system.states):
        raise CertificateError(
            f"the model has {len(model.feature_names)} features, the system {len(system.states)} states"
        )
    if model.feature_names != system.states and sorted(model.feature_names) == sorted(system.states):
        raise CertificateError("the model's features are the system's states in another order")


def _goal(value: Any, system: PlainSystem) -> list[HalfSpace]:
    goal = half_spaces(value, "goal", len(system.states))
    if not goal:
        raise CertificateError("the certificate claims no goal")
    return goal
