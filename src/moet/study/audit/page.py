"""The audit as one page that loads nothing, with its certificates attached."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from moet.explain.rule_lists import rules
from moet.model.file import digest
from moet.study.audit.findings import Audit, Finding
from moet.verify.findings import Robust
from moet.verify.result import Proved, Refuted, Unknown
from moet.web.page import assembled


def audit_page(found: Audit, name: str) -> str:
    """Write the page of an audit."""
    proved = [finding for finding in found.findings if isinstance(finding.verdict, Proved)]
    refuted = [finding for finding in found.findings if isinstance(finding.verdict, Refuted)]
    unknown = [finding for finding in found.findings if isinstance(finding.verdict, Unknown)]
    return assembled(
        "moet.study.audit",
        None,
        name=escape(name),
        verdict=escape(_verdict(found, proved, refuted, unknown)),
        digest=digest(found.mixture),
        proved="".join(map(_proof, proved)) or "<p>Nothing.</p>",
        refuted="".join(map(_refutation, refuted)) or "<p>Nothing.</p>",
        undecided=_undecided(unknown),
        robustness=_robustness(found),
        accuracy=_accuracy(found),
        groups=_groups(found),
        columns=_columns(found),
        rules=escape(rules(found.mixture)),
    )


def _verdict(found: Audit, proved: Sequence[Any], refuted: Sequence[Any], unknown: Sequence[Any]) -> str:
    asked = len(proved) + len(refuted) + len(unknown)
    text = f"{len(proved)} of {asked} claims proved, {len(refuted)} refuted, {len(unknown)} undecided."
    return text if found.accuracy is None else f"{text} {found.accuracy:.1%} of the table's rows are answered rightly."


def _attached(certificate: Any, name: str) -> str:
    """A link that holds the certificate's file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate"
        certificate.save(path)
        content = base64.b64encode(path.read_bytes()).decode()
    return f'<a download="{escape(name)}" href="data:application/octet-stream;base64,{content}">certificate</a>'


def _file_name(question: str) -> str:
    words = "".join(sign if sign.isalnum() else "-" for sign in question.lower()).strip("-")
    return f"{words[:80]}.moetcert"


def _proof(finding: Finding) -> str:
    verdict = finding.verdict
    caveats = "".join(f"<p class='note'>{escape(caveat)}</p>" for caveat in verdict.caveats)
    link = _attached(verdict.certificate, _file_name(finding.question)) if isinstance(verdict, Proved) else ""
    return (
        f"<details><summary>{escape(finding.question)} {link}</summary>"
        f"<pre>{escape(verdict.claim or '')}</pre>{caveats}</details>"
    )


def _refutation(finding: Finding) -> str:
    verdict = finding.verdict
    assert isinstance(verdict, Refuted)
    first, second = verdict.rows
    lines = [(name, first[name], second[name]) for name in first] + [("answer", *verdict.answers)]
    body = "".join(
        f"<tr{' class=differs' if a != b else ''}><th>{escape(name)}</th><td>{escape(str(a))}</td>"
        f"<td>{escape(str(b))}</td></tr>"
        for name, a, b in lines
    )
    share = "" if verdict.share is None else f" It does for {verdict.share:.1%} of the table's rows."
    return (
        f"<details><summary>Not so: {escape(finding.question)}{share}</summary>"
        f'<div class="scroll"><table><tbody>{body}</tbody></table></div></details>'
    )


def _undecided(unknown: Sequence[Finding]) -> str:
    if not unknown:
        return ""
    lines = (f"<li>{escape(finding.question)} {escape(finding.verdict.reason)}</li>" for finding in unknown)  # type: ignore[attr-defined]
    return f"<section><h2>Undecided</h2><ul>{''.join(lines)}</ul></section>"


