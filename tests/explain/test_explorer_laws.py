"""The explorer page of models that answer with numbers, in a real browser."""

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from moet import Mixture, RegressionMixture, RegressionTree, Tree
from moet.errors import InputError
from moet.explain import explorer
from tests.browser import needs_browser, settled
from tests.random_models import random_laws
from tests.verify.laws import nudged


def brake(**changes) -> RegressionMixture:
    parts = {"low": [-2.0], "high": [2.0], "feature_names": ["angle", "speed"]} | changes
    laws = [RegressionTree.leaf([0.5], slope=[[2.0, -1.0]]), RegressionTree.leaf([-1.0])]
    return RegressionMixture([[1.0, 0.0], [0.0, 0.0]], [0.0, 0.0], laws, ["torque"], **parts)


def content(page: str) -> dict:
    return json.loads(re.search(r'id="content">(.*?)</script>', page, re.DOTALL).group(1).replace("\\u003c", "<"))


def test_the_page_is_told_outputs_bounds_and_slopes():
    told = content(explorer(brake(), units={"torque": "Nm"}))
    assert told["classes"] is None
    (output,) = told["outputs"]
    assert (output["name"], output["unit"], output["low"], output["high"]) == ("torque", "Nm", -2.0, 2.0)
    assert -2 <= output["span"][0] < output["span"][1] <= 2
    assert told["models"][0]["trees"][0]["slope"] == [[[2.0, -1.0]]]
    assert "slope" not in told["models"][0]["trees"][1]


def test_models_that_do_not_go_together_are_refused():
    with pytest.raises(InputError, match="same outputs"):
        explorer(brake(), compare=replace(brake(), outputs=("force",)))
    labels = Mixture([[0.0, 0.0]], [0.0], [Tree.leaf([1, 0])], ["a", "b"], ["angle", "speed"])
    with pytest.raises(InputError, match="the second labels"):
        explorer(brake(), compare=labels)


def outputs_of(browser, method: str, X: np.ndarray) -> np.ndarray:
    """Outputs that the page gives; inputs and outputs travel as bytes."""
    script = """
        const bytes = Uint8Array.from(atob(arguments[0]), (c) => c.charCodeAt(0));
        const rows = new Float64Array(bytes.buffer), width = arguments[1], model = moet.models[0];
        const found = new Float64Array((rows.length / width) * model.nClasses);
        for (let i = 0; i < rows.length / width; i += 1) {
          found.set(model[arguments[2]](rows.subarray(i * width, (i + 1) * width)), i * model.nClasses);
        }
        let text = "";
        for (const byte of new Uint8Array(found.buffer)) text += String.fromCharCode(byte);
        return btoa(text);
    """
    text = browser.execute_script(script, base64.b64encode(X.tobytes()).decode(), X.shape[1], method)
    return np.frombuffer(base64.b64decode(text)).reshape(len(X), -1)


@needs_browser
@pytest.mark.processes
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_hard_outputs_have_the_bits_of_python(show, seed):
    model = random_laws(seed, n_experts=4, n_features=5, n_outputs=3, depth=3, affine=seed != 2)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 5)) * 10.0 ** rng.integers(-6, 7, (10_000, 1))
    assert outputs_of(show(model), "hard", X).tobytes() == model.predict(X).tobytes()


@needs_browser
@pytest.mark.processes
def test_soft_outputs_are_those_of_python_up_to_the_digits_of_exp(show):
    model = random_laws(4, prediction="soft")
    X = np.random.default_rng(0).normal(size=(2000, 3))
    np.testing.assert_allclose(outputs_of(show(model), "soft", X), model.predict(X), rtol=1e-12, atol=1e-12)


@needs_browser
@pytest.mark.processes
def test_a_sum_that_overflows_is_no_answer(show):
    steep = RegressionMixture([[0.0]], [0.0], [RegressionTree.leaf([0.0], slope=[[1e200]])], ["u"], [-1], [1])
    browser = show(steep)
    assert np.isnan(outputs_of(browser, "hard", np.array([[1e200]]))[0, 0])
    browser.execute_script("moet.move({0: 1e200})")
    settled(browser)
    assert browser.find_element(By.ID, "verdict-0").text == "no answer"


@needs_browser
@pytest.mark.processes
def test_the_page_says_output_law_and_clipping(show):
    browser = show(brake(), units={"torque": "Nm"})
    browser.execute_script("moet.move({0: 3, 1: 0.5})")
    settled(browser)
    assert browser.find_element(By.ID, "verdict-0").text == "torque 2 Nm"
    words = browser.find_element(By.ID, "words").text
    assert "torque = 0.5 + 2·angle − 1·speed" in words
    assert "is 6, clipped to 2" in words
    assert browser.find_element(By.ID, "legend").text.startswith("torque [Nm]:")
    flips = browser.find_element(By.ID, "flips").text
    assert "expert 1 takes over" in flips
    assert "torque −1 Nm" in flips


@needs_browser
@pytest.mark.processes
def test_another_output_can_be_chosen(show):
    model = random_laws(3)
    browser = show(model, compare=nudged(model, 0.5), data=np.random.default_rng(0).normal(size=(50, 3)))
    browser.execute_script("moet.move({0: 0.1, 1: 0.2, 2: 0.3})")
    settled(browser)
    value = model.act([0.1, 0.2, 0.3])
    assert float(browser.find_element(By.ID, "verdict-0").text.replace("−", "-")) == pytest.approx(value[0], rel=1e-3)
    Select(browser.find_element(By.ID, "output")).select_by_visible_text("w")
    settled(browser)
    assert float(browser.find_element(By.ID, "verdict-0").text.replace("−", "-")) == pytest.approx(value[1], rel=1e-3)
    assert "differ by more than a hundredth" in browser.find_element(By.ID, "difference").text
    assert "differ here by up to 0.5" in browser.find_element(By.ID, "agreement").text
