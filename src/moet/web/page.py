"""Web pages of one file that load nothing: a template with its style, its scripts and what they show."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from moet.web.modules import bundled


def assembled(package: str, content: Any, **parts: str) -> str:
    """Fill ``page.html`` of a package with its style and scripts, content as JSON, and HTML of the caller's.

    Parameters
    ----------
    package : str
        Holds ``page.html``, with places named ``{{policy}}``, ``{{style}}``, ``{{content}}``, ``{{script}}`` and those
        of ``parts``, ``style.css``, which may import ``paper.css``, the style of pages to be read, and, if something
        moves, the module ``app.js``, which imports what else it needs.
    content : JSON value
        What the scripts show.
    **parts : str
        Escaped HTML for further places.

    Returns
    -------
    str
        The page. Only its own script and style may run or apply, and nothing may be fetched.
    """
    folder = files(package)
    script, style = script_of(package), style_of(package)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    # "<" is the one character with which text could end the element that holds it
    text = json.dumps(content, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    filled = parts | {"policy": policy, "style": style, "script": script, "content": text}
    template = folder.joinpath("page.html").read_text(encoding="utf-8")
    # in one pass, so that nothing in the content is taken for a place to fill
    return re.sub(r"\{\{(\w+)\}\}", lambda match: filled[match[1]], template)


def style_of(package: str) -> str:
    """The style of a page, with that of all pages to be read where it says so."""
    paper = files("moet.web").joinpath("paper.css").read_text(encoding="utf-8")
    return files(package).joinpath("style.css").read_text(encoding="utf-8").replace('@import "paper.css";\n', paper)


def script_of(package: str) -> str:
    """All that the page of a package does, in one script."""
    sources, main = scripts_of(package) | scripts_of("moet.web"), f"{package.replace('.', '/')}/app.js"
    return bundled(sources, main) if main in sources else ""


def scripts_of(package: str) -> dict[str, str]:
    """Texts of the scripts of a package, by their paths."""
    found: list[Traversable] = [file for file in files(package).iterdir() if file.name.endswith(".js")]
    return {f"{package.replace('.', '/')}/{file.name}": file.read_text(encoding="utf-8") for file in found}


def _hash(text: str) -> str:
    """A source expression of a content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
