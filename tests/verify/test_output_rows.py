"""Proofs about models of numbers whose table has whole numbers and categories are about possible rows."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest

from moet import MoETRegressor, RegressionMixture, RegressionTree, Schema, load, save, verify
from moet.errors import CertificateError, InputError
from moet.model.file import digest
from moet.model.schema import Column
from moet.verify import Box, Proved, Refuted, Unknown
from moet.verify.checker.certificate import Certificate

COLUMNS = (
    Column("size", "integer", ("size",), -1, 3),
    Column("colour", "category", ("colour=red", "colour=green", "colour=blue"), categories=("red", "green", "blue")),
    Column("new", "boolean", ("new",)),
)


def every_row(schema: Schema) -> np.ndarray:
    cells = [column.labels or range(int(column.low), int(column.high) + 1) for column in schema.columns]
    return np.array([schema.encode_row(list(row)) for row in product(*cells)])


def random_laws(seed: int, n_experts: int = 3, n_outputs: int = 2) -> RegressionMixture:
    """Experts with one test each and coarse laws; no two experts are level at a possible row."""
    rng = np.random.default_rng(seed)
    schema = Schema(COLUMNS)
    d = len(schema.feature_names)
    trees = []
    for _ in range(n_experts):
        feature = int(rng.integers(d))
        shape = (3, n_outputs)
        value, slope = rng.integers(-4, 5, shape) / 2, rng.integers(-3, 4, (*shape, d)) / 2
        test = 0.5 + int(rng.integers(-1, 3)) * (feature == 0)
        trees.append(RegressionTree([feature, -1, -1], [test, 0, 0], [1, -1, -1], [2, -1, -1], value, slope))
    gate = rng.integers(-2, 3, (n_experts, d)) / 2, 0.25 * rng.random(n_experts)
    names = [f"u{k}" for k in range(n_outputs)]
    return RegressionMixture(*gate, trees, names, low=[-6.0] * n_outputs, high=[5.0] * n_outputs, schema=schema)


@pytest.mark.parametrize("seed", range(25))
def test_the_range_over_possible_rows_is_what_all_of_them_attain(seed):
    model = random_laws(seed)
    answers = model.predict(every_row(model.schema))
    found = verify.range(model)
    assert found.checked
    assert found.least.tolist() == answers.min(axis=0).tolist()
    assert found.largest.tolist() == answers.max(axis=0).tolist()
    assert np.all(found.low <= found.least)
    assert np.all(found.least - found.low <= 1e-9)
    assert np.all(found.high - found.largest <= 1e-9)


@pytest.mark.parametrize("seed", range(25))
def test_conditions_are_decided_about_possible_rows(seed):
    model = random_laws(seed)
    X = every_row(model.schema)
    X = X[(X[:, 0] <= 2) & (X[:, 1] == 0)]
    answers = model.predict(X)[:, 0]
    domain = Box.where(model, "size <= 2, colour in (green, blue)")
    assert verify.always(model, domain, f"u0 <= {answers.max() + 0.25}").checked
    verdict = verify.always(model, domain, f"u0 <= {answers.max() - 0.25}")
    assert isinstance(verdict, Refuted)
    assert verdict.rows[0]["colour"] in ("green", "blue")
    assert model.act(verdict.rows[0])[0] == verdict.answers[0]["u0"] > answers.max() - 0.25


@pytest.mark.parametrize("seed", range(10))
def test_models_are_compared_on_possible_rows(seed):
    a, b = random_laws(seed), random_laws(seed + 100)
    X = every_row(a.schema)
    apart = float(np.abs(a.predict(X) - b.predict(X)).max())
    assert verify.equivalent(a, b, tolerance=apart + 0.125).checked
    if apart:
        assert isinstance(verify.equivalent(a, b, tolerance=apart - 0.125), Refuted)


@pytest.mark.parametrize("gate", [([0.0], [0.0]), ([1e-20, -1e-20], [1e17, 1e17])])
def test_where_no_row_shows_an_output_there_is_no_range_and_no_crash(gate):
    """All laws overflow; or rounding takes another expert than exact arithmetic does, at every row."""
    schema = Schema([Column("size", "integer", ("size",), 10, 12)])
    weights, bias = gate
    slopes = [1e308] if len(bias) == 1 else [-1.0, 1.0]
    laws = [RegressionTree.leaf([0.0], slope=[[slope]]) for slope in slopes]
    model = RegressionMixture([[w] for w in reversed(weights)], bias, laws, ["u"], schema=schema)
    found = verify.range(model)
    assert isinstance(found, Unknown)
    assert "no input of the domain was found" in found.reason


def test_a_proof_about_possible_rows_is_none_about_the_box_around_them():
    model = random_laws(3)
    found = verify.range(model)
    boxed = replace(model, schema=None)
    claim = dict(found.certificate.claim, model=digest(boxed))
    with pytest.raises(CertificateError):
        verify.check(found.certificate.claiming("bounds", claim), boxed)


def test_divisions_that_leave_rows_out_are_refused():
    model = random_laws(1)
    lo, hi = [-1.0, 0, 0, 0, 0], [3.0, 1, 1, 1, 1]
    claim = {
        "model": digest(model),
        "lo": lo,
        "hi": hi,
        "conditions": verify.range(model).certificate.claim["conditions"],
    }
    for feature, last in ((0, 0.5), (0, 3.0), (0, -2.0), (9, 0.0), (1, 1.0), (-1, 0.0)):
        forged = Certificate("bounds", claim)
        forged.add(bytes([4]), np.array([feature], np.int32), np.array([last]))
        with pytest.raises(CertificateError):
            verify.check(forged, model)


def test_the_claim_says_that_it_is_about_possible_rows():
    assert "every possible row" in (verify.range(random_laws(0)).claim or "")


def test_a_regressor_of_a_table_takes_the_users_columns(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"rooms": rng.integers(1, 6, 300), "area": rng.uniform(20, 90, 300)})
    table["kind"] = rng.choice(["flat", "house"], 300)
    price = 3 * table["area"] + 20 * table["rooms"] + 50 * (table["kind"] == "house")
    price.name = "price"
    model = MoETRegressor(1, 0, random_state=0).fit(table, price)
    assert np.abs(model.predict(table) - price).max() < 1
    save(model, tmp_path / "m.json")
    read = load(tmp_path / "m.json")
    assert read == model.mixture_
    assert read.schema == Schema.of(table)
    assert np.array_equal(read.predict(table)[:, 0], model.predict(table))
    row = {"rooms": 2, "area": 50.0, "kind": "house"}
    assert abs(read.act(row)[0] - 240) < 1
    found = verify.range(read, Box.where(read, "kind = flat, rooms = 2, 40 <= area <= 50"))
    assert found.checked
    assert abs(found.largest[0] - 190) < 1
    assert isinstance(verify.always(read, Box.where(read, "kind = house, area >= 30"), "price >= 100"), Proved)
    with pytest.raises(InputError, match="rooms, kind"):
        verify.closest(read, row, answer="price >= 300")
