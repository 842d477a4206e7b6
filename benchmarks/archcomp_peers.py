"""Reachability by immrax of the plants of ``moet bench archcomp``, with the published networks and with the laws.

    MOET_ARCHCOMP=DIR python benchmarks/archcomp_peers.py [INSTANCE ...] [--controllers network,law] [--seconds 60]

It needs ``pip install immrax`` (0.3.8 here), which brings JAX; without it a message says so and nothing is run. Plant,
controller, first states, demands and limits of actuators are those of the instance.

What is immrax's: linear bounds of the controller (``crown``), and the flow of a set over a period, either of a box
(``mjacemb``: the mixed Jacobian embedding) or of a parallelotope (``AdjointEmbedding``), with diffrax's Tsit5 at
fixed steps. What it has no part for is written here as simply as works: the control is held over a period, so it is a
state whose derivative is 0; a parallelotope of states and controls becomes one of states at the next look by the best
of three enclosures; first states that fail are cut in two along the side that is longest beside the first box, until
the seconds are over. Its bounds are float64 without directed rounding, errors of the integrator are not in them, and
demands are looked at after every step of the integrator only: nothing here is a proof as elsewhere in this library.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from moet.study import archcomp
from moet.study.archcomp.instance import Demand, Instance
from moet.study.tables import Column, Table, to_markdown
from moet.teachers import Teacher
from moet.verify.systems.equations import Algebra, comparison_sides

try:
    import diffrax
    import immrax
    import jax
    import jax.numpy as jnp
except ImportError:
    sys.exit("this comparison needs immrax: pip install immrax, into an environment of its own")

jax.config.update("jax_enable_x64", True)

NAMES = (
    *("acc", "nav", "unicycle", "tora_remain", "tora_reach", "single_pendulum", "double_pendulum_less"),
    *("balancing", "airplane_half", "attitude", "docking", "quad"),
)
SUBSTEPS = 10
"""Steps of the integrator in a period."""
TOGETHER = 64
"""Parts of the first states that are followed at once."""
_THIN = 1e-6
"""Least half-width of a side: parallelotopes of immrax have an inverse."""
_LOST = 1e6

JAX = Algebra(
    constant=float,
    functions={"sin": jnp.sin, "cos": jnp.cos, "tan": jnp.tan, "exp": jnp.exp, "sqrt": jnp.sqrt, "abs": jnp.abs},
)

Control = Callable[[Any], Any]


def network_of(instance: Instance) -> Control:
    """The published network, in JAX; tanh in words that immrax has bounds for."""
    if instance.network is None or instance.network.path is None:
        sys.exit(f"the network of {instance.name} is published elsewhere: set MOET_ARCHCOMP to the folder of it")
    teacher: Any = Teacher.from_onnx(instance.network.path, continuous=True)
    network, constants, shift = teacher.network, np.array(instance.network.constants), instance.network.shift
    bend = {"relu": jax.nn.relu, "tanh": _tanh}[network.activation]
    layers = [(jnp.array(layer.kernel.T), jnp.array(layer.bias)) for layer in (*network.hidden, *network.head)]
    (kernel, bias), known = layers[0], len(constants)
    layers[0] = kernel[:, known:], bias + kernel[:, :known] @ constants

    def control(x: Any) -> Any:
        for kernel, bias in layers[:-1]:
            x = bend(kernel @ x + bias)
        x = layers[-1][0] @ x + layers[-1][1]
        return (_tanh(x) if teacher.squash else x) + shift

    return control


def law_of(instance: Instance) -> Control:
    """The affine law that is proved here, in JAX."""
    leaf = instance.controller.trees[0]
    return lambda features: jnp.array(leaf.slope[0]) @ features + jnp.array(leaf.value[0])


def _tanh(x: Any) -> Any:
    return 2 * jax.nn.sigmoid(2 * x) - 1


def _row(numbers: Sequence[Any]) -> Any:
    """An array of numbers, in words that immrax has intervals for."""
    return jnp.concatenate([jnp.reshape(jnp.asarray(number, jnp.float64), (1,)) for number in numbers])


class Loop:
    """A closed loop in JAX: states x, controls u that are held, and what is demanded."""

    def __init__(self, instance: Instance, wanted: Control) -> None:
        self.instance, self.wanted = instance, wanted
        self.plant: Any = instance.plant
        self.n, self.m = len(self.plant.states), len(self.plant.controls)
        limits = np.array([*self.plant.controls.values()], np.float64)
        self.low, self.high = jnp.array(limits[:, 0]), jnp.array(limits[:, 1])
        self.seen = jax.jacfwd(self._features)(jnp.zeros(self.n))
        """What the controller sees, a linear map of the states in all of these plants."""
        self.margins = [(demand, _margins(demand, self.plant.states)) for demand in instance.demands]

    def control(self, x: Any) -> Any:
        """What the actuators make of it."""
        u = self.wanted(self.seen @ x)
        return self.low + jax.nn.relu(u - self.low) - jax.nn.relu(u - self.high)

    def _features(self, x: Any) -> Any:
        known = dict(zip(self.plant.states, x, strict=True))
        return _row([expression.value(known, JAX) for expression in self.plant.observe.values()] or [*x])

    def flow(self, t: Any, z: Any, *signals: Any) -> Any:
        """Derivatives of states and controls."""
        known = dict(zip((*self.plant.states, *self.plant.controls), z, strict=True))
        known |= dict(zip(self.plant.signals, signals[0] if signals else (), strict=True))
        rates = self.plant.equations(known, JAX)
        return _row([*rates, *[0.0] * self.m])


def _margins(demand: Demand, states: Sequence[str]) -> Callable[[Any], Any]:
    """How far each condition of a demand is from failing."""
    sides = [pair for text in demand.conditions for pair in comparison_sides(text, set(states))]

    def margins(x: Any) -> Any:
        known = dict(zip(states, x, strict=True))
        return _row([b.value(known, JAX) - a.value(known, JAX) for a, b in sides])

    return margins


class Flow(immrax.System):  # type: ignore[misc]
    """Plant and held controls, as immrax wants it."""

    def __init__(self, loop: Loop) -> None:
        super().__init__("continuous", loop.n + loop.m)
        self.loop = loop

    def f(self, t: Any, x: Any, *signals: Any) -> Any:
        """Derivatives."""
        return self.loop.flow(t, x, *signals)


def _solved(rates: Callable[..., Any], first: Any, period: float) -> Any:
    """All steps of a period, the first state among them."""
    term = diffrax.ODETerm(lambda t, y, args: rates(t, y))
    times = diffrax.SaveAt(ts=jnp.linspace(0.0, period, SUBSTEPS + 1))
    fixed = diffrax.StepTo(jnp.linspace(0.0, period, SUBSTEPS + 1))
    return diffrax.diffeqsolve(
        term, diffrax.Tsit5(), 0.0, period, None, first, saveat=times, stepsize_controller=fixed, max_steps=SUBSTEPS
    ).ys


def _signals(loop: Loop) -> list[Any]:
    if not loop.plant.signals:
        return []
    low, high = np.array([*loop.plant.signals.values()], np.float64).T
    return [immrax.interval(jnp.array(low), jnp.array(high))]


def _linear_bounds(loop: Loop, centre: Any, sides: Any) -> tuple[Any, Any, Any]:
    """Controls on centre + sides s, \\|s\\| <= 1: centre + slope s, and how far they may be from that."""
    ones = jnp.ones(sides.shape[1])
    bounds = immrax.crown(lambda s: loop.control(centre + sides @ s))(immrax.interval(-ones, ones))
    off = jnp.abs(bounds.uC - bounds.lC).sum(axis=1) / 2 + (bounds.ud - bounds.ld) / 2
    return (bounds.ld + bounds.ud) / 2, (bounds.lC + bounds.uC) / 2, off


def by_boxes(loop: Loop, centre: Any, sides: Any) -> tuple[Any, Any]:
    """A period of a box: after every step centre and sides, as diagonal matrices, of states and controls."""
    radius = jnp.abs(sides).sum(axis=1)
    middle, slope, off = _linear_bounds(loop, centre, jnp.diag(radius))
    reach = jnp.abs(slope).sum(axis=1) + off
    low = jnp.concatenate([centre - radius, jnp.maximum(middle - reach, loop.low)])
    high = jnp.concatenate([centre + radius, jnp.minimum(middle + reach, loop.high)])
    embedding, signals = immrax.mjacemb(Flow(loop)), _signals(loop)
    ends = _solved(
        lambda t, y: embedding.E(jnp.array([t]), y, *signals), jnp.concatenate([low, high]), loop.instance.period
    )
    low, high = jnp.split(ends, 2, axis=1)
    return (low + high) / 2, jax.vmap(jnp.diag)((high - low) / 2)


def by_parallelotopes(loop: Loop, centre: Any, sides: Any) -> tuple[Any, Any]:
    """A period of a parallelotope: after every step centre and sides, of states and controls."""
    middle, slope, off = _linear_bounds(loop, centre, sides)
    whole = jnp.block([[sides, jnp.zeros((loop.n, loop.m))], [slope, jnp.diag(off + _THIN)]])
    embedding = immrax.AdjointEmbedding(Flow(loop), whole, jnp.zeros((0, loop.n + loop.m)))
    ones, signals = jnp.ones(2 * (loop.n + loop.m)), _signals(loop)
    first = (immrax.Polytope(jnp.concatenate([centre, middle]), jnp.linalg.inv(whole), ones), (whole, embedding.N0))
    sets, (inverses, _) = _solved(lambda t, y: embedding._dynamics(t, y, *signals), first, loop.instance.period)
    below, above = jnp.split(sets.y, 2, axis=1)
    middles = sets.ox + jnp.einsum("kij,kj->ki", inverses, (above - below) / 2)
    return middles, inverses * ((above + below) / 2)[:, None, :]


def reduced(sides: Any, n: int) -> Any:
    """Sides of a parallelotope that holds the sum of ``sides``: of three shapes the one with the smallest box."""
    shapes, found = (sides[:, :n], jnp.linalg.svd(sides, full_matrices=False)[0], jnp.eye(n)), []
    for shape in shapes:
        reach = jnp.abs(jnp.linalg.solve(shape, sides)).sum(axis=1)
        found.append(shape * jnp.maximum(reach, _THIN / jnp.linalg.norm(shape, axis=0)))
    sizes = jnp.log(jnp.abs(jnp.stack(found)).sum(axis=2)).sum(axis=1)
    return jnp.stack(found)[jnp.argmin(jnp.where(jnp.isnan(sizes), jnp.inf, sizes))]


def _room(margins: Callable[[Any], Any], never: bool, centre: Any, sides: Any) -> Any:
    """How far a set is from failing a demand: bounds from values and from derivatives, the better of both."""
    radius = jnp.abs(sides).sum(axis=1)
    box = immrax.interval(centre - radius, centre + radius)
    plain, slopes = immrax.natif(margins)(box), immrax.natif(jax.jacfwd(margins))(box)
    ones = jnp.ones(sides.shape[1])
    spread = (immrax.interval(slopes) @ immrax.interval(sides)) @ immrax.interval(-ones, ones)
    low = jnp.fmax(plain.lower, margins(centre) + spread.lower)
    high = jnp.fmin(plain.upper, margins(centre) + spread.upper)
    return -high.min() if never else low.min()


def least_room(loop: Loop, method: Callable[..., Any], low: Any, high: Any) -> Any:
    """Least distance from failing of all runs from a box of first states; negative or NaN where it may fail."""
    n, steps = loop.n, loop.instance.steps
    assert steps is not None
    times = np.arange(steps)[:, None] * loop.instance.period + np.linspace(0, loop.instance.period, SUBSTEPS + 1)
    asked = [
        (demand.start - 1e-9 <= times) & (times <= (loop.instance.end if demand.stop is None else demand.stop) + 1e-9)
        for demand, _ in loop.margins
    ]

    def period(carry: Any, asked_now: Any) -> Any:
        centre, sides, least = carry
        centres, wide = method(loop, centre, sides)
        for (demand, margins), mask in zip(loop.margins, asked_now, strict=True):
            room = jax.vmap(partial(_room, margins, demand.never))(centres[:, :n], wide[:, :n])
            least = jnp.minimum(least, jnp.where(mask, room, jnp.inf).min())
        sides = reduced(wide[-1, :n], n)
        lost = ~(jnp.abs(sides).max() < _LOST)
        kept = jnp.where(lost, _THIN * jnp.eye(n), sides)
        return (centres[-1, :n], kept, jnp.where(lost, -jnp.inf, least)), None

    first = ((low + high) / 2, jnp.diag(jnp.maximum((high - low) / 2, _THIN)), jnp.inf)
    return jax.lax.scan(period, first, [jnp.array(mask) for mask in asked])[0][2]


METHODS = {"boxes": by_boxes, "parallelotopes": by_parallelotopes}


def share_within(loop: Loop, method: Callable[..., Any], seconds: float) -> tuple[float, int, float, float]:
    """Share of the first box that meets the demands, parts that were followed, CPU seconds to compile and to run."""
    first = np.array(loop.plant.initial, np.float64)
    width = np.maximum(first[:, 1] - first[:, 0], 1e-300)
    many = jax.jit(jax.vmap(partial(least_room, loop, method)))
    started = time.process_time()
    compiled = many.lower(*(jnp.zeros((TOGETHER, loop.n)),) * 2).compile()
    ready = time.process_time()
    waiting, followed, proved = [(first[:, 0], first[:, 1], 1.0)], 0, 0.0
    while waiting and time.process_time() - ready < seconds:
        parts, waiting = waiting[:TOGETHER], waiting[TOGETHER:]
        rows = [np.resize(np.stack([part[k] for part in parts]), (TOGETHER, loop.n)) for k in (0, 1)]
        rooms = np.asarray(compiled(*map(jnp.array, rows)))[: len(parts)]
        followed += len(parts)
        for (low, high, share), room in zip(parts, rooms, strict=True):
            if room >= 0:
                proved += share
                continue
            side = int(np.argmax((high - low) / width))
            cut = (low[side] + high[side]) / 2
            left, right = high.copy(), low.copy()
            left[side] = right[side] = cut
            waiting += [(low, left, share / 2), (right, high, share / 2)]
    return proved, followed, ready - started, time.process_time() - ready


def main() -> None:
    """Follow the sets of every instance and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("instances", nargs="*", default=[], metavar="INSTANCE")
    parser.add_argument("--controllers", default="network,law")
    parser.add_argument("--methods", default="boxes,parallelotopes")
    parser.add_argument("--seconds", type=float, default=60)
    arguments = parser.parse_args()
    rows = []
    for name in arguments.instances or NAMES:
        instance = archcomp.find(name)
        for kind in arguments.controllers.split(","):
            if kind == "network" and instance.network is None:
                continue
            loop = Loop(instance, (network_of if kind == "network" else law_of)(instance))
            for method in arguments.methods.split(","):
                share, parts, compiling, running = share_within(loop, METHODS[method], arguments.seconds)
                rows.append((instance.title, kind, method, 100 * share, parts, compiling, running))
                print(*rows[-1], sep="\t", flush=True)
    columns = [
        *(Column("instance"), Column("controller"), Column("sets"), Column("% of first states", 1)),
        *(Column("parts"), Column("compiling, CPU s", 1), Column("following, CPU s", 1)),
    ]
    print(to_markdown(Table("peers", "Reachability by immrax", columns, rows)))


if __name__ == "__main__":
    main()
