import re
import socket
import sqlite3
from dataclasses import replace

import pytest

optuna = pytest.importorskip("optuna")

from moet.distill.run import Run  # noqa: E402
from moet.envs.catalog import resolve  # noqa: E402
from moet.errors import InputError, StudyError, TaskError  # noqa: E402
from moet.model.file import digest  # noqa: E402
from moet.study import queue as queue_module  # noqa: E402
from moet.study import storage as storage_module  # noqa: E402
from moet.study import trial as trial_module  # noqa: E402
from moet.study.configuration import grid  # noqa: E402
from moet.study.definition import Definition, versions  # noqa: E402
from moet.study.presets import Plan  # noqa: E402
from moet.study.queue import Queue  # noqa: E402
from moet.study.read import outcomes  # noqa: E402
from moet.study.record import attributes, outcome_of  # noqa: E402
from moet.study.storage import Timing, open_storage, storage_url  # noqa: E402
from moet.study.sweep import Sweep, run  # noqa: E402
from moet.study.trial import Runner  # noqa: E402
from moet.study.worker import work  # noqa: E402
from moet.teachers import Teacher, load  # noqa: E402
from tests.processes import wait_until  # noqa: E402

PLAN = Plan(tree_depths=(1, 2), mixtures=((2, 0),), seeds=1, iterations=2, rollouts=2, selection_episodes=2, episodes=3)


def sweep(storage, **options):
    return Sweep("gridworld-3", "quick", storage=storage, plan=PLAN, **options)


@pytest.fixture(scope="module")
def outcome():
    definition = Definition.of("gridworld-3", "quick", PLAN)
    configuration = next(c for c in grid(PLAN) if c.family == "MoËT")
    return Runner(definition).run(configuration)


def test_every_trial_is_taken_once(storage):
    first, second = sweep(storage).begin(), sweep(storage).begin()
    taken = [queue.claim() for queue in (first, second, second, first)]
    assert {claim.configuration for claim in taken} == set(grid(PLAN))
    assert first.claim() is None
    assert second.claim() is None
    assert first.progress() == (4, 0, 0)


def test_a_trial_that_is_given_back_is_taken_again(storage):
    queue = sweep(storage).begin()
    claims = [queue.claim() for _ in grid(PLAN)]
    queue.give_back(claims[2])
    again = queue.claim()
    assert again.trial.number != claims[2].trial.number
    assert again.configuration == claims[2].configuration
    assert queue.claim() is None


def test_a_silent_worker_loses_its_trial_and_cannot_store_it(storage, outcome):
    first, second = sweep(storage).begin(), sweep(storage).begin()
    lost, alive = first.claim(), first.claim()
    _age(first, lost)
    others = [second.claim() for _ in range(3)]
    assert {claim.configuration for claim in (alive, *others)} == set(grid(PLAN))
    assert others[0].configuration == lost.configuration
    assert second.claim() is None
    assert not first.finish(lost, outcome)
    assert first.finish(alive, outcome)
    assert first.finish(alive, outcome)  # asked again after an answer got lost
    assert first.progress() == (4, 1, 0)


def test_a_worker_that_says_it_lives_keeps_its_trial(storage):
    queue = sweep(storage, timing=Timing(heartbeat=1)).begin()
    claims = [queue.claim() for _ in grid(PLAN)]
    _age(queue, claims[0])
    with queue.heartbeats(claims[0]):
        wait_until(lambda: not queue.storage._get_stale_trial_ids(1))
    assert queue.claim() is None


def _age(queue, claim):
    """Let the last heartbeat of a trial lie long in the past."""
    with queue.storage.engine.begin() as connection:
        statement = "UPDATE trial_heartbeats SET heartbeat = '2000-01-01 00:00:00' WHERE trial_id = "
        connection.exec_driver_sql(f"{statement}{claim.trial._trial_id}")


def kept(queue):
    """Names of what unfinished trials left in the storage, by their slot."""
    with queue.storage.engine.connect() as connection:
        return sorted(map(tuple, connection.exec_driver_sql("SELECT slot, name FROM moet_unfinished")))


