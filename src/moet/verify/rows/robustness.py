"""Whether the rows of a table keep their answers when columns change by a little."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat
from typing import Any

import numpy as np

from moet.errors import InputError
from moet.model.file import as_mixture, digest
from moet.progress import progress_bar
from moet.verify.arguments import CPU_LIMIT, is_soft, is_sum
from moet.verify.box import Box
from moet.verify.checker.certificate import Certificate
from moet.verify.confirm import confirmed
from moet.verify.findings import Robust
from moet.verify.limits import Deadline
from moet.verify.result import Proved
from moet.verify.rows.balls import Balls
from moet.verify.rows.domain import Domain, rows_of, schema_of_model
from moet.verify.rows.questions import search_row
from moet.verify.sums.forest import sum_of

_TRIES, _TRIES_OF_VOTES = 200, 20
"""Random rows among which a counterexample is looked for first; where experts vote a look at a box costs less."""


def robust(
    model: Any,
    table: Any,
    radius: float | Mapping[str, float],
    domain: Box | None = None,
    *,
    timeout: float | None = None,
    cpu_limit: float | None = CPU_LIMIT,
    seed: int = 0,
    verbose: bool = False,
) -> Robust:
    """Ask which rows of a table keep their answers, as deployed, when columns change by at most a radius.

    Parameters
    ----------
    model : Mixture, classifier, policy, model file or scikit-learn tree
    table : DataFrame, or array of features
        The rows.
    radius : float or mapping
        How much every column may change, all at once: by name, in its units (ranks of ordered categories; 1 for any
        other category), and not at all where it is not named; or one number, a share of the range of every column of
        numbers or integers.
    domain : Box, optional
        What the rows may become; every possible row by default.
    timeout, cpu_limit : float or None
        Limits of every row.
    seed : int
        Seed of the random search for counterexamples.
    verbose : bool
        Whether to show progress on stderr.

    References
    ----------
    - Devos, L., W. Meert, J. Davis. *Versatile Verification of Tree Ensembles.* ICML 2021.

    Examples
    --------
    >>> import pandas as pd
    >>> from moet import MoETClassifier, verify
    >>> loans = pd.DataFrame({"Duration": [6, 12, 24, 36, 48, 60], "Sex": ["f", "m", "f", "m", "f", "m"]})
    >>> risk = ["good", "good", "good", "bad", "bad", "bad"]
    >>> model = MoETClassifier(n_experts=1, max_depth=1, prediction="hard", random_state=0).fit(loans, risk)
    >>> found = verify.robust(model, loans, {"Duration": 7, "Sex": 1})
    >>> found.kept.tolist(), sorted(found.changed), found.checked
    ([True, True, False, False, True, True], [2, 3], True)
    """
    mixture = as_mixture(model)
    schema = schema_of_model(mixture)
    X = schema.encode(table) if hasattr(table, "columns") else mixture._rows(table)
    rows = rows_of(domain, mixture)
    sizes = _sizes(radius, rows)
    answers = mixture.predict(X)
    trees = sum_of(mixture) if is_sum(mixture) else None
    kept, changed, unknown = np.zeros(len(X), dtype=bool), {}, []
    claim = {"model": digest(mixture), "rows": rows.claim(), "radius": sizes}
    certificate = Certificate("robust", claim | {"table": [], "answers": []})
    labels, start = mixture.classes.tolist(), Deadline()
    codes = np.array([labels.index(answer) for answer in answers.tolist()], dtype=np.intp)
    votes = is_soft(mixture)
    tries = _TRIES_OF_VOTES if votes else _TRIES
    plain = repeat(None) if votes else Balls(mixture, rows, sizes).proofs(X, codes)
    with progress_bar("moet verify --robust", len(X), shown=verbose) as advance:
        for i, (x, code, proof) in enumerate(zip(X, codes.tolist(), plain, strict=False)):
            found: Any = None
            if proof is None:
                limit, proof = Deadline(timeout, cpu_limit), Certificate("robust", {})
                forbidden = (np.arange(len(labels)) != code).astype(np.int64)
                found, _ = search_row(mixture, rows.within(x, sizes), forbidden, limit, proof, seed, tries, trees)
            if found is None:
                kept[i] = True
                certificate.claim["table"].append(schema.row(x))
                certificate.claim["answers"].append(labels[code])
                certificate.append(proof)
            elif isinstance(found, str):
                unknown.append(i)
            else:
                changed[i] = schema.row(found)
            advance("")
    effort: dict[str, float] = {"rows": len(X), "seconds": start.seconds}
    verdict = None
    if kept.any():
        verdict = confirmed(Proved(certificate=certificate, effort=effort), mixture, deadline=Deadline())
    if verdict is not None and not isinstance(verdict, Proved):
        kept, unknown = np.zeros(len(X), dtype=bool), [i for i in range(len(X)) if i not in changed]
    return Robust(
        kept=kept,
        changed=changed,
        unknown=unknown,
        answers=answers,
        certificate=certificate if verdict else None,
        checked=bool(verdict),
        claim=verdict.claim if verdict else None,
        effort=effort if verdict is None else verdict.effort,
    )


def _sizes(radius: float | Mapping[str, float], rows: Domain) -> dict[str, float]:
    """Radius of every column."""
    names = {part.column.name: part for part in rows.values}
    if isinstance(radius, Mapping):
        if strange := [name for name in radius if name not in names]:
            raise InputError(f"there is no column {strange[0]!r}; the table has {', '.join(names)}")
        sizes = {name: float(radius.get(name, 0.0)) for name in names}
    else:
        share = float(radius)
        ranged = ("number", "integer")
        sizes = {
            name: share * (part.high - part.low) if part.column.kind in ranged else 0.0 for name, part in names.items()
        }
    if not all(0.0 <= size < np.inf for size in sizes.values()):
        raise InputError(f"a radius must be a finite number, not below 0, got {radius!r}")
    return sizes
