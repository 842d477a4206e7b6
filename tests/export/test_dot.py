"""The drawing for Graphviz."""

import re

import numpy as np

from moet import Mixture, Tree, export
from moet.model.file import digest

from .samples import HOSTILE, published_policy, random_mixture

STRING = r'"(?:[^"\\]|\\.)*"'


def test_the_whole_graph():
    stump = Tree([1, -1, -1], [0.12345678, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [1, 0], [0.25, 0.75]])
    mixture = Mixture([[0, 0], [2.5, -1]], [0, 1], [Tree.leaf([1, 0]), stump], ["go", "stop"], ["speed", "gap"])
    assert export.dot(mixture).splitlines() == [
        "// hard mixture of expert trees: experts 2, leaves 3, nodes 4, depth 1, gate numbers 6",
        f"// model {digest(mixture)}",
        "digraph moet {",
        '  graph [fontname="sans-serif"];',
        '  node [fontname="sans-serif", shape=box];',
        '  edge [fontname="sans-serif"];',
        '  gate [label="gate: the largest score answers", shape=ellipse];',
        "  gate -> t0n0;",
        "  subgraph cluster_0 {",
        r'    label="expert 0\nscore = 0";',
        '    t0n0 [label="go (1.00)", style="rounded,filled", fillcolor="gray92"];',
        "  }",
        "  gate -> t1n0;",
        "  subgraph cluster_1 {",
        r'    label="expert 1\nscore = 1\n+ 2.5*speed - 1*gap";',
        '    t1n0 [label="gap <= 0.1235"];',
        '    t1n0 -> t1n1 [label="yes"];',
        '    t1n0 -> t1n2 [label="no"];',
        '    t1n1 [label="go (1.00)", style="rounded,filled", fillcolor="gray92"];',
        '    t1n2 [label="stop (0.75)", style="rounded,filled", fillcolor="gray92"];',
        "  }",
        "}",
    ]
    assert "gap <= 0.12345678" in export.dot(mixture, digits=17)


def test_soft_leaves_show_all_that_they_vote_for():
    trees = [Tree.leaf([0.25, 0.75, 0]), Tree.leaf([0, 0, 1])]
    text = export.dot(Mixture(np.zeros((2, 1)), [0, 0], trees, [1, 2, 3], prediction="soft"))
    assert "softmax" in text
    assert r'"2 (0.75)\n1 (0.25)"' in text


def test_one_tree_has_no_gate():
    text = export.dot(random_mixture(0, 1, 3))
    assert "gate ->" not in text
    assert "cluster" not in text


def test_every_node_is_drawn_once():
    mixture = random_mixture(7, 8, 6)
    text = export.dot(mixture)
    assert len(re.findall(r"^ +t\d+n\d+ \[", text, re.MULTILINE)) == mixture.size.nodes
    assert text.count(" -> ") == mixture.size.nodes  # one edge into every node, roots included


def test_hostile_names_stay_inside_their_strings():
    mixture = random_mixture(3, 2, 2, len(HOSTILE), len(HOSTILE))
    text = export.dot(Mixture(mixture.gate_weights, mixture.gate_bias, mixture.trees, HOSTILE, HOSTILE))
    text.encode("utf-8")
    bare = re.sub(STRING, "", text.partition("digraph")[2])
    assert re.fullmatch(r"[\sa-z0-9_{}\[\]=,;>-]*", bare)
    plain = export.dot(published_policy()).partition("digraph")[2]
    assert re.fullmatch(r"[\sa-z0-9_{}\[\]=,;>-]*", re.sub(STRING, "", plain))
