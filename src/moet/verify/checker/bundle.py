"""Checker of bundles: a policy with all that is proved of it in one file. Standard library only.

A bundle is a zip file with ``bundle.json``, which names every other file with its SHA-256 and says which certificate is
about which model. Confirmed are the digests, every certificate about the very model and system in the bundle, that
every model is proved or guarded by one that is, and the test vectors: the models, read as plain numbers, answer as
written. Headers in C and the page are held by their digests.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
import zipfile
from fractions import Fraction
from math import isfinite
from typing import Any, NamedTuple

from moet.errors import CertificateError
from moet.verify.checker.certificate import Certificate
from moet.verify.checker.documents.laws import LawTree, PlainLaws, clipped, read_laws
from moet.verify.checker.documents.model import PlainModel, PlainTree, plain_model, typed
from moet.verify.checker.documents.reading import MOST_BYTES, double, items, members, parse, read_file, shown, text
from moet.verify.checker.inputs.gate import Sum
from moet.verify.checker.meter import Meter
from moet.verify.checker.words import claim_in_words

FORMAT, VERSION = "moet-bundle", 1
MANIFEST = "bundle.json"
MOST_FILES = 100

SHIELDS = ("shield", "goal_shield", "control_shield")
"""Kinds of certificates about a model that guards others."""

_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_-])?", re.ASCII)
_LONGEST_NAME = 100
_ENTRY = b"PK\x01\x02"


class Confirmed(NamedTuple):
    """What a bundle proves, in words, one text per certificate; and how many test vectors were answered."""

    claims: list[str]
    vectors: int


def check_bundle(path: str | os.PathLike[str], meter: Meter | None = None) -> Confirmed:
    """Confirm all of a bundle; raises CertificateError with the reason if any of it fails."""
    content = read_file(path)
    if content.count(_ENTRY) > 10 * MOST_FILES:  # before a million entries are read; packed bytes may look like some
        raise CertificateError(f"a bundle has at most {MOST_FILES} files, this one many more")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = _files(archive)
    except CertificateError:
        raise
    except Exception as error:  # each way to pack a file has errors of its own
        raise CertificateError(f"cannot read {path!s}: {error}") from None
    return _check(files, meter or Meter())


def _files(archive: zipfile.ZipFile) -> dict[str, bytes]:
    """Content of all files, of bounded size; names are plain and different wherever they may be unpacked."""
    entries = archive.infolist()
    if len(entries) > MOST_FILES:
        raise CertificateError(f"a bundle has at most {MOST_FILES} files, this one {len(entries)}")
    files: dict[str, bytes] = {}
    taken: set[str] = set()
    left = MOST_BYTES
    for entry in entries:
        name = entry.filename
        if name.lower() in taken or len(name) > _LONGEST_NAME or not _NAME.fullmatch(name):
            raise CertificateError(
                "a bundle has files in no folder, with different names of letters, digits, dots, dashes and "
                f"underscores, got {shown(name)}"
            )
        if stat.S_IFMT(entry.external_attr >> 16) not in (0, stat.S_IFREG):
            raise CertificateError(f"a bundle has plain files, and {name} is a link or something else")
        taken.add(name.lower())
        with archive.open(entry) as file:
            files[name] = file.read(left + 1)
        left -= len(files[name])
        if left < 0:
            raise CertificateError(f"the files of a bundle have more than {MOST_BYTES} bytes")
    return files


def _check(files: dict[str, bytes], meter: Meter) -> Confirmed:
    if MANIFEST not in files:
        raise CertificateError(f"it is no bundle: there is no {MANIFEST}")
    manifest = members(
        parse(files[MANIFEST]), MANIFEST, ("format", "version", "files", "system", "models", "certificates", "vectors")
    )
    if manifest["format"] != FORMAT or type(manifest["version"]) is not int or manifest["version"] != VERSION:
        raise CertificateError(f"this moet reads {FORMAT} of version {VERSION}")
    _check_digests(files, manifest["files"])
    system = _part(files, manifest["system"])
    models = [text(name, "models") for name in items(manifest["models"], "models")]
    proofs = [_proof(files, entry, models) for entry in items(manifest["certificates"], "certificates")]
    _check_covered(models, proofs)
    claims = [_confirmed(files, name, proof, models, system, meter) for name, proof in proofs]
    vectors = items(parse(_part_bytes(files, manifest["vectors"])), "vectors")
    answered = [_answered(files, entry, models) for entry in vectors]
    if {name for name, count in answered if count} != set(models):
        raise CertificateError("the bundle has a model without test vectors")
    return Confirmed(claims, sum(count for _, count in answered))


def _check_covered(models: list[str], proofs: list[tuple[str, Certificate]]) -> None:
    """Every model is proved, or guarded by one that is: a proof about one model says nothing of another beside it."""
    if len(set(models)) < len(models):
        raise CertificateError("the bundle names a model twice")
    if not proofs:
        raise CertificateError("the bundle proves nothing: it has no certificate")
    is_guarded = any(proof.kind in SHIELDS for _, proof in proofs)
    alone = set(models) - {name for name, _ in proofs}
    if alone and not is_guarded:
        raise CertificateError(f"nothing is proved of {', '.join(sorted(alone))}, and no shield guards it")


def _check_digests(files: dict[str, bytes], digests: Any) -> None:
    if type(digests) is not dict or set(digests) != set(files) - {MANIFEST}:
        raise CertificateError(f"{MANIFEST} does not name the very files of the bundle")
    for name, digest in digests.items():
        if hashlib.sha256(files[name]).hexdigest() != digest:
            raise CertificateError(f"{name} is not the file that was bundled: its SHA-256 is another")


def _part_bytes(files: dict[str, bytes], name: Any) -> bytes:
    if text(name, "the name of a file") not in files:
        raise CertificateError(f"there is no file {shown(name)} in the bundle")
    return files[name]


def _part(files: dict[str, bytes], name: Any) -> Any:
    return parse(_part_bytes(files, name))


def _proof(files: dict[str, bytes], entry: Any, models: list[str]) -> tuple[str, Certificate]:
    """A certificate, and the model that it is about."""
    members(entry, "a certificate", ("file", "model"))
    if entry["model"] not in models:
        raise CertificateError(f"a certificate is about {shown(entry['model'])}, which is none of the models")
    return entry["model"], Certificate.read(io.BytesIO(_part_bytes(files, entry["file"])))


def _confirmed(
    files: dict[str, bytes], name: str, certificate: Certificate, models: list[str], system: Any, meter: Meter
) -> str:
    """Check one certificate, and say what it proves, and of which model."""
    from moet.verify.checking import checked

    subjects = _part(files, name), system
    checked(certificate, subjects, meter)
    others = [other for other in models if other != name]
    guarded = f", which guards {', '.join(others)}" if certificate.kind in SHIELDS and others else ""
    return f"The model is {name}{guarded}.\n{claim_in_words(certificate, *subjects)}"


def _answered(files: dict[str, bytes], entry: Any, models: list[str]) -> tuple[str, int]:
    """See that a model answers its test vectors as they say; which one, and how many they are."""
    members(entry, "test vectors", ("model", "inputs", "answers"))
    if entry["model"] not in models:
        raise CertificateError(f"test vectors are about {shown(entry['model'])}, which is none of the models")
    document = _part(files, entry["model"])
    model = read_laws(document) if type(document) is dict and "outputs" in document else plain_model(document)
    if isinstance(model, PlainLaws) and not model.is_hard:
        raise CertificateError("test vectors of models that answer with numbers are about hard ones, and this is soft")
    inputs = [
        [double(x, "a test vector") for x in items(row, "a test vector", len(model.feature_names))]
        for row in items(entry["inputs"], "inputs")
    ]
    for row, answer in zip(inputs, items(entry["answers"], "answers", len(inputs)), strict=True):
        if typed(_answer(model, row)) != typed(answer):
            raise CertificateError(f"the model does not answer the test vector {row} with {shown(answer)}")
    return entry["model"], len(inputs)


def _answer(model: PlainModel | PlainLaws, row: list[float]) -> Any:
    """Hard answer of a model, in float64 from left to right: a label, or its outputs."""
    logits = [_sum(bias, weights, row) for bias, weights in zip(model.bias, model.weights, strict=True)]
    best = logits.index(max(logits))
    if isinstance(model, PlainLaws):
        laws = model.trees[best]
        return _outputs(model, laws.laws[_leaf(laws, row)], row)
    tree = model.trees[best]
    return model.classes[tree.label[_leaf(tree, row)]]


def _leaf(tree: PlainTree | LawTree, row: list[float]) -> int:
    node = 0
    while tree.feature[node] >= 0:
        node = tree.left[node] if row[tree.feature[node]] <= tree.threshold[node] else tree.right[node]
    return node


def _outputs(model: PlainLaws, laws: list[Sum], row: list[float]) -> list[float]:
    sums = (_sum(float(law.bias), [float(w) for w in law.weights], row) for law in laws)
    return [float(clipped(Fraction(u), low, high)) for u, low, high in zip(sums, model.low, model.high, strict=True)]


def _sum(bias: float, weights: list[float], row: list[float]) -> float:
    total = bias
    for weight, x in zip(weights, row, strict=True):
        total += weight * x
    if not isfinite(total):
        raise CertificateError(f"the numbers of a model overflow at the test vector {row}")
    return total
