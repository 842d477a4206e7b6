"""A model in one line, and names that are safe to print."""

from __future__ import annotations

import re

from moet.model.base import BaseMixture


def summary(mixture: BaseMixture) -> str:
    """Kind and size, such as ``hard mixture of 2 experts: 4 leaves, 6 nodes, depth 1, 10 gate numbers``."""
    size = mixture.size
    shape = f"{count(size.leaves, 'leaf', 'leaves')}, {count(size.nodes, 'node')}, depth {size.depth}"
    if size.experts == 1:
        return f"decision tree: {shape}"
    return f"{mixture.prediction} mixture of {size.experts} experts: {shape}, {size.gate_numbers} gate numbers"


def how_to_harden(mixture: BaseMixture) -> str:
    """What the user of a soft model does to have a hard one, in the words of where the model came from."""
    match mixture.provenance.get("made_by"):
        case "moet distill" | "moet fit" as command:
            return f"make it again with `{command} --hard`"
        case "moet.distill":
            return 'distil it again into a student with prediction="hard"'
    estimator = "MoETRegressor" if hasattr(mixture, "outputs") else "MoETClassifier"
    return f'fit it again with {estimator}(prediction="hard")'


def count(how_many: int, singular: str, plural: str | None = None) -> str:
    """``1 leaf``, ``2 leaves``."""
    return f"{how_many} {singular if how_many == 1 else plural or singular + 's'}"


_UNCLEAR = re.compile(r"""|\s.*|.*\s|.*[,:<>=\[\]"].*|(in|is|not|and|or)(\s.*)?""", re.IGNORECASE | re.DOTALL)


def said(text: str) -> str:
    """A name or a category as a sentence has it: in quotation marks if it could be read as something else.

    Examples
    --------
    >>> said("furniture/equipment"), said("in"), said("<= 5")
    ('furniture/equipment', '"in"', '"<= 5"')
    """
    if not _UNCLEAR.fullmatch(text):
        return printable(text)
    mark = "'" if '"' in text else '"'
    return f"{mark}{text}{mark}" if text.isprintable() else ascii(text)


def printable(text: str) -> str:
    """``text``, with anything that could move a terminal's cursor or break a line escaped."""
    return text if text.isprintable() else ascii(text)
