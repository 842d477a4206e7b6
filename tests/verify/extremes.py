"""Questions with extreme numbers, and a judge that shares nothing with the searches: all critical inputs, exactly."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from moet import Mixture, Tree
from moet.errors import MoetError
from moet.verify import Box, Closest, Proved, Refuted, Unknown, always, closest, differences, equivalent

NUMBERS = [0.0, -0.0, 5e-324, -5e-324, 1e-310, -1e-310, 1e-20, 1.0, -1.0, 0.1, 1e17, 1e17 + 16, -1e17, 1e150, -1e150]
LARGEST = [1e308, -1e308, 1.7e308, 1e200]


def number(rng: np.random.Generator, largest: bool = True) -> float:
    """One of the awkward numbers, or an ordinary one."""
    if rng.random() < 0.4:
        return float(np.round(rng.normal(), int(rng.integers(0, 4))))
    return float(rng.choice(NUMBERS + LARGEST if largest and rng.random() < 0.3 else NUMBERS))


def tree(rng: np.random.Generator, n_features: int, n_classes: int, depth: int) -> Tree:
    """Tree whose tests may contradict one another."""
    arrays: dict[str, list[Any]] = {"feature": [], "threshold": [], "left": [], "right": [], "value": []}

    def grow(levels: int) -> int:
        node = len(arrays["feature"])
        inner = levels > 0 and rng.random() < 0.8
        for name, entry in (
            ("feature", int(rng.integers(n_features)) if inner else -1),
            ("threshold", number(rng) if inner else 0.0),
            ("left", -1),
            ("right", -1),
            ("value", np.eye(n_classes)[rng.integers(n_classes)]),
        ):
            arrays[name].append(entry)
        if inner:
            arrays["left"][node] = grow(levels - 1)
            arrays["right"][node] = grow(levels - 1)
        return node

    grow(depth)
    return Tree(**(arrays | {"value": np.array(arrays["value"])}))


def mixture(rng: np.random.Generator, n_features: int) -> Mixture:
    """Mixture with extreme numbers, at times with an expert twice."""
    n_experts = int(rng.integers(1, 4))
    trees = [tree(rng, n_features, 3, int(rng.integers(0, 3))) for _ in range(n_experts)]
    gate = np.array([[number(rng) for _ in range(n_features + 1)] for _ in range(n_experts)])
    if n_experts > 1 and rng.random() < 0.3:
        gate[-1] = gate[0]
    return Mixture(gate[:, 1:], gate[:, 0], trees, ["a", "b", "c"])


def box(rng: np.random.Generator, n_features: int) -> Box:
    """Box whose sides may be open, or one number."""
    sides = np.sort([[number(rng, largest=False) for _ in range(n_features)] for _ in range(2)], axis=0)
    is_open = rng.random((2, n_features)) < 0.2
    return Box.from_bounds(np.where(is_open[0], -np.inf, sides[0]), np.where(is_open[1], np.inf, sides[1]))


def inputs(models: list[Mixture], domain: Box, more: list[np.ndarray]) -> np.ndarray:
    """Inputs of the domain at and next to all numbers that matter along each feature, where no logit may overflow."""
    lo, hi = domain.bounds(models[0].feature_names)
    columns = []
    for k, (low, high) in enumerate(zip(lo, hi, strict=True)):
        places = [low, high, 0.0, -0.0, 1.0, 1e150, -1e150, 1.7e308, -1.7e308, *(x[k] for x in more)]
        for model in models:
            places += [t for tree in model.trees for t, f in zip(tree.threshold, tree.feature, strict=True) if f == k]
            places += crossings(model, k)
        near = [y for x in places if np.isfinite(x) for y in (np.nextafter(x, -np.inf), x, np.nextafter(x, np.inf))]
        columns.append(sorted({float(y) for y in near if low <= y <= high and np.isfinite(y)}))
    X = np.array(list(product(*columns))).reshape(-1, len(lo))
    return X[[all(is_finite(model, x) for model in models) for x in X]]


def crossings(model: Mixture, k: int) -> list[float]:
    """Where two logits are equal along a feature, the others being zero."""
    found = []
    for i in range(model.n_experts):
        for j in range(i):
            slope = Fraction(model.gate_weights[i, k]) - Fraction(model.gate_weights[j, k])
            if slope:
                place = (Fraction(model.gate_bias[j]) - Fraction(model.gate_bias[i])) / slope
                found.append(float(place) if abs(place) < 2**1023 else 0.0)
    return found


def is_finite(model: Mixture, x: np.ndarray) -> bool:
    """Whether no logit of several may overflow."""
    if model.n_experts == 1:
        return True
    exact = [Fraction(v) for v in x.tolist()]
    gate = zip(model.gate_weights.tolist(), model.gate_bias.tolist(), strict=True)
    sizes = [abs(Fraction(b)) + sum(abs(Fraction(w) * v) for w, v in zip(row, exact, strict=True)) for row, b in gate]
    return max(sizes) < 2**1019


def exact_answer(model: Mixture, x: np.ndarray) -> str:
    """Answer when nothing is rounded."""
    exact = [Fraction(v) for v in x.tolist()]
    gate = zip(model.gate_weights.tolist(), model.gate_bias.tolist(), strict=True)
    logits = [Fraction(b) + sum(Fraction(w) * v for w, v in zip(row, exact, strict=True)) for row, b in gate]
    tree, node = model.trees[logits.index(max(logits))], 0
    while tree.feature[node] >= 0:
        go_left = x[tree.feature[node]] <= tree.threshold[node]
        node = tree.left[node] if go_left else tree.right[node]
    return str(model.classes[tree.value[node].argmax()])


def distance(x: np.ndarray, y: np.ndarray, norm: str) -> Fraction:
    """Distance of two inputs."""
    gaps = [abs(Fraction(a) - Fraction(b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    return max(gaps) if norm == "linf" else sum(gaps, Fraction(0))


def ask(seed: int) -> str:
    """Ask a random question and judge the verdict; return what it was. Errors of the package are verdicts, too."""
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(1, 3))
    a, domain = mixture(rng, n_features), box(rng, n_features)
    kind = ["always", "equivalent", "closest", "differences"][seed % 4]
    judge = {"always": _always, "equivalent": _equivalent, "closest": _closest, "differences": _differences}[kind]
    try:
        return f"{kind} {judge(rng, a, domain)}"
    except MoetError as error:
        return f"{kind} {type(error).__name__}: {str(error)[:40]}"


def _always(rng: np.random.Generator, a: Mixture, domain: Box) -> str:
    permitted = ["a", "b"][: int(rng.integers(1, 3))]
    verdict = always(a, domain, permitted, cpu_limit=5)
    if isinstance(verdict, Refuted):
        assert verdict.point in _Inside(domain, a)
        assert a.act(verdict.point) not in permitted
    elif isinstance(verdict, Proved):
        assert verdict.checked
        X = inputs([a], domain, [])
        assert set(a.predict(X).tolist()) <= set(permitted) if len(X) else True
    return type(verdict).__name__


def _equivalent(rng: np.random.Generator, a: Mixture, domain: Box) -> str:
    b = _relative(rng, a)
    verdict = equivalent(a, b, domain, cpu_limit=5)
    if isinstance(verdict, Refuted):
        x = verdict.point
        assert x in _Inside(domain, a)
        assert a.act(x) != b.act(x)
        assert exact_answer(a, x) != exact_answer(b, x)
    elif isinstance(verdict, Proved):
        assert verdict.checked
        X = inputs([a, b], domain, [])
        assert all(exact_answer(a, x) == exact_answer(b, x) for x in X)
    return type(verdict).__name__


def _closest(rng: np.random.Generator, a: Mixture, domain: Box) -> str:
    x = np.array([number(rng, largest=False) for _ in range(a.n_features)])
    norm = str(rng.choice(["linf", "l1"]))
    found = closest(a, x, norm, domain, cpu_limit=5)
    own = exact_answer(a, x)
    if isinstance(found, Unknown):
        return "Unknown"
    assert isinstance(found, Closest)
    assert found.checked
    for y in inputs([a], domain, [x]):
        if exact_answer(a, y) != own:
            assert found.exact_distance is not None
            assert distance(x, y, norm) >= found.exact_distance
    if found.point is not None:
        assert found.point in _Inside(domain, a)
        assert exact_answer(a, found.point) == a.act(found.point) == found.answer != own
        assert distance(x, found.point, norm) <= Fraction(found.point_distance)
    return "found" if found.point is not None else "none"


def _differences(rng: np.random.Generator, a: Mixture, domain: Box) -> str:
    b = _relative(rng, a)
    found = differences(a, b, domain, samples=100, cpu_limit=5)
    for x, answers, region in zip(found.points, found.answers, found.regions, strict=True):
        assert x in _Inside(domain, a)
        assert x in region
        assert (exact_answer(a, x), exact_answer(b, x)) == answers == (a.act(x), b.act(x))
    if found.complete and not found.unseen:
        for x in inputs([a, b], domain, [])[:200]:
            differs = exact_answer(a, x) != exact_answer(b, x)
            assert differs == any(x in region for region in found.regions)
    return "some" if len(found) else "none"


def _relative(rng: np.random.Generator, a: Mixture) -> Mixture:
    """Another model, or nearly the same one."""
    if rng.random() < 0.4:
        return mixture(rng, a.n_features)
    gate = np.column_stack([a.gate_weights, a.gate_bias])
    if rng.random() < 0.5:
        with np.errstate(over="ignore", under="ignore"):
            scaled = gate * 2.0
        gate = scaled if np.all(np.isfinite(scaled)) else gate
    else:
        gate[rng.integers(len(gate)), rng.integers(gate.shape[1])] = number(rng)
    return Mixture(gate[:, :-1], gate[:, -1], a.trees, a.classes)


class _Inside:
    """The inputs of a domain."""

    def __init__(self, domain: Box, model: Mixture) -> None:
        self._lo, self._hi = domain.bounds(model.feature_names)

    def __contains__(self, x: np.ndarray) -> bool:
        return bool(np.all((self._lo <= x) & (x <= self._hi)))
