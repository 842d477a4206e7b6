"""Models and systems from strangers: the checker reads what the loaders read, means the same, and refuses the rest."""

import json
import sys

import numpy as np
import pytest

from moet import Mixture, Tree, load, save
from moet.errors import CertificateError, InputError, MoetError
from moet.model.file import digest
from moet.verify import Box, Certificate, Proved, always, check, safe, systems
from moet.verify.checker.documents.model import plain_model
from moet.verify.checker.documents.reading import exact, parse
from moet.verify.checker.documents.system import read_system
from moet.verify.checker.loops.sets.enclosures import EnclosureChecker
from moet.verify.checker.meter import Meter
from tests.processes import run
from tests.random_models import random_mixture

from .hostile import VALUES, accepts, forged, integrator, places, proof, replaced, up_to, value_at, without
from .loops import tank, thermostat
from .small import half_planes


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"a": {"b": 1, "b": 1}}',
        "NaN",
        "[Infinity]",
        "-Infinity",
        "1e400",
        "-1e400",
        "1e99999999",
        "1e-99999999",
        "9" * 4001,
        "0." + "9" * 10**6,
        "[" * 10**5,
        "[" * 50 + "]" * 50,
        '{"a":' * 50 + "1" + "}" * 50,
        "",
        "{",
        "{'a': 1}",
        "[1,]",
        "nul",
        b"\xff\xfe",
        b'"\xed\xa0\x80"',
    ],
)
def test_json_that_is_ambiguous_endless_or_none_is_refused(text):
    with pytest.raises(CertificateError):
        parse(text if isinstance(text, bytes) else text.encode())


@pytest.mark.parametrize(
    "value",
    [
        *("", " ", "1e99999999", "1e400", "-1e351", "9" * 4001, "1/" + "9" * 4001, "1/0", "1.5/2", 10**400),
        *("nan", "inf", "0x10", "1_000", "١", True, None, [], {}, float("nan"), float("inf")),
    ],
)
def test_numbers_are_bounded_before_they_are_made(value):
    with pytest.raises(CertificateError):
        exact(value, "here")


def the_same_for_both(load_it, check_it, text, path):
    """Whether a loader accepts a file; the checker must agree, and call what it read by the same name."""
    path.write_text(text)
    try:
        loaded = load_it(path)
    except MoetError:
        loaded = None
    try:
        read = check_it(path)
    except CertificateError:
        read = None
    assert (loaded is None) == (read is None), text
    if loaded is not None:
        own = digest(loaded) if isinstance(loaded, Mixture) else loaded.digest
        assert read.digest == own, text
    return loaded is not None


def model_document():
    return json.loads(saved(random_mixture(3, n_experts=2, depth=1, n_classes=2)))


def saved(mixture):
    from moet.model.file import encoded

    return encoded(mixture).decode()


def test_models_are_read_by_the_loaders_rules(tmp_path):
    document = model_document()
    path = tmp_path / "m.moet.json"
    assert the_same_for_both(load, plain_model, json.dumps(document), path)
    for place in places(document):
        if place:
            the_same_for_both(load, plain_model, json.dumps(without(document, place)), path)
        for value in VALUES:
            the_same_for_both(load, plain_model, json.dumps(replaced(document, place, value)), path)


@pytest.mark.parametrize(
    "arrays",
    [
        {"left": [1, 2, -1, -1], "right": [3, 3, -1, -1], "feature": [0, 0, -1, -1]},  # two parents of one node
        {"left": [1, -1], "right": [1, -1], "feature": [0, -1]},
        {"left": [1, -1, -1, -1], "right": [2, -1, -1, -1], "feature": [0, -1, -1, -1]},  # a node of nobody
        {"left": [0, -1, -1], "right": [2, -1, -1], "feature": [0, -1, -1]},
        {"left": [1, 0, -1], "right": [2, 2, -1], "feature": [0, 0, -1]},
        {"left": [-1], "right": [-1], "feature": [-2]},
        {"left": [], "right": [], "feature": []},
    ],
)
def test_a_tree_that_is_no_tree_is_refused(arrays, tmp_path):
    n_nodes = len(arrays["feature"])
    tree = arrays | {"threshold": [0.0] * n_nodes, "value": [[1.0, 0.0]] * n_nodes}
    document = replaced(model_document(), ("trees", 0), tree)
    assert not the_same_for_both(load, plain_model, json.dumps(document), tmp_path / "m.moet.json")


def test_written_otherwise_it_is_the_same_model(tmp_path):
    mixture = Mixture([[0.0, 1.0], [1.0, -0.0]], [0.0, 2.0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], classes=[0, 1])
    text = saved(mixture).replace("1.0", "1").replace("2.0", "2e0").replace(" ", "")
    assert the_same_for_both(load, plain_model, text, tmp_path / "m.moet.json")
    assert plain_model(tmp_path / "m.moet.json").digest == digest(mixture)


def checked_system(path):
    """Read a system, its equations included."""
    system = read_system(path)
    EnclosureChecker(system, Meter())
    return system


