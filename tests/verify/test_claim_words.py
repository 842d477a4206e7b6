"""What a proof says in words: exact numbers, real names, and nothing that the file made up."""

from fractions import Fraction

import pytest

from moet.errors import CertificateError
from moet.verify import Proved, Unknown, safe, systems
from moet.verify.checker.numbers import exactly, name_of, quoted
from moet.verify.checker.words import claim_in_words
from moet.verify.confirm import confirmed
from moet.verify.limits import Deadline

from .hostile import KINDS, forged, integrator, proof, up_to
from .loops import tank
from .test_loop import follower

SAID = {
    "always": ["x0 from -1 to 1", "as deployed answers 'right'"],
    "equivalent": ["both models give the same answer in exact arithmetic", "x2 from -1 to 1", "the other model"],
    "closest": ["x0 = float64(0.1)", "another answer than there", "by l1"],
    "safe": ["x from 0 to 1", "safe at the times 0 to 3: x >= -1 and x <= 2.5", "next x = x + (down: -1, up: 1)"],
    "reaches": ["after at most 2 steps", "in the goal: x >= 2"],
    "blocks": ["times 0 to 3", "noise of at most float64(0.01) in level", "next level = level + 0.1 * (inflow"],
    "invariant": ["safe for ever: level >= 0.5 and level <= 1.5", "level from float64(-0.002) to float64(0.002)"],
    "bounds": ["x0 from -1 to 1", "its outputs satisfy u <= 9 and u + w <= 15"],
    "tolerance": ["no output of one model is off that of the other by more than float64(0.01)", "the other model"],
    "distance": ["x0 = float64(0.1)", "by l1", "off the one there by more than float64(0.3)"],
    "arrival": ["after at most 20 steps", "in the goal: level >= 1.15", "inflow = (closed: 0, open: 0.3)"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_says_what_it_proves_and_of_what(kind):
    certificate, subjects = proof(kind)
    words = claim_in_words(certificate, *subjects)
    for part in SAID[kind]:
        assert part in words
    for subject in subjects:
        digest = getattr(subject, "digest", None)
        assert digest is None or digest in words
    assert words.isascii()


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("Sex", "Sex"),
        ("Income (net)", "'Income (net)'"),
        ("Income €", "'Income €' ('Income \\u20ac')"),
        ("S\u0435x", "'S\u0435x' ('S\\u0435x')"),  # a Cyrillic letter: to the eye it is the column of the first case
        ("Sex\u202e", "'Sex\\u202e' ('Sex\\u202e')"),  # turns the direction of what follows
    ],
)
def test_a_name_can_be_read_and_not_be_mistaken_for_another(name, written):
    assert name_of(name) == written
    assert quoted(name).strip("'") == written.strip("'")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Fraction(0), "0"),
        (Fraction(-3), "-3"),
        (Fraction(1, 4), "0.25"),
        (Fraction(-1, 100), "-0.01"),
        (Fraction(1, 3), "1/3"),
        (Fraction(0.1), "float64(0.1)"),
        (Fraction(1e300), "float64(1e+300)"),
        (Fraction(5e-324), "float64(5e-324)"),
        (Fraction(10**40 + 1, 3), f"{10**40 + 1}/3"),
    ],
)
def test_numbers_are_written_exactly(value, written):
    assert exactly(value) == written


def test_the_words_are_about_the_subjects_that_are_given():
    certificate, (model, system) = proof("safe")
    with pytest.raises(CertificateError, match="another model"):
        claim_in_words(certificate, up_to(7.0), system)
    with pytest.raises(CertificateError, match="another system"):
        claim_in_words(certificate, model, integrator(safe=["x <= 9"]))
    with pytest.raises(CertificateError, match="calls the system"):
        claim_in_words(forged(certificate, certificate.claim | {"name": "perfectly safe"}), model, system)


def test_a_verdict_says_what_was_proved():
    certificate, (model, system) = proof("safe")
    verdict = safe(model, system, steps=3)
    assert verdict.claim == claim_in_words(certificate, model, system)
    assert safe(up_to(7.0), integrator(), steps=9).claim is None


def test_names_that_could_mislead_are_quoted():
    document = tank().document()
    document["states"] = ["level"]
    document["actions"] = ["closed", "x <= 9 for ever"]
    assert "'x <= 9 for ever'" in claim_in_words_of_actions(document)


def claim_in_words_of_actions(document):
    from moet.verify.checker.documents.system import read_system
    from moet.verify.checker.words import _steps

    return "\n".join(_steps(read_system(document)))


def test_a_proof_that_cannot_be_checked_in_time_is_unknown():
    system = systems.cartpole_published()
    verdict = safe(follower(), system, steps=30)
    assert isinstance(verdict, Proved)
    found = Proved(certificate=verdict.certificate, effort={"seconds": 0.0})
    late = confirmed(found, follower(), system, deadline=Deadline(0))
    assert isinstance(late, Unknown)
    assert "while it was being checked" in late.reason
    assert "time limit of 0 s" in late.reason
    assert confirmed(found, follower(), system, deadline=Deadline(None)).checked
