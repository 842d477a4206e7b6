"""Where models answer with different numbers, and what a solver that shares nothing with us says about numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from moet import verify
from moet.errors import InputError
from moet.verify import Box, Proved, Refuted, smtlib
from moet.verify.outputs.laws import Laws
from tests.random_models import random_laws

from .laws import exact_outputs, nudged

CUBE = Box.from_bounds(-np.ones(3), np.ones(3))


def apart(pair, X, tolerance):
    return np.any(np.abs(pair[0].predict(X) - pair[1].predict(X)) > tolerance, axis=1)


def two_models(seed, **how):
    return random_laws(2 * seed, n_experts=2, **how), random_laws(2 * seed + 1, n_experts=2, **how)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tolerance", [0.0, 0.7])
def test_regions_hold_every_difference_and_their_points_show_one(seed, tolerance):
    pair = two_models(seed)
    found = verify.differences(*pair, CUBE, limit=10_000, tolerance=tolerance)
    assert found.complete
    for x, answers, region in zip(found.points, found.answers, found.regions, strict=True):
        assert x in region
        exact = [exact_outputs(model, x) for model in pair]
        assert max(abs(u - w) for u, w in zip(*exact, strict=True)) > tolerance
        assert [list(answer.values()) for answer in answers] == [model.predict(x[None])[0].tolist() for model in pair]
    X = np.random.default_rng(seed).uniform(-1, 1, (400, 3))
    inside = np.array([any(x in region for region in found.regions) for x in X])
    assert np.array_equal(inside, apart(pair, X, tolerance))
    low, high = found.share_interval
    assert low <= apart(pair, np.random.default_rng(99).uniform(-1, 1, (20_000, 3)), tolerance).mean() <= high


def test_the_share_of_one_output_is_exact_where_volumes_are_simple():
    model = random_laws(2, n_experts=1, n_outputs=1, depth=2, affine=False)
    tree = model.trees[0]
    value = tree.value.copy()
    value[-1] += 1.0
    changed = model.rebuilt(model.gate_weights, model.gate_bias, [replace(tree, value=value)])
    found = verify.differences(model, changed, CUBE)
    assert found.share_interval == (found.share, found.share)
    X = np.random.default_rng(1).uniform(-1, 1, (50_000, 3))
    assert found.share == pytest.approx(apart((model, changed), X, 0).mean(), abs=0.01)


def test_models_within_the_tolerance_have_no_difference():
    model = random_laws(4, depth=2)
    found = verify.differences(model, nudged(model, 2.0**-10), CUBE, tolerance=0.001)
    assert (len(found), found.complete, found.share) == (0, True, 0.0)


def test_the_search_ends_at_the_limit_and_without_a_volume_there_is_no_share():
    found = verify.differences(*two_models(1), limit=2)
    assert len(found) == 2
    assert not found.complete
    assert found.share is None


def test_what_models_of_numbers_have_not_is_told():
    pair = two_models(0)
    with pytest.raises(InputError, match=r"answer with numbers and have no classes, got classes=\['u'\]"):
        verify.differences(*pair, classes=["u"])
    with pytest.raises(InputError, match="tolerance must be a number"):
        verify.differences(*pair, tolerance=-1.0)
    with pytest.raises(InputError, match="averages its experts"):
        verify.differences(pair[0], random_laws(3, n_experts=2, prediction="soft"))


@pytest.mark.parametrize("seed", range(4))
def test_z3_finds_no_difference_beyond_the_regions(seed):
    pytest.importorskip("z3")
    pair = two_models(seed, n_features=3, depth=1)
    found = verify.differences(*pair, CUBE, limit=10_000, tolerance=0.5)
    assert smtlib.solve(smtlib.differences(*pair, CUBE, beyond=found.regions, tolerance=0.5)).status == "unsat"
    opinion = smtlib.solve(smtlib.equivalent(*pair, CUBE, tolerance=0.5))
    assert opinion.status == ("sat" if len(found) else "unsat")


@pytest.mark.parametrize("seed", range(8))
def test_z3_agrees_about_conditions_on_several_outputs(seed):
    pytest.importorskip("z3")
    model = random_laws(seed, n_experts=3, depth=seed % 3)
    edge = float(np.random.default_rng(seed).uniform(1, 4))
    conditions = [f"u + w <= {edge!r}", f"u - 2*w >= -{3 * edge!r}"]
    opinion = smtlib.solve(smtlib.always(model, CUBE, conditions))
    verdict = verify.always(model, CUBE, conditions)
    assert isinstance(verdict, Proved if opinion.status == "unsat" else Refuted)
    if opinion.status == "sat":
        u, w = Laws(model, -np.ones(3), np.ones(3), rounded=False).answer(opinion.point)
        assert float(u + w) > edge - 1e-9 or float(u - 2 * w) < -3 * edge + 1e-9


def test_text_about_labels_has_no_tolerance():
    from moet import Mixture, Tree

    model = Mixture([[0.0]], [0.0], [Tree.leaf([1, 0])], ["stay", "go"])
    with pytest.raises(InputError, match="leave the tolerance out"):
        smtlib.equivalent(model, model, tolerance=0.1)
    with pytest.raises(InputError, match="leave the tolerance out"):
        verify.differences(model, model, tolerance=0.1)
