"""Hostile files: what a checker must refuse, quickly and in one line, whatever their bytes."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from attack import container, forgeries
from attack.judge import WrongVerdictError
from moet.errors import CertificateError
from moet.verify import check

_DEEP = 100_000
NUMBERS = ("1e99999999", "-1e99999999", "1" * 4001, "1e400", "NaN", "Infinity", "1/0", "0x1p999", "1e-99999999")
NUMBERS += ('"1e9999999"', '"1/3"', '"0.1"', "1e308", "5e-324")
TEXTS = (
    b"",
    b"\x00" * 1000,
    b"\xff\xfe{}",
    b"{}",
    b"[]",
    b"null",
    b"[" * _DEEP,
    b"[" * _DEEP + b"]" * _DEEP,
    b'{"a":' * _DEEP,
    b'{"format": "moet-system", "format": "moet-system"}',
    b'"' + b"a" * 10_000_000 + b'"',
    b"1" * 10_000_000,
    b"[" + b"1," * 3_000_000 + b"1]",
)
EXPRESSIONS = (
    "-" * 900 + "level",
    "(" * 5000 + "level" + ")" * 5000,
    "level" + "**16" * 40,
    "level**99999999",
    "+".join(["level"] * 100_000),
    "__import__('os')",
    "level.__class__",
    "level / 0",
    "sqrt(-1 - level * level)",
    "1e400 * level",
    "9" * 5000,
    "sin()",
    "sin(level, level)",
    "lambda: level",
    "",
)


def attack_file(seed: int) -> str:
    """One hostile file in one role."""
    rng = np.random.default_rng(seed)
    role = ("certificate", "model", "system")[seed % 3]
    proof = _about_system(rng)
    return _refused_or_not(role, proof, _content(role, proof, rng))


def attack_meaning(seed: int) -> str:
    """A file that one reader may understand in another way than the next; anything but a refusal is a defect."""
    rng = np.random.default_rng(seed)
    role = ("model", "system")[seed % 2]
    proof = _about_system(rng)
    answer = _refused_or_not(role, proof, _ambiguous(role, proof, rng))
    if "accepted" in answer:
        raise WrongVerdictError(f"a {role} with two meanings was accepted")
    return answer


def _about_system(rng: np.random.Generator) -> forgeries.Proof:
    proofs = [proof for proof in forgeries.proofs() if proof.system is not None]
    return proofs[int(rng.integers(len(proofs)))]


def _refused_or_not(role: str, proof: forgeries.Proof, content: bytes) -> str:
    with tempfile.TemporaryDirectory() as folder:
        paths = dict(_written(folder, proof))
        with open(paths[role], "wb") as file:
            file.write(content)
        try:
            check(paths["certificate"], paths["model"], paths["system"])
        except CertificateError:
            return f"{role} refused"
    return f"{role} accepted"


def _written(folder: str, proof: forgeries.Proof) -> Iterator[tuple[str, str]]:
    contents = {
        "certificate": container.packed(proof.parts),
        "model": json.dumps(proof.models[0]).encode(),
        "system": json.dumps(proof.system).encode(),
    }
    for role, content in contents.items():
        path = os.path.join(folder, role)
        with open(path, "wb") as file:
            file.write(content)
        yield role, path


def _content(role: str, proof: forgeries.Proof, rng: np.random.Generator) -> bytes:
    """Bytes that are wrong from the start, a document with a monstrous number or expression, or a damaged file."""
    style = rng.integers(4)
    if style == 0:
        return TEXTS[int(rng.integers(len(TEXTS)))]
    if role == "certificate":
        whole = container.packed(_monstrous(proof, rng) if style == 1 else proof.parts)
        return whole if style == 1 else _damaged(whole, rng)
    document = proof.models[0] if role == "model" else proof.system
    text = json.dumps(document)
    if style == 1:
        return _with_number(text, rng).encode()
    if style == 2 and role == "system" and proof.system is not None and "step" in proof.system["dynamics"]:
        changed = json.loads(text)
        changed["dynamics"]["step"][0] = EXPRESSIONS[int(rng.integers(len(EXPRESSIONS)))]
        return json.dumps(changed).encode()
    return _damaged(text.encode(), rng)


def _ambiguous(role: str, proof: forgeries.Proof, rng: np.random.Generator) -> bytes:
    """A key twice or unknown, numbers that are texts to calculate, a tree whose branches meet."""
    document = json.loads(json.dumps(proof.models[0] if role == "model" else proof.system))
    style = int(rng.integers(4))
    if style == 0:
        key = str(rng.choice(list(document)))
        return json.dumps(document).replace(f'"{key}":', f'"{key}": null, "{key}":', 1).encode()
    if style == 1:
        document[str(rng.choice(["extra", "Safe", "steps", "safe "]))] = 1
    elif role == "model":
        tree = next((tree for tree in document["trees"] if len(tree["feature"]) > 1), document["trees"][0])
        tree["right"][0] = tree["left"][0] if style == 2 else 0
    else:
        half, state = document["safe"][0], document["states"][0]
        text = str(rng.choice([f"10 + 100*{state}", f"1 - {state}", "1)(2", "1 or 2", "1,5", "١"]))
        if style == 2:
            half["bound"] = text
        else:
            half["coefficients"][0] = text
    return json.dumps(document).encode()


def _with_number(text: str, rng: np.random.Generator) -> str:
    """A monstrous number in place of one that stands there."""
    places = [i for i, letter in enumerate(text) if letter.isdigit() and text[i - 1] in ' "[,-']
    at = places[int(rng.integers(len(places)))]
    end = at
    while end < len(text) and (text[end].isdigit() or text[end] in ".eE+-"):
        end += 1
    return text[:at] + NUMBERS[int(rng.integers(len(NUMBERS)))] + text[end:]


def _damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes changed, or the end missing."""
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
    return bytes(changed[: int(rng.integers(len(changed)))] if rng.random() < 0.3 else changed)


def _monstrous(proof: forgeries.Proof, rng: np.random.Generator) -> container.Parts:
    """A certificate that claims without end, or has records without end."""
    claim: dict[str, Any] = json.loads(json.dumps(proof.parts.claim))
    codes, refs, numbers = proof.parts.records
    match rng.integers(4):
        case 0:
            claim["steps"] = 10**9
        case 1:
            codes = [int(rng.choice([0, 128]))] * 3_000_000
        case 2:
            refs, numbers = [2**31 - 1] * len(refs), [1e308] * len(numbers)
        case _:
            claim["steps"] = int("9" * 4000)
    return proof.parts._replace(claim=claim, records=(codes, refs, numbers))
