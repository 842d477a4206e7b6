"""Tables: one structure, written as CSV, Markdown or LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

Cell = str | int | float | None
"""None is a cell without anything to say."""


@dataclass(frozen=True)
class Column:
    """Heading of a column.

    Attributes
    ----------
    title : str
    digits : int or None
        Decimals that are shown of its numbers; None for text and whole numbers. CSV keeps all digits.
    """

    title: str
    digits: int | None = None


@dataclass(frozen=True)
class Table:
    """Cells under headings.

    Attributes
    ----------
    name : str
        For file names and references: letters, digits and hyphens.
    caption : str
    columns : sequence of Column
    rows : sequence of rows
        One cell per column.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]

    def shown(self) -> list[list[str]]:
        """Cells as text for people."""
        return [[_shown(cell, column) for cell, column in zip(row, self.columns, strict=True)] for row in self.rows]

    def numeric(self) -> list[bool]:
        """For each column, whether it holds numbers."""
        return [not any(isinstance(row[k], str) for row in self.rows) for k in range(len(self.columns))]


def to_csv(table: Table) -> str:
    """The table for programs: every digit, and an empty field for nothing."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([column.title for column in table.columns])
    writer.writerows(table.rows)
    return text.getvalue()


def to_markdown(table: Table) -> str:
    """The table as Markdown, with its caption above."""
    rows = [[column.title for column in table.columns], *table.shown()]
    lines = ["| " + " | ".join(map(_markdown, row)) + " |" for row in rows]
    rule = "|" + "|".join("--:" if numeric else "---" for numeric in table.numeric()) + "|"
    return "\n".join([f"**{_markdown(table.caption)}**", "", lines[0], rule, *lines[1:]]) + "\n"


def to_latex(table: Table) -> str:
    """The table as LaTeX; needs the package booktabs, and an engine that reads UTF-8."""
    numeric = table.numeric()
    lines = [
        r"\begin{table}",
        rf"  \caption{{{_latex(table.caption)}}}",
        rf"  \label{{tbl:{table.name}}}",
        r"  \centering",
        rf"  \begin{{tabular}}{{{''.join('r' if right else 'l' for right in numeric)}}}",
        r"    \toprule",
        "    " + " & ".join(_latex(column.title) for column in table.columns) + r" \\",
        r"    \midrule",
    ]
    for row in table.shown():
        cells = (f"${cell}$" if number and cell else _latex(cell) for cell, number in zip(row, numeric, strict=True))
        lines.append("    " + " & ".join(cells) + r" \\")
    return "\n".join([*lines, r"    \bottomrule", r"  \end{tabular}", r"\end{table}"]) + "\n"


def _shown(cell: Cell, column: Column) -> str:
    if cell is None:
        return ""
    return f"{cell:.{column.digits}f}" if isinstance(cell, float) and column.digits is not None else str(cell)


_MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\`*_[]<>|"} | {"\n": " "})

_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\n": " "}
    | {"<": r"\textless{}", ">": r"\textgreater{}"}
)


def _markdown(text: str) -> str:
    return text.translate(_MARKDOWN)


def _latex(text: str) -> str:
    return text.translate(_LATEX)
