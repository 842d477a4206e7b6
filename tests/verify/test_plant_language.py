"""Where runs begin, what changes with time, what is remembered, and goals that first states are partly in."""

import json
from array import array
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from moet import Mixture, Tree
from moet.errors import CertificateError, InputError
from moet.model.file import digest
from moet.verify import Certificate, Proved, Refuted, check, meets, reaches, safe, systems
from moet.verify.checker.documents.system import read_system
from moet.verify.checker.loops.flowpipe.first import most_of_first
from moet.verify.checker.meter import Meter
from moet.verify.loops.flowpipe.script import CASES, END, GOAL, PART, Script
from moet.verify.spec import Spec
from moet.verify.systems import AffineSystem, NonlinearSystem, SampledSystem

from .plants import law

BRAKE = law([[-1.0, -2.0]], [0.0], ["u"])


def cart(**changes):
    description = {
        "flow": {"x": "v", "v": "u"},
        "controls": {"u": (-2, 2)},
        "period": "0.1",
        "initial": {"x": (0, 1), "v": (0, 1)},
    }
    return SampledSystem("cart", **(description | changes))


def drift(**changes):
    """Moves to the right, whatever the control."""
    description = {
        "flow": {"x": "1 + u"},
        "controls": {"u": (-1, 1)},
        "period": "0.5",
        "initial": {"x": (-1, "0.4")},
    }
    return SampledSystem("drift", **(description | changes))


def windy(**changes):
    description = {
        "flow": {"x": "u + wind"},
        "controls": {"u": (-1, 1)},
        "period": "0.1",
        "initial": {"x": ("-0.1", "0.1")},
        "schedule": {"wind": ["0.5"] * 5 + ["-0.5"] * 5 + [("-0.1", "0.1")]},
    }
    return SampledSystem("windy", **(description | changes))


def thermostat(**changes):
    description = {
        "flow": {"room": "0.1 * (power - room)"},
        "memory": {"heating": "chosen"},
        "actions": {"off": {"power": 10, "chosen": 0}, "on": {"power": 30, "chosen": 1}},
        "period": "0.5",
        "initial": [{"room": (19, 21), "heating": mode} for mode in (0, 1)],
        "safe": ["18 <= room <= 22"],
    }
    return SampledSystem("thermostat", **(description | changes))


def switch():
    """Heats below 19, and below 21 if it was heating."""
    seen = [[room, mode] for room in np.linspace(15, 25, 101) for mode in (0, 1)]
    wanted = ["on" if room < 19 or (room < 21 and mode == 1) else "off" for room, mode in seen]
    return DecisionTreeClassifier().fit(seen, wanted)


def rejected(certificate, policy, plant, **changes):
    """Whether the checker refuses a certificate for a plant that is not the one it is about."""
    other = json.loads(json.dumps(plant.document()))
    other.update(changes)
    certificate = Certificate(certificate.kind, dict(certificate.claim) | {"system": read_system(other).digest})
    try:
        check(certificate, policy, other)
    except CertificateError:
        return True
    return False


def test_first_states_may_be_a_polytope():
    verdict = meets(BRAKE, cart(initial_where=["x + v <= 1"]), "x <= 1.05 until 2; x + v <= 1 until 2")
    assert isinstance(verdict, Proved)
    assert "where x + v <= 1" in verdict.claim
    assert isinstance(meets(BRAKE, cart(), "x <= 1.05 until 2"), Refuted)


def test_a_refutation_begins_in_the_polytope():
    plant = cart(initial_where=["x + v <= 1"])
    verdict = meets(BRAKE, plant, "x <= 0.95 until 2")
    assert isinstance(verdict, Refuted)
    assert plant.first.has(verdict.trace.start)


def test_a_polytope_that_touches_a_limit_in_one_corner_is_not_refuted():
    verdict = meets(BRAKE, cart(initial_where=["x + v <= 1"]), "x + 0.5 * v <= 1 at 0")
    assert not isinstance(verdict, Refuted)


def test_first_states_may_be_several_boxes():
    plant = cart(initial=[{"x": (0, "0.1"), "v": 0}, {"x": ("0.9", 1), "v": ("-0.1", 0)}])
    verdict = meets(BRAKE, plant, "never 0.3 <= x <= 0.8 at 0; -0.2 <= x <= 1.1 until 3")
    assert isinstance(verdict, Proved)
    assert "; or with x from 0.9 to 1" in verdict.claim
    assert isinstance(meets(BRAKE, plant, "-1 <= x <= 1.1"), Proved)
    assert isinstance(meets(BRAKE, plant, "never 0.95 <= x at 0"), Refuted)


