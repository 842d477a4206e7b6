"""Models of tables are told in the columns of the table."""

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
