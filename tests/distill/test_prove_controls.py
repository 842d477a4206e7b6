"""Distillation into numbers that ends with a certificate, on plants that are played themselves."""

import gymnasium
import numpy as np
import pytest

from moet import MoETRegressor
from moet.distill import Teacher, distill
from moet.distill.plant import PlantEnv, plant_task
from moet.envs.rollout import play
from moet.errors import InputError, MoetWarning
from moet.shield import ControlShield
from moet.verify import check, systems
from tests.verify.plants import cart


def teacher(act):
    return Teacher.from_callable(act, low=[-1.0], high=[1.0])


def distilled(act, plant):
    student = MoETRegressor(n_experts=1, max_depth=0, leaf="affine", prediction="hard")
    return distill(teacher(act), plant, student, iterations=2, selection_episodes=5, prove=plant)


def test_a_good_agent_is_proved_as_it_is():
    run = distilled(lambda x: np.clip(-x[:, :1] - 1.5 * x[:, 1:], -1, 1), cart())
    assert run.verdict.checked
    assert run.shield is None
    assert run.kept == 0
    assert check(run.certificate, run.policy, cart())


def test_an_agent_that_damps_too_little_is_moved_until_it_is_proved():
    run = distilled(lambda x: np.clip(-x[:, :1] + 0.02 * x[:, 1:], -1, 1), cart())
    assert run.verdict.checked
    assert run.kept > 0
    assert run.given_up <= 0.05 or run.shield is not None
    assert check(run.certificate, run.policy if run.shield is None else run.shield.policy, cart())


def test_an_agent_that_is_wrong_is_told_and_shielded():
    with pytest.warns(MoetWarning, match="no better than chance"):
        run = distilled(lambda x: np.where(x[:, :1] > 0, 1.0, -1.0), cart())
    assert run.teacher_failure is not None
    assert isinstance(run.shield, ControlShield)
    assert run.overridden > 0
    assert check(run.certificate, run.shield.policy, cart())


@pytest.mark.filterwarnings("ignore:the teacher plays no better than chance")
def test_the_regulator_itself_is_kept_where_no_shield_can_stand_on_its_proof():
    pole = systems.SampledSystem(
        "pole",
        flow={"angle": "speed", "speed": "sin(angle) + push"},
        controls={"push": (-1, 1)},
        period=0.1,
        initial={"angle": (-0.05, 0.05), "speed": (-0.05, 0.05)},
        safe=["-1 <= angle <= 1"],
    )
    run = distilled(lambda x: np.where(x[:, :1] > 0, 1.0, -1.0), pole)
    assert run.teacher_failure is not None
    assert run.shield is None
    assert run.candidates[run.kept].share == 1.0
    assert run.given_up > 0
    assert check(run.certificate, run.policy, pole)


def test_a_plant_as_an_environment_begins_and_goes_on_as_its_episodes_do():
    plant = cart()
    task = plant_task(plant, max_steps=20)

    def act(seen):
        return -0.5 * seen[:, :1]

    episodes = play(act, task, [3])
    env = PlantEnv(plant, 20)
    seen, _ = env.reset(seed=3)
    rows, total, ended = [], 0.0, False
    while not ended:
        rows.append(seen)
        seen, reward, terminated, truncated, _ = env.step(task.env_action(act(seen[None])[0]))
        total, ended = total + reward, terminated or truncated
    assert np.array_equal(np.array(rows), episodes.observations)
    assert total == episodes.returns[0] == 20.0


@pytest.mark.filterwarnings("ignore:.*WARN")  # observations without bounds, and an environment without an id
def test_a_plant_passes_the_checks_of_gymnasium():
    from gymnasium.utils.env_checker import check_env

    check_env(PlantEnv(cart()), skip_render_check=True)
    assert isinstance(PlantEnv(cart()), gymnasium.Env)


def test_a_plant_without_controls_is_not_played():
    with pytest.raises(InputError, match="controls"):
        plant_task(systems.cartpole())
