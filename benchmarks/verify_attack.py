"""An attack on ``moet.verify``: nasty questions, forged proofs and hostile files, judged by others.

    python benchmarks/verify_attack.py [--count 100000] [--first 0] [--workers 2] [--kinds always,forged]

Questions have denormal, huge, tied and cancelling numbers, thresholds on the sides of boxes, noise, float32 and
fractions that no float is. Verdicts are judged by an own predictor in Python's floats and fractions, by an own encoding
in z3, and by simulated runs in exact arithmetic or with fifty digits; nothing of that is the library's. Proofs of every
kind, their models and their systems are changed in many ways with digests made to fit: what is accepted must be true.
Files are damaged or monstrous: each must be refused. Three things are counted as defects, and told with the seed that
shows them: a wrong verdict, an escape (an exception that is no error for the user) and endless work. The seeds of a
kind are the whole numbers from ``--first`` on.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from typing import NamedTuple

import verify_honesty
import verify_loop_honesty
from attack import files, forgeries, inputs, loops
from harness import show

from moet.errors import MoetError

ENDLESS = 60.0
"""CPU seconds after which a question that has a limit of 20 s, or a check of a small file, counts as endless."""


class Kind(NamedTuple):
    """A kind of attack, and how often it is made of a hundred times."""

    attack: Callable[[int], str]
    share: float


def _ordinary(seed: int) -> str:
    return verify_honesty.judge(verify_honesty.random_question(seed))


def _ordinary_loop(seed: int) -> str:
    return ", ".join(f"{question} {verdict}" for question, verdict in verify_loop_honesty.judge(seed))


KINDS = {
    "ordinary": Kind(_ordinary, 4),
    "ordinary loop": Kind(_ordinary_loop, 2),
    "always": Kind(inputs.attack_always, 20),
    "equivalent": Kind(inputs.attack_equivalent, 16),
    "differences": Kind(inputs.attack_differences, 8),
    "closest": Kind(inputs.attack_closest, 12),
    "affine": Kind(loops.attack_affine, 8),
    "affine for ever": Kind(loops.attack_affine_for_ever, 2),
    "affine reaches": Kind(loops.attack_affine_reaches, 5),
    "nonlinear": Kind(loops.attack_nonlinear, 1),
    "nonlinear for ever": Kind(loops.attack_nonlinear_for_ever, 0.5),
    "nonlinear reaches": Kind(loops.attack_nonlinear_reaches, 0.5),
    "forged": Kind(forgeries.forge, 16),
    "hostile file": Kind(files.attack_file, 5),
}


class Outcome(NamedTuple):
    """What came of one attack; ``defect`` is empty if all is well."""

    kind: str
    seed: int
    answer: str
    defect: str
    seconds: float


def attempt(kind: str, seed: int) -> Outcome:
    """Make one attack."""
    start = time.process_time()
    answer = defect = ""
    try:
        answer = KINDS[kind].attack(seed)
    except MoetError as error:
        answer = f"refused: {type(error).__name__}"
    except AssertionError as error:
        defect = f"wrong: {error}"
    except Exception as error:
        defect = f"escape: {error!r}"
    seconds = time.process_time() - start
    if seconds > ENDLESS:
        defect = defect or f"endless: {seconds:.0f} CPU s"
    return Outcome(kind, seed, answer, defect, seconds)


def attempts(kinds: list[str], count: int, first: int, workers: int) -> Iterator[Outcome]:
    """Make all attacks, in parallel; kinds take turns, so that a run that is cut short saw all of them."""
    total = sum(KINDS[kind].share for kind in kinds)
    jobs = sorted(
        ((i + 0.5) / n, kind, first + i)
        for kind in kinds
        for n in [max(1, round(count * KINDS[kind].share / total))]
        for i in range(n)
    )
    if workers == 1:
        yield from (attempt(kind, seed) for _, kind, seed in jobs)
        return
    todo = iter(jobs)
    with ProcessPoolExecutor(workers) as pool:
        while part := list(islice(todo, 200 * workers)):
            yield from pool.map(attempt, [kind for _, kind, _ in part], [seed for *_, seed in part], chunksize=20)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000, help="number of attacks in all")
    parser.add_argument("--first", type=int, default=0, help="first seed of every kind")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--kinds", default=",".join(KINDS), help="kinds of attack, with commas between them")
    options = parser.parse_args()
    answers: Counter[tuple[str, str]] = Counter()
    spent: Counter[str] = Counter()
    slowest: dict[str, float] = {}
    defects = 0
    for outcome in attempts(options.kinds.split(","), options.count, options.first, options.workers):
        answers[outcome.kind, outcome.defect.split(":")[0] or outcome.answer] += 1
        spent[outcome.kind] += outcome.seconds
        slowest[outcome.kind] = max(outcome.seconds, slowest.get(outcome.kind, 0.0))
        if answers.total() % 5000 == 0:
            print(f"{answers.total()} attacks so far", file=sys.stderr, flush=True)
        if outcome.defect:
            defects += 1
            print(f"{outcome.kind} {outcome.seed}: {outcome.defect[:300]}", flush=True)
    rows = [(kind, answer, n) for (kind, answer), n in sorted(answers.items())]
    show(f"{answers.total()} attacks, {defects} defects", ("kind", "answer", "count"), rows)
    times = [(kind, spent[kind], slowest[kind]) for kind in spent]
    show("CPU seconds", ("kind", "all", "slowest"), times)
    sys.exit(1 if defects else 0)


if __name__ == "__main__":
    main()
