"""``reaches`` on nonlinear systems."""

from array import array
from copy import deepcopy

import numpy as np
import pytest

from moet import Mixture, Tree
from moet.errors import CertificateError
from moet.verify import Certificate, Proved, Refuted, Unknown, check, reaches, systems
from moet.verify.checker.loops.geometry import covers
from moet.verify.checker.meter import Meter

from .loops import tank, valve
from .test_check_paths import unpacked

FULL = ["level >= 1.3"]


@pytest.fixture(scope="module")
def proof():
    verdict = reaches(valve(5.0), tank(), FULL, within=40)
    assert isinstance(verdict, Proved)
    return verdict.certificate


def rocker() -> Mixture:
    """Push the car the way it moves, but not on up the slope on the left."""
    brake = Tree([0, -1, -1], [-0.9, 0, 0], [1, -1, -1], [2, -1, -1], [[0, 1], [0, 1], [1, 0]])
    gate = [[0.0, 0.0], [0.0, 1.0]]
    names = ["position", "velocity"]
    return Mixture(gate, [0.0, 1e-4], [brake, Tree.leaf([0, 1])], classes=["left", "right"], feature_names=names)


def test_a_proof_is_accepted(proof, tmp_path):
    assert check(proof, valve(5.0), tank())
    proof.save(tmp_path / "proof.cert")
    assert check(tmp_path / "proof.cert", valve(5.0), tank())


def test_the_safe_set_does_not_matter():
    assert reaches(valve(5.0), tank(safe=["level <= 1.2"]), FULL, within=40)


def test_first_states_that_are_in_the_goal_need_no_steps():
    verdict = reaches(valve(5.0), tank(), "level >= 0.9", within=0)
    assert check(verdict.certificate, valve(5.0), tank())
    assert isinstance(reaches(valve(5.0), tank(), "level >= 0.95", within=0), Refuted)


def test_a_run_that_misses_the_goal_refutes():
    verdict = reaches(valve(1.0), tank(), FULL, within=40)
    assert isinstance(verdict, Refuted)
    trace = verdict.trace
    assert len(trace.actions) == 40
    assert trace.states.max() < 1.3
    for t, action in enumerate(trace.actions):
        following = tank().successor(trace.states[t][None], [tank().actions.index(action)])[0]
        np.testing.assert_allclose(trace.states[t + 1], following, atol=1e-9)


def test_too_few_steps_and_no_time_are_no_proof():
    assert isinstance(reaches(valve(5.0), tank(), FULL, within=10), Refuted)
    verdict = reaches(valve(5.0), tank(), FULL, within=40, timeout=0)
    assert isinstance(verdict, Unknown)
    assert "time limit" in verdict.reason


def test_what_only_disturbances_prevent_is_unknown():
    # without the disturbance, the last runs arrive just in time
    level, n_steps = np.array([[0.9]]), 0
    while level < 1.3:
        level, n_steps = tank().successor(level, [1]), n_steps + 1
    verdict = reaches(valve(5.0), tank(), FULL, within=n_steps)
    assert isinstance(verdict, Unknown)
    assert f"after {n_steps} steps" in verdict.reason


@pytest.mark.parametrize("within", [20, 60])
def test_mountain_car_swings_back(within):
    system = systems.mountaincar(start=(-0.51, -0.508))
    verdict = reaches(rocker(), system, "velocity <= -0.02", within=within)
    assert isinstance(verdict, Proved if within == 60 else Refuted)
    if within == 60:
        assert check(verdict.certificate, rocker(), system)


def changed(proof, **claim):
    certificate = Certificate(proof.kind, deepcopy(proof.claim) | claim)
    certificate.add(*unpacked(proof))
    return certificate


def is_rejected(certificate) -> bool:
    try:
        check(certificate, valve(5.0), tank())
    except CertificateError:
        return True
    return False


def test_other_claims_are_not_proved(proof):
    assert not is_rejected(changed(proof))
    assert is_rejected(changed(proof, goal=[]))
    assert is_rejected(changed(proof, goal=[{"coefficients": ["-1"], "bound": "-7/5"}]))
    assert is_rejected(changed(proof, steps=5))
    assert is_rejected(changed(proof, steps=None))
    assert is_rejected(changed(proof, parts=[]))
    assert is_rejected(changed(proof, model="0" * 64))
    assert is_rejected(changed(proof, system="0" * 64))


def test_changed_parts_are_rejected(proof):
    def with_part(change):
        parts = deepcopy(proof.claim["parts"])
        change(parts[0], parts[0]["blocks"])
        return changed(proof, parts=parts)

    assert is_rejected(with_part(lambda part, _: part.update(initial=[["9/10", "1"]])))
    assert is_rejected(with_part(lambda _, blocks: blocks.pop()))
    assert is_rejected(with_part(lambda _, blocks: blocks[-1].update(start=[0, 7])))
    assert is_rejected(with_part(lambda _, blocks: blocks[0].update(steps=blocks[0]["steps"] + 1)))
    assert is_rejected(with_part(lambda _, blocks: blocks[0]["enclosure"].update(matrix=[[2.0]])))
    assert is_rejected(with_part(lambda _, blocks: blocks[0].update(set=[None])))


def test_changed_records_are_rejected(proof):
    codes, refs, numbers = unpacked(proof)
    for i in range(0, len(codes), 7):
        other = bytearray(codes)
        other[i] ^= 64
        certificate = Certificate(proof.kind, proof.claim)
        certificate.add(bytes(other), refs, numbers)
        assert is_rejected(certificate), i
    if numbers:
        other = array("d", numbers)
        other[0] = -1.0
        certificate = Certificate(proof.kind, proof.claim)
        certificate.add(codes, refs, other)
        assert is_rejected(certificate)


def test_boxes_that_cover_a_box():
    unit = [(0, 1), (0, 1)]
    quarters = [[(a, a + 0.5), (b, b + 0.5)] for a in (0, 0.5) for b in (0, 0.5)]
    assert covers(quarters, unit, Meter())
    assert covers([[(-1, 2), (0, 0.6)], [(0, 0.3), (0, 1)], [(0.2, 1), (0.6, 3)]], unit, Meter())
    assert not covers(quarters[:3], unit, Meter())
    assert not covers([], unit, Meter())
    assert covers([[(0, 1), (0, 0)]], [(0, 1), (0, 0)], Meter())
