"""What a set misses when it is followed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Failed(Exception):
    """A set does not meet a requirement; ``row`` is what it outgrew, ``columns`` are those of the set then."""

    def __init__(self, time: float, reason: str, excess: float, row: Floats, columns: Floats) -> None:
        super().__init__(reason)
        self.time, self.excess, self.row, self.columns = time, excess, row, columns


class NotHome(Failed):
    """A set does not come home; ``reach`` says how far it is out along each side when it is nearest, 1 being there."""

    def __init__(self, time: float, reach: Floats, columns: Floats) -> None:
        worst = np.eye(len(reach))[int(np.argmax(reach))]
        reason = "runs are not yet in the set that they are to come back to"
        super().__init__(time, reason, float(reach.max() - 1), worst, columns)
        self.reach = reach


class TooManyJumps(Failed):
    """A set is cut into too many parts where the policy jumps."""

    def __init__(self, columns: Floats, d: int) -> None:
        super().__init__(0.0, "the policy jumps in too many places", np.inf, np.zeros(d), columns)
