"""Bundles that someone has tampered with: whoever changes files can write their digests, too."""

import hashlib
import json
import os
import random
import stat
import sys
import zipfile

import pytest

from moet import Mixture, Tree
from moet.bundles import bundle
from moet.errors import CertificateError, InputError
from moet.verify import safe
from moet.verify.checker.bundle import MOST_FILES, check_bundle
from tests.processes import run as run_process
from tests.shield.conftest import cart, cart_policy


def careless():
    """A policy that is safe nowhere."""
    return Mixture([[0.0, 0.0]], [0.0], [Tree.leaf([1, 0])], ["back", "forth"], feature_names=cart().states)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory, cart_shield):
    path = tmp_path_factory.mktemp("guarded") / "cart.moet.zip"
    bundle(careless(), cart(), cart_shield.certificate, path, guard=cart_policy())
    return path


@pytest.fixture(scope="module")
def alone(tmp_path_factory, cart_proof):
    path = tmp_path_factory.mktemp("alone") / "cart.moet.zip"
    bundle(cart_policy(), cart(), cart_proof, path)
    return path


def unpacked(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(content, target, change_manifest=lambda manifest: None):
    """A bundle of these files, with the digests that they have now."""
    content = dict(content)
    manifest = json.loads(content.pop("bundle.json"))
    manifest["files"] = {name: hashlib.sha256(part).hexdigest() for name, part in content.items()}
    change_manifest(manifest)
    with zipfile.ZipFile(target, "w") as archive:
        for name, part in {"bundle.json": json.dumps(manifest).encode(), **content}.items():
            archive.writestr(name, part)
    return target


def test_a_claim_says_which_model_it_is_about_and_which_it_guards(guarded, alone):
    assert check_bundle(guarded).claims[0].startswith("The model is guard.moet.json, which guards policy.moet.json.\n")
    assert check_bundle(alone).claims[0].startswith("The model is policy.moet.json.\n")


def test_a_model_beside_a_proved_one_is_not_taken_for_proved(guarded, alone, tmp_path, cart_proof):
    with pytest.raises(InputError, match="needs the certificate of a shield"):
        bundle(careless(), cart(), cart_proof, tmp_path / "cart.zip", guard=cart_policy())
    content = unpacked(guarded) | {"proof.cert": unpacked(alone)["proof.cert"]}
    with pytest.raises(CertificateError, match=r"nothing is proved of policy\.moet\.json, and no shield guards it"):
        check_bundle(packed(content, tmp_path / "unguarded.zip"))


def test_models_that_change_places_are_noticed(guarded, tmp_path):
    content = unpacked(guarded)
    content["policy.moet.json"], content["guard.moet.json"] = content["guard.moet.json"], content["policy.moet.json"]
    with pytest.raises(CertificateError, match="another model"):
        check_bundle(packed(content, tmp_path / "swapped.zip"))


def test_a_proof_for_a_few_steps_is_not_taken_for_a_shield(guarded, tmp_path):
    few = safe(cart_policy(), cart(), steps=3).certificate
    with pytest.raises(CertificateError, match="no shield guards it"):
        check_bundle(packed(unpacked(guarded) | {"proof.cert": few.content()}, tmp_path / "few.zip"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m["models"].append("policy.moet.json"), "names a model twice"),
        (lambda m: m["models"].append("ghost.json"), r"nothing is proved of ghost\.json"),
        (lambda m: m["models"].clear(), "none of the models"),
        (lambda m: m.update(models=["proof.cert"]), "none of the models"),
        (lambda m: m["certificates"].clear(), "proves nothing"),
        (lambda m: m["certificates"][0].update(model=["policy.moet.json"]), "none of the models"),
        (lambda m: m.update(vectors="system.json"), "vectors must be a list"),
        (lambda m: m.update(system="../system.json"), "no file"),
        (lambda m: m["files"].update({"policy.h": "0" * 64}), "SHA-256"),
        (lambda m: m["files"].update({"policy.h": None}), "SHA-256"),
        (lambda m: m["files"].pop("policy.h"), "very files"),
        (lambda m: m.update(more=1), "bundle.json"),
        (lambda m: m.update(version=True), "version 1"),
    ],
)
def test_a_manifest_that_says_something_else_is_refused(alone, tmp_path, change, message):
    with pytest.raises(CertificateError, match=message):
        check_bundle(packed(unpacked(alone), tmp_path / "told.zip", change))


def test_models_without_test_vectors_are_refused(guarded, tmp_path):
    content = unpacked(guarded)
    vectors = json.loads(content["vectors.json"])
    for few in ([], vectors[:1], [vectors[1], {**vectors[0], "inputs": [], "answers": []}]):
        content["vectors.json"] = json.dumps(few).encode()
        with pytest.raises(CertificateError, match="without test vectors"):
            check_bundle(packed(content, tmp_path / "few.zip"))


