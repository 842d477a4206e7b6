"""Recorded episodes, and students of them."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from moet import MoETClassifier, MoETRegressor, load, save
from moet.distill.recorded import imitate
from moet.envs import resolve
from moet.envs.rollout import play
from moet.errors import InputError, TaskError
from moet.teachers.recorded import read_recording

TASK = resolve("cartpole")


def lean(rows):
    return (rows[:, 2] + 0.3 * rows[:, 3] > 0).astype(np.int64)


@pytest.fixture(scope="module")
def episodes():
    return play(lean, TASK, range(12))


@pytest.fixture
def several(episodes, tmp_path):
    """One file of all episodes, which says how long they are."""
    file = tmp_path / "episodes.npz"
    np.savez(file, observations=episodes.observations, actions=episodes.actions, lengths=episodes.lengths)
    return file


def assert_is(recording, episodes):
    assert np.array_equal(recording.observations, episodes.observations)
    assert np.array_equal(recording.actions, episodes.actions)
    assert np.array_equal(recording.episode, episodes.number)


def parts(episodes):
    ends = np.cumsum(episodes.lengths)[:-1]
    return list(zip(np.split(episodes.observations, ends), np.split(episodes.actions, ends), strict=True))


def test_a_file_of_several_episodes(several, episodes, tmp_path):
    assert_is(read_recording(several), episodes)
    assert read_recording(several).names == ("x0", "x1", "x2", "x3")
    ends = np.zeros(len(episodes.actions), bool)
    ends[np.cumsum(episodes.lengths) - 1] = True
    arrays = {"obs": episodes.observations, "acts": episodes.actions}
    for said in ({"episode": episodes.number}, {"terminations": ends}, {"dones": ends.astype(np.float32)}):
        np.savez(tmp_path / "other.npz", **arrays, **said)
        assert_is(read_recording(tmp_path / "other.npz"), episodes)


def test_episodes_that_were_recorded_side_by_side_are_whole(episodes, tmp_path):
    """As several environments at once are: a step of each, then the next of each."""
    step = np.concatenate([np.arange(length) for length in episodes.lengths])
    order = np.lexsort((episodes.number, step))
    arrays = {"observations": episodes.observations, "actions": episodes.actions, "episode": episodes.number}
    np.savez(tmp_path / "mixed.npz", **{name: array[order] for name, array in arrays.items()})
    assert_is(read_recording(tmp_path / "mixed.npz"), episodes)


def test_a_folder_of_one_file_per_episode(episodes, tmp_path):
    for number, (seen, done) in enumerate(parts(episodes)):
        last = np.vstack([seen, seen[-1:]])  # the observation after the last action
        np.savez(tmp_path / f"episode_{number:03}.npz", observations=last, actions=done)
    assert_is(read_recording(tmp_path), episodes)


def test_a_folder_of_minari(episodes, tmp_path):
    h5py = pytest.importorskip("h5py")
    (tmp_path / "data").mkdir()
    with h5py.File(tmp_path / "data" / "main_data.hdf5", "w") as file:
        for number, (seen, done) in enumerate(parts(episodes)):
            group = file.create_group(f"episode_{number}")
            group["observations"] = np.vstack([seen, seen[-1:]])
            group["actions"] = done
            group["terminations"] = np.r_[np.zeros(len(done) - 1, bool), True]
    assert_is(read_recording(tmp_path), episodes)


def test_dictionaries_of_minari_stand_side_by_side(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "main_data.hdf5", "w") as file:
        for number in range(2):
            group = file.create_group(f"episode_{number}")
            group["observations/speed"] = np.arange(3.0)
            group["observations/place"] = np.arange(6.0).reshape(3, 2)
            group["actions"] = np.array([0, 1])
    recording = read_recording(tmp_path)
    assert recording.names == ("place_0", "place_1", "speed")
    assert recording.observations[1].tolist() == [2.0, 3.0, 1.0]


def write_arrow(folder, name, columns):
    """One episode as Minari's arrow and parquet storages lay it out."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import ipc, parquet

    arrays = {}
    for key, values in columns.items():
        flat = np.asarray(values)
        wide = flat.ndim == 2
        listed = pa.list_(pa.from_numpy_dtype(flat.dtype), flat.shape[1]) if wide else None
        arrays[key] = pa.FixedSizeListArray.from_arrays(flat.reshape(-1), type=listed) if wide else pa.array(flat)
    nested = {key: value for key, value in arrays.items() if "/" in key}
    table = {key: value for key, value in arrays.items() if "/" not in key}
    if nested:
        names = [key.partition("/")[2] for key in nested]
        table["observations"] = pa.StructArray.from_arrays(list(nested.values()), names=names)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    if name.endswith(".parquet"):
        parquet.write_table(pa.table(table), folder / name)
    else:
        with ipc.new_file(folder / name, pa.table(table).schema) as file:
            file.write_table(pa.table(table))


