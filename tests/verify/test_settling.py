"""Loops that settle whatever the policy does, in more dimensions, and the work of several threads."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from verify_horizon import upright_policy
from verify_scale import question

from moet.errors import CertificateError, InputError
from moet.verify import Proved, check, safe, systems
from moet.verify.checker.certificate import Certificate
from moet.verify.checker.loops.intervals import BITS
from moet.verify.checker.loops.sets.powers import powers_of
from moet.verify.checker.meter import Meter
from moet.verify.limits import Deadline
from moet.verify.loops.sets.crew import in_order
from moet.verify.loops.sets.propagate import proven_ranges
from moet.verify.loops.sets.template import settling_time

from .loops import follow
from .test_invariant import rebuilt, records_of


@pytest.mark.parametrize(("kind", "d", "steps"), [("for ever", 8, None), ("100 steps", 8, 100), ("nonlinear", 8, 5)])
def test_random_loops_of_many_states_are_proved(kind: str, d: int, steps: int | None) -> None:
    mixture, system = question(kind, d, seed=0)
    verdict = safe(mixture, system, steps)
    assert isinstance(verdict, Proved)
    assert check(verdict.certificate, mixture, system)
    states = follow(mixture, system, steps or 200).reshape(-1, d)
    for k, (low, high) in enumerate(proven_ranges(verdict.certificate, system).values()):
        assert low <= states[:, k].min() <= states[:, k].max() <= high


def test_an_action_that_is_left_out_is_noticed() -> None:
    """Where a path stands for several actions, no record may say otherwise."""
    mixture, system = question("100 steps", 6, seed=0)
    certificate = safe(mixture, system, 100).certificate
    (records,) = records_of(certificate)
    codes = bytes(records[0])
    n_rejected = 0
    for wrong in (64, 128, 1, 255):
        for i in range(0, len(codes), len(codes) // 60):
            forged = Certificate(certificate.kind, certificate.claim)
            forged.add(codes[:i] + bytes([wrong]) + codes[i + 1 :], *records[1:])
            if codes[i] != wrong:
                with pytest.raises(CertificateError):
                    check(forged, mixture, system)
                n_rejected += 1
    assert n_rejected > 100
    assert check(rebuilt(certificate), mixture, system)


@pytest.mark.parametrize("steps", [30, None])
def test_certificates_are_the_same_for_any_number_of_workers(tmp_path: Path, steps: int | None) -> None:
    files = []
    for workers in (1, 2, 3):
        verdict = safe(upright_policy(), systems.pendulum(), steps, workers=workers)
        assert isinstance(verdict, Proved)
        verdict.certificate.save(tmp_path / str(workers))
        files.append((tmp_path / str(workers)).read_bytes())
    assert files[0] == files[1] == files[2]


def test_threads_keep_the_order_and_tell_the_first_failure() -> None:
    assert in_order(lambda x: x * x, range(20), 3, Deadline(None)) == [x * x for x in range(20)]

    def fail(x: int) -> int:
        raise ValueError(x)

    with pytest.raises(ValueError, match=r"^0$"):
        in_order(fail, range(5), 2, Deadline(None))


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "all"])
def test_a_wrong_number_of_workers_is_an_error(workers: object) -> None:
    with pytest.raises(InputError, match="workers"):
        safe(upright_policy(), systems.pendulum(), 5, workers=workers)  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [0.001, 0.3, 1, 40])
def test_powers_of_a_matrix_are_off_by_less_than_one(scale: float) -> None:
    random = np.random.default_rng(0)
    matrix, rows = (
        [[Fraction(value) for value in row] for row in array.tolist()]
        for array in (random.normal(size=(3, 3)) * scale, random.normal(size=(4, 3)) * [[1], [1e-6], [1e6], [1e-300]])
    )
    exact = rows
    for power in powers_of(matrix, rows, 12, Meter()):
        pairs = zip(chain(*power), chain(*exact), strict=True)
        assert all(abs(found - value * 2**BITS) < 1 for found, value in pairs)
        columns = list(zip(*matrix, strict=True))
        exact = [[sum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in exact]


def test_powers_that_grow_beyond_all_bounds_are_refused() -> None:
    with pytest.raises(CertificateError, match="too large"):
        powers_of([[Fraction(10**300)]], [[Fraction(1)]], 100, Meter())


def test_a_system_that_does_not_shrink_has_no_settling_time() -> None:
    spread = np.ones(2)
    assert settling_time(np.eye(2), spread, 100) is None
    assert settling_time(0.5 * np.eye(2), spread, 100) == 4


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_take_numbers_beyond_float64_for_an_error_as_their_caller_does(workers):
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        in_order(lambda size: np.float64(size) * 1e200, [1.0, 1e200], workers, Deadline())
