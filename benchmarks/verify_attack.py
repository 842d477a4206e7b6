"""An attack on ``moet.verify``: nasty questions, forged proofs and hostile files, judged by others.

    python benchmarks/verify_attack.py [--count 100000] [--first 0] [--workers 2] [--kinds always,forged] [--keep FILE]

Questions have denormal, huge, tied and cancelling numbers, thresholds on the sides of boxes, noise, float32 and
fractions that no float is. Verdicts are judged by an own predictor in Python's floats and fractions, by an own encoding
in z3, and by simulated runs in exact arithmetic or with fifty digits; nothing of that is the library's. Proofs of every
kind, their models and their systems are changed in many ways with digests made to fit: what is accepted must be true.
Files are damaged, monstrous or ambiguous: each must be refused. Four things are counted as defects, and told with the
seed that shows them: a wrong verdict, a proof that the checker does not accept, an escape (an exception that is no
error for the user) and endless work. The seeds of a kind are the whole numbers from ``--first`` on. With ``--keep``, a
run that was ended goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import verify_honesty
import verify_loop_honesty
from attack import (
    bundles,
    files,
    forgeries,
    inputs,
    loops,
    names,
    output_rows,
    outputs,
    plant_language,
    plants,
    rows,
    shields,
    soft,
    sums,
    tied_tables,
)
from attack.judge import RejectedProofError
from harness import show

from moet.errors import MoetError
from moet.jit import cpu_seconds_of_compiling

ENDLESS = 60.0
"""CPU seconds after which a question with a limit of at most 20 s, or a check of a small file, counts as endless.

