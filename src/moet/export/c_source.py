"""A hard mixture as one header for C99 and C++11: no allocation, no library, the same answers to the bit."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Literal, NamedTuple, get_args

import numpy as np

from moet.errors import ExportError
from moet.export.c_laws import law_header
from moet.export.c_parts import (
    INDENT,
    UNFIT,
    WIDTH,
    array,
    check_name,
    decimal,
    exactly,
    gate_loop,
    inner_nodes,
    integer,
    number,
    string,
    unfused,
)
from moet.export.c_self_test import integers
from moet.export.c_self_test import self_test as write_self_test
from moet.export.float32 import gate_band, with_float32_gate, with_float32_thresholds
from moet.export.parts import check_nesting, hard_mixture, leaf_class, logit, walk
from moet.export.vectors import self_test_rows
from moet.model.file import as_model, digest
from moet.model.mixture import Mixture
from moet.model.regression.mixture import RegressionMixture
from moet.model.text import summary
from moet.model.tree import Tree

Style = Literal["tables", "ifs"]
"""``"tables"``: constant arrays and a loop, small for large models. ``"ifs"``: nested ifs, readable."""

Precision = Literal["float64", "float32", "float32-approximate"]
"""``"float32"``: states and thresholds in float32, the gate in float64. Approximate: the gate in float32, too."""


class Types(NamedTuple):
    """C's types for states (and thresholds) and for the gate."""

    state: str
    gate: str


_TYPES = {
    "float64": Types(state="double", gate="double"),
    "float32": Types(state="float", gate="double"),
    "float32-approximate": Types(state="float", gate="float"),
}


def c(
    model: object,
    *,
    name: str = "moet",
    style: Style = "tables",
    precision: Precision = "float64",
    self_test: bool = False,
) -> str:
    """Write a hard mixture as a header for C99 and C++11.

    The header defines ``int NAME_predict(const double x[])``, which returns the index of the class,
    ``int NAME_expert(const double x[])``, the index of the expert that answers, and ``NAME_labels``. The numbers in
    ``x`` must be finite. It answers as :meth:`moet.Mixture.predict_hard` does for every input, whatever the compiler's
    options: those that would round otherwise it refuses, or is proof against.

    Of a RegressionMixture the header defines ``void NAME_predict(const double x[], double u[])``, which writes the
    outputs, to the bit whatever the compiler's options. Where the model has no answer because a sum overflows, the
    output is NaN.

    Parameters
    ----------
    model : Mixture, RegressionMixture, fitted estimator, policy, or path of a model file
        What to write. Soft mixtures of several experts are refused.
    name : str
        Beginning of every name that the header defines.
    style : {"tables", "ifs"}
        Constant arrays and a loop, the smaller code for all but the smallest models, or nested ifs. Two experts of
        depth 0 as ifs are a single inequality.
    precision : {"float64", "float32", "float32-approximate"}
        With float32, ``x`` is an array of ``float`` and so are the thresholds; the gate is computed in ``double``, and
        every float32 state has the answer that it has when widened to float64. Approximate is for processors whose
        ``double`` is slow: the gate is computed in ``float``, and the header says how near to a boundary of the gate
        the answer may be another one. A single tree has no gate and is exact either way.
    self_test : bool
        Whether to add ``int NAME_self_test(void)``, which tries the compiled model on up to 64 rows (on thresholds, in
        every leaf, near ties that fused operations decide otherwise) and returns 0 if all answers are the model's.

    Returns
    -------
    str
        ASCII text, whatever the names of features and classes.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet import export
    >>> "int line_predict(" in export.c(model, name="line")
    True
    """
    check_name(name)
    held = as_model(model)
    if isinstance(held, RegressionMixture):
        return law_header(held, name, style, precision, self_test)
    mixture = hard_mixture(held, "C")
    for option, value, known in (("style", style, get_args(Style)), ("precision", precision, get_args(Precision))):
        if value not in known:
            raise ExportError(f"{option} must be one of {', '.join(known)}, got {value!r}")
    types = _TYPES[precision]
    if mixture.n_experts == 1:
        types = Types(types.state, gate=types.state)
    write = _tables if style == "tables" else _ifs
    bodies = write(_rounded(mixture, types), name, types)
    functions = [_function(f"{name}_{suffix}", mixture.n_features, types.state, body) for suffix, body in bodies]
    product = [unfused(name)] if types.gate == "double" and mixture.n_experts > 1 else []
    test = [_self_test(mixture, name, types.state, precision)] if self_test else []
    return "\n".join([_head(mixture, name, style, types, self_test), *product, *functions, *test, "#endif\n"])


