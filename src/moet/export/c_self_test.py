"""A function of a C header that tries the compiled model on test vectors."""

from __future__ import annotations

from collections.abc import Iterable

from moet.export.c_parts import array, integer, number

Rows = Iterable[Iterable[float]]


def numbers(kind: str, name: str, rows: Rows) -> str:
    """A constant table of numbers, one row after another."""
    written = [[number(value, kind) for value in row] for row in rows]
    return array(f"{kind} {name}[{len(written)}][{len(written[0])}]", *(f"{{{', '.join(row)}}}," for row in written))


def integers(name: str, values: list[int]) -> str:
    """A constant array of integers."""
    kind = integer(min(values), max(values) + 1)
    return array(f"{kind} {name}[{len(values)}]", ", ".join(map(str, values)))


def self_test(name: str, kind: str, rows: list[list[float]], tables: list[str], wrong: str) -> str:
    """Write ``NAME_self_test``; ``wrong`` is C for "row i has another answer", which may use ``x`` and the tables."""
    body = "\n".join([numbers(kind, "rows", rows), *tables])
    return f"""\
/* Tries the compiled model on test vectors: 0 if all have the answers of the model, otherwise the number of the first
 * that has not, from 1 on. */
static inline int {name}_self_test(void)
{{
{_indented(body)}
    for (int i = 0; i < {len(rows)}; i++) {{
        {kind} x[{len(rows[0])}];
        for (int k = 0; k < {len(rows[0])}; k++) {{
            /* volatile: computed here and now, not by the compiler */
            x[k] = *(const volatile {kind} *)&rows[i][k];
        }}
{_indented(wrong, 2)}
    }}
    return 0;
}}
"""


def _indented(text: str, levels: int = 1) -> str:
    return "\n".join("    " * levels + line if line else line for line in text.split("\n"))
