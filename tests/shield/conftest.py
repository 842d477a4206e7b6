"""A small loop with noise and disturbance, and CartPole, each with a proved policy and its shield."""

import pytest

from moet import Mixture, Tree
from moet.shield import GoalShield, Shield
from moet.verify import reaches, safe, systems

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


def car():
    """Gymnasium's MountainCar, begun in a small part of its valley."""
    return systems.mountaincar(start=(-0.5, -0.49))


def car_policy():
    """Push the car the way it moves, but not to the left beyond -0.9."""
    left = Tree([0, -1, -1], [-0.9, 0, 0], [1, -1, -1], [2, -1, -1], [[0, 1], [0, 1], [1, 0]])
    states = ["position", "velocity"]
    trees = [left, Tree.leaf([0, 1])]
    return Mixture([[0.0, 0.0], [0.0, 1.0]], [0.0, 1e-4], trees, ["left", "right"], feature_names=states)


@pytest.fixture(scope="session")
def car_proof():
    return reaches(car_policy(), car(), within=130).certificate


@pytest.fixture(scope="session")
def car_shield(car_proof):
    return GoalShield(car_proof, car_policy(), car(), within=200)


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
