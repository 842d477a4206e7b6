import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple
from gymnasium.vector.utils import concatenate, create_empty_array

from moet import Mixture, Tree, save
from moet.distill import Policy
from moet.envs import resolve
from moet.errors import InputError, MoetError


@pytest.fixture
def path(tmp_path):
    gate = [[0, 0, 0, 0], [1, 2, 20, 5]]
    trees = [Tree.leaf([1, 0]), Tree.leaf([0, 1])]
    save(Mixture(gate, [0, 0], trees, ["left", "right"], provenance={"task": "cartpole"}), tmp_path / "p.moet.json")
    return tmp_path / "p.moet.json"


def test_a_loaded_policy_drives_plain_gymnasium(path):
    policy = Policy.load(path)
    env = gymnasium.make("CartPole-v1")
    observation, _ = env.reset(seed=0)
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(policy.env_action(observation))
        total, over = total + float(reward), terminated or truncated
    assert total == 500


def test_batches_drive_vectors_of_environments(path):
    policy = Policy.load(path)
    envs = gymnasium.make_vec("CartPole-v1", num_envs=3, vectorization_mode="sync")
    observations, _ = envs.reset(seed=0)
    actions = policy.env_action(observations)
    assert actions.tolist() == [policy.env_action(row) for row in observations]
    envs.step(actions)
    with pytest.raises(InputError, match=r"shape \(1, 1, 4\)"):
        policy.env_action(np.zeros((1, 1, 4)))


@pytest.mark.parametrize(
    ("provenance", "message"),
    [({}, "does not say which task"), ({"task": 3}, "does not say"), ({"task": "os:system-v0"}, "not registered here")],
)
def test_nothing_is_imported_because_a_file_says_so(tmp_path, provenance, message):
    save(Mixture(np.zeros((1, 4)), [0], [Tree.leaf([1, 0])], [0, 1], provenance=provenance), tmp_path / "m.moet.json")
    with pytest.raises(InputError, match=message):
        Policy.load(tmp_path / "m.moet.json")
    assert Policy.load(tmp_path / "m.moet.json", env="CartPole-v1").env_action([0, 0, 0, 0]) == 0


def test_a_system_calls_its_actions_as_the_task_does():
    from moet.envs.catalog import known
    from moet.verify import systems

    for make in (systems.cartpole, systems.mountaincar, systems.pendulum):
        system = make()
        assert system.actions == known(system.name).action_names


class Show(gymnasium.Env):
    """Shows samples of a space."""

    action_space = Discrete(2)

    def __init__(self, space):
        self.observation_space = space

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 0.0, True, False, {}


@pytest.mark.parametrize(
    "space",
    [
        Discrete(5, start=1),
        MultiDiscrete([3, 2]),
        MultiBinary(3),
        Box(-1, 1, (2, 2)),
        Tuple([Discrete(4), Box(-1, 1, (2,))]),
        Dict(gear=Discrete(3), speed=Box(-1, 1, (2,)), more=Dict(light=Discrete(2))),
    ],
    ids=repr,
)
def test_whatever_is_shown_is_taken_alone_and_in_batches(space):
    task = resolve(lambda: Show(space))
    n = len(task.feature_names)
    weights = np.stack([np.zeros(n), np.random.default_rng(0).normal(size=n)])
    trees = [Tree.leaf([1, 0]), Tree.leaf([0, 1])]
    policy = Policy.of(Mixture(weights, [0, 0], trees, [0, 1], prediction="hard"), task)
    seen = [Show(space).reset(seed=k)[0] for k in range(20)]
    actions = [policy.env_action(one) for one in seen]
    rows = np.stack([gymnasium.spaces.flatten(space, one) for one in seen]).astype(float)
    assert actions == policy.act(rows).tolist()
    assert set(actions) == {0, 1}
    batch = create_empty_array(space, len(seen))
    assert policy.env_action(concatenate(space, seen, batch)).tolist() == actions
    for wrong in (None, "left", np.zeros((1, 1, 1, 1))):
        with pytest.raises(MoetError):
            policy.env_action(wrong)
