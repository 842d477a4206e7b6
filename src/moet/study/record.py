"""Outcomes as attributes of trials, and back: the storage is all that a report needs."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from moet.errors import StudyError
from moet.model.file import as_mixture, decoded, encoded
from moet.study.definition import packed, unpacked
from moet.study.outcome import Measured, Outcome


def attributes(outcome: Outcome) -> dict[str, Any]:
    """What a finished trial stores: the figures as JSON, and its model file compressed."""
    document = {f.name: getattr(outcome, f.name) for f in fields(outcome) if f.name != "model"}
    for name in ("before", "after"):
        document[name] = vars(document[name])
    return {"outcome": document, "model": packed(encoded(outcome.model))}


def outcome_of(attributes: dict[str, Any], where: str) -> Outcome:
    """Read back what a finished trial stored; ``where`` names it in a complaint."""
    try:
        document = dict(attributes["outcome"])
        for name in ("before", "after"):
            measured = document[name]
            document[name] = Measured(**(measured | {"interval": tuple(measured["interval"])}))
        return Outcome(**document, model=as_mixture(decoded(unpacked(attributes["model"]))))
    except (KeyError, TypeError, ValueError) as error:
        raise StudyError(f"{where} holds no outcome that this moet can read: {error!r}") from None
