"""Several choices at once as one: every combination is an action of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence

MAX_COMBINATIONS = 64
"""More answers than that, nobody can read and few trees can learn."""


def number_of_combinations(counts: Sequence[int], who: str) -> int:
    """How many combinations there are of choices among so many each; ``who`` begins the sentence if too many."""
    number = math.prod(counts)
    if not 1 <= number <= MAX_COMBINATIONS:
        raise ValueError(
            f"{who} chooses among {' × '.join(map(str, counts))} = {number} combinations of actions, more than "
            f"{MAX_COMBINATIONS}; keep the useful ones with a gymnasium.ActionWrapper whose action space is Discrete"
        )
    return number
