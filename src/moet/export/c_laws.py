"""A hard mixture that answers with numbers as one header for C99 and C++11: the same outputs to the bit."""

from __future__ import annotations

import math

import numpy as np

from moet.errors import ExportError
from moet.export.c_parts import INDENT, UNFIT, array, exactly, gate_loop, inner_nodes, integer, number, string, unfused
from moet.export.c_self_test import integers, numbers
from moet.export.c_self_test import self_test as write_self_test
from moet.export.parts import check_hard
from moet.export.vectors import self_test_rows
from moet.model.file import digest
from moet.model.regression.mixture import RegressionMixture
from moet.model.text import summary
from moet.model.tree import LEAF


def law_header(mixture: RegressionMixture, name: str, style: str, precision: str, self_test: bool) -> str:
    """Write the header; ``name`` begins all its names."""
    check_hard(mixture, "C")
    if style != "tables" or precision != "float64":
        raise ExportError(
            f'models that answer with numbers are written with style="tables" and precision="float64", '
            f"got {style!r} and {precision!r}"
        )
    expert = "(void)x;\nreturn 0;"
    if mixture.n_experts > 1:
        expert = f"{exactly(name)}\n{gate_loop(mixture, 'double', f'{name}_times({{}}, {{}})'.format)}"
    test = f"\n{_self_test(mixture, name)}" if self_test else ""
    return f"""\
{_head(mixture, name)}
{unfused(name)}
static inline int {name}_expert(const double x[{mixture.n_features}])
{{
{_indented(expert)}
}}

static inline void {name}_predict(const double x[{mixture.n_features}], double u[{mixture.n_outputs}])
{{
{_indented(_outputs(mixture, name))}
}}
{test}
#endif
"""


def _self_test(mixture: RegressionMixture, name: str) -> str:
    rows = self_test_rows(mixture)
    tables = [
        integers("experts", mixture.expert(rows).tolist()),
        numbers("double", "outputs", mixture.predict_hard(rows).tolist()),
    ]
    wrong = f"""\
double u[{mixture.n_outputs}];
{name}_predict(x, u);
for (int o = 0; o < {mixture.n_outputs}; o++) {{
    if ({name}_expert(x) != experts[i] || u[o] != outputs[i][o]) {{
        return i + 1;
    }}
}}"""
    return write_self_test(name, "double", rows.tolist(), tables, wrong)


def _head(mixture: RegressionMixture, name: str) -> str:
    prefix = name.upper()
    state = f"const double x[{mixture.n_features}]"
    features = [f" * x[{k}]  {string(feature)}\n" for k, feature in enumerate(mixture.feature_names)]
    outputs = [f" * u[{o}]  {string(output)}\n" for o, output in enumerate(mixture.outputs)]
    names = [f"{INDENT}{string(output)},\n" for output in mixture.outputs]
    return f"""\
/* {summary(mixture)}
 *
 * model {digest(mixture)}
 *
 * void {name}_predict({state}, double u[{mixture.n_outputs}])
 *     writes the outputs; NaN where a sum overflows
 * int {name}_expert({state})
 *     index of the expert that answers
 *
{"".join(features)}{"".join(outputs)} */
#ifndef {prefix}_H
#define {prefix}_H

#include <float.h>
#include <stdint.h>

#if {UNFIT}
#error "this model needs 64-bit doubles, rounded after every operation"
#endif

#define {prefix}_MODEL "{digest(mixture)}" /* SHA-256 of the model file without provenance */

enum {{
    {prefix}_FEATURES = {mixture.n_features},
    {prefix}_OUTPUTS = {mixture.n_outputs},
    {prefix}_EXPERTS = {mixture.n_experts}
}};

static const char *const {name}_outputs[{mixture.n_outputs}] = {{
{"".join(names)}}};
"""


def _outputs(mixture: RegressionMixture, name: str) -> str:
    is_leaf = np.concatenate([tree.feature for tree in mixture.trees]) == LEAF
    n_laws = int(is_leaf.sum())
    roots, children, feature, threshold = inner_nodes(mixture, np.cumsum(is_leaf) - 1)
    node = integer(-n_laws, len(feature))
    lines = [
        exactly(name),
        "/* a test that is passed leads to the first child; the child -1 - l is the law l */",
        array(f"{node} root[{len(roots)}]", ", ".join(map(str, roots.tolist()))),
    ]
    if len(feature):
        pairs = [f"{{{left},{right}}}" for left, right in children.tolist()]
        lines += [
            array(f"{integer(0, mixture.n_features)} feature[{len(feature)}]", ", ".join(map(str, feature.tolist()))),
            array(
                f"double threshold[{len(feature)}]", ", ".join(number(value, "double") for value in threshold.tolist())
            ),
            array(f"{node} child[{len(feature)}][2]", ", ".join(pairs)),
        ]
    lines += [*_law_arrays(mixture), f"{node} node = root[{name}_expert(x)];"]
    if len(feature):
        lines.append("""\
while (node >= 0) {
    node = child[node][!(x[feature[node]] <= threshold[node])];
}""")
    lines.append(f"""\
const int law = -1 - node;
for (int o = 0; o < {mixture.n_outputs}; o++) {{
    double sum = value[law][o];
    for (int k = 0; k < terms[law]; k++) {{
        sum += {name}_times(slope[law][o][k], x[k]);
    }}
    const double finite = sum - sum; /* NaN if it is not */
    if (has_low[o] && sum < low[o]) {{
        sum = low[o];
    }}
    if (has_high[o] && sum > high[o]) {{
        sum = high[o];
    }}
    u[o] = finite == 0 ? sum : finite;
}}""")
    return "\n".join(lines)


def _law_arrays(mixture: RegressionMixture) -> list[str]:
    """The laws of all leaves and the bounds; a tree of constants has no terms."""
    m, width = mixture.n_outputs, max(0 if tree.slope is None else mixture.n_features for tree in mixture.trees)
    values, slopes, terms = [], [], []
    for tree in mixture.trees:
        for leaf in np.flatnonzero(tree.feature == LEAF):
            values.append(_row(tree.value[leaf].tolist()))
            laws = np.zeros((m, max(width, 1))) if tree.slope is None else tree.slope[leaf]
            slopes.append("{" + ", ".join(_row(law) for law in laws.tolist()) + "},")
            terms.append("0" if tree.slope is None else str(width))
    arrays = [
        array(f"double value[{len(values)}][{m}]", *(f"{row}," for row in values)),
        array(f"double slope[{len(values)}][{m}][{max(width, 1)}]", *slopes),
        array(f"{integer(0, mixture.n_features)} terms[{len(values)}]", ", ".join(terms)),
    ]
    for side, bounds in (("low", mixture.low.tolist()), ("high", mixture.high.tolist())):
        has = [math.isfinite(bound) for bound in bounds]
        arrays.append(array(f"uint8_t has_{side}[{m}]", ", ".join(str(int(one)) for one in has)))
        arrays.append(
            array(
                f"double {side}[{m}]", ", ".join(_signed(b if one else 0.0) for b, one in zip(bounds, has, strict=True))
            )
        )
    return arrays


def _row(numbers: list[float]) -> str:
    return "{" + ", ".join(map(_signed, numbers)) + "}"


def _signed(value: float) -> str:
    """A literal that keeps the sign of zero, which an output has."""
    return "-0.0" if value == 0 and math.copysign(1.0, value) < 0 else number(value, "double")


def _indented(body: str) -> str:
    return "\n".join(INDENT + line if line and not line.startswith("#") else line for line in body.split("\n"))
