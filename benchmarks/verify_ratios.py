"""How long the check of a proof takes beside its search, for every engine that is not in the other tables.

    python benchmarks/verify_ratios.py [--repeats 3] [--kinds soft,plants] [--results results.json]

Soft models: four experts of depth 3 on four features, five rows, both norms, and answers around a row. Models of
numbers: four experts of depth 2 with affine laws. Plants: those of ``moet bench archcomp`` whose proofs take seconds
at most. CPU seconds of one thread, medians of some calls, search and check of the same call.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from harness import Results, Row, console, machine, search_and_check, show, single_threaded
from tasks import synthetic

from moet import Box, MoETClassifier, MoETRegressor, verify
from moet.study.archcomp import INSTANCES

PLANTS = ("acc", "tora", "unicycle", "attitude", "single_pendulum", "double_pendulum", "quad", "balancing", "docking")
N_ROWS = 5


def soft_questions() -> Iterator[tuple[str, Callable[[], Any]]]:
    """The nearest other answer of rows, and the answers around them."""
    X, y = synthetic(3000, 4, 3)
    mixture = MoETClassifier(4, 3, prediction="soft", random_state=0).fit(X, y).mixture_
    for norm in ("linf", "l1"):
        for row in X[:N_ROWS]:
            yield f"closest, soft, {norm}", partial(verify.closest, mixture, row, norm, cpu_limit=10)
    for row in X[:N_ROWS]:
        near = Box.from_bounds(row - 0.05, row + 0.05)
        yield "always, soft", partial(verify.always, mixture, near, [mixture.act(row)])


def number_questions() -> Iterator[tuple[str, Callable[[], Any]]]:
    """The range of a model of numbers, a condition, and the nearest row with another answer."""
    X, _ = synthetic(3000, 6, 3)
    mixture = (
        MoETRegressor(4, 2, leaf="affine", prediction="hard", random_state=0).fit(X, np.sin(X).sum(axis=1)).mixture_
    )
    box = Box.from_bounds(X.min(axis=0), X.max(axis=0))
    bound = float(verify.range(mixture, box).high[0]) + 0.1
    yield "range", partial(verify.range, mixture, box)
    yield "always, numbers", partial(verify.always, mixture, box, f"{mixture.outputs[0]} <= {bound}")
    yield "closest, numbers", partial(verify.closest, mixture, X[0], "linf", box, tolerance=0.5)


def plant_questions() -> Iterator[tuple[str, Callable[[], Any]]]:
    """What the competition demands of its plants."""
    for name, instance in INSTANCES.items():
        if any(name.startswith(part) for part in PLANTS) and instance.holds:
            plant, policy, spec = instance.plant, instance.controller, str(instance.spec)
            yield f"meets, {name}", partial(verify.meets, policy, plant, spec, cpu_limit=30)


KINDS = {"soft": soft_questions, "numbers": number_questions, "plants": plant_questions}


def ratio(kind: str, repeats: int) -> Row:
    """Medians of search and check, by question; questions of one name are added."""
    found: dict[str, list[Any]] = {}
    for name, ask in KINDS[kind]():
        verdict = ask()  # compiles
        if not verdict.checked:
            found.setdefault(name, [0.0, 0.0, 0, 0])[3] += 1
            continue
        calls = [search_and_check(ask) for _ in range(repeats)]
        row = found.setdefault(name, [0.0, 0.0, 0, 0])
        row[0] += float(np.median([search for _, search, _ in calls]))
        row[1] += float(np.median([check for *_, check in calls]))
        row[2] += 1
    return {"questions": found}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3, help="calls per question")
    parser.add_argument("--kinds", default=",".join(KINDS), help="kinds of questions, with commas between them")
    parser.add_argument("--results", type=Path, help="file to keep the figures in")
    options = parser.parse_args()
    single_threaded()
    console.print(machine())
    results, rows = Results(options.results), []
    for kind in options.kinds.split(","):
        for name, (search, check, proved, other) in results.measure(ratio, kind=kind, repeats=options.repeats)[
            "questions"
        ].items():
            over = check / search if proved else float("nan")
            rows.append((name, proved, other, 1e3 * search / max(proved, 1), 1e3 * check / max(proved, 1), over))
    show("Search and check", ("question", "proved", "not", "search, ms", "check, ms", "check / search"), rows)


if __name__ == "__main__":
    main()
