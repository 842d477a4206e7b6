"""The C header: it compiles without a warning and answers as the model does, to the bit."""

import contextlib
import ctypes
import functools
import re
import shutil

import numpy as np
import pytest

from moet import Mixture, Tree, export, save
from moet.errors import ExportError
from moet.model.file import digest
from moet.model.text import summary
from tests.processes import run
from tests.random_models import met, random_tree, tying_mixture

from .samples import HOSTILE, as_soft, chain, float32_inputs, inputs, published_policy

COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
# the options most likely to make a compiler reorder or fuse what it must not
FAST = ["-O3", "-march=native", "-ffp-contract=fast"]
HASWELL = ["-std=gnu11", "-O2", "-march=haswell"]  # GNU C fuses by default then
STYLES = ["tables", "ifs"]
TYPES = {"float64": "double", "float32": "float", "float32-approximate": "float"}

needs_compiler = pytest.mark.skipif(not COMPILERS, reason="no C compiler is installed")

WRAPPER = """
void NAME_run(const TYPE *x, long n, int *answer, int *expert);
const char *NAME_label(int c);

void NAME_run(const TYPE *x, long n, int *answer, int *expert)
{
    for (long i = 0; i < n; i++) {
        answer[i] = NAME_predict(x + i * NAME_UPPER_FEATURES);
        expert[i] = NAME_expert(x + i * NAME_UPPER_FEATURES);
    }
}

const char *NAME_label(int c) { return NAME_labels[c]; }
"""

SAMPLES = {
    "one_leaf": tying_mixture(0, 1, 0),
    "one_tree": tying_mixture(1, 1, 6),
    "published": published_policy(),
    "two_leaves": tying_mixture(2, 2, 0),
    "two_trees": tying_mixture(3, 2, 3),
    "tied": tying_mixture(5, 3, 2),
    "wide": tying_mixture(6, 4, 1, n_features=300, n_classes=200),
    "large": tying_mixture(7, 8, 6, n_features=8),
    "real": tying_mixture(8, 8, 3, n_features=8),
    "all_equal": Mixture(np.zeros((2, 1)), [1, 1], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], [False, True]),
    "same_answer": Mixture([[1.0], [-1.0]], [0, 0], [Tree.leaf([0, 1])] * 2, [-1, 1]),
    "tiny": Mixture([[5e-324], [1e100]], [1.5e-320, -0.0], tying_mixture(9, 2, 2, n_features=1).trees, [1.5, 2, -1]),
    "hostile": Mixture(
        np.eye(3, len(HOSTILE)),
        [0, 0, 0],
        [random_tree(np.random.default_rng(j), 2, len(HOSTILE), len(HOSTILE), met) for j in range(3)],
        HOSTILE,
        HOSTILE,
    ),
}


def header_name(name, precision):
    return f"{name}_{precision.replace('-', '_')}"


class Compiled:
    """The headers of several models, in all precisions, in one library."""

    def __init__(self, folder, compiler, style):
        code = []
        for name, mixture in SAMPLES.items():
            for precision, kind in TYPES.items():
                if (name, precision) == ("tiny", "float32-approximate"):
                    continue  # refused: its gate is beyond the range of float32
                header = header_name(name, precision)
                text = export.c(mixture, name=header, style=style, precision=precision)
                (folder / f"{header}.h").write_text(text, encoding="ascii")
                wrapper = WRAPPER.replace("TYPE", kind).replace("NAME_UPPER", header.upper()).replace("NAME", header)
                code += [f'#include "{header}.h"\n' * 2, wrapper]  # twice: guarded
        source, library = folder / "models.c", folder / "models.so"
        source.write_text("".join(code))
        command = [compiler, *STRICT, *FAST, "-shared", "-fPIC", str(source), "-o", str(library)]
        result = run(command)
        assert (result.returncode, result.stderr) == (0, "")
        self.library = ctypes.CDLL(str(library))

    def run(self, name, X, precision="float64"):
        answer, expert = np.empty((2, len(X)), np.intc)
        pointer = ctypes.c_void_p
        self.library[f"{header_name(name, precision)}_run"](
            pointer(X.ctypes.data), ctypes.c_long(len(X)), pointer(answer.ctypes.data), pointer(expert.ctypes.data)
        )
        return answer, expert

    def label(self, name, c):
        function = self.library[f"{header_name(name, 'float64')}_label"]
        function.restype = ctypes.c_char_p
        return function(c).decode()


