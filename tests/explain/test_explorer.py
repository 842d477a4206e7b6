"""The explorer page as text: what is in it, and that nothing else can get in."""

import base64
import hashlib
import json
import re
from importlib.resources import files

import numpy as np
import pytest

from moet import Mixture, Tree, save
from moet.errors import InputError, ModelError
from moet.explain import explorer
from moet.explain.explorer_page.page import MAX_ROWS
from moet.explain.explorer_page.ranges import Range, choice_columns, slider_ranges, telling_features
from moet.model.file import digest

HOSTILE = "</script><img src=x onerror=alert(1)>{{script}}<!--\u2028\ud800"


def stump(threshold: float, feature: int = 0) -> Tree:
    value = [[0.5, 0.5], [0.75, 0.25], [0.004, 0.996]]
    return Tree([feature, -1, -1], [threshold, 0, 0], [1, -1, -1], [2, -1, -1], value)


def mixture(names=("angle", "speed"), classes=("left", "right"), **options) -> Mixture:
    gate = [[0.0, -0.0], [1.0, 0.1]]
    return Mixture(gate, [0, 5e-324], [stump(0.5), stump(-1.25)], list(classes), list(names), **options)


def content(page: str) -> dict:
    (text,) = re.findall(r'<script type="application/json" id="content">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def test_the_model_is_in_the_page_to_the_bit():
    model = mixture()
    found = content(explorer(model))["models"][0]
    assert np.array(found["gate"]["weights"]).tobytes() == model.gate_weights.tobytes()  # -0.0 too
    assert np.array(found["gate"]["bias"]).tobytes() == model.gate_bias.tobytes()
    trees = [Tree(**{part: np.array(values) for part, values in tree.items()}) for tree in found["trees"]]
    assert trees == list(model.trees)
    assert found["digest"] == digest(model)
    assert found["summary"] == "hard mixture of 2 experts: 4 leaves, 6 nodes, depth 1, 6 gate numbers"


def test_names_of_a_stranger_cannot_leave_their_place():
    page = explorer(mixture(names=(HOSTILE, "b"), classes=(HOSTILE, "no")), names=[HOSTILE], units={"b": HOSTILE})
    plain = explorer(mixture())
    assert page.count("<") == plain.count("<")
    found = content(page)
    assert found["features"][0]["name"] == found["classes"][0] == found["models"][0]["name"] == HOSTILE
    page.encode("utf-8")


def test_only_our_script_and_style_may_run_and_nothing_may_be_fetched():
    page = explorer(mixture())
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="(.*?)"', page)
    allowed = dict(part.split(" ", 1) for part in policy.split("; "))
    assert allowed["default-src"] == "'none'"
    for directive, text in [
        ("script-src", re.findall(r"<script>(.*?)</script>", page, re.DOTALL)),
        ("style-src", re.findall(r"<style>(.*?)</style>", page, re.DOTALL)),
    ]:
        (text,) = text
        expected = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert allowed[directive] == f"'sha256-{expected}'"


def test_the_page_names_no_address():
    page = explorer(mixture())
    assert set(re.findall(r"https?://[^\"' ]*", page)) == {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert not re.search(r"\b(src|href|action)\s*=|@import|url\(|fetch\(|XMLHttpRequest|innerHTML", page)


def test_labels_that_a_browser_cannot_hold_are_text():
    model = Mixture([[1.0, 0.0]], [0], [stump(0)], [2**62 + 1, -3])
    assert content(explorer(model))["classes"] == [str(2**62 + 1), "-3"]


def test_a_sample_of_the_data_is_drawn_and_said_to_be_one():
    rows = np.random.default_rng(0).normal(size=(3000, 2))
    found = content(explorer(mixture(), data=rows, source="play.csv"))
    sample = np.array(found["rows"]["values"])
    assert len(sample) == MAX_ROWS
    assert {tuple(row) for row in sample} <= {tuple(row) for row in rows}
    assert "1,000 of 3,000 rows, drawn at random, from play.csv" in found["rows"]["note"]
    assert tuple(found["start"]) in {tuple(row) for row in rows}
    ranges = [(feature["low"], feature["high"]) for feature in found["features"]]
    assert ranges == [(rows[:, k].min(), rows[:, k].max()) for k in range(2)]
    few = content(explorer(mixture(), data=rows[:7]))
    assert np.array_equal(few["rows"]["values"], rows[:7])
    assert "Dots: 7 from the data" in few["rows"]["note"]


def test_ranges_contain_the_thresholds_and_never_collapse():
    model = mixture()
    angle, speed = slider_ranges([model], None)
    assert angle.low < -1.25
    assert angle.high > 0.5
    assert speed.high == -speed.low == pytest.approx(4 / 0.05)  # only the gate looks at it
    assert (angle.whole, speed.whole) == (False, False)
    constant = slider_ranges([model], np.array([[3.0, 0.25]]))
    assert constant[0] == (-2, 3, True)  # the threshold -1.25, and whole numbers
    assert (constant[1].low, constant[1].high, constant[1].whole) == (-0.75, 1.25, False)
    for extreme in slider_ranges([model], np.array([[-1.7e308, 0.0], [1.7e308, 0.0]])):
        assert np.isfinite(extreme.high - extreme.low)


def test_text_columns_are_zero_or_one():
    assert slider_ranges([mixture(names=("colour=red", "speed"))], None)[0] != (0, 1, True)  # it has a threshold -1.25
    model = Mixture([[1.0, 0.0]], [0], [stump(0.5)], [0, 1], ["colour=red", "colour=blue"])
    assert slider_ranges([model], None) == [(0, 1, True), (0, 1, True)]


def test_text_columns_become_choices():
    flag, number = Range(0, 1, True), Range(0, 1, False)
    names = ["colour=red", "colour=blue", "colour=a=b", "size=large", "age", "x=1", "x=2"]
    found = choice_columns(names, [flag, flag, flag, flag, flag, number, flag])
    assert found == [("colour", "red"), ("colour", "blue"), ("colour", "a=b"), None, None, None, None]


def test_the_map_begins_with_numbers():
    model = Mixture([[0.0] * 3], [0], [stump(0.5, feature=1)], ["a", "b"], ["age", "colour=red", "colour=blue"])
    assert content(explorer(model))["axes"] == [0, 1]
    assert content(explorer(model))["start"][1:] == [1, 0]  # one value of each text column


def test_the_map_begins_with_the_features_that_matter():
    tree = Mixture([[0.0, 0.0, 0.0]], [0], [stump(0.0, feature=2)], ["a", "b"])
    rows = np.random.default_rng(0).normal(size=(20, 3))
    assert telling_features(tree, slider_ranges([tree], rows), rows)[0] == 2
    assert content(explorer(tree))["axes"] == [2, 0]
    assert content(explorer(Mixture([[1.0]], [0], [stump(0)], ["a", "b"])))["axes"] == [0, 0]


def test_whatever_holds_a_mixture_is_accepted(tmp_path):
    save(mixture(), tmp_path / "m.moet.json")
    assert explorer(tmp_path / "m.moet.json") == explorer(mixture())
    with pytest.raises(ModelError, match="int"):
        explorer(3)


def test_models_that_cannot_be_compared_are_refused():
    with pytest.raises(InputError, match=r"same features.*'angle', 'speed'.*'speed', 'angle'"):
        explorer(mixture(), compare=mixture(names=("speed", "angle")))
    with pytest.raises(InputError, match=r"same classes.*'left', 'right'.*'up', 'down'"):
        explorer(mixture(), compare=mixture(classes=("up", "down")))
    both = content(explorer(mixture(), compare=mixture(prediction="soft"), names=["a", "b"]))
    assert [model["name"] for model in both["models"]] == ["a", "b"]
    assert [model["prediction"] for model in both["models"]] == ["hard", "soft"]


@pytest.mark.parametrize(
    ("data", "message"),
    [([[1.0, np.nan]], "NaN"), ([[1.0, 2.0, 3.0]], "2 features"), ([], "2 features"), (np.empty((0, 2)), "no rows")],
)
def test_data_that_do_not_fit_are_refused(data, message):
    with pytest.raises(InputError, match=message):
        explorer(mixture(), data=data)


def test_units_are_those_of_features():
    found = content(explorer(mixture(), units={"speed": "m/s"}))
    assert [feature["unit"] for feature in found["features"]] == ["", "m/s"]
    with pytest.raises(InputError, match="no feature 'spede'"):
        explorer(mixture(), units={"spede": "m/s"})


def test_the_first_input_lies_between_thresholds():
    one = Mixture([[1.0, 0.0]], [0], [stump(0.5)], [0, 1], ["angle", "speed"])
    assert content(explorer(one))["start"][0] == 0.0  # in the lower half of what the slider spans
    trees = [stump(threshold) for threshold in (-1.0, 0.0, 0.25, 1.0)]
    several = Mixture([[1.0, 0.0]] * 4, [0.0] * 4, trees, [0, 1])
    assert content(explorer(several))["start"][0] == -0.5  # of the gaps beside the middle, 0, the wider one


def lightness_and_hue(colour):
    """CIELAB of a colour as people with ordinary sight and those who see no red and green apart see it."""
    light = (np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255) ** 2.2
    without_green = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    white = [[0.4339, 0.3763, 0.1899], [0.2126, 0.7152, 0.0722], [0.0177, 0.1095, 0.8729]]
    x, y, z = np.cbrt(np.array(white) @ np.clip([light, np.array(without_green) @ light], 0, 1).T)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)]).T


def test_the_colours_of_ten_classes_are_told_apart():
    colours = re.findall(r'"(#[0-9a-f]{6})"', files("moet.web").joinpath("colours.js").read_text())
    seen = np.array([lightness_and_hue(colour) for colour in colours])
    apart = np.linalg.norm(seen[:, None] - seen[None], axis=-1)[np.triu_indices(len(colours), 1)]
    assert len(colours) >= 10
    assert apart[:, 0].min() > 20
    assert apart[:, 1].min() > 12
