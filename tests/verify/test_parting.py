"""Policies whose affine laws jump between their leaves: sets are cut there, and each side is followed with its law."""

import numpy as np
import pytest

from moet import RegressionMixture, RegressionTree
from moet.errors import CertificateError
from moet.model.file import digest
from moet.verify import Certificate, Proved, check, meets, reaches
from moet.verify.loops.flowpipe.script import CASES, END, PART, Script
from moet.verify.spec import Spec
from moet.verify.systems import NonlinearSystem


def away(**changes):
    """A point that is pushed away from 0, and how far it is."""
    description = {
        "states": ("x", "far"),
        "controls": {"u": (-1, 1)},
        "step": {"x": "x + u", "far": "(x + u)**2"},
        "initial": {"x": ("-0.1", "0.1"), "far": 0},
        "goal": ["far >= 1"],
    }
    return NonlinearSystem("away", **(description | changes))


def two_laws(left, right):
    """A constant and a gain of x on each side of 0."""
    leaves = [RegressionTree.leaf([c], slope=[[k, 0.0]]) for c, k in (left, right)]
    weights = [[-1.0, 0.0], [1.0, 0.0]]
    return RegressionMixture(weights, [0.0, 0.0], leaves, ["u"], feature_names=["x", "far"])


APART = two_laws((-0.5, 0.1), (0.5, 0.1))


def test_runs_on_both_sides_of_a_jump_are_followed_apart():
    verdict = reaches(APART, away(), within=4)
    assert isinstance(verdict, Proved)
    assert verdict.effort["parts"] == 1


def test_sets_that_are_wide_beside_a_jump_are_followed_with_one_law():
    plant = away(initial={"x": (-1, 1), "far": 0}, goal=[])
    together = two_laws((0.001, -0.5), (-0.001, -0.5))
    verdict = meets(together, plant, "-1 <= x <= 1 until 6; -0.1 <= x <= 0.1 at 6")
    assert isinstance(verdict, Proved)
    assert verdict.effort["parts"] == 1


def forged(model, plant, spec, script):
    claim = {"model": digest(model), "system": plant.digest, "name": plant.name}
    certificate = Certificate("flowpipe", claim | {"spec": [part.document() for part in spec.requirements]})
    script.into(certificate)
    return certificate


@pytest.mark.parametrize("cases", [[[0]], [[1]]])
def test_a_side_of_a_jump_cannot_be_left_out(cases):
    plant = away()
    spec = Spec.read("reach x >= 1 within 4" if cases == [[1]] else "reach x <= -1 within 4", plant.states)
    script = Script()
    script.add(PART)
    script.add(CASES, [len(cases), *(number for case in cases for number in [len(case), case[0], 0])])
    for _ in range(4):
        script.add(0, [1])
    script.add(END)
    with pytest.raises(CertificateError, match="none of the cases"):
        check(forged(APART, plant, spec, script), APART, plant)


def test_a_law_of_a_case_does_not_act_beyond_its_step():
    """Left of 0 runs go right, and are there after a step: the first law would lead them on."""
    plant = away(initial={"x": ("-0.1", "-0.05"), "far": 0})
    crossing = two_laws((0.2, 0.0), (0.1, -1.0))
    spec = Spec.read("reach x >= 0.5 within 4", plant.states)
    assert not meets(crossing, plant, spec)
    script = Script()
    script.add(PART)
    for _ in range(3):
        script.add(CASES, [1, 1, 0, 0])
        script.add(0, [1])
    script.add(0, [1])
    script.add(END)
    with pytest.raises(CertificateError, match="none of the cases"):
        check(forged(crossing, plant, spec, script), crossing, plant)


def test_proofs_with_cases_hold_of_simulated_runs():
    plant, rng = away(), np.random.default_rng(0)
    states = np.column_stack([rng.uniform(-0.1, 0.1, 1000), np.zeros(1000)])
    reached = np.zeros(1000, bool)
    for _ in range(4):
        states = plant.successor(states, APART.predict(states))
        reached |= states[:, 1] >= 1
    assert reaches(APART, plant, within=4)
    assert reached.all()


def _random_question(rng):
    """A damped plant of two states, two laws with a jump between them, and a limit that most runs keep or miss."""
    a, b = (f"{number:.2f}" for number in rng.uniform(-0.5, 0.5, 2))
    plant = NonlinearSystem(
        "random",
        states=("x", "y"),
        controls={"u": (-1, 1)},
        step={"x": f"0.8 * x + {a} * y + 0.2 * u", "y": f"0.8 * y + {b} * sin(x) + u"},
        initial={"x": ("-0.2", "0.2"), "y": ("-0.2", "0.2")},
    )
    leaves = [RegressionTree.leaf(rng.uniform(-1, 1, 1), slope=rng.uniform(-1, 1, (1, 2))) for _ in range(2)]
    gate = [[0.0, 0.0], rng.uniform(-1, 1, 2)]
    policy = RegressionMixture(gate, [0.0, rng.uniform(-0.1, 0.1)], leaves, ["u"], feature_names=["x", "y"])
    return policy, plant


@pytest.mark.parametrize("seed", range(12))
def test_no_run_breaks_what_was_proved_of_random_laws_that_jump(seed):
    rng = np.random.default_rng(seed)
    policy, plant = _random_question(rng)
    states, most = rng.uniform(-0.2, 0.2, (2000, 2)), 0.2
    for _ in range(5):
        states = plant.successor(states, policy.predict(states))
        most = max(most, float(np.abs(states[:, 0]).max()))
    tight = meets(policy, plant, f"-{0.98 * most:.6f} <= x <= {0.98 * most:.6f} until 5", cpu_limit=5)
    wide = meets(policy, plant, f"-{1.1 * most + 0.05:.6f} <= x <= {1.1 * most + 0.05:.6f} until 5", cpu_limit=5)
    assert not tight
    assert isinstance(wide, Proved)
