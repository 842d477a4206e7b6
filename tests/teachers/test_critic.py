"""Critics of continuous agents, read from a file without executing anything in it."""

import gymnasium
import numpy as np
import pytest

torch = pytest.importorskip("torch")
sb3 = pytest.importorskip("stable_baselines3")

from moet.distill import distill, evaluate  # noqa: E402
from moet.model.regression.regressor import MoETRegressor  # noqa: E402
from moet.teachers import Teacher  # noqa: E402
from moet.teachers.critic import action_grid  # noqa: E402

STATES = np.random.default_rng(0).normal(0, 1, (40, 3))
ACTIONS = np.random.default_rng(1).uniform(-2, 2, (40, 1))


def saved(algorithm, folder):
    options = {"policy_kwargs": {"net_arch": [8, 8]}, "buffer_size": 100, "seed": 0, "device": "cpu"}
    model = algorithm("MlpPolicy", gymnasium.make("Pendulum-v1"), **options)
    model.save(folder / "agent.zip")
    return model, folder / "agent.zip"


@pytest.mark.parametrize("name", ["SAC", "TD3", "DDPG"])
def test_a_critic_says_what_stable_baselines_says(name, tmp_path):
    model, path = saved(getattr(sb3, name), tmp_path)
    critic = Teacher.from_sb3(path).critic
    with torch.no_grad():
        scores = model.critic(
            torch.as_tensor(STATES, dtype=torch.float32), torch.as_tensor(ACTIONS / 2, dtype=torch.float32)
        )
    wanted = torch.stack(scores).min(dim=0).values.numpy()[:, 0]
    np.testing.assert_allclose(critic.scores(STATES, ACTIONS), wanted, atol=1e-5)


def test_quantiles_of_tqc_count_by_their_mean(tmp_path):
    contrib = pytest.importorskip("sb3_contrib")
    model, path = saved(contrib.TQC, tmp_path)
    critic = Teacher.from_sb3(path).critic
    with torch.no_grad():
        quantiles = model.critic(
            torch.as_tensor(STATES, dtype=torch.float32), torch.as_tensor(ACTIONS / 2, dtype=torch.float32)
        )
    np.testing.assert_allclose(critic.scores(STATES, ACTIONS), quantiles.mean(dim=(1, 2)).numpy(), atol=1e-5)


@pytest.mark.filterwarnings("ignore::moet.errors.MoetWarning")  # it has learned nothing
def test_the_importance_of_a_state_is_the_spread_of_its_scores_and_a_regret_is_never_negative(tmp_path):
    teacher = Teacher.from_sb3(saved(sb3.DDPG, tmp_path)[1])
    result = distill(
        teacher, "Pendulum-v1", MoETRegressor(1, 0), iterations=1, rollouts_per_iteration=1, selection_episodes=1,
        importance="q_gap",
    )  # fmt: skip
    scores = teacher.critic.grid_scores(result.data.features)
    np.testing.assert_array_equal(result.data.importance, scores.max(axis=1) - scores.min(axis=1))
    assert evaluate(result.policy, episodes=1, teacher=teacher).q_regret >= 0
    own = teacher.act(STATES)
    assert np.all(teacher.critic.regret(STATES, own, own) >= 0)


@pytest.mark.parametrize(("n_numbers", "count"), [(1, 7), (2, 16), (3, 8), (4, 16), (6, 16), (9, 16)])
def test_grids_have_both_bounds_and_few_actions(n_numbers, count):
    grid = action_grid(n_numbers)
    assert grid.shape == (count, n_numbers)
    assert grid.min(axis=0).tolist() == [-1.0] * n_numbers
    assert grid.max(axis=0).tolist() == [1.0] * n_numbers


def test_agents_without_a_critic_and_those_with_a_damaged_one_have_none(tmp_path):
    model = sb3.PPO("MlpPolicy", gymnasium.make("Pendulum-v1"), policy_kwargs={"net_arch": [8]})
    assert Teacher.from_sb3(model).critic is None
    model, _ = saved(sb3.DDPG, tmp_path)
    model.policy.critic.qf0[0] = torch.nn.Linear(9, 8)  # takes other inputs than there are
    assert Teacher.from_sb3(model).critic is None
