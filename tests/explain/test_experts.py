"""Who owns which region."""

import numpy as np
import pytest

from moet import Mixture, Tree
from moet.explain import Axis, draw_ownership, ownership
from moet.explain.regions import RESOLUTION
from tests.random_models import random_mixture

ACROSS = Axis(feature=2, label="x2 [m]", low=-2.0, high=2.0)
UP = Axis(feature=0, label="x0", low=-1.0, high=3.0)


@pytest.fixture(params=["hard", "soft"])
def owned(request):
    mixture = random_mixture(4, n_experts=5, depth=2, prediction=request.param)
    return mixture, ownership(mixture, ACROSS, UP, held=[9.0, 0.5, 9.0])


def test_the_grid_holds_the_gates_choice_and_the_answer(owned):
    mixture, found = owned
    for row, column in np.random.default_rng(0).integers(RESOLUTION, size=(500, 2)):
        x = [
            UP.low + (UP.high - UP.low) * row / (RESOLUTION - 1),
            0.5,
            ACROSS.low + (ACROSS.high - ACROSS.low) * column / (RESOLUTION - 1),
        ]
        assert found.experts.answers[row, column] == mixture.expert([x])[0]
        assert found.class_names[found.answers.answers[row, column]] == str(mixture.act(x))


def test_a_number_stands_in_the_region_of_its_expert(owned):
    mixture, found = owned
    assert found.places
    for expert, (x, y) in found.places.items():
        assert mixture.expert([[y, 0.5, x]])[0] == expert


def test_the_picture(owned):
    mixture, found = owned
    figure = draw_ownership(found, "note")
    left, right = figure.axes
    assert left.get_title() == ("who answers" if mixture.prediction == "hard" else "whose vote counts most")
    assert (left.get_xlabel(), left.get_ylabel()) == ("x2 [m]", "x0")
    assert {text.get_text() for text in left.texts} == {str(k) for k in found.places}
    assert np.array_equal(left.images[0].get_array(), found.experts.answers)
    assert np.array_equal(right.images[0].get_array(), found.answers.answers)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names[: -len(np.unique(found.answers.answers))] == [f"expert {k}" for k in np.unique(found.experts.answers)]


def test_a_strip_without_room_has_no_number():
    weights = [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    mixture = Mixture(weights, [1.95, 0.0], [Tree.leaf([1.0])] * 2, ["a"])
    found = ownership(mixture, ACROSS, UP, held=[0, 0, 0])
    assert np.unique(found.experts.answers).tolist() == [0, 1]
    assert list(found.places) == [0]
    wider = ownership(mixture, Axis(2, "x2", 1.5, 2.5), UP, held=[0, 0, 0])
    assert list(wider.places) == [0, 1]