def _self_test(mixture: Mixture, name: str, kind: str, precision: Precision) -> str:
    rows = self_test_rows(mixture, precision)
    experts, leaves = mixture.leaves(rows)
    answers = [leaf_class(mixture.trees[j].value[leaf]) for j, leaf in zip(experts, leaves, strict=True)]
    wrong = f"""\
if ({name}_expert(x) != experts[i] || {name}_predict(x) != answers[i]) {{
    return i + 1;
}}"""
    return write_self_test(
        name, kind, rows.tolist(), [integers("experts", experts.tolist()), integers("answers", answers)], wrong
    )


def _product(name: str, kind: str) -> Callable[[str, str], str]:
    """How products of a gate are written: those of doubles so that they are surely rounded."""
    return f"{name}_times({{}}, {{}})".format if kind == "double" else "{} * {}".format


def _exact(name: str, kind: str, body: str) -> str:
    return f"{exactly(name)}\n{body}" if kind == "double" else body


def _rounded(mixture: Mixture, types: Types) -> Mixture:
    """Return the mixture whose numbers are of these types."""
    if types.state == "float":
        mixture = with_float32_thresholds(mixture)
    return with_float32_gate(mixture) if types.gate == "float" and mixture.n_experts > 1 else mixture


def _head(mixture: Mixture, name: str, style: Style, types: Types, self_test: bool) -> str:
    prefix = name.upper()
    state = f"const {types.state} x[{mixture.n_features}]"
    includes = "#include <float.h>" + ("\n#include <stdint.h>" if style == "tables" or self_test else "")
    notes = [f" * {line}\n" for line in textwrap.wrap(_arithmetic(mixture, types), WIDTH)]
    features = [f" * x[{k}]  {string(feature)}\n" for k, feature in enumerate(mixture.feature_names)]
    labels = [f"{INDENT}{string(str(label))}, /* {k} */\n" for k, label in enumerate(mixture.classes.tolist())]
    if "double" in types:
        unfit = UNFIT
        needs = "64-bit doubles, rounded after every operation"
    else:
        unfit, needs = "FLT_MANT_DIG != 24 || defined(__FAST_MATH__)", "32-bit floats"
    return f"""\
/* {summary(mixture)}
 *
 * model {digest(mixture)}
 *
{"".join(notes)} *
 * int {name}_predict({state})  index of the class, see {name}_labels
 * int {name}_expert({state})   index of the expert that answers
 *
{"".join(features)} */
#ifndef {prefix}_H
#define {prefix}_H

{includes}

#if {unfit}
#error "this model needs {needs}"
#endif

#define {prefix}_MODEL "{digest(mixture)}" /* SHA-256 of the model file without provenance */

enum {{
    {prefix}_FEATURES = {mixture.n_features},
    {prefix}_CLASSES = {len(mixture.classes)},
    {prefix}_EXPERTS = {mixture.n_experts}
}};

static const char *const {name}_labels[{len(mixture.classes)}] = {{
{"".join(labels)}}};
"""


def _arithmetic(mixture: Mixture, types: Types) -> str:
    """What the caller must know about rounding."""
    if mixture.n_experts == 1:
        return "Comparisons only, nothing is rounded: the answers are those of the model."
    if types.gate == "double":
        return (
            "The answers are those of the model, whatever the compiler's options: every product is rounded before it "
            "is added, and -ffast-math is refused."
        )
    band = gate_band(mixture)
    terms = [_rounded_up(band.constant), *(f"{_rounded_up(s)}*|x[{k}]|" for k, s in enumerate(band.slopes) if s)]
    return (
        "APPROXIMATE: the gate is computed in float32. The answer is that of the model wherever no score overflows "
        f"and the model's largest score exceeds all others by more than {' + '.join(terms)}; nearer to a boundary "
        "between experts, another expert may answer."
    )


def _rounded_up(value: Fraction) -> str:
    quotient = Context(prec=3, rounding=ROUND_CEILING).divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{quotient:e}"


def _function(name: str, n_features: int, state: str, body: str) -> str:
    # static, for several files may include it; inline, for then compilers do not mind if it is never called
    return f"""\
static inline int {name}(const {state} x[{n_features}])
{{
{textwrap.indent(body, INDENT)}
}}
"""


# ---- tables


