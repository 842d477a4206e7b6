"""Benchmarks in continuous time: their plants, demands, controllers and simulated runs."""

import numpy as np
import pytest

from moet.errors import InputError
from moet.study import archcomp
from moet.study.archcomp.instance import Network
from moet.study.archcomp.simulate import attack, play, starts
from moet.study.archcomp.teachers import RECIPES, Regulator, Written, law

QUICK = ["single_pendulum", "single_pendulum_wide", "tora_reach", "zhu_pendulum", "zhu_quadcopter"]


@pytest.mark.parametrize("name", archcomp.INSTANCES)
def test_every_controller_sees_what_its_plant_shows_and_is_small(name):
    instance = archcomp.find(name)
    controller = instance.controller
    assert controller.feature_names == instance.plant.features
    assert controller.outputs == tuple(instance.plant.controls)
    assert controller.n_experts <= 4
    assert name in RECIPES


@pytest.mark.parametrize("name", [name for name in archcomp.INSTANCES if name != "zhu_platoon8"])  # 13 s
def test_simulated_runs_from_corners_keep_all_demands_where_they_are_meant_to(name):
    instance = archcomp.find(name)
    margins = play(instance, instance.controller, starts(instance.plant, 16, seed=3)).margins
    assert (margins.min() >= 0) == instance.holds


@pytest.mark.parametrize("name", QUICK)
def test_no_start_that_was_searched_for_breaks_a_demand(name):
    instance = archcomp.find(name)
    assert attack(instance, instance.controller, 400, seed=1, rounds=3) >= 0


def test_a_law_that_does_nothing_breaks_the_demand_of_a_pendulum():
    instance = archcomp.find("single_pendulum")
    nothing = law(instance, np.zeros((1, 3)), "")
    assert attack(instance, nothing, 64, rounds=1) < 0


def test_simulation_agrees_with_the_plants_own():
    instance = archcomp.find("nav")
    first = starts(instance.plant, 8, seed=0)
    own = instance.plant.simulate(instance.controller, first, instance.steps, points=1)[1]
    seen = play(instance, instance.controller, first, keep=True).features.reshape(instance.steps, 8, -1)
    np.testing.assert_allclose(np.moveaxis(seen, 0, 1), own[:, :-1], atol=1e-9)


def test_demands_are_told_as_specifications_are_written():
    assert archcomp.find("nav").spec == (
        "never 1 <= x <= 2 and 1 <= y <= 2 until 6; -0.5 <= x <= 0.5 and -0.5 <= y <= 0.5 at 6"
    )
    assert archcomp.find("single_pendulum").spec == "0 <= angle <= 1 from 0.5 to 1"
    assert archcomp.find("zhu_cruise").spec == "always -1.5 <= x1 <= 1.5"
    assert archcomp.find("acc").spec == "always x_lead - x_ego >= 10 + 1.4 * v_ego until 5"


def test_unknown_names_and_missing_networks_are_told(monkeypatch):
    with pytest.raises(InputError, match="no instance 'tora'; the names are acc, nav"):
        archcomp.find("tora")
    monkeypatch.delenv("MOET_ARCHCOMP", raising=False)
    assert Network("acc").path is None
    with pytest.raises(InputError, match="set MOET_ARCHCOMP to the folder"):
        Network("acc").predict(np.zeros((1, 5)))


@pytest.mark.parametrize("name", [name for name, made in RECIPES.items() if isinstance(made, Regulator | Written)])
def test_laws_that_need_no_search_are_those_in_the_package(name):
    instance = archcomp.find(name)
    made = RECIPES[name].make(instance).trees[0]
    kept = instance.controller.trees[0]
    np.testing.assert_allclose(made.laws, kept.laws, rtol=1e-3, atol=1e-12)


@pytest.mark.parametrize("name", ["acc", "tora_remain", "single_pendulum", "attitude", "docking", "quad"])
def test_published_networks_meet_the_demands_in_simulation(name):
    instance = archcomp.find(name)
    if instance.network.path is None:
        pytest.skip("the networks are published elsewhere")
    pytest.importorskip("onnx")
    assert play(instance, instance.network, starts(instance.plant, 16, seed=0)).margins.min() > 0