def test_a_proof_about_one_box_says_nothing_of_another():
    plant = cart(initial=[{"x": (0, "0.1"), "v": 0}, {"x": ("0.9", 1), "v": ("-0.1", 0)}])
    proof = meets(BRAKE, plant, "x <= 1.1 until 1")
    more = plant.document()["first"]
    more["boxes"].append([["0", "1"], ["-1/10", "0"]])
    assert rejected(proof.certificate, BRAKE, plant, first=more)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.fractions(-3, 3, max_denominator=4), min_size=2, max_size=2),
    st.lists(st.fractions(-3, 3, max_denominator=4), min_size=2, max_size=2),
    st.fractions(0, 3, max_denominator=4),
)
def test_bounds_on_first_states_hold_of_all_of_them_and_agree_with_those_of_the_checker(row, condition, bound):
    half = systems.HalfSpace(tuple(condition), bound)
    plant = cart(initial={"x": (-1, 1), "v": (-1, 1)}, initial_where=[half])
    most = plant.first.most(row)
    assert most == most_of_first(read_system(plant), row, Meter())
    points = plant.first.sample(np.random.default_rng(0), 200)
    assert np.all(points @ np.array(row, float) <= float(most) + 1e-9)


@pytest.mark.parametrize("goal", ["x >= 0", "0 <= x <= 0.6"])
def test_a_goal_whose_edge_is_inside_the_first_states_is_reached(goal):
    verdict = reaches(law([[0.0]], [0.0], ["u"]), drift(), goal=[goal], within=4)
    assert isinstance(verdict, Proved)


def test_a_goal_that_runs_leap_over_is_not_reached():
    verdict = reaches(law([[0.0]], [0.0], ["u"]), drift(), goal=["0 <= x <= 0.45"], within=4)
    assert isinstance(verdict, Refuted)


def test_what_is_beyond_a_goal_must_be_followed():
    policy = law([[0.0]], [0.0], ["u"])
    proof = reaches(policy, drift(), goal=["0 <= x <= 0.6"], within=4)
    forged = Certificate(proof.certificate.kind, proof.certificate.claim)
    for codes, refs, numbers in proof.certificate._read_blocks():
        place = list(refs).index(1)  # one limit that runs may be beyond
        others = array(refs.typecode, [*refs[:place], 0, *refs[place + 2 :]])
        forged.add(codes, others, numbers)
    with pytest.raises(CertificateError, match="beyond a limit"):
        check(forged, policy, drift())


def test_offsets_may_change_with_time():
    plant = AffineSystem(
        "tank",
        states=["level"],
        controls={"inflow": (0, 1)},
        matrix=[["0.9"]],
        input_matrix=[[1]],
        initial={"level": (1, 2)},
        schedule={"level": ["-0.1", "-0.5", (0, "0.1")]},
    )
    fill = law([[-0.2]], [0.6], ["inflow"])
    verdict = meets(fill, plant, "0.8 <= level <= 3")
    assert isinstance(verdict, Proved)
    assert "level: -0.1, -0.5, from 0 to 0.1" in verdict.claim
    assert isinstance(meets(fill, plant, "level >= 1 until 3"), Refuted)
    np.testing.assert_allclose(plant.successor([[1.0]], [[0.0]], step=1), [[0.4]])


def test_a_schedule_is_that_of_the_step():
    policy = law([[-2.0]], [0.0], ["u"])
    assert isinstance(meets(policy, windy(), "-0.25 <= x <= 0.25"), Proved)
    assert isinstance(meets(policy, windy(), "-0.08 <= x <= 0.08 from 2 to 3"), Proved)
    assert isinstance(meets(policy, windy(), "-0.1 <= x <= 0.1 until 3"), Refuted)
    late = windy(schedule={"wind": ["-0.1"] * 15 + ["0.9"]})
    assert isinstance(meets(policy, late, "-0.2 <= x <= 0.2 until 1.5"), Proved)
    assert isinstance(meets(policy, late, "-0.2 <= x <= 0.2 until 3"), Refuted)
    assert not isinstance(meets(policy, late, "-0.2 <= x <= 0.2"), Proved)


def test_equations_in_discrete_time_have_schedules_too():
    plant = NonlinearSystem(
        "step",
        states=["x"],
        controls={"u": (-1, 1)},
        step={"x": "0.5 * x + 0.1 * sin(x) + u + push"},
        schedule={"push": [0, "0.3", 0]},
        initial={"x": ("-0.1", "0.1")},
    )
    idle = law([[0.0]], [0.0], ["u"])
    assert isinstance(meets(idle, plant, "-0.4 <= x <= 0.4"), Proved)
    assert isinstance(meets(idle, plant, "-0.2 <= x <= 0.2 until 2"), Refuted)


