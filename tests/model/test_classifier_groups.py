import numpy as np
import pytest

from moet import MoETClassifier
from moet.model import recipe

from .strategies import bits
from .tables import random_problem

QUICK = {"n_init": 2, "max_iter": 2, "hard_iter": 2, "random_state": 0}
X, Y = random_problem(1, 1500)


def test_a_group_is_held_out_as_a_whole(monkeypatch):
    judged = []

    class Judge(recipe.Judge):
        def __init__(self, table, *args):
            judged.append(table)
            super().__init__(table, *args)

    monkeypatch.setattr(recipe, "Judge", Judge)
    episode = np.array([f"episode {i // 30}" for i in range(1500)])
    MoETClassifier(validation_fraction=0.2, **QUICK).fit(X, Y, groups=episode)
    rows = np.concatenate([table.rows for table in judged])
    held_out = np.isin(episode, episode[rows])
    assert held_out.mean() == pytest.approx(0.2)
    assert sorted(rows) == np.flatnonzero(held_out).tolist()


def test_only_which_rows_belong_together_matters_not_what_the_groups_are_called():
    groups = np.arange(1500) // 50
    first = MoETClassifier(**QUICK).fit(X, Y, groups=groups).mixture_
    named = MoETClassifier(**QUICK).fit(X, Y, groups=[f"{g:03}" for g in groups]).mixture_
    assert bits(first) == bits(named)
    assert bits(first) != bits(MoETClassifier(**QUICK).fit(X, Y).mixture_)


def test_the_order_of_rows_does_not_matter_even_if_groups_share_rows():
    x, y = np.repeat(X, 2, axis=0), np.repeat(Y, 2)
    groups = np.random.default_rng(0).integers(0, 20, 3000)
    order = np.random.default_rng(1).permutation(3000)
    first = MoETClassifier(**QUICK).fit(x, y, groups=groups).mixture_
    assert bits(MoETClassifier(**QUICK).fit(x[order], y[order], groups=groups[order]).mixture_) == bits(first)


@pytest.mark.parametrize("groups", [np.zeros(3), np.zeros((1500, 2))])
def test_groups_of_the_wrong_shape_give_an_error(groups):
    with pytest.raises(ValueError, match=r"inconsistent numbers|1d array"):
        MoETClassifier().fit(X, Y, groups=groups)
