"""Limits that runs begin on, and leave with a second derivative only."""

from fractions import Fraction

import numpy as np
import pytest

from moet.errors import CertificateError
from moet.model.file import digest
from moet.verify import Proved, Refuted, check, meets
from moet.verify.checker.certificate import Certificate
from moet.verify.checker.documents.system import read_system
from moet.verify.checker.loops.flowpipe.forms import Forms
from moet.verify.checker.loops.flowpipe.integrate import slopes_on
from moet.verify.checker.loops.flowpipe.program import program_of
from moet.verify.checker.loops.flowpipe.sets import whole
from moet.verify.checker.loops.flowpipe.turning import second_derivatives
from moet.verify.checker.loops.intervals import ONE
from moet.verify.checker.meter import Meter
from moet.verify.limits import Deadline
from moet.verify.loops.flowpipe.follow import Follower
from moet.verify.loops.flowpipe.forms import ends
from moet.verify.loops.flowpipe.turning import Turning
from moet.verify.systems import SampledSystem
from moet.verify.systems.equations import PLAIN_FLOATS

from .plants import law
from .test_flowpipe import random_plant, random_policy, true_run


def car(**changes):
    """A car that stands, up to the edge of the road, and is pushed back the harder the farther it is."""
    description = {
        "flow": {"x": "v", "v": "u"},
        "controls": {"u": (-5, 5)},
        "period": "0.1",
        "initial": {"x": (0, 1), "v": 0},
    }
    return SampledSystem("car", **(description | changes))


BACK = law([[-1.0, -2.0]], [-0.5], ["u"])


def test_runs_may_stand_on_a_limit_and_be_pushed_away_from_it():
    verdict = meets(BACK, car(), "x <= 1 until 2")
    assert isinstance(verdict, Proved)
    assert verdict.checked
    assert isinstance(meets(BACK, car(), "x <= 0.999 until 2"), Refuted)


@pytest.mark.parametrize(
    "changes",
    [
        {"initial": {"x": (0, 1), "v": ("-0.5", 0)}},  # level at most
        {"flow": {"x": "v * cos(x)", "v": "u"}},  # 0 times what is not known exactly
        {"flow": {"x": "v / exp(x) + sin(v)", "v": "u + w"}, "disturbance": {"w": "0.1"}},  # a push of the rate's rate
        {"flow": {"x": "m * v", "v": "u - g"}, "parameters": {"m": (1, 2)}, "schedule": {"g": ["0.1", ("-0.1", 0)]}},
        {"initial": [{"x": (0, 1), "v": 0}, {"x": ("0.5", 1), "v": -1}]},
    ],
)
def test_what_is_level_at_first_and_bends_away_is_proved(changes):
    verdict = meets(BACK, car(**changes), "x <= 1 until 1")
    assert isinstance(verdict, Proved)
    assert verdict.checked


@pytest.mark.parametrize(
    "changes",
    [
        {"initial": {"x": (0, 1), "v": (0, "1/1000000000000000000000000")}},  # not level, by next to nothing
        {"flow": {"x": "v + w", "v": "u"}, "disturbance": {"w": ("-0.1", 0)}, "initial": {"x": (0, 1), "v": 0}},
        {"flow": {"x": "v + g", "v": "u"}, "schedule": {"g": ["1/1000000000000", 0]}},
        {"flow": {"x": "abs(v)", "v": "u"}},
        {"flow": {"x": "v + min(v, -2 * v)", "v": "u"}},
        {"flow": {"x": "v", "v": "u + 3 * (1 - x) + 1.6"}},
        {"initial": [{"x": (0, 1), "v": 0}, {"x": 1, "v": "0.1"}]},
    ],
)
def test_what_is_not_level_at_first_or_may_bend_up_is_not_proved(changes):
    assert not meets(BACK, car(**changes), "x <= 1 until 1", cpu_limit=5)


def test_no_certificate_passes_a_car_that_is_pushed_over_the_edge():
    """Whatever is written in place of the records of a true proof: nothing in them speaks of first derivatives."""
    good = meets(BACK, car(), "x <= 1 until 1").certificate
    ahead = law([[-1.0, -2.0]], [1.001], ["u"])
    blocks = next(good._read_blocks())
    refuted = meets(ahead, car(), "x <= 1 until 1")
    assert isinstance(refuted, Refuted)
    forged = Certificate("flowpipe", good.claim | {"model": digest(ahead)})
    forged.add(bytes(blocks[0]), np.array(blocks[1], np.int32), np.array(blocks[2], np.float64))
    with pytest.raises(CertificateError):
        check(forged, ahead, car())


