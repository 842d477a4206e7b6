"""Agents of Stable-Baselines3 with other actions and observations than one of a few and a row of numbers."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from moet.errors import MoetWarning, TeacherError
from moet.teachers import Teacher
from moet.teachers.adapters import checked
from moet.teachers.continuous import ContinuousTeacher
from moet.teachers.network import Network, NetworkTeacher

torch = pytest.importorskip("torch")
stable_baselines3 = pytest.importorskip("stable_baselines3")

from stable_baselines3 import A2C, DDPG, PPO, SAC, TD3  # noqa: E402

from .test_sb3 import rewrite  # noqa: E402

OBSERVATIONS = np.random.default_rng(0).normal(scale=[1.0, 1.0, 4.0], size=(500, 3))


class World(gymnasium.Env):
    """Shows and takes whatever it is told to; every episode has ten steps."""

    def __init__(self, observations, actions):
        self.observation_space = observations
        self.action_space = actions
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        self.steps = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        self.steps += 1
        return self.observation_space.sample(), 1.0, self.steps == 10, False, {}


ROWS = spaces.Box(-np.inf, np.inf, (3,))
TORQUE = spaces.Box(np.float32([-2.0, -0.1]), np.float32([2.0, 0.3]))
CONTINUOUS = {
    "ppo": (PPO, {"n_steps": 16, "batch_size": 16}),
    "ppo gsde": (PPO, {"n_steps": 16, "batch_size": 16, "use_sde": True}),
    "ppo squashed": (PPO, {"n_steps": 16, "batch_size": 16, "use_sde": True, "policy_kwargs": {"squash_output": True}}),
    "a2c": (A2C, {}),
    "sac": (SAC, {"buffer_size": 100}),
    "sac gsde": (SAC, {"buffer_size": 100, "use_sde": True}),
    "td3": (TD3, {"buffer_size": 100, "policy_kwargs": {"net_arch": [16, 8]}}),
    "ddpg": (DDPG, {"buffer_size": 100}),
}


def spread(model):
    """Make the actor say more than the nearly nothing of one that has learned nothing."""
    with torch.no_grad():
        for name, parameter in model.policy.named_parameters():
            if name.startswith(("action_net", "actor.mu")):
                parameter.mul_(30.0)
    return model


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_agents_act_as_in_stable_baselines_alive_and_in_a_file(name, tmp_path):
    algorithm, options = CONTINUOUS[name]
    model = spread(algorithm("MlpPolicy", World(ROWS, TORQUE), seed=0, device="cpu", **options))
    model.save(tmp_path / "agent.zip")
    teacher = Teacher.from_sb3(tmp_path / "agent.zip")
    assert isinstance(teacher, ContinuousTeacher)
    assert teacher.continuous
    assert not teacher.has_scores
    assert np.array_equal(teacher.low, TORQUE.low)
    assert np.array_equal(teacher.high, TORQUE.high)
    expected, _ = model.predict(OBSERVATIONS.astype(np.float32), deterministic=True)
    assert np.ptp(expected, axis=0).min() > 0.05
    np.testing.assert_allclose(teacher.act(OBSERVATIONS.astype(np.float32)), expected, rtol=1e-3, atol=2e-4)
    alone = np.concatenate([teacher.act(row[None]) for row in OBSERVATIONS[:50]])
    assert np.array_equal(alone, teacher.act(OBSERVATIONS)[:50])
    assert Teacher.from_sb3(model).digest == teacher.digest


def test_gsde_limits_the_mean_before_it_is_squashed(tmp_path):
    model = spread(SAC("MlpPolicy", World(ROWS, TORQUE), seed=0, device="cpu", buffer_size=100, use_sde=True))
    model.save(tmp_path / "agent.zip")
    actions = Teacher.from_sb3(tmp_path / "agent.zip").act(100 * OBSERVATIONS)
    largest = TORQUE.low + 0.5 * (np.tanh(2.0) + 1) * (TORQUE.high - TORQUE.low)
    np.testing.assert_allclose(actions.max(axis=0), largest, rtol=1e-6)


def test_a_continuous_teacher_is_refused_by_tasks_with_few_actions(tmp_path):
    from moet.envs import resolve

    model = PPO("MlpPolicy", "Pendulum-v1", device="cpu", n_steps=8, batch_size=8)
    teacher = Teacher.from_sb3(model)
    with pytest.raises(TeacherError, match=r"rows of numbers, pendulum takes one of 3; .*Teacher\.from_callable"):
        checked(teacher, resolve("pendulum"))
    with pytest.raises(TeacherError, match="has no scores"):
        teacher.scores(OBSERVATIONS)


@pytest.mark.parametrize(
    ("low", "high", "squash", "message"),
    [
        ([0.0], [1.0], False, "bounds of 2 actions"),
        ([0.0, 1.0], [1.0, 0.0], False, "must be ordered"),
        ([0.0, np.nan], [1.0, 2.0], False, "must be ordered"),
        ([0.0, 0.0], [1.0, np.inf], True, "need finite ones"),
    ],
)
def test_bounds_that_are_none_are_refused(low, high, squash, message):
    network = Network([], [(np.ones((3, 2)), np.zeros(2))], activation="relu", meaning="actions")
    with pytest.raises(TeacherError, match=message):
        ContinuousTeacher(network, low, high, squash=squash)
    with pytest.raises(TeacherError, match="outputs of this network are actions"):
        NetworkTeacher(network)


def test_actions_of_a_network_that_overflows_are_an_error():
    network = Network([], [(np.full((3, 2), 1e308), np.zeros(2))], activation="relu", meaning="actions")
    with pytest.raises(TeacherError, match=r"actions must be finite: .* the first is row 0"):
        ContinuousTeacher(network, [-1, -1], [1, 1]).act(np.full((1, 3), 1e10))


@pytest.mark.parametrize("name", ["LeakyReLU", "Sigmoid", "SiLU", "GELU", "Softplus", "Mish", "SELU", "CELU"])
def test_activations_of_pytorch_are_computed_here(name, tmp_path):
    settings = {"activation_fn": getattr(torch.nn, name), "net_arch": {"pi": [16, 8], "vf": []}}
    options = {"n_steps": 16, "batch_size": 16, "policy_kwargs": settings}
    model = spread(PPO("MlpPolicy", World(ROWS, TORQUE), seed=0, device="cpu", **options))
    model.save(tmp_path / "agent.zip")
    teacher = Teacher.from_sb3(tmp_path / "agent.zip")
    expected, _ = model.predict(OBSERVATIONS.astype(np.float32), deterministic=True)
    np.testing.assert_allclose(teacher.act(OBSERVATIONS.astype(np.float32)), expected, rtol=1e-3, atol=2e-4)


def test_answers_of_yes_and_no_are_one_action_per_combination(tmp_path):
    world = World(ROWS, spaces.MultiBinary(3))
    model = spread(PPO("MlpPolicy", world, seed=0, device="cpu", n_steps=16, batch_size=16))
    model.save(tmp_path / "agent.zip")
    teacher = Teacher.from_sb3(tmp_path / "agent.zip")
    assert teacher.n_actions == 8
    expected, _ = model.predict(OBSERVATIONS.astype(np.float32), deterministic=True)
    chosen = np.stack(np.unravel_index(teacher.act(OBSERVATIONS.astype(np.float32)), (2, 2, 2)), axis=1)
    assert (chosen == expected).all(axis=1).mean() > 0.99  # the others hang on the last digits of a float32
    assert Teacher.from_sb3(model).digest == teacher.digest


def test_actions_that_are_an_array_are_a_row(tmp_path):
    model = spread(A2C("MlpPolicy", World(ROWS, spaces.Box(-1, 1, (2, 2))), seed=0, device="cpu"))
    model.save(tmp_path / "agent.zip")
    expected, _ = model.predict(OBSERVATIONS.astype(np.float32), deterministic=True)
    actions = Teacher.from_sb3(tmp_path / "agent.zip").act(OBSERVATIONS.astype(np.float32))
    np.testing.assert_allclose(actions, expected.reshape(-1, 4), rtol=1e-3, atol=2e-4)


def test_an_agent_that_learned_with_masks_is_read_with_a_warning(tmp_path):
    contrib = pytest.importorskip("sb3_contrib")
    world = World(ROWS, spaces.Discrete(3))
    model = spread(contrib.MaskablePPO("MlpPolicy", world, seed=0, device="cpu", n_steps=16, batch_size=16))
    model.save(tmp_path / "agent.zip")
    with pytest.warns(MoetWarning, match="learned with masks"):
        teacher = Teacher.from_sb3(tmp_path / "agent.zip")
    expected, _ = model.predict(OBSERVATIONS.astype(np.float32), deterministic=True)
    assert (teacher.act(OBSERVATIONS.astype(np.float32)) == expected).mean() > 0.99
    with pytest.warns(MoetWarning, match="learned with masks"):
        assert Teacher.from_sb3(model).digest == teacher.digest


def test_an_agent_that_looks_at_images_is_told_what_a_tree_needs(tmp_path):
    images = spaces.Box(0, 255, (3, 36, 36), dtype=np.uint8)
    model = A2C("CnnPolicy", World(images, spaces.Discrete(3)), device="cpu")
    model.save(tmp_path / "agent.zip")
    with pytest.raises(
        TeacherError, match=r"images, by convolutions; .* features= .*Teacher\.from_callable"
    ) as refusal:
        Teacher.from_sb3(tmp_path / "agent.zip")
    assert "trust=True" not in str(refusal.value)


@pytest.mark.parametrize("counts", [[2, 3], [4], [2, 2, 2]])
def test_several_choices_at_once_are_one_action_per_combination(counts, tmp_path):
    actions = spaces.MultiDiscrete(counts)
    model = spread(PPO("MlpPolicy", World(ROWS, actions), seed=0, device="cpu", n_steps=16, batch_size=16))
    model.save(tmp_path / "agent.zip")
    teacher = Teacher.from_sb3(tmp_path / "agent.zip")
    assert teacher.n_actions == np.prod(counts)
    expected, _ = model.predict(OBSERVATIONS.astype(np.float32), deterministic=True)
    chosen = np.stack(np.unravel_index(teacher.act(OBSERVATIONS.astype(np.float32)), counts), axis=1)
    assert (chosen == expected).all(axis=1).mean() > 0.99  # the others hang on the last digits of a float32
    with torch.no_grad():
        parts = model.policy.get_distribution(torch.as_tensor(OBSERVATIONS, dtype=torch.float32)).distribution
    first = sum(part.logits[:, 0] for part in parts)
    np.testing.assert_allclose(
        teacher.scores(OBSERVATIONS)[:, 0], np.log(np.exp(first.numpy()) + 1e-10), rtol=1e-3, atol=1e-4
    )
    assert Teacher.from_sb3(model).digest == teacher.digest


def test_too_many_combinations_are_refused(tmp_path):
    model = PPO("MlpPolicy", World(ROWS, spaces.MultiDiscrete([8, 9])), device="cpu", n_steps=16, batch_size=16)
    with pytest.raises(TeacherError, match=r"8 × 9 = 72 combinations of actions, more than 64; .*ActionWrapper"):
        Teacher.from_sb3(model)


@pytest.mark.parametrize(
    ("space", "policy"),
    [
        (spaces.Discrete(5), "MlpPolicy"),
        (spaces.Dict(b=spaces.Box(-1, 1, (2,)), a=spaces.Discrete(3)), "MultiInputPolicy"),
        (spaces.MultiDiscrete([2, 3]), "MlpPolicy"),
        (spaces.MultiBinary(5), "MlpPolicy"),
        (spaces.Box(-1, 1, (5, 1)), "MlpPolicy"),
        (spaces.Dict(a=spaces.Box(-1, 1, (2, 1)), b=spaces.MultiDiscrete([2, 1])), "MultiInputPolicy"),
    ],
    ids=["discrete", "dict", "multidiscrete", "multibinary", "array", "dict of several"],
)
def test_what_is_no_row_is_seen_flat(space, policy, tmp_path):
    model = spread(PPO(policy, World(space, spaces.Discrete(3)), seed=0, device="cpu", n_steps=16, batch_size=16))
    model.save(tmp_path / "agent.zip")
    teacher = Teacher.from_sb3(tmp_path / "agent.zip")
    assert teacher.n_features == spaces.flatdim(space) == 5
    space.seed(0)
    for seen in [space.sample() for _ in range(20)]:
        expected, _ = model.predict(seen, deterministic=True)
        assert teacher.act(spaces.flatten(space, seen)[None])[0] == expected
    assert Teacher.from_sb3(model).digest == teacher.digest


def to_ars(linear):
    def edit(data):
        name = "ARSLinearPolicy" if linear else "ARSPolicy"
        data["policy_class"]["__module__"] = "sb3_contrib.ars.policies"
        data["policy_class"]["__init__"] = f"<function {name}.__init__ at 0x7f>"

    return edit


def test_a_linear_agent_of_ars(tmp_path):
    model = A2C("MlpPolicy", "CartPole-v1", device="cpu")
    model.save(tmp_path / "agent.zip")
    weight = torch.tensor([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0]])
    rewrite(tmp_path / "agent.zip", to_ars(linear=True), lambda _: {"action_net.weight": weight})
    teacher = Teacher.from_sb3(tmp_path / "agent.zip")
    assert teacher.scores([[1.0, 1.0, 0.0, 0.0]]).tolist() == [[3.0, 0.0]]
    with pytest.raises(TeacherError, match="trust=True does not help with it; leave it out"):
        Teacher.from_sb3(tmp_path / "agent.zip", trust=True)


@pytest.mark.parametrize(("linear", "expected"), [(True, 2.0), (False, 2.0 * np.tanh(3.0))])
def test_continuous_agents_of_ars_are_squashed_unless_linear(tmp_path, linear, expected):
    model = A2C("MlpPolicy", "Pendulum-v1", device="cpu")
    model.save(tmp_path / "agent.zip")
    state = {"action_net.0.weight": torch.tensor([[1.0, 1.0, 1.0]]), "action_net.0.bias": torch.tensor([0.0])}
    rewrite(tmp_path / "agent.zip", to_ars(linear), lambda _: state)
    assert Teacher.from_sb3(tmp_path / "agent.zip").act([[1.0, 1.0, 1.0]]) == pytest.approx(expected)


def test_a_recurrent_agent_is_refused_with_what_to_do(tmp_path):
    model = A2C("MlpPolicy", "CartPole-v1", device="cpu")
    model.save(tmp_path / "agent.zip")
    rewrite(tmp_path / "agent.zip", state=lambda state: state | {"lstm_actor.weight_ih_l0": torch.ones(4, 4)})
    with pytest.raises(TeacherError, match=r"it is recurrent: .* Train an agent without memory") as refusal:
        Teacher.from_sb3(tmp_path / "agent.zip")
    assert "trust" not in str(refusal.value)


def test_an_agent_that_is_no_plain_network_and_continuous_is_told_how_to_be_wrapped(tmp_path):
    options = {"buffer_size": 100, "policy_kwargs": {"activation_fn": torch.nn.Softsign}}
    model = SAC("MlpPolicy", "Pendulum-v1", device="cpu", **options)
    with pytest.raises(TeacherError, match=r"Softsign; .* wrap it: Teacher\.from_callable"):
        Teacher.from_sb3(model)
    model.save(tmp_path / "agent.zip")
    with pytest.raises(
        TeacherError, match=r"its activation is torch.*Softsign; .* wrap it: .*low= and high="
    ) as refusal:
        Teacher.from_sb3(tmp_path / "agent.zip")
    assert "trust=True" not in str(refusal.value)


def test_a_continuous_function_is_a_teacher():
    teacher = Teacher.from_callable(lambda rows: 3 * rows[:, :1], low=-1.0, high=2.0)
    assert teacher.continuous
    assert teacher.act([[-1.0], [0.5], [9.0]]).tolist() == [[-1.0], [1.5], [2.0]]
    for options in ({"low": 0.0}, {"low": 1.0, "high": 0.0}):
        with pytest.raises(TeacherError, match="bounds"):
            Teacher.from_callable(lambda rows: rows, **options)
    with pytest.raises(TeacherError, match=r"rows of numbers of shape \(1, 1\), got float64 of shape \(1,\)"):
        Teacher.from_callable(lambda rows: rows[:, 0], low=-1.0, high=2.0).act([[1.0]])


def test_a_file_that_says_it_was_normalised_is_not_read_in_silence(tmp_path):
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    env = VecNormalize(DummyVecEnv([lambda: World(ROWS, spaces.Discrete(2))]))
    model = A2C("MlpPolicy", env, device="cpu", seed=0).learn(20)
    model.save(tmp_path / "agent.zip")
    with pytest.warns(MoetWarning, match=r"trained behind a VecNormalize; .* --normalize vecnormalize\.pkl"):
        Teacher.from_sb3(tmp_path / "agent.zip")
    env.save(tmp_path / "agent.vecnormalize.pkl")
    with pytest.warns(MoetWarning, match=r"--normalize .*agent\.vecnormalize\.pkl"):
        Teacher.from_sb3(tmp_path / "agent.zip")
    teacher = Teacher.from_sb3(tmp_path / "agent.zip", normalize=tmp_path / "agent.vecnormalize.pkl")
    assert teacher.digest == Teacher.from_sb3(model).digest
