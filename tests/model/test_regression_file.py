"""Files of models that answer with numbers."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from moet import Mixture, RegressionMixture, RegressionTree, Tree, load, save
from moet.errors import ModelFileError
from moet.model.file import as_model, digest

from .strategies import bits, regression_mixtures

STUMP = RegressionTree([1, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [[0.0], [1.0], [-0.0]])
LAW = RegressionTree.leaf([0.25], slope=[[2.0, -1.0]])
MIXTURE = RegressionMixture([[1.0, -0.0], [0.1, 2.5e-308]], [0.0, 0.25], [STUMP, LAW], ["torque"], [-2.0])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "law.moet.json"


@pytest.fixture
def document(path):
    save(MIXTURE, path)
    return json.loads(path.read_text())


@given(regression_mixtures())
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_saved_is_loaded_to_the_bit(path, mixture):
    save(mixture, path)
    assert bits(load(path)) == bits(mixture)
    assert digest(mixture) == hashlib.sha256(path.read_bytes()).hexdigest() == digest(path)


def test_the_file_is_as_documented(document):
    assert document == {
        "format": "moet",
        "version": 2,
        "prediction": "hard",
        "feature_names": ["x0", "x1"],
        "outputs": {"names": ["torque"], "low": [-2.0], "high": [None]},
        "gate": {"weights": [[1.0, -0.0], [0.1, 2.5e-308]], "bias": [0.0, 0.25]},
        "trees": [
            {
                "feature": [1, -1, -1],
                "threshold": [0.5, 0.0, 0.0],
                "left": [1, -1, -1],
                "right": [2, -1, -1],
                "value": [[0.0], [1.0], [-0.0]],
            },
            {"feature": [-1], "threshold": [0], "left": [-1], "right": [-1], "value": [[0.25]], "slope": [[[2, -1]]]},
        ],
    }


def test_the_example_in_the_documentation_loads(path):
    text = (Path(__file__).parents[2] / "docs" / "model-format.md").read_text(encoding="utf-8")
    path.write_text(text.split("```json\n")[2].split("```")[0])
    mixture = load(path)
    assert mixture.outputs == ("torque",)
    assert mixture.predict([[1.0, 0.0], [-1.0, 3.0], [-1.0, -8.0]]).tolist() == [[1.0], [-2.0], [6.25]]


def test_provenance_is_kept_but_is_no_part_of_the_model(path):
    marked = RegressionMixture([[0.0, 0.0]], [0.0], [LAW], ["u"], provenance={"seed": 1})
    save(marked, path)
    assert load(path).provenance == {"seed": 1}
    assert digest(path) == digest(RegressionMixture([[0.0, 0.0]], [0.0], [LAW], ["u"]))


def test_a_file_is_a_model(path):
    save(MIXTURE, path)
    assert as_model(path) == as_model(str(path)) == MIXTURE


def edited(document, place, value):
    *way, last = place
    part = document
    for step in way:
        part = part[step]
    part[last] = value
    return document


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        (["outputs"], ["torque"], "outputs must be an object"),
        (["outputs", "names"], [], "at least one output"),
        (["outputs", "names"], [1], "outputs.names must be a list"),
        (["outputs", "low"], [True], "outputs.low must be a list"),
        (["outputs", "low"], [10**400], "outputs.low has a number beyond"),
        (["outputs", "low"], [], "one bound per output"),
        (["outputs", "high"], [-3.0], "low must not exceed high"),
        (["version"], 1, "the model lacks classes"),
        (["trees", 1, "slope"], [], r"trees\[1\]: slope must have rows"),
        (["trees", 1, "slope"], None, r"trees\[1\]: slope must be a list"),
        (["trees", 1, "slope"], [[[2.0]]], "slopes for 1 features"),
        (["trees", 1, "slope"], [[[2.0, "a"]]], r"trees\[1\]: slope must be a list"),
        (["trees", 1, "slope"], [[[2.0, 1.0], [2.0]]], r"trees\[1\]: slope must have rows"),
        (["trees", 1, "slope"], [[[1.0, 2.0]], [[1.0, 2.0]]], "RegressionTree.slope has shape"),
        (["trees", 1, "value"], [[1e999]], r"it contains|beyond the range"),
        (["trees", 0, "left"], [0, -1, -1], "every child must come after its parent"),
        (["trees", 0, "depth"], 1, r"trees\[0\] has unknown keys"),
        (["classes"], {}, "the model has unknown keys"),
    ],
)
def test_hostile_files_are_refused_with_a_reason(path, document, place, value, reason):
    path.write_text(json.dumps(edited(document, place, value)))
    with pytest.raises(ModelFileError, match=reason):
        load(path)


def test_a_classifier_keeps_its_old_version_and_digest(path):
    """The digest of a model is in certificates that were written before there were outputs."""
    mixture = Mixture([[1.0, 0.5], [-1.0, 0.0]], [0.0, 0.25], [Tree.leaf([0.5, 0.5]), Tree.leaf([1, 0])], ["a", "b"])
    save(mixture, path)
    assert json.loads(path.read_text())["version"] == 1
    assert digest(mixture) == "1a964e32f9e29f9b88de7c493f6be6ade2610f23459b17be756f8af2e8159082"


def test_truncated_files_never_load(path):
    save(MIXTURE, path)
    content = path.read_bytes()
    for end in np.linspace(0, len(content) - 2, 40).astype(int):
        path.write_bytes(content[:end])
        with pytest.raises(ModelFileError):
            load(path)
