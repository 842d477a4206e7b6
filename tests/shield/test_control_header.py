"""Shields for controls in C: the same decisions to the bit, whatever the compiler may fuse."""

import shutil

import numpy as np
import pytest

from moet.distill import control_law
from moet.errors import ExportError
from moet.shield import ControlShield
from moet.shield.control_header import control_c
from moet.verify import systems
from tests.processes import run as run_process

pytestmark = pytest.mark.processes

COMPILER = shutil.which("cc") or shutil.which("gcc")

MAIN = """
#include <stdio.h>
#include "shield.h"
int main(void)
{
    double row[%(d)d + %(m)d], answer[%(m)d + 1];
    while (fread(row, sizeof row, 1, stdin) == 1) {
        answer[%(m)d] = shield_act(row, row + %(d)d, answer);
        fwrite(answer, sizeof answer, 1, stdout);
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def shield():
    plant = systems.AffineSystem(
        "rooms",
        states=["first", "second"],
        controls={"heat": (-1, 1), "cool": ("-0.5", "0.7")},
        matrix=[["1.05", "0.1"], ["-0.05", "1.02"]],
        input_matrix=[["0.2", "0.03"], ["0.01", "0.3"]],
        initial={"first": ("-0.3", "0.3"), "second": ("-0.3", "0.3")},
        safe=["-1 <= first <= 1", "-1 <= second <= 1", "first + second <= 1.2"],
        disturbance={"first": "0.01", "second": "0.01"},
    )
    law = control_law(plant, widen=True)
    return ControlShield(law.verdict.certificate, law.policy, plant)


def answers_in_c(shield, folder, rows, *flags):
    (folder / "shield.h").write_text(control_c(shield))
    (folder / "main.c").write_text(MAIN % {"d": shield.system.n_states, "m": len(shield.system.controls)})
    program = folder / "program"
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O2"]
    run_process([COMPILER, *strict, *flags, str(folder / "main.c"), "-o", str(program)]).check_returncode()
    (folder / "rows").write_bytes(rows.tobytes())
    with (folder / "rows").open("rb") as asked, (folder / "answers").open("wb") as answered:
        run_process([program], stdin=asked, stdout=answered, check=True)
    return np.frombuffer((folder / "answers").read_bytes(), np.float64).reshape(len(rows), -1)


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
@pytest.mark.parametrize("flags", [[], ["-O3", "-march=native", "-ffp-contract=fast"], ["-O0"]], ids=str)
def test_decisions_are_the_same_to_the_bit(shield, tmp_path, flags):
    random = np.random.default_rng(0)
    rows = random.uniform(-1.3, 1.3, (350_000, 4)) * random.choice([0.1, 0.5, 1.0, 20.0], (350_000, 1))
    found = answers_in_c(shield, tmp_path, rows, *flags)
    taken = shield.act_many(rows[:, :2], rows[:, 2:])
    assert np.array_equal(found[:, :2], taken)
    wanted = np.clip(rows[:, 2:], shield.tables.low, shield.tables.high)
    changed = np.any(taken != wanted, axis=1)
    assert 0.05 < changed.mean() < 0.95
    assert np.all(found[changed, 2] == 1)


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
def test_what_is_no_number_is_refused_and_infinite_wishes_are_clipped(shield, tmp_path):
    nan, inf = np.nan, np.inf
    rows = np.array([[nan, 0, 0, 0], [0, inf, 0, 0], [0, 0, nan, 0], [0, 0, inf, -inf], [0.01, 0.02, 0.03, 0.04]])
    found = answers_in_c(shield, tmp_path, rows)
    assert found[:3, 2].tolist() == [-1.0, -1.0, -1.0]
    assert np.array_equal(found[3:, :2], shield.act_many(rows[3:, :2], rows[3:, 2:]))


def test_a_name_that_c_does_not_know_is_refused(shield):
    with pytest.raises(ExportError):
        control_c(shield, name="1 shield")


def test_the_header_names_what_it_is_about(shield):
    text = control_c(shield, name="rooms")
    assert shield.digest in text
    assert shield.system.digest in text
    assert "int rooms_act(" in text


@pytest.mark.parametrize("compiler", [name for name in ("gcc", "clang", "g++", "clang++") if shutil.which(name)])
def test_the_self_test_passes_in_c_and_in_cpp11(shield, tmp_path, compiler):
    (tmp_path / "guard.h").write_text(control_c(shield, name="guard", self_test=True))
    source = tmp_path / ("main.cpp" if "++" in compiler else "main.c")
    source.write_text('#include "guard.h"\nint main(void) { return guard_self_test(); }\n')
    standard = "-std=c++11" if "++" in compiler else "-std=c99"
    strict = [standard, "-Wall", "-Wextra", "-pedantic", "-Werror", "-O2"]
    run_process([compiler, *strict, str(source), "-o", str(tmp_path / "main")], check=True)
    assert run_process([tmp_path / "main"]).returncode == 0


@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
def test_the_self_test_notices_a_number_that_was_changed(shield, tmp_path):
    text = control_c(shield, name="guard", self_test=True)
    broken = text.replace("double value = guard_times(test[0], x[0]);", "double value = x[0];")
    assert broken != text
    (tmp_path / "guard.h").write_text(broken)
    (tmp_path / "main.c").write_text('#include "guard.h"\nint main(void) { return guard_self_test() != 0; }\n')
    run_process([COMPILER, "-std=c99", str(tmp_path / "main.c"), "-o", str(tmp_path / "main")], check=True)
    assert run_process([tmp_path / "main"]).returncode == 1
