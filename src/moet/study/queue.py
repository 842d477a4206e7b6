"""The trials of a study, shared by any number of processes: each is done exactly once.

A study of n trials has n slots. A slot is taken by a trial that waits, runs or is complete; the trial of a worker that
died, and one that was given back, fails, and its slot is free again. Trials are taken under a lock, so a grid ends with
one complete trial per configuration however many workers came and went.
"""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from moet.errors import StudyError
from moet.study.configuration import Configuration, grid, suggested
from moet.study.definition import Definition, check_same, versions
from moet.study.outcome import Outcome
from moet.study.record import attributes
from moet.study.storage import Timing, exclusive, persistently, require_optuna
from moet.study.unfinished import Unfinished, forget, make_table

if TYPE_CHECKING:
    import optuna
    from optuna.storages import RDBStorage

DEFINITION = "moet"
"""Attribute of a study that holds its definition."""

VERSIONS = "versions"
"""Attribute of a study that holds the versions of what it was begun with."""

MOST_ERRORS = 2
"""A slot whose trials raised so many errors is given up: a distillation is repeatable, and so are its errors."""

OBJECTIVES = {"reward": "maximize", "fidelity": "maximize", "leaves": "minimize"}


class Progress(NamedTuple):
    """How far a study is."""

    total: int
    complete: int
    given_up: int

    @property
    def settled_slots(self) -> int:
        """How many trials are done with."""
        return self.complete + self.given_up

    @property
    def settled(self) -> bool:
        """Whether nothing is left to do."""
        return self.settled_slots >= self.total


class Claim(NamedTuple):
    """A trial that a worker has taken, and what it is to run."""

    trial: optuna.Trial
    configuration: Configuration


