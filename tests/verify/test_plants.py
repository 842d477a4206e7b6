import json
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from moet.errors import CertificateError, InputError
from moet.verify import systems
from moet.verify.checker.documents.system import read_system

from .plants import affine_tank, everything, law, nonlinear_tank, pendulum

PLANTS = {"pendulum": pendulum, "everything": everything, "tank": affine_tank, "drain": nonlinear_tank}


@pytest.mark.parametrize("name", PLANTS)
def test_a_plant_is_the_same_in_a_file_and_to_the_checker(name, tmp_path):
    plant = PLANTS[name]()
    systems.save(plant, tmp_path / "plant.json")
    assert systems.load(tmp_path / "plant.json").digest == plant.digest
    assert read_system(tmp_path / "plant.json").digest == read_system(plant).digest == plant.digest


@pytest.mark.parametrize("name", PLANTS)
def test_loader_and_checker_refuse_the_same_changes_of_a_document(name, tmp_path):
    document = PLANTS[name]().document()
    assert document["version"] == 3
    for key in (*document, "actions"):
        for value in (None, "?", [], {}, [[]], [["u", ["1", "0"]]], True):
            if document.get(key) == value or (key == "observe" and value == []):
                continue
            changed = json.loads(json.dumps(document)) | {key: value}
            file = tmp_path / "changed.json"
            file.write_text(json.dumps(changed))
            read = [_digest(read_system, file), _digest(systems.load, file)]
            assert read[0] == read[1], (key, value)


def _digest(reader, file):
    try:
        return reader(file).digest
    except (CertificateError, InputError):
        return None


def test_between_samples_the_simulator_is_what_scipy_integrates():
    plant = pendulum()
    random = np.random.default_rng(0)
    starts, torques = random.uniform([-1, -2], [1.2, 2], (20, 2)), random.uniform(-2, 2, (20, 1))
    states = plant.between(starts, torques, 5)
    for start, torque, run in zip(starts, np.clip(torques[:, 0], -1, 1), states, strict=True):
        true = solve_ivp(
            lambda _, x, u=torque: [x[1], 2 * np.sin(x[0]) + 8 * u],
            (0, 0.05),
            start,
            t_eval=np.linspace(0, 0.05, 6),
            rtol=1e-11,
            atol=1e-12,
        )
        np.testing.assert_allclose(run, true.y.T, atol=1e-9)


def test_a_run_clips_what_the_policy_wants_and_sees_what_is_observed():
    plant = pendulum(observe={"lean": "2 * angle", "speed": "speed"})
    times, states, controls = plant.simulate(law([[-3.0, -1.0]], [0.0], ["torque"]), [[1.0, 0.0]], steps=4, points=2)
    assert times.tolist() == pytest.approx([0.025 * k for k in range(9)])
    assert states.shape == (1, 9, 2)
    assert controls[0, :, 0].tolist() == [-1] * 4
    assert plant.features == ("lean", "speed")


def test_steps_of_systems_in_discrete_time_take_numbers():
    assert affine_tank().successor([[1.0], [2.0]], [[0.5], [7.0]]).tolist() == [[2.0], [3.9]]
    assert nonlinear_tank().successor([[1.0]], [[0.5]]).tolist() == [[1.3]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"flow": {"angle": "speed", "speed": "1 if angle <= 0 else torque"}}, "must not jump"),
        ({"period": 0}, "period must be a positive number"),
        ({"controls": {}}, "needs flow"),
        ({"controls": {"torque": (1, -1)}}, "empty"),
        ({"avoid": ["1 <= angle"]}, "list of sets"),
        ({"avoid": [[]]}, "without conditions"),
        ({"flow": {"angle": "speed", "speed": "force"}}, "uses 'force'"),
        ({"parameters": {"sin": 1}}, "cannot be used in equations"),
        ({"disturbance": {"angle": 1}}, "are states: a disturbance of a flow is a signal"),
        ({"observe": {"a": "torque"}}, "uses 'torque'"),
        ({"observation_error": {"position": 1}}, "names"),
        ({"actions": ["left"]}, "for policies that answer with labels, actions="),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_name(changes, message):
    with pytest.raises(InputError, match=message):
        pendulum(**changes)


def test_actions_and_controls_do_not_mix():
    with pytest.raises(InputError, match="either actions"):
        systems.AffineSystem("tank", states=["x"], matrix=[[1]], offsets=[[0]], initial={"x": 0}, safe=["x <= 1"])
    with pytest.raises(InputError, match="for controls"):
        systems.AffineSystem(
            "tank",
            states=["x"],
            actions=["a"],
            matrix=[[1]],
            offsets=[[0]],
            offset=[1],
            initial={"x": 0},
            safe=["x<=1"],
        )
    assert pendulum().period == Fraction(1, 20)
