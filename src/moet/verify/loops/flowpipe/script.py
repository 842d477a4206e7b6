"""Records of a proof that follows sets, as the search writes them."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from moet.verify.checker.certificate import Certificate

Floats = NDArray[np.float64]

PART, SPLIT, END, CASES, NOBODY, GOAL, ASIDE, TOGETHER = 64, 65, 66, 67, 68, 69, 70, 71
RELAXED, REDUCED, CURVED = 1, 2, 4


@dataclass
class Script:
    """Records of a proof."""

    codes: array[int] = field(default_factory=lambda: array("B"))
    refs: array[int] = field(default_factory=lambda: array("i"))
    numbers: array[float] = field(default_factory=lambda: array("d"))

    def add(self, code: int, refs: list[int] | None = None, numbers: Floats | None = None) -> None:
        """Append a code and what comes with it."""
        self.codes.append(code)
        self.more(refs or [], numbers)

    def more(self, refs: list[int], numbers: Floats | None = None) -> None:
        """Append what comes with the last code."""
        self.refs.extend(refs)
        if numbers is not None:
            self.numbers.extend(numbers.ravel().tolist())

    def append(self, other: Script) -> None:
        """Append the records of another one."""
        self.codes.extend(other.codes)
        self.refs.extend(other.refs)
        self.numbers.extend(other.numbers)

    def into(self, certificate: Certificate) -> None:
        """Add these records to a certificate."""
        certificate.add(self.codes, self.refs, self.numbers)
