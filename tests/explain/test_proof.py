"""Pictures of proofs."""

import numpy as np
import pytest

from moet import Mixture, RegressionMixture, RegressionTree, Tree, verify
from moet.errors import InputError
from moet.explain import Mark, draw_proof, proof_picture
from moet.explain.proof import tube
from moet.explain.proof_drawing import _clip, _polygons, _sides
from moet.verify import systems
from moet.verify.systems.conditions import half_spaces

TANK = systems.NonlinearSystem(
    "tank",
    states=["level"],
    actions=["closed", "open"],
    inputs={"inflow": (0, "0.3")},
    step={"level": "level + 0.1 * (inflow - 0.15 * sqrt(level))"},
    initial={"level": (0.9, 1.1)},
    safe=["0.5 <= level <= 1.5"],
    disturbance={"level": 0.002},
)
VALVE = Mixture(
    [[0.0]],
    [0.0],
    [Tree([0, -1, -1], [1.0, 0, 0], [1, -1, -1], [2, -1, -1], [[1, 0], [0, 1], [1, 0]])],
    ["closed", "open"],
    ["level"],
)


@pytest.fixture(scope="module", params=[None, 60], ids=["for ever", "60 steps"])
def proved(request):
    return verify.safe(VALVE, TANK, steps=request.param)


def test_every_simulated_run_is_inside_the_boxes_that_are_drawn(proved):
    picture = proof_picture(proved.certificate, VALVE, TANK, runs=30)
    assert picture.endless == (proved.certificate.kind == "invariant")
    for k, time in enumerate(picture.times):
        boxes = [s for s in picture.segments if s.start <= time <= s.stop]
        low, high = min(s.low[0] for s in boxes), max(s.high[0] for s in boxes)
        assert low <= picture.runs[:, k].min() <= picture.runs[:, k].max() <= high


def test_a_proof_is_drawn_over_time_and_limits_beside_it(proved):
    figure = draw_proof(proof_picture(proved.certificate, VALVE, TANK, runs=4), note="tank")
    (axis,) = figure.axes
    assert axis.get_ylabel() == "level"
    assert axis.get_ylim()[0] < 0.5
    assert axis.get_ylim()[1] > 1.5
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["proved", "simulated runs", "not allowed"]


def test_one_state_over_another(proved):
    figure = draw_proof(proof_picture(proved.certificate, VALVE, TANK, runs=4), ["level:level"])
    assert figure.axes[0].get_xlabel() == "level"


def test_states_that_do_not_exist_and_proofs_without_sets_are_told(proved):
    picture = proof_picture(proved.certificate, VALVE, TANK, runs=4)
    with pytest.raises(InputError, match="no state 'height'; the states are level"):
        draw_proof(picture, ["height"])
    with pytest.raises(InputError, match="at least one state"):
        draw_proof(picture, [])
    with pytest.raises(InputError, match="kind 'safe' states no sets that could be drawn"):
        tube(verify.Certificate("safe", {}), VALVE, TANK)


def test_obstacles_are_polygons_and_limits_are_what_is_beyond_them():
    states = ("x", "y")
    box = Mark("avoid", half_spaces(["1 <= x <= 2", "1 <= y <= 2"], states))
    (square,) = _polygons(box, 0, 1, (0, 3), (0, 3))
    assert sorted(map(tuple, square)) == [(1, 1), (1, 2), (2, 1), (2, 2)]
    (beyond,) = _polygons(Mark("safe", half_spaces(["x + y <= 5"], states)), 0, 1, (0, 3), (0, 3))
    assert {(3.0, 2.0), (3.0, 3.0), (2.0, 3.0)} == set(map(tuple, beyond))
    assert _polygons(Mark("avoid", half_spaces(["5 <= x"], states)), 0, 1, (0, 3), (0, 3)) == []


def test_sides_come_from_conditions_on_one_state_alone():
    conditions = half_spaces(["-1 <= x <= 2", "x + y <= 0", "2 * y >= 3"], ("x", "y"))
    assert _sides(conditions, 0) == (-1.0, 2.0)
    assert _sides(conditions, 1) == (1.5, np.inf)


def test_what_is_cut_away_whole_leaves_nothing():
    square = np.array([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)])
    assert len(_clip(square, (1.0, 0.0, -1.0))) == 0
    assert np.array_equal(_clip(square, (1.0, 0.0, 2.0)), square)


PENDULUM = systems.SampledSystem(
    "pendulum",
    flow={"angle": "velocity", "velocity": "2 * sin(angle) + 8 * torque"},
    controls={"torque": (-1, 1)},
    period="0.05",
    initial={"angle": (1, "1.2"), "velocity": (0, "0.2")},
)
LAW = RegressionMixture(
    [[0.0, 0.0]],
    [0.0],
    [RegressionTree.leaf([1.45], slope=[[-2.3, -0.15]])],
    ["torque"],
    feature_names=["angle", "velocity"],
)


@pytest.fixture(scope="module")
def flowpipe():
    return verify.meets(LAW, PENDULUM, "0 <= angle <= 1 from 0.5 to 1; never angle >= 1.3 and velocity >= 0 until 1")


def test_runs_in_continuous_time_are_inside_the_boxes_between_samples_too(flowpipe):
    picture = proof_picture(flowpipe.certificate, LAW, PENDULUM, runs=50)
    assert picture.end == 1.0
    assert not picture.endless
    tiny = 1e-9  # the simulation's own error
    for k, time in enumerate(picture.times):
        boxes = [s for s in picture.segments if s.start - tiny <= time <= s.stop + tiny]
        low, high = np.min([s.low for s in boxes], axis=0), np.max([s.high for s in boxes], axis=0)
        assert np.all(low - tiny <= picture.runs[:, k])
        assert np.all(picture.runs[:, k] <= high + tiny)


def test_what_a_certificate_claims_is_drawn_when_it_holds(flowpipe):
    picture = proof_picture(flowpipe.certificate, LAW, PENDULUM, runs=4)
    assert [(mark.kind, mark.start, mark.stop) for mark in picture.marks] == [("goal", 0.5, 1.0), ("avoid", 0.0, 1.0)]
    figure = draw_proof(picture, ["angle:velocity"])
    assert [text.get_text() for text in figure.legends[0].get_texts()][2:] == ["goal", "to be avoided"]


def test_controlled_systems_in_discrete_time_are_drawn_too():
    system = systems.AffineSystem(
        "cruise",
        states=["speed"],
        controls={"push": (-1, 1)},
        matrix=[["0.99"]],
        input_matrix=[["0.1"]],
        initial={"speed": (-1, 1)},
        safe=["-2 <= speed <= 2"],
    )
    law = RegressionMixture(
        [[0.0]], [0.0], [RegressionTree.leaf([0.0], slope=[[-0.5]])], ["push"], None, None, ["speed"]
    )
    picture = proof_picture(verify.safe(law, system, steps=10).certificate, law, system, runs=10)
    assert picture.unit == "step"
    assert picture.runs.shape == (10, 11, 1)
    assert np.abs(picture.runs).max() <= 1.0