@pytest.mark.parametrize(
    "name",
    [
        *("/etc/passwd", "../up.h", "a/b.h", "a\\b.h", "C:evil.h", ".hidden", "trailing.", "POLICY.H"),
        *(" ", "a b", "ä.h", "line\nfeed.h", "\u202e.h", "a" * 200),
    ],
)
def test_names_that_mean_something_elsewhere_are_refused(alone, tmp_path, name):
    with pytest.raises(CertificateError, match="different names of letters"):
        check_bundle(packed(unpacked(alone) | {name: b"x"}, tmp_path / "named.zip"))


def test_a_file_that_is_there_twice_is_refused(alone, tmp_path):
    content, target = unpacked(alone), tmp_path / "twice.zip"
    packed(content, target)
    with zipfile.ZipFile(target, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("policy.h", content["policy.h"])
    with pytest.raises(CertificateError, match=r"different names.*policy\.h"):
        check_bundle(target)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFDIR, stat.S_IFCHR])
def test_a_link_is_refused(alone, tmp_path, kind):
    target = packed(unpacked(alone), tmp_path / "linked.zip")
    with zipfile.ZipFile(target, "a") as archive:
        entry = zipfile.ZipInfo("link.h")
        entry.external_attr = (kind | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    with pytest.raises(CertificateError, match=r"link\.h is a link"):
        check_bundle(target)


def test_a_bomb_is_refused_before_it_is_unpacked(alone, tmp_path):
    target = tmp_path / "bomb.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(f"zeros{number}", bytes(30 * 2**20))
    with pytest.raises(CertificateError, match="have more than"):
        check_bundle(target)
    with zipfile.ZipFile(target, "w") as archive:
        for number in range(MOST_FILES + 1):
            archive.writestr(f"file{number}", b"")
    with pytest.raises(CertificateError, match="at most 100 files"):
        check_bundle(target)
    with zipfile.ZipFile(target, "w") as archive:
        for number in range(20 * MOST_FILES):
            archive.writestr(f"file{number}", b"")
    with pytest.raises(CertificateError, match="many more"):
        check_bundle(target)


def test_a_model_that_is_not_there_is_not_guarded(guarded, tmp_path):
    with pytest.raises(CertificateError, match="without test vectors"):
        check_bundle(packed(unpacked(guarded), tmp_path / "ghost.zip", lambda m: m["models"].append("ghost.json")))


def test_what_is_no_regular_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.zip")
    for path in (tmp_path / "pipe.zip", tmp_path, tmp_path / "missing.zip", "/dev/zero"):
        with pytest.raises(CertificateError, match="cannot read"):
            check_bundle(path)


def test_whatever_is_cut_off_or_changed_nothing_else_is_proved(guarded, tmp_path):
    """Random changes: an error of the one kind, or all that was proved before."""
    true, content, target = check_bundle(guarded), guarded.read_bytes(), tmp_path / "changed.zip"
    chance, refused = random.Random(0), 0
    for number in range(300):
        at = chance.randrange(len(content))
        if number % 3 == 0:
            changed = content[:at]
        elif number % 3 == 1:
            changed = content[:at] + bytes([content[at] ^ 1 << chance.randrange(8)]) + content[at + 1 :]
        else:
            changed = content[:at] + content[at + chance.randrange(1, 50) :]
        target.write_bytes(changed)
        try:
            assert check_bundle(target) == true
        except CertificateError:
            refused += 1
    assert refused > 150


@pytest.mark.processes
@pytest.mark.parametrize("told", ["bundle", "certificate", "forged", "nothing"])
def test_python_alone_checks(alone, tmp_path, told):
    """Without site-packages nothing but the standard library and this package can be imported."""
    import moet

    for name, part in unpacked(alone).items():
        (tmp_path / name).write_bytes(part)
    parts = [str(tmp_path / name) for name in ("proof.cert", "policy.moet.json", "system.json")]
    (tmp_path / "forged.zip").write_bytes(alone.read_bytes()[:-10])
    named = {"bundle": [str(alone)], "certificate": parts, "forged": [str(tmp_path / "forged.zip")], "nothing": []}
    source = os.path.dirname(os.path.dirname(os.path.abspath(moet.__file__)))
    code = (
        "import sys, runpy; sys.path.insert(0, sys.argv[1]); del sys.argv[1];"
        "runpy.run_module('moet.verify.checker', run_name='__main__', alter_sys=True)"
    )
    done = run_process([sys.executable, "-I", "-S", "-c", code, source, *named[told]])
    expected = {
        "bundle": (0, "accepted"),
        "certificate": (0, "accepted"),
        "forged": (1, "rejected"),
        "nothing": (2, ""),
    }
    code, words = expected[told]
    assert done.returncode == code, done.stderr
    assert done.stdout.startswith(words)
