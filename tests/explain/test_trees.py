"""Drawn trees: everything is there, in its place, and nothing covers anything else."""

import itertools

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from moet import Mixture, Tree
from moet.errors import InputError
from moet.explain import draw_trees, drawn_trees
from tests.random_models import random_mixture

SMALL = Tree(
    feature=[1, -1, 0, -1, -1],
    threshold=[0.25, 0, -1.5, 0, 0],
    left=[1, -1, 3, -1, -1],
    right=[2, -1, 4, -1, -1],
    value=[[0.5, 0.5], [0.75, 0.25], [0.4, 0.6], [0.0, 1.0], [0.3, 0.7]],
)


def model(*trees, prediction="hard") -> Mixture:
    weights = np.arange(2.0 * len(trees)).reshape(-1, 2)
    return Mixture(weights, np.zeros(len(trees)), trees, ["no", "yes"], ["angle", "speed"], prediction)


def test_the_layout_of_a_small_tree():
    (tree,) = drawn_trees(model(SMALL), units={"speed": "m/s"})
    assert (tree.title, tree.width, tree.height) == ("decision tree", 3, 3)
    assert [(n.x, n.level, n.kind, n.text, n.branch, n.parent) for n in tree.nodes] == [
        (1.25, 0, "test", "speed [m/s]", "", None),
        (0.5, 1, "leaf", "no\n0.75", "≤ 0.25", 0),
        (2.0, 1, "test", "angle", "> 0.25", 0),
        (1.5, 2, "leaf", "yes\n1.00", "≤ −1.5", 2),
        (2.5, 2, "leaf", "yes\n0.70", "> −1.5", 2),
    ]
    assert [n.answer for n in tree.nodes] == [None, 0, None, 1, 1]
    assert not any(n.taken for n in tree.nodes)


def test_what_is_cut_is_told():
    first, second = drawn_trees(model(SMALL, Tree.leaf([1.0, 0.0])), max_depth=1)
    assert first.title == "expert 0: 3 leaves, depth 2, drawn to depth 1"
    assert [n.kind for n in first.nodes] == ["test", "leaf", "cut"]
    assert first.nodes[2].text == "2 leaves,\nmostly yes\n0.60"
    assert (first.width, first.height) == (2, 2)
    assert (second.title, second.width) == ("expert 1", 1)
    with pytest.raises(InputError, match="at least 0, got -1"):
        drawn_trees(model(SMALL), max_depth=-1)


def test_some_experts_only():
    trees = drawn_trees(model(SMALL, Tree.leaf([1.0, 0.0]), SMALL), experts=[2, 1])
    assert [(tree.title, tree.width) for tree in trees] == [("expert 2", 3), ("expert 1", 1)]
    with pytest.raises(InputError, match="no expert 3; they are 0 to 2"):
        drawn_trees(model(SMALL, SMALL, SMALL), experts=[3])


def test_a_picture_too_large_to_draw():
    depth = 800  # a chain: as many levels
    inner = np.arange(depth)
    chain = Tree(
        feature=[0] * depth + [-1] * (depth + 1),
        threshold=np.zeros(2 * depth + 1),
        left=[*inner[1:], 2 * depth, *[-1] * (depth + 1)],
        right=[*(depth + inner), *[-1] * (depth + 1)],
        value=np.full((2 * depth + 1, 2), 0.5),
    )
    with pytest.raises(InputError, match="inches large"):
        draw_trees(drawn_trees(model(chain), max_depth=depth), 2)


def test_all_of_a_tree_is_drawn():
    mixture = random_mixture(1, n_experts=4, depth=6)
    for tree, drawn in zip(mixture.trees, drawn_trees(mixture, max_depth=6), strict=True):
        ends = [n for n in drawn.nodes if n.kind == "leaf"]
        assert len(drawn.nodes) == tree.n_nodes
        assert len(ends) == drawn.width == tree.n_leaves
        assert sorted(n.x for n in ends) == [k + 0.5 for k in range(drawn.width)]
        for place, node in enumerate(drawn.nodes):
            children = [n.x for n in drawn.nodes if n.parent == place]
            assert not children or (len(children) == 2 and node.x == pytest.approx(np.mean(children)))


@pytest.mark.parametrize("prediction", ["hard", "soft"])
def test_the_path_of_an_input(prediction):
    # expert 1 has the larger logit where angle + speed > 0
    mixture = model(SMALL, SMALL, prediction=prediction)
    first, second = drawn_trees(mixture, at=[2.0, 1.0])
    assert [n.taken for n in second.nodes] == [True, False, True, False, True]
    assert [n.taken for n in first.nodes] == [prediction == "soft" and n.taken for n in second.nodes]
    with pytest.raises(InputError, match="2 numbers"):
        drawn_trees(mixture, at=[1.0])


@pytest.mark.parametrize("names", [["a", "b", "c"], ["an_angle_with_a_long_name", "b", "another_long_one"]])
def test_no_text_covers_another(names):
    made = random_mixture(3, n_experts=5, depth=3)
    mixture = Mixture(made.gate_weights, made.gate_bias, made.trees, ["left", "right", "straight on"], names)
    figure = draw_trees(drawn_trees(mixture), 3)
    (axis,) = figure.axes
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    boxes = [(t.get_text(), t.get_window_extent(canvas.get_renderer())) for t in axis.texts]
    assert len(boxes) == 5 + sum(2 * tree.n_nodes - 1 for tree in mixture.trees)
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        assert not a.overlaps(b), (one, other)
    for text, box in boxes:
        assert figure.bbox.fully_containsx(box.x0), text
        assert figure.bbox.fully_containsx(box.x1), text
        assert figure.bbox.fully_containsy(box.y0), text
        assert figure.bbox.fully_containsy(box.y1), text


def test_thresholds_that_differ_look_different():
    trees = [Tree([0, -1, -1], [t, 0, 0], [1, -1, -1], [2, -1, -1], np.full((3, 2), 0.5)) for t in (1.23456, 1.23457)]
    texts = {node.branch for tree in drawn_trees(model(*trees)) for node in tree.nodes}
    assert {"≤ 1.23456", "≤ 1.23457"} <= texts
