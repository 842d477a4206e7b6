"""SMT-LIB texts: well formed, exact, and of the same opinion as the package where z3 is installed."""

from fractions import Fraction

import numpy as np
import pytest

from moet import Mixture, RegressionMixture, RegressionTree
from moet.errors import InputError
from moet.verify import Box, Proved, Refuted, closest, differences, equivalent, reaches, smtlib, systems
from moet.verify.exact import rounded
from moet.verify.smtlib.terms import number
from moet.verify.systems.discrete import AffineSystem
from tests.random_models import random_mixture

from .small import half_planes, rounding_victim, scaled

CUBE = Box.from_bounds(-np.ones(3), np.ones(3))
STATUS = {Proved: "unsat", Refuted: "sat"}


@pytest.fixture
def z3():
    return pytest.importorskip("z3")


def thermostat(**changes) -> AffineSystem:
    """Heat by 1 when on, cool by a tenth of the temperature: between 0.7 and 2 for ever if it heats below 1."""
    description = {"states": ["t"], "actions": ["off", "on"], "initial": {"t": (1, 1.5)}, "safe": ["0.5 <= t <= 3"]}
    description |= {"goal": ["t <= 1"]}
    return AffineSystem("thermostat", matrix=[["0.9"]], offsets=[[0], [1]], **(description | changes))


def controller() -> Mixture:
    """On below 1."""
    model = half_planes((-1.0,), 1.0)
    return Mixture(model.gate_weights, model.gate_bias, model.trees, ["off", "on"], ["t"])


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0.0"), (3, "3.0"), (Fraction(-1, 3), "(- (/ 1.0 3.0))"), (Fraction(0.1), None)],
)
def test_numbers_are_exact(value, text):
    written = number(Fraction(value))
    assert text is None or written == text
    if text is None:
        assert written == "(/ 3602879701896397.0 36028797018963968.0)"  # not 1/10


def texts() -> list[str]:
    a, b = random_mixture(0), random_mixture(1)
    return [
        smtlib.always(a, CUBE, [0]),
        smtlib.equivalent(a, b, CUBE),
        smtlib.equivalent(a, b, CUBE, classes=[0]),
        smtlib.differences(a, b, CUBE, beyond=differences(a, b, CUBE, limit=2).regions),
        smtlib.closest(a, np.zeros(3), 0.1, "l1", CUBE),
        smtlib.safe(controller(), thermostat(), 3),
        smtlib.safe(controller(), thermostat(), 3, encoding="published"),
        smtlib.reaches(controller(), thermostat(), 3),
        smtlib.reaches(controller(), thermostat(), 3, goal="t >= 1.2"),
    ]


def test_every_text_is_in_linear_arithmetic_and_names_its_variables(z3):
    for text in texts():
        lines = text.splitlines()
        assert lines[0].startswith("; Is there")
        assert lines[1] == "(set-logic QF_LRA)"
        assert lines[-1] == "(check-sat)"
        assert all(";" in line for line in lines if line.startswith("(declare"))
        assert text.count("(") == text.count(")")
        z3.parse_smt2_string(text)


def test_questions_and_their_answers(z3):
    a = random_mixture(0)
    assert smtlib.solve(smtlib.equivalent(a, scaled(a), CUBE)).status == "unsat"
    opinion = smtlib.solve(smtlib.equivalent(a, random_mixture(1), CUBE))
    assert opinion.status == "sat"
    point = rounded(opinion.point)
    assert a.act(point) != random_mixture(1).act(point)
    assert smtlib.solve(smtlib.always(a, CUBE, [0])).status == "sat"
    assert smtlib.solve(smtlib.always(a, CUBE, [0, 1, 2])).status == "unsat"


@pytest.mark.parametrize("classes", [None, [0], [2], []])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_equivalence_with_respect_to_classes(z3, seed, classes):
    a = random_mixture(0)
    pruned = Mixture(a.gate_weights, a.gate_bias, [*a.trees[:-1], random_mixture(seed).trees[-1]], a.classes)
    text = smtlib.equivalent(a, pruned, CUBE, classes)
    assert smtlib.solve(text).status == STATUS[type(equivalent(a, pruned, CUBE, classes))]


def test_regions_of_differences_are_all_there_are(z3):
    a, b = random_mixture(0), random_mixture(1)
    found = differences(a, b, CUBE)
    assert found.complete
    assert not found.unseen
    assert smtlib.solve(smtlib.differences(a, b, CUBE, beyond=found.regions)).status == "unsat"
    for left_out in range(len(found)):
        others = found.regions[:left_out] + found.regions[left_out + 1 :]
        assert smtlib.solve(smtlib.differences(a, b, CUBE, beyond=others)).status == "sat"


def test_always_covers_the_rounding_of_the_gate(z3):
    here = Box.from_bounds(np.ones(3), np.ones(3))
    for label in ("exact", "deployed"):
        assert smtlib.solve(smtlib.always(rounding_victim(), here, [label])).status == "sat"


