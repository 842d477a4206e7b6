"""How many parts every period of a flow is followed in."""

from __future__ import annotations

from typing import NamedTuple

_MOST = 64
_AHEAD = 1.5
"""So much later than where something was missed periods are parted, or it would be missed in the next one."""


class Pace(NamedTuple):
    """Parts of the first periods, one number each; of all that follow the last one.

    With ``curves``, periods in which runs bend too much for straight lines are followed along polynomials in time.

    Examples
    --------
    >>> Pace().finer(2)
    Pace(parts=(2, 2, 2, 2, 1), curves=False)
    >>> Pace((8, 1)).finer(1), Pace((8, 1)).at(5)
    (Pace(parts=(8, 2, 1), curves=False), 1)
    """

    parts: tuple[int, ...] = (1,)
    curves: bool = False

    def at(self, step: int) -> int:
        """Parts of a period."""
        return self.parts[min(step, len(self.parts) - 1)]

    def is_even(self, step: int) -> bool:
        """Whether as many parts are made of all periods up to one, and some after it."""
        return len({self.at(k) for k in range(int(_AHEAD * step) + 1)}) == 1

    def finer(self, step: int) -> Pace | None:
        """Twice as many parts in the coarsest of the periods up to one, and some after it; None if they have enough.

        What is missed in a period is a matter of those up to it: where only the first ones are difficult, the others
        stay cheap.
        """
        last = int(_AHEAD * step)
        numbers = [self.at(k) for k in range(max(last + 2, len(self.parts)))]
        coarsest = min(numbers[: last + 1])
        if coarsest >= _MOST or self.curves:
            return None
        return Pace(tuple(2 * n if k <= last and n == coarsest else n for k, n in enumerate(numbers)))


ALONG_CURVES = Pace((8,), curves=True)
"""Where straight lines do not lead on; how finely a period is followed is then seen there."""
