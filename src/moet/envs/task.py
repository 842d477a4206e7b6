"""What a task is, and how many episodes of it are played at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from moet.envs.box import ActionBox
from moet.envs.columns import Seen

if TYPE_CHECKING:
    import gymnasium

Floats = NDArray[np.float64]
FeatureFunction = Callable[[Floats], Floats]
"""Maps observations of a task, one per row, to the features that a student sees."""


class Step(NamedTuple):
    """What happened to each running episode, one row per episode.

    Examples
    --------
    >>> import numpy as np
    >>> from moet.envs import resolve
    >>> episodes = resolve("CartPole-v1").batch()
    >>> episodes.reset([0, 1]).shape
    (2, 4)
    >>> step = episodes.step(np.array([0, 1]))
    >>> step.rewards.tolist(), step.terminated.tolist()
    ([1.0, 1.0], [False, False])
    """

    observations: Floats
    rewards: Floats
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]


class Rounds(NamedTuple):
    """How much of a task a distillation plays unless told otherwise.

    Attributes
    ----------
    iterations, rollouts : int
        How many students are fitted, and how many episodes are played before each.
    selection_episodes : int
        How many each student is judged on.
    """

    iterations: int = 40
    rollouts: int = 10
    selection_episodes: int = 50


LONG_EPISODE = 5_000
"""Steps: with a time limit beyond, one episode shows as many states as dozens of short ones, and takes as long."""

RICH_EPISODE = 20_000
"""Steps times numbers that are seen times numbers of an action: beyond, one episode of a robot has plenty to learn."""


class Batch(Protocol):
    """Episodes that are played side by side.

    Nothing is ever reset on its own: a finished episode is dropped with :meth:`keep`, so no reset step can slip into
    the data. Episode ``i`` is the one that Gymnasium's ``reset(seed=seeds[i])`` begins, whoever plays it.

    Examples
    --------
    >>> import numpy as np
    >>> from moet.envs import resolve
    >>> episodes = resolve("CartPole-v1").batch()
    >>> episodes.reset([0, 1]).shape
    (2, 4)
    >>> step = episodes.step(np.array([0, 1]))
    >>> episodes.keep(np.array([False, True]))
    >>> episodes.step(np.array([1])).rewards.tolist()
    [1.0]
    """

    def reset(self, seeds: Sequence[int]) -> Floats:
        """Begin one episode per seed and return their first observations, float64 holding the environment's values.

        There is at least one seed.
        """
        ...

    def step(self, actions: NDArray[Any]) -> Step:
        """Take one action in each running episode: its number, or a row of numbers."""
        ...

    def restart(self, finished: NDArray[np.bool_], seeds: Sequence[int]) -> Floats:
        """Begin a new episode, one per seed, in place of each one where ``finished`` is true; return their first rows.

        For learners that play for ever in a fixed number of places; the other episodes are not touched.
        """
        ...

    def keep(self, running: NDArray[np.bool_]) -> None:
        """Go on with the episodes where ``running`` is true only."""
        ...

    def close(self) -> None:
        """Give back what the episodes hold."""
        ...


@dataclass(frozen=True)
class Task:
    """An environment with names for what it shows and takes, and how it is evaluated.

    Attributes
    ----------
    name : str
        How the catalogue calls it, or the Gymnasium id.
    make : callable
        ``make(render_mode=None)`` gives one Gymnasium environment, time limit included.
    batch : callable
        ``batch()`` gives a :class:`Batch` of it.
    observation_names : tuple of str
        What the environment shows, which is what a teacher sees; empty if that is no row of numbers (an image).
    feature_names, feature_units : tuple of str
        What a student sees; the unit of a pure number is empty.
    action_names : tuple of str
        By action number; where an action is a row of numbers, the name of each of them.
    max_steps : int or None
        Time limit of an episode; None if the environment ends its episodes itself.
    episodes : int
        How many episodes an evaluation should play.
    features : callable or None
        From observations to features; None if a student sees the observations themselves.
    action_groups : tuple of int or None
        For each action, the first action that does the same; None if all differ.
    game_digest : callable or None
        From the observations and actions of an episode to a text that is the same for episodes that are the same game;
        for tasks with so little chance that this happens.
    depths, experts : tuple of int
        The grids that the paper searches; empty if it names none.
    env_id : str or None
        The Gymnasium id behind the task, if there is one.
    choices : tuple of int
        Where the environment takes an array of choices at once: how many there are to choose from in each. An action is
        then one combination of them, counted with the last choice changing fastest. Empty for others.
    box : ActionBox or None
        Between what the numbers of an action lie; None where an action is one of a few.
    columns : tuple of Seen
        What a student sees, thing by thing, where some of it is a choice among a few and all else is bounded.

    Examples
    --------
    >>> from moet.envs import resolve
    >>> task = resolve("CartPole-v1")
    >>> task.action_names
    ('left', 'right')
    """

    name: str
    make: Callable[..., gymnasium.Env[Any, Any]]
    batch: Callable[[], Batch]
    observation_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    feature_units: tuple[str, ...]
    action_names: tuple[str, ...]
    max_steps: int | None
    episodes: int = 100
    features: FeatureFunction | None = None
    action_groups: tuple[int, ...] | None = None
    game_digest: Callable[[Floats, NDArray[Any]], str] | None = None
    depths: tuple[int, ...] = ()
    experts: tuple[int, ...] = ()
    env_id: str | None = None
    choices: tuple[int, ...] = ()
    box: ActionBox | None = None
    columns: tuple[Seen, ...] = ()

    @property
    def is_long(self) -> bool:
        """Whether an episode may have so many steps that a few of them are plenty."""
        return self.max_steps is not None and self.max_steps > LONG_EPISODE

    @property
    def rounds(self) -> Rounds:
        """How much of it a distillation plays unless told otherwise.

        Few rounds of few games where a game is long, or shows a robot in so many numbers that one has plenty to learn:
        the usual ones would take hours.

        Examples
        --------
        >>> from moet.envs import resolve
        >>> resolve("cartpole").rounds
        Rounds(iterations=40, rollouts=10, selection_episodes=50)
        >>> resolve("cartpole").is_long
        False
        """
        if self.is_long:
            return Rounds(8, 10, 2)
        return Rounds(16, 5, 10) if self.is_rich else Rounds()

    @property
    def is_rich(self) -> bool:
        """Whether an episode shows many numbers to learn laws from."""
        if self.box is None or self.max_steps is None:
            return False
        return self.max_steps * len(self.feature_names) * len(self.box) > RICH_EPISODE

    def view(self, observations: Floats) -> Floats:
        """What a student sees of ``observations``."""
        return observations if self.features is None else self.features(observations)

    @property
    def continuous(self) -> bool:
        """Whether an action is a row of numbers instead of one of a few."""
        return self.box is not None

    def env_action(self, action: Any) -> Any:
        """What ``env.step`` takes for an action number, or for a row of numbers."""
        if self.box is not None:
            return self.box.env_action(action)
        return np.array(np.unravel_index(action, self.choices), np.int64) if self.choices else int(action)

    @property
    def has_named_actions(self) -> bool:
        """Whether the actions have names that say more than their numbers."""
        return self.action_names != tuple(str(action) for action in range(len(self.action_names)))
