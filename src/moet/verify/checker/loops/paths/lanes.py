"""All needs at once: what actions add to them, side by side in one long integer. Standard library only.

Every need of every time has a *lane*, so many bits of an integer. Numbers of one sign that leave some bits of their
lanes free are added lane by lane when the integers are, and a difference of them tells, in the highest bit of every
lane, which of two numbers is larger. A lane holds what an action adds to its need plus ``bias``, which no addition
exceeds, so it is never negative; as many of these as there were actions are taken off at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import getitem
from typing import TYPE_CHECKING

from moet.verify.checker.made import Made
from moet.verify.checker.meter import cost

if TYPE_CHECKING:
    from moet.verify.checker.loops.paths.steps import Steps


class Lanes:
    """The needs of some steps of a system.

    Parameters
    ----------
    path : Steps
    """

    def __init__(self, path: Steps) -> None:
        self._path, self._steps, self._n = path, path.steps, len(path.needs)
        n_lanes = (self._steps + 1) * self._n
        path.meter.spend(cost(n_lanes * (path.d + len(path.offsets)), path.bits))
        self._needs = range(path.d, path.d + self._n)
        gains = [[path.gain(i, ahead) for i in self._needs] for ahead in range(self._steps)]
        limits = [abs(path.outright(t, i)) for t in range(self._steps + 1) for i in self._needs]
        worst = [abs(path.worst(i)[ahead]) for i in self._needs for ahead in range(self._steps + 1)]
        added = [abs(gain) for row in gains for gain in chain.from_iterable(row)]
        bits = max(max(limits, default=0) + max(worst, default=0), max(added, default=0)).bit_length()
        self._bias = 1 << bits
        self._width = bits + self._steps.bit_length() + 3
        path.meter.hold(2 * n_lanes * (1 + len(path.offsets)), self._width)
        # by action, what it adds to the needs so many steps after it, and all of these together
        self._each = [
            [self._packed([row[action] + self._bias for row in rows]) for rows in gains]
            for action in range(len(path.offsets))
        ]
        self._all = [self._packed(parts, self._n * self._width) for parts in self._each]
        self._now, self._ahead = Made(self._make_now), Made(self._make_ahead)

    def hold(self, t: int, actions: Sequence[int]) -> bool:
        """Whether all needs hold at time t of every first state, after these actions."""
        limits, highest = self._now[t]
        added = sum(map(getitem, map(self._each.__getitem__, actions), range(t - 1, -1, -1)))
        return (limits - added) & highest == highest

    def left(self, t: int, actions: Sequence[int]) -> int:
        """What is left to all needs from time t on, after these actions, whatever is done then."""
        limits, highest = self._ahead[t]
        size = self._n * self._width
        added = sum(self._all[action] >> (t - 1 - k) * size for k, action in enumerate(actions))
        return limits - (added & (1 << highest.bit_length()) - 1)

    def failing(self, t: int, left: int) -> set[int]:
        """Needs to which less than nothing is left, as time·needs + need."""
        fails = ~left & self._ahead[t][1]
        found = set()
        while fails:
            found.add(t * self._n + (fails.bit_length() - 1) // self._width)
            fails ^= 1 << fails.bit_length() - 1
        return found

    def left_to(self, place: int, left: int) -> int:
        """What is left to one of them."""
        return (left >> place * self._width & (1 << self._width) - 1) - (1 << self._width - 1)

    def _packed(self, values: Sequence[int], width: int = 0) -> int:
        """Numbers side by side, so many bits each."""
        return sum(value << i * (width or self._width) for i, value in enumerate(values))

    def _make_now(self, t: int) -> tuple[int, int]:
        """What actions before t may add to all needs at time t, so that they hold of every first state."""
        return self._limits(t, [self._path.outright(t, i) for i in self._needs])

    def _make_ahead(self, t: int) -> tuple[int, int]:
        """What actions before t may add to all needs at time t, at t + 1, and so on: no later one breaks them then."""
        outright, worst, times = self._path.outright, self._path.worst, range(t, self._steps + 1)
        return self._limits(t, [outright(then, i) - worst(i)[then - t] for then in times for i in self._needs])

    def _limits(self, t: int, values: Sequence[int]) -> tuple[int, int]:
        """Limits of what t actions add, with the highest bits of their lanes; and these bits."""
        self._path.meter.hold(2 * len(values), self._width)
        highest = 1 << self._width - 1
        return self._packed([v + t * self._bias + highest for v in values]), self._packed([highest] * len(values))
