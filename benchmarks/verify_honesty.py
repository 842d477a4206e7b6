"""Wrong verdicts: random small models and questions, answered by ``moet.verify`` and judged by others.

    python benchmarks/verify_honesty.py [--count 2000] [--first 0] [--no-z3]

Every answer is compared with inputs chosen to be awkward (on thresholds, beside them, where experts tie) and, for hard
models, with z3 on the SMT-LIB text of the same question. Every certificate is checked. Models are made of few round
numbers, so that ties and empty regions are common, or of random ones; some pairs are equal in disguise. The script ends
with an error at the first wrong verdict.
"""

from __future__ import annotations

import argparse
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from harness import cpu_seconds, show
from numpy.typing import NDArray

from moet import Mixture, Tree
from moet.verify import smtlib
from moet.verify.box import Box
from moet.verify.checking import check
from moet.verify.exact import ExactMixture, exactly
from moet.verify.inputs.difference_regions import differences
from moet.verify.inputs.distance import distance_of
from moet.verify.inputs.nearest import closest
from moet.verify.inputs.queries import always, equivalent
from moet.verify.result import Closest, Proved, Refuted, Unknown

Floats = NDArray[np.float64]

ROUND = np.array([0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 0.25, 0.1, -0.3, 3.0])
KINDS = ("always", "equivalent", "closest", "differences", "soft always", "soft equivalent", "soft closest")
Z3_SECONDS = 20.0


class WrongVerdictError(AssertionError):
    """An answer that somebody else can refute."""


class Question(NamedTuple):
    """What is asked; ``labels`` are the permitted answers, the classes compared, or the answer looked for."""

    kind: str
    models: tuple[Mixture, ...]
    domain: Box | None
    labels: list[int] | None
    x: Floats
    norm: Any
    seed: int


