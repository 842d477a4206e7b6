import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from moet.distill.dataset import Labelled, q_gap, relative_importance, training_sample


def labelled(n, importance=None):
    rng = np.random.default_rng(0)
    return Labelled(
        features=rng.normal(size=(n, 2)),
        actions=rng.integers(3, size=n),
        importance=np.ones(n) if importance is None else np.asarray(importance, dtype=float),
        episode=np.arange(n) // 10,
    )


def test_q_gap_is_best_minus_worst():
    assert q_gap(np.array([[1.0, 4.0, 2.0], [0.5, 0.5, 0.5]])).tolist() == [3.0, 0.0]


@given(arrays(np.float64, st.integers(1, 30), elements=st.floats(0, 1e308)))
def test_relative_importance_is_finite_and_has_mean_one(importance):
    relative = relative_importance(importance)
    assert np.isfinite(relative).all()
    assert relative.mean() == pytest.approx(1.0)


def test_states_that_matter_equally_little_count_the_same():
    assert relative_importance(np.zeros(4)).tolist() == [1.0] * 4


def test_weighting_keeps_every_state_once():
    data = labelled(50, importance=np.arange(50))
    sample = training_sample(data, "weight", 100, np.random.default_rng(0))
    assert np.array_equal(sample.features, data.features)
    assert sample.weight[30] == pytest.approx(3 * sample.weight[10])


def test_weighting_draws_without_repetition_beyond_the_largest_size():
    data = labelled(50)
    sample = training_sample(data, "weight", 20, np.random.default_rng(0))
    assert len(np.unique(sample.features, axis=0)) == len(sample.actions) == 20


def test_resampling_draws_by_importance_at_any_size():
    importance = np.where(np.arange(1000) < 500, 3.0, 1.0)
    sample = training_sample(labelled(1000, importance), "resample", 10_000, np.random.default_rng(0))
    assert sample.weight is None
    assert len(sample.actions) == 1000
    assert (sample.episode < 50).mean() == pytest.approx(0.75, abs=0.05)


def test_resampling_works_where_no_state_matters():
    sample = training_sample(labelled(100, np.zeros(100)), "resample", 60, np.random.default_rng(0))
    assert len(sample.actions) == 60


def test_parts_are_joined_in_order():
    parts = [labelled(3), labelled(4)]
    whole = Labelled.joined(parts)
    assert len(whole) == 7
    assert np.array_equal(whole.features[3:], parts[1].features)
