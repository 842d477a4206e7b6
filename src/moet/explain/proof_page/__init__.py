"""The page of a bundle: what is proved, in words and as a picture, of which model, and what else there is."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from html import escape

from moet.errors import MoetError
from moet.explain.proof import proof_picture
from moet.explain.proof_drawing import draw_proof
from moet.explain.rule_lists import rules
from moet.model.file import Model
from moet.verify.checker.certificate import Certificate
from moet.verify.checker.words import claim_in_words
from moet.verify.systems.system import System
from moet.web.page import assembled


def proof_page(
    models: Mapping[str, Model], system: System, certificate: Certificate, files: Mapping[str, bytes]
) -> str:
    """Write the page; the certificate is about the last of the models."""
    about = list(models)[-1]
    claim = claim_in_words(certificate, models[about], system)
    return assembled(
        "moet.explain.proof_page",
        None,
        name=escape(system.name),
        lead=escape(f"Confirmed for {about} by an exact checker when this bundle was written."),
        claim=_paragraphs(claim),
        picture=_picture(certificate, models[about], system),
        models="".join(
            f"<section><h2>{escape(name)}</h2>{_text(rules(model))}</section>" for name, model in models.items()
        ),
        files="".join(f"<li>{escape(name)}, {len(content):,} bytes</li>" for name, content in files.items()),
    )


def _paragraphs(claim: str) -> str:
    """Sentences as paragraphs, indented lines (equations) as they are."""
    parts: list[str] = []
    block: list[str] = []
    for line in [*claim.splitlines(), ""]:
        if line.startswith(" "):
            block.append(line)
            continue
        if block:
            parts.append(_text("\n".join(block)))
            block = []
        if line:
            parts.append(f"<p>{escape(line)}</p>")
    return "".join(parts)


def _picture(certificate: Certificate, model: Model, system: System) -> str:
    """The proven sets with simulated runs, where the kind of proof has any to draw."""
    try:
        figure = draw_proof(proof_picture(certificate, model, system))
    except MoetError:
        return ""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=120, metadata={"Software": None})
    source = f"data:image/png;base64,{base64.b64encode(drawn.getvalue()).decode()}"
    caption = "Proven sets over time (filled), with simulated runs (lines) and what is not allowed (hatched)."
    return (
        f'<section><h2>In a picture</h2><figure><img alt="{caption}" src="{source}">'
        f"<figcaption>{caption}</figcaption></figure></section>"
    )


def _text(text: str) -> str:
    return f'<pre tabindex="0">{escape(text)}</pre>'