@pytest.mark.parametrize("suffix", ["arrow", "parquet"])
def test_a_folder_of_minari_with_a_folder_per_episode(episodes, tmp_path, suffix):
    for number, (seen, done) in enumerate(parts(episodes)):
        columns = {"observations": np.vstack([seen, seen[-1:]]), "actions": np.r_[done, 0]}
        write_arrow(tmp_path, f"data/{number}/part-0.{suffix}", columns | {"rewards": np.ones(len(done) + 1)})
        (tmp_path / "data" / str(number) / "metadata.json").write_text("{}")
    assert_is(read_recording(tmp_path), episodes)


def test_parts_of_an_arrow_file_stand_side_by_side(tmp_path):
    observations = {"observations/speed": np.arange(3.0), "observations/place": np.arange(6.0).reshape(3, 2)}
    write_arrow(tmp_path, "0/part-0.arrow", observations | {"actions": np.array([0, 1, 0])})
    recording = read_recording(tmp_path)
    assert recording.names == ("place_0", "place_1", "speed")
    assert recording.actions.tolist() == [0, 1]


def test_arrow_files_that_are_none_are_refused(tmp_path, monkeypatch):
    file = tmp_path / "0" / "part-0.arrow"
    file.parent.mkdir()
    file.write_text("no recording")
    pyarrow = pytest.importorskip("pyarrow")
    with pytest.raises(InputError, match="no file of Minari, or damaged"):
        read_recording(tmp_path)
    write_arrow(tmp_path, "0/part-0.arrow", {"actions": np.array([0, 1])})
    with pytest.raises(InputError, match="it has no column observations, it has actions"):
        read_recording(tmp_path)
    monkeypatch.setattr(pyarrow, "__version__", "14.0.0")
    with pytest.raises(InputError, match=r"pyarrow 14\.0\.0 executes code from files: pip install -U pyarrow"):
        read_recording(tmp_path)


def test_without_pyarrow_its_files_are_refused_with_the_next_step(tmp_path, monkeypatch):
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / "part-0.parquet").write_text("")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match="needs the package pyarrow: pip install pyarrow"):
        read_recording(tmp_path)


def test_links_to_elsewhere_are_not_followed(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "secret.hdf5", "w") as file:
        file["observations"] = np.zeros((2, 3))
    with h5py.File(tmp_path / "main_data.hdf5", "w") as file:
        group = file.create_group("episode_0")
        group["observations"] = h5py.ExternalLink("secret.hdf5", "/observations")
        group["actions"] = np.array([0, 1])
    with pytest.raises(InputError, match="observations is a link to elsewhere"):
        read_recording(tmp_path)