@pytest.mark.parametrize("system", [tank(), thermostat()], ids=["equations", "affine"])
def test_systems_are_read_by_the_loaders_rules(system, tmp_path):
    document = system.document()
    path = tmp_path / "s.json"
    assert the_same_for_both(systems.load, checked_system, json.dumps(document), path)
    for place in places(document):
        if place:
            the_same_for_both(systems.load, checked_system, json.dumps(without(document, place)), path)
        for value in VALUES:
            the_same_for_both(systems.load, checked_system, json.dumps(replaced(document, place, value)), path)
    doubled = json.dumps(document).replace('"name"', '"name": "other", "name"')
    assert not the_same_for_both(systems.load, checked_system, doubled, path)


def test_one_number_written_in_many_ways_is_one_system(tmp_path):
    document = integrator().document()
    certificate, (model, system) = proof("safe")
    for one in (1, 1.0, "1", "1.0", "2/2", "10e-1", "+1"):
        written = replaced(replaced(document, ("initial", 0, 1), one), ("dynamics", "matrix", 0, 0), one)
        (tmp_path / "s.json").write_text(json.dumps(written))
        assert systems.load(tmp_path / "s.json").digest == read_system(written).digest == system.digest
        assert check(certificate, model, written)
        assert check(certificate, model, tmp_path / "s.json")


def test_a_condition_is_numbers_and_its_states_may_have_any_name(tmp_path):
    document = thermostat().document()
    document["states"] = ["a", "a-b"]
    (tmp_path / "s.json").write_text(json.dumps(document))
    loaded = systems.load(tmp_path / "s.json")
    assert [half.document() for half in loaded.safe] == document["safe"]
    assert loaded.digest == read_system(document).digest
    for part, value in (("bound", "10 + 100*a"), ("coefficients", ["1) * a + (1", "0"])):
        wrong = replaced(document, ("safe", 0, part), value)
        assert not the_same_for_both(systems.load, read_system, json.dumps(wrong), tmp_path / "s.json")
    with pytest.raises(InputError, match="a-b"):
        integrator(states=["a-b"], initial={"a-b": (0, 1)}, safe=["a-b <= 1"])


@pytest.mark.parametrize("name", ["a-b", "a b", "sin", "if", "ﬁ", "", "1x", "a\n", "a.b", "x" * 300])
def test_names_in_equations_are_identifiers(name, tmp_path):
    document = tank().document()
    for place in (("states", 0), ("dynamics", "let")):
        wrong = replaced(document, place, name if place[0] == "states" else [[name, "level"]])
        assert not the_same_for_both(systems.load, read_system, json.dumps(wrong), tmp_path / "s.json")


@pytest.mark.parametrize(
    "equation",
    [
        "-" * 900 + "level",
        "(" * 300 + "level" + ")" * 300,
        "+".join(["level"] * 3000),
        "((((level**16)**16)**16)**16)**16",
        "level ** 17",
        "level ** level",
        "9" * 4001,
        "1e99999999 * level",
        "1e400 * level",
        "sin(level, level)",
        "min(level)",
        "__import__('os')",
        "level if level < 1 else 2",
        "unknown",
        "level; level",
        "",
        "sqrt(level - 100)",
        "1 / (level - level)",
    ],
)
def test_no_equation_makes_a_check_go_on_for_ever(equation):
    certificate, (model, system) = proof("blocks")
    document = replaced(system.document(), ("dynamics", "step", 0), equation)
    try:
        claim = certificate.claim | {"system": read_system(document).digest}
    except CertificateError:
        return
    assert not accepts(forged(certificate, claim), model, document)


def test_long_numbers_of_a_system_are_paid_for():
    certificate, (model, system) = proof("safe")
    for number in (f"1/{2**9000 + 1}", f"1/{2**3000 + 1}"):
        for place in (("dynamics", "matrix", 0, 0), ("disturbance", 0, 1)):
            document = replaced(system.document(), place, number)
            claim = certificate.claim | {"system": read_system(document).digest, "steps": 9_000}
            assert not accepts(forged(certificate, claim), model, document), place


def test_models_of_many_experts_or_great_depth_are_refused_not_held_in_memory():
    certificate, (_, system) = proof("blocks")
    n = 4_000
    chain = {
        "feature": [0, -1] * n + [-1],
        "threshold": [0.0] * (2 * n + 1),
        "left": [2 * k + 1 if side == 0 else -1 for k in range(n) for side in range(2)] + [-1],
        "right": [2 * k + 2 if side == 0 else -1 for k in range(n) for side in range(2)] + [-1],
        "value": [[0.0, 1.0] if k % 4 < 2 else [1.0, 0.0] for k in range(2 * n + 1)],
    }
    base = json.loads(saved(up_to(1.0))) | {"feature_names": ["level"]}
    base["classes"]["values"] = ["closed", "open"]
    deep = base | {"trees": [chain]}
    wide = base | {
        "trees": [base["trees"][0]] * n,
        "gate": {"weights": [[0.0]] * n, "bias": [0.0] * n},
    }
    for document in (deep, wide):
        name = plain_model(document).digest
        assert not accepts(forged(certificate, certificate.claim | {"model": name}), document, system)
        about = {"model": name, "lo": [None], "hi": [None], "answers": ["open"]}
        endless = Certificate("always", about)
        endless.add(bytes(10**5))
        assert not accepts(endless, document)


