import numpy as np
import pytest

from moet.errors import InputError
from moet.explain.regions import RESOLUTION, Axis, decision_regions, draw_regions

ANGLE = Axis(feature=2, label="angle [rad]", low=-0.2, high=0.2)
SPEED = Axis(feature=0, label="speed [m/s]", low=-1.0, high=1.0)


def right_of(limit):
    return lambda states: (states[:, 2] > limit).astype(np.int64)


@pytest.fixture
def panels():
    return decision_regions({"a": right_of(0.0), "b": right_of(0.1)}, ANGLE, SPEED, held=[9.0, 5.0, 9.0])


def test_the_grid_covers_both_axes_and_holds_the_rest():
    seen = []

    def ask(states):
        seen.append(states)
        return np.zeros(len(states), dtype=np.int64)

    decision_regions({"a": ask}, ANGLE, SPEED, held=[9.0, 5.0, 9.0])
    (states,) = seen
    assert states.shape == (RESOLUTION**2, 3)
    assert (states[:, 1] == 5.0).all()
    assert (states[:, 2].min(), states[:, 2].max()) == (-0.2, 0.2)
    assert (states[:, 0].min(), states[:, 0].max()) == (-1.0, 1.0)


def test_answers_lie_where_they_were_given(panels):
    first, second = panels
    assert first.answers[:, 0].tolist() == [0] * RESOLUTION  # the left edge
    assert first.answers[:, -1].tolist() == [1] * RESOLUTION
    assert first.answers.mean() == pytest.approx(0.5, abs=0.01)
    assert second.answers.mean() == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_the_picture_names_policies_axes_and_classes(panels, tmp_path, suffix):
    figure = draw_regions(panels, ["left", "right"], note="at rest")
    assert [axis.get_title() for axis in figure.axes] == ["a", "b"]
    assert figure.axes[0].get_xlabel() == "angle [rad]"
    assert figure.axes[0].get_ylabel() == "speed [m/s]"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["left", "right"]
    figure.savefig(tmp_path / f"regions.{suffix}")
    assert (tmp_path / f"regions.{suffix}").stat().st_size > 1000


def test_one_class_everywhere_can_be_drawn(tmp_path):
    panels = decision_regions({"a": lambda states: np.ones(len(states), int)}, ANGLE, SPEED, held=[0, 0, 0])
    figure = draw_regions(panels, ["left", "stay", "right"])
    figure.savefig(tmp_path / "regions.png")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["stay"]


def test_what_is_painted_is_what_was_answered():
    """Classes 0 and 2 touch: no border of class 1 may be painted between them."""
    ask = {"a": lambda states: np.where(states[:, 2] > 0.05, 2, 0)}
    panels = decision_regions(ask, ANGLE, SPEED, held=[0, 0, 0])
    (axis,) = draw_regions(panels, ["left", "none", "right"]).axes
    (image,) = axis.images
    assert np.array_equal(image.get_array(), panels[0].answers)
    assert len({image.cmap(image.norm(k)) for k in range(3)}) == 3
    (hatched, border) = axis.collections
    assert hatched.get_paths()[0].get_extents().xmin == pytest.approx(0.05, abs=0.4 / RESOLUTION)
    assert border.get_paths()[0].vertices[:, 0] == pytest.approx(0.05, abs=0.4 / RESOLUTION)


def test_names_with_dollar_signs_are_no_formulas(tmp_path):
    panels = decision_regions({"$a_$": right_of(0)}, Axis(2, r"$\\bad{$", 0, 1), SPEED, held=[0, 0, 0])
    draw_regions(panels, ["$x^", "y$"], note="$ {").savefig(tmp_path / "regions.png")


def test_policies_may_answer_with_labels():
    x, y = Axis(0, "a", 0, 1), Axis(1, "b", 0, 1)
    panels = decision_regions({"own": lambda rows: np.where(rows[:, 0] > rows[:, 1], "yes", "no")}, x, y, held=[0, 0])
    figure = draw_regions(panels, ["no", "yes"])
    shown = figure.axes[0].images[0].get_array()
    assert shown[0, -1] == 1
    assert shown[-1, 0] == 0
    with pytest.raises(InputError, match="'yes' is missing"):
        draw_regions(panels, ["no"])
