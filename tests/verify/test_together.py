"""Sets that a policy cuts again and again are led together, and those near one another go on as one."""

from array import array

import numpy as np
import pytest

from moet import Mixture
from moet.errors import CertificateError
from moet.model.tree import Tree
from moet.verify import Certificate, Proved, check, meets
from moet.verify.limits import Deadline
from moet.verify.loops.flowpipe.pace import Pace
from moet.verify.loops.flowpipe.search import KIND, FlowpipeSearch
from moet.verify.loops.flowpipe.together import follow_together
from moet.verify.loops.flowpipe.tubes import proven_tubes
from moet.verify.spec import Spec

from .test_labels import cart, random_labels, switch
from .test_parting import _random_question


def led_together(policy, plant, text, most):
    """A certificate in which at most so many sets are led at the same time."""
    search = FlowpipeSearch(policy, plant, Spec.read(text, plant.states).requirements, Deadline(None, None))
    search.follower.cuts = True
    script = follow_together(search.follower, [search.parts.first_set(box) for box in plant.first.boxes], Pace(), most)
    certificate = Certificate(KIND, search.claim())
    script.into(certificate)
    return certificate


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("most", [3, 8])
def test_runs_of_random_policies_are_in_the_tubes_of_sets_that_were_put_together(seed, most):
    random = np.random.default_rng(seed)
    policy, plant = random_labels(random)
    certificate = led_together(policy, plant, "-100 <= a <= 100 until 1", most)
    assert check(certificate, policy, plant)
    tubes = proven_tubes(certificate, policy, plant)
    low, high = np.array(plant.initial, float).T
    times, states, _ = plant.simulate(policy, random.uniform(low, high, (60, 2)), 5, points=4)
    for time, there in zip(times, states.swapaxes(0, 1), strict=True):
        boxes = [(tube.low[row], tube.high[row]) for tube in tubes for row in _rows(tube, time)]
        inside = [np.all((low - 1e-9 <= there) & (there <= high + 1e-9), axis=1) for low, high in boxes]
        assert np.any(inside, axis=0).all()


@pytest.mark.parametrize("seed", range(12))
def test_runs_of_random_laws_are_in_the_tubes_of_sets_that_were_put_together(seed):
    random = np.random.default_rng(seed)
    policy, plant = _random_question(random)
    certificate = led_together(policy, plant, "-100 <= x <= 100 until 6", 4)
    assert check(certificate, policy, plant)
    tubes = proven_tubes(certificate, policy, plant)
    states = random.uniform(-0.2, 0.2, (500, 2))
    for step in range(7):
        boxes = [(tube.low[row], tube.high[row]) for tube in tubes for row in _rows(tube, step)]
        inside = [np.all((low - 1e-9 <= states) & (states <= high + 1e-9), axis=1) for low, high in boxes]
        assert np.any(inside, axis=0).all()
        states = plant.successor(states, policy.predict(states))


def _rows(tube, time):
    return np.flatnonzero((tube.start <= time + 1e-9) & (time - 1e-9 <= tube.end))


def test_a_policy_that_goes_to_and_fro_is_proved_for_many_steps_though_no_set_is_led_into_itself():
    """Cuts double with every look, and the place grows without end."""
    plant = cart(
        flow={"place": "speed", "speed": "force + 0.1 * sin(speed)"},
        initial={"place": ("-0.5", "0.5"), "speed": ("-0.5", "0.5")},
        period="0.1",
        safe=[],
    )
    tree = Tree([1, -1, -1], [0.1, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [0, 1], [1, 0]])
    policy = Mixture(np.zeros((1, 2)), [0.0], [tree], ["left", "right"], feature_names=["place", "speed"])
    verdict = meets(policy, plant, "-3 <= place <= 3 until 3")
    assert isinstance(verdict, Proved)
    assert 71 in next(verdict.certificate._read_blocks())[0]


def test_what_is_reached_before_sets_are_put_together_counts_if_all_of_them_have():
    policy, plant = switch(), cart()
    assert check(
        led_together(policy, plant, "reach -1 <= place <= 1 within 1; -2 <= place <= 2 until 1", 1), policy, plant
    )


def records(certificate):
    codes, refs, numbers = next(certificate._read_blocks())
    return list(codes), list(refs), list(numbers)


def made(certificate, codes, refs, numbers):
    forged = Certificate(KIND, certificate.claim)
    forged.add(bytes(codes), array("i", refs), array("d", numbers))
    return forged


def two_steps():
    """Cut at the first look, put in one at the second: codes, references and numbers of a proof."""
    certificate = led_together(switch(), cart(), "place <= 3 until 0.5", 1)
    codes, refs, numbers = records(certificate)
    assert codes == [64, 67, 0, 70, 0, 70, 71, 67, 0, 66, 0, 66]
    return certificate, codes, refs, numbers


@pytest.mark.parametrize("place", [0, 2, 6])
def test_a_set_that_is_not_in_the_one_it_goes_on_in_is_refused(place):
    """The middle, the width, and the inverse of the box that all go on in, changed."""
    certificate, codes, refs, numbers = two_steps()
    assert check(certificate, switch(), cart())
    numbers[place] = numbers[place] + 1 if place != 2 else numbers[place] / 2
    with pytest.raises(CertificateError, match=r"is not in the one|inverse of a frame"):
        check(made(certificate, codes, refs, numbers), switch(), cart())


def test_sets_that_are_put_aside_must_go_on():
    certificate, codes, refs, numbers = two_steps()
    with pytest.raises(CertificateError, match="nothing is said of how they go on"):
        check(made(certificate, [*codes[:6], 66], refs, numbers), switch(), cart())
    with pytest.raises(CertificateError):
        check(made(certificate, codes[:6], refs[:9], []), switch(), cart())


@pytest.mark.parametrize("number", [-2, 1, 7])
def test_a_set_goes_on_alone_or_in_a_box_that_there_is(number):
    certificate, codes, refs, numbers = two_steps()
    place = _membership(refs)
    with pytest.raises(CertificateError, match="is not in the one"):
        check(made(certificate, codes, [*refs[:place], number, *refs[place + 1 :]], numbers), switch(), cart())


def test_a_box_that_nobody_is_in_is_refused():
    certificate, codes, refs, numbers = two_steps()
    place = _membership(refs)
    with pytest.raises(CertificateError, match="or none does"):
        check(made(certificate, codes, [*refs[:place], -1, -1, *refs[place + 2 :]], numbers), switch(), cart())


def _membership(refs):
    """Where it is said of the two sets which box they go on in: after two cases and steps, and the number of boxes."""
    cases = 1 + 2 * 3
    assert refs[cases : cases + 5] == [1, 1, 1, 0, 0]
    return cases + 3


def test_sets_of_different_times_do_not_go_on_in_one():
    certificate, codes, refs, _ = two_steps()
    place = _membership(refs)
    longer = [*codes[:5], 0, *codes[5:]]
    with pytest.raises(CertificateError):
        check(
            made(
                certificate, longer, [*refs[: place - 1], 1, *refs[place - 1 :]], [0, 0, 9, 0, 0, 9, 1 / 9, 0, 0, 1 / 9]
            ),
            switch(),
            cart(),
        )


def test_no_set_is_put_aside_in_a_proof_for_ever():
    verdict = meets(switch(), cart(), "-5 <= place <= 5 and -5 <= speed <= 5")
    assert isinstance(verdict, Proved)
    codes, refs, numbers = records(verdict.certificate)
    codes[codes.index(66)] = 70
    with pytest.raises(CertificateError, match="code 70"):
        check(made(verdict.certificate, codes, refs, numbers), switch(), cart())
