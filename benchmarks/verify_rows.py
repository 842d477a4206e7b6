"""Questions about possible rows of random small tables, against brute force over all rows, and against z3.

    python benchmarks/verify_rows.py [--models 2000] [--seed 0] [--sums | --soft]

Half of the tables have a column of reals: then z3 decides. The models are hard mixtures, sums of trees, or soft
mixtures with any gate, of which random rows decide in place of z3, and answers are those as deployed, which sixty
decimal digits confirm where no two classes tie. Prints how many verdicts of every kind there were, and every one that
is wrong; ends with exit code 1 if there is any.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from attack.soft import clear_answer
from random_tables import (
    Floats,
    all_rows,
    random_model,
    random_schema,
    random_soft,
    random_sum,
    random_tree,
    replace_votes,
)

from moet import Mixture, Schema, verify
from moet.verify.arguments import is_soft, is_sum
from moet.verify.exact import ExactMixture, exactly
from moet.verify.rows.costs import Costs, weights_of
from moet.verify.rows.domain import rows_of
from moet.verify.soft.changes import TOLERANCE
from moet.verify.sums.exact import ExactSum

CPU_LIMIT = 2.0
"""Of a question about soft models and reals: where two classes tie, bounds never tell, and time ends the search."""


class Outcome(NamedTuple):
    """One verdict, and whether it is wrong."""

    question: str
    verdict: str
    wrong: bool


def judged(question: str, verdict: Any, truth: bool) -> Outcome:
    """Compare a verdict with what is true."""
    name = type(verdict).__name__
    return Outcome(question, name, (name == "Proved" and not truth) or (name == "Refuted" and truth))


def attempt(seed: int, kind: str = "hard") -> list[Outcome]:
    """All questions about one random model."""
    rng = np.random.default_rng(seed)
    schema = random_schema(rng, numbers=seed % 2 == 1)
    make = {"hard": random_model, "sums": random_sum, "soft": random_soft}[kind]
    model = make(rng, schema, n_classes=int(rng.integers(2, 4)))
    if kind == "soft" and seed % 2:
        return by_samples(rng, schema, model)
    return by_z3(rng, schema, model) if seed % 2 else by_brute_force(rng, schema, model)


def by_brute_force(rng: np.random.Generator, schema: Schema, model: Mixture) -> list[Outcome]:
    """Compare with what all possible rows say."""
    rows, labels = all_rows(schema), model.classes.tolist()
    deployed, label = model.predict(rows).tolist(), labels[0]
    answers = exact_answers(model, rows)
    column = schema.columns[int(rng.integers(len(schema.columns)))]
    own = schema.place(column.name).features
    keys = [tuple(np.delete(x, own)) for x in rows]
    pairs = [(i, j) for i in range(len(rows)) for j in range(len(rows)) if keys[i] == keys[j]]
    found = [
        judged("always", verify.always(model, answers=[label]), all(answer == label for answer in deployed)),
        judged("ignores", verify.ignores(model, [column.name]), all(answers[i] == answers[j] for i, j in pairs)),
    ]
    if column.kind != "category":
        kept = all(rows[i][own[0]] > rows[j][own[0]] or answers[i] != label or answers[j] == label for i, j in pairs)
        found.append(judged("monotone", verify.monotone(model, column.name, answer=label), kept))
    other = random_model(rng, schema, n_classes=len(labels)) if model.prediction == "hard" else like(model, rng)
    same = answers == exact_answers(other, rows)
    found.append(judged("equivalent", verify.equivalent(model, other), same))
    x = rows[int(rng.integers(len(rows)))]
    for cost in (None, "columns"):
        found.append(cheapest(model, x, cost, labels[-1], rows, answers))
    return [*found, nearest(model, x, rows, answers), *steady(model, schema, rows, deployed, rng)]


def exact_answers(model: Mixture, rows: Floats) -> list[str]:
    """Answers in exact arithmetic; where experts are weighed, as deployed, unless the two differ beyond doubt."""
    labels, deployed = model.classes.tolist(), model.predict(rows).tolist()
    if is_weighed(model):
        clear = [clear_answer(model, x.tolist()) for x in rows]
        assert all(a in (None, b) for a, b in zip(clear, deployed, strict=True)), "deployed answers differ"
        return [str(answer) for answer in deployed]
    exact = ExactSum(model) if is_sum(model) else ExactMixture(model)
    return [labels[exact.answer(exactly(x.tolist()))] for x in rows]


def is_weighed(model: Mixture) -> bool:
    """Whether experts vote, and the gate weighs their votes."""
    return is_soft(model) and not is_sum(model)


def by_samples(rng: np.random.Generator, schema: Schema, model: Mixture) -> list[Outcome]:
    """Compare with what random rows say: they may contradict a proof, and a counterexample must replay."""
    domain, label = rows_of(None, model), model.classes.tolist()[0]
    rows = domain.sample(500, rng)
    answers = model.predict(rows)
    others, column = rows.copy(), schema.columns[int(rng.integers(len(schema.columns)))]
    own = list(schema.place(column.name).features)
    others[:, own] = domain.sample(500, rng)[:, own]
    found = [
        replayed(
            "always", verify.always(model, answers=[label], cpu_limit=CPU_LIMIT), model, bool(np.all(answers == label))
        ),
        replayed(
            "ignores",
            verify.ignores(model, [column.name], cpu_limit=CPU_LIMIT),
            model,
            bool(np.all(answers == model.predict(others))),
        ),
    ]
    if column.kind != "category":
        others[:, own] = np.maximum(rows[:, own], others[:, own])
        kept = bool(np.all((answers != label) | (model.predict(others) == label)))
        verdict = verify.monotone(model, column.name, answer=label, cpu_limit=CPU_LIMIT)
        found.append(replayed("monotone", verdict, model, kept))
    x = rows[0]
    costs = Costs(*weights_of(None, domain), domain, x)
    change = verify.recourse(model, x, answer=model.classes.tolist()[-1], cpu_limit=CPU_LIMIT)
    if isinstance(change, verify.Unknown):
        return [*found, Outcome("recourse, samples", "Unknown", False)]
    near = x + rng.random((500, 1)) * (rows - x)
    near = np.array([domain.nearest(y) for y in near])
    hits = near[model.predict(near) == model.classes.tolist()[-1]]
    cheaper = any(float(costs.of(y)) < change.at_least for y in hits)
    wrong = cheaper or (
        change.row is not None and model.predict(change.point[None, :])[0] != model.classes.tolist()[-1]
    )
    return [*found, Outcome("recourse, samples", "Recourse", wrong)]


def replayed(question: str, verdict: Any, model: Mixture, holds: bool) -> Outcome:
    """Wrong: a proof that samples contradict, or a counterexample whose answers are others."""
    wrong = isinstance(verdict, verify.Proved) and not holds
    if isinstance(verdict, verify.Refuted):
        wrong = model.predict(np.array(verdict.points)).tolist() != list(verdict.answers)
    return Outcome(f"{question}, samples", type(verdict).__name__, wrong)


def like(model: Mixture, rng: np.random.Generator) -> Mixture:
    """A model like another: in another order, with one tree changed, with other votes, or one tree alone."""
    trees, gate = list(model.trees), (model.gate_weights, model.gate_bias)
    own, change = int(rng.integers(len(trees))), rng.random()
    if change < 0.25:
        trees, gate = [random_tree(rng, model.n_features, len(model.classes), 2)], (gate[0][:1], gate[1][:1])
    elif change < 0.5:
        trees[own] = random_tree(rng, model.n_features, len(model.classes), 2)
    elif change < 0.75:
        value = trees[own].value * rng.uniform(0.9, 1.0, trees[own].value.shape)
        trees[own] = replace_votes(trees[own], value / value.sum(axis=1, keepdims=True))
    else:
        rng.shuffle(trees)
    return Mixture(*gate, trees, model.classes, prediction="soft", schema=model.schema)


def nearest(model: Mixture, x: Floats, rows: Floats, answers: list[str]) -> Outcome:
    """Compare the closest row, by its largest change, with the nearest of all rows."""
    own = answers[int(np.flatnonzero(np.all(rows == x, axis=1))[0])]
    others = [float(np.abs(y - x).max()) for y, answer in zip(rows, answers, strict=True) if answer != own]
    verdict = verify.closest(model, x)
    if isinstance(verdict, verify.Unknown):
        return Outcome("closest", "Unknown", False)
    least = min(others, default=np.inf)
    return Outcome(
        "closest",
        "Closest",
        verdict.distance > least
        or verdict.point_distance < least
        or (verdict.point is None) != (not others)
        or least - verdict.distance > 1e-8,
    )


def steady(
    model: Mixture, schema: Schema, rows: Floats, deployed: list[str], rng: np.random.Generator
) -> Iterator[Outcome]:
    """Compare, for some rows, whether they keep their answers with all rows within the radius."""
    radius = {column.name: float(rng.integers(0, 3)) for column in schema.columns}
    chosen = rng.choice(len(rows), min(3, len(rows)), replace=False)
    found = verify.robust(model, rows[chosen], radius)
    for i, k in enumerate(chosen):
        keeps = all(
            answer == deployed[k]
            for y, answer in zip(rows, deployed, strict=True)
            if all(
                _change(column, y[list(own)], rows[k][list(own)]) <= radius[column.name]
                for column, own in schema.places
            )
        )
        verdict = "Proved" if found.kept[i] else "Unknown" if i in found.unknown else "Refuted"
        yield Outcome("robust", verdict, (verdict == "Proved" and not keeps) or (verdict == "Refuted" and keeps))


def _change(column: Any, a: Floats, b: Floats) -> float:
    """How much a cell changes; a change of category is 1."""
    return float(np.any(a != b)) if column.kind == "category" else float(abs(a[0] - b[0]))


def cheapest(model: Mixture, x: Floats, cost: str | None, wanted: str, rows: Floats, answers: list[str]) -> Outcome:
    """Compare recourse with the cheapest of all rows."""
    domain = rows_of(None, model)
    costs = Costs(*weights_of(cost, domain), domain, x)
    least = min((costs.of(y) for y, answer in zip(rows, answers, strict=True) if answer == wanted), default=None)
    verdict = verify.recourse(model, x, answer=wanted, cost=cost)
    question = f"recourse, {cost or 'sum'}"
    if isinstance(verdict, verify.Unknown):
        return Outcome(question, "Unknown", False)
    if least is None:
        return Outcome(question, "Recourse", verdict.row is not None)
    off = Fraction(TOLERANCE) * least if is_weighed(model) else Fraction(0)
    wrong = verdict.row is None or not 0 <= Fraction(verdict.cost) - least + Fraction(1, 10**8) <= off + Fraction(
        2, 10**8
    )
    return Outcome(question, "Recourse", wrong or verdict.at_least > least)


def by_z3(rng: np.random.Generator, schema: Schema, model: Mixture) -> list[Outcome]:
    """Compare with z3, which is given the same question about reals, whole numbers and categories."""
    label = model.classes.tolist()[0]
    column = schema.columns[int(rng.integers(len(schema.columns)))]
    return [
        judged("ignores, z3", verify.ignores(model, [column.name]), not satisfiable(schema, model, column.name, None)),
        judged(
            "monotone, z3",
            verify.monotone(model, "real", answer=label),
            not satisfiable(schema, model, "real", label),
        ),
    ]


def satisfiable(schema: Schema, model: Mixture, free: str, label: str | None) -> bool:
    """Whether z3 finds a pair of rows that differ in ``free`` alone, the second above, that loses the label."""
    import z3

    solver = z3.Solver()
    x, y = (_variables(schema, solver, name) for name in ("x", "y"))
    for column, features in schema.places:
        if column.name != free:
            solver.add(*(x[k] == y[k] for k in features))
        elif label is not None:
            solver.add(x[features[0]] <= y[features[0]])
    a, b = _answer(model, x), _answer(model, y)
    solver.add(a != b if label is None else z3.And(a == 0, b != 0))
    verdict = solver.check()
    assert verdict != z3.unknown, "z3 gave up"
    return bool(verdict == z3.sat)


def _variables(schema: Schema, solver: Any, name: str) -> list[Any]:
    import z3

    variables = []
    for column, features in schema.places:
        sort = z3.Real if column.kind == "number" else z3.Int
        own = [sort(f"{name}{k}") for k in features]
        if column.kind == "category":
            solver.add(*(z3.And(v >= 0, v <= 1) for v in own), z3.Sum(own) == 1)
        else:
            low, high = column.reach
            solver.add(own[0] >= _number(low), own[0] <= _number(high))
        variables += own
    return variables


def _number(value: float) -> Any:
    import z3

    exact = Fraction(value)
    return z3.Q(exact.numerator, exact.denominator)


def _answer(model: Mixture, x: list[Any]) -> Any:
    import z3

    if model.prediction == "soft":
        return _voted(model, x)
    logits = [
        _number(b) + z3.Sum([_number(w) * v for w, v in zip(row, x, strict=True)])
        for row, b in zip(model.gate_weights.tolist(), model.gate_bias.tolist(), strict=True)
    ]
    answer = z3.IntVal(-1)
    for e in reversed(range(len(logits))):
        beats = [logits[e] > other if k < e else logits[e] >= other for k, other in enumerate(logits) if k != e]
        first = z3.And(*beats)
        answer = z3.If(first, _leaf(model.trees[e], 0, x), answer)
    return answer


def _voted(model: Mixture, x: list[Any]) -> Any:
    """The first class with the largest sum of votes."""
    import z3

    classes = range(len(model.classes))
    votes = [z3.Sum([_vote(tree, 0, c, x) for tree in model.trees]) for c in classes]
    answer = z3.IntVal(-1)
    for c in reversed(classes):
        beats = [votes[c] > other if k < c else votes[c] >= other for k, other in enumerate(votes) if k != c]
        answer = z3.If(z3.And(*beats), z3.IntVal(c), answer)
    return answer


def _vote(tree: Any, node: int, c: int, x: list[Any]) -> Any:
    import z3

    if tree.feature[node] < 0:
        return _number(float(tree.value[node][c]))
    below = x[tree.feature[node]] <= _number(float(tree.threshold[node]))
    return z3.If(below, _vote(tree, int(tree.left[node]), c, x), _vote(tree, int(tree.right[node]), c, x))


def _leaf(tree: Any, node: int, x: list[Any]) -> Any:
    import z3

    if tree.feature[node] < 0:
        return z3.IntVal(int(tree.value[node].argmax()))
    below = x[tree.feature[node]] <= _number(float(tree.threshold[node]))
    return z3.If(below, _leaf(tree, int(tree.left[node]), x), _leaf(tree, int(tree.right[node]), x))


def main() -> None:
    """Ask, and count."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--sums", dest="kind", action="store_const", const="sums", help="sums of trees")
    kinds.add_argument("--soft", dest="kind", action="store_const", const="soft", help="soft mixtures with any gate")
    parser.set_defaults(kind="hard")
    arguments = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    wrong = 0
    for seed in range(arguments.seed, arguments.seed + arguments.models):
        for outcome in attempt(seed, arguments.kind):
            counts[outcome.question, outcome.verdict] += 1
            wrong += outcome.wrong
            if outcome.wrong:
                print(f"WRONG: model {seed}, {outcome.question}: {outcome.verdict}")
    for (question, verdict), n in sorted(counts.items()):
        print(f"{question:<20} {verdict:<10} {n:6}")
    print(f"{arguments.models} models, {sum(counts.values())} verdicts, {wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