@pytest.mark.parametrize("norm", ["linf", "l1"])
def test_closest_is_optimal(z3, norm):
    model, x = random_mixture(3), np.array([0.1, 0.2, -0.3])
    distance = closest(model, x, norm, CUBE).exact_distance
    assert smtlib.solve(smtlib.closest(model, x, distance, norm, CUBE)).status == "unsat"
    beyond = smtlib.solve(smtlib.closest(model, x, distance + Fraction(1, 10**20), norm, CUBE))
    assert beyond.status == "sat"
    found = smtlib.solve(smtlib.closest(model, x, None, norm, CUBE))
    gaps = np.abs(rounded(found.point) - x)
    assert (gaps.max() if norm == "linf" else gaps.sum()) == pytest.approx(float(distance))


@pytest.mark.parametrize("norm", ["linf", "l1"])
def test_closest_is_optimal_of_numbers_too(z3, norm):
    laws = [RegressionTree.leaf([0.25], slope=[[1.0, -0.5]]), RegressionTree.leaf([-0.5], slope=[[0.0, 2.0]])]
    model = RegressionMixture([[0.0, 0.0], [1.0, -3.0]], [0.0, 0.25], laws, ["u"], low=[-1], high=[1])
    x, domain = np.array([0.1, 0.2]), Box.from_bounds([-1, -1], [1, 1])
    for asked in ({"answer": "u >= 0.75"}, {"tolerance": 0.5}):
        distance = closest(model, x, norm, domain, **asked).exact_distance
        assert smtlib.solve(smtlib.closest(model, x, distance, norm, domain, **asked)).status == "unsat"
        beyond = smtlib.closest(model, x, distance + Fraction(1, 10**20), norm, domain, **asked)
        assert smtlib.solve(beyond).status == "sat"
        assert "(minimize distance)" in smtlib.closest(model, x, None, norm, domain, **asked)


@pytest.mark.parametrize("encoding", ["compact", "published"])
def test_runs_of_a_system(z3, encoding):
    assert smtlib.solve(smtlib.safe(controller(), thermostat(), 8, encoding)).status == "unsat"
    cold = thermostat(disturbance={"t": (-0.5, 0)})
    opinion = smtlib.solve(smtlib.safe(controller(), cold, 8, encoding))
    assert opinion.status == "sat"
    assert 1 <= opinion.point[0] <= 1.5
    narrow = thermostat(domain={"t": (0, 1.8)})  # a run that leaves it is no counterexample
    assert smtlib.solve(smtlib.safe(controller(), narrow, 8, encoding)).status == "unsat"
    wide = thermostat(disturbance={"t": (-0.5, 0)}, domain={"t": (-10, 10)})
    assert smtlib.solve(smtlib.safe(controller(), wide, 8, encoding)).status == "sat"
    inverted = Mixture([[0.0], [1.0]], [0.0, -1.0], controller().trees, ["off", "on"], ["t"])
    assert smtlib.solve(smtlib.safe(inverted, thermostat(), 20, encoding)).status == "sat"


def test_what_the_policy_sees_may_be_off(z3):
    seeing_badly = thermostat(domain={"t": (0, 3)}, float32_observations=True)
    text = smtlib.safe(controller(), seeing_badly, 3)
    assert "seen0_2" in text
    assert smtlib.solve(text).status == "unsat"


def test_goals(z3):
    assert smtlib.solve(smtlib.reaches(controller(), thermostat(), 4)).status == "unsat"
    assert smtlib.solve(smtlib.reaches(controller(), thermostat(), 2)).status == "sat"
    narrow = thermostat(domain={"t": (5, 6)})
    assert smtlib.solve(smtlib.reaches(controller(), narrow, 2)).status == "unsat"
    with pytest.raises(InputError, match="no goal"):
        smtlib.reaches(controller(), thermostat(goal=[]), 2)


@pytest.mark.parametrize("goal", ["t >= 1.2", ["t <= 1.2", "t >= 0.9"], "t >= 2.5"])
@pytest.mark.parametrize("within", [1, 3, 6])
def test_goals_of_the_question(z3, goal, within):
    opinion = smtlib.solve(smtlib.reaches(controller(), thermostat(), within, goal))
    assert opinion.status == STATUS[type(reaches(controller(), thermostat(), goal, within=within))]


def test_no_time_is_unknown(z3):
    policy = half_planes((2.18, 7.22, 20.64, 25.33), 1.0)
    policy = Mixture(policy.gate_weights, policy.gate_bias, policy.trees, [0, 1])
    text = smtlib.safe(policy, systems.cartpole_published(), 10, "published")
    opinion = smtlib.solve(text, timeout=0.2)
    assert opinion.status == "unknown"
    assert opinion.reason


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: smtlib.safe(controller(), systems.mountaincar(), 3), "the steps of 'mountaincar' are not"),
        (lambda: smtlib.reaches(controller(), systems.mountaincar(), 3), "this is for affine systems"),
        (lambda: smtlib.safe(controller(), thermostat(), None), "for ever takes quantifiers"),
        (lambda: smtlib.safe(controller(), thermostat(), 3, "nested"), "encoding"),
        (lambda: smtlib.safe(controller(), thermostat(), -1), "at least 0"),
        (lambda: smtlib.safe(random_mixture(0), thermostat(), 1), "features"),
        (lambda: smtlib.always(half_planes(prediction="soft"), None, ["left"]), "hard"),
    ],
)
def test_wrong_questions_are_errors(ask, message):
    with pytest.raises(InputError, match=message):
        ask()
