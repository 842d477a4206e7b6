"""What models of a step cost in simple proofs about nonlinear systems: fits and residuals, beside all of a question.

    python benchmarks/verify_models.py

One thread, CPU seconds, the second of two calls: kernels are compiled then. The check is part of the question, and the
checker makes models of its own, which are not counted.
"""

from __future__ import annotations

import time
from typing import Any

from verify_horizon import POLICIES, SYSTEMS

from moet.verify import safe
from moet.verify.systems import NonlinearSystem

QUESTIONS = [
    ("two experts", "cartpole, sensor noise 1e-5", None),
    ("three experts", "pendulum", 5),
    ("three experts", "pendulum", 50),
    ("three experts", "pendulum", None),
]
"""Policy, system and steps; None is for ever."""


class Clock:
    """Adds up what calls of a method cost."""

    def __init__(self) -> None:
        self.seconds, self.calls = 0.0, 0

    def around(self, method: Any) -> Any:
        """The method, timed."""

        def timed(*arguments: Any) -> Any:
            begin = time.process_time()
            found = method(*arguments)
            self.seconds += time.process_time() - begin
            self.calls += 1
            return found

        return timed


def main() -> None:
    """Print one row per question."""
    clock = Clock()
    for name in ("fitted_matrix", "residuals"):
        setattr(NonlinearSystem, name, clock.around(getattr(NonlinearSystem, name)))
    print("| policy | system | steps | verdict | CPU s | in models of a step | calls |\n|---|---|--:|---|--:|--:|--:|")
    for policy, system, steps in QUESTIONS:
        mixture, subject = POLICIES[policy](), SYSTEMS[system]()
        safe(mixture, subject, steps, workers=1)
        clock.seconds, clock.calls = 0.0, 0
        begin = time.process_time()
        verdict = safe(mixture, subject, steps, workers=1)
        total = time.process_time() - begin
        asked = "for ever" if steps is None else str(steps)
        row = [policy, system, asked, type(verdict).__name__.lower(), f"{total:.2f}", f"{clock.seconds:.2f}"]
        print("| " + " | ".join([*row, str(clock.calls)]) + " |", flush=True)


if __name__ == "__main__":
    main()
