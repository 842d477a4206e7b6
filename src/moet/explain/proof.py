"""What a certificate proves of a closed loop: boxes over time, with simulated runs and all that is demanded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.file import as_mixture, as_model
from moet.verify.systems.conditions import HalfSpace
from moet.verify.systems.controls import controls_of, observed
from moet.verify.systems.system import System

if TYPE_CHECKING:
    from moet.verify.checker.certificate import Certificate
    from moet.verify.systems.sampled import SampledSystem

Floats = NDArray[np.float64]

RUNS = 40
_POINTS = 10
_SHOWN_FOR_EVER = 100
"""Steps that are simulated where a proof is for ever."""


class Segment(NamedTuple):
    """A box in which all runs are from one time to another; infinite sides where nothing is stated."""

    start: float
    stop: float
    low: Floats
    high: Floats


Kind = Literal["safe", "goal", "avoid"]


class Mark(NamedTuple):
    """Conditions to draw: limits, a goal, or what must be avoided, from one time to another.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> from moet.verify import safe, systems
    >>> tank = systems.AffineSystem("tank", states=["level"], actions=["drain", "fill"], matrix=[["0.9"]],
    ...     offsets=[["0"], ["0.5"]], initial={"level": ("1", "3")}, safe=["level <= 4"])
    >>> leaves = [Tree.leaf([0, 1]), Tree.leaf([1, 0])]
    >>> valve = Mixture([[-1], [0]], [2, 0], leaves, ["drain", "fill"], feature_names=["level"])
    >>> from moet.explain import proof_picture
    >>> picture = proof_picture(safe(valve, tank, steps=None).certificate, valve, tank, runs=5)
    >>> [(mark.kind, mark.start, mark.stop) for mark in picture.marks]
    [('safe', 0.0, inf)]
    """

    kind: Kind
    conditions: tuple[HalfSpace, ...]
    start: float = 0.0
    stop: float = np.inf


@dataclass(frozen=True)
class ProofPicture:
    """What is drawn of a proof.

    Attributes
    ----------
    states : tuple of str
    segments : list of Segment
        Proven boxes; several at the same time where runs part.
    times : array of float, shape (n_times,)
    runs : array of float, shape (n_runs, n_times, n_states)
        Simulated ones.
    marks : list of Mark
    end : float
        Last time that is drawn.
    endless : bool
        Whether the last boxes hold for ever.
    unit : str
        What time is counted in.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> from moet.verify import safe, systems
    >>> tank = systems.AffineSystem("tank", states=["level"], actions=["drain", "fill"], matrix=[["0.9"]],
    ...     offsets=[["0"], ["0.5"]], initial={"level": ("1", "3")}, safe=["level <= 4"])
    >>> leaves = [Tree.leaf([0, 1]), Tree.leaf([1, 0])]
    >>> valve = Mixture([[-1], [0]], [2, 0], leaves, ["drain", "fill"], feature_names=["level"])
    >>> from moet.explain import proof_picture
    >>> picture = proof_picture(safe(valve, tank, steps=None).certificate, valve, tank, runs=5)
    >>> picture.runs.shape[::2], picture.endless
    ((5, 1), True)
    """

    states: tuple[str, ...]
    segments: list[Segment]
    times: Floats
    runs: Floats
    marks: list[Mark]
    end: float
    endless: bool
    unit: str

    def column(self, name: str) -> int:
        """Number of a state."""
        if name not in self.states:
            raise InputError(f"there is no state {name!r}; the states are {', '.join(self.states)}")
        return self.states.index(name)


def proof_picture(
    certificate: Certificate,
    model: object,
    system: System,
    *,
    marks: Sequence[Mark] | None = None,
    runs: int = RUNS,
    seed: int = 0,
) -> ProofPicture:
    """What a certificate proves of a policy on a system, with simulated runs of it.

    Parameters
    ----------
    certificate : Certificate
        Of a proof by sets: kind ``"blocks"``, ``"invariant"``, ``"shield"`` or ``"flowpipe"``. Only the last is
        checked on the way; for the others that is :func:`moet.verify.check`'s.
    model : mixture, fitted estimator, policy, or path of a model file
    system : System
    marks : sequence of Mark, optional
        What is demanded; by default what the certificate claims, or else what the system demands.
    runs, seed : int
        How many runs are simulated, half of them from corners of the first states; and from which seed.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> from moet.verify import safe, systems
    >>> tank = systems.AffineSystem(
    ...     "tank", states=["level"], actions=["drain", "fill"], matrix=[["0.9"]], offsets=[["0"], ["0.5"]],
    ...     initial={"level": (1, 2)}, safe=["0.5 <= level <= 4"],
    ... )
    >>> leaves = [Tree.leaf([0, 1]), Tree.leaf([1, 0])]
    >>> valve = Mixture([[-1], [0]], [2, 0], leaves, ["drain", "fill"], feature_names=["level"])
    >>> from moet.explain import proof_picture
    >>> picture = proof_picture(safe(valve, tank, steps=None).certificate, valve, tank, runs=5)
    >>> picture.states
    ('level',)
    """
    segments, end, endless = tube(certificate, model, system)
    times, states = _simulated(model, system, end, runs, seed)
    drawn = list(demands(certificate, system) if marks is None else marks)
    sampled = hasattr(system, "period")
    return ProofPicture(system.states, segments, times, states, drawn, end, endless, "time" if sampled else "step")


def demands(certificate: Certificate, system: System) -> list[Mark]:
    """What a certificate says is met; or else what the system demands: its safe set, its goal, what to avoid."""
    if "spec" in certificate.claim:
        return [mark for mark in map(_mark, certificate.claim["spec"]) if mark.conditions]
    marks = [Mark("avoid", conditions) for conditions in system.avoid]
    if system.safe:
        marks.append(Mark("safe", system.safe))
    return [*marks, Mark("goal", system.goal)] if system.goal else marks


def _mark(part: dict[str, Any]) -> Mark:
    """A requirement of a certificate; what holds from the beginning is a limit, what holds later a goal."""
    start, stop = float(Fraction(part["from"])), np.inf if part["to"] is None else float(Fraction(part["to"]))
    conditions = tuple(
        HalfSpace(tuple(map(Fraction, half["coefficients"])), Fraction(half["bound"]))
        for half in part["conditions"]
        if not half.get("norms")  # they are no straight lines
    )
    kinds: dict[str, Kind] = {"avoid": "avoid", "reach": "goal", "hold": "goal" if start else "safe"}
    return Mark(kinds[part["kind"]], conditions, start, stop)


def tube(certificate: Certificate, model: object, system: System) -> tuple[list[Segment], float, bool]:
    """Boxes that a certificate states, the last time that they are about, and whether the last hold for ever."""
    if certificate.kind == "flowpipe":
        return _flowpipe(certificate, model, system)
    if certificate.kind not in ("blocks", "invariant", "shield"):
        raise InputError(f"a certificate of kind {certificate.kind!r} states no sets that could be drawn")
    segments = list(_block_segments(certificate.claim["blocks"], system))
    endless = certificate.kind != "blocks"
    end = segments[-1].stop
    if endless:
        end = max(2 * end, float(_SHOWN_FOR_EVER))
        segments[-1] = segments[-1]._replace(stop=end)
    return [_first(system), *segments], end, endless


def _flowpipe(certificate: Certificate, model: object, system: System) -> tuple[list[Segment], float, bool]:
    from moet.verify import proven_tubes

    segments = [
        Segment(float(start), float(stop), low, high)
        for part in proven_tubes(certificate, model, system)
        for start, stop, low, high in zip(*part, strict=True)
    ]
    endless = any(part["to"] is None for part in certificate.claim["spec"])
    return [*_first_boxes(system), *segments], max(segment.stop for segment in segments), endless


def _first_boxes(system: System) -> list[Segment]:
    """The boxes of first states; with conditions the tubes themselves show which of them are."""
    if system.first.where:
        return []
    sides = [np.array(box, np.float64) for box in system.first.boxes]
    return [Segment(0.0, 0.0, *box.T) for box in sides]


def _first(system: System) -> Segment:
    low, high = (np.array(side, np.float64) for side in zip(*system.initial, strict=True))
    return Segment(0.0, 0.0, low, high)


def _block_segments(blocks: Iterable[dict[str, object]], system: System) -> Iterable[Segment]:
    done = 0.0
    for block in blocks:
        sides = np.array(block["watch"], np.float64)[: 2 * system.n_states]
        start, done = done, done + float(block["steps"])  # type: ignore[arg-type]
        yield Segment(start, done, -sides[1::2], sides[::2])


def _simulated(model: object, system: System, end: float, n: int, seed: int) -> tuple[Floats, Floats]:
    if hasattr(system, "period"):
        return _sampled_runs(model, system, end, n, seed)  # type: ignore[arg-type]
    if system.controls:
        return _controlled_runs(model, system, round(end), n, seed)
    from moet.verify.loops.simulation import simulate

    states = simulate(as_mixture(model), system, round(end), seed, n_runs=n).states
    return np.arange(len(states), dtype=np.float64), np.moveaxis(states, 0, 1)


def _controlled_runs(model: object, system: Any, steps: int, n: int, seed: int) -> tuple[Floats, Floats]:
    """Runs in discrete time, without disturbance."""
    states = [_starts(system, n, seed)]
    for step in range(steps):
        controls = controls_of(system, as_model(model).predict(observed(system, states[-1])))
        states.append(system.successor(states[-1], controls, step))
    return np.arange(steps + 1, dtype=np.float64), np.stack(states, axis=1)


def _sampled_runs(model: object, system: SampledSystem, end: float, n: int, seed: int) -> tuple[Floats, Floats]:
    steps = max(1, round(end / float(system.period)))
    points = max(1, min(_POINTS, 2000 // steps))
    times, states, _ = system.simulate(as_model(model), _starts(system, n, seed), steps, points)
    return times, states


def _starts(system: System, n: int, seed: int) -> Floats:
    """First states, half of them corners where they are all of a box."""
    rng = np.random.default_rng(seed)
    starts = system.first.sample(rng, n)
    if system.first.is_box:
        corners = rng.random((n // 2, system.n_states)) < 0.5
        low, high = np.array(system.initial, np.float64).T
        starts[: n // 2] = np.where(corners, low, high)
    return starts
