"""Policies that answer with labels, on plants with controls."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from moet import Mixture
from moet.errors import CertificateError, InputError
from moet.model.file import save as save_model
from moet.model.tree import Tree
from moet.verify import Proved, Refuted, check, meets, reaches, safe, systems
from moet.verify.checker.certificate import Certificate
from moet.verify.checker.documents.system import read_system
from moet.verify.checker.loops.flowpipe.sets import Zonotope, cut, narrowed
from moet.verify.checker.loops.intervals import ONE
from moet.verify.checker.meter import Meter
from moet.verify.loops.flowpipe.tubes import proven_tubes


def cart(**changes):
    """A mass that is pushed to and fro."""
    description = {
        "flow": {"place": "speed", "speed": "force - 0.5 * speed"},
        "actions": {"left": {"force": -1}, "right": {"force": 1}},
        "period": "0.25",
        "initial": {"place": ("-0.5", "0.5"), "speed": 0},
        "safe": ["-2 <= place <= 2"],
    }
    return systems.SampledSystem("cart", **(description | changes))


def switch(classes=("left", "right"), names=("place", "speed")) -> Mixture:
    """Pushes to where it is not: left on the right."""
    tree = Tree([0, -1, -1], [0.1, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [0, 1], [1, 0]])
    return Mixture(np.zeros((1, 2)), [0.0], [tree], list(classes), feature_names=list(names))


def test_a_policy_of_labels_is_proved_and_the_claim_says_what_they_do():
    verdict = safe(switch(), cart(), 6)
    assert isinstance(verdict, Proved)
    assert verdict.checked
    assert "left: force = -1" in verdict.claim
    assert check(verdict.certificate, switch(), cart())


def test_labels_are_names_or_numbers_of_actions():
    assert isinstance(safe(switch([0, 1]), cart(), 2), Proved)
    with pytest.raises(InputError, match="is no action of the system"):
        safe(switch(["west", "east"]), cart(), 2)


def test_a_tree_of_scikit_learn_is_asked_about_as_it_is():
    tree = DecisionTreeClassifier(max_depth=2).fit([[-1, 0], [0, 0], [0.3, 0], [1, 0]], [1, 1, 0, 0])
    verdict = reaches(tree, cart(initial={"place": ("0.4", "0.5"), "speed": 0}), "place <= 0.3", within=8)
    assert isinstance(verdict, Proved)


def test_runs_of_all_branches_are_in_the_tubes():
    plant, policy = cart(), switch()
    verdict = safe(policy, plant, 6)
    tubes = proven_tubes(verdict.certificate, policy, plant)
    assert len(tubes) > 1
    starts = np.stack([np.linspace(-0.5, 0.5, 41), np.zeros(41)], axis=1)
    times, states, _ = plant.simulate(policy, starts, 6, points=4)
    for run in states:
        assert any(_is_inside(tube, times, run) for tube in tubes)


def _is_inside(tube, times, run):
    return all(
        np.all((tube.low[row] - 1e-9 <= state) & (state <= tube.high[row] + 1e-9))
        for time, state in zip(times, run, strict=True)
        for row in np.flatnonzero((tube.start <= time + 1e-9) & (time - 1e-9 <= tube.end))
    )


@pytest.mark.parametrize("seed", range(12))
def test_runs_of_random_policies_on_random_plants_are_in_the_tubes(seed):
    random = np.random.default_rng(seed)
    policy, plant = random_labels(random)
    verdict = meets(policy, plant, "-100 <= a <= 100 until 0.6")
    assert isinstance(verdict, Proved)
    tubes = proven_tubes(verdict.certificate, policy, plant)
    low, high = np.array(plant.initial, float).T
    starts = random.uniform(low, high, (60, 2))
    starts[:20] = np.where(random.random((20, 2)) < 0.5, low, high)
    times, states, _ = plant.simulate(policy, starts, 3, points=4)
    for run in states:
        assert any(_is_inside(tube, times, run) for tube in tubes)


def random_labels(random):
    """Two experts, trees of depth two, three actions with effects of any width, and a plant with a bend."""
    experts = []
    for _ in range(2):
        thresholds = [*random.normal(0, 0.3, 3), 0, 0, 0, 0]
        features = [*random.integers(0, 2, 3), -1, -1, -1, -1]
        value = [*[[1, 0, 0]] * 3, *np.eye(3)[random.integers(0, 3, 4)]]
        experts.append(Tree(features, thresholds, [1, 3, 5, -1, -1, -1, -1], [2, 4, 6, -1, -1, -1, -1], value))
    gate = np.array([random.normal(size=2), random.normal(size=2)])
    policy = Mixture(gate, random.normal(0, 0.1, 2), experts, ["x", "y", "z"], feature_names=["a", "b"])
    sides = np.sort(random.normal(0, 1, (3, 1, 2)).round(3), axis=2).tolist()
    plant = systems.SampledSystem(
        "random",
        flow={"a": "b - 0.3 * a * b", "b": f"{random.normal():.2f} * sin(a) + u - 0.1 * b"},
        actions={name: {"u": tuple(side[0])} for name, side in zip("xyz", sides, strict=True)},
        period="0.2",
        initial={"a": ("-0.4", "0.3"), "b": ("-0.3", "0.3")},
        observation_error={"a": "0.001"} if random.random() < 0.5 else None,
    )
    return policy, plant


def test_an_effect_that_is_not_known_is_any_of_its_interval():
    weak = cart(actions={"left": {"force": ("-1.5", "-0.5")}, "right": {"force": ("0.5", "1.5")}})
    assert isinstance(meets(switch(), weak, "-2 <= place <= 2 until 1"), Proved)
    certain = cart(initial={"place": "0.5", "speed": 0})
    doubtful = cart(initial={"place": "0.5", "speed": 0}, actions={"left": {"force": (-3, 0)}, "right": {"force": 1}})
    assert isinstance(meets(switch(), certain, "place <= 0.45 at 0.5"), Proved)
    verdict = meets(switch(), doubtful, "place <= 0.45 at 0.5")
    assert isinstance(verdict, Refuted)
    assert verdict.trace.actions[0] in ((-0.0,), (0.0,))
    assert "another one in every step" in meets(switch(), weak, "place <= 3 until 1").claim


def test_a_plant_of_labels_goes_to_a_file_and_back(tmp_path):
    plant = cart(actions={"left": {"force": ("-1.1", -1)}, "right": {"force": 1}})
    systems.save(plant, tmp_path / "cart.json")
    again = systems.load(tmp_path / "cart.json")
    assert again.digest == plant.digest == read_system(tmp_path / "cart.json").digest
    save_model(switch(), tmp_path / "switch.json")
    verdict = safe(tmp_path / "switch.json", again, 2)
    assert check(verdict.certificate, tmp_path / "switch.json", tmp_path / "cart.json")


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ({"left": {"force": -1}, "right": {}}, "must say what it does to force"),
        ({"left": {"force": -1, "torque": 2}, "right": {"force": 1}}, "must say what it does"),
        ({"left": {"force": (1, -1)}}, "empty"),
        ({"left": -1, "right": 1}, "maps names"),
        ({"left": {"force": "fast"}}, "expected a"),
    ],
)
def test_actions_that_make_no_sense_are_refused(actions, message):
    with pytest.raises(InputError, match=message):
        cart(actions=actions)


def test_an_action_stays_within_the_limits_of_its_actuator():
    with pytest.raises(InputError, match="beyond its limits"):
        cart(controls={"force": ("-0.5", 1)})


def test_labels_need_a_plant_that_says_what_they_do():
    plant = cart(actions=None, controls={"force": (-1, 1)})
    with pytest.raises(InputError, match="say what its labels do, as in actions="):
        safe(switch(), plant, 2)


def test_a_policy_that_goes_to_and_fro_is_proved_for_ever_where_many_steps_are_asked_about():
    heater = systems.SampledSystem(
        "heater",
        flow={"room": "0.1 * (power - room)"},
        actions={"off": {"power": 0}, "on": {"power": (28, 32)}},
        period="0.5",
        initial={"room": (19, 21)},
        safe=["18 <= room <= 23"],
    )
    tree = DecisionTreeClassifier().fit([[19.0], [19.9], [20.1], [21.0]], ["on", "on", "off", "off"])
    verdict = safe(tree, heater, 100)
    assert isinstance(verdict, Proved)
    assert "for ever has" in verdict.claim


@pytest.mark.parametrize("refs", [[1, 1, 0, 1], [2, 1, 0, 1, 1, 0, 0], [2, 1, 0, 1, -1], [0], [2, 1, 0, 1, 1, 7, 2]])
def test_cases_that_leave_out_a_leaf_or_name_none_are_refused(refs):
    verdict = meets(switch(), cart(), "place <= 3 until 0.25")
    codes, found, numbers = (list(part) for part in next(verdict.certificate._read_blocks()))
    assert list(codes) == [64, 67, 0, 66, 0, 66]
    forged = Certificate("flowpipe", verdict.certificate.claim)
    from array import array

    forged.add(bytes(codes), array("i", refs + found[found[0] * 3 + 1 :]), array("d", numbers))
    with pytest.raises(CertificateError):
        check(forged, switch(), cart())


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6))
def test_what_meets_the_guards_is_in_the_set_that_is_cut(seed):
    random = np.random.default_rng(seed)
    n, m = int(random.integers(1, 4)), int(random.integers(1, 6))
    columns = (random.normal(size=(m, n)) * ONE).astype(object)
    columns = [[int(a) for a in column] for column in columns]
    rows = [([int(a * ONE) for a in random.normal(size=m)], int(random.normal() * ONE)) for _ in range(2)]
    sides = narrowed([(-ONE, ONE)] * m, rows, Meter())
    points = random.uniform(-1, 1, (200, m))
    kept = [t for t in points if all(np.dot(row, t) + level >= 0 for row, level in rows)]
    if sides is None:
        assert not kept
        return
    part = cut(Zonotope([0] * n, columns), sides, Meter())
    for t in kept:
        assert all(low / ONE - 1e-9 <= a <= high / ONE + 1e-9 for a, (low, high) in zip(t, sides, strict=True))
        x = np.array(columns, float).T @ t
        radii = np.array(part.radii, float)
        assert np.all(np.abs(x - np.array(part.middle, float)) <= radii * (1 + 1e-9))
