import pytest

from moet.envs.catalog import resolve
from moet.errors import InputError
from moet.study.configuration import Configuration, grid
from moet.study.definition import Definition
from moet.study.presets import EVALUATED_TASKS, PUBLISHED_GATES, Plan, plan_for


@pytest.mark.parametrize("task", EVALUATED_TASKS)
@pytest.mark.parametrize("preset", ["quick", "standard", "paper"])
def test_every_configuration_of_a_grid_is_there_once(preset, task):
    if task == "pong-18":
        pytest.importorskip("ale_py")
    plan = plan_for(preset, resolve(task))
    found = grid(plan)
    per_seed = len(plan.tree_depths) + 2 * len(plan.mixtures) * len(plan.gates) + len(plan.boosted)
    assert len(found) == len(set(found)) == plan.seeds * per_seed
    assert {configuration.family for configuration in found} == {"VIPER", "MoËT", "MoËT_h"}


def test_the_papers_grid_of_cartpole():
    plan = plan_for("paper", resolve("cartpole"))
    assert len(PUBLISHED_GATES) == 7 * 2 * 3
    assert plan.tree_depths == tuple(range(1, 16))
    assert len(plan.mixtures) == 7 * 8
    assert (plan.iterations, plan.max_samples, plan.episodes, plan.seeds) == (40, 200_000, 250, 5)
    options = Configuration(2, 3, "soft", "rate 0.001, decay 0.97, 500 epochs", 0).student(plan).get_params()
    assert (options["learning_rate"], options["learning_rate_decay"], options["max_iter"]) == (0.001, 0.97, 500)
    assert (options["gate_solver"], options["hard_iter"], options["n_init"]) == ("adam", 0, 1)


def test_variants_of_a_task_share_a_plan():
    assert plan_for("standard", resolve("cartpole-500")) == plan_for("standard", resolve("cartpole"))


def test_an_unknown_preset():
    with pytest.raises(InputError, match="no preset 'slow'; there are quick, standard, paper"):
        plan_for("slow", resolve("cartpole"))


def test_seeds_come_one_after_the_other_and_large_students_first():
    found = grid(Plan(tree_depths=(1, 2), mixtures=((2, 0), (4, 1)), seeds=2))
    assert [configuration.seed for configuration in found] == [0] * 6 + [1] * 6
    assert [(c.experts, c.depth) for c in found[:6]] == [(4, 1), (4, 1), (2, 0), (2, 0), (1, 2), (1, 1)]


def test_boosted_mixtures_are_soft():
    plan = Plan(tree_depths=(1,), mixtures=((2, 0),), boosted=((4, 2),))
    (boosted,) = [c for c in grid(plan) if c.gate == "boosting"]
    assert (boosted.family, boosted.experts, boosted.depth) == ("MoËT", 4, 2)
    assert boosted.student(plan).get_params()["training"] == "boosting"


def test_a_sweep_of_a_task_with_continuous_actions_is_refused_with_what_to_do():
    with pytest.raises(InputError, match="moet distill Pendulum-v1"):
        Definition.of("Pendulum-v1", "quick")
