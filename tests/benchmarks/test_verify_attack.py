"""A share of the attacks of benchmarks/verify_attack.py, which makes a hundred thousand."""

import copy
from importlib import import_module

import numpy as np
import pytest
from verify_attack import KINDS, attempt

PER_KIND = 40


@pytest.mark.parametrize("kind", KINDS)
def test_no_attack_succeeds(kind):
    pytest.importorskip("z3")
    pytest.importorskip("mpmath")
    defects = [outcome for seed in range(PER_KIND) if (outcome := attempt(kind, seed)).defect]
    assert not defects


FOUND = [
    ("range", 30001155),  # constant gates
    ("table of numbers", 40000236),  # rows without an output
    ("affine reaches", 40004071),  # multipliers of exact thirds
    ("sum of trees", 60000685),  # votes that tie nearer than the first tie that was seen
    ("sum of trees", 60003137),  # votes that differ by 5e-324
    ("table of numbers", 80000343),  # one expert, whose logit is infinite and compared with none
    ("tied table", 80000847),  # two gates of which one has much smaller numbers
]
"""Attacks that once succeeded."""


@pytest.mark.parametrize(("kind", "seed"), FOUND)
def test_attacks_that_once_succeeded_do_so_no_more(kind, seed):
    pytest.importorskip("z3")
    pytest.importorskip("mpmath")
    assert not attempt(kind, seed).defect


def test_a_forged_shield_that_slipped_through_would_be_seen(monkeypatch):
    """The attack on shields is not idle: with a checker that believes everything, runs leave the safe set."""
    pytest.importorskip("mpmath")
    from attack import shields

    forged = copy.deepcopy(shields.shields()[0])
    numbers = forged.parts.claim["shield"]
    numbers["limits"] = [None if cell is None else [9.0 for _ in cell] for cell in numbers["limits"]]
    numbers["top"], numbers["bottom"] = [9.0], [-9.0]
    monkeypatch.setattr("moet.shield.look_ahead.check", lambda *subjects: None)
    with pytest.raises(AssertionError, match="forged shield"):
        shields._judge(forged, np.random.default_rng(0))


def test_a_forged_shield_for_a_goal_that_slipped_through_would_be_seen(monkeypatch):
    """With a checker that believes that every state is in the goal, runs are late."""
    pytest.importorskip("mpmath")
    from attack import shields

    forged = copy.deepcopy(shields.shields()[-1])
    forged.parts.claim["shield"]["limits"] = [[9.0]]
    monkeypatch.setattr("moet.shield.look_ahead.check", lambda *subjects: None)
    with pytest.raises(AssertionError, match="for a goal"):
        shields._judge(forged, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("module", "attack", "told"),
    [("plant_language", "forge_language", "fooled by"), ("names", "attack_names", "refutes it")],
    ids=["a plant with other first states", "models with other words"],
)
def test_a_forgery_that_slipped_through_would_be_seen(monkeypatch, module, attack, told):
    """With a checker that believes everything, some run or row shows that what was proved is not so."""
    pytest.importorskip("z3")
    pytest.importorskip("mpmath")
    kind = import_module(f"attack.{module}")
    monkeypatch.setattr(kind, "check", lambda *subjects: None)
    with pytest.raises(AssertionError, match=told):
        list(map(getattr(kind, attack), range(60)))
