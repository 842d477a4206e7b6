"""A student that ends far below its teacher is told, with what to do next; one that does not is left in peace."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier

from moet import MoETClassifier
from moet.distill import Policy, distill
from moet.distill.far_below import FAITHFUL, earns_too_little, warn_if_far_below
from moet.distill.recorded import imitate
from moet.envs import resolve
from moet.errors import FarBelowWarning, MoetWarning
from moet.teachers.recorded import Recording

QUICK = {"iterations": 2, "rollouts_per_iteration": 3, "selection_episodes": 5}
finite = st.floats(-1e6, 1e6)


def test_a_student_that_cannot_play_is_told_with_a_larger_one(teacher):
    with pytest.warns(FarBelowWarning, match="the student earns .* where its teacher earns 200.00") as found:
        distill(teacher, "cartpole", DummyClassifier(), **QUICK)
    (warning,) = found
    assert "moet distill ... --experts 8 --depth 6" in str(warning.message)
    assert "MoETClassifier(n_experts=8, max_depth=6, prediction='hard')" in str(warning.message)
    assert "moet tune" in str(warning.message)
    assert issubclass(warning.category, MoetWarning)


def test_a_resumed_run_tells_it_again(teacher, tmp_path):
    for _ in range(2):
        with pytest.warns(FarBelowWarning, match="larger"):
            distill(teacher, "cartpole", DummyClassifier(), **QUICK, checkpoint=tmp_path)


def test_a_student_as_good_as_its_teacher_is_left_in_peace(teacher):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        distill(teacher, "cartpole", MoETClassifier(2, 0, prediction="hard"), **QUICK)


def grown(depth):
    """A tree of this depth, of labels without sense."""
    rng = np.random.default_rng(0)
    return DecisionTreeClassifier(max_depth=depth).fit(rng.random((4000, 4)), rng.integers(2, size=4000))


def told(student, teacher, *, fidelity=1.0, chance=0.0, depth=1):
    policy = Policy.of(grown(depth), resolve("cartpole"))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warn_if_far_below(policy, fidelity, np.array(student), np.array(teacher), lambda: chance)
    return [str(warning.message) for warning in found]


def test_low_fidelity_is_told_where_the_reward_is_fine():
    (message,) = told([100.0, 101.0], [100.0, 101.0], fidelity=FAITHFUL - 0.05)
    assert "65.0% of the steps only" in message
    assert "--experts 8 --depth 6" in message
    assert told([100.0], [100.0], fidelity=FAITHFUL) == []


def test_one_warning_where_both_are_low():
    (message,) = told([1.0, 2.0, 1.0], [100.0, 101.0, 100.0], fidelity=0.1)
    assert "fidelity 0.1000" in message


def test_luck_is_not_told():
    assert told([100.0, 0.0, 100.0, 100.0], [100.0] * 4) == []  # one bad episode of four may be luck


def test_chance_is_not_played_where_nothing_is_missing():
    def asked():
        raise AssertionError

    assert not earns_too_little(np.array([3.0, 4.0]), np.array([3.0, 3.5]), asked)


def test_a_teacher_below_chance_is_no_measure():
    assert told([-30.0] * 3, [-20.0] * 3, chance=-10.0) == []


def test_a_large_student_is_told_to_play_more_rounds():
    (message,) = told([0.0] * 3, [100.0] * 3, depth=12)
    assert "--iterations 80" in message


@given(st.lists(finite, min_size=1, max_size=9), st.floats(0, 1e6), finite, st.floats(-1e3, 1e3), st.floats(0.01, 1e3))
def test_whether_it_is_told_does_not_depend_on_where_rewards_begin_or_their_unit(own, more, chance, shift, unit):
    student = np.round(np.array(own))
    teacher = student + np.round(more)
    first = earns_too_little(student, teacher, lambda: np.round(chance))
    scale = 2.0 ** np.round(np.log2(unit))
    assert earns_too_little(scale * student, scale * teacher, lambda: scale * np.round(chance)) == first
    begin = np.round(shift)
    assert earns_too_little(student + begin, teacher + begin, lambda: np.round(chance) + begin) == first


def test_recorded_episodes_that_are_not_understood_are_told():
    rng = np.random.default_rng(0)
    recording = Recording(rng.random((400, 2)), rng.integers(3, size=400), np.repeat(np.arange(10), 40), ("a", "b"))
    with pytest.warns(FarBelowWarning, match="of the steps only"):
        imitate(recording, MoETClassifier(2, 1, prediction="hard"))
