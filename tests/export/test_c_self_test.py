"""The self-test of a C header: it passes in C and C++ with all options that compile, and wrong copies fail it."""

import re
import shutil

import numpy as np
import pytest

from moet import Mixture, Tree, export
from moet.export.c_parts import number
from moet.export.vectors import COUNT, self_test_rows
from tests.processes import run
from tests.random_models import tying_mixture

from .test_c import SAMPLES, has_fused_multiply_add, without_guards
from .test_laws import MODELS

STRICT = ["-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
COMPILERS = {
    name: [name, standard, *STRICT]
    for name, standard in (("gcc", "-std=c99"), ("clang", "-std=c99"), ("g++", "-std=c++11"), ("clang++", "-std=c++11"))
    if shutil.which(name)
}
# without a flag against contraction: the answers are right, or it does not compile
BUILDS = {
    "plain": ["-O0"],
    "haswell": ["-O2", "-march=haswell"],
    "fused": ["-O3", "-march=haswell", "-ffp-contract=fast"],
}
HEADERS = {
    "tables": lambda name: export.c(SAMPLES["real"], name=name, self_test=True),
    "ifs": lambda name: export.c(SAMPLES["tied"], name=name, style="ifs", self_test=True),
    "float32": lambda name: export.c(SAMPLES["real"], name=name, precision="float32", self_test=True),
    "approximate": lambda name: export.c(SAMPLES["real"], name=name, precision="float32-approximate", self_test=True),
    "tree": lambda name: export.c(SAMPLES["one_tree"], name=name, style="ifs", self_test=True),
    "leaf": lambda name: export.c(SAMPLES["one_leaf"], name=name, self_test=True),
    "tiny": lambda name: export.c(SAMPLES["tiny"], name=name, self_test=True),
    "hostile": lambda name: export.c(SAMPLES["hostile"], name=name, self_test=True),
    "numbers": lambda name: export.c(MODELS["unbounded"], name=name, self_test=True),
    "constants": lambda name: export.c(MODELS["constants"], name=name, self_test=True),
}


def outcome(folder, compiler, options, headers):
    """Exit code of the self-tests of all headers in one program."""
    calls = []
    for name, text in headers.items():
        (folder / f"{name}.h").write_text(text, encoding="ascii")
        calls.append(f"    if ({name}_self_test()) return {len(calls) + 1};\n")
    includes = "".join(f'#include "{name}.h"\n' for name in headers)
    source = folder / f"main.{'cpp' if '++' in compiler else 'c'}"
    source.write_text(f"{includes}int main(void)\n{{\n{''.join(calls)}    return 0;\n}}\n")
    built = run([*COMPILERS[compiler], *options, str(source), "-o", str(folder / "main")])
    assert (built.returncode, built.stderr) == (0, "")
    return run([str(folder / "main")]).returncode


needs_fused = pytest.mark.skipif(not has_fused_multiply_add(), reason="this processor has no fused multiply-add")


@pytest.mark.parametrize("build", [pytest.param(b, marks=needs_fused if b != "plain" else ()) for b in BUILDS])
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.processes
def test_every_build_passes_in_c_and_in_cpp11(tmp_path, compiler, build):
    assert outcome(tmp_path, compiler, BUILDS[build], {name: write(name) for name, write in HEADERS.items()}) == 0


@needs_fused
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.processes
def test_fused_products_fail_it(tmp_path, compiler):
    for name in ("tables", "numbers"):
        text = without_guards(HEADERS[name](name))
        assert outcome(tmp_path, compiler, BUILDS["fused"], {name: text}) == 1


@needs_fused
@pytest.mark.parametrize("compiler", [name for name in COMPILERS if "++" not in name])
@pytest.mark.processes
def test_callers_compiled_for_another_processor_change_nothing(tmp_path, compiler):
    """An inlined function is compiled for the processor of its caller, which may fuse."""
    (tmp_path / "moet.h").write_text(HEADERS["tables"]("moet"))
    source = tmp_path / "main.c"
    source.write_text('#include "moet.h"\n__attribute__((target("fma"))) int main(void) { return moet_self_test(); }\n')
    run([*COMPILERS[compiler], "-O3", str(source), "-o", str(tmp_path / "main")], check=True)
    assert run([str(tmp_path / "main")]).returncode == 0


@pytest.mark.skipif(not COMPILERS, reason="no C compiler is installed")
@pytest.mark.processes
def test_a_number_that_was_changed_fails_it(tmp_path):
    text = HEADERS["tables"]("moet")
    gate = re.search(r"gate\[8\]\[9\] = \{\n +\{(\S+),", text).group(1)
    assert (
        outcome(tmp_path, next(iter(COMPILERS)), [], {"moet": text.replace(gate, number(float(gate) + 1, "double"), 1)})
        == 1
    )


@pytest.mark.parametrize("precision", ["float64", "float32", "float32-approximate"])
def test_vectors_reach_leaves_meet_thresholds_and_are_always_the_same(precision):
    mixture = SAMPLES["real"]
    rows = self_test_rows(mixture, precision)
    assert len(rows) == COUNT
    assert np.array_equal(rows, self_test_rows(mixture, precision))
    assert len(np.unique(rows, axis=0)) == len(rows)
    assert len(set(zip(*map(np.ndarray.tolist, mixture.leaves(rows)), strict=True))) > 20
    if precision == "float64":
        met = [np.isin(rows[:, k], tree.threshold[tree.feature == k]).any() for tree in mixture.trees for k in range(8)]
        assert sum(met) > 10
    else:
        assert np.array_equal(rows, rows.astype(np.float32))


@pytest.mark.slow
def test_wide_models_have_fewer_vectors():
    rows = self_test_rows(Mixture(np.eye(2, 5000), [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], [0, 1]))
    assert rows.shape == (4, 5000)


@pytest.mark.parametrize("seed", range(3))
def test_decimal_literals_are_read_as_the_same_number(seed):
    rng = np.random.default_rng(seed)
    values = np.concatenate([rng.integers(0, 2**63, 2000).view(np.float64), [5e-324, -1.7976931348623157e308]])
    for value in values[np.isfinite(values)].tolist():
        assert float(number(value, "double")) == value
        assert any(mark in number(value, "double") for mark in ".e")
    singles = rng.integers(0, 2**31, 2000).astype(np.uint32).view(np.float32)
    for value in singles[np.isfinite(singles)]:
        text = number(float(value), "float")
        assert text.endswith("f")
        assert np.float32(text[:-1]) == value


def test_models_without_it_have_no_vectors():
    assert "self_test" not in export.c(tying_mixture(3, 2, 2))
