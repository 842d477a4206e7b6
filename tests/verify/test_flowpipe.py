from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from moet import RegressionMixture
from moet.errors import CertificateError, InputError
from moet.model.regression.tree import RegressionTree
from moet.verify import Proved, Refuted, Unknown, check, meets, reaches, safe
from moet.verify.checker.certificate import Certificate
from moet.verify.checker.loops.flowpipe import conditions
from moet.verify.checker.loops.flowpipe.claims import Condition, Norm
from moet.verify.checker.loops.flowpipe.conditions import Where, holds
from moet.verify.checker.loops.flowpipe.sets import Zonotope, whole
from moet.verify.checker.meter import Meter
from moet.verify.loops.flowpipe.tubes import proven_tubes
from moet.verify.systems import SampledSystem
from moet.verify.systems.controls import clipped, observed
from moet.verify.systems.equations import PLAIN_FLOATS

from .loops import thermostat
from .plants import affine_tank, everything, law, nonlinear_tank, pendulum


def random_plant(random: np.random.Generator) -> SampledSystem:
    """Two to three states with all kinds of terms."""
    d = int(random.integers(2, 4))
    names = [f"x{k}" for k in range(d)]

    def term() -> str:
        a, b = random.choice(names, 2)
        c = round(float(random.normal()), 2)
        kinds = [
            f"{c}*sin({a})",
            f"{c}*{a}*{b}",
            f"{c}*cos({a}+{b})",
            f"{c}*{a}",
            f"{c}*tan({a}/4)",
            f"{c}*exp(-{a}/3)",
            f"{c}*{a}/(2+{b}**2)",
            f"{c}*sqrt(1+{a}**2)",
            f"{c}*abs({a}-0.1)",
            f"{c}*min({a},{b})",
            f"{c}*max({a},0.2)**3/5",
            f"{c}*w",
            f"{c}*m*{a}",
        ]
        return kinds[int(random.integers(len(kinds)))]

    flow = {name: " + ".join(["-x0 * 0.2", term(), term(), f"{random.normal():.2f}*u"]) for name in names}
    flow[names[0]] += " + 0.1 * (m - 1) * x1 + 0.1 * w"
    lows = random.uniform(-0.6, 0.4, d).round(3)
    return SampledSystem(
        "random",
        flow=flow,
        controls={"u": (-1, 1)},
        period=str(random.choice(["0.05", "0.2", "1/3"])),
        parameters={"m": (0.8, 1.1)},
        disturbance={"w": 0.05},
        initial={name: (low, low + 0.2) for name, low in zip(names, lows.tolist(), strict=True)},
        observation_error={names[0]: 0.01},
        float32_observations=bool(random.integers(2)),
    )


def random_policy(random: np.random.Generator, n_features: int) -> RegressionMixture:
    """Two experts, one of them a stump, with affine leaves."""
    slopes = random.normal(size=(4, 1, n_features))
    values = random.normal(size=(4, 1)) / 3
    stump = RegressionTree(
        feature=[0, -1, -1],
        threshold=[0.1, 0, 0],
        left=[1, -1, -1],
        right=[2, -1, -1],
        value=[[0], values[0], values[1]],
        slope=[np.zeros((1, n_features)), slopes[0], slopes[1]],
    )
    leaf = RegressionTree.leaf(values[2], slope=slopes[2])
    return RegressionMixture(
        random.normal(size=(2, n_features)), random.normal(size=2) / 4, [stump, leaf], ["u"], low=[-0.8]
    )


def true_run(plant, policy, random, steps, pieces=3):
    """Times and states of a run, integrated to ten digits, with parameters, signals and noise at random."""
    low, high = np.array(plant.initial, float).T
    x = np.where(random.random(len(low)) < 0.3, random.choice([low, high]), random.uniform(low, high))
    fixed = {name: random.uniform(*map(float, side)) for name, side in plant.parameters.items()}
    h, times, states = float(plant.period), [0.0], [x]
    for step in range(steps):
        noise = random.uniform(-1, 1, len(plant.features)) * np.array(plant.noise, float)
        features = observed(plant, x[None])[0] + noise
        if plant.float32_observations:
            features = features.astype(np.float32).astype(float)
        controls = dict(zip(plant.controls, clipped(plant, policy.act(features)), strict=True))
        for piece in range(pieces):
            signals = {name: random.choice(list(map(float, side))) for name, side in plant.signals.items()}

            def rate(_, y, held=fixed | controls | signals):
                return plant.equations(dict(zip(plant.states, y, strict=True)) | held, PLAIN_FLOATS)

            ends = np.array([piece, piece + 1]) * h / pieces
            run = solve_ivp(rate, ends, x, method="DOP853", rtol=1e-10, atol=1e-12, t_eval=np.linspace(*ends, 4))
            times += (step * h + run.t[1:]).tolist()
            states += run.y.T[1:].tolist()
            x = run.y[:, -1]
    return np.array(times), np.array(states)


