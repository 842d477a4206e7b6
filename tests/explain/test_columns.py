"""Models of tables are told in the columns of the table."""

from dataclasses import replace

import numpy as np
import pytest

from moet import Column, Mixture, Schema, Tree, explain
from moet.explain.columns import Columns

SCHEMA = Schema(
    [
        Column("Age", "integer", ("Age",), 19, 75),
        Column("Housing", "category", ("Housing=(empty)", "Housing=own"), categories=("(empty)", "own")),
        Column("Savings", "ordered", ("Savings",), categories=("little", "some", "rich")),
        Column("Married", "boolean", ("Married",)),
        Column("Income", "number", ("Income",), 0.0, 2.0),
    ]
)
STUMP = Tree([1, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [0, 1], [1, 0]])
WEIGHTS = [[0.0] * 6, [0.05, 10.0, -3.0, 2.0, 0.0, 1.5], [0.0, 0.0, 0.0, 0.0, -4.0, 0.0]]
STUMP_OF_ONE = Tree([0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [1, 0], [0, 1]])
MODEL = Mixture(WEIGHTS, [0.0, 1.0, 2.0], [STUMP, Tree.leaf([1, 0]), STUMP], ["bad", "good"], schema=SCHEMA)


@pytest.mark.parametrize(
    ("feature", "threshold", "said"),
    [
        (0, 40.5, ("Age <= 40", "Age >= 41")),
        (1, 0.5, ("Housing is not (empty)", "Housing is (empty)")),
        (3, 0.5, ("Savings is at most little", "Savings is at least some")),
        (4, 0.0, ("Married is no", "Married is yes")),
        (5, 0.5, None),
        (1, 1.5, None),
        (3, 7.0, None),
    ],
)
def test_tests_are_told_as_what_rows_are(feature, threshold, said):
    assert Columns(SCHEMA).tests(feature, threshold) == said


def test_a_gate_is_told_by_column_those_of_largest_influence_first():
    text = explain.rules(MODEL)
    assert "score 1 = 1 + [Housing: (empty) +10, own -3] + 2*Savings + 1.5*Income + 0.05*Age" in text
    assert "score 2 = 2 + [Married: yes -4]" in text
    assert "if Housing is not (empty):" in text
    short = explain.rules(MODEL, columns=2)
    assert "score 1 = 1 + [Housing: (empty) +10, own -3] + 2*Savings + (2 columns of less influence)" in short


@pytest.mark.parametrize(
    ("feature", "threshold", "box", "branches"),
    [
        (0, 40.5, "Age", ["≤ 40", "≥ 41"]),
        (1, 0.5, "Housing", ["is not (empty)", "is (empty)"]),
        (3, 0.5, "Savings", ["is at most little", "is at least some"]),
        (4, 0.0, "Married", ["is no", "is yes"]),
        (5, -0.5, "Income", ["≤ −0.5", "> −0.5"]),
    ],
)
def test_trees_are_drawn_in_columns(feature, threshold, box, branches):
    tree = Tree([feature, -1, -1], [threshold, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [1, 0], [0, 1]])
    (drawn,) = explain.drawn_trees(Mixture([[0.0] * 6], [0.0], [tree], ["bad", "good"], schema=SCHEMA))
    assert drawn.nodes[0].text == box
    assert [node.branch for node in drawn.nodes[1:]] == branches


def test_of_many_categories_those_of_largest_numbers_are_told():
    """Forty countries filled half a page for every expert."""
    values = [f"c{k}" for k in range(12)]
    schema = Schema([Column("Country", "category", tuple(f"Country={v}" for v in values), categories=tuple(values))])
    weights = np.array([[0.0] * 12, [1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, 0]])
    model = Mixture(weights, [0.0, 0.0], [STUMP_OF_ONE, Tree.leaf([1, 0])], ["bad", "good"], schema=schema)
    every = "c0 +1, c1 -2, c2 +3, c3 -4, c4 +5, c5 -6, c6 +7, c7 -8, c8 +9, c9 -10, c10 +11]"
    assert every in " ".join(explain.rules(model).split())
    short = " ".join(explain.rules(model, columns=8).split())
    assert "[Country: c10 +11, c9 -10, c8 +9, c7 -8, c6 +7, c5 -6, c4 +5, c3 -4, (3 more)]" in short
    nine = replace(model, gate_weights=np.where(np.abs(weights) > 2, weights, 0.0))
    assert "more)" not in explain.rules(nine, columns=8)


def test_reasons_are_told_by_column():
    row = {"Age": 30, "Housing": "own", "Savings": "rich", "Married": "yes", "Income": 1.0}
    reasons = explain.why(MODEL, row)
    text = str(reasons)
    assert reasons.x == tuple(SCHEMA.encode_row(row).tolist())
    assert "Housing=own" not in text
    lines = [line.split() for line in text.splitlines()]
    assert ["Housing", "own", "-3"] in lines
    nearest = reasons.closest
    assert set(SCHEMA.row(nearest.point)) == set(row)
    assert all(float(v).is_integer() for v in np.asarray(nearest.point)[:5])


def test_sliders_of_the_explorer_span_possible_values():
    from moet.explain.explorer_page.ranges import Range, slider_ranges

    assert slider_ranges([MODEL], None) == [
        Range(19.0, 75.0, True),
        Range(0.0, 1.0, True),
        Range(0.0, 1.0, True),
        Range(0.0, 2.0, True),
        Range(0.0, 1.0, True),
        Range(0.0, 2.0, False),
    ]
