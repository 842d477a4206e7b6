"""``moet verify --monotone``, ``--ignores`` and ``--robust``: questions about possible rows of a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import typer

from moet.cli.inputs import columns_of
from moet.cli.output import Exit, check_writable, print_json, print_report
from moet.cli.verdicts import (
    cell,
    domain,
    exit_code,
    label_of,
    name_of,
    print_claim,
    save_certificate,
    verdict_document,
    verdict_report,
)
from moet.errors import InputError

if TYPE_CHECKING:
    from moet.model.base import BaseMixture
    from moet.model.mixture import Mixture
    from moet.verify.findings import Robust
    from moet.verify.result import Refuted, Verdict

ANSWER_SECONDS = 60.0
"""CPU limit of a question about answers."""


@dataclass(frozen=True)
class Ask:
    """What the command line says about every such question; each method tells its verdict and ends the command."""

    model: Path
    where: str | None
    certificate: Path | None
    timeout: float | None
    cpu_limit: float
    seed: int
    as_json: bool

    def monotone(self, column: str, direction: Literal["increasing", "decreasing"], answer: str | None) -> NoReturn:
        """Whether more of a column never takes an answer away."""
        from moet.verify.rows.pairs import monotone

        mixture = self._mixture()
        if answer is None:
            raise InputError(f"--monotone needs --answer, one of {', '.join(map(str, mixture.classes.tolist()))}")
        label = label_of(answer, mixture)
        box = domain(self.where, mixture)
        verdict = monotone(mixture, column, box, direction=direction, answer=label, **self._limits())
        more = "more" if direction == "increasing" else "less"
        question = {"question": "monotone", "column": column, "direction": direction, "answer": answer}
        self._tell(verdict, f"{more} {column} never takes the answer {answer} away", question, mixture)

    def ignores(self, texts: list[str]) -> NoReturn:
        """Whether a change of columns never changes the answer."""
        from moet.verify.rows.pairs import ignores

        mixture = self._mixture()
        columns = [name for text in texts for name in columns_of(text, mixture)]
        verdict = ignores(mixture, columns, domain(self.where, mixture), **self._limits())
        claim = f"a change of {' and '.join(columns)} alone never changes the answer"
        self._tell(verdict, claim, {"question": "ignores", "columns": columns}, mixture)

    def robust(self, table: Path, radius: str) -> NoReturn:
        """How many rows of a table keep their answers within a radius."""
        from moet.cli.data import features_of
        from moet.model.file import digest
        from moet.verify.rows.robustness import robust

        mixture = self._mixture()
        found = robust(
            mixture,
            features_of(table, mixture),
            amounts(radius, mixture),
            domain(self.where, mixture),
            timeout=self.timeout,
            cpu_limit=self.cpu_limit,
            seed=self.seed,
            verbose=not self.as_json,
        )
        if self.certificate is not None and found.certificate is not None:
            found.certificate.save(self.certificate)
        n = len(found.kept)
        if self.as_json:
            document: dict[str, Any] = {
                "radius": radius,
                "question": "robust",
                "model": str(self.model),
                "digest": digest(mixture),
            }
            document |= {"rows": n, "kept": int(found.kept.sum()), "unknown": found.unknown, "checked": found.checked}
            changed = [{"row": i + 1, "becomes": row} for i, row in found.changed.items()]
            print_json({**document, "changed": changed, "claim": found.claim, "effort": dict(found.effort)})
        else:
            _tell_robust(found, n, radius)
            print_report({"model": digest(mixture), "time": f"{found.effort['seconds']:.3g} s"})
        raise typer.Exit(Exit.NEGATIVE if found.changed else Exit.UNDECIDED if found.unknown else Exit.OK)

    def _mixture(self) -> Mixture:
        if self.certificate is not None:
            check_writable(self.certificate)
        from moet.model.file import as_mixture

        return as_mixture(self.model)

    def _limits(self) -> dict[str, Any]:
        return {"timeout": self.timeout, "cpu_limit": self.cpu_limit, "seed": self.seed}

    def _tell(self, verdict: Verdict, claim: str, question: dict[str, Any], mixture: Mixture) -> NoReturn:
        from moet.model.file import digest
        from moet.verify.result import Refuted

        saved = save_certificate(verdict, self.certificate)
        refuted = verdict if isinstance(verdict, Refuted) else None
        if self.as_json:
            document = question | {"model": str(self.model), "digest": digest(mixture), "where": self.where}
            document |= {
                "rows": list(refuted.rows) if refuted is not None else None,
                "answers": list(refuted.answers) if refuted is not None else None,
                "share": refuted.share if refuted is not None else None,
                "certificate": saved,
            }
            print_json({**verdict_document(verdict), **document})
            raise typer.Exit(exit_code(verdict))
        typer.echo(f"{name_of(verdict)}: {claim}{f' where {self.where}' if self.where else ''}")
        if refuted is not None:
            _tell_pair(refuted)
        print_claim(verdict.claim)
        print_report({"model": digest(mixture)} | verdict_report(verdict) | ({"certificate": saved} if saved else {}))
        raise typer.Exit(exit_code(verdict))


def _tell_pair(refuted: Refuted) -> None:
    """Print two rows side by side, with what differs marked."""
    first, second = refuted.rows
    width = max(len(name) for name in (*first, "answer"))
    left = max(len(cell(value)) for value in (*first.values(), refuted.answers[0]))
    lines = [*((name, first[name], second[name]) for name in first), ("answer", *refuted.answers)]
    for name, a, b in lines:
        typer.echo(f"  {name:<{width}}  {cell(a):<{left}}  {cell(b)}{'' if a == b else '  <-'}")
    if refuted.share is not None:
        typer.echo(f"it does for {refuted.share:.1%} of random possible rows")


def _tell_robust(found: Robust, n: int, radius: str) -> None:
    kept = int(found.kept.sum())
    typer.echo(
        f"{kept} of {n} rows keep their answers within {radius}, as is proved; {len(found.changed)} do not", nl=False
    )
    typer.echo(f", {len(found.unknown)} are undecided" if found.unknown else "")
    for i, row in list(found.changed.items())[:3]:
        typer.echo(
            f"  row {i + 1} ({found.answers[i]}) changes its answer as "
            + ", ".join(f"{k}={cell(v)}" for k, v in row.items())
        )


def amounts(text: str, mixture: BaseMixture) -> float | dict[str, float]:
    """Read one number (``1%`` is 0.01), or numbers by column."""
    from moet.model.words import parts_of

    try:
        if "=" not in text:
            whole = text.strip()
            return float(whole[:-1]) / 100 if whole.endswith("%") else float(whole)
        parts = (part.rpartition("=") for part in parts_of(text) if part)
        return {column: float(value) for name, _, value in parts for column in columns_of(name, mixture) or [name]}
    except ValueError:
        raise InputError(
            f'expected a number such as 0.01 or 1%, or numbers by column such as "Age=2, Duration=3", got {text!r}'
        ) from None
