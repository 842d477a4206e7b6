"""Questions about small tables behind models whose votes or logits tie, nearly tie, or cancel, judged by every row."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from random_tables import all_rows, random_schema, random_tree, replace_votes

from attack.inputs import CPU_LIMIT, confirmed, demand
from attack.judge import Plain, accepted
from attack.sums import VOTES, Votes
from moet import Mixture, Schema, Tree, verify
from moet.verify import Closest, Proved, Recourse, Refuted

_GATES = (0.0, 1.0, -1.0, 0.1, 0.2, 0.3, -0.3, 1.0 / 3.0, 1e16, 1e-300, 5e-324, 1e300, -1e300, 2.0**53 + 2.0)
_LABELS = ["no", "yes", "maybe"]


class Table(NamedTuple):
    """A model, its possible rows, and what it answers to each: as deployed, and in exact arithmetic."""

    model: Mixture
    schema: Schema
    rows: list[list[float]]
    deployed: list[str]
    exact: list[str]

    @classmethod
    def of(cls, model: Mixture, schema: Schema) -> Table:
        """Ask an own predictor about all rows."""
        rows = all_rows(schema).tolist()
        if model.prediction == "soft":
            votes = Votes.of(model)
            answers = [tuple(model.classes.tolist()[c] for c in votes.answers(x)) for x in rows]
        else:
            plain = Plain.of(model)
            answers = [(plain.deployed(x), plain.exact(list(map(Fraction, x)))) for x in rows]
        return cls(model, schema, rows, [a for a, _ in answers], [b for _, b in answers])

    def at(self, x: Any) -> int:
        """Which of the rows this is."""
        row = np.asarray(x).tolist()
        demand(row in self.rows, f"{row} is no possible row")
        return self.rows.index(row)


def attack_tied_table(seed: int) -> str:
    """Proofs must hold of every row, counterexamples and changes of rows be right exactly and as deployed."""
    rng = np.random.default_rng(seed)
    schema, n_classes = random_schema(rng), int(rng.integers(2, 4))
    make = _sum if rng.random() < 0.5 else _hard
    table = Table.of(make(rng, schema, n_classes), schema)
    asks: list[Callable[[], tuple[Any, bool, bool]]] = [
        lambda: _always(table, rng),
        lambda: _ignores(table, rng),
        lambda: _equivalent(table, make(rng, schema, n_classes)),
    ]
    which = int(rng.integers(len(asks) + 2))
    if which >= len(asks):
        return _change(table, rng, is_closest=which > len(asks))
    verdict, holds, is_shown = asks[which]()
    if isinstance(verdict, Proved):
        demand(holds, "proved, and a row refutes it")
    if isinstance(verdict, Refuted):
        demand(is_shown, f"{verdict.points} are no counterexample")
    return f"{asks[which].__code__.co_names[0][1:]} {type(verdict).__name__}"


def _hard(rng: np.random.Generator, schema: Schema, n_classes: int) -> Mixture:
    d, n_experts = len(schema.feature_names), int(rng.integers(2, 4))
    trees = [random_tree(rng, d, n_classes, int(rng.integers(0, 3))) for _ in range(n_experts)]
    gate = rng.choice(_GATES, size=(n_experts, d + 1))
    return Mixture(gate[:, 1:], gate[:, 0], trees, _LABELS[:n_classes], schema=schema)


def _sum(rng: np.random.Generator, schema: Schema, n_classes: int) -> Mixture:
    d, n_trees = len(schema.feature_names), int(rng.integers(2, 7))
    trees = [_tied(rng, random_tree(rng, d, n_classes, int(rng.integers(0, 3)))) for _ in range(n_trees)]
    gate = np.zeros((n_trees, d)), np.zeros(n_trees)
    return Mixture(*gate, trees, _LABELS[:n_classes], prediction="soft", schema=schema)


def _tied(rng: np.random.Generator, tree: Tree) -> Tree:
    """The same tests; one class has what the others leave, or half of the votes."""
    value = rng.choice(VOTES, size=tree.value.shape)
    own = int(rng.integers(value.shape[1]))
    value[:, own] = 0.0
    value[:, own] = np.maximum(rng.choice([0.5, 1.0]) - value.sum(axis=1), 0.0) + 2.0**-60
    return replace_votes(tree, value / value.sum(axis=1, keepdims=True))


def _asked(verdict: Any, *models: Mixture) -> Any:
    if isinstance(accepted(verdict), Proved):
        confirmed(verdict, *models)
    return verdict


def _always(table: Table, rng: np.random.Generator) -> tuple[Any, bool, bool]:
    label = str(rng.choice(table.model.classes))
    verdict = _asked(verify.always(table.model, answers=[label], cpu_limit=CPU_LIMIT), table.model)
    is_shown = isinstance(verdict, Refuted) and table.deployed[table.at(verdict.point)] != label
    return verdict, set(table.deployed) == {label}, is_shown


def _ignores(table: Table, rng: np.random.Generator) -> tuple[Any, bool, bool]:
    column, own = table.schema.places[int(rng.integers(len(table.schema.columns)))]
    verdict = _asked(verify.ignores(table.model, [column.name], cpu_limit=CPU_LIMIT), table.model)
    keys = [tuple(np.delete(x, own)) for x in table.rows]
    holds = len(set(zip(keys, table.exact, strict=True))) == len(set(keys))
    if not isinstance(verdict, Refuted):
        return verdict, holds, False
    i, j = map(table.at, verdict.points)
    is_pair = keys[i] == keys[j] and table.exact[i] != table.exact[j] and table.deployed[i] != table.deployed[j]
    return verdict, holds, is_pair


def _equivalent(table: Table, model: Mixture) -> tuple[Any, bool, bool]:
    other = Table.of(model, table.schema)
    verdict = _asked(verify.equivalent(table.model, model, cpu_limit=CPU_LIMIT), table.model, model)
    if not isinstance(verdict, Refuted):
        return verdict, table.exact == other.exact, False
    i = table.at(verdict.point)
    return verdict, False, table.exact[i] != other.exact[i] and table.deployed[i] != other.deployed[i]


def _change(table: Table, rng: np.random.Generator, *, is_closest: bool) -> str:
    """No row with a wanted answer is nearer than proved, and the one that is found has it."""
    model, i = table.model, int(rng.integers(len(table.rows)))
    x = np.array(table.rows[i])
    if is_closest:
        norm = rng.choice(["linf", "l1"]).item()
        found = accepted(verify.closest(model, x, norm, cpu_limit=CPU_LIMIT))
        wanted = set(table.model.classes.tolist()) - {table.exact[i]}
        costs = [_norm(np.array(y) - x, norm) for y in table.rows]
    else:
        label = str(rng.choice(model.classes))
        found = accepted(verify.recourse(model, x, answer=label, cost="columns", cpu_limit=CPU_LIMIT))
        wanted = {label}
        places = [list(own) for _, own in table.schema.places]
        costs = [sum(bool(np.any(np.array(y)[own] != x[own])) for own in places) for y in table.rows]
    name = f"{'closest' if is_closest else 'recourse'} {type(found).__name__}"
    if not isinstance(found, Closest | Recourse):
        return name
    confirmed(found, model)
    at_least = found.distance if isinstance(found, Closest) else found.at_least
    least = min((c for c, answer in zip(costs, table.exact, strict=True) if answer in wanted), default=np.inf)
    demand(at_least <= least, f"a row costs {least}, proved {at_least}")
    if found.point is not None:
        k = table.at(found.point)
        demand({table.exact[k], table.deployed[k]} <= wanted, f"{found.point} is not answered as wanted")
    return name


def _norm(change: Any, norm: str) -> float:
    return float(np.abs(change).max() if norm == "linf" else np.abs(change).sum())
