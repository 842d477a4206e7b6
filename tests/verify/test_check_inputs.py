"""The checker: it accepts what the search proves, and rejects every proof that was tampered with."""

import copy
import random
import sys
from array import array
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from moet import Mixture, Tree, save, verify
from moet.errors import CertificateError
from moet.model.file import digest
from moet.verify import Box, Certificate, always, closest, equivalent
from tests.processes import run
from tests.random_models import random_mixture

from .small import half_planes, scaled

CUBE = Box.from_bounds(-np.ones(3), np.ones(3))


class Proof(NamedTuple):
    """A certificate and its models; and a claim, perhaps about other models, that is wrong."""

    certificate: Certificate
    models: list[Mixture]
    wrong_claim: dict[str, Any]
    wrong_models: list[Mixture]


def proofs() -> dict[str, Proof]:
    """One proof of each kind."""
    a = random_mixture(1, n_experts=4, depth=3)
    b, other = scaled(a), random_mixture(2, n_experts=4, depth=3)
    x = np.array([0.1, -0.2, 0.3])
    sure = half_planes((1.0, 0.5, 0.25), 1.8)
    near, far = closest(a, x, "linf", CUBE), closest(a, x, "l1", CUBE)
    return {
        "always": Proof(
            always(sure, CUBE, ["right"]).certificate, [sure], {"hi": [1.0, 1.0, 1.0], "lo": [-2] * 3}, [sure]
        ),
        "equivalent": Proof(
            equivalent(a, b, CUBE).certificate, [a, b], {"models": [digest(a), digest(other)]}, [a, other]
        ),
        "linf": Proof(near.certificate, [a], {"distance": str(Fraction(1.01) * near.exact_distance)}, [a]),
        "l1": Proof(far.certificate, [a], {"distance": str(Fraction(1.01) * far.exact_distance)}, [a]),
    }


PROOFS = proofs()


@pytest.fixture(params=PROOFS)
def proof(request) -> Proof:
    return PROOFS[request.param]


Blocks = list[tuple[list[int], list[int], list[float]]]


def blocks(certificate: Certificate) -> Blocks:
    return [(list(codes), list(refs), list(numbers)) for codes, refs, numbers in certificate._read_blocks()]


def rebuilt(
    certificate: Certificate, content: Blocks | None = None, claim: dict[str, Any] | None = None
) -> Certificate:
    result = Certificate(certificate.kind, certificate.claim | (claim or {}))
    for codes, refs, numbers in blocks(certificate) if content is None else content:
        result.add(bytes(codes), array("i", refs), array("d", numbers))
    return result


def tampered(content: Blocks, rng: random.Random) -> Blocks:
    """Change one thing: a code, a reference, a number, or the number of records."""
    changed = copy.deepcopy(content)
    codes, refs, numbers = changed[rng.randrange(len(changed))]
    match rng.randrange(6):
        case 0:
            codes[rng.randrange(len(codes))] = rng.randrange(4)
        case 1 if refs:
            refs[rng.randrange(len(refs))] += rng.choice([-1, 1, 2, 1000])
        case 2 if numbers:
            numbers[rng.randrange(len(numbers))] *= rng.choice([0.0, 0.5, 1 + 2**-52, 2.0, 1e300])
        case 3:
            changed.pop(rng.randrange(len(changed)))
        case 4:
            changed.insert(rng.randrange(len(changed)), copy.deepcopy(rng.choice(changed)))
        case _:
            rng.shuffle(changed)
    return changed


def test_proofs_are_accepted_also_from_a_file(proof, tmp_path):
    assert verify.check(proof.certificate, *proof.models)
    proof.certificate.save(tmp_path / "proof.cert")
    assert verify.check(tmp_path / "proof.cert", *proof.models)
    assert verify.check(rebuilt(proof.certificate), *proof.models)


def test_a_wrong_claim_is_rejected_however_its_proof_is_changed(proof):
    rng = random.Random(0)
    content = blocks(proof.certificate)
    for _ in range(60):
        with pytest.raises(CertificateError):
            verify.check(rebuilt(proof.certificate, content, proof.wrong_claim), *proof.wrong_models)
        content = tampered(blocks(proof.certificate), rng)


def test_every_bit_of_a_file_matters(proof, tmp_path):
    proof.certificate.save(tmp_path / "proof.cert")
    content = (tmp_path / "proof.cert").read_bytes()
    for place in random.Random(0).sample(range(len(content)), 60):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        (tmp_path / "changed.cert").write_bytes(changed)
        with pytest.raises(CertificateError):
            verify.check(tmp_path / "changed.cert", *proof.models)


def test_negative_and_senseless_multipliers_are_rejected(proof):
    content = blocks(proof.certificate)
    places = [(i, j) for i, block in enumerate(content) for j in range(len(block[2]))]
    for i, j in random.Random(0).sample(places, min(len(places), 20)):
        for number in (-content[i][2][j], float("nan"), float("inf")):
            changed = copy.deepcopy(content)
            changed[i][2][j] = number
            with pytest.raises(CertificateError):
                verify.check(rebuilt(proof.certificate, changed), *proof.models)