def test_a_trial_goes_on_where_a_worker_left_it(storage, outcome, monkeypatch):
    begun = sweep(storage, name="a/b")
    queue = begun.begin()
    played = []

    def iterate(run, *, last):
        played.append(last)
        if len(played) == 2:
            raise KeyboardInterrupt
        return original(run, last=last)

    original = Run.iterate
    monkeypatch.setattr(Run, "iterate", iterate)
    with pytest.raises(KeyboardInterrupt):
        work(begun.url)
    assert kept(queue) == [(0, "data-0000.npz"), (0, "run.json")]
    assert work(begun.url) == len(grid(PLAN))
    assert len(played) == PLAN.iterations * len(grid(PLAN)) + 1  # but for the one that was interrupted, none twice
    assert kept(queue) == []
    assert any(found.model == outcome.model for found in begun.outcomes())


def test_what_is_kept_of_a_trial_can_be_replaced_and_is_its_own(storage):
    queue = sweep(storage).begin()
    first, second = (queue.unfinished(queue.claim()) for _ in range(2))
    first.write("run.json", b"old")
    first.write("run.json", b"new")
    second.write("run.json", b"other")
    assert (first.read("run.json"), second.read("run.json"), first.read("data")) == (b"new", b"other", None)
    queue.tidy()
    assert kept(queue) == []


def test_a_trial_does_without_a_checkpoint_that_is_no_good(tmp_path, caplog):
    queue = sweep(tmp_path).begin()
    claim = queue.claim()
    unfinished = queue.unfinished(claim)
    unfinished.write("run.json", b"{")
    Runner(queue.definition).run(claim.configuration, unfinished)
    assert "goes on without its checkpoint: the checkpoint of trial 0 of gridworld-3-quick is damaged" in caplog.text


def test_errors_are_repeated_once_and_then_given_up(storage):
    queue = sweep(storage).begin()
    claims = [queue.claim() for _ in grid(PLAN)]
    queue.fail(claims[0], ValueError("bad luck"))
    again = queue.claim()
    assert again.configuration == claims[0].configuration
    queue.fail(again, ValueError("bad luck"))
    assert queue.claim() is None
    assert queue.progress() == (4, 0, 1)
    assert queue.errors() == ["ValueError: bad luck"] * 2


def test_outcomes_survive_the_storage(tmp_path, outcome):
    queue = sweep(tmp_path).begin()
    queue.finish(queue.claim(), outcome)
    (found,) = outcomes(tmp_path)
    assert digest(found.model) == digest(outcome.model)
    assert found.model.provenance == outcome.model.provenance
    assert attributes(found) == attributes(outcome)
    assert found.before.episodes == found.after.episodes == PLAN.episodes
    assert found.configuration == "E2-D0"
    assert len(found.history) == PLAN.iterations


def test_a_damaged_outcome(outcome):
    stored = attributes(outcome)
    with pytest.raises(StudyError, match="trial 3 holds no outcome"):
        outcome_of(stored | {"model": "AAAA"}, "trial 3")
    with pytest.raises(StudyError, match="trial 3 holds no outcome"):
        outcome_of({"model": stored["model"]}, "trial 3")


@pytest.mark.parametrize("sampler", ["nsga2", "tpe"])
def test_a_search_ends_with_its_number_of_trials(tmp_path, sampler):
    search = sweep(tmp_path, sampler=sampler, trials=5)
    search.begin()
    assert work(search.url) == 5
    found = search.outcomes()
    assert [outcome.seed for outcome in found] == [0, 1, 2, 3, 4]
    assert all(outcome.experts <= 2 and outcome.depth <= 2 for outcome in found)
    assert work(search.url) == 0


def test_a_teacher_travels_with_the_study(tmp_path):
    own = Teacher.from_arrays(_weights(tmp_path))
    plan = Plan(tree_depths=(1,), mixtures=(), iterations=1, rollouts=1, selection_episodes=1, episodes=1)
    begun = Sweep("cartpole", "quick", storage=tmp_path, plan=plan, teacher=own)
    assert begun.begin().definition.load_teacher().digest == own.digest
    work(begun.url)
    (found,) = begun.outcomes()
    assert found.settings["teacher"] == own.digest
    assert found.verification["verdict"] in ("Proved", "Refuted")