def is_inside(tubes, times, states) -> bool:
    """Whether a run is at all times in the tube of one part."""
    for tube in tubes:
        at = (tube.start[:, None] <= times + 1e-12) & (times - 1e-12 <= tube.end[:, None])
        slack = 1e-8
        inside = np.all((tube.low[:, None] - slack <= states) & (states <= tube.high[:, None] + slack), axis=2)
        if np.all(inside | ~at):
            return True
    return False


@pytest.mark.parametrize("seed", range(12))
def test_every_run_of_a_random_plant_stays_in_the_tubes_that_the_checker_confirms(seed):
    random = np.random.default_rng(seed)
    plant = random_plant(random)
    policy = random_policy(random, len(plant.states))
    verdict = meets(policy, plant, "x0 <= 50 until 1", cpu_limit=20)
    if isinstance(verdict, Unknown):  # some of them are explosive
        return
    tubes = proven_tubes(verdict.certificate, policy, plant)
    steps = int(np.ceil(1 / float(plant.period)))
    for _ in range(15):
        assert is_inside(tubes, *true_run(plant, policy, random, steps))


def test_the_pendulum_comes_down_in_time_from_all_of_its_first_states():
    policy = law([[-1.0, -0.6]], [0.0], ["torque"], low=[-1], high=[1])
    verdict = meets(policy, pendulum(), "0 <= angle <= 1 from 0.5 to 1")
    assert isinstance(verdict, Proved)
    assert verdict.checked
    assert "from time 0.5 to 1 has" in verdict.claim
    assert check(verdict.certificate, policy, pendulum())


def test_a_certificate_proves_nothing_about_another_plant_another_policy_or_another_specification():
    policy = law([[-1.0, -0.6]], [0.0], ["torque"])
    certificate = meets(policy, pendulum(), "-1 <= angle <= 1.4 until 1").certificate
    for model, plant in (
        (law([[-1.0, -0.61]], [0.0], ["torque"]), pendulum()),
        (policy, pendulum(period="0.06")),
        (policy, pendulum(initial={"angle": (1, "1.18"), "speed": (0, "0.2")})),
    ):
        with pytest.raises(CertificateError):
            check(certificate, model, plant)
    claim = certificate.claim
    for change in ({"bound": "1"}, {"coefficients": ["1", "1"], "bound": "1.2"}):
        spec = [dict(claim["spec"][0], conditions=[claim["spec"][0]["conditions"][1] | change])]
        with pytest.raises(CertificateError):
            check(certificate.claiming("flowpipe", claim | {"spec": spec}), policy, pendulum())
    longer = [claim["spec"][0] | {"to": "2"}]
    with pytest.raises(CertificateError):
        check(certificate.claiming("flowpipe", claim | {"spec": longer}), policy, pendulum())


def test_systems_in_discrete_time_are_proved_for_some_steps_and_for_ever():
    policy = law([[-0.05]], [0.2], ["inflow"])
    for plant in (affine_tank(), nonlinear_tank()):
        assert safe(policy, plant, steps=30).checked
        assert safe(policy, plant, steps=None).checked


def test_a_pendulum_is_kept_up_for_ever():
    plant = pendulum(
        initial={"angle": ("-0.1", "0.1"), "speed": ("-0.1", "0.1")},
        safe=["-0.3 <= angle <= 0.3"],
        flow={"angle": "speed", "speed": "m * sin(angle) + 8 * torque + w"},
        parameters={"m": ("1.9", "2.1")},
        disturbance={"w": "0.05"},
    )
    verdict = safe(law([[-1.0, -0.6]], [0.0], ["torque"]), plant, steps=None)
    assert isinstance(verdict, Proved), verdict.reason
    assert "for ever has" in verdict.claim


def test_a_goal_is_reached_and_an_obstacle_avoided_on_the_way():
    plant = SampledSystem(
        "cart",
        flow={"x": "v", "y": "1", "v": "a"},
        controls={"a": (-1, 1)},
        period="0.1",
        initial={"x": (0, "0.1"), "y": (0, "0.1"), "v": 0},
        avoid=[["0.5 <= x", "y <= 1"]],
        goal=["y >= 2"],
    )
    still = law([[-1.0, 0.0, -1.5]], [0.05], ["a"])
    assert reaches(still, plant, within=25).checked
    assert not reaches(still, plant, within=15)
    assert not safe(law([[0.0, 0.0, 0.0]], [1.0], ["a"]), plant, steps=20)