def test_an_integral_is_remembered():
    plant = SampledSystem(
        "integral",
        flow={"x": "u - 0.5 * x + load"},
        memory={"sum": "sum + 0.1 * (1 - x)"},
        controls={"u": (-5, 5)},
        period="0.1",
        parameters={"load": ("-0.5", "0.5")},
        initial={"x": (0, "0.2"), "sum": 0},
    )
    policy = law([[-2.0, 1.5]], [2.0], ["u"])
    verdict = meets(policy, plant, "x <= 1.3 until 12; 0.97 <= x <= 1.03 from 10 to 12")
    assert isinstance(verdict, Proved)
    assert "next sum = sum + 0.1 * (1 - x)" in verdict.claim
    times, states, _ = plant.simulate(policy, [[0.1, 0.0]], 120, fixed={"load": 0.5})
    assert np.all(np.abs(states[0, times >= 10, 0] - 1) < 0.03)


def test_a_mode_is_remembered():
    verdict = safe(switch(), thermostat(), steps=12)
    assert isinstance(verdict, Proved)
    assert isinstance(safe(switch(), thermostat(safe=["18.5 <= room <= 21"]), steps=12), Refuted)


def test_a_limit_of_what_is_remembered_counts_when_it_jumps():
    plant = SampledSystem(
        "jump",
        flow={"x": "0 * u"},
        memory={"last": "x"},
        controls={"u": (-1, 1)},
        period="0.5",
        initial={"x": (1, 2), "last": 0},
    )
    idle = law([[0.0, 0.0]], [0.0], ["u"])
    assert isinstance(meets(idle, plant, "last <= 0.1 until 0.4"), Proved)
    assert isinstance(meets(idle, plant, "last <= 0.9 until 0.5"), Refuted)
    assert isinstance(meets(idle, plant, "last >= 0.9 from 0.6 to 2"), Proved)


@pytest.mark.parametrize("plant", [windy(), thermostat(), cart(initial_where=["x + v <= 1"])])
def test_files_say_all_of_it(plant, tmp_path):
    systems.save(plant, tmp_path / "plant.json")
    assert systems.load(tmp_path / "plant.json").document() == plant.document()
    assert read_system(tmp_path / "plant.json").digest == plant.digest


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"initial_where": ["x + v <= -1"]}, "holds nowhere"),
        ({"initial": []}, "initial maps every state"),
        ({"initial": [{"x": 0}]}, "initial lacks"),
        ({"initial_where": ["x * v <= 1"]}, "linear"),
        ({"schedule": {"wind": []}}, "one number for each step"),
        ({"schedule": {"wind": "0.5"}}, "one number for each step"),
        ({"schedule": [1]}, "schedule maps names"),
        ({"schedule": {"x": [1]}}, "different printable names"),
        ({"memory": {"x": "v"}}, "both flow"),
        ({"memory": {"m": "q"}, "initial": {"x": 0, "v": 0, "m": 0}}, "uses 'q'"),
        ({"memory": {"m": "1 if x <= v else 0"}, "initial": {"x": 0, "v": 0, "m": 0}}, "must not jump"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        cart(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"period": None}, "needs the time between two looks"),
        ({"initial": None}, "initial maps every state"),
        ({"intial": {"x": 0}}, "did you mean 'initial'"),
        ({"horizon": 3}, "its parts are actions, avoid"),
        ({"disturbance": {"x": "0.1"}}, "name of its own"),
        ({"initial": {"x": (0, float("nan")), "v": 0}}, "got nan"),
        ({"initial": {"x": (1, 0), "v": 0}}, "is empty"),
        ({"flow": {"x": "v", "v": "u + q"}}, "uses 'q'"),
    ],
)
def test_slips_of_the_pen_are_told(changes, message):
    with pytest.raises(InputError, match=message):
        cart(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"domain": {"x": ("0.5", 1)}}, "widen the domain"),
        ({"flow": {"x": "v / 0", "v": "u"}, "initial": {"x": 1, "v": 1}}, "equation of 'x' has no value"),
        ({"flow": {"x": "sqrt(x - 2)", "v": "u"}}, "root of a negative number"),
    ],
)
def test_equations_that_do_not_hold_of_first_states_are_told(changes, message):
    with pytest.raises(InputError, match=message):
        meets(BRAKE, cart(**changes), "x <= 2 until 1")


def test_what_is_no_system_is_told():
    with pytest.raises(InputError, match="expected a system"):
        meets(BRAKE, {"x": 1}, "x <= 2 until 1")


