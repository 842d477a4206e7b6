"""Models that answer with numbers, as text."""

import numpy as np

from moet import RegressionMixture, RegressionTree, explain

STUMP = RegressionTree([1, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [[0.0, 0.0], [1.0, 0.0], [-0.25, 3.0]])
LAW = RegressionTree.leaf([0.25, 0.0], slope=[[2.0, -1.0], [0.0, 0.125]])


def mixture(**changes):
    parts = {
        "gate_weights": [[1.0, 0.0], [-1.0, 0.0]],
        "gate_bias": [0.0, 0.5],
        "trees": [STUMP, LAW],
        "outputs": ["main", "side"],
        "low": [-2.0, -np.inf],
        "high": [2.0, 4.0],
        "feature_names": ["angle", "speed"],
    }
    return RegressionMixture(**(parts | changes))


def test_every_leaf_is_a_formula():
    assert explain.rules(mixture(), units={"angle": "rad", "main": "N"}).splitlines() == [
        "hard mixture of 2 experts: 3 leaves, 4 nodes, depth 1, 6 gate numbers",
        "units: angle [rad], main [N]",
        "main is clipped to at least -2 and at most 2",
        "side is clipped to at most 4",
        "",
        "gate: expert 0 if 2*angle >= 0.5, else expert 1",
        "",
        "expert 0:",
        "  if speed <= 0.5:",
        "    main = 1",
        "    side = 0",
        "  else:",
        "    main = -0.25",
        "    side = 3",
        "",
        "expert 1:",
        "  main = 0.25 + 2*angle - 1*speed",
        "  side = 0.125*speed",
    ]


def test_soft_models_say_that_outputs_are_averaged():
    text = explain.rules(mixture(prediction="soft"))
    assert "gate: the mean of all experts' outputs, weighted by softmax(scores)" in text


def test_one_law_is_a_formula():
    law = RegressionMixture([[0.0, 0.0]], [0.0], [LAW], ["main", "side"])
    assert explain.rules(law).splitlines()[2:] == ["main = 0.25 + 2*x0 - 1*x1", "side = 0.125*x1"]


def test_names_cannot_move_the_cursor():
    hostile = RegressionMixture([[0.0]], [0.0], [RegressionTree.leaf([1.0])], ["\x1b[2J"])
    assert "\x1b" not in explain.rules(hostile)
