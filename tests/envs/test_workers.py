"""Episodes spread over processes: what a user's script defines travels, and results are the same to the bit."""

import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from moet.envs import resolve
from moet.envs.rollout import play
from moet.envs.workers import number_of_workers
from moet.errors import TaskError
from tests.processes import run

from .worlds import Counter

SCRIPT = '''
import sys

import gymnasium
import joblib
import numpy as np
from gymnasium.spaces import Box, Discrete

from moet.envs import resolve
from moet.envs.rollout import play


class World(gymnasium.Env):
    """Defined in a script, of which other processes know nothing."""

    def __init__(self, length=5, render_mode=None):
        self.observation_space = Box(-1, 1, (2,))
        self.action_space = Discrete(2)
        self.length = length

    def observation(self):
        return self.np_random.uniform(-1, 1, 2).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = self.length + seed % 3
        return self.observation(), {}

    def step(self, action):
        self.left -= 1
        return self.observation(), float(action), self.left == 0, False, {}


def check(spread):
    length = 4
    gymnasium.register("Script-v0", World, max_episode_steps=6)
    gymnasium.register("Closure-v0", lambda **options: World(length, **options))
    for env in ("Script-v0", "Closure-v0", World, lambda: World(length + 3), "cartpole"):
        task = resolve(env)
        sign = 1.0
        act = lambda rows: (sign * rows[:, 0] > 0).astype(np.int64)
        with joblib.parallel_config("sequential"):
            alone = play(act, task, range(11))
        assert alone.lengths.sum() > 40
        together = spread(act, task)
        for name in alone.__dataclass_fields__:
            assert np.array_equal(getattr(alone, name), getattr(together, name)), (env, name)
    print("the same")


if __name__ == "__main__":
    if sys.argv[1] == "workers":
        check(lambda act, task: play(act, task, range(11), workers=2))
    elif sys.argv[1] == "config":
        with joblib.parallel_config("loky", n_jobs=2):
            check(lambda act, task: play(act, task, range(11)))
    elif sys.argv[1] == "ray":
        import ray
        from ray.util.joblib import register_ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        register_ray()
        with joblib.parallel_config("ray", n_jobs=2):
            check(lambda act, task: play(act, task, range(11)))
        ray.shutdown()
    else:
        from dask.distributed import Client, LocalCluster

        cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
        with cluster, Client(cluster) as client, joblib.parallel_config("dask"):
            pids = set(client.run(lambda: __import__("os").getpid()).values())
            assert len(pids) == 2 and __import__("os").getpid() not in pids
            check(lambda act, task: play(act, task, range(11)))
'''


def run_script(tmp_path: Path, how: str) -> str:
    (tmp_path / "script.py").write_text(SCRIPT)
    patient = os.environ | {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "120s"}
    finished = run([sys.executable, "script.py", how], cwd=tmp_path, env=patient)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.processes
@pytest.mark.parametrize("how", ["workers", "config"])
def test_what_a_script_defines_is_played_in_other_processes(tmp_path: Path, how: str) -> None:
    assert run_script(tmp_path, how) == "the same\n"


@pytest.mark.processes
@pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="needs dask[distributed]")
def test_a_cluster_of_dask_plays_the_same_to_the_bit(tmp_path: Path) -> None:
    assert run_script(tmp_path, "dask") == "the same\n"


@pytest.mark.processes
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs ray")
def test_a_cluster_of_ray_plays_the_same_to_the_bit(tmp_path: Path) -> None:
    assert run_script(tmp_path, "ray") == "the same\n"


@pytest.mark.processes
def test_the_number_of_workers_is_what_was_asked_for_or_configured() -> None:
    import joblib

    assert number_of_workers(1) == 1
    assert number_of_workers(3) == 3
    with joblib.parallel_config("threading", n_jobs=2):
        assert number_of_workers(1) == 2
        assert number_of_workers(3) == 3


@pytest.mark.processes
def test_a_task_that_cannot_travel_is_told() -> None:
    here = (step for step in range(3))  # a generator cannot be pickled

    def make() -> Counter:
        assert here is not None
        return Counter()

    with pytest.raises(TaskError, match=r"make cannot be played in other processes \(.*\); use workers=1"):
        play(lambda rows: np.zeros(len(rows), np.int64), resolve(make), [1, 2], workers=2)
