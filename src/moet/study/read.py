"""Finished trials as outcomes, from any host that reaches the storage."""

from __future__ import annotations

from pathlib import Path

from moet.errors import StudyError
from moet.study.outcome import Outcome
from moet.study.queue import Queue, study_names
from moet.study.record import outcome_of
from moet.study.storage import Timing, display, open_storage, storage_url


def outcomes(source: str | Path, study: str | None = None) -> list[Outcome]:
    """Outcomes of all finished trials.

    Parameters
    ----------
    source : str or path
        Folder of a sweep, its database file, or the URL of a storage.
    study : str, optional
        Read this study only; by default all that the storage holds, one after the other.

    Raises
    ------
    StudyError
        If there is no such study, or none of its trials is finished.

    Examples
    --------
    >>> from moet.study import outcomes
    >>> found = outcomes("runs/cartpole-quick")  # doctest: +SKIP
    """
    timing = Timing.from_environment()
    url = storage_url(source)
    storage = open_storage(url, timing)
    names = study_names(storage, timing) if study is None else [study]
    found = [
        outcome_of(trial.user_attrs, f"trial {trial.number} of the study {name}")
        for name in names
        for trial in Queue(storage, name, timing).finished()
        if "outcome" in trial.user_attrs
    ]
    if not found:
        raise StudyError(f"{display(url)} holds no finished trial; `moet sweep` begins a sweep or goes on with it")
    return found