def random_question(seed: int) -> Question:
    """Make one of the questions, kind by kind in turn."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    n_features, n_classes, is_round = int(rng.integers(1, 4)), int(rng.integers(2, 4)), rng.random() < 0.6
    a = random_mixture(rng, n_features, n_classes, is_round, "soft" if kind.startswith("soft") else "hard")
    models = (a,)
    if kind.endswith(("equivalent", "differences")):
        other = random_mixture(rng, n_features, n_classes, is_round, a.prediction)
        models = (a, disguised(rng, a) if rng.random() < 0.7 else other)
    some = rng.choice(n_classes, size=rng.integers(1, n_classes), replace=False).tolist()
    domain = random_box(rng, n_features, is_round, bounded=kind.startswith("soft"))
    return Question(
        kind=kind,
        models=models,
        domain=domain if kind.startswith("soft") or rng.random() < 0.8 else None,
        labels=some if "always" in kind or rng.random() < 0.3 else None,
        x=rng.choice(ROUND, n_features) if is_round else rng.normal(size=n_features),
        norm=rng.choice(["linf", "l1"]).item(),
        seed=seed,
    )


def random_mixture(
    rng: np.random.Generator, n_features: int, n_classes: int, is_round: bool, prediction: Any
) -> Mixture:
    """Up to four experts of up to three tests in a row; some gates have equal rows, or rows that never win."""
    n_experts, depth = int(rng.integers(1, 5)), int(rng.integers(0, 4))
    shape = (n_experts, n_features + 1)
    gate = rng.choice(ROUND, shape) if is_round else rng.normal(size=shape)
    if n_experts > 1 and rng.random() < 0.3:
        gate[-1] = gate[0]
    if n_experts > 2 and rng.random() < 0.3:
        gate[1] = (gate[0] + gate[2]) / 2
    trees = [random_tree(rng, n_features, n_classes, depth, is_round, prediction == "soft") for _ in range(n_experts)]
    return Mixture(gate[:, 1:], gate[:, 0], trees, list(range(n_classes)), prediction=prediction)


def random_tree(
    rng: np.random.Generator, n_features: int, n_classes: int, depth: int, is_round: bool, is_mixed: bool
) -> Tree:
    """Tree with random tests; leaves are certain of their class unless ``is_mixed``."""
    feature, threshold, left, right, value = [], [], [], [], []

    def grow(levels: int) -> int:
        node = len(feature)
        is_leaf = levels == 0 or rng.random() < 0.2
        feature.append(-1 if is_leaf else int(rng.integers(n_features)))
        threshold.append(float(rng.choice(ROUND) if is_round else rng.normal()))
        value.append(rng.dirichlet(np.ones(n_classes)) if is_mixed else np.eye(n_classes)[rng.integers(n_classes)])
        left.append(-1)
        right.append(-1)
        if not is_leaf:
            left[node] = grow(levels - 1)
            right[node] = grow(levels - 1)
        return node

    grow(depth)
    return Tree(feature, threshold, left, right, np.array(value))


def disguised(rng: np.random.Generator, mixture: Mixture) -> Mixture:
    """Same answers in another guise, or almost: scaled, permuted, shifted or pruned, or one bit changed."""
    weights, bias, trees = mixture.gate_weights.copy(), mixture.gate_bias.copy(), list(mixture.trees)
    match rng.integers(5):
        case 0:
            weights, bias = 2 * weights, 2 * bias
        case 1:
            order = rng.permutation(len(trees))
            weights, bias, trees = weights[order], bias[order], [trees[j] for j in order]
        case 2:
            weights, bias = weights + 1.5, bias - 0.5
        case 3 if mixture.prediction == "hard":
            return mixture.prune()
        case _:
            weights[0, 0] = np.nextafter(weights[0, 0], np.inf)
    return Mixture(weights, bias, trees, mixture.classes, prediction=mixture.prediction)


def random_box(rng: np.random.Generator, n_features: int, is_round: bool, bounded: bool) -> Box:
    """Box with a quarter of its sides open, unless it must be bounded."""
    ends = rng.choice(ROUND, (2, n_features)) if is_round else rng.normal(size=(2, n_features))
    lo, hi = np.sort(ends, axis=0)
    is_open = (rng.random((2, n_features)) < 0.25) & (not bounded)
    return Box.from_bounds(np.where(is_open[0], -np.inf, lo), np.where(is_open[1], np.inf, hi))


def awkward_inputs(question: Question, n: int = 400) -> Floats:
    """Inputs of the domain on thresholds and sides, one step beside them, and where two experts of a model tie."""
    rng = np.random.default_rng(question.seed)
    mixtures = question.models
    lo, hi = (question.domain or Box()).bounds(mixtures[0].feature_names)
    special = np.concatenate([ROUND, question.x, *(tree.threshold for m in mixtures for tree in m.trees)])
    special = np.concatenate([special, np.nextafter(special, np.inf), np.nextafter(special, -np.inf)])
    X = np.where(
        rng.random((n, len(lo))) < 0.6, rng.choice(special, (n, len(lo))), rng.normal(scale=2.0, size=(n, len(lo)))
    )
    for mixture in mixtures:
        for j, k in pairwise(range(mixture.n_experts)):
            gap = mixture.gate_weights[j] - mixture.gate_weights[k]
            if (square := gap @ gap) > 1e-100:
                rows = rng.choice(n, 30)
                lead = X[rows] @ gap + mixture.gate_bias[j] - mixture.gate_bias[k]
                X[rows] -= (lead / square)[:, None] * gap
    return np.clip(X, lo, hi)


def demand(condition: bool, question: Question, what: str) -> None:
    """Complain about a wrong verdict."""
    if not condition:
        raise WrongVerdictError(f"question {question.seed} ({question.kind}): {what}")


def judge(question: Question, ask_z3: bool = True) -> str:
    """Answer a question and try to refute the answer; return what the answer was."""
    judges = {"equivalent": judge_equivalent, "closest": judge_closest, "differences": judge_differences}
    return judges.get(question.kind.split()[-1], judge_always)(question, ask_z3)


def judge_always(question: Question, ask_z3: bool) -> str:
    """A proof must hold for the deployed predictor; a counterexample must be one."""
    (model,), permitted = question.models, question.labels or []
    verdict = always(model, question.domain, permitted, seed=question.seed)
    answers = model.predict(awkward_inputs(question))
    if isinstance(verdict, Proved):
        demand(bool(np.all(np.isin(answers, permitted))), question, "an input is answered otherwise")
    if isinstance(verdict, Refuted):
        demand(verdict.point is not None and model.act(verdict.point) not in permitted, question, "no counterexample")
    _check(question, verdict)
    if model.prediction == "hard":
        _ask_z3(question, verdict, smtlib.always(model, question.domain, permitted), ask_z3)
    return type(verdict).__name__


def judge_equivalent(question: Question, ask_z3: bool) -> str:
    """A proof must hold in exact arithmetic; a counterexample must be one there and as deployed."""
    a, b = question.models
    verdict = equivalent(a, b, question.domain, question.labels, seed=question.seed, timeout=5)
    if isinstance(verdict, Proved):
        X = awkward_inputs(question)
        suspects = np.concatenate([X[_differ(question, a.predict(X), b.predict(X))], X[:10]])
        for x in suspects[:20]:
            demand(not _differ_exactly(question, x), question, f"the answers differ at {x.tolist()}")
    if isinstance(verdict, Refuted) and verdict.point is not None:
        x = verdict.point[None, :]
        deployed = _differ(question, a.predict(x), b.predict(x))[0]
        demand(bool(deployed) and _differ_exactly(question, x[0]), question, "no counterexample")
    _check(question, verdict)
    if a.prediction == "hard":
        _ask_z3(question, verdict, smtlib.equivalent(a, b, question.domain, question.labels), ask_z3)
    return type(verdict).__name__


def judge_differences(question: Question, ask_z3: bool) -> str:
    """Points must differ and lie in their regions; if all regions were found, no other input may differ."""
    a, b = question.models
    found = differences(a, b, question.domain, limit=50, classes=question.labels, samples=2000, seed=question.seed)
    for x, region in zip(found.points, found.regions, strict=True):
        demand(x in region and _differ_exactly(question, x), question, "a point does not differ")
    if found.complete and not found.unseen:
        for x in awkward_inputs(question)[:40]:
            in_region = any(x in region for region in found.regions)
            demand(in_region == _differ_exactly(question, x), question, f"wrong regions at {x.tolist()}")
        verdict = Refuted() if len(found) else Proved()
        _ask_z3(question, verdict, smtlib.equivalent(a, b, question.domain, question.labels), ask_z3)
    return f"{'all' if found.complete else 'some'} regions" if len(found) else "no region"


def judge_closest(question: Question, ask_z3: bool) -> str:
    """No input may be nearer, the point must have the answer, and z3 must find one just beyond.

    A region may be so thin that it has float64 inputs only far from where it is nearest; that is told as "far".
    """
    (model,) = question.models
    label = None if question.labels is None else question.labels[0]
    found = closest(model, question.x, question.norm, question.domain, label, seed=question.seed, timeout=10)
    if isinstance(found, Unknown):
        return "Unknown"
    wanted = (
        [label] if label is not None else [c for c in model.classes.tolist() if c != _exact_answer(model, question.x)]
    )
    centre = exactly(question.x.tolist())
    for x in awkward_inputs(question)[:100]:
        if _exact_answer(model, x) in wanted:
            distance = distance_of(centre, exactly(x.tolist()), question.norm)
            demand(found.distance <= distance, question, f"{x.tolist()} is nearer than {found.distance}")
    if found.point is not None:
        demand(model.act(found.point) in wanted, question, "the point has another answer")
        demand(found.distance <= found.point_distance, question, "the point is nearer than the distance")
    _check(question, found)
    if ask_z3 and model.prediction == "hard":
        _ask_z3_closest(question, found, label)
    if found.point is None:
        return "none"
    return "found" if found.point_distance - found.distance <= 2e-3 * found.distance + 1e-9 else "far"


def _exact_answer(model: Mixture, x: Floats) -> int:
    if model.prediction == "soft":
        return int(model.predict(x[None, :])[0])
    return ExactMixture(model).answer(exactly(x.tolist()))


def _differ(question: Question, first: Any, second: Any) -> Any:
    if question.labels is None:
        return first != second
    return (first != second) & (np.isin(first, question.labels) | np.isin(second, question.labels))


def _differ_exactly(question: Question, x: Floats) -> bool:
    """Whether the answers differ when nothing is rounded; for soft models only if rounding surely does not matter."""
    for model in question.models:
        best, second = np.sort(model.predict_proba(x[None, :])[0])[[-1, -2]]
        if model.prediction == "soft" and best - second < 1e-12:
            return False
    first, second = (np.array([_exact_answer(model, x)]) for model in question.models)
    return bool(_differ(question, first, second)[0])


def _check(question: Question, verdict: Any) -> None:
    if isinstance(verdict, Proved):
        check(verdict.certificate, *question.models)


def _ask_z3(question: Question, verdict: Any, text: str, ask_z3: bool) -> None:
    # of time, and of what is a matter of rounding, z3 has no opinion
    excused = isinstance(verdict, Unknown) and any(word in verdict.reason for word in ("limit of", "float64 rounding"))
    if ask_z3 and not excused:
        opinion = smtlib.solve(text, Z3_SECONDS)
        if opinion.status != "unknown":
            demand(isinstance(verdict, Proved) == (opinion.status == "unsat"), question, f"z3 says {opinion}")


def _ask_z3_closest(question: Question, found: Closest, label: int | None) -> None:
    (model,) = question.models

    def nearer_than(distance: Fraction) -> str:
        text = smtlib.closest(model, question.x, distance, question.norm, question.domain, label)
        return smtlib.solve(text, Z3_SECONDS).status

    distance = Fraction(10) ** 30 if found.exact_distance is None else found.exact_distance
    demand(nearer_than(distance) != "sat", question, "z3 finds a nearer input")
    if found.exact_distance is not None:
        beyond = nearer_than(distance + Fraction(1, 10**25))
        demand(beyond != "unsat", question, "z3 finds no input at this distance")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first question")
    parser.add_argument("--no-z3", action="store_true", help="compare with inputs only")
    arguments = parser.parse_args()
    outcomes: Counter[tuple[str, str]] = Counter()

    def ask_all() -> None:
        for seed in range(arguments.first, arguments.first + arguments.count):
            question = random_question(seed)
            outcomes[question.kind, judge(question, not arguments.no_z3)] += 1

    _, seconds = cpu_seconds(ask_all)
    rows = [(*key, count) for key, count in sorted(outcomes.items())]
    show(f"{outcomes.total()} questions, no wrong verdict, {seconds:.0f} CPU s", ("question", "answer", "count"), rows)


if __name__ == "__main__":
    main()
