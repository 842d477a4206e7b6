"""The search for a proof about a controlled system: how fine to follow, what to cut, and where to end for ever."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moet.model.file import digest
from moet.model.mixture import Mixture
from moet.model.regression.mixture import RegressionMixture
from moet.verify.checker.certificate import Certificate
from moet.verify.confirm import confirmed
from moet.verify.limits import Deadline, Progress, Stopped
from moet.verify.loops.flowpipe.failed import Failed
from moet.verify.loops.flowpipe.follow import MANY_BRANCHES, Follower
from moet.verify.loops.flowpipe.home import NOT_FOR_EVER, for_ever
from moet.verify.loops.flowpipe.integrate import Points
from moet.verify.loops.flowpipe.parts import NotOneByOne, Parts
from moet.verify.loops.flowpipe.refute import refutation
from moet.verify.loops.flowpipe.script import END, Script
from moet.verify.loops.flowpipe.together import follow_together
from moet.verify.result import Proved, Unknown, Verdict
from moet.verify.spec import Requirement
from moet.verify.systems.system import System

Floats = NDArray[np.float64]

KIND = "flowpipe"

_MOST_TOGETHER, _SHARE_OF_ATTEMPT = (32, 128, 512), 0.4
"""Sets that are led at the same time, where a policy jumps, and the share of the time that an attempt may take."""

_MANY_STEPS = 12
"""A policy that jumps cuts sets into few parts in up to so many steps: each part is followed for itself."""

_SHARE_FOR_EVER, _MOST_FOR_EVER = 0.1, 10.0
"""Beyond, it is first asked about for ever, for this share of the time and CPU seconds."""


class FlowpipeSearch:
    """Searches a proof that all runs of a closed loop meet a specification.

    Parameters
    ----------
    mixture : Mixture or RegressionMixture
        A hard one, whose answers are the system's actions or controls.
    system : System
        With controls.
    spec : sequence of Requirement
    deadline : Deadline
    seed : int
        Of the simulated runs.
    """

    def __init__(
        self,
        mixture: Mixture | RegressionMixture,
        system: System,
        spec: Sequence[Requirement],
        deadline: Deadline,
        seed: int = 0,
    ) -> None:
        self.mixture, self.system, self.spec, self.deadline, self.seed = mixture, system, list(spec), deadline, seed
        self.follower = Follower(mixture, system, self.spec, deadline)
        self.parts = Parts(self.follower)

    def decide(self, progress: Progress | None = None) -> Verdict:
        """Proved, Refuted or Unknown."""
        self.parts.progress = progress
        try:
            refuted = refutation(self.mixture, self.system, self.spec, self.deadline, self.seed)
            if refuted is not None:
                return refuted
            more = self._for_ever_instead()
            if more is not None:
                return more
            script = self._proof()
        except Stopped as stop:
            return Unknown(reason=str(stop), effort=self._effort())
        except Failed as failure:
            return Unknown(reason=self._explained(failure), effort=self._effort())
        return self._confirmed(script)

    def _confirmed(self, script: Script) -> Verdict:
        certificate = Certificate(KIND, self.claim())
        script.into(certificate)
        found = Proved(certificate=certificate, effort=self._effort())
        return confirmed(found, self.mixture, self.system, deadline=self.deadline)

    def _for_ever_instead(self) -> Verdict | None:
        """A proof that what is asked about many steps holds for ever, for a policy that jumps.

        One that goes to and fro at every look cuts sets into ever more parts; a set that is led into itself is cut in
        a few. It is looked for first, for a share of the time.
        """
        ends = [part.end for part in self.spec if part.kind != "reach" and not part.start and part.end is not None]
        is_long = len(ends) == len(self.spec) and max(ends) > _MANY_STEPS * self.follower.period
        if not is_long or not self.follower.acting.jumps:
            return None
        spec = [part._replace(end=None) for part in self.spec]
        limit = self.deadline.part(_SHARE_FOR_EVER, _MOST_FOR_EVER)
        search = FlowpipeSearch(self.mixture, self.system, spec, limit, self.seed)
        try:
            verdict = search._confirmed(for_ever(search.parts, limit, self.seed))
        except (Stopped, Failed):
            return None
        return verdict if isinstance(verdict, Proved) else None

    def claim(self) -> dict[str, Any]:
        """What is claimed."""
        return {
            "model": digest(self.mixture),
            "system": self.system.digest,
            "name": self.system.name,
            "spec": [part.document() for part in self.spec],
        }

    def _effort(self) -> dict[str, float]:
        return {"seconds": self.deadline.seconds, "parts": self.parts.count, "substeps": max(self.parts.pace.parts)}

    def _proof(self) -> Script:
        if self._is_for_ever:
            return for_ever(self.parts, self.deadline, self.seed)
        script = Script()
        try:
            self.parts.from_first_states(None, script)
        except NotOneByOne:
            few = self._steps <= _MANY_STEPS
            found = self._for_a_share(self._cut_where_it_jumps) if few else None
            return found or self._for_a_share(self._together) or self._cut_where_it_jumps()
        return script

    @property
    def _steps(self) -> float:
        """How many steps are asked about, at most."""
        ends = [part.end for part in self.spec]
        return max(np.inf if end is None else float(end / self.follower.period) for end in ends)

    def _for_a_share(self, attempt: Callable[[], Script | None]) -> Script | None:
        """What an attempt finds; None if it loses too much, or takes too long."""
        whole, few = self.deadline, self.follower.most_branches
        self.follower.deadline = whole.part(_SHARE_OF_ATTEMPT)
        try:
            return attempt()
        except Failed:
            return None
        except Stopped:
            whole.look()
            return None
        finally:
            self.follower.deadline, self.follower.most_branches = whole, few

    def _together(self) -> Script | None:
        """All sets led at the same time, some put in one; None if that loses too much."""
        self.follower.cuts = True
        try:
            return self._led_together([self.parts.first_set(box) for box in self.system.first.boxes])
        finally:
            self.follower.cuts = self.follower.acting.jumps

    def _led_together(self, starts: list[Points | None]) -> Script | None:
        pace = self.parts.pace
        for most in _MOST_TOGETHER:
            try:
                script = follow_together(self.follower, starts, pace, most)
            except Failed as failure:
                pace = pace.finer(self.parts.step_of(failure)) or pace
                continue
            self.parts.count = script.codes.count(END)
            return script
        return None

    def _cut_where_it_jumps(self) -> Script:
        """Parts of the first states that are small enough to be followed each for itself."""
        self.follower.most_branches = MANY_BRANCHES
        self.parts.begin_again()
        script = Script()
        self.parts.from_first_states(None, script)
        return script

    def _explained(self, failure: Failed) -> str:
        names = self.system.states
        blamed = [name for name, a in zip(names, failure.row, strict=False) if abs(a) > 1e-9]
        when = f"time {failure.time:g}" if self.parts.is_flow else f"step {failure.time:g}"
        where = f" (in {', '.join(blamed)})" if blamed else ""
        what_next = (
            "ask about fewer steps or fewer first states, allow more time, or use a policy with fewer or smoother laws"
        )
        return (
            f"the sets that runs are kept in are too wide: at {when} {failure}{where}, after {self.parts.count} parts "
            f"were proved; {NOT_FOR_EVER if self._is_for_ever else what_next}"
        )

    @property
    def _is_for_ever(self) -> bool:
        reaches = any(part.kind == "reach" for part in self.spec)
        return not reaches and any(part.end is None for part in self.spec)
