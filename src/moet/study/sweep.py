"""Sweeps: many configurations of students on a task, run by processes on this machine and any number of others."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from moet.errors import InputError, StudyError
from moet.progress import progress_bar
from moet.study.definition import Definition, Sampler
from moet.study.outcome import Outcome
from moet.study.presets import Plan, Preset
from moet.study.queue import Queue
from moet.study.read import outcomes
from moet.study.signals import stop_requests
from moet.study.storage import Timing, display, open_storage, storage_url
from moet.study.trial import Runner
from moet.teachers.teacher import Teacher

PROGRESS_SECONDS = 2.0
LOG_SECONDS = 30.0
STOP_SECONDS = 30.0
"""How long workers that are told to stop may take to give back their trials."""


class Sweep:
    """A study of one task: VIPER's trees, MoËT and MoËT_h by reward, fidelity and size.

    Parameters
    ----------
    task : str
        A name of the catalogue, or a Gymnasium id.
    preset : {"quick", "standard", "paper"}
        What is tried; see :mod:`moet.study.presets`.
    storage : str or path, optional
        Folder for a SQLite file, or the URL of a storage; ``runs/TASK-PRESET`` by default.
    name : str, optional
        Name of the study in its storage; ``TASK-PRESET`` by default.
    plan : Plan, optional
        Instead of the preset's.
    teacher : Teacher, optional
        Instead of the one that comes with the task.
    sampler : {"grid", "nsga2", "tpe"}
        The whole grid, or a search between its limits.
    trials : int, optional
        How many configurations a search tries.
    timing : Timing, optional
        How patient processes are.

    Examples
    --------
    >>> found = Sweep("cartpole", "quick").run(workers=2)  # doctest: +SKIP
    """

    def __init__(
        self,
        task: str,
        preset: Preset = "standard",
        *,
        storage: str | Path | None = None,
        name: str | None = None,
        plan: Plan | None = None,
        teacher: Teacher | None = None,
        sampler: Sampler = "grid",
        trials: int | None = None,
        timing: Timing | None = None,
    ) -> None:
        self.definition = Definition.of(task, preset, plan, sampler=sampler, trials=trials, teacher=teacher)
        self.name = name or f"{self.definition.task}-{preset}"
        self.url = storage_url(Path("runs") / self.name if storage is None else storage)
        self.timing = timing or Timing.from_environment()

    def begin(self) -> Queue:
        """Make the study, or join it if it exists; from then on workers anywhere can take part."""
        storage = open_storage(self.url, self.timing, create=True)
        return Queue.create(storage, self.name, self.definition, self.timing)

    def run(self, workers: int = 1, verbose: int = 0) -> list[Outcome]:
        """Run what is left to do on ``workers`` processes, and return all outcomes; ``verbose=1`` shows a bar."""
        return run([self], workers, verbose)

    def outcomes(self) -> list[Outcome]:
        """Outcomes of the trials that are finished."""
        return outcomes(self.url, self.name)


def run(sweeps: Sequence[Sweep], workers: int = 1, verbose: int = 0) -> list[Outcome]:
    """Run several sweeps in one storage with the same workers, so that none is idle while one is at work.

    Raises
    ------
    StudyError
        If trials failed, or the workers ended before all was done. What is finished stays finished.
    """
    if workers < 1:
        raise InputError(f"a sweep needs at least one worker, got workers={workers}")
    (url,) = {sweep.url for sweep in sweeps}
    queues = [sweep.begin() for sweep in sweeps]
    left = [queue for queue in queues if not queue.progress().settled]
    for queue in left:
        Runner(queue.definition).check()
    with stop_requests() as stop:
        crew = [_spawn(url, [queue.name for queue in left], sweeps[0].timing) for _ in range(workers if left else 0)]
        try:
            with stop.interruptible():
                _watch(queues, crew, verbose)
        finally:
            _stop(crew)
    if not all(queue.progress().settled for queue in queues):
        raise StudyError(f"the workers ended before the sweep was done; the same command goes on with {display(url)}")
    for queue in queues:
        if given_up := queue.progress().given_up:
            raise StudyError(
                f"{given_up} trial(s) of {queue.name} failed, the last with {queue.errors()[-1]}; "
                f"the others are in {display(url)}"
            )
    return [outcome for sweep in sweeps for outcome in sweep.outcomes()]


def _watch(queues: Sequence[Queue], crew: Sequence[subprocess.Popen[Any]], verbose: int) -> None:
    """Show progress until all workers have ended: a bar, or lines in a log now and then."""
    total = sum(queue.definition.trials for queue in queues)
    interactive = sys.stderr.isatty()
    with progress_bar("sweeping", total, shown=verbose > 0 and interactive) as advance:
        counts = [0] * len(queues)
        at_work = True
        while at_work:
            at_work = not _ended(crew, PROGRESS_SECONDS if interactive else LOG_SECONDS)
            now = [queue.progress().settled_slots for queue in queues]
            advanced = [queue for queue, new, old in zip(queues, now, counts, strict=True) if new > old]
            if advanced:
                note = _best(advanced[-1])
                for _ in range(sum(now) - sum(counts)):
                    advance(note)
                if verbose > 0 and not interactive:
                    print(f"moet: {sum(now)} of {total} trials; {note}", file=sys.stderr, flush=True)
                counts = now


def _ended(crew: Sequence[subprocess.Popen[Any]], seconds: float) -> bool:
    """Whether all workers end within some time."""
    end = time.monotonic() + seconds
    try:
        for worker in crew:
            worker.wait(max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


def _best(queue: Queue) -> str:
    """The best finished trial of a study, by reward and then fidelity."""
    trials = queue.finished()
    if not trials:
        return f"{queue.name}: nothing but errors"
    reward, fidelity, fewer = max(
        (reward, fidelity, -leaves) for reward, fidelity, leaves in (t.values for t in trials)
    )
    return f"{queue.name}: best {reward:.2f}, fidelity {fidelity:.3f}, {-fewer:.0f} leaves"


def _spawn(url: str, names: Sequence[str], timing: Timing) -> subprocess.Popen[Any]:
    """Start a worker in a session of its own: Ctrl-C reaches this process, which tells its workers to stop."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    patience = {f"MOET_{name.upper()}": str(value) for name, value in vars(timing).items()}
    # the URL may hold a password, which arguments would show to everybody
    environment = os.environ | threads | patience | {"MOET_STORAGE": url}
    studies = [argument for name in names for argument in ("--study", name)]
    return subprocess.Popen(
        [sys.executable, "-m", "moet", "worker", *studies],
        env=environment,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )


def _stop(crew: Sequence[subprocess.Popen[Any]]) -> None:
    """Let workers that are still there give back their trials, and end."""
    for worker in crew:
        if worker.poll() is None:
            worker.terminate()
    if not _ended(crew, STOP_SECONDS):
        for worker in crew:
            worker.kill()
