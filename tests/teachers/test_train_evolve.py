"""Networks that are evolved: the better of them have descendants."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

from moet.teachers.arrays import read_network, write_network
from moet.teachers.train.evolve import EvolutionRecipe, Evolved, layers_of
from moet.teachers.train.learner import Trial
from moet.teachers.train.run import train

CAR = "MountainCarContinuous-v0"
RECIPE = EvolutionRecipe(
    task=CAR,
    steps=150_000,
    stop=90.0,
    trials=(Trial(CAR, 20, 80.0),),
    selection_episodes=20,
    hidden=(),
    scale=(0.5, 0.035),
    population=8,
    episodes=8,
    generations=2,
)


def test_a_law_learns_to_climb_the_hill_and_a_seed_gives_the_same_network():
    first, again = train(RECIPE, 0), train(RECIPE, 0)
    assert first.figures[0].reached
    assert first.teacher.digest == again.teacher.digest
    assert first.teacher.high.tolist() == [1.0]


def test_a_stopped_run_ends_like_one_that_was_not(tmp_path, monkeypatch):
    recipe = replace(RECIPE, stop=99.9)
    whole = train(recipe, 1)
    advance, legs = Evolved.advance, []

    def stopping(self):
        legs.append(1)
        if len(legs) == 2:
            raise KeyboardInterrupt
        advance(self)

    with monkeypatch.context() as patch:
        patch.setattr(Evolved, "advance", stopping)
        with pytest.raises(KeyboardInterrupt):
            train(recipe, 1, folder=tmp_path)
    resumed = train(recipe, 1, folder=tmp_path)
    assert resumed.history == whole.history
    assert resumed.teacher.digest == whole.teacher.digest


def test_numbers_become_layers_in_order():
    first, second = layers_of(np.arange(13.0), (2, 3, 1))
    assert first.kernel.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert first.bias.tolist() == [6, 7, 8]
    assert (second.kernel.ravel().tolist(), second.bias.tolist()) == ([9, 10, 11], [12])


def test_a_file_keeps_what_happens_to_outputs(tmp_path):
    teacher = train(RECIPE, 0).teacher
    write_network(teacher, tmp_path / "car.npz")
    again = read_network(tmp_path / "car.npz")
    assert again.digest == teacher.digest
    rows = np.random.default_rng(0).normal(size=(50, 2))
    np.testing.assert_array_equal(again.act(rows), teacher.act(rows))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("action_low", [np.nan], "action_low must hold numbers"),
        ("action_low", [2.0], "must be ordered"),
        ("action_squash", 3.0, "action_squash must be a truth value"),
        ("action_limit", -1.0, "action_limit positive"),
        ("action_high", [1.0, 2.0], "must be ordered"),
    ],
)
def test_bounds_in_a_file_that_make_no_sense_are_refused(name, value, message, tmp_path):
    from moet.errors import TeacherError

    path = tmp_path / "car.npz"
    write_network(train(RECIPE, 0).teacher, path)
    arrays = dict(np.load(path)) | {name: np.array(value)}
    np.savez(path, **arrays)
    with pytest.raises(TeacherError, match=message):
        read_network(path)
