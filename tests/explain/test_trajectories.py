"""A run over time."""

from itertools import pairwise

import numpy as np
import pytest

from moet.errors import InputError
from moet.explain import draw_trajectory, trajectory
from tests.random_models import random_mixture


@pytest.fixture
def states():
    return np.random.default_rng(0).normal(size=(40, 3)).cumsum(axis=0) / 3


@pytest.mark.parametrize("prediction", ["hard", "soft"])
def test_what_happened(states, prediction):
    mixture = random_mixture(2, n_experts=4, prediction=prediction)
    run = trajectory(mixture, states, features=["x2", "x0"], units={"x0": "m"})
    assert run.features == ("x2", "x0 [m]")
    assert np.array_equal(run.states, states[:, [2, 0]])
    assert [run.class_names[k] for k in run.answers] == [str(answer) for answer in mixture.predict(states)]
    assert np.array_equal(run.experts, mixture.expert(states))
    bands = list(run.bands())
    assert np.array_equal(np.concatenate([[j] * (stop - start) for j, start, stop in bands]), run.experts)
    assert all(a[0] != b[0] for a, b in pairwise(bands))
    assert len(bands) > 2


def test_the_picture(states):
    mixture = random_mixture(2, n_experts=4)
    run = trajectory(mixture, states)
    figure = draw_trajectory(run, "note")
    assert [axis.get_ylabel() for axis in figure.axes] == ["x0", "x1", "x2", "answer", "expert"]
    assert figure.axes[-1].get_xlabel() == "step"
    owners = sorted({owner for owner, _, _ in run.bands()})
    for axis, values in zip(
        figure.axes, [*states.T, run.answers, np.unique(run.experts, return_inverse=True)[1]], strict=True
    ):
        assert axis.lines[0].get_ydata() == pytest.approx(values)
        assert (
            len({tuple(bars.get_facecolor()[0]) for bars in axis.collections}) == len(owners) == len(axis.collections)
        )
        for owner, bars in zip(owners, axis.collections, strict=True):
            spans = [(path.vertices[:, 0].min(), path.vertices[:, 0].max()) for path in bars.get_paths()]
            assert spans == [(start - 0.5, stop - 0.5) for j, start, stop in run.bands() if j == owner]
    low, high = figure.axes[0].get_ylim()
    assert (high - low) < 1.2 * np.ptp(states[:, 0])  # the bands leave the scale alone
    assert [tick.get_text() for tick in figure.axes[3].get_yticklabels()] == ["0", "1", "2"]
    assert [tick.get_text() for tick in figure.axes[4].get_yticklabels()] == [str(owner) for owner in owners]


def test_a_tree_has_no_experts_to_show(states):
    figure = draw_trajectory(trajectory(random_mixture(2, n_experts=1), states))
    assert [axis.get_ylabel() for axis in figure.axes] == ["x0", "x1", "x2", "answer"]


def test_only_so_many_features_by_default():
    mixture = random_mixture(2, n_features=12)
    assert trajectory(mixture, np.zeros((2, 12))).features == tuple(f"x{k}" for k in range(8))


def test_what_cannot_be_shown(states):
    with pytest.raises(InputError, match="no feature 'speed'"):
        trajectory(random_mixture(2), states, features=["speed"])
    with pytest.raises(InputError, match="rows of 3 features"):
        trajectory(random_mixture(2), states[:, :2])
    with pytest.raises(InputError, match="at least one state"):
        trajectory(random_mixture(2), np.zeros((0, 3)))
