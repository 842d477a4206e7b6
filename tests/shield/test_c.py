"""Shields in C: the same decisions to the bit, whatever the compiler may fuse."""

import copy
import shutil

import numpy as np
import pytest

from moet.errors import ExportError
from moet.shield.c_header import c
from moet.shield.kernel import packed
from moet.shield.look_ahead import _tables
from tests.export.test_c import has_fused_multiply_add
from tests.processes import run as run_process

COMPILER = shutil.which("cc") or shutil.which("gcc")

MAIN = """
#include <stdio.h>
#include "shield.h"
int main(void)
{
    double row[%(d)d + %(n)d];
    while (fread(row, sizeof row, 1, stdin) == 1) {
        int answers[2] = {shield_act(row, (int)row[%(d)d]%(left)s), shield_steps_ahead(row, (int)row[%(d)d])};
        fwrite(answers, sizeof answers, 1, stdout);
    }
    return 0;
}
"""


def answers_in_c(shield, folder, rows, *flags):
    """What the compiled header answers."""
    (folder / "shield.h").write_text(c(shield))
    d, n = shield.system.n_states, rows.shape[1] - shield.system.n_states
    left = f", (int)row[{d + 1}]" if n > 1 else ""
    (folder / "main.c").write_text(MAIN % {"d": d, "n": n, "left": left})
    program = folder / "program"
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O2"]
    run_process([COMPILER, *strict, *flags, str(folder / "main.c"), "-o", str(program), "-lm"]).check_returncode()
    (folder / "rows").write_bytes(rows.tobytes())
    with (folder / "rows").open("rb") as asked, (folder / "answers").open("wb") as answered:
        run_process([program], stdin=asked, stdout=answered, check=True)
    return np.frombuffer((folder / "answers").read_bytes(), np.int32).reshape(-1, 2)


def rows_for(shield, count, seed=0):
    """States in and beyond the box, on float32 numbers, on the verge, and where nothing is finite."""
    random = np.random.default_rng(seed)
    low, high = np.array([shield.tables.bottom, shield.tables.top]) * 1.1
    states = random.uniform(low, high, (count, len(low))) * random.choice([0.1, 0.5, 1.0], (count, 1))
    states[::3] = states[::3].astype(np.float32)
    states[:3, 0] = np.nan, np.inf, -np.inf
    actions = random.integers(0, len(shield.system.actions), count)
    return np.hstack([states, actions[:, None].astype(float)])


@pytest.mark.processes
@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
@pytest.mark.parametrize("flags", [[], ["-O3", "-march=native", "-ffp-contract=fast"], ["-O0"]], ids=str)
@pytest.mark.parametrize("which", ["cart_shield", "pole_shield"])
def test_decisions_are_the_same_to_the_bit(request, tmp_path, which, flags):
    shield = request.getfixturevalue(which)
    rows = rows_for(shield, 20_000)
    found = answers_in_c(shield, tmp_path, rows, *flags)
    finite = np.all(np.isfinite(rows), axis=1)
    assert np.all(found[~finite] == [-1, 0])
    states, wanted = rows[finite, :-1], rows[finite, -1].astype(np.int64)
    assert np.array_equal(found[finite, 0], shield.act_many(states, wanted))
    ahead = [shield.steps_ahead(x, a) for x, a in zip(states[:4000], wanted[:4000], strict=True)]
    assert np.array_equal(found[finite, 1][:4000], ahead)
    assert len(set(ahead)) > 3


@pytest.mark.processes
@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
@pytest.mark.parametrize("flags", [[], ["-O3", "-march=native", "-ffp-contract=fast"]], ids=str)
def test_decisions_about_a_goal_are_the_same_to_the_bit(car_shield, tmp_path, flags):
    rows = rows_for(car_shield, 20_000)
    left = np.random.default_rng(1).integers(0, 140, len(rows))
    found = answers_in_c(car_shield, tmp_path, np.hstack([rows, left[:, None].astype(float)]), *flags)
    finite = np.all(np.isfinite(rows), axis=1)
    states, wanted = rows[finite, :-1], rows[finite, -1].astype(np.int64)
    assert np.all(found[~finite] == [-1, 0])
    taken = car_shield.act_many(states, wanted, left[finite])
    assert np.array_equal(found[finite, 0], taken)
    assert 0.1 < np.mean(taken == wanted) < 0.9
    ahead = [car_shield.steps_ahead(x, a) for x, a in zip(states[:4000], wanted[:4000], strict=True)]
    assert np.array_equal(found[finite, 1][:4000], ahead)


@pytest.mark.processes
@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
def test_what_is_no_action_is_refused(cart_shield, tmp_path):
    found = answers_in_c(cart_shield, tmp_path, np.array([[0.0, 0.0, 7.0], [0.0, 0.0, -1.0]]))
    assert found.tolist() == [[-1, 0], [-1, 0]]


def test_digests_stand_at_its_head(cart_shield):
    text = c(cart_shield, name="guard")
    assert cart_shield.system.digest in text
    assert cart_shield.digest in text
    assert f'#define GUARD_PROOF "{cart_shield.digest}"' in text
    assert "int guard_act(" in text
    assert text.isascii()


def test_a_name_that_c_does_not_know_is_refused(cart_shield):
    with pytest.raises(ExportError):
        c(cart_shield, name="1st")


@pytest.mark.parametrize("compiler", [name for name in ("gcc", "clang", "g++", "clang++") if shutil.which(name)])
@pytest.mark.parametrize("flags", [["-O0"], ["-O2", "-march=haswell"]], ids=str)
@pytest.mark.parametrize("which", ["pole_shield", "car_shield"])
@pytest.mark.processes
def test_the_self_test_passes_in_c_and_in_cpp11(request, tmp_path, which, compiler, flags):
    (tmp_path / "guard.h").write_text(c(request.getfixturevalue(which), name="guard", self_test=True))
    source = tmp_path / ("main.cpp" if "++" in compiler else "main.c")
    source.write_text('#include "guard.h"\nint main(void) { return guard_self_test(); }\n')
    standard = "-std=c++11" if "++" in compiler else "-std=c99"
    strict = [standard, "-Wall", "-Wextra", "-pedantic", "-Werror"]
    run_process([compiler, *strict, *flags, str(source), "-o", str(tmp_path / "main"), "-lm"], check=True)
    if flags == ["-O0"] or has_fused_multiply_add():
        assert run_process([tmp_path / "main"]).returncode == 0


@pytest.mark.processes
@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
def test_where_the_set_is_empty_only_the_policy_acts(cart_shield, tmp_path):
    claimed = cart_shield.certificate.claim["shield"]
    tables = cart_shield.tables
    empty = copy.copy(cart_shield)
    empty.tables = _tables(
        {**claimed, "limits": [None] * len(claimed["limits"])},
        *(cart_shield.policy, cart_shield.system, tables.rows, tables.safe_rows),
    )
    empty._packed = packed(empty.tables)
    rows = rows_for(empty, 100)[3:]
    told = answers_in_c(empty, tmp_path, rows, "-Wpedantic")
    d = empty.system.n_states
    assert not told[:, 1].any()
    assert np.array_equal(told[:, 0], empty.act_many(rows[:, :d], rows[:, d].astype(int)))
