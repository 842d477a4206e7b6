"""Questions about models that answer with numbers: range, always, equivalent, closest."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from moet import MoETRegressor, RegressionMixture, RegressionTree, load, save, verify
from moet.errors import CertificateError, InputError, ModelError, MoetError
from moet.model.file import digest
from moet.verify import Box, Certificate, Closest, Proved, Range, Refuted, Unknown, check
from moet.verify.checker.documents.laws import read_laws
from moet.verify.systems.conditions import HalfSpace
from tests.random_models import random_laws

from .hostile import VALUES, accepts, forged, places, replaced, value_at
from .laws import exact_outputs, nudged
from .small import half_planes

CUBE = Box.from_bounds(-np.ones(3), np.ones(3))
SEEDS = range(12)


def brake(**changes) -> RegressionMixture:
    """torque = 1/2 + 2 angle - speed."""
    law = RegressionTree.leaf([0.5], slope=[[2.0, -1.0]])
    return RegressionMixture([[0.0, 0.0]], [0.0], [law], ["torque"], feature_names=["angle", "speed"], **changes)


def box() -> Box:
    return Box(angle=(-1, 1), speed=(0, 1))


def samples(seed: int, n: int = 2000) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.uniform(-1, 1, (n, 3)), rng.choice([-1.0, 0.0, 1.0], (50, 3))])


@pytest.mark.parametrize("seed", SEEDS)
def test_no_output_is_beyond_a_proved_range_and_its_ends_are_attained(seed):
    model = random_laws(seed, depth=seed % 3)
    found = verify.range(model, CUBE)
    assert isinstance(found, Range)
    assert found.checked
    outputs = model.predict(samples(seed))
    assert np.all((outputs >= found.low) & (outputs <= found.high))
    for o in range(model.n_outputs):
        for at, end in ((found.least_at[o], found.least[o]), (found.largest_at[o], found.largest[o])):
            assert model.predict(at[None])[0, o] == end
            assert np.all(np.abs(at) <= 1)
            assert abs(float(exact_outputs(model, at)[o]) - end) <= 1e-9
    assert found.gap <= 1e-9
    assert not found.caveats
    assert check(found.certificate, model)


@pytest.mark.parametrize("bias", [(0.0, 0.0), (-5e-324, 5e-324), (1e17, 1e17 + 16), (-0.0, 0.0), (0.1, 0.1)])
def test_a_gate_of_constants_is_not_rounded_and_the_first_of_equals_answers(bias):
    laws = [RegressionTree.leaf([float(value)], slope=[[1.0]]) for value in (0, 10)]
    model = RegressionMixture([[0.0], [0.0]], list(bias), laws, ["u"])
    found = verify.range(model, Box(x0=(0, 1)))
    first = 10.0 * (bias[1] > bias[0])
    assert found.checked
    assert (found.least.tolist(), found.largest.tolist()) == ([first], [first + 1])
    assert found.gap <= 1e-9


def test_the_range_of_one_law_is_that_of_its_corners():
    found = verify.range(brake(), box())
    assert found.least.tolist() == [-2.5]
    assert found.largest.tolist() == [2.5]
    assert found.largest_at.tolist() == [[1.0, 0.0]]
    assert "torque >=" in found.claim


def test_constants_have_exact_ranges():
    model = random_laws(4, affine=False)
    found = verify.range(model, CUBE)
    assert np.array_equal(found.low, found.least)
    assert np.array_equal(found.high, found.largest)
    assert found.gap == 0.0


def test_where_nothing_bounds_an_output_its_range_says_so():
    found = verify.range(brake(high=[2.0]))
    assert found.high.tolist() == [2.0]
    assert found.low.tolist() == [-np.inf]
    assert "torque has no lower bound" in found.caveats[0]
    nothing = verify.range(brake())
    assert isinstance(nothing, Unknown)
    assert "no output has a bound" in nothing.reason


def test_an_open_side_that_does_not_matter_is_no_hindrance():
    found = verify.range(brake(), Box(angle=(-1, 1), speed=(0, None)))
    assert found.high.tolist()[0] == pytest.approx(2.5, abs=1e-12)
    assert found.low.tolist() == [-np.inf]


def test_a_gate_may_bound_what_sides_leave_open():
    # expert 0 answers where angle <= speed and speed is bounded: its angle cannot grow
    laws = [RegressionTree.leaf([0.0], slope=[[1.0, 0.0]]), RegressionTree.leaf([0.0])]
    model = RegressionMixture([[-1.0, 1.0], [0.0, 0.0]], [0.0, 0.0], laws, ["u"], feature_names=["angle", "speed"])
    found = verify.range(model, Box(angle=(0, None), speed=(-1, 3)))
    assert found.high[0] == pytest.approx(3.0, abs=1e-8)
    assert found.largest[0] == pytest.approx(3.0, abs=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_conditions_are_proved_or_refuted_by_an_input_that_replays(seed):
    model = random_laws(seed)
    edge = float(verify.range(model, CUBE).largest[0])
    yes = verify.always(model, CUBE, f"u <= {edge + 0.01!r}")
    assert isinstance(yes, Proved)
    assert yes.checked
    no = verify.always(model, CUBE, f"u <= {edge - 0.01!r}")
    assert isinstance(no, Refuted)
    assert model.predict(no.point[None])[0, 0] > edge - 0.01
    assert exact_outputs(model, no.point)[0] > Fraction(str(edge - 0.01))
    assert no.answers[0]["u"] == model.predict(no.point[None])[0, 0]


@pytest.mark.parametrize("seed", SEEDS)
def test_conditions_on_several_clipped_outputs_are_decided(seed):
    model = random_laws(2 * seed + 1)
    sums = model.predict(samples(seed)) @ [1.0, -2.0]
    yes = verify.always(model, CUBE, f"u - 2*w <= {float(sums.max()) + 5!r}")
    no = verify.always(model, CUBE, f"u - 2*w <= {float(sums.max()) - 0.05!r}")
    assert isinstance(no, Refuted)
    assert yes or isinstance(yes, Refuted)


def test_a_condition_that_rounding_alone_misses_is_unknown():
    tenth = RegressionTree.leaf([0.0], slope=[[0.1, 0.1, 0.1]])  # three times a tenth is a little more than 0.3
    model = RegressionMixture([[0.0] * 3], [0.0], [tenth], ["u"])
    one = Box.from_bounds(np.ones(3), np.ones(3))
    exactly = 3 * Fraction(0.1)
    claim = HalfSpace((Fraction(1),), exactly)
    assert Fraction(float(model.predict(np.ones((1, 3)))[0, 0])) > exactly
    verdict = verify.always(model, one, [claim])
    assert isinstance(verdict, Unknown)
    assert "rounding errors" in verdict.reason


@pytest.mark.parametrize("seed", SEEDS)
def test_models_are_alike_up_to_the_tolerance_by_which_they_were_changed(seed):
    model = random_laws(seed)
    same = verify.equivalent(model, model, CUBE)
    assert isinstance(same, Proved)
    other = nudged(model, 0.01)
    assert verify.equivalent(model, other, CUBE, 0.011)
    no = verify.equivalent(model, other, CUBE, tolerance=0.009)
    assert isinstance(no, Refuted)
    off = np.abs(model.predict(no.point[None]) - other.predict(no.point[None])).max()
    assert off > 0.009
    exact = zip(exact_outputs(model, no.point), exact_outputs(other, no.point), strict=True)
    assert max(abs(a - b) for a, b in exact) > Fraction(0.009)


@pytest.mark.parametrize("norm", ["linf", "l1"])
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_wanted_is_nearer_than_the_closest_input(seed, norm):
    model = random_laws(seed)
    x = np.array([0.1, -0.2, 0.3])
    for how in ({"tolerance": 0.4}, {"answer": "u >= 0.7"}):
        found = verify.closest(model, x, norm, CUBE, **how)
        assert isinstance(found, Closest)
        X = samples(seed)
        X = np.concatenate([X, np.clip(x + 0.2 * (X - x), -1, 1)])
        outputs = model.predict(X)
        wanted = outputs[:, 0] >= 0.7 if "answer" in how else np.abs(outputs - model.act(x)).max(axis=1) > 0.4
        gaps = np.abs(X[wanted] - x)
        near = gaps.max(axis=1) if norm == "linf" else gaps.sum(axis=1)
        assert np.all(near >= found.distance - 1e-12)
        if found.point is not None:
            u = model.act(found.point)
            assert u[0] >= 0.7 if "answer" in how else np.abs(u - model.act(x)).max() > 0.4
            assert found.point_distance - found.distance <= 1e-9 * (1 + found.distance)


def test_what_there_is_not_is_infinitely_far():
    found = verify.closest(brake(high=[2.0]), [0.0, 0.0], answer="torque >= 3")
    assert found.distance == np.inf
    assert found.checked


def test_any_change_of_a_law_is_as_near_as_one_likes():
    found = verify.closest(brake(), [0.0, 0.0], tolerance=0.0)
    assert found.distance == 0.0
    assert found.point_distance < 1e-6


def test_radius_is_how_far_outputs_stay_within_a_tolerance():
    assert verify.robustness_radius(brake(), [0.0, 0.0], tolerance=0.3) == pytest.approx(0.1)


def test_a_regression_tree_of_scikit_learn_is_taken_as_it_is():
    from sklearn.tree import DecisionTreeRegressor

    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 3))
    tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, X[:, 0] + X[:, 1] ** 2)
    found = verify.range(tree, CUBE)
    assert found.least[0] == pytest.approx(tree.predict(X).min())
    assert verify.always(tree, CUBE, f"{found.outputs[0]} <= {np.nextafter(found.high[0], np.inf):.20f}")
    assert check(found.certificate, tree)


def test_a_regressor_and_its_file_are_taken_as_they_are(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 2))
    regressor = MoETRegressor(n_experts=2, max_depth=1, random_state=0).fit(X, np.abs(X[:, 0]) + X[:, 1])
    save(regressor, tmp_path / "model.moet.json")
    square = Box.from_bounds([-1, -1], [1, 1])
    found = verify.range(regressor, square)
    again = verify.range(tmp_path / "model.moet.json", square)
    assert np.array_equal(found.high, again.high)
    found.certificate.save(tmp_path / "range.cert")
    assert check(tmp_path / "range.cert", tmp_path / "model.moet.json")


def test_soft_models_are_refused_with_what_to_do():
    soft = random_laws(0, prediction="soft")
    names, controls = soft.feature_names, dict.fromkeys(soft.outputs, (-1, 1))
    still = {"flow": dict.fromkeys(names, "0"), "initial": dict.fromkeys(names, (0, 1)), "safe": [f"{names[0]} <= 2"]}
    plant = verify.systems.SampledSystem("still", controls=controls, period=1, **still)
    for ask in (
        lambda: verify.safe(soft, plant, steps=1),
        lambda: verify.reaches(soft, plant, within=1, goal=f"{names[0]} <= 1"),
        lambda: verify.differences(soft, soft, CUBE),
        lambda: verify.smtlib.always(soft, CUBE, f"{soft.outputs[0]} <= 1"),
        lambda: verify.smtlib.equivalent(soft, soft, CUBE),
        lambda: verify.smtlib.closest(soft, np.zeros(3), 1, tolerance=1.0),
        lambda: verify.range(soft, CUBE),
        lambda: verify.always(soft, CUBE, "u <= 1"),
        lambda: verify.equivalent(soft, soft, CUBE),
        lambda: verify.closest(soft, np.zeros(3), tolerance=1.0),
    ):
        with pytest.raises(InputError, match=r'averages its experts.*MoETRegressor\(prediction="hard"\)'):
            ask()


def test_one_soft_expert_is_as_good_as_a_hard_one():
    assert verify.range(random_laws(2, n_experts=1, prediction="soft"), CUBE).checked


def test_questions_of_the_other_kind_say_what_is_expected():
    with pytest.raises(ModelError, match="answers with labels"):
        verify.range(half_planes(), Box())
    with pytest.raises(InputError, match='ask for conditions on them, such as "torque <= 1"'):
        verify.always(brake(), box(), [3])
    with pytest.raises(InputError, match=r"ask for conditions on them; a condition is a comparison"):
        verify.always(brake(), box(), ["left"])
    with pytest.raises(InputError, match="name at least one condition"):
        verify.always(brake(), box())
    with pytest.raises(InputError, match="'speed'; known are torque"):
        verify.always(brake(), box(), "speed <= 1")
    with pytest.raises(InputError, match="linear"):
        verify.always(brake(), box(), "torque*torque <= 1")
    with pytest.raises(InputError, match="say what to look for"):
        verify.closest(brake(), [0, 0])
    with pytest.raises(InputError, match="leave the tolerance out"):
        verify.closest(half_planes(), [0, 0], tolerance=1.0)
    with pytest.raises(InputError, match="leave the tolerance out"):
        verify.equivalent(half_planes(), half_planes(), tolerance=1.0)
    with pytest.raises(ModelError, match="answers with numbers"):
        verify.equivalent(half_planes(), brake())
    with pytest.raises(InputError, match="different outputs"):
        verify.equivalent(brake(), replace(brake(), outputs=("force",)))
    for tolerance in (-1, np.nan, np.inf, True, "1"):
        with pytest.raises(InputError, match="tolerance must be a number"):
            verify.equivalent(brake(), brake(), box(), tolerance=tolerance)


def test_time_that_is_up_is_unknown():
    model = random_laws(0)
    for verdict in (
        verify.range(model, CUBE, cpu_limit=0),
        verify.always(model, CUBE, "u <= 1", cpu_limit=0),
        verify.equivalent(model, model, CUBE, cpu_limit=0),
        verify.closest(model, np.zeros(3), tolerance=0.1, cpu_limit=0),
    ):
        assert isinstance(verdict, Unknown)
        assert "CPU time" in verdict.reason


@pytest.mark.parametrize("seed", range(30))
def test_numbers_of_any_size_never_leave_a_proved_range(seed):
    rng = np.random.default_rng(seed)
    model = random_laws(seed, n_experts=2, depth=1)

    def nasty(shape):
        return rng.choice([0.0, 5e-324, 1e-310, 1e-8, 1.0, -1.0, 0.1, 1e16, -1e16, 1e100, -1e140], shape)

    trees = tuple(
        replace(
            tree, value=nasty(tree.value.shape), slope=nasty(tree.slope.shape), threshold=nasty(tree.threshold.shape)
        )
        for tree in model.trees
    )
    model = replace(model, trees=trees, gate_weights=nasty((2, 3)), gate_bias=nasty(2))
    ends = np.sort(rng.choice([-1e8, -1.0, -1e-310, 0.0, 0.1, 1.0, 1e8], (2, 3)), axis=0)
    found = verify.range(model, Box.from_bounds(*ends))
    if isinstance(found, Unknown):
        return
    X = ends[0] + (ends[1] - ends[0]) * rng.choice([0.0, 1.0, 0.5, 1e-16, rng.random()], (500, 3))
    X = np.clip(X, *ends)
    for x in X:
        try:
            outputs = model.predict(x[None])[0]
        except InputError:
            continue
        assert np.all((outputs >= found.low) & (outputs <= found.high))
    for certificate, subject in ((found.certificate, model),):
        assert check(certificate, subject)


@pytest.mark.parametrize("seed", range(6))
def test_forged_claims_are_refused(seed):
    model = random_laws(seed)
    found = verify.range(model, CUBE)
    for k, condition in enumerate(found.certificate.claim["conditions"]):
        tighter = str(Fraction(condition["bound"]) - Fraction(1, 1000))
        conditions = replaced(found.certificate.claim["conditions"], (k, "bound"), tighter)
        wrong = forged(found.certificate, found.certificate.claim | {"conditions": conditions})
        attained = found.largest if k % 2 == 0 else found.least
        sign = 1 if k % 2 == 0 else -1
        assert sign * attained[k // 2] > Fraction(tighter)
        assert not accepts(wrong, model)
    wider = forged(found.certificate, found.certificate.claim | {"hi": [1.5, 1.0, 1.0]})
    big = verify.range(model, Box.from_bounds(-np.ones(3), [1.5, 1, 1]))
    if np.any(big.largest > found.high) or np.any(big.least < found.low):
        assert not accepts(wider, model)
    near = verify.closest(model, np.zeros(3), "linf", CUBE, tolerance=0.2)
    if near.exact_distance is not None:
        further = str(near.exact_distance * Fraction(11, 10))
        assert not accepts(forged(near.certificate, near.certificate.claim | {"distance": further}), model)
    alike = verify.equivalent(model, nudged(model), CUBE, 0.002)
    assert not accepts(
        forged(alike.certificate, alike.certificate.claim | {"tolerance": "1/2000"}), model, nudged(model)
    )


def test_the_checker_reads_what_the_loader_reads_and_means_the_same(tmp_path):
    for seed in range(8):
        model = random_laws(seed, affine=bool(seed % 3), depth=seed % 3)
        save(model, tmp_path / "m.json")
        read = read_laws(tmp_path / "m.json")
        assert read.digest == digest(model) == read_laws(model).digest
        for x in samples(seed, 20):
            assert read.answer([Fraction(float(v)) for v in x]) == exact_outputs(model, x)


def test_documents_with_anything_else_in_any_place_are_refused_or_mean_what_the_loader_says(tmp_path):
    save(random_laws(1, n_experts=2), tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    for path in places(document):
        for value in VALUES:
            changed = replaced(document, path, value) if path else value
            (tmp_path / "odd.json").write_text(json.dumps(changed) if not _huge(value) else "{}")
            try:
                own = digest(load(tmp_path / "odd.json"))
            except MoetError:
                own = None
            try:
                read = read_laws(changed if isinstance(changed, dict) else {}).digest
            except CertificateError:
                read = None
            if read is not None and not _huge(value):
                assert read == own, (path, value_at(document, path), value)


def _huge(value) -> bool:
    return isinstance(value, int) and abs(value) > 10**300


def test_a_proof_about_labels_is_none_about_numbers():
    model, labels = brake(), half_planes()
    found = verify.range(model, box())
    with pytest.raises(CertificateError, match="answer with numbers"):
        check(found.certificate, labels)
    sure = verify.always(labels, Box(theta=(1, 2), theta_dot=(1, 2)), ["right"])
    with pytest.raises(CertificateError, match="answer with labels"):
        check(sure.certificate, model)
    assert not accepts(Certificate("bounds", found.certificate.claim | {"conditions": []}), model)


def z3_output(z3, model: RegressionMixture, x):
    """The first output of a mixture of two experts, in exact arithmetic."""

    def number(value):
        return z3.Q(*Fraction(float(value)).as_integer_ratio())

    def total(first, factors):
        return number(first) + sum(number(factor) * v for factor, v in zip(factors, x, strict=True))

    def law(tree, node):
        if tree.feature[node] >= 0:
            test = x[tree.feature[node]] <= number(tree.threshold[node])
            return z3.If(test, law(tree, tree.left[node]), law(tree, tree.right[node]))
        u = total(tree.value[node, 0], tree.slope[node, 0])
        u = u if np.isinf(model.low[0]) else z3.If(u < number(model.low[0]), number(model.low[0]), u)
        return u if np.isinf(model.high[0]) else z3.If(u > number(model.high[0]), number(model.high[0]), u)

    first, second = (total(b, row) for row, b in zip(model.gate_weights, model.gate_bias, strict=True))
    return z3.If(second > first, law(model.trees[1], 0), law(model.trees[0], 0))


@pytest.mark.parametrize("seed", range(6))
def test_z3_agrees_about_random_conditions(seed):
    z3 = pytest.importorskip("z3")
    model = random_laws(seed, n_experts=2)
    edge = float(np.quantile(model.predict(samples(seed))[:, 0], 0.999)) + 0.02 * (seed % 3)
    verdict = verify.always(model, CUBE, f"u <= {edge!r}")
    x = [z3.Real(f"x{k}") for k in range(3)]
    solver = z3.Solver()
    solver.add(*(z3.And(v >= -1, v <= 1) for v in x))
    solver.add(z3_output(z3, model, x) > z3.Q(*Fraction(repr(edge)).as_integer_ratio()))
    expected = {"unsat": Proved, "sat": Refuted}[str(solver.check())]
    assert isinstance(verdict, expected)
