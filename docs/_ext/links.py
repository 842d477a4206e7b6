"""Links of the built site: every page, picture and heading that is linked exists. ``python links.py HTML_FOLDER``."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote

LINK = re.compile(r'(?:href|src)="([^"]+)"')
ELSEWHERE = re.compile(r"[a-z]+:|//")


@cache
def anchors(page: Path) -> frozenset[str]:
    """What links to a page may name."""
    return frozenset(re.findall(r'(?:id|name)="([^"]+)"', page.read_text(encoding="utf-8")))


def is_broken(page: Path, link: str) -> bool:
    """Whether a link of a page leads nowhere."""
    path, _, anchor = link.partition("#")
    target = (page.parent / unquote(path.partition("?")[0])).resolve() if path else page
    if not target.exists():
        return True
    return bool(anchor) and target.suffix == ".html" and unquote(anchor) not in anchors(target)


def broken_links(site: Path) -> list[str]:
    """All links of a site that lead nowhere, each with its page."""
    pages = [page for page in site.resolve().rglob("*.html") if "_static" not in page.parts]
    links = [(page, link) for page in pages for link in LINK.findall(page.read_text(encoding="utf-8"))]
    inside = ((page, link) for page, link in links if not ELSEWHERE.match(link))
    return [f"{page.name}: {link}" for page, link in inside if is_broken(page, link)]


if __name__ == "__main__":
    if broken := broken_links(Path(sys.argv[1])):
        sys.exit("links that lead nowhere:\n" + "\n".join(broken))
