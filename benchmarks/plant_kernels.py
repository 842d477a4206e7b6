"""Simulated runs of an instance of ``moet bench archcomp``, compiled: equations become Python that Numba reads.

Runs are led side by side, a few at a time, so that the compiler makes vectors of them. What is simulated is what
:func:`moet.study.archcomp.simulate.play` simulates, at fewer points in between where a period is short.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from moet.study.archcomp.instance import Instance
from moet.study.archcomp.simulate import LONGEST_STEP
from moet.verify.systems import AffineSystem, SampledSystem
from moet.verify.systems.equations import Expression, comparison_sides

Floats = NDArray[np.float64]

LANES = 64
FOR_EVER = 500
FEWEST_STEPS = 2
"""Runs side by side, looks where demands are for ever, and points per period at the least."""

_OPTIONS = {"fastmath": {"contract", "reassoc", "nsz", "arcp"}, "error_model": "numpy"}
_LOST = 1e9
_EXACT = {"sin", "cos", "tan", "exp", "sqrt"}


class _Renamed(ast.NodeTransformer):
    """Names get a prefix, so that none is a word of Python; functions are those of ``math``."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        assert isinstance(node.func, ast.Name)
        name = f"math.{node.func.id}" if node.func.id in _EXACT else node.func.id
        arguments = [self.visit(argument) for argument in node.args]
        return ast.Call(ast.parse(name, mode="eval").body, arguments, [])

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(f"v_{node.id}", ast.Load())

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant(float(node.value)) if isinstance(node.value, int | float) else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        if isinstance(node.op, ast.Pow):  # its exponent stays whole
            return ast.BinOp(self.visit(node.left), node.op, node.right)
        return self.generic_visit(node)


def code(expression: Expression) -> str:
    """An expression as Python."""
    return ast.unparse(ast.fix_missing_locations(_Renamed().visit(ast.parse(expression.text, mode="eval"))))


def _compiled(name: str, arguments: str, lines: Iterable[str]) -> Any:
    source = f"def {name}({arguments}):\n" + "\n".join(f"    {line}" for line in (*lines, "return"))
    space: dict[str, Any] = {"math": math, "__name__": __name__}
    exec(source, space)
    return numba.njit(**_OPTIONS)(space[name])


def _reads(array: str, names: Iterable[str]) -> list[str]:
    return [f"    v_{name} = {array}[{k}, i]" for k, name in enumerate(names)]


def equations_of(plant: Any) -> Any:
    """Derivatives, or next states in discrete time, of all lanes."""
    known = _reads("x", plant.states) + _reads("u", plant.controls)
    known += _reads("p", getattr(plant, "parameters", {})) + _reads("w", getattr(plant, "signals", {}))
    if isinstance(plant, AffineSystem):
        names = [f"v_{name}" for name in (*plant.states, *plant.controls)]
        rows = zip(plant.matrix, plant.input_matrix, plant.offset, strict=True)
        said = [
            " + ".join([repr(float(c)), *(f"{float(a)!r} * {n}" for a, n in zip((*r, *g), names, strict=True) if a)])
            for r, g, c in rows
        ]
    else:
        known += [f"    v_{name} = {code(one)}" for name, one in plant.let.items()]
        said = [code(one) for one in (plant.flow if isinstance(plant, SampledSystem) else plant.step)]
    results = [f"    out[{k}, i] = {text}" for k, text in enumerate(said)]
    return _compiled("equations", "x, u, p, w, out", [f"for i in range({LANES}):", *known, *results])


def features_of(plant: Any) -> Any:
    """What the controller sees of all lanes."""
    results = [f"    out[{k}, i] = {code(one)}" for k, one in enumerate(plant.observe.values())]
    results = results or [f"    out[{k}, i] = x[{k}, i]" for k in range(plant.n_states)]
    return _compiled("features", "x, out", [f"for i in range({LANES}):", *_reads("x", plant.states), *results])


def margins_of(instance: Instance) -> Any:
    """Least distance of all lanes from breaking a demand at a time, put into ``out`` where it is less."""
    plant, lines = instance.plant, []
    for demand in instance.demands:
        sides = [pair for text in demand.conditions for pair in comparison_sides(text, set(plant.states))]
        stop = (instance.end if demand.stop is None else demand.stop) + 1e-9
        lines += [f"if {demand.start - 1e-9!r} <= t <= {stop if math.isfinite(stop) else 1e300!r}:"]
        room = [f"        room = min(room, ({code(b)}) - ({code(a)}))" for a, b in sides]
        inner = ["    " + line for line in _reads("x", plant.states)]
        ends = [f"        room = {'-room' if demand.never else 'room'}", f"        if not room >= -{_LOST}:"]
        ends += [f"            room = -{_LOST}", "        out[i] = min(out[i], room)"]
        lines += [f"    for i in range({LANES}):", *inner, "        room = 1e300", *room, *ends]
    return _compiled("margins", "x, t, out", lines)


