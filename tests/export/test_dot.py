"""The drawing for Graphviz."""

import re
import shutil

import numpy as np
import pytest

from moet import Mixture, Tree, export
from moet.model.file import digest
from tests.processes import run
from tests.random_models import tying_mixture

from .samples import HOSTILE, published_policy

STRING = r'"(?:[^"\\]|\\.)*"'


def test_the_whole_graph():
    stump = Tree([1, -1, -1], [0.12345678, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [1, 0], [0.25, 0.75]])
    mixture = Mixture([[0, 0], [2.5, -1]], [0, 1], [Tree.leaf([1, 0]), stump], ["go", "stop"], ["speed", "gap"])
    assert export.dot(mixture).splitlines() == [
        "// hard mixture of 2 experts: 3 leaves, 4 nodes, depth 1, 6 gate numbers",
        f"// model {digest(mixture)}",
        "digraph moet {",
        "  graph [rankdir=LR, ordering=out, nodesep=0.12];",
        '  node [fontname="sans-serif", fontsize=11, shape=box, height=0.3, margin="0.1,0.04"];',
        '  edge [fontname="sans-serif", fontsize=9, arrowsize=0.6];',
        r'  gate [label="gate:\nthe largest\nscore answers", shape=ellipse];',
        r'  e0 [label="expert 0\nscore = 0"];',
        "  gate -> e0 -> t0n0;",
        '  t0n0 [label="go (1.00)", style="rounded,filled", fillcolor="/pastel19/1"];',
        r'  e1 [label="expert 1\nscore = 1\n+ 2.5*speed - 1*gap"];',
        "  gate -> e1 -> t1n0;",
        '  t1n0 [label="gap <= 0.1235"];',
        '  t1n0 -> t1n1 [label="yes"];',
        '  t1n0 -> t1n2 [label="no"];',
        '  t1n1 [label="go (1.00)", style="rounded,filled", fillcolor="/pastel19/1"];',
        '  t1n2 [label="stop (0.75)", style="rounded,filled", fillcolor="/pastel19/2"];',
        "}",
    ]
    assert "gap <= 0.12345678" in export.dot(mixture, digits=17)


def test_soft_leaves_show_all_that_they_vote_for():
    trees = [Tree.leaf([0.25, 0.75, 0]), Tree.leaf([0, 0, 1])]
    text = export.dot(Mixture(np.zeros((2, 1)), [0, 0], trees, [1, 2, 3], prediction="soft"))
    assert "softmax" in text
    assert r'"2 (0.75)\n1 (0.25)"' in text


def test_one_tree_has_no_gate():
    text = export.dot(tying_mixture(0, 1, 3))
    assert "gate" not in text.partition("digraph")[2]
    assert "expert" not in text.partition("digraph")[2]
    assert "rankdir=TB" in text


def test_every_node_is_drawn_once():
    mixture = tying_mixture(7, 8, 6)
    text = export.dot(mixture)
    assert len(re.findall(r"^ +t\d+n\d+ \[", text, re.MULTILINE)) == mixture.size.nodes
    assert text.count(" -> ") == mixture.size.nodes + mixture.n_experts  # one into every node, roots included


def test_hostile_names_stay_inside_their_strings():
    mixture = tying_mixture(3, 2, 2, len(HOSTILE), len(HOSTILE))
    text = export.dot(Mixture(mixture.gate_weights, mixture.gate_bias, mixture.trees, HOSTILE, HOSTILE))
    text.encode("utf-8")
    bare = re.sub(STRING, "", text.partition("digraph")[2])
    assert re.fullmatch(r"[\sa-zLR0-9_.{}\[\]=,;>-]*", bare)
    plain = export.dot(published_policy()).partition("digraph")[2]
    assert re.fullmatch(r"[\sa-zLR0-9_.{}\[\]=,;>-]*", re.sub(STRING, "", plain))


@pytest.mark.processes
@pytest.mark.skipif(not shutil.which("dot"), reason="Graphviz is not installed")
def test_graphviz_draws_it():
    mixture = tying_mixture(3, 2, 2, len(HOSTILE), len(HOSTILE))
    for model in (mixture, Mixture(mixture.gate_weights, mixture.gate_bias, mixture.trees, HOSTILE, HOSTILE)):
        drawn = run(["dot", "-Tsvg"], input=export.dot(model))
        assert (drawn.returncode, drawn.stderr) == (0, "")
        assert drawn.stdout.count('class="node"') == mixture.size.nodes + mixture.n_experts + 1
