import copy
import hashlib
import json
import os
import pickle
import random
import stat
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from moet import Mixture, Tree, load, save
from moet.errors import ModelError, ModelFileError
from moet.model import file as model_file
from moet.model.file import as_mixture, digest

from .strategies import bits, mixtures

STUMP = Tree([1, -1, -1], [0.1, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [1, 0], [0.25, 0.75]])
MIXTURE = Mixture([[1.0, -0.0], [0.1, 2.5e-308]], [0.0, 0.25], [STUMP, Tree.leaf([0.4, 0.6])], ["left", "right"])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "policy.moet.json"


@pytest.fixture
def document(path):
    save(MIXTURE, path)
    return json.loads(path.read_text())


def refusal(path, content):
    """Reason for which ``content`` is refused as a model file."""
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    with pytest.raises(ModelFileError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(f"cannot load {path}: ")
    assert "\n" not in message
    assert len(message) < 500
    return message


def places(value, prefix=()):
    """Paths of all values within a JSON document."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield (*prefix, key)
        yield from places(child, (*prefix, key))


def owner(document, place):
    """Object or list within ``document`` that has the value at ``place``."""
    for step in place[:-1]:
        document = document[step]
    return document


@given(mixtures())
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_saved_is_loaded_to_the_bit(path, mixture):
    save(mixture, path)
    assert bits(load(path)) == bits(mixture)
    assert digest(mixture) == hashlib.sha256(path.read_bytes()).hexdigest() == digest(path)


def test_the_file_is_as_documented(document):
    assert document == {
        "format": "moet",
        "version": 1,
        "prediction": "hard",
        "feature_names": ["x0", "x1"],
        "classes": {"type": "str", "values": ["left", "right"]},
        "gate": {"weights": [[1.0, -0.0], [0.1, 2.5e-308]], "bias": [0.0, 0.25]},
        "trees": [
            {
                "feature": [1, -1, -1],
                "threshold": [0.1, 0.0, 0.0],
                "left": [1, -1, -1],
                "right": [2, -1, -1],
                "value": [[0.5, 0.5], [1.0, 0.0], [0.25, 0.75]],
            },
            {"feature": [-1], "threshold": [0.0], "left": [-1], "right": [-1], "value": [[0.4, 0.6]]},
        ],
    }


def test_the_example_in_the_documentation_loads(path):
    text = (Path(__file__).parents[2] / "docs" / "model-format.md").read_text(encoding="utf-8")
    path.write_text(text.split("```json\n")[1].split("```")[0])
    mixture = load(path)
    assert mixture.feature_names == ("angle", "speed")
    assert mixture.predict([[1.0, 0.0], [1.0, 1.0], [-1.0, 0.0]]).tolist() == ["left", "right", "right"]


@pytest.mark.parametrize("labels", [["θ", ""], [-(2**63), 2**63 - 1], [0.1, -1e300], [True, False]])
def test_labels_come_back_with_their_type(path, labels):
    save(Mixture([[0.0]], [0.0], [Tree.leaf([0.5, 0.5])], labels), path)
    classes = load(path).classes
    assert classes.tolist() == labels
    assert [type(label) for label in classes.tolist()] == [type(label) for label in labels]


def test_whatever_holds_a_mixture_can_be_saved(path):
    for holder in (MIXTURE, SimpleNamespace(mixture_=MIXTURE), SimpleNamespace(mixture=MIXTURE)):
        save(holder, path)
        assert load(path) == MIXTURE
        assert as_mixture(holder) is MIXTURE
    assert as_mixture(path) == as_mixture(str(path)) == MIXTURE


def test_a_tree_of_scikit_learn_holds_a_mixture():
    tree = DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0]], ["a", "b"])
    assert as_mixture(tree) == Mixture.from_sklearn(tree)


def test_provenance_is_kept_but_is_no_part_of_the_model(path):
    origin = {"task": "cartpole", "seed": 0, "versions": {"moet": "0.1.0"}}
    fields = {name: getattr(MIXTURE, name) for name in Mixture.__dataclass_fields__}
    marked = Mixture(**(fields | {"provenance": origin}))
    save(marked, path)
    assert load(path).provenance == origin
    assert load(path) == MIXTURE
    assert digest(path) == digest(marked) == digest(MIXTURE)
    assert copy.deepcopy(marked).provenance == origin


@pytest.mark.parametrize("origin", [None, [], "here"])
def test_provenance_must_be_an_object(path, document, origin):
    path.write_text(json.dumps(document | {"provenance": origin}))
    with pytest.raises(ModelFileError, match="provenance must be an object"):
        load(path)


def test_other_things_cannot_be_saved(path):
    with pytest.raises(ModelError, match="expected a Mixture, or a fitted model that holds one, got Tree"):
        save(STUMP, path)
    assert not path.exists()


def test_equal_digests_mean_equal_models():
    parts = {name: getattr(MIXTURE, name) for name in Mixture.__dataclass_fields__}
    assert digest(Mixture(**parts)) == digest(MIXTURE)
    others = [
        {"gate_bias": [-0.0, 0.25]},
        {"gate_bias": [0.0, np.nextafter(0.25, 1)]},
        {"classes": [0, 1]},
        {"classes": [0.0, 1.0]},
        {"classes": [False, True]},
        {"classes": ["0", "1"]},
        {"feature_names": ["a", "b"]},
        {"prediction": "soft"},
        {"trees": [STUMP, STUMP]},
    ]
    assert len({digest(Mixture(**parts | other)) for other in [{}, *others]}) == len(others) + 1


# writing


def test_saving_replaces_the_file_and_leaves_nothing_else(path):
    path.write_text("old")
    save(MIXTURE, path)
    assert load(path) == MIXTURE
    assert os.listdir(path.parent) == [path.name]


def test_permissions_follow_the_umask(path):
    before = os.umask(0o027)
    try:
        save(MIXTURE, path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_is_followed(tmp_path, path):
    link = tmp_path / "link"
    link.symlink_to(path)
    save(MIXTURE, link)
    assert link.is_symlink()
    assert load(path) == MIXTURE


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_no_other(path, monkeypatch, step, error):
    def fail(*_):
        raise error

    path.write_text("old")
    monkeypatch.setattr(os, step, fail)
    with pytest.raises(ModelFileError if isinstance(error, OSError) else type(error)):
        save(MIXTURE, path)
    assert path.read_text() == "old"
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("name", ["missing/m.json", "file/m.json", "folder", "pipe", "zero\0", "n" * 300])
def test_a_path_that_cannot_be_written_is_named(tmp_path, name):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(ModelFileError, match=r"cannot write .*; choose a file in a folder that exists"):
        save(MIXTURE, tmp_path / name)
    assert sorted(os.listdir(tmp_path)) == before
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


# reading


@pytest.mark.parametrize("name", ["missing", "folder", "file/m.json", "zero\0"])
def test_a_path_that_cannot_be_read_is_named(tmp_path, name):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    with pytest.raises(ModelFileError, match=r"cannot load .*: "):
        load(tmp_path / name)


def test_files_beyond_the_limit_are_neither_written_nor_read(path, monkeypatch):
    save(MIXTURE, path)
    monkeypatch.setattr(model_file, "MAX_BYTES", path.stat().st_size)
    save(MIXTURE, path)
    assert load(path) == MIXTURE
    monkeypatch.setattr(model_file, "MAX_BYTES", path.stat().st_size - 1)
    with pytest.raises(ModelFileError, match="it is larger than"):
        load(path)
    with pytest.raises(ModelFileError, match="the model takes"):
        save(MIXTURE, path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is not JSON, or damaged"),
        (b"feature,threshold\n1,2\n", "it is not JSON, or damaged"),
        (b"\x80\x04\x95", "it is not text"),
        (json.dumps({"format": "moet"}).encode("utf-16"), "it is not text"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"format": "moet", "version": ' + b"9" * 5000 + b"}", "cannot load"),
        (b'{"format": "moet", "version": NaN}', "it contains NaN"),
        (b'{"format": "moet", "version": -Infinity}', "it contains -Infinity"),
        (b'{"format": "moet", "format": "moet"}', "a key twice"),
        (b"null", "it is not a moet model"),
        (b'{"format": "onnx"}', "it is not a moet model"),
        (b'{"format": "moet"}', "its format version is None"),
        (b'{"format": "moet", "version": 3}', "its format version is 3, this moet reads 1 and 2"),
        (b'{"format": "moet", "version": true}', "its format version is True"),
        (b'{"format": "moet", "version": 1}', "the model lacks prediction, feature_names, classes, gate, trees"),
    ],
)
def test_foreign_files_are_refused(path, content, reason):
    assert reason in refusal(path, content)


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        (["comment"], "mine", "the model has unknown keys: ['comment']"),
        (["prediction"], "firm", "prediction must be 'hard' or 'soft'"),
        (["prediction"], [], "prediction must be 'hard' or 'soft'"),
        (["feature_names"], "xy", "feature_names must be a list, each entry of type str"),
        (["feature_names"], ["x", 1], "feature_names must be a list, each entry of type str"),
        (["feature_names"], ["x"], "feature_names must be 2 different strings"),
        (["classes"], ["left", "right"], "classes must be an object"),
        (["classes", "type"], "complex", "classes.type must be one of str, int, float, bool"),
        (["classes", "type"], ["str"], "classes.type must be one of str, int, float, bool"),
        (["classes", "values"], 5, "classes.values must be a list"),
        (["classes", "values"], ["left", 1], "classes.values must be a list, each entry of type str"),
        (["classes", "values"], ["left"], "class columns"),
        (["classes"], {"type": "int", "values": [0, True]}, "classes.values must be a list, each entry of type int"),
        (["classes"], {"type": "int", "values": [0, 2**63]}, "beyond the range of int64"),
        (["classes"], {"type": "float", "values": [0, 10**400]}, "beyond the range of float64"),
        (["classes"], {"type": "bool", "values": [0, 1]}, "classes.values must be a list, each entry of type bool"),
        (["gate"], [], "gate must be an object"),
        (["gate", "bias"], [0.0], "gate_bias has shape (1,)"),
        (["gate", "bias"], [0.0, False], "gate.bias must be a list, each entry of type int or float"),
        (["gate", "bias"], [0.0, "1"], "gate.bias must be a list, each entry of type int or float"),
        (["gate", "bias"], [0, 10**400], "gate.bias has a number beyond the range of float64"),
        (["gate", "weights"], [], "gate.weights must have rows"),
        (["gate", "weights"], [[], []], "at least one expert and one feature"),
        (["gate", "weights"], [[1.0, 2.0], [1.0]], "gate.weights must have rows, all of the same length"),
        (["gate", "weights"], [[1.0, 2.0], 3.0], "gate.weights must be a list, each entry of type list"),
        (["trees"], {}, "trees must be a list"),
        (["trees"], [], "there are 0 trees"),
        (["trees", 1], [], "trees must be a list, each entry of type dict"),
        (["trees", 1], {}, "trees[1] lacks feature, threshold, left, right, value"),
        (["trees", 0, "left"], [0, -1, -1], "trees[0]: every child must come after its parent"),
        (["trees", 0, "left"], [1, 0, -1], "trees[0]: a leaf (feature = -1) must have left = right = -1"),
        (["trees", 0, "left"], [1e0, -1, -1], "trees[0]: left must be a list, each entry of type int"),
        (["trees", 0, "right"], [10**400, -1, -1], "trees[0]: right has a number beyond the range of int64"),
        (["trees", 0, "right"], [2**31, -1, -1], "trees[0]: Tree.right has entries beyond 32 bits"),
        (["trees", 0, "feature"], [2, -1, -1], "tree 0 tests feature 2"),
        (["trees", 0, "feature"], [], "trees[0]: a tree needs at least one node and arrays of equal length"),
        (["trees", 0, "threshold"], [0.1], "trees[0]: a tree needs at least one node and arrays of equal length"),
        (["trees", 0, "value"], [[1e308, 1e308]] * 3, "trees[0]: Tree.value must hold probabilities"),
    ],
)
def test_files_with_one_thing_wrong_are_refused(path, document, place, value, reason):
    owner(document, place)[place[-1]] = value
    assert reason in refusal(path, document)


def test_numbers_beyond_float64_are_refused_even_where_they_would_not_matter(path, document):
    text = json.dumps(document).replace('"threshold": [0.0]', '"threshold": [1e999]')
    assert "trees[1]: threshold has a number beyond the range of float64" in refusal(path, text.encode())


def test_labels_may_not_ask_for_more_memory_than_the_file_has(path, document, monkeypatch):
    monkeypatch.setattr(model_file, "MAX_BYTES", 40_000)
    document["classes"]["values"] = ["x" * 10_000, *"abcd"]
    assert "labels too long to hold" in refusal(path, document)


def test_a_long_story_is_cut_short(path, document):
    document["feature_names"] = ["x" * 10_000] * 2
    assert refusal(path, document).endswith("x...")


def test_numbers_may_be_written_as_integers(path, document):
    document["gate"]["bias"] = [0, 1]
    path.write_text(json.dumps(document))
    assert load(path).gate_bias.tolist() == [0.0, 1.0]


def test_a_pickle_is_refused_and_not_run(tmp_path, path):
    class Bomb:
        def __reduce__(self):
            return open, (str(tmp_path / "bang"), "w")

    assert "it is not text" in refusal(path, pickle.dumps(Bomb()))
    assert not (tmp_path / "bang").exists()


# damage


def load_or_refuse(path, content):
    """Whether a damaged file loads; if so it must be a mixture that answers."""
    path.write_bytes(content)
    try:
        mixture = load(path)
    except ModelFileError:
        return False
    assert np.isin(mixture.predict(np.zeros((1, mixture.n_features))), mixture.classes).all()
    return True


@pytest.fixture(scope="module")
def wine(tmp_path_factory):
    """Bytes of a model file of some size."""
    path = tmp_path_factory.mktemp("wine") / "m.json"
    X, y = load_wine(return_X_y=True)
    save(Mixture.from_sklearn(DecisionTreeClassifier(random_state=0).fit(X, y)), path)
    return path.read_bytes()


def test_truncated_files_are_refused(path, wine):
    complete = len(wine.rstrip())
    assert not any(load_or_refuse(path, wine[:end]) for end in range(0, complete, 3))


def test_damaged_bytes_are_survived(path, wine):
    rng = random.Random(0)
    loaded = 0
    for _ in range(600):
        content = bytearray(wine)
        for _ in range(rng.choice([1, 1, 1, 4])):
            content[rng.randrange(len(content))] = rng.choice([rng.randrange(256), *b'0123456789-.eE[]{},:" '])
        loaded += load_or_refuse(path, bytes(content))
    assert 0 < loaded < 600


def test_values_of_the_wrong_kind_are_survived(path, document):
    odd = ["null", "true", '""', '"left"', "[]", "[[]]", "[null]", "{}", '{"type": 1}', "-1", "0", "3", "0.5", "1e999"]
    odd += ["-1e999", "NaN", "Infinity", "9" * 400, "-" + "9" * 400, "9" * 5000, "2147483648", "9223372036854775808"]
    altered = set()
    for place in places(document):
        changed = copy.deepcopy(document)
        owner(changed, place)[place[-1]] = "@"
        for value in odd:
            if load_or_refuse(path, json.dumps(changed).replace('"@"', value).encode()):
                altered.add(place[0])
    # other names, labels and numbers make another model; nothing else does
    assert altered == {"feature_names", "classes", "gate", "trees"}


def test_missing_values_are_refused(path, document):
    for place in places(document):
        changed = copy.deepcopy(document)
        del owner(changed, place)[place[-1]]
        assert refusal(path, changed)