@numba.njit(**_OPTIONS)
def _answers(
    y: Floats, u: Floats, gate: Floats, roots: Any, tree: Any, laws: Floats, low: Floats, high: Floats
) -> None:
    """Controls of all lanes: the first expert with the largest logit, its leaf, the law there, clipped."""
    feature, threshold, left, right = tree
    n = y.shape[0]
    for i in range(y.shape[1]):
        best, chosen = -np.inf, 0
        for e in range(gate.shape[0]):
            logit = gate[e, 0]
            for k in range(n):
                logit += gate[e, k + 1] * y[k, i]
            if logit > best:
                best, chosen = logit, e
        node = roots[chosen]
        while feature[node] >= 0:
            node = left[node] if y[feature[node], i] <= threshold[node] else right[node]
        for o in range(u.shape[0]):
            value = laws[node, o, 0]
            for k in range(n):
                value += laws[node, o, k + 1] * y[k, i]
            u[o, i] = min(max(value, low[o]), high[o])


@numba.njit(**_OPTIONS)
def _drawn(sides: Floats, out: Floats) -> None:
    """Numbers at one of their limits each."""
    for k in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[k, i] = sides[k, 0] if np.random.random() < 0.5 else sides[k, 1]  # noqa: NPY002


def kernel_of(instance: Instance) -> Any:
    """The margins of runs from first states, shape (n_states, LANES) at a time."""
    equations, features, margins = equations_of(instance.plant), features_of(instance.plant), margins_of(instance)
    flows = isinstance(instance.plant, SampledSystem)

    @numba.njit(**_OPTIONS)
    def led(x, out, model, limits, looks, inner, h, seed):  # type: ignore[no-untyped-def]
        gate, roots, tree, laws, low, high = model
        parameters, signals, pushes = limits
        np.random.seed(seed)  # noqa: NPY002
        d, lanes = x.shape
        y, u = np.empty((gate.shape[1] - 1, lanes)), np.empty((len(low), lanes))
        p, w, push = np.empty((len(parameters), lanes)), np.empty((len(signals), lanes)), np.empty((d, lanes))
        first, second, third, last = (
            np.empty((d, lanes)),
            np.empty((d, lanes)),
            np.empty((d, lanes)),
            np.empty((d, lanes)),
        )
        _drawn(parameters, p)
        margins(x, 0.0, out)
        for look in range(looks):
            features(x, y)
            _answers(y, u, gate, roots, tree, laws, low, high)
            for j in range(inner):
                _drawn(signals, w)
                equations(x, u, p, w, first)
                if flows:
                    equations(x + h / 2 * first, u, p, w, second)
                    equations(x + h / 2 * second, u, p, w, third)
                    equations(x + h * third, u, p, w, last)
                    x = x + h / 6 * (first + 2 * second + 2 * third + last)
                else:
                    _drawn(pushes, push)
                    x = first + push
                margins(x, (look * inner + j + 1) * h, out)

    return led


def model_of(instance: Instance) -> tuple[Any, ...]:
    """The controller in arrays."""
    mixture, plant = instance.controller, instance.plant
    sizes = [len(tree.feature) for tree in mixture.trees]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    laws = []
    for tree in mixture.trees:
        shape = (*tree.value.shape, len(plant.features))
        laws.append(
            np.concatenate([tree.value[..., None], np.zeros(shape) if tree.slope is None else tree.slope], axis=2)
        )

    def joined(name: str, moved: bool) -> Any:
        parts = [getattr(tree, name) + (root if moved else 0) for tree, root in zip(mixture.trees, roots, strict=True)]
        return np.ascontiguousarray(np.concatenate(parts))

    tree = (
        joined("feature", False).astype(np.int64),
        joined("threshold", False).astype(np.float64),
        joined("left", True).astype(np.int64),
        joined("right", True).astype(np.int64),
    )
    gate = np.ascontiguousarray(np.concatenate([mixture.gate_bias[:, None], mixture.gate_weights], axis=1))
    least, most = (np.array(side, np.float64) for side in zip(*plant.controls.values(), strict=True))
    low, high = (np.clip(side, least, most) for side in (mixture.low, mixture.high))
    return gate, roots, tree, np.ascontiguousarray(np.concatenate(laws)), low, high


class CompiledRuns:
    """Runs of an instance under its controller."""

    def __init__(self, instance: Instance) -> None:
        plant = instance.plant
        self._kernel, self._model = kernel_of(instance), model_of(instance)
        sides = [getattr(plant, "parameters", {}), getattr(plant, "signals", {})]
        limits = [np.array(list(named.values()), np.float64).reshape(-1, 2) for named in sides]
        self._limits = (*limits, np.array(plant.disturbance, np.float64))
        flows = isinstance(plant, SampledSystem)
        self._inner = max(FEWEST_STEPS, math.ceil(instance.period / LONGEST_STEP)) if flows else 1
        self._h = instance.period / self._inner
        self._looks = FOR_EVER if instance.steps is None else instance.steps

    def margins(self, first: Floats, seed: int) -> Floats:
        """Margins of runs from first states, one per row."""
        blocks = -(-len(first) // LANES)
        rows = np.concatenate([first, np.repeat(first[-1:], blocks * LANES - len(first), axis=0)])
        found = np.full(len(rows), np.inf)
        for k in range(blocks):
            part = slice(k * LANES, (k + 1) * LANES)
            block, out = np.ascontiguousarray(rows[part].T), found[part]
            self._kernel(block, out, self._model, self._limits, self._looks, self._inner, self._h, seed * 7919 + k)
        return np.asarray(found[: len(first)])
