"""Hostile bundles: zip files that are damaged, packed in odd ways, or say other things than they hold."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
import warnings
import zipfile
from functools import cache
from typing import Any

import numpy as np

from attack import forgeries
from attack.judge import WrongVerdictError
from moet.bundles import bundle
from moet.errors import CertificateError
from moet.verify import safe
from moet.verify.checker.bundle import MANIFEST, check_bundle

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
NAMES = (
    "../policy.moet.json",
    "/etc/passwd",
    "a\\b",
    ".hidden",
    "folder/",
    "policy.moet.json",
    MANIFEST,
    "",
    "é" * 300,
)
BOMB = 40 * 2**20
"""Bytes of zeros in every file of a bomb: less than one file may have, and too many together."""


def attack_bundle(seed: int) -> str:
    """One hostile bundle; what is accepted must prove what the true one does."""
    rng = np.random.default_rng(seed)
    how = int(rng.choice(6, p=(0.3, 0.25, 0.25, 0.09, 0.01, 0.1)))
    files = dict(_true_bundle()[0])
    if how == 0:
        content = _damaged(_zipped(files, rng), rng)
    elif how == 1:
        content = _zipped(_with_other_manifest(files, rng), rng)
    elif how == 2:
        content = _zipped(_with_junk_inside(files, rng), rng)
    elif how == 3:
        content = _zipped(files, rng, more=NAMES[int(rng.integers(len(NAMES)))])
    elif how == 4:
        content = _bomb(files, rng)
    else:
        content = _zipped(_with_a_stranger(files, rng), rng)
    name = ("damaged", "manifest", "part", "name", "bomb", "stranger")[how]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "policy.moet.zip")
        with open(path, "wb") as file:
            file.write(content)
        try:
            confirmed = check_bundle(path)
        except CertificateError:
            return f"{name} refused"
    if how == 5 or confirmed.claims != _true_bundle()[1]:
        raise WrongVerdictError(f"a bundle that says something else was accepted: {confirmed.claims}"[:400])
    return f"{name} accepted, and the same"


@cache
def _true_bundle() -> tuple[dict[str, bytes], list[str]]:
    """The files of a small bundle, and what it proves."""
    model, system = forgeries.steering(), forgeries.cart()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "policy.moet.zip")
        confirmed = bundle(model, system, safe(model, system, 5).certificate, path)
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}, confirmed.claims


def _zipped(
    files: dict[str, bytes], rng: np.random.Generator, more: str | None = None, method: int | None = None
) -> bytes:
    """A zip file by some method or by one of chance, perhaps with one more file, which may have the name of another."""
    content = io.BytesIO()
    method = METHODS[int(rng.integers(4))] if method is None else method
    with warnings.catch_warnings(), zipfile.ZipFile(content, "w", method) as archive:
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, part in files.items():
            archive.writestr(zipfile.ZipInfo(name), part, archive.compression)
        if more is not None:
            archive.writestr(zipfile.ZipInfo(more or "x"), b"{}", archive.compression)
    return content.getvalue()


def _damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes changed, a part left out or repeated, or the end missing."""
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
    cut = int(rng.integers(len(changed)))
    match int(rng.integers(4)):
        case 0:
            del changed[cut:]
        case 1:
            del changed[cut : cut + int(rng.integers(1, 200))]
        case 2:
            changed[cut:cut] = changed[: int(rng.integers(1, 200))]
    return bytes(changed)


def _with_other_manifest(files: dict[str, bytes], rng: np.random.Generator) -> dict[str, bytes]:
    """Junk somewhere in the manifest."""
    manifest = json.loads(files[MANIFEST])
    forgeries.nudge_somewhere(rng, manifest)
    return {**files, MANIFEST: json.dumps(manifest, default=str).encode()}


def _with_junk_inside(files: dict[str, bytes], rng: np.random.Generator) -> dict[str, bytes]:
    """Junk in one of the other files, its digest made to fit."""
    name = sorted(set(files) - {MANIFEST})[int(rng.integers(len(files) - 1))]
    part = files[name]
    if name.endswith(".json"):
        document: Any = json.loads(part)
        forgeries.nudge_somewhere(rng, document)
        part = json.dumps(document, default=str).encode()
    else:
        part = _damaged(part, rng)
    manifest = json.loads(files[MANIFEST])
    manifest["files"][name] = hashlib.sha256(part).hexdigest()
    return {**files, name: part, MANIFEST: json.dumps(manifest).encode()}


def _with_a_stranger(files: dict[str, bytes], rng: np.random.Generator) -> dict[str, bytes]:
    """Another model beside the proved one, with vectors and digests of its own; first, last, or without vectors."""
    manifest, vectors = json.loads(files[MANIFEST]), json.loads(files["vectors.json"])
    (proved,) = manifest["models"]
    document = json.loads(files[proved])
    document["provenance"] = {"stranger": int(rng.integers(1000))}
    if rng.random() < 0.7:
        vectors.append({**vectors[0], "model": "stranger.json"})
    manifest["models"].insert(int(rng.integers(2)), "stranger.json")
    changed = {
        **files,
        "stranger.json": json.dumps(document).encode(),
        "vectors.json": json.dumps(vectors).encode(),
    }
    parts = {name: part for name, part in changed.items() if name != MANIFEST}
    manifest["files"] = {name: hashlib.sha256(part).hexdigest() for name, part in parts.items()}
    return {**parts, MANIFEST: json.dumps(manifest).encode()}


def _bomb(files: dict[str, bytes], rng: np.random.Generator) -> bytes:
    """Many files, small while they are packed."""
    zeros = bytes(BOMB)
    more = {f"zeros{i}": zeros for i in range(int(rng.integers(4, 12)))}
    manifest = json.loads(files[MANIFEST])
    manifest["files"] |= dict.fromkeys(more, hashlib.sha256(zeros).hexdigest())
    return _zipped({**more, **files, MANIFEST: json.dumps(manifest).encode()}, rng, method=zipfile.ZIP_DEFLATED)
