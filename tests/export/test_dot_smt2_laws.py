"""Models that answer with numbers as a drawing, and as functions for a solver."""

import re
import shutil
from fractions import Fraction

import numpy as np
import pytest

from moet import RegressionMixture, RegressionTree, export
from moet.errors import ExportError
from moet.model.file import digest
from moet.verify.smtlib.terms import number
from tests.processes import run

from .samples import HOSTILE
from .test_laws import MODELS, random_model

STUMP = RegressionTree(
    [1, -1, -1],
    [0.12345678, 0, 0],
    [1, -1, -1],
    [2, -1, -1],
    [[0.0, 0], [0.25, 1], [-0.5, 0]],
    [np.zeros((2, 2)), [[2, 0], [0, 0]], [[0, 0], [0, 3]]],
)
SMALL = RegressionMixture(
    [[0, 0], [2.5, -1]],
    [0, 1],
    [RegressionTree.leaf([1.5, -2]), STUMP],
    ["torque", "brake"],
    [-1, -np.inf],
    [2, np.inf],
    ["speed", "gap"],
)


def as_soft(model):
    return RegressionMixture(model.gate_weights, model.gate_bias, model.trees, model.outputs, prediction="soft")


def quartered(model):
    """The same model with numbers of quarters, which float64 adds without rounding."""
    trees = [
        RegressionTree(
            tree.feature,
            np.round(tree.threshold * 4) / 4,
            tree.left,
            tree.right,
            np.round(tree.value * 4) / 4,
            None if tree.slope is None else np.round(tree.slope * 4) / 4,
        )
        for tree in model.trees
    ]
    weights, bias = (np.round(part * 4) / 4 for part in (model.gate_weights, model.gate_bias))
    return RegressionMixture(weights, bias, trees, model.outputs, model.low, model.high, model.feature_names)


def test_the_whole_drawing():
    assert export.dot(SMALL).splitlines()[1:] == [
        f"// model {digest(SMALL)}",
        "digraph moet {",
        "  graph [rankdir=LR, ordering=out, nodesep=0.12];",
        '  node [fontname="sans-serif", fontsize=11, shape=box, height=0.3, margin="0.1,0.04"];',
        '  edge [fontname="sans-serif", fontsize=9, arrowsize=0.6];',
        r'  gate [label="gate:\nthe largest\nscore answers", shape=ellipse];',
        r'  bounds [label="clipped to\n-1 <= torque <= 2", shape=note];',
        r'  e0 [label="expert 0\nscore = 0"];',
        "  gate -> e0 -> t0n0;",
        r'  t0n0 [label="torque = 1.5\nbrake = -2", style="rounded,filled", fillcolor="/pastel19/1"];',
        r'  e1 [label="expert 1\nscore = 1\n+ 2.5*speed - 1*gap"];',
        "  gate -> e1 -> t1n0;",
        '  t1n0 [label="gap <= 0.1235"];',
        '  t1n0 -> t1n1 [label="yes"];',
        '  t1n0 -> t1n2 [label="no"];',
        r'  t1n1 [label="torque = 0.25\n+ 2*speed\nbrake = 1", style="rounded,filled", fillcolor="/pastel19/2"];',
        r'  t1n2 [label="torque = -0.5\nbrake = 0\n+ 3*gap", style="rounded,filled", fillcolor="/pastel19/2"];',
        "}",
    ]


def test_a_soft_drawing_says_that_it_is_a_mean_and_has_no_bounds_if_there_are_none():
    text = export.dot(as_soft(SMALL))
    assert r"mean of all, by\nsoftmax(scores)" in text
    assert "bounds" not in text


def hostile():
    model = random_model(0, 2, n_features=len(HOSTILE), n_outputs=len(HOSTILE))
    return RegressionMixture(model.gate_weights, model.gate_bias, model.trees, HOSTILE, model.low, model.high, HOSTILE)


def test_hostile_names_stay_inside_their_strings():
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", export.dot(hostile()).partition("digraph")[2])
    assert re.fullmatch(r"[\sa-zLR0-9_.{}\[\]=,;>-]*", bare)


@pytest.mark.processes
@pytest.mark.skipif(not shutil.which("dot"), reason="Graphviz is not installed")
def test_graphviz_draws_laws():
    model = hostile()
    drawn = run(["dot", "-Tsvg"], input=export.dot(model))
    assert (drawn.returncode, drawn.stderr) == (0, "")
    assert drawn.stdout.count('class="node"') == model.size.nodes + model.n_experts + 2  # gate and bounds


def differences(model, X, outputs):
    """z3's verdict on: at one of these points, an output is not the given one."""
    z3 = pytest.importorskip("z3")
    other = [
        f"(not (= (output{o} {' '.join(number(Fraction(v)) for v in x)}) {number(Fraction(u))}))"
        for x, row in zip(X.tolist(), outputs.tolist(), strict=True)
        for o, u in enumerate(row)
    ]
    solver = z3.Solver()
    solver.from_string(f"{export.smt2(model)}(assert (or {' '.join(other)}))")
    return str(solver.check())


@pytest.mark.parametrize("model", [quartered(model) for model in MODELS.values()], ids=MODELS)
def test_smt2_outputs_are_the_models_where_float64_rounds_nothing(model):
    X = np.random.default_rng(0).integers(-12, 13, size=(300, model.n_features)) / 4
    outputs = model.predict(X)
    assert differences(model, X, outputs) == "unsat"
    outputs[-1, -1] += 0.25
    assert differences(model, X, outputs) == "sat"


def test_smt2_names_outputs_and_can_be_asked_about_them():
    z3 = pytest.importorskip("z3")
    text = export.smt2(SMALL)
    assert {"; x1: gap", "; output0: torque", "(set-logic QF_LRA)"} <= set(text.splitlines())
    solver = z3.Solver()
    question = "(declare-const a Real)(declare-const b Real)(assert (> ({} a b) 2.0))"
    solver.from_string(text + question.format("output0"))
    assert solver.check() == z3.unsat
    solver = z3.Solver()
    solver.from_string(text + question.format("law0"))
    assert solver.check() == z3.sat


def test_smt2_reads_hostile_names_and_refuses_soft_models():
    z3 = pytest.importorskip("z3")
    solver = z3.Solver()
    solver.from_string(export.smt2(hostile()))
    assert solver.check() == z3.sat
    with pytest.raises(ExportError, match=r"soft mixture cannot be exported to SMT-LIB.*MoETRegressor"):
        export.smt2(as_soft(SMALL))