@pytest.fixture(scope="module", params=[(compiler, style) for compiler in COMPILERS for style in STYLES], ids="-".join)
def compiled(request, tmp_path_factory):
    return Compiled(tmp_path_factory.mktemp("c"), *request.param)


@functools.cache
def questions(name, kind="double"):
    """Inputs, and the model's experts and answers."""
    mixture = SAMPLES[name]
    rows = inputs if kind == "double" else float32_inputs
    X = rows(mixture, 150_000 if mixture.n_features < 100 else 2_000)  # a third of them exceeds float32
    return X, mixture.expert(X), mixture.predict_hard(X)


@needs_compiler
@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.processes
def test_zero_differences(compiled, name):
    X, experts, answers = questions(name)
    answer, expert = compiled.run(name, X)
    assert np.array_equal(expert, experts)
    assert np.array_equal(SAMPLES[name].classes[answer], answers)


@needs_compiler
@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.processes
def test_zero_differences_for_float32_states(compiled, name):
    mixture = SAMPLES[name]
    X, experts, answers = questions(name, "float")
    for precision in ["float32"] + ["float32-approximate"] * (mixture.n_experts == 1):  # a tree has no gate
        answer, expert = compiled.run(name, X, precision)
        assert np.array_equal(expert, experts)
        assert np.array_equal(mixture.classes[answer], answers)


def near_ties(mixture, n):
    """Inputs at which two experts are so close that one rounding decides between them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, mixture.n_features))
    row = mixture.gate_weights[1] - mixture.gate_weights[0]
    k = int(np.abs(row).argmax())
    X[:, k] -= (X @ row + mixture.gate_bias[1] - mixture.gate_bias[0]) / row[k]
    return X + rng.integers(-2, 3, X.shape) * np.spacing(X)


def experts_in_c(text, folder, compiler, X, *options):
    """What ``moet_expert`` answers, compiled as most people do for a processor with a fused multiply-add."""
    folder.mkdir()
    (folder / "moet.h").write_text(text)
    source, library = folder / "experts.c", folder / "experts.so"
    source.write_text("""#include "moet.h"
