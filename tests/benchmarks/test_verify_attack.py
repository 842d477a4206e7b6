"""A share of the attacks of benchmarks/verify_attack.py, which makes a hundred thousand."""

import pytest
from verify_attack import KINDS, attempt

PER_KIND = 40


@pytest.mark.parametrize("kind", KINDS)
def test_no_attack_succeeds(kind):
    pytest.importorskip("z3")
    pytest.importorskip("mpmath")
    defects = [outcome for seed in range(PER_KIND) if (outcome := attempt(kind, seed)).defect]
    assert not defects