def test_arrays_that_claim_too_much_are_refused(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "main_data.hdf5", "w") as file:
        group = file.create_group("episode_0")
        group.create_dataset("observations", (2**40, 2), "f4", chunks=(1024, 2))  # takes no space until it is written
        group["actions"] = np.array([0, 1])
    with pytest.raises(InputError, match="observations has 8796093022208 bytes, more than"):
        read_recording(tmp_path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"actions": None}, "it needs the arrays observations and actions, it has observations"),
        ({"actions": np.zeros(5, int)}, "it has 3 observations and 5 actions"),
        (
            {"actions": np.zeros((3, 2), int)},
            r"its actions are int64 of shape \(3, 2\); a policy answers with one of a",
        ),
        ({"actions": np.array(["up"] * 3)}, "its actions are <U2"),
        ({"actions": np.array(0.5)}, "its actions are float64"),
        ({"actions": np.zeros((3, 0))}, r"its actions are float64 of shape \(3, 0\)"),
        ({"actions": np.array([0.5, np.nan, 2])}, "its actions hold NaN or infinity"),
        ({"actions": np.array([-1, 1, 2])}, "its actions lie between -1 and 2; they are counted from 0"),
        ({"actions": np.array([0, 1, 10**9])}, "its actions lie between 0 and 1000000000"),
        ({"observations": np.full((3, 2), np.nan)}, "its observations hold NaN or infinity"),
        ({"observations": np.zeros((3, 0))}, r"its observations are float64 of shape \(3, 0\)"),
        ({"observations": np.zeros(3)}, r"its observations are float64 of shape \(3,\)"),
        ({"observations": np.array([["a"]] * 3)}, "not a row of numbers per step"),
        ({"lengths": np.array([1, 1])}, "lengths must be whole numbers that add up to the 3 actions"),
        ({"episode": np.array([0, 1])}, r"episode has shape \(2,\) for 3 actions"),
        ({"dones": np.array([True, False])}, r"dones is bool of shape \(2,\) for 3 actions"),
        ({"terminations": np.array(["no"] * 3)}, r"terminations is <U2 of shape \(3,\) for 3 actions"),
        ({"observations": np.zeros((0, 2)), "actions": np.zeros(0, int)}, "no episodes are in it"),
    ],
)
def test_recordings_that_contradict_themselves_are_refused(tmp_path, arrays, message):
    whole = {"observations": np.zeros((3, 2)), "actions": np.zeros(3, int)} | arrays
    np.savez(tmp_path / "bad.npz", **{name: array for name, array in whole.items() if array is not None})
    with pytest.raises(InputError, match=rf"cannot read .*bad\.npz: .*{message}"):
        read_recording(tmp_path / "bad.npz")


def test_what_is_no_recording_is_refused(tmp_path, monkeypatch):
    for missing in ("missing.npz", "missing.hdf5", "missing"):
        with pytest.raises(InputError, match=rf"cannot read .*{missing}: No such file or directory$"):
            read_recording(tmp_path / missing)
    with pytest.raises(InputError, match=r"neither main_data\.hdf5 nor a folder per episode, .*, nor \.npz files"):
        read_recording(tmp_path)
    np.savez(tmp_path / "objects.npz", observations=np.array([None, {}]), actions=np.zeros(2, int))
    with pytest.raises(InputError, match=r"no \.npz file of plain arrays"):
        read_recording(tmp_path / "objects.npz")
    (tmp_path / "bad.hdf5").write_text("no recording")
    with pytest.raises(InputError, match="no file of Minari, or damaged"):
        read_recording(tmp_path / "bad.hdf5")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(InputError, match="needs the package h5py: pip install h5py"):
        read_recording(tmp_path / "bad.hdf5")


def test_a_student_of_recordings_is_judged_on_episodes_it_never_saw(several, tmp_path):
    recording = read_recording(several)
    student = MoETClassifier(n_experts=2, max_depth=0, prediction="hard")
    found = imitate(recording, student, seed=1)
    assert found.fidelity > 0.97
    assert found.fidelity_interval[0] <= found.fidelity_interval[1] <= 1.0
    assert (found.episodes, found.held_out, found.rows) == (10, 2, len(recording.actions))
    save(found.policy, tmp_path / "p.moet.json")
    model = load(tmp_path / "p.moet.json")
    assert model.classes.tolist() == [0, 1]
    assert model.provenance["recorded_episodes"] == 12
    with pytest.raises(TaskError, match="recorded episodes cannot be played; name the environment"):
        found.policy.task.make()


