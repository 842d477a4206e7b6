"""Policies that answer with labels, as laws: every leaf sets the controls as its action does. Standard library only."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from moet.errors import CertificateError
from moet.verify.checker.documents.dynamics import Sides
from moet.verify.checker.documents.laws import LawTree, PlainLaws, read_laws
from moet.verify.checker.documents.model import PlainModel, PlainTree, answers_with_numbers, plain_model
from moet.verify.checker.documents.system import PlainSystem
from moet.verify.checker.inputs.gate import Sum, exact_sum
from moet.verify.checker.loops.geometry import action_number


def acting_laws(model: Any, system: PlainSystem) -> PlainLaws:
    """Read a model that acts on a system with controls: one that answers with numbers, or with labels of actions."""
    if answers_with_numbers(model):
        return read_laws(model)
    read = plain_model(model)
    if not system.effects:
        raise CertificateError(
            "the model answers with labels, and the system does not say what they do to its controls"
        )
    actions = list(system.effects)
    laws = [_laws(system.effects[actions[action_number(label, actions)]], read) for label in read.classes]
    trees = [_tree(tree, laws) for tree in read.trees]
    none: list[Fraction | None] = [None] * len(system.controls)
    answers = (list(system.controls), none, none, read.feature_names, read.prediction, read.digest)
    return PlainLaws(read.weights, read.bias, trees, *answers, labels=True)


def _laws(sides: Sides, model: PlainModel) -> list[Sum]:
    """Constants, and how far controls may be from them."""
    flat = exact_sum([0.0] * len(model.feature_names), 0.0)
    return [flat._replace(bias=(low + high) / 2, error=(high - low) / 2) for low, high in sides]


def _tree(tree: PlainTree, laws: list[list[Sum]]) -> LawTree:
    chosen = [laws[label] if label >= 0 else [] for label in tree.label]
    return LawTree(tree.feature, tree.threshold, tree.left, tree.right, chosen)
