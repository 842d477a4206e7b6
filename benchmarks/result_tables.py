"""Tables of the results pages, written from the rows that are kept in docs/rows.

    python benchmarks/result_tables.py                    # write all tables anew: what `make results` does
    python benchmarks/result_tables.py --read docs/results-speed.md --command "python benchmarks/predict.py" \
        --seeds 0 --date 2026-11-18 --machine "2 cores of an AMD EPYC"

A table stands between `<!-- rows: NAME -->` and `<!-- end -->`, and its rows in docs/rows/NAME.json, with the command
that measured them, seeds, date and machine. `--read` goes the other way: it keeps what stands in a page, tables without
marks included, which then get names of their own.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
ROWS = ROOT / "docs" / "rows"
ORIGIN = ("command", "seeds", "date", "machine")
MARKED = re.compile(r"<!-- rows: ([a-z0-9-]+) -->\n\n?(.*?)\n?<!-- end -->\n", re.S)
PLAIN = re.compile(r"(?:^\|.*\n)+", re.M)
ALIGNED = {"left": "---", "right": "--:"}


def pages() -> list[Path]:
    """Pages whose tables have kept rows."""
    return sorted([*(ROOT / "docs").glob("results*.md"), *(ROOT / "docs" / "notes").glob("*.md")])


def written(table: dict[str, Any]) -> str:
    """Markdown of a table; a column has a name and a side, a row one cell per column."""
    columns = table["columns"]
    lines = [[column["name"] for column in columns], *table["rows"]]
    head, *rows = ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines]
    sides = "|" + "|".join(ALIGNED[column["side"]] for column in columns) + "|"
    return "\n".join(line.replace("|  |", "| |").replace("|  |", "| |") for line in [head, sides, *rows]) + "\n"


def read(text: str) -> dict[str, Any]:
    """Columns and rows of a table in Markdown."""
    head, sides, *rows = [_cells(line) for line in text.strip().splitlines()]
    columns = [
        {"name": name, "side": "right" if side.endswith(":") else "left"}
        for name, side in zip(head, sides, strict=True)
    ]
    return {"columns": columns, "rows": rows}


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def between_marks(name: str, table: str) -> str:
    """A table and the marks that say whose rows it shows."""
    return f"<!-- rows: {name} -->\n\n{table}\n<!-- end -->\n"


def renewed(text: str) -> str:
    """A page with every marked table written from its rows."""
    return MARKED.sub(lambda mark: between_marks(mark[1], written(kept(mark[1]))), text)


def kept(name: str) -> dict[str, Any]:
    """Rows of that name."""
    return json.loads((ROWS / f"{name}.json").read_text(encoding="utf-8"))


def keep(name: str, table: dict[str, Any]) -> None:
    """Write rows, a line each, so that a changed figure is a changed line."""
    head = {key: table[key] for key in ORIGIN}
    lines = [f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}," for key, value in head.items()]
    for key in ("columns", "rows"):
        cells = ",\n".join(f"    {json.dumps(one, ensure_ascii=False)}" for one in table[key])
        lines.append(f"  {json.dumps(key)}: [\n{cells}\n  ]" + ("," if key == "columns" else ""))
    ROWS.mkdir(exist_ok=True)
    (ROWS / f"{name}.json").write_text("{\n" + "\n".join(lines) + "\n}\n", encoding="utf-8")


def unmarked(text: str) -> list[re.Match[str]]:
    """Tables of a page that no marks surround, nor code."""
    hidden = [
        match.span()
        for pattern in (MARKED, re.compile(r"^```.*?^```", re.S | re.M))
        for match in pattern.finditer(text)
    ]
    return [found for found in PLAIN.finditer(text) if not any(a <= found.start() < b for a, b in hidden)]


def read_page(path: Path, origin: dict[str, str]) -> None:
    """Keep the rows of all tables of a page; what is new, or differs from what was kept, gets ``origin``."""
    text = path.read_text(encoding="utf-8")
    for mark in MARKED.finditer(text):
        table, before = read(mark[2]), kept(mark[1])
        if any(table[key] != before[key] for key in table):
            keep(mark[1], {**before, **origin, **table})
    for found in reversed(unmarked(text)):
        name = _free_name(text, found.start(), path)
        keep(name, {**origin, **read(found[0])})
        text = text[: found.start()] + between_marks(name, found[0]) + text[found.end() :]
    path.write_text(renewed(text), encoding="utf-8")


def _free_name(text: str, place: int, path: Path) -> str:
    """A name made of the page and the heading above the table."""
    headings = re.findall(r"^#{2,} (.*)", text[:place], re.M)
    words = [path.parent.name * (path.parent.name == "notes"), path.stem.removeprefix("results-"), *headings[-1:]]
    name = re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-")
    taken = {file.stem for file in ROWS.glob("*.json")}
    return next(one for one in [name, *(f"{name}-{k}" for k in range(2, 99))] if one not in taken)


def main() -> None:
    """Write tables from rows, or keep the rows of a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--read", type=Path, metavar="PAGE")
    for key in ORIGIN:
        parser.add_argument(f"--{key}", default="")
    options = parser.parse_args()
    if options.read:
        read_page(options.read, {key: getattr(options, key) for key in ORIGIN})
    for path in pages():
        path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
