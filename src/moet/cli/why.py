"""``moet why``: the reasons for one answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from moet.cli.inputs import At, known_task, read_input, units_of
from moet.cli.output import AsJson, print_json
from moet.cli.verdicts import CpuLimit, Timeout, Where, domain, finite, row_of, verdict_document
from moet.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from moet.explain import Why
    from moet.explain.reasons import Check, Contest, Opinion
    from moet.model.base import BaseMixture
    from moet.model.mixture import Mixture
    from moet.model.regression.mixture import RegressionMixture


def why(
    model: Annotated[Path, typer.Argument(help="Model file.")],
    at: At,
    norm: Annotated[
        Literal["share", "l1", "linf"] | None,
        typer.Option(
            help="Nearest by the sum of the changes as shares of the columns' ranges (share, the default for a table), "
            "or in raw units by their sum (l1), or by the largest (linf)."
        ),
    ] = None,
    where: Where = None,
    timeout: Timeout = None,
    cpu_limit: CpuLimit = 10.0,
    as_json: AsJson = False,
) -> None:
    """Say why a model answers one input as it does, and what would change the answer.

    How the gate chose, the path taken, how far each test is from flipping, and the nearest input with another answer;
    of a model that answers with numbers, the law, what every feature adds, and what is clipped.
    """
    from moet.explain import why as explain
    from moet.model.file import as_model
    from moet.model.regression.mixture import RegressionMixture

    mixture = as_model(model)
    x = read_input(at, mixture)
    units = units_of(mixture, known_task(mixture))
    if isinstance(mixture, RegressionMixture):
        if where is not None or norm is not None:
            raise InputError("--where and --norm are about the nearest other label; this model answers with numbers")
        _say_law(mixture, x, units, {"model": str(model), "at": row_of(x, mixture), "units": units}, as_json)
        return
    box = domain(where, mixture)
    reasons = explain(mixture, x, norm=norm, domain=box, timeout=timeout, cpu_limit=cpu_limit, units=units)
    if as_json:
        about = {"model": str(model), "at": row_of(x, mixture), "units": units, "norm": reasons.norm, "where": where}
        print_json(about | _document(reasons, mixture))
    else:
        typer.echo(str(reasons))


def _say_law(
    mixture: RegressionMixture, x: NDArray[np.float64], units: dict[str, str], about: dict[str, Any], as_json: bool
) -> None:
    from moet.explain import why_law

    reasons = why_law(mixture, x, units=units)
    if not as_json:
        typer.echo(str(reasons))
        return
    names = mixture.feature_names
    laws = {
        output: {"value": law.value, "terms": dict(zip(names, law.terms, strict=False))}  # none at a constant leaf
        | {"unclipped": law.unclipped, "clipped": law.clipped}
        for output, law in zip(mixture.outputs, reasons.laws, strict=True)
    }
    answer = {"answer": {output: law["clipped"] for output, law in laws.items()}, "laws": laws}
    place = {"expert": reasons.expert, "path": [_check(check, mixture) for check in reasons.path], "leaf": reasons.leaf}
    print_json(about | answer | {"contest": _contest(reasons.contest, mixture)} | place)


def _document(reasons: Why, mixture: Mixture) -> dict[str, Any]:
    found = reasons.closest
    return {
        "answer": reasons.answer,
        "prediction": reasons.prediction,
        "classes": list(reasons.classes),
        "probabilities": list(reasons.probabilities),
        "contest": _contest(reasons.contest, mixture),
        "experts": [
            _opinion(opinion, share, mixture) for opinion, share in zip(reasons.opinions, reasons.shares(), strict=True)
        ],
        "closest": verdict_document(found)
        | {
            "answer": getattr(found, "answer", None),
            "distance": finite(getattr(found, "distance", None)),
            "point": row_of(getattr(found, "point", None), mixture),
        },
    }


def _contest(contest: Contest | None, mixture: BaseMixture) -> dict[str, Any] | None:
    if contest is None:
        return None
    return {
        "winner": contest.winner,
        "rival": contest.rival,
        "margin": contest.margin,
        "bias": contest.bias,
        "pulls": dict(zip(mixture.feature_names, contest.pulls, strict=True)),
        "ties_at": dict(zip(mixture.feature_names, map(finite, contest.ties_at), strict=True)),
    }


def _opinion(opinion: Opinion, share: float, mixture: Mixture) -> dict[str, Any]:
    return {
        "expert": opinion.expert,
        "logit": opinion.logit,
        "weight": opinion.weight,
        "share": share,
        "probabilities": list(opinion.probabilities),
        "path": [_check(check, mixture) for check in opinion.path],
        "leaf": opinion.leaf,
    }


def _check(check: Check, mixture: BaseMixture) -> dict[str, Any]:
    test = {"node": check.node, "feature": mixture.feature_names[check.feature], "value": check.value}
    test |= {"threshold": check.threshold, "passed": check.passed}
    return test | {"flips_at": check.flips_at, "distance": check.distance}
