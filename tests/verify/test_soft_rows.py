"""Questions about possible rows that soft models answer, with any gate."""

from array import array

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_tables import all_rows, random_schema, random_soft, replace_votes
from verify_rows import attempt

from moet import Box, Column, Mixture, MoETClassifier, Schema, Tree, verify
from moet.errors import CertificateError
from moet.model.file import digest
from moet.verify.checker.certificate import Certificate
from moet.verify.soft.changes import TOLERANCE
from moet.verify.soft.search import BEYOND, KEEP, ORDERED, SPLIT, SURE

SCHEMA = Schema(
    [
        Column("Age", "integer", ("Age",), 18, 70),
        Column("Amount", "number", ("Amount",), 0.0, 10.0),
        Column("Home", "category", ("Home=own", "Home=rent"), categories=("own", "rent")),
    ]
)
OLD = Tree([0, -1, -1], [40.5, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
SURE_OF_BAD = Tree.leaf([0.7, 0.3])
MODEL = Mixture(
    [[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
    [-3.0, 0.0],
    [OLD, SURE_OF_BAD],
    ["bad", "good"],
    prediction="soft",
    schema=SCHEMA,
)
"""Good from 41 years on if the amount is above 3 + ln(0.4 / 0.6): then the first expert has two fifths of the votes."""

BORDER = 3.0 + np.log(0.4 / 0.6)


def codes_of(certificate):
    return {code for codes, _, _ in certificate._read_blocks() for code in codes}


def test_a_model_that_fit_makes_by_default_is_asked_all_questions():
    rng = np.random.default_rng(0)
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"Age": rng.integers(18, 70, 300), "Home": rng.choice(["own", "rent", "free"], 300)})
    risk = np.where((table["Age"] > 40) ^ (table["Home"] == "own") ^ (rng.random(300) < 0.1), "bad", "good")
    model = MoETClassifier(random_state=0).fit(table, risk).mixture_
    assert model.prediction == "soft"
    assert model.n_experts > 1
    assert isinstance(verify.ignores(model, ["Home"]), verify.Refuted)
    assert isinstance(verify.monotone(model, "Age", answer="bad"), verify.Refuted)
    row = table.iloc[0]
    assert verify.recourse(model, row).checked
    assert verify.closest(model, row).checked
    found = verify.robust(model, table.iloc[:20], {"Age": 2})
    assert found.kept.sum() + len(found.changed) == 20


def test_the_cheapest_change_is_where_the_votes_turn():
    found = verify.recourse(MODEL, {"Age": 50, "Amount": 0.0, "Home": "own"}, answer="good", cost={"Amount": 1.0})
    assert found.checked
    assert list(found.changes) == ["Amount"]
    assert BORDER <= found.cost <= BORDER * (1 + 2 * TOLERANCE)
    assert BORDER * (1 - 2 * TOLERANCE) <= found.at_least <= BORDER
    assert "as deployed" in found.claim


def test_columns_are_counted_and_some_stay_fixed():
    row = {"Age": 20, "Amount": 0.0, "Home": "own"}
    found = verify.recourse(MODEL, row, answer="good", cost="columns")
    assert (found.cost, found.at_least) == (2.0, 2.0)
    assert sorted(found.changes) == ["Age", "Amount"]
    assert KEEP in codes_of(found.certificate)
    none = verify.recourse(MODEL, row, answer="good", fixed=["Age"])
    assert none.checked
    assert none.row is None
    near = verify.recourse(MODEL, row, answer="good", cost={"Age": 1.0}, at_most=3.0)
    assert near.checked
    assert near.row is None
    assert near.at_least >= 3.0


def test_the_largest_change_is_a_distance():
    found = verify.closest(MODEL, {"Age": 50, "Amount": 0.0, "Home": "own"})
    assert found.checked
    assert found.distance <= BORDER <= found.point_distance <= found.distance * (1 + 2 * TOLERANCE)
    by_sum = verify.closest(MODEL, {"Age": 50, "Amount": 0.0, "Home": "own"}, "l1")
    assert by_sum.distance <= BORDER <= by_sum.point_distance


def test_what_no_one_looks_at_is_ignored_without_any_cut():
    verdict = verify.ignores(MODEL, ["Home"])
    assert verdict.checked
    assert codes_of(verdict.certificate) == {ORDERED}
    assert isinstance(verify.ignores(MODEL, ["Age"]), verify.Refuted)


def test_trees_that_are_in_order_are_monotone_where_the_gate_does_not_look():
    assert verify.monotone(MODEL, "Age", answer="good").checked
    assert verify.monotone(MODEL, "Age", answer="bad", direction="decreasing").checked
    assert isinstance(verify.monotone(MODEL, "Age", answer="bad"), verify.Refuted)
    assert verify.always(MODEL, Box.where(MODEL, "Age <= 40"), ["bad"]).checked


def test_models_with_other_votes_are_compared_row_by_row():
    """Votes that are drawn together leave the answers as they are, but for rounding; another gate moves the border."""
    close = [replace_votes(tree, 0.9 * tree.value + 0.05) for tree in MODEL.trees]
    other = MODEL.rebuilt(MODEL.gate_weights, MODEL.gate_bias, close)
    assert isinstance(verify.equivalent(MODEL, other, cpu_limit=2.0), verify.Unknown)
    verdict = verify.equivalent(MODEL, other, Box.where(MODEL, "Amount >= 3"))
    assert verdict.checked
    assert verdict.certificate.kind == "row_equivalent"
    moved = MODEL.rebuilt(MODEL.gate_weights, MODEL.gate_bias + np.array([0.0, 0.01]), MODEL.trees)
    found = verify.equivalent(MODEL, moved)
    assert isinstance(found, verify.Refuted)
    assert found.rows[0]["Age"] > 40
    one = Mixture(np.zeros((1, 4)), [0.0], [SURE_OF_BAD], ["bad", "good"], schema=SCHEMA)
    assert verify.equivalent(MODEL, one, Box.where(MODEL, "Age <= 40")).checked


def test_votes_that_tie_are_not_called():
    tied = Mixture(
        np.eye(4)[:2], [0, 0], [Tree.leaf([0.5, 0.5])] * 2, ["bad", "good"], prediction="soft", schema=SCHEMA
    )
    verdict = verify.always(tied, answers=["bad"])
    assert isinstance(verdict, verify.Unknown)
    assert "too close to call" in verdict.reason
    found = verify.recourse(tied, {"Age": 20, "Amount": 0.0, "Home": "own"})
    assert "at the row itself" in found.reason


def test_logits_that_overflow_are_unknown():
    huge = replace_gate(MODEL, MODEL.gate_weights * 1e308)
    assert isinstance(verify.always(huge, answers=["bad"]), verify.Unknown)


def replace_gate(model, weights):
    return model.rebuilt(weights, model.gate_bias, model.trees)


PROOFS = [
    verify.recourse(MODEL, {"Age": 50, "Amount": 0.0, "Home": "own"}, answer="good", cost={"Amount": 1.0}),
    verify.recourse(MODEL, {"Age": 20, "Amount": 0.0, "Home": "own"}, answer="good", cost="columns"),
    verify.monotone(MODEL, "Age", answer="good"),
    verify.robust(MODEL, np.array([[50.0, 2.0, 1.0, 0.0]]), {"Amount": 0.5}),
]


@pytest.mark.parametrize("proof", PROOFS, ids=lambda proof: proof.certificate.kind)
@pytest.mark.parametrize("code", [SPLIT, SURE, KEEP, BEYOND, ORDERED, 77])
def test_a_proof_with_another_code_is_refused(proof, code):
    """Whatever the records say, only what bounds show counts: at the root all of it would have to be sure."""
    forged = Certificate(proof.certificate.kind, proof.certificate.claim)
    forged.add(bytes([code]))
    if codes_of(proof.certificate) != {code}:
        with pytest.raises(CertificateError):
            verify.check(forged, MODEL)


@pytest.mark.parametrize("goal", [-1, 1, 1000])
def test_goals_and_experts_that_are_not_there_are_refused(goal):
    proof = PROOFS[3].certificate
    for refs in ([goal, 0], [0, goal + 1 if goal > 0 else goal]):
        forged = Certificate("robust", proof.claim)
        forged.add(bytes([SURE]), array("i", refs))
        with pytest.raises(CertificateError, match="there is no"):
            verify.check(forged, MODEL)


def test_a_claim_of_more_than_was_proved_is_refused():
    proof = PROOFS[0].certificate
    for at_least in (str(1.01 * BORDER), None):
        with pytest.raises(CertificateError):
            verify.check(proof.claiming("recourse", proof.claim | {"at_least": at_least}), MODEL)


def test_a_proof_that_the_votes_are_in_order_does_not_hold_of_a_column_that_the_gate_looks_at():
    blind = PROOFS[2].certificate
    for column in ("Amount", "Age"):
        seeing = replace_gate(MODEL, np.array([[0.01, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]))
        claim = blind.claim | {"column": column, "model": digest(seeing)}
        with pytest.raises(CertificateError):
            verify.check(blind.claiming("monotone", claim), seeing)


def test_certificates_come_back_from_their_files(tmp_path):
    for proof in PROOFS:
        proof.certificate.save(tmp_path / "c.moetcert")
        assert verify.check(tmp_path / "c.moetcert", MODEL)


def test_time_that_is_up_is_no_proof():
    verdict = verify.always(MODEL, Box.where(MODEL, "Age <= 40"), ["bad"], cpu_limit=0.0)
    assert isinstance(verdict, verify.Unknown)
    assert "limit" in verdict.reason


@settings(max_examples=20, deadline=None)
@given(half=st.integers(0, 10**6))
def test_no_verdict_about_a_small_table_is_wrong(half):
    """All questions, against all rows of tables of whole numbers and categories."""
    assert not [outcome for outcome in attempt(2 * half, "soft") if outcome.wrong]


@pytest.mark.parametrize("seed", range(0, 20, 2))
def test_a_gate_that_gives_all_experts_nearly_the_same_weight_is_decided_as_that_of_a_sum(seed):
    """Two engines, one answer: a gate that is uniform but for a common row, and one that differs by a hair."""
    rng = np.random.default_rng(seed)
    schema = random_schema(rng)
    model = random_soft(rng, schema)
    even = model.rebuilt(np.zeros_like(model.gate_weights), np.zeros(model.n_experts), model.trees)
    hair = model.rebuilt(np.zeros_like(model.gate_weights), np.arange(model.n_experts) * 1e-9, model.trees)
    x = all_rows(schema)[0]
    for label in model.classes.tolist():
        one, other = verify.recourse(even, x, answer=label), verify.recourse(hair, x, answer=label)
        if not isinstance(one, verify.Unknown) and not isinstance(other, verify.Unknown):
            assert one.cost == pytest.approx(other.cost, rel=TOLERANCE, abs=1e-9)
