"""Functions of time and of a box, and periods that are followed along polynomials in time."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moet import RegressionMixture
from moet.errors import CertificateError
from moet.verify import Proved, Unknown, check, meets
from moet.verify.checker.certificate import Certificate
from moet.verify.checker.loops.flowpipe.curves import Curve, Curves
from moet.verify.checker.loops.flowpipe.picard import curved
from moet.verify.checker.loops.flowpipe.program import Program
from moet.verify.checker.loops.flowpipe.sets import Zonotope, diagonal
from moet.verify.checker.loops.intervals import ONE, Undefined
from moet.verify.checker.meter import Meter
from moet.verify.limits import Deadline
from moet.verify.loops.flowpipe import curves as floats
from moet.verify.loops.flowpipe import motion
from moet.verify.loops.flowpipe.forms import Unbounded
from moet.verify.loops.flowpipe.integrate import Points
from moet.verify.loops.flowpipe.pace import ALONG_CURVES
from moet.verify.loops.flowpipe.search import FlowpipeSearch
from moet.verify.loops.flowpipe.tubes import proven_tubes
from moet.verify.spec import Spec
from moet.verify.systems import SampledSystem

from .plants import affine_tank, law
from .test_flowpipe import is_inside, random_plant, random_policy, true_run
from .test_together import made, records

FUNCTIONS = {
    "sine": ("sin", math.sin),
    "cosine": ("cos", math.cos),
    "tangent": ("tan", math.tan),
    "exponential": ("exp", math.exp),
    "root": ("sqrt", math.sqrt),
    "magnitude": ("abs", abs),
    "least": ("min", min),
    "most": ("max", max),
    "multiply": ("times", lambda a, b: a * b),
    "divide": ("over", lambda a, b: a / b),
}
DEGREE = 4

numbers = st.floats(-2, 2)
small = st.floats(-0.4, 0.4)


def whole(value: float) -> int:
    return int(Fraction(value) * ONE)


@pytest.mark.parametrize("name", FUNCTIONS)
@given(
    first=st.tuples(numbers, numbers),
    later=st.lists(small, min_size=18, max_size=18),
    radii=st.tuples(st.floats(1e-6, 0.3), st.floats(1e-6, 0.3)),
    radius=st.floats(0, 0.05),
    at=st.tuples(*[st.sampled_from([-1.0, 1.0, 0.3]) for _ in range(4)]),
    time=st.sampled_from([0.0, 0.4, 1.0]),
)
def test_the_checkers_curve_holds_the_function_and_is_the_searchs(name, first, later, radii, radius, at, time):
    called, function = FUNCTIONS[name]
    count = 2 if name in ("least", "most", "multiply", "divide") else 1
    terms = np.zeros((2, DEGREE + 1, 3))
    terms[:, :3] = np.array(later).reshape(2, 3, 3)
    terms[:, 0, 0] = first
    arithmetic = Curves([whole(r) for r in radii], DEGREE)
    operands = [
        Curve(
            [whole(a) for a in terms[i, :, 0]],
            {j: [whole(a) for a in terms[i, :, 1 + j]] for j in range(2)},
            whole(radius),
        )
        for i in range(count)
    ]
    try:
        curve = getattr(arithmetic, name)(*operands)
    except Undefined:
        return
    delta = np.array([1.0, at[0] * radii[0], at[1] * radii[1]])
    powers = time ** np.arange(DEGREE + 1)
    values = [float(powers @ terms[i] @ delta) + at[2 + i] * radius for i in range(count)]

    def at_time(polynomial):
        return sum(a / ONE * time**k for k, a in enumerate(polynomial))

    found = at_time(curve.center) + sum(at_time(s) * delta[1 + k] for k, s in curve.slopes.items())
    true = function(*values)
    assert abs(true - found) <= curve.radius / ONE + 1e-9 * (1 + abs(true))
    algebra = floats.FUNCTIONS | {"times": lambda x, y: x * y, "over": lambda x, y: x / y}
    try:
        guess = algebra[called](*[floats.Curve(terms[i], radius, np.array(radii)) for i in range(count)])
    except Unbounded:
        return
    if curve.radius < 10 * ONE:
        assert guess.radius == pytest.approx(curve.radius / ONE, rel=0.02, abs=1e-9)


def test_a_constant_and_what_is_known_of_a_signal_are_curves():
    program = Program(["x"], {"w": (Fraction(-1), Fraction(1))}, [], ["x + 2 * w"])
    arithmetic = Curves([ONE], 3)
    (value,) = (program.computed(arithmetic, [Curve([0, ONE], {0: [ONE]}, 0)])[k] for k in program.wanted)
    assert (value.center, value.slopes) == ([0, ONE], {0: [ONE]})
    assert 2 * ONE <= value.radius <= 2 * ONE + 100


@pytest.mark.parametrize(("degree", "most"), [(4, 1e-5), (8, 1e-11), (14, 1e-20)])
def test_a_rotation_is_enclosed_the_closer_the_more_powers_of_time_there_are(degree, most):
    program = Program(["x", "v"], {}, [], ["v", "-x"])
    points = Zonotope([ONE, 0], diagonal([ONE // 10, ONE // 10], 2))
    ahead = curved(program, points, [0, 0], Fraction(1, 5), degree, Meter())
    cosine, sine = math.cos(0.2), math.sin(0.2)
    matrix = np.array(ahead.points.columns, float).T / ONE * 10
    np.testing.assert_allclose(matrix, [[cosine, sine], [-sine, cosine]], atol=max(most, 1e-15))
    for found, box, true in zip(ahead.points.middle, ahead.box, (cosine, -sine), strict=True):
        assert abs(found / ONE - true) <= box / ONE + 1e-16
        assert box / ONE <= most
    way = [1 - 0.2 * s * math.tan(0.1) for s in np.linspace(0, 1, 11)]  # the chord of the cosine, near enough
    assert max(abs(math.cos(0.2 * s) - chord) for s, chord in zip(np.linspace(0, 1, 11), way, strict=True)) <= (
        ahead.bend[0] / ONE + 1e-3
    )


def test_a_flow_that_has_no_bound_is_refused():
    grows = Program(["x"], {}, [], ["x**2"])
    with pytest.raises(CertificateError, match="cannot be bounded"):
        curved(grows, Zonotope([ONE], diagonal([ONE // 2], 1)), [0], Fraction(2), 6, Meter())
    divides = Program(["x"], {}, [], ["1 / x"])
    with pytest.raises(CertificateError, match="divide by zero"):
        curved(divides, Zonotope([0], diagonal([ONE], 1)), [0], Fraction(1, 10), 6, Meter())


def along_curves(policy, plant, text, monkeypatch):
    """A proof in which every period is followed along polynomials in time."""
    monkeypatch.setattr(motion.Motion, "_bends", lambda *_: True)
    search = FlowpipeSearch(policy, plant, Spec.read(text, plant.states).requirements, Deadline(None, 20))
    search.parts.pace = ALONG_CURVES
    return search.decide()


@pytest.mark.parametrize("seed", range(8))
def test_every_run_of_a_random_plant_is_in_tubes_along_polynomials(seed, monkeypatch):
    random = np.random.default_rng(seed)
    plant = random_plant(random)
    policy = random_policy(random, len(plant.states))
    verdict = along_curves(policy, plant, "x0 <= 50 until 0.4", monkeypatch)
    if isinstance(verdict, Unknown):  # some of them are explosive
        return
    tubes = proven_tubes(verdict.certificate, policy, plant)
    for _ in range(8):
        assert is_inside(tubes, *true_run(plant, policy, random, int(np.ceil(0.4 / float(plant.period)))))


def acrobot() -> SampledSystem:
    """A double pendulum that is let go: it moves on by a thousand times its first states."""
    return SampledSystem(
        "acrobot",
        let={
            "c": "cos(b)",
            "weight": "4.9 * sin(a + b)",
            "load": "14.7 * sin(a) + weight - (0.5 * q**2 + q * p) * sin(b)",
            "share": "(1.25 + 0.5 * c) / (3.5 + c)",
            "turn": "(push + share * load - 0.5 * p**2 * sin(b) - weight) / (1.25 - share * (1.25 + 0.5 * c))",
        },
        flow={"a": "p", "b": "q", "p": "-load / (3.5 + c) - share * turn", "q": "turn"},
        controls={"push": (-1, 1)},
        period="0.2",
        initial={"a": ("1", "1.001"), "b": ("0", "0.001"), "p": 0, "q": 0},
    )


def steady() -> RegressionMixture:
    return law([[0.0] * 4], [0.5], ["push"])


TEXT = "-9 <= a <= 9 until 3.2; 1.57 <= b <= 1.6 at 3.2"


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    verdict = meets(steady(), acrobot(), TEXT, cpu_limit=60)
    assert isinstance(verdict, Proved)
    return verdict.certificate


def test_small_sets_that_move_far_are_proved_along_polynomials_and_not_along_lines(certificate):
    codes, refs, values = records(certificate)
    assert codes == [64, *[4] * (len(codes) - 2), 66]
    assert refs == [8, 8] * (len(codes) - 2)
    straight = [0 if code == 4 else code for code in codes]
    with pytest.raises(CertificateError):
        check(made(certificate, straight, refs[::2], values), steady(), acrobot())
    times, states, _ = acrobot().simulate(steady(), [[1, 0, 0, 0], [1.001, 0.001, 0, 0]], len(codes) - 2)
    tubes = proven_tubes(certificate, steady(), acrobot())
    assert all(is_inside(tubes, times, run) for run in states)
    assert (tubes[0].high - tubes[0].low)[-1].max() < 0.05


@pytest.mark.parametrize("degree", [-1, 0, 1, 21, 10**6])
def test_polynomials_of_a_degree_that_there_is_not_are_refused(certificate, degree):
    codes, refs, values = records(certificate)
    with pytest.raises(CertificateError, match="polynomials of degree"):
        check(made(certificate, codes, [refs[0], degree, *refs[2:]], values), steady(), acrobot())


@pytest.mark.parametrize(("parts", "degree"), [(8, 8), (1, 20), (2, 2), (12, 14)])
def test_no_number_of_parts_and_no_degree_proves_what_is_false(certificate, parts, degree):
    codes, _, values = records(certificate)
    forged = made(certificate, codes, [parts, degree] * (len(codes) - 2), values)
    forged.claim["spec"] = [part.document() for part in Spec.read("a >= 0.9 until 4", acrobot().states).requirements]
    with pytest.raises(CertificateError):
        check(forged, steady(), acrobot())


def test_time_that_is_discrete_has_no_polynomials():
    plant = affine_tank()
    policy = law([[0.0] * len(plant.states)], [0.5], list(plant.controls))
    verdict = meets(policy, plant, f"{plant.states[0]} <= 1000 until 2")
    codes, refs, values = records(verdict.certificate)
    place = codes.index(0)
    with pytest.raises(CertificateError, match="time is discrete"):
        check(
            made(verdict.certificate, [*codes[:place], 4, *codes[place + 1 :]], [refs[0], 8, *refs[1:]], values),
            policy,
            plant,
        )


def test_deep_equations_are_followed_or_told_of():
    """A thousand names, each of which uses the one before it."""
    names = {"y0": "x", **{f"y{k}": f"y{k - 1} * 0.999" for k in range(1, 1000)}}
    plant = SampledSystem(
        "deep", let=names, flow={"x": "-y999 + u"}, controls={"u": (-1, 1)}, period=1, initial={"x": (0, 1)}
    )
    moved = motion.Motion(plant)
    points = Points(np.array([0.5, 0.0]), np.diag([0.5, 0.0]), np.zeros(1))
    with pytest.raises(Unbounded, match="too deep"):
        moved.flowed(points, 1, 0, True, lambda *_: None)
    program = Program(["x", "u"], {}, list(names.items()), ["-y999 + u"])
    ahead = curved(program, Zonotope([ONE // 2, 0], diagonal([ONE // 2, 0], 2)), [0], Fraction(1, 10), 6, Meter())
    assert ahead.box[0] < ONE // 1000