class Queue:
    """One study's trials."""

    def __init__(self, storage: RDBStorage, name: str, timing: Timing) -> None:
        optuna = require_optuna()
        self.storage, self.name, self.timing = storage, name, timing
        self._url = str(storage.url)
        try:
            self._study = self._try(lambda: optuna.load_study(study_name=name, storage=storage))
        except KeyError:
            raise StudyError(f"there is no study {name!r} in the storage; `moet sweep` begins one") from None
        document = self._study.user_attrs.get(DEFINITION)
        if document is None:
            raise StudyError(f"the study {name!r} was not made by moet")
        self.document: dict[str, Any] = document
        self.definition = Definition.from_document(document)
        self._study.sampler = _sampler(optuna, self.definition)
        self._grid = grid(self.definition.plan) if self.definition.sampler == "grid" else None

    @classmethod
    def create(cls, storage: RDBStorage, name: str, definition: Definition, timing: Timing) -> Queue:
        """Begin a study, or join the one that is there if it is the same."""
        optuna = require_optuna()
        wanted = definition.document()

        def begin() -> None:
            with exclusive(str(storage.url), timing, name), _quiet():
                study = optuna.create_study(
                    study_name=name, storage=storage, directions=list(OBJECTIVES.values()), load_if_exists=True
                )
                if DEFINITION not in study.user_attrs:
                    if study.get_trials(deepcopy=False):
                        raise StudyError(f"there is another study {name!r} that was not made by moet")
                    study.set_metric_names(list(OBJECTIVES))
                    study.set_user_attr(VERSIONS, versions())
                    study.set_user_attr(DEFINITION, wanted)

        make_table(storage, timing)
        persistently(begin, str(storage.url), timing)
        queue = cls(storage, name, timing)
        queue.check_same(wanted)
        return queue

    def check_same(self, wanted: dict[str, Any] | None = None) -> None:
        """Complain unless the study was defined by this version, and as ``wanted`` says."""
        check_same(self.document, wanted or self.definition.document(), self.name)

    def other_versions(self) -> list[str]:
        """Packages that the study was begun with another version of, in words."""
        begun = self._study.user_attrs.get(VERSIONS, {})
        return [
            f"{name} {now} instead of {begun[name]}" for name, now in versions().items() if begun.get(name, now) != now
        ]

    def claim(self) -> Claim | None:
        """Take the next trial; None if every slot is taken, or given up."""
        from optuna.storages import fail_stale_trials
        from optuna.trial import TrialState

        def take() -> Claim | None:
            with exclusive(self._url, self.timing, self.name), _quiet():
                fail_stale_trials(self._study)
                waiting = self._study.get_trials(deepcopy=False, states=(TrialState.WAITING,))
                if not waiting:
                    slot = self._free_slot()
                    if slot is None:
                        return None
                    chosen = {"seed": slot} if self._grid is None else self._grid[slot].parameters
                    self._study.enqueue_trial(chosen, user_attrs={"slot": slot})
                    waiting = self._study.get_trials(deepcopy=False, states=(TrialState.WAITING,))
                # before it runs: a running trial without a heartbeat would never be missed
                self.storage.record_heartbeat(waiting[0]._trial_id)
                trial = self._study.ask()
                return Claim(trial, suggested(trial, self.definition.plan))

        return self._try(take)

    def unfinished(self, claim: Claim) -> Unfinished | None:
        """Where a trial keeps its iterations for whoever goes on with it; a search repeats no trial as it was."""
        slot = claim.trial.user_attrs.get("slot")  # somebody's own trial has none
        if self._grid is None or slot is None:
            return None
        return Unfinished(self.storage, self.timing, self.name, slot)

    def tidy(self) -> None:
        """Remove what workers that were killed after their last iteration left, once nothing is left to do."""
        forget(self.storage, self.timing, self.name)

    def finish(self, claim: Claim, outcome: Outcome) -> bool:
        """Store an outcome; False if the trial was meanwhile taken for dead and given to another worker."""
        values = [outcome.before.reward, outcome.before.fidelity, float(outcome.leaves)]
        finished = self._end(claim, attributes(outcome), values)
        if finished and (slot := claim.trial.user_attrs.get("slot")) is not None:
            forget(self.storage, self.timing, self.name, slot)
        return finished

    def fail(self, claim: Claim, error: Exception) -> None:
        """Say that a trial raised an error."""
        self._end(claim, {"error": f"{type(error).__name__}: {error}"})

    def give_back(self, claim: Claim) -> None:
        """Let another worker do it."""
        self._end(claim, {"given_back": True})

    def progress(self) -> Progress:
        """Count the slots."""
        complete, errors, _ = self._try(self._slots)
        given_up = sum(count >= MOST_ERRORS for slot, count in errors.items() if slot not in complete)
        return Progress(self.definition.trials, len(complete), given_up)

    def finished(self) -> list[optuna.trial.FrozenTrial]:
        """Complete trials, in the order of their slots."""
        from optuna.trial import TrialState

        trials = self._try(lambda: self._study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))
        return sorted(trials, key=lambda trial: (trial.user_attrs.get("slot", self.definition.trials), trial.number))

    def errors(self) -> list[str]:
        """What went wrong in trials that raised an error."""
        trials = self._try(lambda: self._study.get_trials(deepcopy=False))
        return [trial.user_attrs["error"] for trial in trials if "error" in trial.user_attrs]

    @contextmanager
    def heartbeats(self, claim: Claim) -> Iterator[None]:
        """Tell the others that the trial is being worked on."""
        from optuna.exceptions import StorageInternalError
        from sqlalchemy.exc import SQLAlchemyError

        over = threading.Event()

        def beat() -> None:
            while not over.wait(self.timing.heartbeat):
                try:
                    self.storage.record_heartbeat(claim.trial._trial_id)
                except (StorageInternalError, SQLAlchemyError):
                    continue  # whoever needs the storage next will say that it is away

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _end(self, claim: Claim, stored: dict[str, Any], values: list[float] | None = None) -> bool:
        from optuna.trial import TrialState

        state = TrialState.COMPLETE if values is not None else TrialState.FAIL

        def end() -> bool:
            with exclusive(self._url, self.timing, self.name):
                found = self.storage.get_trial(claim.trial._trial_id).state
                if found == TrialState.RUNNING:
                    for name, value in stored.items():
                        claim.trial.set_user_attr(name, value)
                    self._study.tell(claim.trial, values, state)
                    return True
                return bool(found == state)  # done by the attempt before, whose answer was lost

        return self._try(end)

    def _slots(self) -> tuple[set[int], Counter[int], set[int]]:
        """Slots that are complete, errors by slot, and slots that wait or run."""
        from optuna.trial import TrialState

        complete, errors, busy = set(), Counter[int](), set()
        for trial in self._study.get_trials(deepcopy=False):
            slot = trial.user_attrs.get("slot")
            if slot is None:  # somebody's own trial, from Optuna's dashboard for example
                continue
            if trial.state == TrialState.COMPLETE:
                complete.add(slot)
            elif trial.state != TrialState.FAIL:
                busy.add(slot)
            elif "error" in trial.user_attrs:
                errors[slot] += 1
        return complete, errors, busy

    def _free_slot(self) -> int | None:
        complete, errors, busy = self._slots()
        free = (slot for slot in range(self.definition.trials) if slot not in complete and slot not in busy)
        return next((slot for slot in free if errors[slot] < MOST_ERRORS), None)

    def _try(self, action: Any) -> Any:
        return persistently(action, self._url, self.timing)


def study_names(storage: RDBStorage, timing: Timing) -> list[str]:
    """Studies of moet in a storage, in the order in which they were begun."""
    found = persistently(storage.get_all_studies, str(storage.url), timing)
    return [study.study_name for study in found if DEFINITION in study.user_attrs]


def _sampler(optuna: Any, definition: Definition) -> optuna.samplers.BaseSampler:
    match definition.sampler:
        case "nsga2":
            return optuna.samplers.NSGAIISampler(population_size=min(50, max(4, definition.trials // 5)))
        case "tpe":
            return optuna.samplers.TPESampler(n_startup_trials=min(10, max(1, definition.trials // 4)))
    return optuna.samplers.RandomSampler()  # never asked: the queue chooses all parameters


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings that heartbeats and metric names are experimental, and meant for another loop than ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