def test_a_division_by_zero_that_runs_may_meet_is_told():
    verdict = meets(
        BRAKE, cart(flow={"x": "v / (x + 0.001)", "v": "u"}, initial={"x": (0, 1), "v": -1}), "x <= 2 until 1"
    )
    assert "(in )" not in verdict.reason


def test_systems_with_actions_have_one_box_and_no_schedule():
    description = {"states": ["x"], "actions": ["a", "b"], "matrix": [[1]], "offsets": [[0], [1]], "safe": ["x <= 9"]}
    with pytest.raises(InputError, match="one box"):
        AffineSystem("s", initial=[{"x": 0}, {"x": 1}], **description)
    with pytest.raises(InputError, match="schedule"):
        AffineSystem("s", initial={"x": 0}, schedule={"x": [1]}, **description)


@pytest.mark.parametrize(
    "first",
    [
        {"boxes": [], "where": []},
        {"boxes": [[["0", "1"], ["0", "1"]]], "where": []},
        {"boxes": [[["0", "1"], ["0", "1"]], [["0", "2"], ["0", "1"]]], "where": []},
        {"boxes": [[["0", "1"]]], "where": []},
        {"boxes": [[["1", "0"], ["0", "1"]]], "where": []},
        {"boxes": 3, "where": []},
        [],
    ],
)
def test_the_checker_refuses_first_states_that_make_no_sense(first):
    with pytest.raises(CertificateError):
        read_system(cart().document() | {"first": first})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("schedule", [["x", []]]),
        ("schedule", [["x", [["1", "0"]]]]),
        ("schedule", [["w", [["0", "1"]]], ["w", [["0", "1"]]]]),
        ("schedule", [["x", [["0", "1"]]]]),
        ("memory", [["q", "x"]]),
        ("memory", [["x", "v"]]),
        ("memory", [["x", "v"], ["x", "v"]]),
    ],
)
def test_the_checker_refuses_schedules_and_memories_that_make_no_sense(key, value):
    document = cart().document()
    document["dynamics"][key] = value
    with pytest.raises(CertificateError):
        read_system(document)


def test_exact_first_states_are_next_to_rounded_ones():
    first = cart(initial={"x": ("1/3", "2/3"), "v": 0}).first
    assert first.nearest([1 / 3, 0.0])[0] in (Fraction(1, 3), Fraction(1 / 3))
    assert first.nearest([0.9, 0.0]) is None


def test_nobody_is_believed_only_where_a_condition_holds_nowhere():
    plant = cart(initial_where=["x + v <= 1"])
    proof = meets(BRAKE, plant, "x <= 1.05 until 2")
    forged = Certificate(proof.certificate.kind, proof.certificate.claim)
    forged.add(bytes([68]))
    with pytest.raises(CertificateError, match="runs may begin"):
        check(forged, BRAKE, plant)


def to_and_fro(**changes):
    """Below 0 it goes up, above it goes down: no run gets far."""
    description = {
        "states": ["x"],
        "controls": {"u": (-1, 1)},
        "actions": {"down": {"u": "-0.2"}, "up": {"u": "0.2"}},
        "step": {"x": "x + u"},
        "initial": {"x": ("0.1", "0.3")},
    }
    plant = NonlinearSystem("to and fro", **(description | changes))
    tree = Tree([0, -1, -1], [0.0, 0, 0], [1, -1, -1], [2, -1, -1], [[1, 0], [0, 1], [1, 0]])
    return Mixture([[0.0]], [0.0], [tree], ["down", "up"], feature_names=["x"]), plant


def test_a_case_is_over_after_its_step_also_where_a_set_is_cut_at_a_goal():
    """A forged proof that goes on as if the leaf of the first step answered for ever."""
    policy, plant = to_and_fro()
    spec = Spec.read("reach x <= -0.45 within 5", plant.states)
    assert isinstance(meets(policy, plant, spec), Refuted)
    claim = {"model": digest(policy), "system": plant.digest, "name": plant.name}
    claim["spec"] = [part.document() for part in spec.requirements]
    script = Script()
    script.add(PART)
    script.add(CASES, [1, 1, 0, 2])
    script.add(0, [1])
    for _ in range(4):
        script.add(GOAL, [0, 1, 0])
        script.add(0, [1])
        script.add(END)
        script.add(0, [1])
    script.add(END)
    forged = Certificate("flowpipe", claim)
    script.into(forged)
    with pytest.raises(CertificateError, match="leaves may answer"):
        check(forged, policy, plant)


def test_a_set_that_jumps_is_cut_at_a_goal_afterwards():
    subjects = to_and_fro(step={"x": "0.5 * x + u"}, initial={"x": ("-0.3", "0.3")})
    assert meets(*subjects, "reach x <= -0.1 within 6").checked
