import errno
import json

import numpy as np
import pytest

from moet import files
from moet.distill.checkpoint import Checkpoint, Folder, remove_checkpoint
from moet.distill.dataset import Labelled
from moet.errors import CheckpointError

SETTINGS = {"task": "cartpole", "seed": 3}


def part(value):
    return Labelled(np.full((2, 3), value), np.array([0, 1]), np.ones(2), np.array([0, 0]))


@pytest.fixture
def saved(tmp_path):
    checkpoint = Checkpoint(Folder(tmp_path / "run"), SETTINGS)
    with checkpoint.store.locked():
        checkpoint.append(part(1.0), [{"loss": 0.5}])
        checkpoint.append(part(2.0), [{"loss": 0.5}, {"loss": 0.25}])
    return checkpoint


def test_what_was_saved_is_loaded(saved):
    (first, record), (second, last) = Checkpoint(saved.store, SETTINGS).load()
    assert (record, last) == ({"loss": 0.5}, {"loss": 0.25})
    assert np.array_equal(first.features, part(1.0).features)
    assert np.array_equal(second.features, part(2.0).features)
    assert second.actions.dtype == np.int64


def test_a_new_folder_is_empty(tmp_path):
    assert Checkpoint(Folder(tmp_path / "none"), SETTINGS).load() == []


def test_another_runs_folder_is_refused(saved):
    with pytest.raises(CheckpointError, match="belongs to another run: its seed is 3, not 4"):
        Checkpoint(saved.store, SETTINGS | {"seed": 4}).load()


@pytest.mark.parametrize("damage", ["", "{", '{"records": [1, 2, 3], "settings": {}}', "[]"])
def test_a_damaged_folder_is_refused(saved, damage):
    (saved.store.path / "run.json").write_text(damage)
    with pytest.raises(CheckpointError, match="is damaged"):
        saved.load()


def test_truncated_data_is_refused(saved):
    (saved.store.path / "data-0001.npz").write_bytes(b"PK")
    with pytest.raises(CheckpointError, match="is damaged"):
        saved.load()


def test_missing_data_is_refused(saved):
    (saved.store.path / "data-0000.npz").unlink()
    with pytest.raises(CheckpointError, match=r"is damaged \(data-0000.npz is missing\)"):
        saved.load()


def test_two_processes_cannot_share_a_folder(saved):
    other = Folder(saved.store.path)
    with saved.store.locked(), pytest.raises(CheckpointError, match="another process"), other.locked():
        pass


def test_a_full_disk_loses_nothing(saved, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(CheckpointError, match="No space left on device; 2 iterations are safe there"):
        saved.append(part(3.0), [{"loss": 0.5}, {"loss": 0.25}, {"loss": 0.1}])
    assert len(saved.load()) == 2
    assert not [file for file in saved.store.path.iterdir() if file.name.startswith(".")]


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="cannot use"), Folder(tmp_path / "file" / "run").locked():
        pass


def test_removal_leaves_the_users_files(saved):
    (saved.store.path / "notes.txt").write_text("mine")
    remove_checkpoint(saved.store.path)
    assert [file.name for file in saved.store.path.iterdir()] == ["notes.txt"]


def test_removal_of_the_whole_folder(saved):
    assert json.loads((saved.store.path / "run.json").read_text())["settings"] == SETTINGS
    remove_checkpoint(saved.store.path)
    assert not saved.store.path.exists()