def test_a_box_on_which_logits_overflow_is_not_proved():
    # every partial sum is infinite in float64, and the first expert answers
    model = half_planes((1e308, 1e308), 0.0)
    claim = {"model": digest(model), "lo": [1e10, 1e10], "hi": [1e11, 1e11], "answers": ["right"]}
    with pytest.raises(CertificateError, match="overflow"):
        check(Certificate("always", claim), model)
    try:
        verdict = always(model, Box.from_bounds([1e10] * 2, [1e11] * 2), ["right"])
    except InputError:
        return
    assert not isinstance(verdict, Proved)


def test_rounding_of_a_state_that_no_float64_is_counts():
    # the state 1/3 is above the threshold float(1/3), and is seen as exactly that
    start = {"x": (0, "1/3")}
    third = up_to(1 / 3)
    assert third.act([1 / 3]) == "up"
    up, down = integrator(initial=start, safe=["x <= 1"]), integrator(initial=start, safe=["x >= 0"])
    assert not isinstance(safe(third, up, steps=1), Proved)
    assert isinstance(safe(third, down, steps=1), Proved)
    # whoever takes the state for what is seen has a proof of the wrong claim
    wrong = Certificate("safe", {"model": digest(third), "system": up.digest, "name": up.name, "steps": 1})
    wrong.add(bytes([0, 3 + 8, 5]), np.array([1], np.int32), np.array([1.0]))
    with pytest.raises(CertificateError):
        check(wrong, third, up)


def test_noise_comes_before_rounding_to_float32():
    # x + noise is 1 + 2^-24 + 2^-50, which float32 rounds up; without the noise it is rounded down
    noise = 2.0**-24
    described = {
        "initial": {"x": ("1/2", 1)},
        "safe": ["x >= 1/2"],
        "domain": {"x": (-1, 3)},
        "observation_error": {"x": noise + 2.0**-50},
        "float32_observations": True,
    }
    seen = float(np.float32(1 + noise + 2.0**-50))
    policy = up_to(1.0)
    assert policy.act([seen]) == "down"
    assert not isinstance(safe(policy, integrator(**described), steps=1), Proved)
    assert isinstance(safe(policy, integrator(**described | {"observation_error": {"x": 2.0**-26}}), steps=1), Proved)


def test_the_document_says_noise_and_rounding_apart():
    noisy = integrator(observation_error={"x": "1/8"}, domain={"x": (-4, 4)}, float32_observations=True)
    document = noisy.document()
    assert (document["observation_error"], document["float32_observations"]) == (["1/8"], True)
    assert noisy.observation_error[0] > noisy.noise[0] + (4 + noisy.noise[0]) / 2**24
    read = read_system(document)
    assert (read.noise, read.float32) == (list(noisy.noise), True)


@pytest.mark.processes
def test_all_of_the_checker_needs_the_standard_library_only():
    code = (
        "import pkgutil, sys, moet.verify.checker as checker, moet.verify.checking\n"
        "for module in pkgutil.walk_packages(checker.__path__, f'{checker.__name__}.'): __import__(module.name)\n"
        "print(sorted(m for m in sys.modules if m.startswith('moet') and 'check' not in m))\n"
        "print({'numpy', 'numba', 'scipy', 'sklearn', 'z3'} & set(sys.modules))\n"
    )
    ours, others = run([sys.executable, "-c", code], check=True).stdout.splitlines()
    assert others == "set()"
    assert eval(ours) == ["moet", "moet.errors", "moet.files", "moet.lazy", "moet.verify"]


def test_proofs_survive_a_file_of_the_system(tmp_path):
    system = tank(float32_observations=True, domain={"level": (0, 3)})
    systems.save(system, tmp_path / "s.json")
    verdict = safe(proof("blocks").subjects[0], systems.load(tmp_path / "s.json"), steps=2)
    assert check(verdict.certificate, proof("blocks").subjects[0], system)
    save(proof("blocks").subjects[0], tmp_path / "m.moet.json")
    assert check(verdict.certificate, tmp_path / "m.moet.json", tmp_path / "s.json")
    assert value_at(json.loads((tmp_path / "s.json").read_text()), ("version",)) == 2


def test_a_mixture_whose_frozen_numbers_were_changed_is_another_model():
    model = half_planes((1.0, 1.0), 0.0)
    before = plain_model(model)
    assert plain_model(model) is before  # read once
    for numbers, changed in ((model.gate_bias, [0.0, 1.0]), (model.trees[0].value, [[0.0, 1.0]])):
        numbers.flags.writeable = True
        numbers[...] = changed
        numbers.flags.writeable = False
        after = plain_model(model)
        assert after.bias == model.gate_bias.tolist()
        assert [tree.value for tree in after.trees] == [tree.value.tolist() for tree in model.trees]
        assert after.digest != before.digest