@pytest.mark.parametrize(
    "spec",
    [
        "angle <= 1.1 until 1",
        "0 <= angle <= 0.5 from 0.3 to 0.4",
        "never angle <= 0.6 and speed <= 0 until 1",
        "reach angle <= 0.2 within 1",
        "sqrt(angle**2 + speed**2) <= 1.2 until 1",
    ],
)
def test_what_is_false_is_refuted_with_a_run_that_scipy_confirms(spec):
    policy, plant = law([[-1.0, -0.6]], [0.0], ["torque"]), pendulum()
    verdict = meets(policy, plant, spec)
    assert isinstance(verdict, Refuted)
    trace = verdict.trace
    assert all(low <= x <= high for x, (low, high) in zip(trace.start, plant.initial, strict=True))
    x = trace.states[0]
    for state, (torque,) in zip(trace.states[1:], trace.actions, strict=True):
        assert torque == pytest.approx(float(np.clip(policy.act(x)[0], -1, 1)))
        run = solve_ivp(lambda _, y, u=torque: [y[1], 2 * np.sin(y[0]) + 8 * u], (0, 0.05), x, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(run.y[:, -1], state, atol=1e-5)  # the middle of what encloses it
        x = state


def test_first_states_may_touch_a_limit_that_runs_move_away_from():
    plant = pendulum(initial={"angle": ("0.5", "1.175"), "speed": ("-0.2", "-0.1")})
    policy = law([[-1.0, -0.6]], [0.0], ["torque"])
    assert meets(policy, plant, "angle <= 1.175 until 1").checked
    assert isinstance(meets(policy, plant, "angle <= 1.1749 until 1"), Refuted)


def test_no_change_of_the_records_proves_what_is_false():
    policy, plant = law([[-1.0, -0.6]], [0.0], ["torque"], low=[-0.9]), pendulum()
    good = meets(policy, plant, "-1 <= angle <= 1.4 until 1").certificate
    false = meets(policy, plant, "0 <= angle <= 1 from 0.2 to 1")
    assert isinstance(false, Refuted)
    conditions = [good.claim["spec"][0]["conditions"][1] | {"bound": "1"}]
    spec = [good.claim["spec"][0] | {"from": "0.2", "conditions": conditions}]
    codes, refs, numbers = next(good._read_blocks())
    random = np.random.default_rng(0)
    for _ in range(80):
        changed = [bytearray(codes), list(refs), list(numbers)]
        which = changed[int(random.integers(3))]
        k = int(random.integers(len(which)))
        which[k] = (
            10 ** random.uniform(-3, 300) if which is changed[2] else int(random.choice([0, 1, 2, 3, 64, 65, 66]))
        )
        forged = Certificate("flowpipe", good.claim | {"spec": spec})
        forged.add(bytes(changed[0]), np.array(changed[1], np.int32), np.array(changed[2], np.float64))
        with pytest.raises(CertificateError):
            check(forged, policy, plant)


def test_models_that_do_not_fit_are_refused_in_words():
    with pytest.raises(InputError, match="outputs"):
        safe(law([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], ["a", "b"]), pendulum(), steps=1)
    with pytest.raises(InputError, match="features"):
        safe(law([[1.0]], [0.0], ["torque"]), pendulum(), steps=1)
    with pytest.raises(InputError, match="another order"):
        meets(law([[1.0, 0.0]], [0.0], ["torque"], feature_names=["speed", "angle"]), pendulum(), "angle <= 1 until 1")
    with pytest.raises(InputError, match="systems with actions"):
        meets(None, thermostat(), "x <= 1")
    assert everything().features == ("difference", "cosine")


@given(st.integers(0, 2**32))
def test_a_norm_that_is_bounded_sector_by_sector_is_bounded(seed):
    """What holds by wide sides of a polygon holds of all points; what holds by all of its sides is found to hold."""
    rng = np.random.default_rng(seed)
    middle, columns = rng.normal(size=3), rng.normal(size=(4, 3)) * rng.choice([1e-3, 0.3])
    points = middle + rng.uniform(-1, 1, (200, 4)).round(rng.integers(0, 3)) @ columns
    row, rows, factor = rng.normal(size=3), rng.normal(size=(2, 3)), float(rng.uniform(0.1, 3))
    values = points @ row + factor * np.hypot(*(points @ rows.T).T)
    bound = float(values.max() + rng.choice([-1e-3, 1e-6, 0.05, 1.0]))
    norm = Norm(Fraction(factor), [[Fraction(a) for a in line] for line in rows.tolist()])
    condition = Condition([Fraction(a) for a in row.tolist()], [norm], Fraction(bound))
    zonotope = Zonotope(
        [whole(Fraction(v)) for v in middle.tolist()],
        [[whole(Fraction(v)) for v in column] for column in columns.tolist()],
    )
    where = Where([(zonotope, [0] * 3)], [0] * 3, Meter())
    line = conditions._line(where, condition, 3)
    finely = all(
        conditions._is_met(where, line._replace(row=conditions._plus(line.row, norm, side)))
        for side in conditions._POLYGON
    )
    found = holds(where, [condition], 3) is None
    assert found or not finely
    assert not found or values.max() <= bound + 1e-9