def _weights(folder):
    from moet.teachers.arrays import write_network

    write_network(load("cartpole").network, folder / "own.npz")
    return folder / "own.npz"


def test_a_teacher_that_cannot_travel():
    with pytest.raises(InputError, match="only networks can"):
        Sweep("gridworld-3", "quick", teacher=load("gridworld-3"))


def test_two_studies_in_one_storage(tmp_path):
    first, second = sweep(tmp_path), sweep(tmp_path, name="other", sampler="tpe", trials=1)
    first.begin()
    second.begin()
    assert work(first.url) == 5
    assert len(first.outcomes()) == 4
    assert len(outcomes(tmp_path)) == 5


def test_another_plan_is_refused(tmp_path):
    sweep(tmp_path).begin()
    with pytest.raises(
        StudyError, match="there is another study gridworld-3-quick: its preset is 'quick', not 'paper'"
    ):
        Sweep("gridworld-3", "paper", name="gridworld-3-quick", storage=tmp_path, plan=PLAN).begin()
    with pytest.raises(StudyError, match=r"its tree_depths is \[1, 2\], not \[2, 4, 6\]"):
        Sweep("gridworld-3", "quick", storage=tmp_path).begin()


def test_a_study_of_another_version_is_read_but_not_continued(tmp_path, outcome):
    queue = sweep(tmp_path).begin()
    queue.finish(queue.claim(), outcome)
    url = storage_url(tmp_path)
    study = optuna.load_study(study_name=queue.name, storage=url)
    study.set_user_attr("moet", study.user_attrs["moet"] | {"moet": "0.0.1"})
    with pytest.raises(StudyError, match=r"begun by moet 0\.0\.1"):
        sweep(tmp_path).begin()
    with pytest.raises(StudyError, match=r"begun by moet 0\.0\.1"):
        work(url)
    assert len(outcomes(tmp_path)) == 1
    study.set_user_attr("moet", study.user_attrs["moet"] | {"format": 99})
    with pytest.raises(StudyError, match=r"cannot read a study made by moet 0\.0\.1: it has format 99"):
        outcomes(tmp_path)
    study.set_user_attr("moet", study.user_attrs["moet"] | {"format": 1, "plan": {"sizes": 3}})
    with pytest.raises(StudyError, match=r"cannot read a study made by moet 0\.0\.1"):
        outcomes(tmp_path)


def test_a_foreign_study(tmp_path):
    study = optuna.create_study(study_name="theirs", storage=f"sqlite:///{tmp_path}/study.db")
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    with pytest.raises(StudyError, match="'theirs' that was not made by moet"):
        sweep(tmp_path, name="theirs").begin()
    with pytest.raises(StudyError, match="no finished trial"):
        outcomes(tmp_path)
    with pytest.raises(StudyError, match="no study 'ours'"):
        Queue(open_storage(storage_url(tmp_path), Timing()), "ours", Timing())
    with pytest.raises(StudyError, match="holds no study"):
        work(storage_url(tmp_path))


def test_places_that_hold_no_study(tmp_path):
    with pytest.raises(StudyError, match="there is no study in"):
        outcomes(tmp_path / "nowhere")
    (tmp_path / "text.db").write_text("this is no database at all, whatever its name may say")
    with pytest.raises(StudyError, match="file is not a database"):
        outcomes(tmp_path / "text.db")
    for place in ("mysql://host/x", "sqlite://relative", "postgresql://localhost:port/x", "folder?with=options"):
        with pytest.raises(StudyError, match=f"cannot keep a study in '{re.escape(place)}'"):
            outcomes(place)


def test_reading_writes_nothing(tmp_path):
    with sqlite3.connect(tmp_path / "mine.db") as mine:
        mine.execute("CREATE TABLE books (title TEXT)")
    before = (tmp_path / "mine.db").read_bytes()
    with pytest.raises(StudyError, match="holds no study"):
        outcomes(tmp_path / "mine.db")
    assert (tmp_path / "mine.db").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["mine.db"]


@pytest.mark.processes
def test_a_storage_that_is_down(caplog):
    with pytest.raises(StudyError, match=r"moet:\*\*\*@127\.0\.0\.1.*gave up after 1 s.*give the same command again"):
        sweep("postgresql://moet:secret@127.0.0.1:9/moet", timing=Timing(patience=1)).begin()
    assert "trying again" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize(("right", "wrong"), [("/postgres", "/nowhere"), ("moet@", "nobody@")])
