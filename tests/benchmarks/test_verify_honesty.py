"""A share of the questions of benchmarks/verify_honesty.py, which asks thousands."""

import pytest
from verify_honesty import KINDS, judge, random_question

N_QUESTIONS = 210


@pytest.mark.parametrize("kind", KINDS)
def test_no_verdict_is_wrong(kind):
    pytest.importorskip("z3")
    answers = []
    for seed in range(KINDS.index(kind), N_QUESTIONS, len(KINDS)):
        question = random_question(seed)
        assert question.kind == kind
        answers.append(judge(question))
    assert "far" not in answers
