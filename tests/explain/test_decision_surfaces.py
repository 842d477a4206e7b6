"""Pictures of models that answer with numbers."""

import numpy as np
import pytest

from moet import Mixture, RegressionMixture, RegressionTree, Tree, explain
from moet.errors import InputError, ModelError
from moet.explain.regions import RESOLUTION, Axis, grid

X, Y = Axis(0, "angle [rad]", -1.0, 1.0), Axis(1, "speed", 0.0, 2.0)


def two_laws(**changes) -> RegressionMixture:
    """An affine law where angle > 0, a tree of constants elsewhere."""
    constants = RegressionTree([1, -1, -1], [1.0, 0, 0], [1, -1, -1], [2, -1, -1], [[0, 0], [1, -1], [-3, 2]])
    law = RegressionTree.leaf([0.5, 0.0], slope=[[2.0, -1.0], [0.0, 1.0]])
    names = {"feature_names": ["angle", "speed"], "high": [2.0, np.inf]}
    return RegressionMixture([[0, 0], [1, 0]], [0, 0], [constants, law], ["torque", "brake"], **(names | changes))


def test_the_colours_are_the_outputs_of_the_model():
    model = two_laws()
    panel = explain.surfaces(model, X, Y, [0, 0], units={"torque": "Nm"})
    outputs = model.predict(grid(X, Y, [0, 0]))
    assert panel.outputs == ("torque [Nm]", "brake")
    assert np.array_equal(panel.values.reshape(2, -1).T, outputs)
    figure = explain.draw_surfaces([panel], "held")
    images = [image for axis in figure.axes for image in axis.get_images()]
    assert np.array_equal(images[0].get_array(), panel.values[0])
    assert (images[0].norm.vmin, images[0].norm.vmax) == (outputs[:, 0].min(), 2.0)
    bars = [axis.get_ylabel() for axis in figure.axes]
    assert {"torque [Nm]", "brake"} <= set(bars)


def test_models_side_by_side_share_the_scale_of_an_output():
    panels = [explain.surfaces(model, X, Y, [0, 0]) for model in (two_laws(), two_laws(high=[1.0, 0.5]))]
    figure = explain.draw_surfaces(panels)
    scales = [(i.norm.vmin, i.norm.vmax) for axis in figure.axes for i in axis.get_images()]
    assert len(scales) == 4
    assert len(set(scales)) == 2


def test_owners_stand_beside_every_output():
    figure = explain.draw_owned_surfaces(explain.surfaces(two_laws(), X, Y, [0, 0]))
    assert [axis.get_title() for axis in figure.axes[:3]] == ["who answers", "torque", "brake"]


@pytest.mark.slow
def test_constant_outputs_and_overflows_can_be_drawn():
    constant = RegressionMixture([[0.0, 0.0]], [0.0], [RegressionTree.leaf([3.0])], ["u"])
    explain.draw_surfaces([explain.surfaces(constant, X, Y, [0, 0])])
    steep = RegressionMixture([[0.0, 0.0]], [0.0], [RegressionTree.leaf([0.0], slope=[[1e200, 0]])], ["u"])
    far = Axis(0, "angle", -1e200, 1e90)
    panel = explain.surfaces(steep, far, Y, [0, 0])
    assert 0 < np.isnan(panel.values).sum() < RESOLUTION**2
    explain.draw_surfaces([panel])
    with pytest.raises(InputError, match="no answer in this map"):
        explain.draw_surfaces([explain.surfaces(steep, Axis(0, "angle", 1e200, 2e200), Y, [0, 0])])


def test_models_with_labels_are_drawn_otherwise():
    labels = Mixture([[0.0, 0.0]], [0.0], [Tree.leaf([1, 0])], ["a", "b"])
    with pytest.raises(ModelError, match="decision_regions"):
        explain.surfaces(labels, X, Y, [0, 0])


def test_leaves_of_a_drawn_tree_are_formulas():
    first, second = explain.drawn_trees(two_laws(), at=[1.0, 0.5])
    assert [node.text for node in first.nodes] == ["speed", "torque = 1\nbrake = −1", "torque = −3\nbrake = 2"]
    assert (
        second.nodes[0].text.replace("\N{NO-BREAK SPACE}", " ")
        == "torque = 0.5 + 2·angle\n  − 1·speed\nbrake = 0 + 1·speed"
    )
    assert second.nodes[0].taken
    assert not first.nodes[0].taken
    explain.draw_trees([first, second], 2)
    (cut,) = explain.drawn_trees(two_laws(), experts=[0], max_depth=0)
    assert cut.nodes[0].text == "2 leaves"


def test_a_run_shows_its_outputs_over_time():
    model = two_laws()
    states = np.random.default_rng(0).normal(size=(30, 2))
    run = explain.trajectory(model, states, units={"torque": "Nm", "angle": "rad"})
    assert run.class_names == ("torque [Nm]", "brake")
    assert run.features == ("angle [rad]", "speed")
    assert np.array_equal(run.answers, model.predict(states))
    figure = explain.draw_trajectory(run)
    assert len(figure.axes) == 5
    assert np.array_equal(figure.axes[2].lines[0].get_ydata(), model.predict(states)[:, 0])


def test_a_gate_is_drawn_whatever_is_behind_it():
    assert explain.gate_table(two_laws()).values.tolist() == [[0, 0, 0], [1, 0, 0]]
