"""Two models are compared only if a row, in the user's words, is the same row for both."""

from dataclasses import replace

import numpy as np
import pytest

from moet import Column, Mixture, RegressionMixture, RegressionTree, Schema, Tree, verify
from moet.errors import CertificateError, InputError
from moet.model.file import digest
from moet.verify import Box, Certificate, check

GRADES = ("low", "mid", "high")


def schema(categories: tuple[str, ...] = GRADES, kind: str = "ordered") -> Schema:
    if kind == "integer":
        return Schema([Column("grade", "integer", ("grade",), 0, 2)])
    return Schema([Column("grade", kind, ("grade",), categories=categories)])


def labels(table: Schema | None) -> Mixture:
    """Says no to the first grade, and yes to all others."""
    tree = Tree([0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [[1, 0], [1, 0], [0, 1]])
    return Mixture([[0.0]], [0.0], [tree], ["no", "yes"], feature_names=["grade"], schema=table)


def numbers(table: Schema | None) -> RegressionMixture:
    law = RegressionTree.leaf([0.0], slope=[[1.0]])
    return RegressionMixture([[0.0]], [0.0], [law], ["u"], feature_names=["grade"], schema=table)


OTHERS = [schema(GRADES[::-1]), schema(kind="integer"), schema(("low", "mid", "top"))]


@pytest.mark.parametrize("other", OTHERS, ids=["reversed", "integers", "another word"])
def test_models_whose_tables_use_other_words_are_not_compared(other):
    first, second = labels(schema()), labels(other)
    for ask in (verify.equivalent, verify.differences):
        with pytest.raises(InputError, match="do not mean the same by"):
            ask(first, second)
    with pytest.raises(InputError, match="do not mean the same by"):
        verify.equivalent(numbers(schema()), numbers(other), tolerance=0.1)


@pytest.mark.parametrize("other", OTHERS, ids=["reversed", "integers", "another word"])
@pytest.mark.parametrize("make", [labels, numbers])
def test_no_forged_proof_compares_them_either(make, other):
    first, second = make(schema()), make(other)
    how = {} if make is labels else {"tolerance": 0.1}
    proof = verify.equivalent(first, first, **how).certificate
    forged = proof.claiming(proof.kind, dict(proof.claim, models=[digest(first), digest(second)]))
    with pytest.raises(CertificateError, match="other columns"):
        check(forged, first, second)


def test_a_model_without_a_table_is_compared_by_its_features():
    assert verify.equivalent(labels(schema()), labels(None)).checked
    wider = Schema([Column("grade", "number", ("grade",), 0.0, 9.0)])
    assert verify.equivalent(labels(schema()), labels(wider)).checked


@pytest.mark.parametrize("prediction", ["hard", "soft"])
@pytest.mark.parametrize("kind", ["ordered", "category"])
def test_a_model_without_a_table_or_names_is_compared_in_either_order(prediction, kind):
    features = ("grade",) if kind == "ordered" else tuple(f"grade={g}" for g in GRADES)
    table = Schema([Column("grade", kind, features, categories=GRADES)])
    tree = Tree([0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [[1, 0], [0.75, 0.25], [0.25, 0.75]])
    gate = np.zeros((2, len(features))), np.zeros(2)
    first = Mixture(*gate, [tree, tree], ["no", "yes"], feature_names=features, schema=table, prediction=prediction)
    second = Mixture(*gate, [tree, tree], ["no", "yes"], prediction=prediction)
    for pair in ((first, second), (second, first)):
        assert check(verify.equivalent(*pair).certificate, *pair)


@pytest.mark.parametrize("others", [[0.0, 1.0], [False, True]])
def test_labels_of_other_types_are_other_labels(others):
    tree = Tree([0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [[1, 0], [1, 0], [0, 1]])
    first, second = (Mixture([[0.0]], [0.0], [tree], classes) for classes in ([0, 1], others))
    for ask in (verify.equivalent, verify.differences):
        with pytest.raises(InputError, match="labels of types int and"):
            ask(first, second)


def test_features_in_another_order_are_other_features():
    tree = Tree([0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [[1, 0], [1, 0], [0, 1]])
    first = Mixture([[0.0, 0.0]], [0.0], [tree], ["no", "yes"], feature_names=["age", "debt"])
    second = replace(first, feature_names=("debt", "age"))
    box = Box(age=(0, 1), debt=(0, 1))
    proof = verify.equivalent(first, first, box).certificate
    forged = proof.claiming(proof.kind, dict(proof.claim, models=[digest(first), digest(second)]))
    with pytest.raises(CertificateError, match="another order"):
        check(forged, first, second)
    unnamed = replace(first, feature_names=("x0", "x1"))
    assert verify.equivalent(first, unnamed, box).checked


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 10**17 + 1, 10**300])
def test_integers_that_no_float64_number_is_are_no_sides_of_a_box(number):
    model = Mixture([[0.0]], [0.0], [Tree.leaf([1, 0])], ["no", "yes"], feature_names=["n"])
    side = "hi" if number > 0 else "lo"
    claim = {"model": digest(model), "lo": [0], "hi": [0], "answers": ["no"]} | {side: [number]}
    with pytest.raises(CertificateError, match="which no float64 number is"):
        check(Certificate("always", claim), model)
    claim[side] = [float(number)]
    assert check(Certificate("always", claim), model)
    claim[side] = [int(np.sign(number)) * 2**53]
    assert check(Certificate("always", claim), model)
