"""What the commands that make models share: the size of a model, its kind and its digits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from moet.cli.output import say

if TYPE_CHECKING:
    from moet.model.sizes import Tried

Experts = Annotated[int | None, typer.Option(min=1, help="Number of experts (4 if only --depth is given).")]
Depth = Annotated[
    int | None,
    typer.Option(min=0, help="Largest depth of their trees; 0 is a single leaf (3 if only --experts is given)."),
]
Hard = Annotated[
    bool | None,
    typer.Option(
        "--hard/--soft",
        help="Let the most probable expert answer alone, which can be proved and exported, or let all vote.",
        show_default="hard",
    ),
]
Digits = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=17,
        help="Significant digits of gate and thresholds; 17 keeps all. By default as few as cost nothing.",
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(min=0.1, help="Minutes to find a size in; what comes out then depends on the machine's speed."),
]


def size_report(front: Sequence[Tried], taken: int | None, tolerance: float | None, what: str) -> dict[str, str]:
    """Tell which sizes were tried, and return a line of the report that says why this one was taken."""
    if taken is None or tolerance is None:
        return {}
    from moet.model.sizes import front_lines, smallest_within

    for line in front_lines(front, taken, what):
        say(line)
    best = max(one.score for one in front)
    why = f"the smallest within {tolerance:.3g} of the best {what} ({best:.4g})"
    if front[taken].boosted:
        why = f"nothing small is within {tolerance:.3g} of the best {what} ({best:.4g})"
    if taken != smallest_within(front, tolerance):
        why = f"the most faithful: none earned visibly more than chance (best {best:.4g})"
    return {"size taken": f"{front[taken].name}, {why}"}
