"""Tuning: a policy's numbers improved by reward itself, when its teacher has nothing more to say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from moet import __version__
from moet.distill.checkpoint import TUNING, Folder, Store, check_same
from moet.distill.numbers import Numbers
from moet.distill.policy import Policy, task_of_model
from moet.distill.racing import ROUNDS, race
from moet.distill.shorten import shortened
from moet.envs.catalog import resolve
from moet.envs.rollout import Episodes, play
from moet.envs.seeds import Purpose, episode_seeds
from moet.envs.task import Floats
from moet.errors import CheckpointError, InputError
from moet.evolution import Evolution, careful_mean
from moet.model.digits import EXACT
from moet.model.file import Model, as_model, digest
from moet.progress import progress_bar

STEPS = (0.1, 0.3)
"""Of the first candidates, in standard units: what they answer differs by a tenth of what there is to say, or by more.
A good start is lost with large ones; small ones change nothing that matters of a start on a plateau."""

SEEN = 16
"""Episodes of the start, whose states say what a unit of each number is."""

BROAD = 0.5
"""Share of the episodes before hard ones come again: far from a peak candidates differ by more than by luck, and many
generations of short looks come further than few of long ones."""

CROWD = 2
"""Times the usual population of CMA-ES, which is for scores without luck: a mean over more points has less of it."""

CHECK_EVERY = 5
"""Generations after which the middle of the search plays the episodes for selection."""

FINALISTS = 8
"""So many of the best of these middles race on other episodes; the last of them meet the start there."""

FINAL_EPISODES = ROUNDS[-1]
"""Times the episodes for selection that they have played then."""


@dataclass(frozen=True)
class Settings:
    """What a tuning depends on; see :func:`tune`."""

    episodes: int
    rollouts: int
    tail: float
    selection_episodes: int
    seed: int
    digits: int | None
    workers: int

    def check(self) -> None:
        """Complain about what cannot be done, before anything is played."""
        for name in ("episodes", "rollouts", "selection_episodes", "workers"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 < self.tail <= 1:
            raise InputError(f"tail is the share of the episodes that are the worst, above 0 and up to 1: {self.tail}")
        if self.seed < 0:
            raise InputError(f"seed must not be negative, got {self.seed}")
        if self.digits is not None and not 1 <= self.digits <= EXACT:
            raise InputError(f"digits must be from 1 to {EXACT}, got {self.digits}")


class Merit(NamedTuple):
    """How a policy did on some episodes: half mean and half mean of the worst, and the mean alone."""

    careful: float
    reward: float

    def is_no_worse_than(self, other: Merit) -> bool:
        """Whether neither figure is lower."""
        return self.careful >= other.careful and self.reward >= other.reward


def tune(
    policy: Any,
    env: Any = None,
    *,
    episodes: int = 20_000,
    rollouts: int = 8,
    tail: float = 0.2,
    selection_episodes: int = 100,
    digits: int | None = None,
    seed: int = 0,
    workers: int = 1,
    checkpoint: str | Path | Store | None = None,
    verbose: int = 0,
) -> Policy:
    """Improve gate, thresholds and leaves of a policy by what it earns.

    CMA-ES moves all its numbers at once, in standard units; the structure stays. What counts is half the mean reward
    and half the mean of the worst episodes, so that rare crashes do not hide behind a good mean.

    Parameters
    ----------
    policy : Policy, Mixture, RegressionMixture, or path of a model file
        Where to start, hard or soft, with labels or with numbers.
    env : str, Task or callable, optional
        The task; by default the one that the policy was made for.
    episodes : int
        To learn from, all candidates together.
    rollouts : int
        How many of them each candidate plays in the second half of the search, the same for all of a generation: half
        of them new, the others those in which the middle of the search did worst of as many as ``selection_episodes``.
        In the first half it plays the new ones only. Fewer leave time for more generations, more tell candidates apart
        that differ little.
    tail : float
        Share of the new episodes, and of those for selection, that count as the worst.
    selection_episodes : int
        Episodes that the middle of the search plays every five generations. The best eight of these middles play as
        many others, the better four of them twice as many, and the best two four times as many, as the start does.
    digits : int, optional
        Significant digits of the numbers that come out; by default as few as cost nothing. 17 keeps all.
    seed : int
        Seed of everything random. Episodes to learn from, to select by and of :func:`~moet.distill.evaluate` never
        coincide.
    workers : int
        Processes to spread episodes over. The result does not depend on it.
    checkpoint : path or Store, optional
        Folder, or another place, to save each generation in. A run that finds what it saved goes on from there, with
        the same result as one that was never stopped.
    verbose : int
        1 shows a progress bar on stderr.

    Returns
    -------
    Policy
        Never worse than the start on the last episodes for selection, by neither figure: if nothing better was found,
        it is the start. ``provenance["tuned"]`` says what was done, and how both did there.

    References
    ----------
    - Hansen, N., A. Ostermeier. *Completely Derandomized Self-Adaptation in Evolution Strategies.* Evolutionary
      Computation 9, 2001.

    Examples
    --------
    >>> from moet import RegressionMixture, RegressionTree
    >>> from moet.distill import tune
    >>> law = RegressionTree.leaf([0.0], slope=[[0.0, 4.0]])
    >>> push = RegressionMixture([[0.0, 0.0]], [0.0], [law], ["force"], feature_names=["position", "velocity"])
    >>> better = tune(push, "MountainCarContinuous-v0", episodes=600, selection_episodes=20)
    >>> better.provenance["tuned"]["start"]["reward"] < 0 < 90 < better.provenance["tuned"]["kept"]["reward"]
    True
    """
    start = Policy.of(policy, resolve(env)) if env is not None else as_policy(policy)
    settings = Settings(episodes, rollouts, tail, selection_episodes, seed, digits, workers)
    settings.check()
    store = Folder(checkpoint) if isinstance(checkpoint, str | Path) else checkpoint
    with nullcontext() if store is None else store.locked():
        return Tuning(start, settings, store).run(verbose)


def as_policy(policy: Any) -> Policy:
    """A policy with the task it was made for."""
    if isinstance(policy, Policy):
        return policy
    model = as_model(policy)
    return Policy.of(model, task_of_model(model))


def halves(episodes: int, rollouts: int) -> tuple[int, int]:
    """Generations that play new episodes only, and generations that play as many hard ones beside them.

    Parameters
    ----------
    episodes : int
        For each place in the population, all generations together.
    rollouts : int
        Of each candidate in the second half.

    Examples
    --------
    >>> halves(128, 8)
    (16, 8)
    """
    new = new_of(rollouts)
    broad = max(1, int(BROAD * episodes) // new)
    return broad, max(0, episodes - broad * new) // rollouts


def new_of(rollouts: int) -> int:
    """How many of so many episodes are new ones where hard ones come again."""
    return (rollouts + 1) // 2


class Middle(NamedTuple):
    """Where a search was, and how far it looked around."""

    point: Floats
    spread: float


class Tuning:
    """A tuning under way. Everything follows from the start, the settings and the scores that candidates had."""

    def __init__(self, start: Policy, settings: Settings, store: Store | None) -> None:
        self.start, self.settings, self._store = start, settings, store
        self._model: Model = as_model(start.model)
        first = self._play(start, self._seeds(Purpose.TRAINING, SEEN))
        self._numbers = Numbers(self._model, start.task.view(first.observations), start.task.box)
        point = self._numbers.start
        self.population = CROWD * (4 + int(3 * np.log(len(point))))
        self._new = new_of(settings.rollouts)
        self._again = settings.rollouts - self._new
        left = settings.episodes // self.population - len(STEPS) * self._new
        self._broad, close = halves(left, settings.rollouts)
        self.generations = self._broad + close
        self.step = max(STEPS, key=self._promise)
        self._search = Evolution(point, self.step, population=self.population, seed=settings.seed)
        self._told: list[list[float]] = []
        self._middles: list[Middle] = []

    def _promise(self, step: float) -> float:
        """How well the better half of a first generation does that takes such steps."""
        search = Evolution(self._numbers.start, step, population=self.population, seed=self.settings.seed)
        scores = np.sort(self._scores(search, self._seeds(Purpose.TRAINING, self._new), []))
        return float(scores[len(scores) // 2 :].mean())

    def run(self, verbose: int) -> Policy:
        """Search, then let the best and the start meet."""
        told, checks, hard = self._saved()
        with progress_bar("tuning", self.generations, shown=verbose > 0) as advance:
            note = ""
            for number in range(self.generations):
                if number == self._broad and self._middles:
                    self._look_closer(checks)
                if self._looks_after(number + 1) > len(hard):
                    hard.append(self._hardest(hard))
                self._told.append(told[number] if number < len(told) else self._generation(number, hard))
                self._search.tell(self._told[-1])
                if self._checks_after(number + 1) > len(self._middles):
                    middle = Middle(self._search.centre, self._search.spread)
                    if len(self._middles) == len(checks):
                        checks.append(self._merit(self._numbers.model(middle.point), Purpose.SELECTION, 1))
                    self._middles.append(middle)
                    best = max(checks[: len(self._middles)])
                    note = f"reward {checks[len(self._middles) - 1].reward:.1f}, best {best.reward:.1f}"
                if number >= len(told):
                    self._save(checks, hard)
                advance(note)
        return self._finish(checks)

    def _look_closer(self, checks: Sequence[Merit]) -> None:
        """Go on from the best middle so far: new episodes alone let a search drift to where rare crashes pay."""
        best = max(range(len(self._middles)), key=lambda k: checks[k])
        seed = [self.settings.seed, self._broad]
        self._search = Evolution(*self._middles[best], population=self.population, seed=seed)

    def _hardest(self, before: Sequence[list[int]]) -> list[int]:
        """Seeds of the episodes, new ones or hard before, in which the middle of the search does worst."""
        count, begin = self.settings.selection_episodes, SEEN + self.generations * self._new
        seeds = self._seeds(Purpose.TRAINING, count, begin + len(before) * count) + (before[-1] if before else [])
        returns = self._play(self._policy(self._numbers.model(self._search.centre)), seeds).returns
        return [seeds[k] for k in np.argsort(returns, kind="stable")[: 2 * self._again]]

    def _generation(self, number: int, hard: Sequence[list[int]]) -> list[float]:
        """Scores of a generation; it meets every other one of the hard episodes, the next one meets the others."""
        seeds = self._seeds(Purpose.TRAINING, self._new, start=SEEN + number * self._new)
        return self._scores(self._search, seeds, hard[-1][number % 2 :: 2] if hard else [])

    def _scores(self, search: Evolution, seeds: list[int], hard: list[int]) -> list[float]:
        """What every candidate of a generation earns on these episodes; hard ones stand for the worst."""
        players = (self._policy(self._numbers.model(point)) for point in search.ask())
        returns = (self._play(player, seeds + hard).returns for player in players)
        if not hard:
            return [careful_mean(earned, self.settings.tail) for earned in returns]
        return [float(0.5 * earned[: len(seeds)].mean() + 0.5 * earned[len(seeds) :].mean()) for earned in returns]

    def _finish(self, checks: Sequence[Merit]) -> Policy:
        order = sorted(range(len(checks)), key=lambda k: checks[k], reverse=True)[:FINALISTS]
        begin = self._merit(self._model, Purpose.FINAL_SELECTION, FINAL_EPISODES)
        model, merit = self._model, begin
        finalists = [self._numbers.model(self._middles[k].point) for k in order]
        for middle, returns in race(finalists, self._final_returns, self._judged, self.settings.selection_episodes):
            found = self._judged(returns)
            if found.is_no_worse_than(begin) and found > merit:
                model, merit = middle, found
        if model is not self._model:
            model, merit = self._shortened(model, merit, begin)
        return Policy(model, self.start.task, dict(self.start.provenance) | {"tuned": self._record(begin, merit)})

    def _shortened(self, model: Model, merit: Merit, begin: Merit) -> tuple[Model, Merit]:
        """With few digits, if that costs less than one standard error and leaves it no worse than the start."""
        seeds = self._seeds(Purpose.FINAL_SELECTION, FINAL_EPISODES * self.settings.selection_episodes)
        episodes = self._play(self._policy(model), seeds)
        error = float(episodes.returns.std() / np.sqrt(len(seeds)))
        for short in shortened(model, self.start.task.view(episodes.observations), self.settings.digits):
            found = self._merit(short, Purpose.FINAL_SELECTION, FINAL_EPISODES)
            if self.settings.digits is not None:
                return short, found
            if found.is_no_worse_than(begin) and found.careful >= merit.careful - error:
                return short, found
        return model, merit

    def _merit(self, model: Model, purpose: Purpose, times: int) -> Merit:
        seeds = self._seeds(purpose, times * self.settings.selection_episodes)
        return self._judged(self._play(self._policy(model), seeds).returns)

    def _judged(self, returns: Floats) -> Merit:
        return Merit(careful_mean(returns, self.settings.tail), float(returns.mean()))

    def _final_returns(self, model: Model, begin: int, end: int) -> Floats:
        """What a model earns in some of the last episodes for selection."""
        return self._play(self._policy(model), self._seeds(Purpose.FINAL_SELECTION, end - begin, start=begin)).returns

    def _policy(self, model: Model) -> Policy:
        return replace(self.start, model=model)

    def _seeds(self, purpose: Purpose, count: int, start: int = 0) -> list[int]:
        return episode_seeds(self.settings.seed, purpose, count, start)

    def _play(self, player: Policy, seeds: list[int]) -> Episodes:
        return play(player.act, player.task, seeds, self.settings.workers)

    def _identity(self) -> dict[str, Any]:
        """Everything that the search depends on."""
        chosen = {name: value for name, value in asdict(self.settings).items() if name not in ("digits", "workers")}
        return chosen | {"moet": __version__, "task": self.start.task.name, "policy": digest(self._model)}

    def _record(self, begin: Merit, kept: Merit) -> dict[str, Any]:
        figures = {"start": begin._asdict(), "kept": kept._asdict()}
        found = {"generations": self.generations, "population": self.population, "step": self.step}
        return self._identity() | found | figures

    def _saved(self) -> tuple[list[list[float]], list[Merit], list[list[int]]]:
        """Scores of the generations so far, how the middles of the search did, and which episodes were hard."""
        content = None if self._store is None else self._store.read(TUNING)
        if content is None or self._store is None:
            return [], [], []
        try:
            document = json.loads(content)
            settings = document["settings"]
            told, checks = np.array(document["told"], float), [Merit(*check) for check in document["checks"]]
            hard = [[int(seed) for seed in seeds] for seeds in document["hard"]]
        except (ValueError, KeyError, TypeError) as error:
            raise CheckpointError(
                f"the checkpoint {self._store} is damaged ({error}); remove it to begin again"
            ) from None
        check_same(self._store, self._identity(), settings)
        whole = told.ndim == 2 and 0 < len(told) <= self.generations and told.shape[1] == self.population
        if (
            not whole
            or not np.isfinite(told).all()
            or len(checks) != self._checks_after(len(told))
            or len(hard) != self._looks_after(len(told))
        ):
            raise CheckpointError(f"the checkpoint {self._store} is damaged; remove it to begin again")
        return told.tolist(), checks, hard

    def _checks_after(self, generations: int) -> int:
        """How often the middle of the search has played the episodes for selection by then."""
        return generations // CHECK_EVERY + (generations == self.generations and generations % CHECK_EVERY > 0)

    def _looks_after(self, generations: int) -> int:
        """How often the middle of the search has looked for hard episodes by then."""
        return -(-max(0, generations - self._broad) // CHECK_EVERY) if self._again else 0

    def _save(self, checks: Sequence[Merit], hard: Sequence[list[int]]) -> None:
        if self._store is None:
            return
        document = {
            "settings": self._identity(), "told": self._told, "checks": [list(c) for c in checks], "hard": hard
        }  # fmt: skip
        try:
            self._store.write(TUNING, json.dumps(document).encode())
        except OSError as error:
            raise CheckpointError(
                f"cannot write the checkpoint {self._store}: {error.strerror}; make room and run the same command again"
            ) from None