void experts(const double *x, long n, int *expert);
void experts(const double *x, long n, int *expert)
{
    for (long i = 0; i < n; i++) expert[i] = moet_expert(x + i * MOET_FEATURES);
}
""")
    run([compiler, *HASWELL, *options, "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    expert = np.empty(len(X), np.intc)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (X, expert)]
    ctypes.CDLL(str(library)).experts(pointers[0], ctypes.c_long(len(X)), pointers[1])
    return expert


def without_guards(text):
    """The header with plain products."""
    return re.sub(r"(#define \w+_ROUNDED\(product\)) .*", r"\1 (void)0", text)


def has_fused_multiply_add():
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        return " fma " in file.read()
    return False


@pytest.mark.skipif(not has_fused_multiply_add(), reason="this processor has no fused multiply-add")
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.processes
def test_compilers_that_fuse_multiply_and_add_change_no_answer(tmp_path, compiler, style):
    gate = np.random.default_rng(1).normal(size=(2, 4))
    mixture = Mixture(gate[:, 1:], gate[:, 0], tying_mixture(7, 2, 1, n_features=3).trees, ["a", "b", "c"])
    X = near_ties(mixture, 200_000)
    text = export.c(mixture, style=style)
    assert np.array_equal(experts_in_c(text, tmp_path / "default", compiler, X), mixture.expert(X))
    fast = tmp_path / "fast", compiler, X, "-ffp-contract=fast"
    assert np.array_equal(experts_in_c(text, *fast), mixture.expert(X))
    unguarded = without_guards(text)
    without = tmp_path / "unguarded", compiler, X, "-ffp-contract=fast"
    assert not np.array_equal(experts_in_c(unguarded, *without), mixture.expert(X)), "nothing is fused: no test"


def stated_band(mixture, X):
    """Width that the header of an approximate gate states, at every row."""
    text = export.c(mixture, precision="float32-approximate").partition("*/")[0].replace("\n *", "")
    constant, terms = re.search(r"exceeds all others by more than (\S+?)((?: \+ \S+\|)*); nearer", text).groups()
    band = np.full(len(X), float(constant))
    for slope, k in re.findall(r"(\S+)\*\|x\[(\d+)\]\|", terms):
        band += float(slope) * np.abs(X[:, int(k)])
    return band


@needs_compiler
@pytest.mark.parametrize(
    "name", [name for name, mixture in SAMPLES.items() if mixture.n_experts > 1 and name != "tiny"]
)
@pytest.mark.processes
def test_an_approximate_gate_differs_only_within_the_stated_band(compiled, name):
    mixture = SAMPLES[name]
    X, experts, answers = questions(name, "float")
    answer, expert = compiled.run(name, X, "float32-approximate")
    scores = np.sort(mixture.gate_bias + X @ mixture.gate_weights.T, axis=1)
    sure = scores[:, -1] - scores[:, -2] > stated_band(mixture, X.astype(float))
    sure &= (np.abs(X) < 1e30).all(axis=1)  # scores do not overflow
    assert np.array_equal(expert[sure], experts[sure])
    assert np.array_equal(mixture.classes[answer][sure], answers[sure])
    if name == "real":
        assert sure.mean() > 0.5
        assert np.count_nonzero(expert != experts) > 10


@needs_compiler
def test_the_inputs_of_these_tests_are_hard():
    """Gates tie and thresholds are met exactly: a translation with < for <=, or >= for >, would show."""
    mixture = SAMPLES["tied"]
    X = inputs(mixture, 100_000)
    logits = mixture.gate_bias + X @ mixture.gate_weights.T
    assert np.mean(logits[:, 0] == logits[:, 1]) > 1e-3
    stump = mixture.trees[0]
    assert np.mean(X[:, stump.feature[0]] == stump.threshold[0]) > 1e-3


@needs_compiler
@pytest.mark.processes
def test_labels_survive_hostile_names(compiled):
    for c, label in enumerate(HOSTILE):
        assert compiled.label("hostile", c) == label.split("\0")[0]  # where C ends a string
    assert [compiled.label("tiny", c) for c in range(3)] == ["1.5", "2.0", "-1.0"]


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.processes
def test_no_library_is_needed(tmp_path, compiler, style):
    (tmp_path / "moet.h").write_text(export.c(SAMPLES["large"], style=style))
    source = tmp_path / "act.c"
    source.write_text(
        '#include "moet.h"\nint act(const double *x);\nint act(const double *x) { return moet_predict(x); }\n'
    )
    alone = ["-shared", "-fPIC", "-nostdlib", "-Wl,-z,defs"]  # what only a library could define would be an error
    run([compiler, *STRICT, "-O2", *alone, str(source), "-o", str(tmp_path / "act.so")], check=True)


@needs_compiler
@pytest.mark.processes
def test_arithmetic_that_would_change_answers_does_not_compile(tmp_path):
    (tmp_path / "moet.h").write_text(export.c(published_policy()))
    command = [COMPILERS[0], "-x", "c", "-include", str(tmp_path / "moet.h"), "-fsyntax-only", "/dev/null"]
    assert run(command).returncode == 0
    fast = run([*command, "-ffast-math"])
    assert "64-bit doubles" in fast.stderr


@pytest.mark.parametrize("style", STYLES)
def test_the_header_names_the_model(tmp_path, style):
    mixture = SAMPLES["large"]
    text = export.c(mixture, name="pilot", style=style)
    assert f"model {digest(mixture)}\n" in text
    assert f'#define PILOT_MODEL "{digest(mixture)}"' in text
    assert text.startswith(f"/* {summary(mixture)}\n")
    assert "whatever the compiler's options" in text.replace("\n *", "")
    assert ' * x[7]  "x7"\n' in text
    assert ("stdint.h" in text) == (style == "tables")
    save(mixture, tmp_path / "m.moet.json")
    assert export.c(tmp_path / "m.moet.json", name="pilot", style=style) == text


def test_two_leaves_are_one_inequality():
    code = export.c(published_policy(), style="ifs")
    assert "if (" not in code
    inequality = re.search(r"moet_expert\(const double x\[4\]\)\n{\n(.*?)}", code, re.DOTALL).group(1)
    plain = re.sub(r"moet_times\((.*?), (x\[.\])\)", r"\1 * \2", " ".join(inequality.split()))
    assert plain == ("MOET_EXACT return 1.0 + 2.185 * x[0] + 7.225 * x[1] + 20.65 * x[2] + 25.34 * x[3] > 0.0;")


def test_soft_models_are_refused_unless_one_expert_answers():
    with pytest.raises(ExportError, match=r'soft mixture .* with MoETClassifier\(prediction="hard"\)'):
        export.c(as_soft(published_policy()))
    assert "moet_predict" in export.c(Mixture([[1.0]], [0], [Tree.leaf([1, 0])], [0, 1], prediction="soft"))


@pytest.mark.parametrize("name", ["", "9lives", "a-b", "_a", "naïve", "a b", "a\n"])
def test_names_that_c_forbids(name):
    with pytest.raises(ExportError, match="name must be"):
        export.c(published_policy(), name=name)


def test_unknown_styles_and_bottomless_trees():
    with pytest.raises(ExportError, match="style must be one of tables, ifs, got 'goto'"):
        export.c(published_policy(), style="goto")
    with pytest.raises(ExportError, match="precision must be one of float64, float32, float32-approximate, got 'half'"):
        export.c(published_policy(), precision="half")
    with pytest.raises(ExportError, match=r'depth 300 is too deep .* choose style="tables"'):
        export.c(chain(300), style="ifs")
    assert "moet_predict" in export.c(chain(300))


def test_what_is_beyond_float32():
    stump = Tree([0, -1, -1], [-1e39, 0, 0], [1, -1, -1], [2, -1, -1], [[0.5, 0.5], [1, 0], [0, 1]])
    with pytest.raises(ExportError, match=r"x0 <= -1e\+39 is false for every float32 number; .*'float64'"):
        export.c(Mixture([[1.0]], [0], [stump], [0, 1]), precision="float32")
    always = Tree(stump.feature, -stump.threshold, stump.left, stump.right, stump.value)
    text = export.c(Mixture([[1e300]], [0], [always], [0, 1]), precision="float32")  # its gate plays no part
    assert np.float32(re.search(r"threshold.*\n +(\S+)f", text).group(1)) == np.finfo(np.float32).max
    with pytest.raises(ExportError, match="gate has a number beyond the range of float32"):
        export.c(SAMPLES["tiny"], precision="float32-approximate")


@needs_compiler
@pytest.mark.processes
def test_only_headers_with_a_gate_in_double_need_double(tmp_path):
    small = ["-U__DBL_MANT_DIG__", "-D__DBL_MANT_DIG__=24"]  # as on processors whose double has 32 bits
    for name, precision, needs_double in [
        ("real", "float32", True),
        ("real", "float32-approximate", False),
        ("one_tree", "float32", False),
    ]:
        header = tmp_path / f"{name}.h"
        header.write_text(export.c(SAMPLES[name], precision=precision))
        command = [COMPILERS[0], "-x", "c", *small, "-include", str(header), "-fsyntax-only", "/dev/null"]
        assert ("64-bit doubles" in run(command).stderr) == needs_double
        assert ("APPROXIMATE" in header.read_text()) == (precision == "float32-approximate")
