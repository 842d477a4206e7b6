"""Whatever a certificate says, its check ends, in True or a CertificateError, and odd types never prove anything."""

import json
import random
import struct
import zlib

import pytest

from moet.errors import CertificateError
from moet.verify import Certificate, check
from moet.verify.checker.certificate import _COUNTS, MAGIC
from moet.verify.checker.meter import Interrupted, Meter
from moet.verify.checking import checked

from .hostile import KINDS, VALUES, accepts, forged, places, proof, replaced, value_at, without


@pytest.fixture(params=KINDS)
def found(request):
    return proof(request.param)


def test_the_proofs_to_start_from_are_accepted_with_little_work(found):
    assert accepts(found.certificate, *found.subjects)
    assert accepts(forged(found.certificate), *found.subjects)


def test_no_value_of_another_type_passes_in_any_place_of_a_claim(found):
    claim = json.loads(json.dumps(found.certificate.claim))
    for path in places(claim):
        own = value_at(claim, path)
        for value in VALUES:
            passes = accepts(forged(found.certificate, replaced(claim, path, value)), *found.subjects)
            number = isinstance(own, int | float) and not isinstance(own, bool) and type(value) in (int, float)
            if type(value) is not type(own) and not number:
                optional = own is None or value is None or path[-1:] == ("bound",) or path[-2:-1] == ("coefficients",)
                assert not passes or optional, (path, value)


def test_claims_lack_nothing_and_have_nothing_else(found):
    claim = json.loads(json.dumps(found.certificate.claim))
    objects = [path for path in places(claim) if isinstance(value_at(claim, path), dict)]
    for path in objects:
        for key in value_at(claim, path):
            if key != "coarse":
                assert not accepts(forged(found.certificate, without(claim, (*path, key))), *found.subjects), (
                    path,
                    key,
                )
        extended = replaced(claim, (*path, "comment"), "this is true")
        assert not accepts(forged(found.certificate, extended), *found.subjects), path


def test_claims_that_no_file_can_hold_are_refused(found):
    for value in (float("nan"), float("inf"), {1, 2}, b"right", object(), 10**5000, 1j):
        for key in found.certificate.claim:
            claim = dict(found.certificate.claim) | {key: value}
            assert not accepts(forged(found.certificate, claim), *found.subjects), (key, value)
    for claim in (None, [], "claim", 3, {1: 2}):
        assert not accepts(Certificate(found.certificate.kind, claim), *found.subjects)
    endless = {}
    endless["model"] = endless
    assert not accepts(Certificate(found.certificate.kind, endless), *found.subjects)


def test_a_proof_of_one_kind_is_none_of_another(found):
    for kind in (*KINDS, "", "magic", None, 3, ["always"]):
        if kind != found.certificate.kind:
            wrong = forged(found.certificate)
            wrong.kind = kind
            assert not accepts(wrong, *found.subjects), kind


def test_random_records_are_refused_or_prove_the_same(found):
    rng = random.Random(0)
    blocks = [(bytes(codes), refs, numbers) for codes, refs, numbers in found.certificate._read_blocks()]
    for _ in range(150):
        wrong = Certificate(found.certificate.kind, found.certificate.claim)
        for codes, refs, numbers in blocks or [(b"", b"", b"")]:
            spoiled = bytearray(codes + bytes(rng.randrange(3)))
            for _ in range(rng.randrange(1, 4)):
                if spoiled:
                    spoiled[rng.randrange(len(spoiled))] = rng.randrange(256)
            refs, numbers = refs[:], numbers[:]
            if refs and rng.random() < 0.5:
                refs[rng.randrange(len(refs))] = rng.choice([-1, 0, 2**31 - 1, -(2**31), rng.randrange(100)])
            if numbers and rng.random() < 0.5:
                numbers[rng.randrange(len(numbers))] = rng.choice(
                    [0.0, -0.0, 1e308, 5e-324, float("nan"), float("inf")]
                )
            wrong.add(bytes(spoiled), refs, numbers)
        accepts(wrong, *found.subjects)  # what it says does not matter, only that it ends


def test_subjects_of_other_types_and_numbers_are_refused(found):
    for subjects in ((), (None,), (3, "x"), found.subjects * 2, (object(), object()), ("no such file",) * 2, ({}, {})):
        assert not accepts(found.certificate, *subjects)
    for certificate in (None, 3, b"", {}, [], "no such file"):
        assert not accepts(certificate, *found.subjects)


