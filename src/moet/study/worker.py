"""A worker: takes trials of a storage's studies until nothing is left to do."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from moet.errors import StudyError
from moet.study.queue import Claim, Queue, study_names
from moet.study.signals import Stop, stop_requests
from moet.study.storage import Timing, open_storage
from moet.study.trial import Runner
from moet.study.unfinished import make_table

IDLE_SECONDS = 1.0
"""Pause of a worker that has nothing to do but to see that the others live."""

log = logging.getLogger(__name__)


def work(url: str, names: Sequence[str] = (), timing: Timing | None = None) -> int:
    """Take trials until all are done, one at a time on one core.

    A worker stays as long as others work, to take over from those that die.

    Parameters
    ----------
    url : str
        The storage.
    names : sequence of str
        Studies to work on; all of the storage by default.
    timing : Timing, optional

    Returns
    -------
    int
        How many trials this worker finished.
    """
    timing = timing or Timing.from_environment()
    storage = open_storage(url, timing)
    queues = [Queue(storage, name, timing) for name in names or study_names(storage, timing)]
    if not queues:
        raise StudyError("the storage holds no study; `moet sweep` begins one")
    for queue in queues:
        queue.check_same()
        if others := queue.other_versions():
            log.warning("%s was begun with other versions, trials may differ: %s", queue.name, ", ".join(others))
    make_table(storage, timing)  # a study of an older moet has none
    _use_one_core()
    runners = {queue.name: Runner(queue.definition) for queue in queues}
    for queue in queues:
        if not queue.progress().settled:
            runners[queue.name].check()
    finished = 0
    with stop_requests() as stop:
        while queues:
            for queue in sorted(queues, key=_share_done):
                claim = queue.claim()
                if claim is not None:
                    finished += _do(queue, claim, runners[queue.name], stop)
                    break
                if queue.progress().settled:
                    queue.tidy()
                    queues.remove(queue)
            else:
                with stop.interruptible():
                    time.sleep(IDLE_SECONDS if queues else 0)
    return finished


def _share_done(queue: Queue) -> float:
    """Studies advance together, so that a sweep of all tasks that is stopped early has seen all of them."""
    progress = queue.progress()
    return progress.settled_slots / progress.total


def _do(queue: Queue, claim: Claim, runner: Runner, stop: Stop) -> bool:
    """Run a trial; its failure is the trial's, not the worker's."""
    try:
        with queue.heartbeats(claim):
            with stop.interruptible():
                outcome = runner.run(claim.configuration, queue.unfinished(claim))
            if queue.finish(claim, outcome):
                return True
    except KeyboardInterrupt:
        queue.give_back(claim)
        raise
    except StudyError:
        raise
    except Exception as error:
        log.warning("trial %d of %s failed: %s: %s", claim.trial.number, queue.name, type(error).__name__, error)
        queue.fail(claim, error)
        return False
    log.warning("trial %d of %s was silent for too long and went to another worker", claim.trial.number, queue.name)
    return False


def _use_one_core() -> None:
    import numba
    from threadpoolctl import threadpool_limits

    numba.set_num_threads(1)
    threadpool_limits(1)
