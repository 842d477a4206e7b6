"""What the commands that ask questions share: domains, labels, and how verdicts are told."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moet.cli.output import Exit
from moet.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from moet.model.base import BaseMixture
    from moet.model.file import Model
    from moet.verify.box import Box
    from moet.verify.result import Verdict

Where = Annotated[
    str | None,
    typer.Option(
        help='Where to look, such as "theta>=0.15, -1<=x<=1" or "Sex = male, Housing in (own, rent)"; '
        "everywhere by default."
    ),
]
CertificateFile = Annotated[Path | None, typer.Option(help="File to write the proof to.")]
Timeout = Annotated[
    float | None, typer.Option(min=0.0, help="Seconds after which the answer is unknown; no limit by default.")
]
CpuLimit = Annotated[float, typer.Option(min=0.0, help="Seconds of CPU time after which the answer is unknown.")]


def domain(where: str | None, model: BaseMixture) -> Box | None:
    """Read the box that ``--where`` describes, in the words of the model's schema if it has one."""
    from moet.verify.box import Box

    return None if where is None else Box.where(model, where)


def label_of(text: str, *models: Model) -> Any:
    """Return the class that is written like this; a number may be written in any way."""
    from moet.model.file import as_mixture

    known = {str(label): label for model in models for label in as_mixture(model).classes.tolist()}
    if text in known:
        return known[text]
    same = [label for label in known.values() if isinstance(label, float) and label == _as_number(text)]
    if not same:
        raise InputError(f"there is no class {text!r}; the model has {', '.join(known)}")
    return same[0]


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def answer_text(answer: Any) -> str:
    """An answer for people: a label, or outputs by name."""
    if isinstance(answer, dict):
        return ", ".join(f"{name} = {value:.17g}" for name, value in answer.items())
    return str(answer)


def name_of(verdict: Verdict) -> str:
    """Return the verdict in one word."""
    from moet.verify.result import Proved, Refuted

    return "proved" if isinstance(verdict, Proved) else "refuted" if isinstance(verdict, Refuted) else "unknown"


def exit_code(verdict: Verdict) -> Exit:
    """Return the exit code that tells a verdict."""
    return {"proved": Exit.OK, "refuted": Exit.NEGATIVE, "unknown": Exit.UNDECIDED}[name_of(verdict)]


def verdict_document(verdict: Verdict) -> dict[str, Any]:
    """Describe what all verdicts have in common as JSON values."""
    document = {"verdict": name_of(verdict), "reason": getattr(verdict, "reason", None), "effort": dict(verdict.effort)}
    document |= {"band": finite(verdict.band), "checked": verdict.checked, "caveats": list(verdict.caveats)}
    return document | {"claim": verdict.claim}


def print_claim(claim: str | None) -> None:
    """Print what was proved, in words, if anything was."""
    if claim is not None:
        typer.echo(f"\n{claim}\n")


def verdict_report(verdict: Verdict) -> dict[str, str]:
    """Describe what all verdicts have in common for people."""
    report = {}
    if reason := getattr(verdict, "reason", None):
        report["reason"] = reason
    for number, caveat in enumerate(verdict.caveats, start=1):
        report["note" if len(verdict.caveats) == 1 else f"note {number}"] = caveat
    if verdict.band is not None and math.isfinite(verdict.band):
        report["band"] = f"{verdict.band:.3g} (float64 may choose another expert where logits are closer than this)"
    for name, value in verdict.effort.items():
        report[name] = f"{value:.3g} s" if name.endswith("seconds") else f"{value:,}"
    return report


def save_certificate(verdict: Verdict, path: Path | None) -> str | None:
    """Write the certificate of a verdict to the file asked for; return the name of the file if there is one now."""
    from moet.verify.result import Proved

    if path is None or not isinstance(verdict, Proved):
        return None
    verdict.certificate.save(path)
    return str(path)


def named(point: NDArray[np.float64] | None, mixture: BaseMixture) -> dict[str, float] | None:
    """Return an input by feature name."""
    return None if point is None else dict(zip(mixture.feature_names, point.tolist(), strict=True))


def row_of(point: NDArray[np.float64] | None, mixture: BaseMixture) -> dict[str, Any] | None:
    """Return an input as a row of the user's table; by feature name if the model has no schema."""
    if point is None or mixture.schema is None:
        return named(point, mixture)
    return mixture.schema.row(point)


def cell(value: Any) -> str:
    """Return a cell of a row as text."""
    from moet.model.text import printable

    return f"{value:.17g}" if isinstance(value, float) else printable(str(value))


def finite(value: float | None) -> float | None:
    """Return a number for JSON, which has no infinity."""
    return value if value is not None and math.isfinite(value) else None