@pytest.mark.processes
def test_a_server_that_refuses_is_not_asked_again(server, right, wrong, caplog):
    pytest.importorskip("psycopg")
    with pytest.raises(StudyError, match=r"refuses us: .*does not exist"):
        sweep(server.url.replace(right, wrong)).begin()
    assert "trying again" not in caplog.text


@pytest.mark.processes
def test_a_server_that_takes_calls_and_says_nothing(monkeypatch):
    monkeypatch.setattr(storage_module, "MOST_SECONDS_TO_CONNECT", 2)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        with pytest.raises(StudyError, match=r"does not answer.*gave up after 1 s"):
            sweep(f"postgresql://moet@127.0.0.1:{port}/moet", timing=Timing(patience=1)).begin()


def test_a_trial_that_somebody_else_asked_for_is_done_too(tmp_path, outcome, monkeypatch):
    mine = sweep(tmp_path)
    queue = mine.begin()
    optuna.load_study(study_name=mine.name, storage=mine.url).enqueue_trial({"experts": 2, "depth": 1})
    monkeypatch.setattr(Runner, "run", lambda self, configuration, checkpoint: outcome)
    assert work(mine.url) == queue.definition.trials + 1
    assert queue.progress().complete == queue.definition.trials


def test_no_trial_is_lost_for_a_task_that_cannot_be_played_here(tmp_path, monkeypatch):
    def unplayable(name):
        def make(render_mode=None):
            raise TaskError("it needs Box2D")

        return replace(resolve(name), make=make)

    begun = sweep(tmp_path)
    queue = begun.begin()
    monkeypatch.setattr(trial_module, "resolve", unplayable)
    for attempt in (lambda: work(begun.url), begun.run):
        with pytest.raises(TaskError, match="it needs Box2D"):
            attempt()
    assert queue.progress() == (len(grid(PLAN)), 0, 0)
    assert queue.errors() == []


def test_a_worker_says_that_it_computes_with_other_versions(tmp_path, outcome, monkeypatch, caplog):
    mine = sweep(tmp_path)
    mine.begin()
    monkeypatch.setattr(Runner, "run", lambda self, configuration, checkpoint: outcome)
    monkeypatch.setattr(queue_module, "versions", lambda: versions() | {"numpy": "1.0"})
    work(mine.url)
    assert f"other versions, trials may differ: numpy 1.0 instead of {versions()['numpy']}" in caplog.text


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"gates": {}}, "a named training"),
        ({"tree_depths": (0, 1)}, "depth 1 at least"),
        ({"tree_depths": (), "mixtures": ()}, "something to try"),
        ({"tree_depths": (2, 2)}, "everything once"),
        ({"gates": {"strange": {"momentum": 1}}}, "does not know.*momentum"),
    ],
)
def test_plans_that_make_no_sense(changes, complaint):
    plan = replace(Plan(tree_depths=(1,), mixtures=((2, 0),)), **changes)
    with pytest.raises(InputError, match=complaint):
        Sweep("cartpole", plan=plan)


def test_sweeps_that_make_no_sense(tmp_path):
    with pytest.raises(TaskError, match="cartpol"):
        Sweep("cartpol", "quick")
    with pytest.raises(InputError, match="no preset 'slow'"):
        Sweep("cartpole", "slow")
    with pytest.raises(InputError, match="needs a number of trials"):
        Sweep("cartpole", "quick", sampler="tpe")
    with pytest.raises(InputError, match="must be one of grid, nsga2, tpe"):
        Sweep("cartpole", "quick", sampler="random", trials=3)
    with pytest.raises(InputError, match="at least one worker"):
        run([sweep(tmp_path)], workers=0)


def test_patience_from_the_environment(monkeypatch):
    monkeypatch.setenv("MOET_GRACE", "7")
    assert Timing.from_environment() == Timing(grace=7)
    for nonsense in ("soon", "0"):
        monkeypatch.setenv("MOET_GRACE", nonsense)
        with pytest.raises(StudyError, match="whole seconds"):
            Timing.from_environment()
