"""What attackers give a checker: proofs of every kind to start from, and what JSON can hold in any place."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from moet import Mixture, Tree
from moet.errors import CertificateError
from moet.verify import Box, Certificate, Proved, always, closest, equivalent, reaches, safe
from moet.verify.checker.meter import Meter
from moet.verify.checking import checked
from moet.verify.systems import AffineSystem
from tests.random_models import random_laws, random_mixture

from .laws import nudged
from .loops import tank, valve
from .small import half_planes, scaled

ENOUGH = 10**7
"""Units of work that are plenty for what is checked here, and take some seconds at most."""

VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    7,
    0.5,
    1e308,
    10**400,
    "",
    "right",
    "1/0",
    "1e99999999",
    [],
    [[]],
    [0],
    {},
    {"a": 1},
]
"""One or more of everything that JSON can say."""

KINDS = [
    "always",
    "equivalent",
    "closest",
    "bounds",
    "tolerance",
    "distance",
    "safe",
    "reaches",
    "blocks",
    "invariant",
    "arrival",
]


class Proof(NamedTuple):
    """A certificate with what it is about."""

    certificate: Certificate
    subjects: tuple[Any, ...]


def integrator(**changes: Any) -> AffineSystem:
    """x grows by one, or shrinks by one."""
    description = {
        "states": ["x"],
        "actions": ["down", "up"],
        "matrix": [[1]],
        "offsets": [[-1], [1]],
        "initial": {"x": (0, 1)},
        "safe": ["-1 <= x <= 5/2"],
        "goal": ["x >= 2"],
    }
    return AffineSystem("integrator", **(description | changes))


def up_to(threshold: float) -> Mixture:
    """Go up until a threshold."""
    tree = Tree([0, -1, -1], [threshold, 0, 0], [1, -1, -1], [2, -1, -1], np.eye(2)[[0, 1, 0]])
    return Mixture([[0.0]], [0.0], [tree], classes=["down", "up"])


@cache
def proof(kind: str) -> Proof:
    """A short proof of a kind."""
    cube = Box.from_bounds(-np.ones(3), np.ones(3))
    a, sure = random_mixture(1, n_experts=3, depth=2), half_planes((1.0, 0.5, 0.25), 1.8)
    laws = random_laws(1)
    questions = {
        "always": lambda: (always(sure, cube, ["right"]), sure),
        "equivalent": lambda: (equivalent(a, scaled(a), cube), a, scaled(a)),
        "closest": lambda: (closest(a, [0.1, -0.2, 0.3], "l1", cube), a),
        "bounds": lambda: (always(laws, cube, ["u <= 9", "u + w <= 15"]), laws),
        "tolerance": lambda: (equivalent(laws, nudged(laws), cube, tolerance=0.01), laws, nudged(laws)),
        "distance": lambda: (closest(laws, [0.1, -0.2, 0.3], "l1", cube, tolerance=0.3), laws),
        "safe": lambda: (safe(up_to(1.0), integrator(), steps=3), up_to(1.0), integrator()),
        "reaches": lambda: (reaches(up_to(5.0), integrator(), within=2), up_to(5.0), integrator()),
        "blocks": lambda: (safe(valve(), tank(), steps=3), valve(), tank()),
        "invariant": lambda: (safe(valve(), tank(), steps=None), valve(), tank()),
        "arrival": lambda: (reaches(valve(5.0), tank(), "level >= 1.15", within=20), valve(5.0), tank()),
    }
    verdict, *subjects = questions[kind]()
    assert isinstance(verdict, Proved), verdict
    assert verdict.certificate.kind == kind
    return Proof(verdict.certificate, tuple(subjects))


def forged(
    certificate: Certificate, claim: dict[str, Any] | None = None, codes: bytes | None = None, kind: str | None = None
) -> Certificate:
    """A certificate with another claim, other codes, or of another kind."""
    result = Certificate(kind or certificate.kind, certificate.claim if claim is None else claim)
    found = list(certificate._read_blocks())
    for k, (own, refs, numbers) in enumerate(found):
        result.add(codes if codes is not None and k == 0 else own, refs, numbers)
    if not found and codes:
        result.add(codes)
    return result


def accepts(certificate: Any, *subjects: Any) -> bool:
    """Have it checked with little work allowed; whatever is no CertificateError is not caught."""
    try:
        return checked(certificate, subjects, Meter(limit=ENOUGH))
    except CertificateError:
        return False


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths to everything in a document, of lists to the first entry only."""
    yield path
    if isinstance(document, dict):
        for key, value in document.items():
            yield from places(value, (*path, key))
    elif isinstance(document, list) and document:
        yield from places(document[0], (*path, 0))


def value_at(document: Any, path: tuple[Any, ...]) -> Any:
    """What a document has in a place."""
    for key in path:
        document = document[key]
    return document


def replaced(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy of a document with something else in one place."""
    if not path:
        return value
    changed = copy.deepcopy(document)
    value_at(changed, path[:-1])[path[-1]] = value
    return changed


def without(document: Any, path: tuple[Any, ...]) -> Any:
    """A copy of a document that lacks one place."""
    changed = copy.deepcopy(document)
    del value_at(changed, path[:-1])[path[-1]]
    return changed
