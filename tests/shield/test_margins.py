"""The checker refuses every number of a shield that is not shown to be right, and any file that is no shield."""

import copy

import pytest

from moet.errors import CertificateError
from moet.verify import check, systems
from tests.shield.conftest import cart, cart_policy, pole_policy


def forged(certificate, change):
    claim = copy.deepcopy(certificate.claim)
    change(claim["shield"])
    return certificate.claiming("shield", claim)


def scale(name, factor, *places):
    def change(numbers):
        if not places:
            numbers[name] = numbers[name] * factor
            return
        part = numbers[name]
        for place in places[:-1]:
            part = part[place]
        part[places[-1]] = part[places[-1]] * factor

    return change


FORGERIES = {
    "errors at first": scale("errors", 0.5, 0),
    "errors later": scale("errors", 0.9, 5),
    "negative errors": scale("errors", -1.0, 3),
    "growth": scale("growth", 0.8),
    "added": scale("added", 1e-6),
    "spread of a direction": scale("spreads", 0.9, 2),
    "limit of the set": scale("limits", 1.0 + 1e-9, 0, 0),
    "spread of the gate": scale("gate_spreads", 0.9, 0, 1),
    "errors of the gate": scale("gate_errors", 0.5, 1, 0),
    "shape": scale("shape", 0.5, 1),
    "shape of no size": scale("shape", 0.0, 0),
    "box beyond the safe set": scale("top", 4.0, 0),
    "box upside down": scale("top", -4.0, 0),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_every_number_of_a_shield_is_checked(pole_shield, name):
    with pytest.raises(CertificateError):
        check(forged(pole_shield.certificate, FORGERIES[name]), pole_policy(), systems.cartpole())


@pytest.mark.parametrize("name", ["safe_limits", "safe_spreads"])
def test_conditions_of_several_states_are_checked(cart_shield, name):
    factor = 1.001 if name == "safe_limits" else 0.5
    with pytest.raises(CertificateError):
        check(forged(cart_shield.certificate, scale(name, factor, 0)), cart_policy(), cart())


def test_fewer_terms_of_the_sine_are_refused(pole_shield):
    change = lambda numbers: numbers.update(terms=2)  # noqa: E731
    with pytest.raises(CertificateError, match="rounding"):
        check(forged(pole_shield.certificate, change), pole_policy(), systems.cartpole())


@pytest.mark.parametrize("key", ["bottom", "terms", "errors", "limits", "gate_errors"])
def test_a_number_that_is_missing_is_refused(cart_shield, key):
    with pytest.raises(CertificateError, match=key):
        check(forged(cart_shield.certificate, lambda numbers: numbers.pop(key)), cart_policy(), cart())


@pytest.mark.parametrize("value", [None, [], "1", {"a": 1}, [[1.0]], float("nan"), 10**400])
@pytest.mark.parametrize("key", ["shape", "growth", "errors", "limits", "gate_spreads", "terms"])
def test_nonsense_is_refused(cart_shield, key, value):
    with pytest.raises(CertificateError):
        check(forged(cart_shield.certificate, lambda numbers: numbers.update({key: value})), cart_policy(), cart())


def test_a_shield_without_its_invariant_is_refused(cart_shield):
    claim = copy.deepcopy(cart_shield.certificate.claim)
    claim["blocks"][-1]["set"][0][0] *= 0.5
    with pytest.raises(CertificateError):
        check(cart_shield.certificate.claiming("shield", claim), cart_policy(), cart())


def test_an_invariant_is_no_shield(cart_proof):
    with pytest.raises(CertificateError, match="lacks shield"):
        check(cart_proof.claiming("shield", cart_proof.claim), cart_policy(), cart())
