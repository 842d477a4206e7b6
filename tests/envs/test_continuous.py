import math
import pickle

import numpy as np
import pytest
from numpy.typing import NDArray

from moet.envs import classic, resolve
from moet.envs.box import ActionBox
from moet.envs.continuous import CONTINUOUS
from moet.envs.dynamics import Dynamics
from moet.errors import MoetWarning, TaskError

from .players import Policy, assert_same_episodes

Rows = NDArray[np.float64]


def any_force(observations: Rows, drawn: NDArray[np.int64]) -> Rows:
    """Another number for every observation, in the environment's own precision."""
    return np.sin(1e3 * observations.sum(axis=1, keepdims=True)).astype(np.float32)


def with_the_motion(observations: Rows, drawn: NDArray[np.int64]) -> Rows:
    """Pumps energy in, up to every limit of speed, wall and goal."""
    return np.sign(observations[:, -1:] + 1e-9).astype(np.float32)


@pytest.mark.parametrize("name", ["Pendulum-v1", "MountainCarContinuous-v0"])
@pytest.mark.parametrize("policy", [any_force, with_the_motion])
def test_every_number_of_continuous_tasks_is_gymnasiums(name: str, policy: Policy) -> None:
    assert assert_same_episodes(resolve(name), policy, range(1_000, 1_010)) >= 700


@pytest.mark.parametrize(
    ("name", "dynamics", "extent"),
    [
        ("Pendulum-v1", classic.PENDULUM, [50.0, 8.0]),
        ("MountainCarContinuous-v0", classic.CAR, [1.2, 0.07]),
    ],
)
def test_one_step_with_any_force_from_any_state(name: str, dynamics: Dynamics, extent: list[float]) -> None:
    """Every other state is one of single precision, as all but the first of a car's are."""
    generator = np.random.default_rng(0)
    states = np.array([generator.uniform(-limit, limit, 3_000) for limit in extent])
    states[1, 1::2] *= name == "Pendulum-v1"  # of the car only the first state is in double precision: it stands
    states[:, ::2] = states[:, ::2].astype(np.float32)
    assert isinstance(dynamics.actions, ActionBox)
    forces = generator.uniform(dynamics.actions.low, dynamics.actions.high, (3_000, 1)).astype(np.float32)
    new_states, rewards, terminated = dynamics.advance(tuple(states), forces)
    env = resolve(name).make()
    for i, state in enumerate(states.T):
        env.reset(seed=0)
        single = name != "Pendulum-v1" and i % 2 == 0
        env.unwrapped.state = state.astype(np.float32) if single else state
        _, reward, ended, _, _ = env.step(forces[i])
        assert (reward, ended) == (rewards[i], terminated[i])
        assert [float(x) for x in env.unwrapped.state] == [variable[i] for variable in new_states]


def test_a_force_beyond_the_bounds_is_cut_off_and_one_that_is_no_number_refused() -> None:
    batch = resolve("MountainCarContinuous-v0").batch()
    batch.reset([1, 1])
    step = batch.step(np.array([[1.0], [7.5]]))
    assert step.rewards[0] == step.rewards[1]
    assert step.observations[0].tolist() == step.observations[1].tolist()
    with pytest.raises(TaskError, match="nan"):
        batch.step(np.array([[1.0], [np.nan]]))


def test_squares_of_single_precision_are_the_c_librarys() -> None:
    torques = np.random.default_rng(0).uniform(-2, 2, 20_000).astype(np.float32)
    assert [t**2 for t in torques] == classic._single_square(torques).tolist()
    assert [math.pow(t, 2) for t in torques] == classic._scalar_square(torques).tolist()


@pytest.mark.parametrize("name", list(CONTINUOUS))
def test_the_catalogue_describes_the_environment(name: str) -> None:
    task = resolve(name)
    try:
        env = task.make()
    except TaskError as error:
        pytest.skip(str(error))
    assert task.box == ActionBox.of(env.action_space, name)
    assert (len(task.observation_names),) == env.observation_space.shape
    assert len(set(task.observation_names)) == len(task.observation_names)
    env.close()


def test_features_of_robots_have_the_meaning_of_their_names() -> None:
    """A joint that is moved by hand shows in the feature of its name, and its speed in that of its speed."""
    task = resolve("Walker2d-v5")
    try:
        env = task.make()
    except TaskError as error:
        pytest.skip(str(error))
    env.reset(seed=0)
    body = env.unwrapped
    joints = [body.model.joint(k).name for k in range(body.model.njnt)]
    for joint, feature in (("foot_joint", "foot_angle"), ("leg_left_joint", "left_leg_angle")):
        place = joints.index(joint)
        position, velocity = np.zeros(9), np.zeros(9)
        position[place], velocity[place] = 0.25, 0.5
        body.set_state(position, velocity)
        seen = dict(zip(task.observation_names, body._get_obs(), strict=True))
        assert (seen[feature], seen[f"{feature}_speed"]) == (0.25, 0.5)
    env.close()


def test_old_ids_of_the_zoo_are_played_by_their_successors_with_a_note() -> None:
    with pytest.warns(MoetWarning, match=r"LunarLanderContinuous-v3 is played instead"):
        assert resolve("LunarLanderContinuous-v2").name == "LunarLanderContinuous-v3"
    with pytest.warns(MoetWarning, match=r"HalfCheetah-v5 is played instead"):
        assert resolve("HalfCheetah-v3").name == "HalfCheetah-v5"


def test_continuous_tasks_can_be_sent_to_another_process() -> None:
    task = resolve("Pendulum-v1")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(task)).batch().reset([5]), task.batch().reset([5]))


def test_robots_of_many_numbers_are_learned_in_fewer_rounds():
    assert resolve("HalfCheetah-v5").rounds == resolve("BipedalWalker-v3").rounds == (16, 5, 10)
    assert resolve("LunarLanderContinuous-v3").rounds == resolve("Pendulum-v1").rounds == (40, 10, 50)
