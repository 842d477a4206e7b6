"""Proofs about models of numbers whose table has whole numbers and categories are about possible rows."""

from dataclasses import replace
from fractions import Fraction
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
    nearest = verify.closest(read, row, "l1", answer="price >= 300")
    assert nearest.checked
    assert read.act(nearest.point)[0] >= 300
    assert nearest.point[0] == 5
    assert nearest.distance <= nearest.point_distance <= nearest.distance * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_the_nearest_possible_row_is_the_nearest_of_all(seed, norm):
    model = random_laws(seed)
    X = every_row(model.schema)
    answers = model.predict(X)
    x = X[seed]
    gaps = np.abs(X - x)
    distance = gaps.max(axis=1) if norm == "linf" else gaps.sum(axis=1)
    asked = {
        "conditions": ({"answer": "u0 >= 1.25"}, answers[:, 0] >= 1.25),
        "tolerance": ({"tolerance": 1.75}, np.any(np.abs(answers - answers[seed]) > 1.75, axis=1)),
        "two outputs": ({"answer": "u0 - u1 >= 8"}, answers[:, 0] - answers[:, 1] >= 8),
    }
    for question, wanted in asked.values():
        found = verify.closest(model, x, norm, **question)
        assert found.checked
        assert found.distance == (distance[wanted].min() if wanted.any() else np.inf)
        if wanted.any():
            (place,) = np.flatnonzero(np.all(found.point == X, axis=1))
            assert wanted[place]
            assert distance[place] == found.distance == found.point_distance


@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_row_with_a_column_of_numbers_is_optimal_within_every_choice_of_the_others(seed):
    """With the other columns fixed only numbers are left, which another search decides."""
    columns = (*COLUMNS, Column("weight", "number", ("weight",), -1.0, 1.0))
    coarse = random_laws(seed, n_experts=2, n_outputs=1)
    rng = np.random.default_rng(seed)
    slopes = [np.concatenate([t.slope, rng.integers(1, 4, (3, 1, 1))], axis=2) for t in coarse.trees]
    trees = [replace(tree, slope=slope) for tree, slope in zip(coarse.trees, slopes, strict=True)]
    gate = np.hstack([coarse.gate_weights, rng.integers(-2, 3, (2, 1)) / 2])
    model = RegressionMixture(gate, coarse.gate_bias, trees, ["u"], schema=Schema(columns))
    plain = replace(model, schema=None)
    x = np.append(every_row(coarse.schema)[3 * seed], 0.25)
    reached = []
    for row in every_row(coarse.schema):
        sides = {name: (v, v) for name, v in zip(coarse.feature_names, row.tolist(), strict=True)}
        box = Box(**sides, weight=(-1.0, 1.0))
        reached.append(verify.closest(plain, x, "l1", box, answer="u >= 3.3").exact_distance)
    found = verify.closest(model, x, "l1", answer="u >= 3.3")
    assert found.checked
    assert found.exact_distance == min((d for d in reached if d is not None), default=None)


def test_no_proof_of_a_distance_leaves_possible_rows_out():
    """The records of a box without its piece, and a larger distance, are refused."""
    model = random_laws(2)
    x = every_row(model.schema)[0]
    found = verify.closest(model, x, "l1", tolerance=1.75)
    assert "no possible row" in (found.claim or "")
    certificate = found.certificate
    further = dict(certificate.claim, distance=str(Fraction(certificate.claim["distance"]) + 1))
    with pytest.raises(CertificateError):
        verify.check(certificate.claiming("distance", further), model)
    boxed = replace(model, schema=None)
    with pytest.raises(CertificateError):
        verify.check(certificate.claiming("distance", dict(certificate.claim, model=digest(boxed))), boxed)
    with pytest.raises(CertificateError):
        verify.check(Certificate("distance", certificate.claim), model)


def test_what_is_no_row_of_the_table_has_no_nearest_row():
    with pytest.raises(InputError, match="exactly one category"):
        verify.closest(random_laws(0), [0.0, 1.0, 1.0, 0.0, 0.0], tolerance=1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("tolerance", [0.0, 2.25])
def test_regions_hold_every_possible_row_that_two_models_answer_differently(seed, tolerance):
    pair = random_laws(seed, 2), random_laws(seed + 100, 2)
    X = every_row(pair[0].schema)
    apart = np.any(np.abs(pair[0].predict(X) - pair[1].predict(X)) > tolerance, axis=1)
    found = verify.differences(*pair, tolerance=tolerance, limit=10_000)
    assert found.complete
    assert found.unseen == 0
    assert np.array_equal([any(x in region for region in found.regions) for x in X], apart)
    for x, region in zip(found.points, found.regions, strict=True):
        (place,) = np.flatnonzero(np.all(x == X, axis=1))
        assert apart[place]
        assert x in region
    low, high = found.share_interval
    assert low <= apart.mean() <= high


def test_boxes_that_wait_to_be_looked_at_are_bounded():
    """A box divided again and again at its last number takes memory for each part: a short file, many features."""
    d, most = 1000, 100_000
    columns = [
        Column("n", "integer", ("n",), 0, most),
        *(Column(f"x{k}", "number", (f"x{k}",), 0.0, 1.0) for k in range(d)),
    ]
    schema, gate = Schema(columns), (np.zeros((1, d + 1)), np.zeros(1))
    leaf = RegressionTree([-1], [0], [-1], [-1], [[0.0]])
    model = RegressionMixture(*gate, [leaf], ["u"], [-1.0], [1.0], schema=schema, feature_names=schema.feature_names)
    domain = Box(n=(0, most), **{f"x{k}": (0.0, 1.0) for k in range(d)})
    proof = verify.always(model, domain, ["u <= 0.5"]).certificate
    forged = Certificate(proof.kind, proof.claim)
    n = 10**7 // d
    forged.add(bytes([4]) * n, np.zeros(n, np.int32), np.arange(most - 1.0, most - 1.0 - n, -1.0))
    with pytest.raises(CertificateError, match="divided too often"):
        verify.check(forged, model)
