"""Plants as others write them: unknown numbers that no equation has, for ever with parameters, runs that refute."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from sklearn.tree import DecisionTreeClassifier

from moet.errors import InputError
from moet.verify import Proved, Refuted, Unknown, meets, safe
from moet.verify.loops.flowpipe.unknowns import shares_of
from moet.verify.systems import SampledSystem

from .plants import law


def oscillator(**changes):
    description = {
        "flow": {"x": "y", "y": "mu * (1 - x**2) * y - x + u + push"},
        "controls": {"u": (-5, 5)},
        "period": "0.1",
        "parameters": {"mu": ("0.9", "1.1")},
        "disturbance": {"push": "0.05"},
        "initial": {"x": ("-0.5", "0.5"), "y": ("-0.5", "0.5")},
        "safe": ["-1.5 <= x <= 1.5"],
    }
    return SampledSystem("oscillator", **(description | changes))


DAMPED = law([[-2.0, -3.0]], [0.0], ["u"], feature_names=["x", "y"])
IDLE = law([[0.0, 0.0]], [0.0], ["u"], feature_names=["x", "y"])


@pytest.mark.parametrize(
    ("what", "changes"),
    [
        ("parameters", {"parameters": {"mu": (1, 2), "mass": (1, 2)}}),
        ("disturbance", {"disturbance": {"push": 1, "gust": 1}}),
        ("schedule", {"schedule": {"load": [1, 2]}}),
    ],
)
def test_an_unknown_number_that_no_equation_uses_is_refused_with_what_to_do(what, changes):
    with pytest.raises(InputError, match=rf"{what} names \['(mass|gust|load)'\], which no equation uses: write it"):
        oscillator(**changes)


def test_an_unknown_number_may_act_through_let_or_memory_alone():
    plant = oscillator(
        let={"friction": "mu * y"},
        flow={"x": "y", "y": "friction - x + u"},
        memory={"sum": "sum + push"},
        initial={"x": 0, "y": 0, "sum": 0},
    )
    assert plant.states == ("x", "y", "sum")


def test_a_refutation_says_what_unknown_numbers_were_and_scipy_finds_the_same_run():
    verdict = safe(IDLE, oscillator(), steps=100)
    assert isinstance(verdict, Refuted)
    trace = verdict.trace
    mu, push = float(trace.unknowns["mu"]), float(trace.unknowns["push"])
    assert f"mu = {mu:.6g}, push = {push:.6g}" in str(verdict)
    times = np.arange(len(trace.states)) * 0.1
    run = solve_ivp(
        lambda _, s: [s[1], mu * (1 - s[0] ** 2) * s[1] - s[0] + push],
        (0, times[-1]),
        [float(x) for x in trace.start],
        t_eval=times,
        rtol=1e-11,
        atol=1e-12,
    )
    np.testing.assert_allclose(trace.states, run.y.T, atol=1e-4)


def test_a_run_is_found_that_needs_one_parameter_low_and_another_high():
    """The level goes down only if little flows in and much flows out."""
    plant = SampledSystem(
        "tank",
        flow={"level": "inflow - outflow + u"},
        controls={"u": (0, 0)},
        parameters={"inflow": (1, 2), "outflow": (1, 2)},
        period=1,
        initial={"level": 1},
    )
    still = law([[0.0]], [0.0], ["u"], feature_names=["level"])
    verdict = meets(still, plant, "0.25 <= level <= 3 until 1")
    assert isinstance(verdict, Refuted)
    assert verdict.trace.unknowns == {"inflow": 1, "outflow": 2}


def test_what_is_scheduled_and_what_actions_do_is_told_one_by_one():
    plant = SampledSystem(
        "heater",
        flow={"room": "power - 0.1 * room - load"},
        actions={"off": {"power": 0}, "on": {"power": ("2.8", "3.2")}},
        schedule={"load": [0, ("0.1", "0.3")]},
        period=1,
        initial={"room": 20},
    )
    switch = DecisionTreeClassifier().fit([[19.0], [25.0]], ["on", "off"])
    verdict = meets(switch, plant, "room <= 22 until 4")
    assert isinstance(verdict, Refuted)
    on, load = verdict.trace.unknowns["on"], verdict.trace.unknowns["load"]
    assert len(on) == 1
    assert 2.8 <= float(on[0]) <= 3.2
    assert load[0] == 0
    assert 0.1 <= float(load[1]) <= 0.3


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 7), st.integers(0, 1000))
def test_unknown_numbers_are_fixed_in_few_ways_that_differ_and_keep_limits(n, seed):
    names = [f"p{k}" for k in range(n)]
    flow = " + ".join(["u", *names])
    parameters = {name: (k, k + 1) for k, name in enumerate(names)}
    plant = SampledSystem(
        "p", flow={"x": flow}, controls={"u": (0, 1)}, period=1, parameters=parameters, initial={"x": 0}
    )
    ways = shares_of(plant, seed)
    assert 1 <= len(ways) <= 11
    for way in ways:
        assert all(low <= way.values(plant)[name] <= high for name, (low, high) in plant.parameters.items())


def test_a_loop_with_unknown_parameters_is_proved_for_ever():
    assert isinstance(safe(DAMPED, oscillator(), steps=None), Proved)


def test_a_slow_integral_in_a_scheduled_bend_is_proved_for_ever():
    """The first states are where the loop comes to rest, and leave it while the schedule lasts."""
    plant = SampledSystem(
        "lane",
        flow={"e": "v * psi", "psi": "v * delta / 2.7 - v * kappa"},
        memory={"sum": "sum + 0.05 * e"},
        parameters={"v": ("9.8", "10.2")},
        schedule={"kappa": [0] * 10 + ["0.01"] * 10 + [0]},
        controls={"delta": ("-0.4", "0.4")},
        period="0.05",
        initial={"e": ("-0.1", "0.1"), "psi": ("-0.01", "0.01"), "sum": 0},
        safe=["-1 <= e <= 1"],
    )
    keeper = law([[-0.08, -0.5, -0.01]], [0.0], ["delta"], feature_names=["e", "psi", "sum"])
    assert isinstance(safe(keeper, plant, steps=None), Proved)


def test_a_set_that_cannot_be_followed_unsplit_is_proved_for_ever_from_simulated_ends():
    """Over a whole period the flow of a motor cannot be bounded in one step."""
    plant = SampledSystem(
        "motor",
        flow={"w": "i", "i": "-10 * w - 100 * i + 100 * V"},
        controls={"V": (-24, 24)},
        period="0.05",
        initial={"w": ("-0.1", "0.1"), "i": 0},
        safe=["-0.5 <= w <= 0.5"],
        observe={"speed": "w"},
    )
    brake = law([[-2.0]], [0.0], ["V"], feature_names=["speed"])
    assert isinstance(safe(brake, plant, steps=None), Proved)


def test_a_question_for_ever_that_is_not_decided_says_what_to_do_instead():
    """A car that drives on comes to rest nowhere."""
    plant = SampledSystem(
        "car",
        flow={"x": "1", "y": "u"},
        controls={"u": (-1, 1)},
        period="0.1",
        initial={"x": 0, "y": (0, "0.1")},
        safe=["-1 <= y <= 1"],
    )
    verdict = safe(law([[0.0, -1.0]], [0.0], ["u"], feature_names=["x", "y"]), plant, steps=None, cpu_limit=20)
    assert isinstance(verdict, Unknown)
    assert "ask about some number of steps" in verdict.reason


def test_an_attempt_whose_numbers_overflow_does_not_end_the_question():
    """No limit bounds the second state: what is tried first looks at all float64 numbers."""
    verdict = safe(DAMPED, oscillator(), steps=None)
    assert isinstance(verdict, Proved)


def test_runs_that_grow_beyond_all_bounds_are_said_to_come_to_rest_nowhere():
    plant = SampledSystem(
        "blast",
        flow={"x": "x**3 + u"},
        controls={"u": (-1, 1)},
        period=1,
        initial={"x": (2, 3)},
        safe=["-1e300 <= x"],
    )
    verdict = safe(law([[0.0]], [0.0], ["u"], feature_names=["x"]), plant, steps=None, cpu_limit=20)
    assert isinstance(verdict, Unknown)
    assert "do not come to rest" in verdict.reason