def _robustness(found: Audit) -> str:
    n = len(found.curve[0][1].kept)
    rows = []
    for radius, one in found.curve:
        accuracy = "" if found.labels is None else f"{one.accuracy(found.labels):.3f}"
        link = "" if one.certificate is None else _attached(one.certificate, f"robust-{radius:g}.moetcert")
        rows.append([f"{radius:g}", f"{one.share:.3f}", accuracy, str(len(one.unknown)), link])
    head = ["change, as a share of every range", "rows that keep their answers", "and are right", "undecided", ""]
    return (
        f"<p class='note'>{n} rows of the table, chosen at random. All columns of numbers may change at once by this "
        "share of their range; that a row keeps its answer is proved.</p>"
        + _picture([(radius, one) for radius, one in found.curve], found)
        + _table(head, rows, raw_last=True)
    )


def _picture(curve: Sequence[tuple[float, Robust]], found: Audit) -> str:
    """The certified accuracy curve, drawn without a script."""
    largest = curve[-1][0] or 1.0
    values = [(r, one.share if found.labels is None else one.accuracy(found.labels)) for r, one in curve]
    points = " ".join(f"{40 + 340 * r / largest:.1f},{190 - 170 * v:.1f}" for r, v in values)
    ticks = "".join(
        f'<text x="4" y="{194 - 170 * v:.0f}">{v:g}</text><line x1="40" x2="380" y1="{190 - 170 * v:.0f}" '
        f'y2="{190 - 170 * v:.0f}"/>'
        for v in (0.0, 0.5, 1.0)
    )
    marks = "".join(f'<text x="{34 + 340 * r / largest:.0f}" y="206">{r:g}</text>' for r, _ in values[2:])
    name = "rows that keep their answers" if found.labels is None else "certified accuracy"
    return (
        f'<svg viewBox="0 0 400 225" role="img" aria-label="{name} by radius">{ticks}{marks}'
        f'<polyline points="{points}"/>'
        f'<text x="150" y="222">{name}, by radius</text></svg>'
    )


def _accuracy(found: Audit) -> str:
    if found.accuracy is None:
        return "<p>The table has no labels.</p>"
    error = sum(share * abs(said - right) for share, said, right in found.calibration)
    rows = [[f"{share:.1%}", f"{said:.3f}", f"{right:.3f}"] for share, said, right in found.calibration]
    head = ["rows", "probability of the answer, on average", "answered rightly"]
    return (
        f"<p>Accuracy on the table: {found.accuracy:.4f}. Calibration error: {error:.3f}. Rows that the model was "
        "fitted to are answered better than new ones.</p>" + _table(head, rows)
    )


def _groups(found: Audit) -> str:
    if not found.groups:
        return "<p>No column has few categories.</p>"
    labels = [str(label) for label in found.mixture.classes.tolist()]
    rows = [
        [column, value, str(n), *(f"{shares[label]:.3f}" for label in labels), "" if right is None else f"{right:.3f}"]
        for column, value, n, shares, right in found.groups
    ]
    return _table(["column", "value", "rows", *(f"answered {label}" for label in labels), "accuracy"], rows)


def _number(value: float | None) -> str:
    """A limit as it stands in the table: whole numbers whole."""
    return str(value) if isinstance(value, int) else f"{value:g}"


def _columns(found: Audit) -> str:
    assert found.mixture.schema is not None
    rows = []
    for column in found.mixture.schema.columns:
        reach = ", ".join(column.labels) if column.labels else f"{_number(column.low)} to {_number(column.high)}"
        rows.append([column.name, column.kind, reach, column.unit])
    head = ["column", "kind", "values", "unit"]
    if not any(unit for *_, unit in rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    return _table(head, rows)


def _table(head: Iterable[str], rows: Iterable[Sequence[str]], *, raw_last: bool = False) -> str:
    """A table of texts; with ``raw_last`` the last column is HTML already."""
    top = "".join(f"<th>{escape(title)}</th>" for title in head)
    body = ""
    for row in rows:
        cells = [escape(cell) for cell in row]
        if raw_last:
            cells[-1] = row[-1]
        body += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