def bend(plant, values, k, w):
    """Second derivative of a state while nothing pushes, by differences along the flow."""

    def rates(at):
        return np.array(plant.equations(at | {"w": w}, PLAIN_FLOATS))

    states, tiny = list(plant.states), 1e-6
    rate = rates(values)
    moved = [
        values | {name: values[name] + sign * tiny * r for name, r in zip(states, rate, strict=True)}
        for sign in (1, -1)
    ]
    return (rates(moved[0])[k] - rates(moved[1])[k]) / (2 * tiny)


@pytest.mark.parametrize("seed", range(40))
def test_second_derivatives_of_random_plants_are_enclosed_by_both(seed):
    random = np.random.default_rng(seed)
    plant = random_plant(random)
    sides = {**dict(zip(plant.states, plant.initial, strict=True)), **plant.parameters, **plant.controls}
    low, high = (np.array(side, float) for side in zip(*sides.values(), strict=True))
    read = read_system(plant)
    slopes, _ = slopes_on(
        program_of(read), [whole(Fraction(a)) for a in low], [whole(Fraction(b)) + 1 for b in high], Meter()
    )
    exact = second_derivatives(program_of(read), slopes, len(plant.states), Meter())
    follower = Follower(random_policy(random, len(plant.states)), plant, [], Deadline(None, None))
    found = Turning(plant).second(follower.motion.linearise(low, high))
    for k, name in enumerate(plant.states):
        assert (exact[k] is None) == (found[k] is None)
        kinks = any(word in plant.flow[k].text for word in ("abs", "min", "max"))
        assert (exact[k] is None) == ("w" in plant.flow[k].names or kinks), name
        if exact[k] is None:
            continue
        least, most = (end / ONE for end in Forms(slopes.radii).ends(exact[k]))
        np.testing.assert_allclose(ends(found[k]), (least, most), rtol=1e-9, atol=1e-9)
        for _ in range(20):
            values = dict(zip(sides, random.uniform(low, high), strict=True))
            assert least - 1e-6 <= bend(plant, values, k, random.uniform(-0.05, 0.05)) <= most + 1e-6


def standing_plant(random):
    """A body that stands at first, where its place may be the limit; pushed, braked, and turned in many ways."""
    rates = ["v", "v * cos(y)", "sin(v) / (2 + x)", "v + v**2 * y", "tan(v) * exp(-x)", "m * v", "2 * v + y * v"]
    a, b, c = (round(float(value), 2) for value in random.uniform(-1.5, 1.5, 3))
    pushes = [f"{a} * x + {b} * y", f"{a} * sin(y) + {b} * cos(x)", f"{a} * x * y", f"{a} / (2 + x) + {b} * v"]
    return SampledSystem(
        "standing",
        flow={
            "x": str(random.choice(rates)),
            "v": f"u + {random.choice(pushes)}",
            "y": f"{c} * (m * v + w) - y",
        },
        controls={"u": (-3, 3)},
        period=str(random.choice(["0.05", "0.2"])),
        parameters={"m": (0.8, 1.1)},
        disturbance={"w": 0.3},
        initial={"x": (0, 1), "v": (random.choice([0, 0, -0.2]), 0), "y": (-0.5, 0.5)},
    )


@pytest.mark.parametrize("seed", range(30))
def test_no_run_from_a_limit_that_is_proved_goes_beyond_it(seed):
    random = np.random.default_rng(seed)
    plant = standing_plant(random)
    policy = law([random.uniform(-2, 1, 3).round(2).tolist()], [round(random.uniform(-1.5, 1), 2)], ["u"])
    verdict = meets(policy, plant, "x <= 1 until 0.4", cpu_limit=3)
    if isinstance(verdict, Proved):
        assert max(farthest(plant, policy, random) for _ in range(12)) <= 1 + 1e-9


def farthest(plant, policy, random):
    """How far a true run that begins on the limit goes."""
    plant.initial = ((1, 1), *plant.initial[1:])
    return true_run(plant, policy, random, steps=int(Fraction("0.4") / plant.period))[1][:, 0].max()
