"""The search for a set that a loop leads into itself, and that is reached from the first states."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moet.verify.limits import Deadline, Stopped
from moet.verify.loops.flowpipe.failed import Failed, NotHome
from moet.verify.loops.flowpipe.follow import MANY_BRANCHES, Home
from moet.verify.loops.flowpipe.parts import Parts
from moet.verify.loops.flowpipe.rest import Rest
from moet.verify.loops.flowpipe.script import PART, Script

Floats = NDArray[np.float64]

NOT_FOR_EVER = (
    "ask about some number of steps, narrow the limits of parameters and disturbances (each part can be proved for "
    "itself), or use a law that damps more"
)

_HOMEWARD = (1, 2, 5, 20, 60, 100, 200, 500)
_GROWN, _SLOWLY = 6, 0.7
"""Steps after which the states are tried as a home, how often it is made larger, and the share of what was missed
beyond which a larger one is hardly nearer."""


def for_ever(parts: Parts, deadline: Deadline, seed: int) -> Script:
    """A home that is reached from the first states, and from itself."""
    start = parts.start(parts.follower.system.initial)
    parts.follower.most_branches = MANY_BRANCHES
    runs = Rest(parts.follower.system, parts.follower.acting, deadline, parts.follower.last_scheduled, seed)
    center, modes = runs.middle, runs.modes
    reason: Failed | Stopped = Stopped(f"no set was found that the loop leads into itself; {NOT_FOR_EVER}")
    inverse, d = np.linalg.inv(modes), parts.follower.d
    for steps in _HOMEWARD:
        ends = parts.after(start, steps)
        if ends is None:
            sizes = np.abs((runs.after(steps) - center) @ inverse.T).max(axis=0)
        else:
            sizes = np.abs(inverse @ (ends.middle[:d] - center)) + np.abs(inverse @ ends.columns[:d]).sum(axis=1)
        if not np.all(np.isfinite(sizes)):
            break
        found = _grown(parts, start, center, modes, 1.02 * np.maximum(sizes, 1e-6 * max(float(sizes.max()), 1e-6)))
        if isinstance(found, Script):
            return found
        reason = found
    raise reason


def _grown(parts: Parts, start: Home, center: Floats, modes: Floats, sizes: Floats) -> Script | Failed:
    """A proof with a home of these sizes or larger, or why there is none."""
    previous = np.inf
    for _ in range(_GROWN):
        home = Home(center, modes * sizes, np.asarray(np.linalg.inv(modes * sizes)))
        try:
            return _with_home(parts, start, home)
        except NotHome as failure:
            reason: Failed = failure
            sizes = sizes * np.maximum(1.0, 1.1 * failure.reach)
            if _SLOWLY * previous < failure.excess <= previous:
                break
            previous = failure.excess
        except Failed as failure:
            return failure
    return reason


def _with_home(parts: Parts, start: Home, home: Home) -> Script:
    q = len(start.middle) - parts.follower.d
    frame = np.zeros((len(start.middle),) * 2)
    frame[: parts.follower.d, : parts.follower.d] = home.frame
    frame[parts.follower.d :, parts.follower.d :] = start.frame[parts.follower.d :, parts.follower.d :]
    whole = Home(np.concatenate([home.middle, start.middle[len(start.middle) - q :]]), frame, home.inverse)
    script, first, second = Script(), Script(), Script()
    script.add(PART, [], np.concatenate([home.middle, home.frame.ravel(), home.inverse.ravel()]))
    parts.all_of(whole, home, True, second)
    parts.from_first_states(home, first)
    script.append(first)
    script.append(second)
    return script
