"""A share of the questions of benchmarks/verify_loop_honesty.py, which asks thousands."""

import pytest
from verify_loop_honesty import judge


@pytest.mark.parametrize("block", range(4))
def test_no_verdict_is_wrong(block):
    pytest.importorskip("z3")
    answers = [verdict for seed in range(50 * block, 50 * block + 50) for _, verdict in judge(seed)]
    assert answers.count("Unknown") <= 6  # disturbances are bounded guard by guard, which may cost a verdict
    assert min(answers.count("Proved"), answers.count("Refuted")) > 10
