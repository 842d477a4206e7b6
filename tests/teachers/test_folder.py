"""Folders as the Hugging Face hub has them."""

import zipfile

import pytest

from moet.errors import MoetWarning, TeacherError
from moet.teachers import Teacher

pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")

import gymnasium
from stable_baselines3 import A2C
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize


@pytest.fixture(scope="module")
def trained():
    env = VecNormalize(DummyVecEnv([lambda: gymnasium.make("CartPole-v1")]))
    return A2C("MlpPolicy", env, device="cpu", seed=0).learn(20), env


@pytest.fixture
def folder(trained, tmp_path):
    model, _ = trained
    model.save(tmp_path / "a2c-CartPole-v1.zip")
    (tmp_path / "README.md").write_text("# an agent")
    (tmp_path / "config.yml").write_text("!!python/object/apply:os.system ['false']")
    (tmp_path / "results.json").write_text("{}")
    with zipfile.ZipFile(tmp_path / "train_eval_metrics.zip", "w") as archive:
        archive.writestr("evaluations.npz", b"")
    return tmp_path


@pytest.mark.parametrize("place", ["vec_normalize.pkl", "vecnormalize.pkl", "CartPole-v1/vecnormalize.pkl"])
def test_the_agent_is_taken_with_its_statistics(trained, folder, place):
    model, env = trained
    (folder / place).parent.mkdir(exist_ok=True)
    env.save(folder / place)
    assert Teacher.from_folder(folder).digest == Teacher.from_sb3(model).digest


def test_statistics_that_are_missing_are_told(folder):
    with pytest.warns(MoetWarning, match="trained behind a VecNormalize"):
        Teacher.from_folder(str(folder))


def test_folders_without_an_agent_or_with_several_are_refused(trained, folder, tmp_path):
    trained[0].save(folder / "best_model.zip")
    with pytest.raises(TeacherError, match=r"2 agents are in it; choose one with Teacher\.from_sb3\('.*a2c-CartPole"):
        Teacher.from_folder(folder)
    (tmp_path / "empty").mkdir()
    with pytest.raises(TeacherError, match=r"no zip of Stable-Baselines3 is in it; it holds nothing"):
        Teacher.from_folder(tmp_path / "empty")
    with pytest.raises(TeacherError, match="it is no folder"):
        Teacher.from_folder(folder / "README.md")