Those of compiling do not count.
"""


class Kind(NamedTuple):
    """A kind of attack, and how often it is made of a hundred times."""

    attack: Callable[[int], str]
    share: float


def _ordinary(seed: int) -> str:
    return verify_honesty.judge(verify_honesty.random_question(seed))


def _ordinary_loop(seed: int) -> str:
    return ", ".join(f"{question} {verdict}" for question, verdict in verify_loop_honesty.judge(seed))


KINDS = {
    "ordinary": Kind(_ordinary, 1),
    "ordinary loop": Kind(_ordinary_loop, 1),
    "always": Kind(inputs.attack_always, 24),
    "equivalent": Kind(inputs.attack_equivalent, 12),
    "differences": Kind(inputs.attack_differences, 4),
    "closest": Kind(inputs.attack_closest, 8),
    "sum of trees": Kind(sums.attack_sum, 6),
    "soft": Kind(soft.attack_soft, 2),
    "range": Kind(outputs.attack_range, 3),
    "conditions": Kind(outputs.attack_conditions, 3),
    "tolerance": Kind(outputs.attack_tolerance, 2),
    "distance": Kind(outputs.attack_distance, 2),
    "table of numbers": Kind(output_rows.attack_output_rows, 1),
    "affine": Kind(loops.attack_affine, 10),
    "affine for ever": Kind(loops.attack_affine_for_ever, 0.5),
    "affine reaches": Kind(loops.attack_affine_reaches, 7),
    "nonlinear": Kind(loops.attack_nonlinear, 0.5),
    "nonlinear for ever": Kind(loops.attack_nonlinear_for_ever, 0.1),
    "nonlinear reaches": Kind(loops.attack_nonlinear_reaches, 0.1),
    "three states": Kind(loops.attack_three_states, 0.2),
    "long paths": Kind(loops.attack_long, 0.3),
    "forged": Kind(forgeries.forge, 22),
    "rows": Kind(rows.attack_rows, 1),
    "tied table": Kind(tied_tables.attack_tied_table, 2),
    "other words": Kind(names.attack_names, 2),
    "forged claim": Kind(rows.forge_claim, 4),
    "plant": Kind(plants.attack_plant, 1),
    "forged plant": Kind(plants.forge_plant, 4),
    "language of plants": Kind(plant_language.attack_language, 1),
    "forged language": Kind(plant_language.forge_language, 1),
    "forged shield": Kind(shields.attack_shield, 2),
    "hostile file": Kind(files.attack_file, 3),
    "two meanings": Kind(files.attack_meaning, 5.3),
    "hostile bundle": Kind(bundles.attack_bundle, 1),
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
    start = time.process_time() - cpu_seconds_of_compiling()
    answer = defect = ""
    try:
        answer = KINDS[kind].attack(seed)
    except MoetError as error:
        answer = f"refused: {type(error).__name__}"
    except RejectedProofError as error:
        defect = f"rejected: {error}"
    except AssertionError as error:
        defect = f"wrong: {error}"
    except Exception as error:
        defect = f"escape: {error!r}"
    seconds = time.process_time() - cpu_seconds_of_compiling() - start
    if seconds > ENDLESS:
        defect = defect or f"endless: {seconds:.0f} CPU s"
    return Outcome(kind, seed, answer, defect, seconds)


def attempts(kinds: list[str], count: int, first: int, workers: int, done: int = 0) -> Iterator[Outcome]:
    """Make all attacks but the first ``done``, in parallel; kinds take turns, so a run that is cut short saw all."""
    total = sum(KINDS[kind].share for kind in kinds)
    jobs = sorted(
        ((i + 0.5) / n, kind, first + i)
        for kind in kinds
        for n in [max(1, round(count * KINDS[kind].share / total))]
        for i in range(n)
    )
    todo = iter(jobs[done:])
    if workers == 1:
        yield from (attempt(kind, seed) for _, kind, seed in todo)
        return
    with ProcessPoolExecutor(workers) as pool:
        while part := list(islice(todo, 200 * workers)):
            yield from pool.map(attempt, [kind for _, kind, _ in part], [seed for *_, seed in part], chunksize=20)


class Tally:
    """What the attacks have shown so far; kept in a file, if there is one, so that a run can go on."""

    def __init__(self, run: dict[str, Any], path: Path | None) -> None:
        self.run, self.path = run, path
        self.answers: Counter[str] = Counter()
        self.spent: Counter[str] = Counter()
        self.slowest: dict[str, float] = {}
        self.defects: list[str] = []
        if path is not None and path.exists():
            kept = json.loads(path.read_text())
            if kept["run"] != run:
                sys.exit(f"{path} is of another run: {kept['run']}; give another file")
            self.answers, self.spent = Counter(kept["answers"]), Counter(kept["spent"])
            self.slowest, self.defects = kept["slowest"], kept["defects"]

    def add(self, outcome: Outcome) -> None:
        """Count one attack."""
        kind = outcome.kind
        self.answers[f"{kind}: {outcome.defect.split(':')[0] or outcome.answer}"] += 1
        self.spent[kind] += outcome.seconds
        self.slowest[kind] = max(outcome.seconds, self.slowest.get(kind, 0.0))
        if outcome.defect:
            self.defects.append(f"{kind} {outcome.seed}: {outcome.defect[:300]}")
            print(self.defects[-1], flush=True)
        done = self.answers.total()
        if self.path is not None and done % 500 == 0:
            self.keep(self.path)
        if done % 5000 == 0:
            print(f"{done} attacks so far, {len(self.defects)} defects", file=sys.stderr, flush=True)

    def keep(self, path: Path) -> None:
        """Write everything to a file, whole or not at all."""
        content = {name: getattr(self, name) for name in ("run", "answers", "spent", "slowest", "defects")}
        partial = path.with_suffix(".part")
        partial.write_text(json.dumps(content, indent=1))
        os.replace(partial, path)

    def show(self) -> None:
        """Print the tables."""
        rows = [(*what.split(": ", 1), n) for what, n in sorted(self.answers.items())]
        show(f"{self.answers.total()} attacks, {len(self.defects)} defects", ("kind", "answer", "count"), rows)
        show(
            "CPU seconds",
            ("kind", "all", "slowest"),
            [(kind, self.spent[kind], self.slowest[kind]) for kind in self.spent],
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000, help="number of attacks in all")
    parser.add_argument("--first", type=int, default=0, help="first seed of every kind")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--kinds", default=",".join(KINDS), help="kinds of attack, with commas between them")
    parser.add_argument("--keep", type=Path, help="file to go on from, if the run is ended")
    options = parser.parse_args()
    kinds = options.kinds.split(",")
    tally = Tally({"count": options.count, "first": options.first, "kinds": kinds}, options.keep)
    for outcome in attempts(kinds, options.count, options.first, options.workers, tally.answers.total()):
        tally.add(outcome)
    if options.keep is not None:
        tally.keep(options.keep)
    tally.show()
    sys.exit(1 if tally.defects else 0)


if __name__ == "__main__":
    main()
