"""Questions about two models of 8 experts, depth 5 and 8 features: ``moet.verify`` against z3 on the same questions.

    python benchmarks/verify_queries.py [--limit 120] [--json out.json]

The models are trained on the labels of a random network, two seeds of one recipe. z3 gets the SMT-LIB text of the same
question (moet.verify.smtlib). For ``closest`` it is asked twice: to minimise, and, given our distance, only to confirm
that nothing is nearer. Times are CPU seconds of this process, kernels compiled beforehand; ours include the
certificate, which is then checked.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from harness import Results, Row, console, cpu_seconds, machine, show, single_threaded
from tasks import synthetic

from moet import Mixture, MoETClassifier, verify
from moet.verify import Box, always, closest, differences, equivalent, smtlib

N_EXPERTS, DEPTH, N_FEATURES, N_CLASSES = 8, 5, 8, 4
N_ROWS = 20_000


@lru_cache
def model(seed: int) -> Mixture:
    """Train one of the models."""
    X, y = synthetic(N_ROWS, N_FEATURES, N_CLASSES)
    classifier = MoETClassifier(n_experts=N_EXPERTS, max_depth=DEPTH, prediction="hard", random_state=seed)
    return classifier.fit(X, y).mixture_


@lru_cache
def domain() -> Box:
    """Box of all rows."""
    X, _ = synthetic(N_ROWS, N_FEATURES, N_CLASSES)
    return Box.from_bounds(X.min(axis=0), X.max(axis=0))


def scaled_copy(mixture: Mixture) -> Mixture:
    """Same model with all gate numbers doubled."""
    return Mixture(2 * mixture.gate_weights, 2 * mixture.gate_bias, mixture.trees, mixture.classes)


def start() -> np.ndarray[Any, Any]:
    """One of the rows."""
    return synthetic(N_ROWS, N_FEATURES, N_CLASSES)[0][7]


def neighbourhood() -> Box:
    """Box around a row in which the model gives one answer."""
    x, radius = start(), 0.99 * verify.robustness_radius(model(0), start(), domain=domain())
    return Box.from_bounds(x - radius, x + radius)


def question(name: str) -> tuple[Callable[[], Any], Callable[[Any], str], list[Mixture]]:
    """How we answer, the text for z3 given our answer, and the models a certificate is about."""
    a, b, box = model(0), model(1), domain()
    copy, x = scaled_copy(a), start()
    match name:
        case "always":
            near, labels = neighbourhood(), [a.act(x)]
            return lambda: always(a, near, labels), lambda _: smtlib.always(a, near, labels), [a]
        case "equivalent (scaled gate)":
            return lambda: equivalent(a, copy, box), lambda _: smtlib.equivalent(a, copy, box), [a, copy]
        case "differences (first)":
            return lambda: differences(a, b, box, limit=1), lambda _: smtlib.equivalent(a, b, box), []
        case _ if name.startswith("closest"):
            norm = "linf" if "linf" in name else "l1"
            known = name.endswith("given")
            return (
                lambda: closest(a, x, norm, box),
                lambda found: smtlib.closest(a, x, found.exact_distance if known else None, norm, box),
                [a],
            )
    raise ValueError(name)


QUESTIONS = (
    "always",
    "equivalent (scaled gate)",
    "differences (first)",
    *(f"closest ({norm}){known}" for norm in ("linf", "l1") for known in ("", ", distance given")),
)


def answer(name: str, limit: float) -> Row:
    """Time both sides on one question."""
    ask, text, models = question(name)
    ask()
    answer, seconds = cpu_seconds(ask, repeat=5)
    check_seconds = None
    if models:
        assert answer
        _, check_seconds = cpu_seconds(lambda: verify.check(answer.certificate, *models))
    opinion, z3_seconds = cpu_seconds(lambda: smtlib.solve(text(answer), limit))
    undecided = opinion.status == "unknown"
    if name in ("always", "equivalent (scaled gate)") or name.endswith("given"):
        assert undecided or opinion.status == "unsat", "z3 disagrees"
    return {"seconds": seconds, "check": check_seconds, "z3": z3_seconds, "undecided": undecided}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=120.0, help="seconds z3 may take per question")
    parser.add_argument("--json", type=Path, help="file to keep the rows in")
    arguments = parser.parse_args()
    single_threaded()
    console.print(machine())
    results = Results(arguments.json)
    rows = []
    for name in QUESTIONS:
        row = results.measure(answer, name=name, limit=arguments.limit)
        more = "> " if row["undecided"] else ""
        check = "" if row["check"] is None else f"{1e3 * row['check']:.1f}"
        ratio = f"{more}{row['z3'] / row['seconds']:,.0f}"
        rows.append((name, f"{1e3 * row['seconds']:.1f}", check, f"{more}{row['z3']:.2f}", ratio))
    title = f"Two models, {N_EXPERTS} experts, depth {DEPTH}, {N_FEATURES} features"
    show(title, ("question", "ours, ms", "check, ms", "z3, s", "z3 ÷ ours"), rows)


if __name__ == "__main__":
    main()
