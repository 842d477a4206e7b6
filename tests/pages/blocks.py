"""Blocks of code in a page, and what it takes to run them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
FENCE = re.compile(
    r"(?:^<!-- not run: (?P<why>[^>]*) -->\n+)?^(?P<indent> *)```(?P<kind>\w+)\n(?P<code>.*?)^ *```", re.S | re.M
)


class Block(NamedTuple):
    """One block: ``python`` or ``console``, the line it begins in, its code, and why it is not run, if so."""

    kind: str
    line: int
    code: str
    why_not: str | None


def blocks(page: Path) -> list[Block]:
    """Return the Python and console blocks of a page in their order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        kind = {"bash": "console", "sh": "console"}.get(match["kind"], match["kind"])
        if kind in ("python", "console"):
            code = re.sub(rf"^{match['indent']}", "", match["code"], flags=re.M)
            found.append(Block(kind, text[: match.start("code")].count("\n") + 1, code, match["why"]))
    return found


def commands(code: str) -> list[list[str]]:
    """Words of the commands of a console block; what a command prints is left out, comments are too."""
    joined = code.replace("\\\n", " ")
    lines = [line.removeprefix("$ ") for line in joined.splitlines() if line.startswith("$ ")]
    return [shlex.split(line, comments=True) for line in lines]


def unknown_parts(words: list[str]) -> list[str]:
    """What a script of this repository that is called so does not have: itself, or options."""
    at = next(k for k, word in enumerate(words) if word.endswith(".py"))
    script = ROOT / words[at]
    if not script.exists():
        return [words[at]]
    source = "".join(path.read_text(encoding="utf-8") for path in {script, *script.parent.glob("attack/*.py")})
    options = [word.split("=")[0] for word in words[at + 1 :] if word.startswith("--")]
    return [option for option in options if option not in source and 'f"--{' not in source]
