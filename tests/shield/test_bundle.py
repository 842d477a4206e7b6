"""Bundles: everything about a policy in one file, which Python alone can check; nothing in it can be changed unseen."""

import json
import sys
import zipfile

import pytest
from typer.testing import CliRunner

import moet
from moet.bundles import bundle
from moet.cli.app import app
from moet.cli.output import Exit
from moet.errors import CertificateError, InputError
from moet.verify import systems
from moet.verify.checker.bundle import check_bundle
from tests.processes import run as run_process
from tests.shield.conftest import cart, cart_policy


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


@pytest.fixture(scope="module")
def files(tmp_path_factory, cart_shield):
    folder = tmp_path_factory.mktemp("bundle")
    bundle(cart_policy(), cart(), cart_shield.certificate, folder / "cart.moet.zip", guard=cart_policy())
    return folder / "cart.moet.zip"


def rewritten(path, target, change):
    """A copy of a bundle in which the files were changed."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    change(content)
    with zipfile.ZipFile(target, "w") as archive:
        for name, part in content.items():
            archive.writestr(name, part)
    return target


def test_a_bundle_says_what_it_proves(files):
    found = check_bundle(files)
    assert "whichever actions are wanted" in found.claims[0]
    assert found.vectors == 400


def test_the_same_content_makes_the_same_bytes(files, tmp_path, cart_shield):
    again = tmp_path / "again.moet.zip"
    bundle(cart_policy(), cart(), cart_shield.certificate, again, guard=cart_policy())
    assert again.read_bytes() == files.read_bytes()


def test_a_bundle_holds_code_and_a_page(files):
    with zipfile.ZipFile(files) as archive:
        assert {"policy.h", "guard.h", "shield.h", "index.html", "system.json"} <= set(archive.namelist())
        page = archive.read("index.html").decode()
    assert "for ever" in page
    assert "data:image/png;base64," in page  # the proven sets
    assert "prefers-color-scheme: dark" in page
    assert "@import" not in page


@pytest.mark.parametrize(
    "name", ["policy.moet.json", "system.json", "proof.cert", "shield.h", "index.html", "vectors.json"]
)
def test_a_changed_file_is_noticed(files, tmp_path, name):
    def change(content):
        content[name] += b" "

    with pytest.raises(CertificateError, match="SHA-256"):
        check_bundle(rewritten(files, tmp_path / "changed.zip", change))


@pytest.mark.parametrize("name", ["system.json", "bundle.json", "proof.cert"])
def test_a_missing_file_is_noticed(files, tmp_path, name):
    with pytest.raises(CertificateError):
        check_bundle(rewritten(files, tmp_path / "changed.zip", lambda content: content.pop(name)))


def test_another_file_is_noticed(files, tmp_path):
    with pytest.raises(CertificateError, match="very files"):
        check_bundle(rewritten(files, tmp_path / "changed.zip", lambda content: content.update({"extra.txt": b"x"})))


def with_digest(content, name, change):
    import hashlib

    document = json.loads(content[name])
    change(document)
    content[name] = json.dumps(document).encode()
    manifest = json.loads(content["bundle.json"])
    manifest["files"][name] = hashlib.sha256(content[name]).hexdigest()
    content["bundle.json"] = json.dumps(manifest).encode()


def test_another_system_with_its_own_digest_is_noticed_by_the_proof(files, tmp_path):
    def change(content):
        with_digest(content, "system.json", lambda system: system["initial"][0].__setitem__(0, "-1/5"))

    with pytest.raises(CertificateError, match="another system"):
        check_bundle(rewritten(files, tmp_path / "changed.zip", change))


def test_a_wrong_test_vector_is_noticed(files, tmp_path):
    def swap(vectors):
        answers = vectors[0]["answers"]
        answers[0] = "back" if answers[0] == "forth" else "forth"

    with pytest.raises(CertificateError, match="test vector"):
        check_bundle(
            rewritten(files, tmp_path / "changed.zip", lambda content: with_digest(content, "vectors.json", swap))
        )


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip file", b"\x00" * 1000])
def test_what_is_no_bundle_is_refused(tmp_path, content):
    path = tmp_path / "bundle.zip"
    path.write_bytes(content)
    with pytest.raises(CertificateError):
        check_bundle(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_files_that_cannot_be_unpacked_are_refused(files, tmp_path, method):
    """Whichever way they were packed: each has errors of its own."""
    target = tmp_path / "packed.zip"
    with zipfile.ZipFile(files) as archive, zipfile.ZipFile(target, "w", method) as other:
        for name in archive.namelist():
            other.writestr(name, archive.read(name))
    true, refused = check_bundle(target), 0
    content = target.read_bytes()
    for place in range(60, 1060, 50):
        target.write_bytes(content[:place] + bytes(20) + content[place + 20 :])
        try:
            assert check_bundle(target) == true  # where a header says what nobody reads
        except CertificateError:
            refused += 1
    assert refused > 10


def test_a_bundle_that_unpacks_to_too_much_is_refused(files, tmp_path, monkeypatch):
    monkeypatch.setattr("moet.verify.checker.bundle.MOST_BYTES", 10**6)
    assert check_bundle(files)

    def stuffed(content):
        content |= {f"zeros{i}": bytes(2 * 10**5) for i in range(5)}

    with pytest.raises(CertificateError, match="more than 1000000 bytes"):
        check_bundle(rewritten(files, tmp_path / "stuffed.zip", stuffed))


def test_a_certificate_about_another_model_is_refused(tmp_path, cart_shield):
    other = cart_policy()
    other = moet.Mixture(other.gate_weights * 2, other.gate_bias, other.trees, ["back", "forth"])
    with pytest.raises(InputError, match="another model"):
        bundle(other, cart(), cart_shield.certificate, tmp_path / "cart.zip")
    assert not (tmp_path / "cart.zip").exists()


@pytest.mark.processes
def test_checking_imports_nothing_but_the_standard_library(files):
    code = (
        "import sys; from moet.verify.checker.bundle import check_bundle; check_bundle(sys.argv[1]);"
        "print([name for name in ('numpy', 'numba', 'scipy', 'sklearn', 'pandas') if name in sys.modules])"
    )
    done = run_process([sys.executable, "-c", code, str(files)], check=True)
    assert done.stdout.strip() == "[]"


def test_the_command_line_bundles_and_checks(run, tmp_path, cart_shield):
    moet.save(cart_policy(), tmp_path / "policy.moet.json")
    systems.save(cart(), tmp_path / "cart.json")
    cart_shield.certificate.save(tmp_path / "shield.cert")
    names = [str(tmp_path / name) for name in ("policy.moet.json", "cart.json", "shield.cert", "cart.moet.zip")]
    made = run("bundle", names[0], "--system", names[1], "--certificate", names[2], "-o", names[3])
    assert made.exit_code == Exit.OK, made.output
    accepted = run("check", names[3], "--json")
    assert accepted.exit_code == Exit.OK, accepted.output
    assert json.loads(accepted.stdout)["accepted"]
    damaged = tmp_path / "damaged.zip"
    rewritten(names[3], damaged, lambda content: content.update({"policy.h": b""}))
    assert run("check", str(damaged)).exit_code == Exit.NEGATIVE


@pytest.fixture(scope="module")
def cooled(tmp_path_factory):
    """A plant with a control, a law of it, its shield, and an agent that it guards."""
    from moet import RegressionMixture, RegressionTree
    from moet.distill import control_law
    from moet.shield import ControlShield

    plant = systems.AffineSystem(
        "cooled",
        states=["heat", "change"],
        controls={"valve": (-1, 1)},
        matrix=[["1.02", "0.1"], ["0", "0.98"]],
        input_matrix=[["0.02"], ["0.2"]],
        initial={"heat": ("-0.2", "0.2"), "change": ("-0.2", "0.2")},
        safe=["-1 <= heat <= 1", "-1 <= change <= 1"],
    )
    law = control_law(plant, widen=True)
    leaves = [RegressionTree.leaf([0.3], slope=[[-1.0, -0.5]]), RegressionTree.leaf([-0.2], slope=[[-0.5, -1.0]])]
    gate = [[0.0, 0.0], [1.0, 2.0]]
    agent = RegressionMixture(gate, [0.0, 0.1], leaves, ["valve"], feature_names=plant.states, low=[-1], high=[1])
    return plant, law, ControlShield(law.verdict.certificate, law.policy, plant), agent


def test_a_shield_for_controls_is_bundled_with_what_it_guards(cooled, tmp_path):
    plant, law, shield, agent = cooled
    found = bundle(agent, plant, shield.certificate, tmp_path / "cooled.moet.zip", guard=law.policy)
    assert found.vectors == 400
    assert "whatever controls are wanted" in found.claims[0]
    with zipfile.ZipFile(tmp_path / "cooled.moet.zip") as archive:
        assert {"policy.h", "guard.h", "shield.h"} <= set(archive.namelist())
        assert b"shield_self_test" in archive.read("shield.h")


def test_a_proof_of_a_law_is_bundled(cooled, tmp_path):
    plant, law, _, _ = cooled
    found = bundle(law.policy, plant, law.verdict.certificate, tmp_path / "law.moet.zip")
    assert found.vectors == 200
    assert check_bundle(tmp_path / "law.moet.zip") == found


def test_a_wrong_number_among_test_vectors_is_noticed(cooled, tmp_path):
    plant, law, _, _ = cooled
    bundle(law.policy, plant, law.verdict.certificate, tmp_path / "law.moet.zip")

    def nudge(vectors):
        vectors[0]["answers"][0][0] += 1e-12

    def change(content):
        with_digest(content, "vectors.json", nudge)

    with pytest.raises(CertificateError, match="test vector"):
        check_bundle(rewritten(tmp_path / "law.moet.zip", tmp_path / "changed.zip", change))


def test_bundles_of_controls_are_made_and_checked_on_the_command_line(cooled, tmp_path, run):
    plant, law, _, agent = cooled
    moet.save(law.policy, tmp_path / "law.moet.json")
    moet.save(agent, tmp_path / "agent.moet.json")
    systems.save(plant, tmp_path / "plant.json")
    law.verdict.certificate.save(tmp_path / "law.cert")
    subjects = [str(tmp_path / "law.moet.json"), str(tmp_path / "plant.json")]
    header = ["--c", str(tmp_path / "shield.h"), "--self-test"]
    made = run("shield", str(tmp_path / "law.cert"), *subjects, "-o", str(tmp_path / "shield.cert"), *header)
    assert made.exit_code == Exit.OK, made.output
    assert "shield_self_test" in (tmp_path / "shield.h").read_text()
    about = ["--system", subjects[1], "--certificate", str(tmp_path / "shield.cert"), "--guard", subjects[0]]
    written = run("bundle", str(tmp_path / "agent.moet.json"), *about, "-o", str(tmp_path / "agent.moet.zip"))
    assert written.exit_code == Exit.OK, written.output
    checked = run("check", str(tmp_path / "agent.moet.zip"))
    assert checked.exit_code == Exit.OK, checked.output
    assert "whatever controls are wanted" in checked.output


def test_a_shield_for_a_goal_is_made_bundled_and_checked_on_the_command_line(car_proof, tmp_path, run):
    from tests.shield.conftest import car, car_policy

    moet.save(car_policy(), tmp_path / "car.moet.json")
    systems.save(car(), tmp_path / "car.json")
    car_proof.save(tmp_path / "car.cert")
    subjects = [str(tmp_path / "car.moet.json"), str(tmp_path / "car.json")]
    made = run("shield", str(tmp_path / "car.cert"), *subjects, "--within", "200", "-o", str(tmp_path / "shield.cert"))
    assert made.exit_code == Exit.OK, made.output
    assert "200 steps" in made.output
    about = ["--system", subjects[1], "--certificate", str(tmp_path / "shield.cert"), "--guard", subjects[0]]
    written = run("bundle", subjects[0], *about, "-o", str(tmp_path / "car.moet.zip"))
    assert written.exit_code == Exit.OK, written.output
    with zipfile.ZipFile(tmp_path / "car.moet.zip") as archive:
        assert b"SHIELD_WITHIN 200" in archive.read("shield.h")
    assert run("check", str(tmp_path / "shield.cert"), *subjects).exit_code == Exit.OK


def test_steps_to_a_goal_are_refused_where_there_is_none(cart_proof, tmp_path, run):
    moet.save(cart_policy(), tmp_path / "cart.moet.json")
    systems.save(cart(), tmp_path / "cart.json")
    cart_proof.save(tmp_path / "cart.cert")
    subjects = [str(tmp_path / "cart.moet.json"), str(tmp_path / "cart.json")]
    refused = run("shield", str(tmp_path / "cart.cert"), *subjects, "--within", "200")
    assert refused.exit_code == Exit.USAGE, refused.output