def test_a_label_is_no_text_to_look_for_letters_in():
    certificate, subjects = proof("always")
    for answers in ("right", "left or right", {"right": 1}, [["right"]], ["righ"], [], None):
        assert not accepts(forged(certificate, certificate.claim | {"answers": answers}), *subjects), answers


def test_true_is_not_the_class_one():
    certificate, subjects = proof("closest")
    assert 1 in subjects[0].classes.tolist()
    for answer in (True, 1.0, "1"):
        with pytest.raises(CertificateError, match="no class"):
            check(forged(certificate, certificate.claim | {"answer": answer}), *subjects)


def test_many_steps_are_refused_before_anything_is_made_of_them():
    for kind in ("safe", "reaches", "blocks", "arrival"):
        certificate, subjects = proof(kind)
        for steps in (10**9, 10**30, -1, 2.0, "3", True):
            claim = certificate.claim | {"steps": steps}
            assert accepts(forged(certificate, claim), *subjects) <= (kind == "arrival" and steps == 10**9)


def packed(kind: str, claim: dict, counts: tuple[int, int, int], content: bytes) -> bytes:
    """A certificate file with one block."""
    from hashlib import sha256

    header = json.dumps({"kind": kind, "claim": claim}).encode() + b"\n"
    block = zlib.compress(content)
    body = MAGIC + header + _COUNTS.pack(*counts, len(block)) + block + _COUNTS.pack(0, 0, 0, 0)
    return body + sha256(body).digest()


def test_a_bomb_of_codes_is_refused(tmp_path):
    certificate, subjects = proof("safe")
    bomb = tmp_path / "bomb.cert"
    bomb.write_bytes(packed("safe", certificate.claim, (2**28, 0, 0), bytes(2**20)))
    with pytest.raises(CertificateError, match=r"claims 268435456 bytes"):
        check(bomb, *subjects)
    bomb.write_bytes(packed("safe", certificate.claim, (2**20, 0, 0), bytes(2**21)))
    with pytest.raises(CertificateError, match="as long as it claims"):
        check(bomb, *subjects)


def test_codes_without_end_cost_work():
    # splits for ever: every code is a split of a node that has none
    certificate, subjects = proof("equivalent")
    endless = Certificate("equivalent", certificate.claim)
    endless.add(bytes(10**6))
    with pytest.raises(CertificateError):
        checked(endless, subjects, Meter(limit=10**5))


def test_exponents_and_counts_of_exact_cuts_are_bounded():
    certificate, subjects = proof("equivalent")
    for refs in ([1, 0, 10**6], [1, 0, -(10**6)], [2**31 - 1], [-1], [10**5, 0]):
        wrong = Certificate("equivalent", certificate.claim)
        wrong.add(bytes([2]), struct.pack(f"<{len(refs)}i", *refs), struct.pack("<d", 1.0))
        with pytest.raises(CertificateError):
            checked(wrong, subjects, Meter(limit=10**6))


def test_a_check_can_be_stopped(found):
    meter = Meter(stop=lambda: True)
    with pytest.raises(Interrupted):
        meter.spend(10**6)
    with pytest.raises(CertificateError, match="units that are allowed"):
        checked(found.certificate, found.subjects, Meter(limit=0))


@pytest.mark.parametrize("content", [b"", b"moet-certificate 2\n", MAGIC + b"{}\n", MAGIC + b"\xff\n", b"\0" * 100])
def test_files_that_are_no_certificates_are_refused(content, tmp_path):
    (tmp_path / "proof.cert").write_bytes(content)
    assert not accepts(tmp_path / "proof.cert", *proof("always").subjects)


@pytest.mark.parametrize("header", ['{"kind": "always", "kind": "safe", "claim": {}}', '{"kind": 3, "claim": {}}'])
def test_headers_have_two_keys_once_each(header, tmp_path):
    (tmp_path / "proof.cert").write_bytes(MAGIC + header.encode() + b"\n")
    with pytest.raises(CertificateError, match=r"key twice|header"):
        check(tmp_path / "proof.cert", *proof("always").subjects)


def test_paths_that_are_no_files_are_refused(tmp_path):
    subjects = proof("safe").subjects
    proof("safe").certificate.save(tmp_path / "proof.cert")
    for path in (tmp_path, "/dev/zero", "/dev/null", tmp_path / "missing", "a\0b", "x" * 5000, ""):
        assert not accepts(path, *subjects)
        assert not accepts(tmp_path / "proof.cert", path, subjects[1])
        assert not accepts(tmp_path / "proof.cert", subjects[0], path)
