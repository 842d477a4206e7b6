import json
from fractions import Fraction
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from moet import Mixture, Tree
from moet.errors import InputError
from moet.verify import systems
from moet.verify.checker.documents.system import read_system
from moet.verify.checker.loops.sets.enclosures import EnclosureChecker
from moet.verify.checker.meter import Meter
from moet.verify.systems.system import System

from .loops import tank, thermostat

SHIPPED = ("cartpole_published", "cartpole_linear", "cartpole", "mountaincar", "pendulum")

# environment, action number → its action, state of the system → state of the environment, and ranges of states
REAL = {
    "cartpole": ("CartPole-v1", [0, 1], lambda x: x, ([-2.4, -3, -0.2, -3], [2.4, 3, 0.2, 3])),
    "mountaincar": ("MountainCar-v0", [0, 1, 2], lambda x: x, ([-1.2, -0.07], [0.6, 0.07])),
    "pendulum": (
        "Pendulum-v1",
        [np.array([torque], np.float32) for torque in (-2, 0, 2)],
        lambda x: np.array([np.arctan2(x[1], x[0]), x[2]]),
        ([-np.pi, -8], [np.pi, 8]),
    ),
}


def real_steps(name: str, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random states, actions, and the states that the real environment goes to (float64, before any rounding)."""
    env_id, actions, to_env, (low, high) = REAL[name]
    env = gymnasium.make(env_id).unwrapped
    env.reset(seed=seed)
    random = np.random.default_rng(seed)
    states, chosen, following = [], random.integers(len(actions), size=n), []
    for action in chosen:
        state = random.uniform(low, high)
        if name == "pendulum":
            state = np.array([np.cos(state[0]), np.sin(state[0]), state[1]])
        env.state = to_env(state)
        env.steps_beyond_terminated = None
        env.step(actions[action])
        after = np.array(env.state, dtype=np.float64)
        if name == "pendulum":
            after = np.array([np.cos(after[0]), np.sin(after[0]), after[1]])
        states.append(state)
        following.append(after)
    return np.array(states), chosen, np.array(following)


@pytest.mark.parametrize("name", REAL)
def test_every_real_step_lies_in_the_enclosure_and_not_in_a_tighter_one(name: str) -> None:
    system = systems.find(name)
    states, actions, after = real_steps(name, 3000)
    noise = np.array([float(high) for _, high in system.disturbance])
    assert np.all(np.abs(system.successor(states, actions) - after) <= 0.1 * noise)

    order = np.argsort(states[:, -1], kind="stable")  # boxes of states that are alike
    tight_fails = 0
    for part in np.array_split(order, 20):
        low, high = states[part].min(axis=0), states[part].max(axis=0)
        matrix = system.fitted_matrix(low, high)
        (least,), (most,) = system.residuals(matrix, low[None], high[None])
        rest = after[part] - states[part] @ matrix.T
        middle, radius = ((most + sign * least)[actions[part]] / 2 for sign in (1, -1))
        assert np.all(np.abs(rest - middle) <= radius + 1e-13)
        tight_fails += np.any(np.abs(rest - middle) > 0.5 * radius)
    assert tight_fails > 0


def test_linear_cartpole_is_the_derivative_of_the_real_one() -> None:
    real, linear = systems.cartpole(), systems.cartpole_linear()
    size = 1e-5
    states = size * np.vstack([np.eye(4), -np.eye(4)])
    for action in (0, 1):
        after = real.successor(states, np.full(8, action))
        slopes = (after[:4] - after[4:]).T / (2 * size)
        # the force, too, turns with the pole: its derivative is quadratic and vanishes here
        np.testing.assert_allclose(slopes, np.array(linear.matrix, float), atol=1e-6)
        at_rest = real.successor(np.zeros((1, 4)), np.array([action]))[0]
        np.testing.assert_allclose(at_rest, np.array(linear.offsets[action], float), atol=1e-12)


def test_published_constants() -> None:
    system = systems.cartpole_published()
    assert system.matrix[1][2] == Fraction("-7.1707") / 50
    assert system.matrix[3][2] == Fraction("7.8878") / 50
    assert system.offsets[1] == (0, Fraction("0.31486"), 0, Fraction("-0.14634"))
    assert system.offsets[0] == tuple(-value for value in system.offsets[1])
    assert system.initial == ((Fraction(-1, 20), Fraction(1, 20)),) * 4
    assert {half.bound for half in system.safe} == {Fraction(1, 10)}


@pytest.mark.parametrize("name", SHIPPED)
def test_documents_are_plain_and_digests_differ(name: str) -> None:
    import json

    system = systems.find(name)
    assert json.loads(json.dumps(system.document())) == system.document()
    assert system.digest == systems.find(name).digest
    assert len({systems.find(other).digest for other in SHIPPED}) == len(SHIPPED)


@pytest.mark.parametrize("system", [*map(systems.find, SHIPPED), tank(), thermostat()], ids=lambda system: system.name)
def test_files_hold_the_same_system(system: System, tmp_path: Path) -> None:
    systems.save(system, tmp_path / "system.json")
    loaded = systems.find(str(tmp_path / "system.json"))
    assert loaded.document() == system.document()
    assert type(loaded) is type(system)


def corrupt(**changes: object) -> str:
    return json.dumps(tank().document() | changes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot read"),
        ("[]", "not a description"),
        ("{}", "not a description"),
        (corrupt(version=3), "version"),
        (corrupt(version=1), "float32_observations"),
        (corrupt(color="red"), "color"),
        (corrupt(initial=[["2", "1"]]), "empty"),
        (corrupt(initial=[["nan", "1"]]), "number"),
        (corrupt(dynamics={"kind": "magic"}), "magic"),
        (corrupt(dynamics={"kind": "equations", "inputs": {}, "let": [], "step": ["__import__('os')"]}), "import"),
    ],
)
def test_foreign_and_damaged_files_are_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "system.json").write_text(text)
    with pytest.raises(InputError, match=message):
        systems.load(tmp_path / "system.json")


def test_limits_are_part_of_the_digest() -> None:
    assert systems.cartpole(angle="0.1").digest != systems.cartpole().digest


def test_affine_enclosure_holds_rational_numbers() -> None:
    system = systems.AffineSystem(
        "third",
        states=["x"],
        actions=["only"],
        matrix=[["1/3"]],
        offsets=[["0.1"]],
        initial={"x": (0, 1)},
        safe=["x <= 9"],
        disturbance={"x": (0, "0.2")},
    )
    matrix = system.fitted_matrix(np.array([-1.0]), np.array([1.0]))
    least, most = system.residuals(matrix, np.array([[-1.0]]), np.array([[1.0]]))
    for x in (-1, 1):
        for noise in (Fraction(0), Fraction(1, 5)):
            exact = Fraction(x, 3) + Fraction(1, 10) + noise
            assert least.item() <= exact - Fraction(matrix[0, 0]) * x <= most.item()
    assert most.item() - least.item() < 0.2002


def checked_box(system: System, low: list[float], high: list[float], shrink: float = 0.0) -> None:
    """Have the exact checker confirm the enclosure of one box, made tighter by a share of its width."""
    bottom, top = np.array(low), np.array(high)
    matrix = system.fitted_matrix(bottom, top)
    (least,), (most,) = system.residuals(matrix, bottom[None], top[None])
    checker = EnclosureChecker(read_system(system), Meter())
    box = [(Fraction(a), Fraction(b)) for a, b in zip(low, high, strict=True)]
    exact_matrix = [[Fraction(v) for v in row] for row in matrix.tolist()]
    for action in range(len(system.actions)):
        width = shrink * (most[action] - least[action])
        exact = [[Fraction(v) for v in row] for row in ((least[action] + width).tolist(), most[action].tolist())]
        checker.check(exact_matrix, box, action, *exact)


BOXES = {
    "cartpole": ([-1.0, -1.0, 0.0, -0.5], [1.0, 1.0, 0.05, 0.5]),
    "cartpole_linear": ([-1.0] * 4, [1.0] * 4),
    "mountaincar": ([-0.6, -0.01], [-0.5, 0.01]),
    "pendulum": ([0.95, -0.1, -0.5], [1.0, 0.1, 0.5]),
}


@pytest.mark.parametrize("name", BOXES)
def test_the_exact_checker_confirms_enclosures(name: str) -> None:
    checked_box(systems.find(name), *BOXES[name])


@pytest.mark.parametrize("name", ["cartpole", "mountaincar", "pendulum"])
def test_the_exact_checker_refuses_what_is_too_tight(name: str) -> None:
    from moet.errors import CertificateError

    with pytest.raises(CertificateError, match="model of the step"):
        checked_box(systems.find(name), *BOXES[name], shrink=0.2)


def test_classes_are_actions_by_name_or_number() -> None:
    system = systems.cartpole_published()

    def policy(classes: list[object], n_features: int = 4) -> Mixture:
        return Mixture(np.zeros((1, n_features)), [0.0], [Tree.leaf([0.5, 0.5])], classes=classes)

    assert system.actions_of(policy([1, 0])) == (1, 0)
    assert system.actions_of(policy(["right", "left"])) == (1, 0)
    for wrong in ([0, 2], ["up", "down"], [0.0, 1.0], [False, True]):
        with pytest.raises(InputError, match="no action"):
            system.actions_of(policy(wrong))
    with pytest.raises(InputError, match="3 features"):
        system.actions_of(policy([0, 1], n_features=3))


def test_features_in_another_order_are_refused() -> None:
    names = ["angle", "velocity", "position", "angular_velocity"]
    mixture = Mixture(np.zeros((1, 4)), [0.0], [Tree.leaf([1, 0])], classes=[0, 1], feature_names=names)
    with pytest.raises(InputError, match="another order"):
        systems.cartpole().actions_of(mixture)


GOOD = {
    "states": ["x"],
    "actions": ["only"],
    "matrix": [[1]],
    "offsets": [[0]],
    "initial": {"x": (0, 1)},
    "safe": ["x <= 2"],
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"states": []},
        {"states": ["x", "x"]},
        {"states": "x"},
        {"initial": {}},
        {"initial": {"x": (1, 0)}},
        {"initial": {"x": float("nan")}},
        {"initial": {"y": (0, 1)}},
        {"safe": []},
        {"safe": ["y <= 1"]},
        {"matrix": [[1, 2]]},
        {"offsets": [[0], [0]]},
        {"matrix": [["a"]]},
        {"disturbance": {"x": -1}},
        {"observation_error": {"x": -1}},
        {"float32_observations": True},
    ],
)
def test_contradictory_systems_are_refused(wrong: dict[str, object]) -> None:
    systems.AffineSystem("good", **GOOD)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        systems.AffineSystem("wrong", **(GOOD | wrong))  # type: ignore[arg-type]


def test_unknown_name() -> None:
    with pytest.raises(InputError, match="cartpole_linear"):
        systems.find("cartpool")