def _tables(mixture: Mixture, name: str, types: Types) -> Iterator[tuple[str, str]]:
    loop = gate_loop(mixture, types.gate, _product(name, types.gate)) if mixture.n_experts > 1 else ""
    yield "expert", _exact(name, types.gate, loop) if loop else "(void)x;\nreturn 0;"
    yield "predict", _tree_loop(mixture, name, types.state)


def _tree_loop(mixture: Mixture, name: str, kind: str) -> str:
    """Walk over the inner nodes of all trees; leaves are not stored, the child -1 - c stands for "class c"."""
    answers = np.concatenate([tree.value for tree in mixture.trees]).argmax(axis=1)
    roots, children, feature, threshold = inner_nodes(mixture, answers)
    node = integer(-len(mixture.classes), len(feature))
    root = array(f"{node} root[{len(roots)}]", ", ".join(map(str, roots.tolist())))
    if len(feature) == 0:
        return f"{root}\nreturn -1 - root[{name}_expert(x)];"
    pairs = [f"{{{left},{right}}}" for left, right in children.tolist()]
    return f"""\
/* a test that is passed leads to the first child; the child -1 - c is the answer c */
{root}
{array(f"{integer(0, mixture.n_features)} feature[{len(feature)}]", ", ".join(map(str, feature.tolist())))}
{array(f"{kind} threshold[{len(feature)}]", ", ".join(number(value, kind) for value in threshold.tolist()))}
{array(f"{node} child[{len(feature)}][2]", ", ".join(pairs))}
{node} node = root[{name}_expert(x)];
while (node >= 0) {{
    node = child[node][!(x[feature[node]] <= threshold[node])];
}}
return -1 - node;"""


# ---- nested ifs


def _ifs(mixture: Mixture, name: str, types: Types) -> Iterator[tuple[str, str]]:
    check_nesting(mixture, 'choose style="tables"')
    gate = _gate(mixture, types.gate, _product(name, types.gate))
    yield "expert", _exact(name, types.gate, gate) if mixture.n_experts > 1 else gate
    answers = []
    for j, tree in enumerate(mixture.trees):
        if tree.n_nodes == 1:
            answers.append(str(leaf_class(tree.value[0])))
        else:
            answers.append(f"{name}_tree{j}(x)")
            yield f"tree{j}", "\n".join(_tree(tree, mixture.feature_names, types.state))
    yield "predict", _choice(answers, f"{name}_expert(x)")


def _gate(mixture: Mixture, kind: str, product: Callable[[str, str], str]) -> str:
    unused = "" if mixture.n_experts > 1 and mixture.gate_weights.any() else "(void)x;\n"
    first, *others = [
        f"\n{INDENT}".join(logit(float(bias), weights, lambda value: number(value, kind), product))
        for bias, weights in zip(mixture.gate_bias, mixture.gate_weights, strict=True)
    ]
    if not others:
        return f"{unused}return 0;"
    if len(others) == 1:
        return f"{unused}return {others[0]}\n{INDENT}> {first};"
    contests = [
        f"""\
logit = {other};
if (logit > top) {{
    top = logit;
    expert = {j};
}}
"""
        for j, other in enumerate(others, start=1)
    ]
    return f"""\
{unused}int expert = 0;
{kind} logit;
{kind} top = {first};
{"".join(contests)}return expert;"""


def _choice(answers: list[str], expert: str) -> str:
    if len(set(answers)) == 1:
        return f"return {answers[0]};" if "x" in answers[0] else f"(void)x;\nreturn {answers[0]};"
    if answers == ["0", "1"]:
        return f"return {expert};"
    if len(answers) == 2:
        return f"return {expert} ? {answers[1]} : {answers[0]};"
    cases = [f"case {j}: return {answer};" for j, answer in enumerate(answers[:-1])]
    return "\n".join([f"switch ({expert}) {{", *cases, f"default: return {answers[-1]};", "}"])


def _tree(tree: Tree, names: tuple[str, ...], kind: str) -> Iterator[str]:
    for step, depth, node in walk(tree):
        k, threshold = int(tree.feature[node]), float(tree.threshold[node])
        meaning = f"{string(names[k])} <= {decimal(threshold, kind)}"
        lines = {
            "if": f"if (x[{k}] <= {number(threshold, kind)}) {{ /* {meaning} */",
            "else": "} else {",
            "end": "}",
            "leaf": f"return {leaf_class(tree.value[node])};",
        }
        yield INDENT * depth + lines[step]