def test_nothing_may_be_missing_at_the_end_or_left_over(proof):
    content = blocks(proof.certificate)
    for changed in (content[:-1], [*content, content[-1]], []):
        with pytest.raises(CertificateError):
            verify.check(rebuilt(proof.certificate, changed), *proof.models)


def test_the_proof_of_another_model_is_rejected(proof):
    for changed in one_number_changed(proof.models[0]):
        with pytest.raises(CertificateError, match="another model"):
            verify.check(proof.certificate, changed, *proof.models[1:])


def test_a_model_changed_by_one_bit_is_no_longer_proved_equivalent():
    # not only because of its name: claim that the proof is about the changed model
    certificate, (a, b), _, _ = PROOFS["equivalent"]
    for changed in one_number_changed(a)[:2]:
        claim = {"models": [digest(changed), digest(b)]}
        with pytest.raises(CertificateError, match="contradict"):
            verify.check(rebuilt(certificate, claim=claim), changed, b)


def one_number_changed(model: Mixture) -> list[Mixture]:
    weights, bias = model.gate_weights.copy(), model.gate_bias.copy()
    weights[0, 0] = np.nextafter(weights[0, 0], np.inf)
    bias[-1] += 1e-9
    tree = model.trees[0]
    threshold = np.where(tree.feature >= 0, np.nextafter(tree.threshold, np.inf), 0.0)
    trees = [Tree(tree.feature, threshold, tree.left, tree.right, tree.value[:, ::-1]), *model.trees[1:]]
    keep = {"classes": model.classes, "feature_names": model.feature_names}
    return [
        Mixture(weights, model.gate_bias, model.trees, **keep),
        Mixture(model.gate_weights, bias, model.trees, **keep),
        Mixture(model.gate_weights, model.gate_bias, trees, **keep),
    ]


def test_a_cut_without_a_contradiction_is_rejected():
    # one region, one record: claim that "right" never happens
    certificate, (model,), _, _ = PROOFS["always"]
    claim = certificate.claim | {"answers": ["left"]}
    for numbers in ([1.0], [0.0], [1e300], [5e-324]):
        forged = Certificate("always", claim)
        forged.add(bytes([1]), array("i", [1, 0]), array("d", numbers))
        with pytest.raises(CertificateError, match="contradict"):
            verify.check(forged, model)
    forged = Certificate("always", claim)
    forged.add(bytes([1]), array("i", [0]))
    with pytest.raises(CertificateError, match="contradict"):
        verify.check(forged, model)


@pytest.mark.parametrize(
    "claim",
    [
        {"lo": [1.0, 1.0, 1.0], "hi": [0.0, 0.0, 0.0]},
        {"lo": [0.0]},
        {"lo": None},
        {"lo": ["x", 0, 0]},
        {"lo": [float("nan"), 0.0, 0.0]},
        {"answers": ["up"]},
        {"model": "0"},
        {"model": None},
    ],
)
def test_senseless_claims_are_rejected(claim):
    certificate, models, _, _ = PROOFS["always"]
    with pytest.raises(CertificateError):
        verify.check(rebuilt(certificate, claim=claim), *models)


def test_wrong_numbers_of_models_and_other_models_are_rejected():
    certificate, (a, b), _, _ = PROOFS["equivalent"]
    with pytest.raises(CertificateError, match="2 model"):
        verify.check(certificate, a)
    soft = Mixture(a.gate_weights, a.gate_bias, a.trees, a.classes, prediction="soft")
    with pytest.raises(CertificateError, match="another model"):
        verify.check(certificate, soft, b)
    claim = {"models": [digest(soft), digest(b)]}  # cuts are no proof about experts that vote
    with pytest.raises(CertificateError, match=r"number is missing|code|feature"):
        verify.check(rebuilt(certificate, claim=claim), soft, b)


def test_a_proof_about_a_tree_of_scikit_learn_is_accepted_for_that_tree():
    X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    tree, other = (DecisionTreeClassifier(max_depth=depth).fit(X, X[:, 0] > X[:, 1]) for depth in (3, 4))
    certificate = equivalent(tree, tree, CUBE).certificate
    assert verify.check(certificate, tree, tree)
    with pytest.raises(CertificateError, match="another model"):
        verify.check(certificate, tree, other)


@pytest.mark.processes
def test_the_checker_needs_the_standard_library_only(tmp_path):
    certificate, models, _, _ = PROOFS["equivalent"]
    certificate.save(tmp_path / "proof.cert")
    for k, model in enumerate(models):
        save(model, tmp_path / f"{k}.moet.json")
    code = (
        "import sys\n"
        "from moet.verify.checking import check\n"
        f"assert check({str(tmp_path / 'proof.cert')!r}, *[{str(tmp_path)!r} + f'/{{k}}.moet.json' for k in (0, 1)])\n"
        "print({'numpy', 'numba', 'scipy', 'sklearn', 'z3'} & set(sys.modules))\n"
    )
    assert run([sys.executable, "-c", code], check=True).stdout == "set()\n"
