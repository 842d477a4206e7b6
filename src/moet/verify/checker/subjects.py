"""What the kinds of proofs are about, and how that is read. Standard library only."""

from __future__ import annotations

from typing import Any

from moet.errors import CertificateError
from moet.verify.checker.documents.laws import read_laws
from moet.verify.checker.documents.model import plain_model
from moet.verify.checker.documents.system import read_system
from moet.verify.checker.loops.flowpipe.labels import acting_laws
from moet.verify.checker.rows.claims import ROW_KINDS

ABOUT_MODELS = ("always", "equivalent", "closest")
"""Kinds of proofs about one model, or two, that answer with labels."""

ABOUT_OUTPUTS = ("bounds", "tolerance", "distance")
"""Kinds of proofs about models that answer with numbers."""

BY_FLOWPIPES = ("flowpipe", "admissible", "control_shield")
"""Kinds of proofs about a system with controls, and a model that answers with numbers or labels of actions."""

BY_PATHS = ("safe", "reaches")
BY_SETS = ("blocks", "invariant", "shield", "arrival", "goal_shield")


def about_system(kind: str) -> bool:
    """Whether proofs of this kind are about a model and a system, and not about models alone."""
    return kind in BY_PATHS or kind in BY_SETS or kind in BY_FLOWPIPES


def read_subjects(kind: str, subjects: tuple[Any, ...]) -> list[Any]:
    """What a proof of this kind is about, as plain numbers."""
    if kind in ABOUT_MODELS or kind in ROW_KINDS:
        return [plain_model(subject) for subject in subjects]
    if kind in ABOUT_OUTPUTS:
        return [read_laws(subject) for subject in subjects]
    if not about_system(kind):
        raise CertificateError(f"unknown kind of proof: {kind!r}")
    if len(subjects) != 2:
        raise CertificateError(f"a proof of {kind!r} is about a model and a system, got {len(subjects)} things")
    system = read_system(subjects[1])
    return [acting_laws(subjects[0], system) if kind in BY_FLOWPIPES else plain_model(subjects[0]), system]