def test_held_out_episodes_take_no_part_in_training(several):
    recording = read_recording(several)

    class Memory(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append(X)
            return super().fit(X, y)

    seen = []
    found = imitate(recording, Memory(), seed=1)
    assert len(seen[0]) < found.rows
    assert found.fidelity_training == 1.0


def test_names_come_from_the_task_if_it_is_known(several):
    policy = imitate(read_recording(several), DecisionTreeClassifier(max_depth=3), task=TASK).policy
    assert policy.mixture.feature_names == TASK.feature_names
    assert policy.mixture.classes.tolist() == ["left", "right"]
    assert policy.mixture.provenance["task"] == "cartpole"
    with pytest.raises(InputError, match=r"has observations of 4 numbers, mountaincar has .* of 2 numbers"):
        imitate(read_recording(several), DecisionTreeClassifier(), task=resolve("mountaincar"))


def test_one_episode_is_not_enough(tmp_path):
    np.savez(tmp_path / "one.npz", observations=np.zeros((3, 2)), actions=np.array([0, 1, 0]))
    with pytest.raises(InputError, match="record at least two"):
        imitate(read_recording(tmp_path / "one.npz"), DecisionTreeClassifier())


def push(rows):
    return np.clip(-2 * rows[:, :1] - 3 * rows[:, 1:2], -2, 2)


@pytest.fixture
def pushes(tmp_path):
    """Episodes of Pendulum, pushed by one law."""
    played = play(push, resolve("Pendulum-v1"), range(8))
    file = tmp_path / "pushes.npz"
    np.savez(file, observations=played.observations, actions=played.actions.astype(np.float32), lengths=played.lengths)
    return file


def test_actions_that_are_numbers_are_learned_by_a_regressor(pushes, tmp_path):
    recording = read_recording(pushes)
    assert recording.continuous
    assert recording.task().box.in_words() == "1 number between [-2] and [2]"
    found = imitate(recording, MoETRegressor(n_experts=1, max_depth=0))
    assert found.r2 > 0.999
    assert found.fidelity > 0.99
    assert found.action_error < 0.01
    save(found.policy, tmp_path / "p.moet.json")
    assert load(tmp_path / "p.moet.json").outputs == ("u0",)
    named = imitate(recording, MoETRegressor(n_experts=1, max_depth=0), task=resolve("Pendulum-v1"))
    assert named.policy.task.name == named.policy.mixture.provenance["task"]


def test_a_recorded_number_that_never_changes_has_bounds_all_the_same(tmp_path):
    actions = np.column_stack([np.linspace(-1, 1, 40), np.full(40, 0.5)])
    np.savez(tmp_path / "same.npz", observations=actions, actions=actions, lengths=[20, 20])
    recording = read_recording(tmp_path / "same.npz")
    found = imitate(recording, MoETRegressor(n_experts=1, max_depth=0))
    assert found.policy.predict(actions)[:, 1].tolist() == [0.5] * 40
    assert found.fidelity == 1.0


def test_labels_and_numbers_are_told_apart_before_training(several, pushes, tmp_path):
    labels, numbers = read_recording(several), read_recording(pushes)
    with pytest.raises(InputError, match=r"numbered actions, Pendulum-v1 takes 1 number between"):
        imitate(replace(labels, observations=labels.observations[:, :3]), MoETRegressor(), task=resolve("Pendulum-v1"))
    four = np.pad(numbers.observations, ((0, 0), (0, 1)))
    with pytest.raises(InputError, match=r"rows of 1 floats, cartpole takes one of 2 actions; .*astype\(int\)"):
        imitate(replace(numbers, observations=four), MoETClassifier(), task=TASK)
    with pytest.raises(InputError, match=r"take a moet.MoETRegressor"):
        imitate(numbers, MoETClassifier())
    for k, actions in enumerate((np.zeros(3, int), np.zeros((3, 2)))):
        np.savez(tmp_path / f"mixed_{k}.npz", observations=np.zeros((3, 2)), actions=actions)
    several.unlink(), pushes.unlink()
    with pytest.raises(InputError, match="actions are of different kinds: action numbers, rows of 2"):
        read_recording(tmp_path)
