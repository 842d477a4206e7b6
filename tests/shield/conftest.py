"""A small loop with noise and disturbance, and CartPole, each with a proved policy and its shield."""

import pytest

from moet import Mixture, Tree
from moet.shield import Shield
from moet.verify import safe, systems

LEAVES = [Tree.leaf([1, 0]), Tree.leaf([0, 1])]


def cart():
    """A cart that is pushed to and fro; what is seen is noisy, and every step is disturbed."""
    return systems.AffineSystem(
        "cart",
        states=["place", "speed"],
        actions=["back", "forth"],
        matrix=[[1, "0.1"], [0, 1]],
        offsets=[["-0.005", "-0.1"], ["0.005", "0.1"]],
        initial={"place": ("-0.1", "0.1"), "speed": ("-0.1", "0.1")},
        safe=["-2 <= place <= 2", "-1.5 <= speed <= 1.5", "place + speed <= 3"],
        disturbance={"place": "0.001", "speed": "0.001"},
        observation_error={"place": "0.002", "speed": "0.002"},
    )


def cart_policy():
    return Mixture([[0.0, 0.0], [-1.0, -1.5]], [0.0, 0.0], LEAVES, ["back", "forth"], feature_names=["place", "speed"])


def pole_policy():
    gains = [5.778, 11.041, 96.362, 25.0]
    return Mixture([[0.0] * 4, gains], [0.0, 0.0], LEAVES, ["left", "right"])


@pytest.fixture(scope="session")
def cart_proof():
    return safe(cart_policy(), cart(), steps=None).certificate


@pytest.fixture(scope="session")
def cart_shield(cart_proof):
    return Shield(cart_proof, cart_policy(), cart())


@pytest.fixture(scope="session")
def pole_proof():
    return safe(pole_policy(), systems.cartpole(), steps=None).certificate


@pytest.fixture(scope="session")
def pole_shield(pole_proof):
    return Shield(pole_proof, pole_policy(), systems.cartpole())
