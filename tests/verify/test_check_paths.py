"""The checker of closed loops must reject whatever is not a proof."""

import copy
import gc
import json
import sys
import weakref
from array import array

import numpy as np
import pytest
from verify_loop_honesty import random_loop

from moet import Mixture, Tree
from moet.errors import CertificateError
from moet.model.file import digest
from moet.verify import Certificate, Proved, check, reaches, safe, systems
from moet.verify.checker.documents.model import plain_model
from moet.verify.checker.documents.system import read_system
from moet.verify.checker.loops.paths import proof as paths
from moet.verify.checker.loops.paths.steps import Steps
from moet.verify.checker.meter import Meter
from moet.verify.systems.observation import seen_edges
from tests.processes import run

from .loops import drifter

RULE = np.array([2.1846, 7.2247, 20.647, 25.340])


def policy() -> Mixture:
    """Three experts; one of them has a tree whose sides disagree."""
    tree = Tree([2, -1, -1], [0.01, 0, 0], [1, -1, -1], [2, -1, -1], [[1, 0], [1, 0], [0, 1]])
    weights = [0 * RULE, RULE, 0.5 * RULE + [0, 0, 3, 0]]
    return Mixture(weights, [0.0, 1.0, -0.6], [Tree.leaf([1, 0]), Tree.leaf([0, 1]), tree], classes=["left", "right"])


@pytest.fixture(scope="module")
def proof():
    verdict = safe(policy(), systems.cartpole_published(), steps=10)
    assert isinstance(verdict, Proved)
    return verdict.certificate


def unpacked(certificate: Certificate):
    """Codes, references and numbers of a certificate."""
    codes, refs, numbers = bytearray(), array("i"), array("d")
    for block in certificate._read_blocks():
        codes += block[0]
        refs += block[1]
        numbers += block[2]
    return codes, refs, numbers


def packed(certificate: Certificate, codes, refs, numbers, **claim) -> Certificate:
    forged = Certificate(certificate.kind, certificate.claim | claim)
    forged.add(bytes(codes), refs, numbers)
    return forged


def rejected(certificate, model=None, system=None) -> bool:
    try:
        check(certificate, model or policy(), system or systems.cartpole_published())
    except CertificateError:
        return True
    return False


def test_the_proof_itself_is_accepted(proof):
    assert check(packed(proof, *unpacked(proof)), policy(), systems.cartpole_published())


def test_every_changed_multiplier_that_matters_is_noticed(proof):
    """A proof may survive a slightly other multiplier, but not a missing one: the search uses no more than it needs."""
    codes, refs, numbers = unpacked(proof)
    places = range(0, len(numbers), 7)
    kept = 0
    for i in places:
        changed = array("d", numbers)
        changed[i] = 0.0
        kept += not rejected(packed(proof, codes, refs, changed))
    assert kept == 0
    for i in places:
        changed = array("d", numbers)
        changed[i] = -numbers[i]
        assert rejected(packed(proof, codes, refs, changed))


def test_every_changed_reference_or_code_is_noticed(proof):
    """A neighbouring row may prove a bound as well, now and then; a row that does not exist never does."""
    codes, refs, numbers = unpacked(proof)
    kept = 0
    for i in range(0, len(refs), 11):
        for step in (1, 1000000, -1000000):
            changed = array("i", refs)
            changed[i] += step
            noticed = rejected(packed(proof, codes, changed, numbers))
            assert noticed or step == 1, i
            kept += not noticed
    assert kept <= 1
    for i in range(0, len(codes), 17):
        for kind in range(8):
            if kind != codes[i] % 8:
                changed_codes = bytearray(codes)
                changed_codes[i] = codes[i] - codes[i] % 8 + kind
                assert rejected(packed(proof, changed_codes, refs, numbers)), (i, kind)


def test_a_shorter_or_longer_proof_is_noticed(proof):
    codes, refs, numbers = unpacked(proof)
    assert rejected(packed(proof, codes[:-1], refs, numbers))
    assert rejected(packed(proof, codes + bytes([0]), refs, numbers))
    assert rejected(packed(proof, codes, refs, numbers, steps=11))
    assert rejected(packed(proof, codes, refs, numbers, steps=9))
    assert rejected(packed(proof, codes, refs, numbers, steps=True))
    assert rejected(packed(proof, b"", array("i"), array("d"), steps=-1))


def test_the_claim_names_model_and_system(proof):
    other = Mixture(policy().gate_weights, policy().gate_bias + 1e-9, policy().trees, classes=["left", "right"])
    assert rejected(proof, model=other)
    assert rejected(proof, system=systems.cartpole_published(angle="0.100001"))


