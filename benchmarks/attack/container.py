"""The file of a certificate taken apart and put together, by the description of its format."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import tempfile
import zlib
from typing import Any, NamedTuple

from attack.judge import Plain, PlainTree
from moet.errors import CertificateError
from moet.verify import Certificate
from moet.verify.checker.documents.laws import read_laws
from moet.verify.checker.documents.model import plain_model
from moet.verify.checker.documents.system import read_system

_COUNTS = struct.Struct("<IIII")


class Parts(NamedTuple):
    """First line, kind, claim, and the records: codes, references and numbers."""

    magic: bytes
    kind: str
    claim: dict[str, Any]
    records: tuple[list[int], list[int], list[float]]


def parts(certificate: Certificate) -> Parts:
    """Take a certificate apart."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "proof")
        certificate.save(path)
        with open(path, "rb") as file:
            content = file.read()
    magic, header, blocks = content.split(b"\n", 2)
    described = json.loads(header)
    return Parts(magic, described["kind"], described["claim"], _records(blocks))


def _records(blocks: bytes) -> tuple[list[int], list[int], list[float]]:
    codes: list[int] = []
    refs: list[int] = []
    numbers: list[float] = []
    at = 0
    while any(counts := _COUNTS.unpack_from(blocks, at)):
        at += _COUNTS.size
        content = zlib.decompress(blocks[at : at + counts[3]])
        at += counts[3]
        layout = f"<{counts[0]}B{counts[1]}i{counts[2]}d"
        values = struct.unpack(layout, content)
        codes += values[: counts[0]]
        refs += values[counts[0] : counts[0] + counts[1]]
        numbers += values[counts[0] + counts[1] :]
    return codes, refs, numbers


def packed(parts: Parts) -> bytes:
    """The file of a certificate, with the checksum that fits."""
    codes, refs, numbers = parts.records
    header = json.dumps({"kind": parts.kind, "claim": parts.claim}).encode()
    content = parts.magic + b"\n" + header + b"\n"
    if codes or refs or numbers:
        block = zlib.compress(struct.pack(f"<{len(codes)}B{len(refs)}i{len(numbers)}d", *codes, *refs, *numbers), 1)
        content += _COUNTS.pack(len(codes), len(refs), len(numbers), len(block)) + block
    content += _COUNTS.pack(0, 0, 0, 0)
    return content + hashlib.sha256(content).digest()


def load(parts: Parts) -> Certificate:
    """Have the library read the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "proof")
        with open(path, "wb") as file:
            file.write(packed(parts))
        return Certificate.load(path)


def model_digest(document: Any) -> str | None:
    """Digest that a forger finds for a model; None if the checker cannot read it."""
    try:
        return plain_model(document).digest
    except CertificateError:
        return None


def laws_digest(document: Any) -> str | None:
    """The same for a model that answers with numbers."""
    try:
        return read_laws(document).digest
    except CertificateError:
        return None


def fitting_system_digest(document: Any) -> str | None:
    """Digest that a forger finds for a system; None if the checker cannot read it."""
    try:
        return read_system(document).digest
    except CertificateError:
        return None


def plain(document: dict[str, Any]) -> Plain:
    """A model's document as lists of numbers."""
    trees = [
        PlainTree(
            tree["feature"],
            tree["threshold"],
            tree["left"],
            tree["right"],
            [row.index(max(row)) for row in tree["value"]],
        )
        for tree in document["trees"]
    ]
    return Plain(document["gate"]["weights"], document["gate"]["bias"], trees, document["classes"]["values"])
