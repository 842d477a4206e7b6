"""``moet why``: the reasons for one answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from moet.cli.inputs import At, known_task, read_input, units_of
from moet.cli.output import AsJson, print_json
from moet.cli.verdicts import CpuLimit, Timeout, Where, domain, finite, named, verdict_document

if TYPE_CHECKING:
    from moet.explain import Why
    from moet.explain.why import Opinion
    from moet.model.mixture import Mixture


def why(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    at: At,
    norm: Annotated[
        Literal["l1", "linf"], typer.Option(help="Nearest by the sum of the changes (l1), or by the largest (linf).")
    ] = "l1",
    where: Where = None,
    timeout: Timeout = None,
    cpu_limit: CpuLimit = 10.0,
    as_json: AsJson = False,
) -> None:
    """Say why a model answers one input as it does, and what would change the answer.

    How the gate chose, the path taken, how far each test is from flipping, and the nearest input with another answer.
    """
    from moet.explain import why as explain
    from moet.model.file import as_mixture

    mixture = as_mixture(model)
    x = read_input(at, mixture)
    units = units_of(mixture, known_task(mixture))
    reasons = explain(mixture, x, norm=norm, domain=domain(where), timeout=timeout, cpu_limit=cpu_limit, units=units)
    if as_json:
        about = {"model": str(model), "at": named(x, mixture), "units": units, "norm": norm, "where": where}
        print_json(about | _document(reasons, mixture))
    else:
        typer.echo(str(reasons))


def _document(reasons: Why, mixture: Mixture) -> dict[str, Any]:
    contest, found = reasons.contest, reasons.closest
    return {
        "answer": reasons.answer,
        "prediction": reasons.prediction,
        "classes": list(reasons.classes),
        "probabilities": list(reasons.probabilities),
        "contest": contest
        and {
            "winner": contest.winner,
            "rival": contest.rival,
            "margin": contest.margin,
            "bias": contest.bias,
            "pulls": dict(zip(mixture.feature_names, contest.pulls, strict=True)),
            "ties_at": dict(zip(mixture.feature_names, map(finite, contest.ties_at), strict=True)),
        },
        "experts": [
            _opinion(opinion, share, mixture) for opinion, share in zip(reasons.opinions, reasons.shares(), strict=True)
        ],
        "closest": verdict_document(found)
        | {
            "answer": getattr(found, "answer", None),
            "distance": finite(getattr(found, "distance", None)),
            "point": named(getattr(found, "point", None), mixture),
        },
    }


def _opinion(opinion: Opinion, share: float, mixture: Mixture) -> dict[str, Any]:
    return {
        "expert": opinion.expert,
        "logit": opinion.logit,
        "weight": opinion.weight,
        "share": share,
        "probabilities": list(opinion.probabilities),
        "path": [
            {"node": check.node, "feature": mixture.feature_names[check.feature], "value": check.value}
            | {"threshold": check.threshold, "passed": check.passed, "flips_at": check.flips_at}
            | {"distance": check.distance}
            for check in opinion.path
        ],
        "leaf": opinion.leaf,
    }