def numbers_in(document, path=()):
    """Places of all numbers in a document of a system or model."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from numbers_in(value, (*path, key))
    elif isinstance(document, list):
        for i, value in enumerate(document):
            yield from numbers_in(value, (*path, i))
    elif isinstance(document, str) and path[-1] not in ("name", "format", "kind"):
        try:
            float(eval(document))
        except (NameError, SyntaxError):
            return
        yield path
    elif isinstance(document, float):
        yield path


def replaced(document, path, value):
    changed = copy.deepcopy(document)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


def test_a_forged_digest_does_not_help(proof):
    """Whoever changes the system or the model and the digest in the claim has no proof about the changed one."""
    codes, refs, numbers = unpacked(proof)
    system = systems.cartpole_published().document()
    changes = {
        ("initial", 0, 1): "1/2",
        ("initial", 3, 0): "-1/2",
        ("safe", 0, "bound"): "1/20",
        ("disturbance", 3, 1): "1/10",
        ("observation_error", 1): "1/100",
        ("dynamics", "matrix", 3, 2): "9/10",
        ("dynamics", "offsets", 0, 3): "-1/10",
        ("domain", 0): ["-1/20", "1/20"],
    }
    for path, value in changes.items():
        other = replaced(system, path, value)
        forged = packed(proof, codes, refs, numbers, system=read_system(other).digest)
        assert rejected(forged, system=other), path
    for change in (5.0, -5.0):  # push one way always
        bias = policy().gate_bias + np.array([0.0, change, 0.0])
        other = Mixture(policy().gate_weights, bias, policy().trees, ["left", "right"])
        forged = packed(proof, codes, refs, numbers, model=digest(other))
        assert rejected(forged, model=other), change


def test_every_number_of_the_system_is_part_of_its_name(proof):
    system = systems.cartpole_published().document()
    places = list(numbers_in(system))
    assert len(places) > 40
    for path in places:
        assert rejected(proof, system=replaced(system, path, "7/3")), path


def test_malformed_systems_and_models_are_rejected_not_crashed_on(proof):
    system = systems.cartpole_published().document()
    for path, value in {("dynamics",): {}, ("initial", 0): ["1", "0"], ("states",): [], ("safe",): [{}]}.items():
        assert rejected(proof, system=replaced(system, path, value)), path
    with pytest.raises(CertificateError):
        plain_model({"gate": {}})
    with pytest.raises(CertificateError):
        read_system({"format": "something else"})
    with pytest.raises(CertificateError):
        check(proof, policy())
    with pytest.raises(CertificateError):
        check(3, policy(), system)


def test_soft_models_are_not_covered(proof):
    soft = Mixture(policy().gate_weights, policy().gate_bias, policy().trees, ["left", "right"], prediction="soft")
    assert rejected(packed(proof, *unpacked(proof), model=digest(soft)), model=soft)


@pytest.mark.parametrize("seed", range(6))
def test_proofs_about_goals_break_too(seed):
    rng = np.random.default_rng(seed)
    verdict = None
    while not isinstance(verdict, Proved) or verdict.certificate.n_bytes < 60:
        loop = random_loop(rng)
        verdict = reaches(loop.mixture, loop.system, within=loop.steps)
    certificate = verdict.certificate
    codes, refs, numbers = unpacked(certificate)
    assert rejected(packed(certificate, codes, refs, numbers, goal=[]), loop.mixture, loop.system)
    harder = [{"coefficients": ["1"] * loop.system.n_states, "bound": "-1000"}]
    assert rejected(packed(certificate, codes, refs, numbers, goal=harder), loop.mixture, loop.system)
    for i in range(len(numbers)):
        changed = array("d", numbers)
        changed[i] = -1.0
        assert rejected(packed(certificate, codes, refs, changed), loop.mixture, loop.system)


def test_plain_models_have_the_digest_of_their_file(tmp_path):
    assert plain_model(policy()).digest == digest(policy())
    assert plain_model(policy()).trees[2].label == [-1, 0, 1]


@pytest.mark.processes
def test_the_checker_loads_the_standard_library_only(proof, tmp_path):
    """Model, system and certificate from files: neither NumPy nor the search is imported."""
    from moet import save

    save(policy(), tmp_path / "m.moet.json")
    proof.save(tmp_path / "p.cert")
    (tmp_path / "s.json").write_text(json.dumps(systems.cartpole_published().document()))
    script = (
        "import sys; from moet.verify.checking import check; print(check(*sys.argv[1:]), "
        "sorted({m.split('.')[0] for m in sys.modules} & {'numpy', 'numba', 'scipy', 'sklearn'}), "
        "'moet.verify.loops.paths.search' in sys.modules)"
    )
    files = [str(tmp_path / name) for name in ("p.cert", "m.moet.json", "s.json")]
    assert run([sys.executable, "-c", script, *files], check=True).stdout.split() == ["True", "[]", "False"]


def walker(steps_allowed: int) -> systems.AffineSystem:
    """A walk on a line, one to the left or to the right in every step, from 0."""
    return systems.AffineSystem(
        "walk",
        states=["x"],
        actions=["left", "right"],
        matrix=[[1]],
        offsets=[[-1], [1]],
        initial={"x": (0, 0)},
        safe=[f"-{steps_allowed} <= x <= {steps_allowed}"],
    )


def undecided() -> Mixture:
    tree = Tree([0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [[1, 0], [1, 0], [0, 1]])
    return Mixture([[0.0]], [0.0], [tree], classes=["left", "right"], feature_names=["x"])


def by_hand(system: systems.AffineSystem, steps: int, records: list[tuple[int, list[int]]], number: float = 1.0):
    """A proof of safety with these records: kind, and references with a multiplier of 1."""
    claim = {"model": digest(undecided()), "system": system.digest, "name": system.name, "steps": steps}
    certificate = Certificate("safe", claim)
    refs = array("i", [ref for _, names in records for ref in names])
    certificate.add(bytes(kind + 8 * len(names) for kind, names in records), refs, array("d", [number] * len(refs)))
    return certificate


OPEN, BOTH, BOUND, SURE = 0, 2, 5, 7
ANY = (BOTH, [0, 1])


def test_what_no_action_can_break_needs_no_path():
    system = walker(5)
    proof = [ANY, (SURE, []), (SURE, [])]
    assert check(by_hand(system, 5, proof), undecided(), system)
    assert rejected(by_hand(system, 6, proof), undecided(), system)  # five steps after the first may lead to 6
    assert rejected(by_hand(system, 5, [ANY, (SURE, [])]), undecided(), system)
    assert rejected(by_hand(system, 5, [(SURE, [])]), undecided(), system)


def sure_of(named, bounds, number=1.0):
    """A proof for the rule "right up to 0.5, left above": what it says of those who went right first is given."""
    tree = Tree([0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [[1, 0], [0, 1], [1, 0]])
    model = Mixture([[0.0]], [0.0], [tree], classes=["left", "right"], feature_names=["x"])
    claim = {"model": digest(model), "system": drifter().digest, "name": "drift", "steps": 3}
    certificate = Certificate("safe", claim)
    up_to, above = 1, 2  # rows of the test at time 0: there is one expert
    records = [(OPEN, []), (SURE, [(name, number) for name in named])]
    records += [(BOUND, [(up_to + row, 1.0) for row in rows]) for rows in bounds]
    records += [(SURE, [(6, 1.0)]), (BOUND, [(above, 1.0)])]
    refs = array("i", [ref for _, pairs in records for ref, _ in pairs])
    numbers = array("d", [value for _, pairs in records for _, value in pairs])
    certificate.add(bytes(kind + 8 * len(pairs) for kind, pairs in records), refs, numbers)
    try:
        return check(certificate, model, drifter())
    except CertificateError as error:
        return str(error)


def test_what_no_later_action_can_break_may_rest_on_decisions_so_far():
    """States up to 0.5 go right, to 1.5 at most, and two more steps lead to 3.5; without the test it would be 4."""
    right_side_at_the_end = 3 * 2 + 1  # time 3, the second of two needs
    assert sure_of([right_side_at_the_end], [[0]]) is True
    assert "may fail at time 3" in sure_of([], [])
    assert "do not prove condition 1 at time 3" in sure_of([right_side_at_the_end], [[]])
    assert "where a condition is due" in sure_of([right_side_at_the_end], [])
    assert sure_of([right_side_at_the_end] * 2, [[0], [0]]) is True
    assert "where a condition is due" in sure_of([right_side_at_the_end] * 2, [[0]])
    assert "no test" in sure_of([right_side_at_the_end], [[1]])
    assert "does not exist yet" in sure_of([right_side_at_the_end], [[3]])  # the test of a later step


@pytest.mark.parametrize("name", [0, 1, 8, -1, 2**31 - 1, -(2**31)])
def test_only_needs_of_later_times_can_be_named(name):
    assert "none of those after time" in sure_of([7, name], [[0], [0]])


@pytest.mark.parametrize("number", [0.0, 0.5, 2.0])
def test_names_of_needs_have_the_multiplier_1(number):
    assert "none of those after time" in sure_of([7], [[0]], number)


@pytest.mark.parametrize("actions", [[], [0], [1], [0, 0], [0, 2], [-1, 1], [0, 1, 1]])
def test_any_action_means_all_of_them(actions):
    system = walker(5)
    sure = [(SURE, [])] * max(1, len(actions))
    assert rejected(by_hand(system, 5, [(BOTH, actions), *sure]), undecided(), system)
    assert rejected(by_hand(system, 5, [ANY, (SURE, []), (SURE, [])], number=0.5), undecided(), system)


def test_all_needs_hold_at_once_or_are_proved_one_by_one():
    system = walker(1)
    one_step = [ANY, (OPEN, []), (OPEN, [])]
    assert check(by_hand(system, 1, one_step), undecided(), system)
    assert rejected(by_hand(system, 1, [ANY, (OPEN, []), (OPEN, []), (OPEN, [])]), undecided(), system)
    assert rejected(by_hand(walker(0), 1, one_step), undecided(), walker(0))


def test_nothing_of_a_check_stays_in_memory(monkeypatch):
    seen = []
    made = paths.ClosedLoop.__init__

    def init(self, *arguments, **options):
        seen.append(weakref.ref(self))
        made(self, *arguments, **options)

    monkeypatch.setattr(paths.ClosedLoop, "__init__", init)
    assert check(by_hand(walker(1), 1, [ANY, (OPEN, []), (OPEN, [])]), undecided(), walker(1))
    gc.collect()
    assert seen
    assert not any(loop() for loop in seen)


@pytest.mark.parametrize("seed", range(30))
def test_short_multipliers_prove_what_long_ones_do(seed):
    """Proofs of random loops are accepted, and hardly any multiplier has more than a few digits."""
    loop = random_loop(np.random.default_rng(seed))
    verdict = safe(loop.mixture, loop.system, loop.steps)
    assert "does not accept" not in str(getattr(verdict, "reason", ""))
    if isinstance(verdict, Proved) and verdict.certificate.kind == "safe":
        numbers = np.array(unpacked(verdict.certificate)[2])
        mantissas = np.frexp(numbers)[0] * 2.0**17
        assert len(numbers) == 0 or np.mean(mantissas == np.rint(mantissas)) > 0.9


def narrow(share: int) -> tuple[Mixture, systems.AffineSystem]:
    """A loop whose need holds by exactly one over ``share`` of a row: w is so often x, and z what x was."""
    names, edge = ["x", "w", "y", "z"], seen_edges(1.0, False)[1]
    system = systems.AffineSystem(
        "narrow",
        states=names,
        actions=["stay", "fall"],
        matrix=[["1", "0", "0", "0"], [str(share), "0", "0", "0"], ["1", "0", "0", "0"], ["0", "0", "1", "0"]],
        offsets=[["0"] * 4, ["0", "0", "0", "-5"]],
        initial={"x": (0, 1), "w": (0, 0), "y": (0, 0), "z": (0, 0)},
        safe=[f"z <= {edge / share}"],
    )
    tree = Tree([1, -1, -1], [1.0, 0, 0], [1, -1, -1], [2, -1, -1], [[1, 0], [1, 0], [0, 1]])
    return Mixture([[0.0] * 4], [0.0], [tree], ["stay", "fall"], feature_names=names), system


@pytest.mark.parametrize("share", [2, 3, 5, 7, 10, 49])
def test_a_need_that_just_holds_by_a_part_of_a_row_is_proved(share):
    subjects = narrow(share)
    assert safe(*subjects, steps=2).checked


@pytest.mark.parametrize("weight", [0.0, 0.5, 2.0, 4.0])
def test_a_condition_is_taken_as_often_as_its_rows_and_more_than_never(weight):
    subjects = narrow(3)
    proof = safe(*subjects, steps=2).certificate
    codes, refs, numbers = unpacked(proof)
    place = refs.index(-1)
    assert numbers[place] == 3.0
    numbers[place] = weight
    assert rejected(packed(proof, codes, refs, numbers), *subjects)
    refs[place] = -2
    numbers[place] = 3.0
    assert rejected(packed(proof, codes, refs, numbers), *subjects)


@pytest.mark.parametrize("seed", range(20))
def test_lanes_say_of_all_needs_what_sums_of_each_do(seed):
    """Numbers beside each other do not run into one another, whatever their signs and sizes."""
    rng = np.random.default_rng(seed)
    loop = random_loop(rng)
    system, steps = read_system(loop.system), int(rng.integers(1, 9))
    path = Steps(system, steps, None, Meter(), finest=None if seed % 2 else 1)
    t = int(rng.integers(1, steps + 1))
    actions = rng.integers(len(path.offsets), size=t).tolist()
    needs = range(path.d, path.d + len(path.needs))

    def added(then, i):
        return sum(path.gain(i, then - 1 - k)[action] for k, action in enumerate(actions))

    assert path.lanes.hold(t, actions) == all(added(t, i) <= path.outright(t, i) for i in needs)
    left = path.lanes.left(t, actions)
    expected = [
        path.outright(then, i) - path.worst(i)[then - t] - added(then, i) for then in range(t, steps + 1) for i in needs
    ]
    assert [path.lanes.left_to(place, left) for place in range(len(expected))] == expected
    first = t * len(needs)
    assert path.lanes.failing(t, left) == {first + place for place, value in enumerate(expected) if value < 0}
