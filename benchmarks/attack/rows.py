"""Questions about possible rows of random tables, and forged proofs about rows and about models of numbers.

Questions are judged by brute force and z3 (:mod:`verify_rows`). A forged claim that is accepted is tried with every
possible row of its table, or with nasty inputs of its box.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import verify_rows
from random_tables import all_rows, random_model, random_soft, random_sum, replace_votes

from attack import container
from attack.forgeries import CHANGES, Proof
from attack.judge import WrongVerdictError, nasty_points
from attack.output_rows import possible_rows
from attack.outputs import PlainLaws, plain_laws
from attack.soft import exponential
from moet import Box, Column, Mixture, RegressionMixture, RegressionTree, Schema, verify
from moet.errors import CertificateError
from moet.model.file import encoded

_POINTS = 100
_MAKERS, _SUMS = (random_model, random_sum, random_soft), 1
_KINDS = 17
"""Of proofs about rows: six of hard models, five of sums of trees, and six of other soft ones."""

_CLEAR = Fraction(1, 10**9)
"""By how much votes must differ for an answer to be beyond doubt, however sums are rounded."""


def attack_rows(seed: int) -> str:
    """All questions about one random model of a table: a hard one, a sum of trees, or another soft one."""
    kind = {0: "sums", 2: "soft", 5: "soft"}.get(seed % 8, "hard")
    outcomes = verify_rows.attempt(seed, kind)
    wrong = [f"{outcome.question} {outcome.verdict}" for outcome in outcomes if outcome.wrong]
    if wrong:
        raise WrongVerdictError(", ".join(wrong))
    names = [outcome.verdict for outcome in outcomes]
    return "with an Unknown" if "Unknown" in names else "all decided"


@cache
def proofs() -> list[Proof]:
    """Proofs of every kind about rows, of hard models, sums and soft ones, and about models of numbers."""
    found: dict[tuple[str, int], Proof] = {}
    for seed in range(600):
        if len(found) == _KINDS:
            break
        make = seed % len(_MAKERS)
        model = _MAKERS[make](np.random.default_rng(seed), _table())
        for certificate, models in _asked(model, seed):
            key = certificate.kind, make
            if (
                key not in found
                and key != ("row_equivalent", _SUMS)
                and any(map(len, container.parts(certificate).records))
            ):
                found[key] = _proof(certificate, models)
    return [*found.values(), *_about_numbers(), *_about_tables_of_numbers()]


def _table() -> Schema:
    columns = [
        Column("age", "integer", ("age",), 0, 4),
        Column("grade", "ordered", ("grade",), categories=("low", "mid", "high")),
        Column("city", "category", ("city=a", "city=b"), categories=("a", "b")),
        Column("member", "boolean", ("member",)),
    ]
    return Schema(columns)


def _asked(model: Mixture, seed: int) -> Iterator[tuple[Any, list[Any]]]:
    """Certificates of what is proved about a model."""
    row = all_rows(_table())[seed % 60]
    label = model.classes.tolist()[seed % 2]
    radius = {"age": 1.0, "grade": 1.0, "city": 0.0, "member": 0.0}
    questions: list[tuple[Any, list[Any]]] = [
        (verify.always(model, answers=[label]), [model]),
        (verify.ignores(model, ["member"]), [model]),
        (verify.monotone(model, "age", answer=label), [model]),
        (verify.recourse(model, row), [model]),
        (verify.robust(model, row[None], radius), [model]),
    ]
    other = model if model.prediction == "hard" else _nearly(model)
    questions.append((verify.equivalent(model, other), [model, other]))
    for verdict, models in questions:
        if getattr(verdict, "certificate", None) is not None:
            yield verdict.certificate, models


def _nearly(model: Mixture) -> Mixture:
    """The model with votes that are drawn together a little: they lead by less."""
    value = [0.999 * tree.value + 0.001 / tree.value.shape[1] for tree in model.trees]
    trees = [
        replace_votes(tree, own / own.sum(axis=1, keepdims=True)) for tree, own in zip(model.trees, value, strict=True)
    ]
    return model.rebuilt(model.gate_weights, model.gate_bias, trees)


def _about_numbers() -> list[Proof]:
    leaves = [RegressionTree.leaf([0.5], slope=[[1.0, -0.5]]), RegressionTree.leaf([0.25], slope=[[0.5, 0.0]])]
    model = RegressionMixture([[0.0, 0.0], [1.0, 2.0]], [0.0, 0.5], leaves, ["u"], [-1.0], [2.0])
    box = Box.from_bounds(np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    verdicts = [
        (verify.range(model, box), [model]),
        (verify.always(model, box, ["u <= 3"]), [model]),
        (verify.equivalent(model, model, box, tolerance=0.25), [model, model]),
        (verify.closest(model, [0.0, 0.0], "linf", box, tolerance=0.5), [model]),
    ]
    return [_proof(verdict.certificate, models) for verdict, models in verdicts]


def _about_tables_of_numbers() -> list[Proof]:
    """Proofs whose records divide the box at whole numbers, and name the conditions on categories."""
    rng = np.random.default_rng(0)
    schema, trees = _table(), []
    for feature in (0, 2):
        slope = rng.integers(-3, 4, (3, 1, 5)) / 2
        trees.append(RegressionTree([feature, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], np.zeros((3, 1)), slope))
    weights = [[0.75, -0.5, 1.0, -1.0, 0.25], [-0.5, 0.25, -0.3, 0.4, 0.5]]
    model = RegressionMixture(weights, [0.1, 0.0], trees, ["u"], [-9.0], [9.0], schema=schema)
    answers = model.predict(all_rows(schema))
    verdicts = [
        (verify.range(model), [model]),
        (verify.always(model, answers=[f"u <= {answers.max() + 0.1}"]), [model]),
        (verify.equivalent(model, replace(model, high=[8.0]), tolerance=0.25), [model, replace(model, high=[8.0])]),
    ]
    return [_proof(verdict.certificate, models) for verdict, models in verdicts]


def _proof(certificate: Any, models: list[Any]) -> Proof:
    documents = [json.loads(encoded(model)) for model in models]
    return Proof(certificate.kind, container.parts(certificate), documents, None)


def forge_claim(seed: int) -> str:
    """Change a proof, ask the checker, and judge what it accepts."""
    rng = np.random.default_rng(seed)
    before = proofs()[int(rng.integers(len(proofs())))]
    proof = copy.deepcopy(before)
    for _ in range(int(rng.integers(1, 3))):
        proof = CHANGES[int(rng.integers(len(CHANGES)))](rng, proof)
    claim = proof.parts.claim
    digests = [container.model_digest(m) or container.laws_digest(m) for m in proof.models]
    if "model" in claim and digests[0] is not None:
        claim["model"] = digests[0]
    if isinstance(claim.get("models"), list):
        claim["models"] = [new or old for new, old in zip(digests, claim["models"], strict=False)]
    try:
        verify.check(container.load(proof.parts), *proof.models)
    except CertificateError:
        return f"{before.kind} refused"
    wrong = _numbers_wrong(proof, rng) if "outputs" in proof.models[0] else _rows_wrong(proof)
    if wrong:
        raise WrongVerdictError(f"the checker was fooled: {wrong}: {proof.parts.kind} {json.dumps(claim)[:300]}")
    return f"{before.kind} accepted, and true"


class _Rows:
    """Possible rows of a document, and what its model answers."""

    def __init__(self, document: dict[str, Any], rows: dict[str, list[Any]]) -> None:
        self.columns = document["schema"]
        self.plain = container.plain(document)
        self.soft = document["prediction"] == "soft" and len(document["trees"]) > 1
        self.values = [tree["value"] for tree in document["trees"]]
        self.gate = [[*row, b] for row, b in zip(document["gate"]["weights"], document["gate"]["bias"], strict=True)]
        self.all = [dict(zip(rows, cells, strict=True)) for cells in product(*map(self._cells, rows, rows.values()))]

    def _cells(self, name: str, said: list[Any]) -> list[Any]:
        (column,) = [c for c in self.columns if c["name"] == name]
        if column["kind"] == "integer":
            return list(range(int(said[0]), int(said[1]) + 1))
        return list(said)

    def features(self, row: dict[str, Any]) -> list[float]:
        found: list[float] = []
        for column in self.columns:
            value = row[column["name"]]
            if column["kind"] == "category":
                found += [float(value == category) for category in column["categories"]]
            elif column["kind"] == "ordered":
                found.append(float(column["categories"].index(value)))
            else:
                found.append(float(["no", "yes"].index(value) if column["kind"] == "boolean" else value))
        return found

    def exact(self, row: dict[str, Any]) -> Any:
        """The answer when nothing is rounded; None where votes are nearly equal."""
        x = self.features(row)
        if not self.soft:
            return self.plain.exact([Fraction(v) for v in x])
        votes, shares = [Fraction(0)] * len(self.plain.classes), self._shares(x)
        for tree, value, share in zip(self.plain.trees, self.values, shares, strict=True):
            node = 0
            while tree.feature[node] >= 0:
                node = (tree.left if x[tree.feature[node]] <= tree.threshold[node] else tree.right)[node]
            votes = [vote + share * Fraction(p) for vote, p in zip(votes, value[node], strict=True)]
        first, second = sorted(votes, reverse=True)[:2]
        return self.plain.classes[votes.index(first)] if first - second > _CLEAR * sum(shares) else None

    def _shares(self, x: list[float]) -> list[Fraction]:
        """How the gate weighs the experts, but for a common factor."""
        if all(row == self.gate[0] for row in self.gate):
            return [Fraction(1)] * len(self.gate)
        exact = [*map(Fraction, x), Fraction(1)]
        logits = [sum((Fraction(w) * v for w, v in zip(row, exact, strict=True)), Fraction(0)) for row in self.gate]
        return [Fraction(exponential(logit - max(logits))) for logit in logits]

    def deployed(self, row: dict[str, Any]) -> Any:
        return self.exact(row) if self.soft else self.plain.deployed(self.features(row))

    def change(self, name: str, a: dict[str, Any], b: dict[str, Any]) -> float:
        """How far two rows are apart in a column: ranks, numbers, or 1 for another category."""
        (column,) = [c for c in self.columns if c["name"] == name]
        if column["kind"] == "ordered":
            return abs(column["categories"].index(a[name]) - column["categories"].index(b[name]))
        if column["kind"] == "integer":
            return abs(a[name] - b[name])
        return float(a[name] != b[name])


def _rows_wrong(proof: Proof) -> str:
    """A row, or two, that a claim rules out."""
    claim, kind = proof.parts.claim, proof.parts.kind
    rows = _Rows(proof.models[0], claim["rows"])
    if kind == "row_always":
        bad = [row for row in rows.all if (answer := rows.deployed(row)) is not None and answer not in claim["answers"]]
    elif kind == "row_equivalent":
        other = _Rows({"schema": proof.models[0]["schema"]} | proof.models[1], claim["rows"])
        wanted = claim["classes"]
        pairs = [(row, rows.exact(row), other.exact(row)) for row in rows.all]
        bad = [
            row
            for row, a, b in pairs
            if a != b and None not in (a, b) and (wanted is None or a in wanted or b in wanted)
        ]
    elif kind == "robust":
        bad = [
            near
            for row, answer in zip(claim["table"], claim["answers"], strict=True)
            for near in rows.all
            if all(rows.change(name, row, near) <= radius for name, radius in claim["radius"].items())
            and rows.deployed(near) not in (None, answer)
        ]
    elif kind == "recourse":
        bad = _cheaper(rows, claim)
    else:
        bad = _pairs_wrong(rows, claim, kind)
    return str(bad[0]) if bad else ""


def _pairs_wrong(rows: _Rows, claim: dict[str, Any], kind: str) -> list[Any]:
    free = claim["columns"] if kind == "ignores" else [claim["column"]]
    bad = []
    for a, b in product(rows.all, rows.all):
        if any(a[name] != b[name] for name in a if name not in free):
            continue
        one, two = rows.exact(a), rows.exact(b)
        if None in (one, two):
            continue
        if kind == "ignores":
            wrong = one != two
        else:
            x, y = (rows.features(row)[_feature(rows, claim["column"])] for row in (a, b))
            rising = claim["direction"] == "increasing"
            before, after = (one, two) if rising else (two, one)
            wrong = x <= y and before == claim["answer"] and after != claim["answer"]
        bad += [(a, b)] if wrong else []
    return bad


def _feature(rows: _Rows, name: str) -> int:
    sizes = [len(column["features"]) for column in rows.columns]
    return sum(sizes[: [column["name"] for column in rows.columns].index(name)])


def _cheaper(rows: _Rows, claim: dict[str, Any]) -> list[Any]:
    row, cost = claim["row"], claim["cost"]
    own, least = rows.exact(row), claim["at_least"]
    bad = []
    for other in rows.all:
        answer = rows.exact(other)
        if answer is None or own is None or (answer == own if claim["answer"] is None else answer != claim["answer"]):
            continue
        changes = {name: Fraction(rows.change(name, row, other)) for name in row}
        if cost["kind"] == "columns":
            changes = {name: Fraction(change > 0) for name, change in changes.items()}
        parts = [Fraction(cost["weights"][name]) * change for name, change in changes.items()]
        total = max(parts) if cost["kind"] == "largest" else sum(parts, Fraction(0))
        bad += [other] if least is None or total < Fraction(least) else []
    return bad


def _numbers_wrong(proof: Proof, rng: np.random.Generator) -> str:
    """An input at which a claim about outputs is false."""
    claim, plains = proof.parts.claim, [plain_laws(model) for model in proof.models]
    lo = [-np.inf if side is None else side for side in claim["lo"]]
    hi = [np.inf if side is None else side for side in claim["hi"]]
    schema = proof.models[0].get("schema", [])
    if any(column["kind"] != "number" for column in schema) and proof.parts.kind != "distance":
        tried = possible_rows(schema, lo, hi)
    else:
        tried = nasty_points([plain.gate for plain in plains], lo, hi, rng, _POINTS)
    for x in tried:
        if _refutes(proof.parts.kind, claim, plains, x):
            return str(x)
    return ""


def _refutes(kind: str, claim: dict[str, Any], plains: list[PlainLaws], x: list[float]) -> bool:
    exact = [Fraction(v) for v in x]
    if kind == "bounds":
        outputs = None if plains[0].gate.overflows(x) else plains[0].deployed(x)
        return outputs is not None and any(_missed(half, outputs) for half in claim["conditions"])
    if kind == "tolerance":
        pairs = zip(*(plain.exact(exact) for plain in plains), strict=True)
        return any(abs(a - b) > Fraction(claim["tolerance"]) for a, b in pairs)
    own, here = plains[0].exact([Fraction(v) for v in claim["point"]]), plains[0].exact(exact)
    if claim.get("conditions") is not None:
        is_wanted = not any(_missed(half, here) for half in claim["conditions"])
    else:
        is_wanted = any(abs(a - b) > Fraction(claim["tolerance"]) for a, b in zip(own, here, strict=True))
    gaps = [abs(a - Fraction(b)) for a, b in zip(exact, claim["point"], strict=True)]
    gap = max(gaps) if claim["norm"] == "linf" else sum(gaps, Fraction(0))
    return is_wanted and (claim["distance"] is None or gap < Fraction(claim["distance"]))


def _missed(half: dict[str, Any], outputs: list[Any]) -> bool:
    total = sum((Fraction(a) * Fraction(u) for a, u in zip(half["coefficients"], outputs, strict=True)), Fraction(0))
    return total > Fraction(half["bound"])
