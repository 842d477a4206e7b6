"""What all pictures share: colours and hatches that survive grey printing and colour blindness, and whole files."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from moet.errors import InputError
from moet.files import written_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 150
MAX_INCHES = 400.0
"""Larger pictures have more pixels to a side than matplotlib can draw."""
CHARACTERS_PER_INCH = 14
"""Of a note in small letters, wide ones included."""
FORMATS = (".png", ".svg")

# distinct without colour vision (Okabe and Ito), ordered so that neighbours also differ in grey
_COLOURS = ("#f5e9b8", "#56b4e9", "#d55e00", "#009e73", "#cc79a7", "#0072b2", "#999999", "#f0e442")
_HATCHES = ("", "//", "..", "\\\\", "xx", "--", "++", "oo")


class Look(NamedTuple):
    """How one class or expert is painted."""

    colour: str
    hatch: str

    @property
    def tinted(self) -> Look:
        """The same look, light enough for black text on it."""
        from matplotlib.colors import to_hex, to_rgb

        red, green, blue = (0.4 * part + 0.6 for part in to_rgb(self.colour))
        return self._replace(colour=to_hex((red, green, blue)))


def class_looks(how_many: int) -> list[Look]:
    """Looks of classes, which differ from one another up to 64."""
    return [_look(k) for k in range(how_many)]


def expert_looks(how_many: int) -> list[Look]:
    """Looks of experts: light, and in an order that keeps the first ones apart from those of the first classes."""
    return [_look(k + 3).tinted for k in range(how_many)]


def _look(k: int) -> Look:
    n = len(_COLOURS)
    return Look(_COLOURS[k % n], _HATCHES[(k + k // n) % n])


def broken(name: str) -> str:
    """A long name in several lines, broken at underscores and before its unit."""
    return textwrap.fill(name.replace("_", "_ "), 13, break_long_words=False).replace("_ ", "_")


def new_figure(width: float, height: float) -> Figure:
    """Figure of a size in inches, without a window."""
    from matplotlib.figure import Figure

    if max(width, height) > MAX_INCHES:
        raise InputError(f"the picture would be {width:.0f} by {height:.0f} inches large; show less of the model in it")
    return Figure(figsize=(width, height), dpi=DPI, layout="constrained")


def literal(figure: Figure) -> Figure:
    """The same figure with all text as it is: a name with dollar signs is no formula."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_parse_math(False)
    return figure


def note_above(figure: Figure, note: str) -> None:
    """Write what the reader should know above a picture, in lines that are no wider than it is."""
    if note:
        width = int(CHARACTERS_PER_INCH * figure.get_figwidth())
        lines = [textwrap.fill(line, width, break_long_words=False) for line in note.splitlines()]
        figure.suptitle("\n".join(lines), fontsize="small")


def check_format(path: str | os.PathLike[str]) -> str:
    """Suffix of a picture's file, if such pictures can be written."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise InputError(f"pictures are written as {' or '.join(FORMATS)}, not {suffix or os.fspath(path)}")
    return suffix


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a picture whole or not at all; the same picture gives the same file.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> import tempfile
    >>> from moet.explain import draw_trees, drawn_trees, save_figure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_figure(draw_trees(drawn_trees(model), class_count=2), f"{folder}/trees.png")
    """
    import matplotlib

    suffix = check_format(path)
    metadata = {"Date": None} if suffix == ".svg" else {}
    with matplotlib.rc_context({"svg.hashsalt": "moet"}), written_whole(path) as unfinished:
        figure.savefig(unfinished, format=suffix[1:], metadata=metadata)
