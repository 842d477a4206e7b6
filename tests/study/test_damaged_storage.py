"""A study whose file was partly overwritten: one line that says so, wherever the damage is."""

import pytest

pytest.importorskip("optuna")

from moet.errors import StudyError
from moet.study.storage import Timing, open_storage

TRIALS = 40


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    import optuna

    path = tmp_path_factory.mktemp("study") / "study.db"
    storage = open_storage(f"sqlite:///{path}", Timing(), create=True)
    study = optuna.create_study(storage=storage, study_name="s")
    for k in range(TRIALS):
        study.add_trial(optuna.trial.create_trial(value=float(k), user_attrs={"text": "x" * 200}))
    with storage.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.read_bytes()


@pytest.mark.parametrize("first", [0.0, 0.05, 0.2, 0.4, 0.6, 0.8])
def test_overwritten_pages_are_one_line(whole, tmp_path, first):
    start = int(first * len(whole))
    damaged = whole[:start] + bytes(range(256)) * 32 + whole[start + 8192 :]
    (tmp_path / "study.db").write_bytes(damaged)
    with pytest.raises(StudyError) as caught:
        open_storage(f"sqlite:///{tmp_path}/study.db", Timing())
    assert "\n" not in str(caught.value)
    assert "damaged" in str(caught.value) or "cannot use" in str(caught.value)


def test_a_whole_file_is_opened(whole, tmp_path):
    (tmp_path / "study.db").write_bytes(whole)
    open_storage(f"sqlite:///{tmp_path}/study.db", Timing())
