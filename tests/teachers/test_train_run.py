"""Training runs: reproducible, resumable, selected and reported on different episodes."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from moet.envs import catalog  # noqa: E402
from moet.envs.rollout import Episodes  # noqa: E402
from moet.errors import TeacherError  # noqa: E402
from moet.teachers.arrays import read_network  # noqa: E402
from moet.teachers.train import run as run_module  # noqa: E402
from moet.teachers.train.recipes import RECIPES, find_recipe  # noqa: E402
from moet.teachers.train.report import count_distinct  # noqa: E402
from moet.teachers.train.run import train  # noqa: E402

from .train_world import BEST, DQN_RECIPE, REINFORCE_RECIPE, corridor  # noqa: E402

both = pytest.mark.parametrize("recipe", [DQN_RECIPE, REINFORCE_RECIPE], ids=["dqn", "reinforce"])


@pytest.fixture(autouse=True)
def _corridor_is_known(monkeypatch):
    monkeypatch.setitem(catalog._BY_NAME, "corridor", lambda name: corridor())


class Killed(BaseException):
    """Not an exception that anything would catch."""


def train_until_killed(recipe, folder, monkeypatch, legs, seed=3):
    """Train, and die in the middle of a leg after ``legs`` whole ones."""
    make = type(recipe).learner

    def fragile(self, task, seed):
        learner = make(self, task, seed)
        advance, done = learner.advance, []

        def advance_or_die():
            advance()
            done.append(True)
            if len(done) > legs:
                raise Killed

        learner.advance = advance_or_die
        return learner

    with monkeypatch.context() as patch:
        patch.setattr(type(recipe), "learner", fragile)
        with pytest.raises(Killed):
            train(recipe, seed, folder=folder)


@both
def test_a_seed_gives_the_same_network_every_time(recipe):
    first, again, other = (train(recipe, seed) for seed in (0, 0, 1))
    assert first.network.digest == again.network.digest != other.network.digest
    assert first.history == again.history
    assert first.figures == again.figures


@both
def test_a_killed_run_ends_like_one_that_was_never_interrupted(recipe, tmp_path, monkeypatch):
    whole = train(recipe, 3)
    train_until_killed(recipe, tmp_path, monkeypatch, legs=1)
    train_until_killed(recipe, tmp_path, monkeypatch, legs=1)
    resumed = train(recipe, 3, folder=tmp_path)
    assert resumed.history == whole.history
    assert resumed.network.digest == whole.network.digest
    assert resumed.figures == whole.figures
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corridor-seed3.npz", "corridor-seed3.pt"]
    assert read_network(tmp_path / "corridor-seed3.npz").network.digest == whole.network.digest


def test_a_finished_run_is_not_repeated(tmp_path, monkeypatch):
    whole = train(DQN_RECIPE, 0, folder=tmp_path)
    monkeypatch.setattr("moet.teachers.train.dqn.DQN.advance", lambda self: pytest.fail("it learned again"))
    assert train(DQN_RECIPE, 0, folder=tmp_path).network.digest == whole.network.digest


def test_the_best_network_of_the_run_is_kept(monkeypatch):
    """Also if it was not the last one."""
    rewards, networks = iter([-9.0, -1.0, -5.0, -1.0]), []

    def reward(task, network, seeds):
        networks.append(network)
        return next(rewards)

    monkeypatch.setattr(run_module, "_selection_reward", reward)
    outcome = train(DQN_RECIPE, 0)
    assert [past for _, past in outcome.history] == [-9.0, -1.0, -5.0, -1.0]
    assert outcome.network is networks[1]


def test_a_run_stops_when_it_is_good_enough():
    outcome = train(replace(DQN_RECIPE, steps=100_000, stop=BEST - 1), 0)
    assert outcome.history[-1][1] >= BEST - 1
    assert all(reward < BEST - 1 for _, reward in outcome.history[:-1])
    assert outcome.history[-1][0] < 100_000


def test_selection_and_report_share_no_episode(monkeypatch):
    seeds = {"selection": set(), "report": set(), "training": set()}
    task = corridor()

    def recording(purpose):
        def batch():
            inner = task.batch()
            for name in ("reset", "restart"):
                method = getattr(inner, name)

                def record(*arguments, method=method):
                    seeds[purpose].update(arguments[-1])
                    return method(*arguments)

                setattr(inner, name, record)
            return inner

        return replace(task, batch=batch)

    monkeypatch.setattr(run_module, "resolve", lambda name: recording("training"))
    monkeypatch.setattr("moet.teachers.train.report.resolve", lambda name: recording("report"))
    select = run_module._selection_reward
    monkeypatch.setattr(
        run_module, "_selection_reward", lambda task, network, given: select(recording("selection"), network, given)
    )
    train(DQN_RECIPE, 0)
    assert len(seeds["selection"]) == DQN_RECIPE.selection_episodes
    assert len(seeds["report"]) == 50
    assert len(seeds["training"]) > 100
    assert not seeds["selection"] & seeds["report"]
    assert not seeds["training"] & (seeds["selection"] | seeds["report"])


def test_consecutive_selection_seeds_are_still_for_selection():
    recipe = replace(DQN_RECIPE, selection_episodes=6, selection_consecutive=True)
    seeds = recipe.selection_seeds(4)
    assert seeds == list(range(seeds[0], seeds[0] + 6))
    assert seeds[0] == replace(recipe, selection_consecutive=False).selection_seeds(4)[0]


def test_selection_of_pong_begins_in_every_phase():
    """A step is four frames, so it matters how many frames are waited modulo four."""
    for seed in range(60):
        assert {(1 + start % 30) % 4 for start in RECIPES["pong"].selection_seeds(seed)} == {0, 1, 2, 3}


def test_a_checkpoint_of_other_settings_is_refused(tmp_path):
    short = replace(DQN_RECIPE, steps=1_000)
    train(short, 0, folder=tmp_path)
    with pytest.raises(TeacherError, match=r"corridor-seed0\.pt is from a run with other settings; delete it"):
        train(replace(short, discount=0.5), 0, folder=tmp_path)


def test_a_damaged_checkpoint_is_refused(tmp_path):
    (tmp_path / "corridor-seed0.pt").write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(TeacherError, match=r"corridor-seed0\.pt is no checkpoint of a training run"):
        train(DQN_RECIPE, 0, folder=tmp_path)


def test_a_failing_disk_leaves_the_last_checkpoint(tmp_path, monkeypatch):
    recipe = replace(DQN_RECIPE, steps=2_000)
    train_until_killed(recipe, tmp_path, monkeypatch, legs=1)
    before = (tmp_path / "corridor-seed3.pt").read_bytes()

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(torch, "save", full)
        with pytest.raises(OSError, match="No space left"):
            train(recipe, 3, folder=tmp_path)
    assert (tmp_path / "corridor-seed3.pt").read_bytes() == before
    assert train(recipe, 3, folder=tmp_path).history == train(recipe, 3).history


def test_episodes_with_the_same_end_are_one():
    first, second = np.arange(150.0), np.arange(150.0) + 0.5
    waits = np.concatenate([np.full(7, -1.0), first])
    parts = [first, waits, second]
    observations = np.concatenate(parts)[:, None]
    n = len(observations)
    episodes = Episodes(
        observations=observations,
        actions=np.zeros(n, np.int64),
        rewards=np.zeros(n),
        lengths=np.array([len(part) for part in parts]),
        returns=np.zeros(3),
    )
    assert count_distinct(episodes) == 2


def test_every_recipe_fits_its_task():
    for recipe in RECIPES.values():
        if recipe.task.startswith("pong"):
            pytest.importorskip("ale_py")
        task = catalog.resolve(recipe.task)
        assert len(recipe.scale) == len(task.feature_names)
        learner = recipe.learner(task, 0)
        teacher = run_module._at_work(learner.network(), task)
        assert teacher.n_features == len(task.observation_names)
        assert teacher.network.n_outputs == len(task.action_names)
        learner.close()


def test_unknown_tasks_have_no_recipe():
    with pytest.raises(TeacherError, match=r"no recipe to train a teacher of 'chess'; known are cartpole, "):
        find_recipe("chess")
    with pytest.raises(TeacherError, match="gridworld needs no training"):
        find_recipe("gridworld")
