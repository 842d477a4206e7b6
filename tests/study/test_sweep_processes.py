"""Sweeps with real processes that are killed, stopped and restarted."""

import os
import subprocess
import sys
from contextlib import ExitStack

import pytest

pytest.importorskip("optuna")

from moet.study.definition import packed
from moet.study.presets import Plan
from moet.study.read import outcomes
from moet.study.record import attributes
from moet.study.storage import Timing, storage_url
from moet.study.sweep import Sweep
from moet.study.worker import work
from tests.processes import INTERRUPTED, LIMIT, started, stopped, wait_until

pytestmark = pytest.mark.processes

PLAN = Plan(
    tree_depths=(1, 2, 3, 4),
    mixtures=((2, 0), (2, 1), (3, 1)),
    iterations=3,
    rollouts=4,
    selection_episodes=4,
    episodes=5,
)
N_TRIALS = 10
TIMING = Timing(heartbeat=1, grace=5)


def sweep(storage):
    return Sweep("cartpole", "quick", storage=storage, plan=PLAN, timing=TIMING)


@pytest.fixture
def start():
    """Begin a command of ours in another process, which does not outlive the test."""
    times = {f"MOET_{name.upper()}": str(value) for name, value in vars(TIMING).items()}
    with ExitStack() as processes:

        def start(*arguments, stderr=subprocess.PIPE, **environment):
            command = [sys.executable, "-m", "moet", *arguments]
            return processes.enter_context(started(command, env=os.environ | times | environment, stderr=stderr))

        yield start


def without_times(outcome):
    """What must be the same whoever ran it."""
    document = attributes(outcome)["outcome"] | {"model": packed(b"")}
    document["history"] = [entry | {"seconds": None} for entry in document["history"]]
    document["verification"] = document["verification"] and document["verification"] | {"seconds": None}
    return document | {"seconds": None, "model": outcome.model}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """All outcomes of a sweep that nothing happened to."""
    begun = sweep(tmp_path_factory.mktemp("undisturbed"))
    begun.begin()
    assert work(begun.url) == N_TRIALS
    return [without_times(outcome) for outcome in begun.outcomes()]


def test_two_killed_workers_lose_and_repeat_nothing(storage, undisturbed, start):
    begun = sweep(storage)
    queue = begun.begin()
    ours = queue.claim()  # lest the workers be done before they are killed
    with queue.heartbeats(ours):
        workers = [start("worker", "--storage", storage) for _ in range(2)]
        wait_until(lambda: queue.progress().complete >= 2)
        for worker in workers:
            worker.kill()
            worker.wait(LIMIT)
    queue.give_back(ours)
    finished = {trial.number: trial for trial in queue.finished()}
    assert 2 <= len(finished) < N_TRIALS

    found = begun.run(workers=2)

    assert [without_times(outcome) for outcome in found] == undisturbed
    trials = queue.finished()
    assert len(trials) == len({trial.user_attrs["slot"] for trial in trials}) == N_TRIALS
    assert {trial.number: trial for trial in trials if trial.number in finished} == finished
    with queue.storage.engine.connect() as connection:
        assert list(connection.exec_driver_sql("SELECT slot FROM moet_unfinished")) == []


def test_a_stopped_sweep_gives_its_trials_back_at_once(tmp_path, start):
    process = start("sweep", "acrobot", "--preset", "quick", "-o", tmp_path, MOET_GRACE="3600")
    queue = None

    def half_way():
        nonlocal queue
        if queue is None and (tmp_path / "study.db").exists() and process.poll() is None:
            queue = Sweep("acrobot", "quick", storage=tmp_path).begin()
        return queue is not None and queue.progress().complete >= 1

    wait_until(half_way)
    _, said = stopped(process)
    assert process.returncode in INTERRUPTED, said
    assert "the same command goes on from them" in said
    done = queue.progress().complete
    assert 1 <= done < queue.definition.trials
    left = [queue.claim() for _ in range(queue.definition.trials - done)]
    assert all(left)  # none is still taken by the stopped workers, although an hour's silence would be excused
    assert queue.claim() is None


def test_a_worker_waits_for_a_server_that_comes_back(server, undisturbed, start, tmp_path):
    begun = sweep(server.url)
    queue = begun.begin()
    ours = queue.claim()  # lest the worker be done before the server is gone
    said = tmp_path / "said.txt"
    with said.open("w") as file:
        worker = start("worker", MOET_STORAGE=server.url, MOET_GRACE="3600", stderr=file)
    wait_until(lambda: queue.progress().complete >= 1)
    server.stop()
    try:
        wait_until(lambda: "does not answer" in said.read_text())
    finally:
        server.start()
    queue.give_back(ours)
    assert "finished" in worker.communicate(timeout=LIMIT)[0]
    assert worker.returncode == 0
    assert [without_times(outcome) for outcome in outcomes(server.url)] == undisturbed


def test_a_worker_without_a_storage(tmp_path, start):
    worker = start("worker", "--storage", "postgresql://127.0.0.1:9/moet", MOET_PATIENCE="1")
    _, said = worker.communicate(timeout=LIMIT)
    assert worker.returncode == 2
    assert "gave up after 1 s" in said
    worker = start("worker", "--storage", storage_url(tmp_path))
    _, said = worker.communicate(timeout=LIMIT)
    assert worker.returncode == 2
    assert "there is no study in" in said
