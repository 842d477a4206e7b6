"""Web pages of one file that load nothing: a template with its style, its scripts and what they show."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from importlib.resources.abc import Traversable
from typing import Any


def assembled(folder: Traversable, scripts: Sequence[Traversable], content: Any, **parts: str) -> str:
    """Fill ``page.html`` of ``folder`` with its ``style.css``, scripts, content as JSON, and HTML of the caller's.

    Parameters
    ----------
    folder : folder of package data
        Holds ``page.html``, with places named ``{{policy}}``, ``{{style}}``, ``{{content}}``, ``{{script}}`` and those
        of ``parts``, and ``style.css``.
    scripts : sequence of files
        Joined in this order, in a scope of their own.
    content : JSON value
        What the scripts show.
    **parts : str
        Escaped HTML for further places.

    Returns
    -------
    str
        The page. Only its own script and style may run or apply, and nothing may be fetched.
    """
    texts = [file.read_text(encoding="utf-8") for file in scripts]
    script = '(() => {\n"use strict";\n' + "\n".join(texts) + "})();\n"
    style = folder.joinpath("style.css").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    # "<" is the one character with which text could end the element that holds it
    text = json.dumps(content, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    filled = parts | {"policy": policy, "style": style, "script": script, "content": text}
    template = folder.joinpath("page.html").read_text(encoding="utf-8")
    # in one pass, so that nothing in the content is taken for a place to fill
    return re.sub(r"\{\{(\w+)\}\}", lambda match: filled[match[1]], template)


def _hash(text: str) -> str:
    """A source expression of a content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
