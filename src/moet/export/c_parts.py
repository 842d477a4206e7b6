"""Pieces of C that headers of both kinds share: literals, constant arrays, the gate, and the tests of the trees."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from moet.errors import ExportError
from moet.model.base import BaseMixture
from moet.model.tree import LEAF

WIDTH = 100
INDENT = "    "


def check_name(name: str) -> None:
    """Refuse what cannot begin a name in C."""
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name):
        raise ExportError(f"name must be ASCII letters, digits and underscores, a letter first, got {name!r}")


UNFIT = (
    "DBL_MANT_DIG != 53 || FLT_EVAL_METHOD < 0 || FLT_EVAL_METHOD == 2 || defined(__FAST_MATH__) \\\n"
    "    || defined(__ASSOCIATIVE_MATH__)"
)
"""Where doubles are not what the model computes with."""


def unfused(name: str) -> str:
    """Define ``NAME_times``, a product that is rounded before it is added to anything, and ``NAME_EXACT``."""
    prefix = name.upper()
    return f"""\
/* A product that no compiler can fuse with the sum that it is added to, whatever its options: that would round
 * otherwise. It is hidden from the optimizer, or stored; GNU C says whether other processors could fuse at all. */
#if defined(__GNUC__) && defined(__SSE2_MATH__)
#define {prefix}_ROUNDED(product) __asm__("" : "+x"(product))
#elif defined(__GNUC__) && defined(__aarch64__)
#define {prefix}_ROUNDED(product) __asm__("" : "+w"(product))
#elif defined(__GNUC__) && !defined(__clang__) && !defined(__FP_FAST_FMA)
#define {prefix}_ROUNDED(product) (void)0
#else
#define {prefix}_ROUNDED(product) do {{ volatile double kept = product; product = kept; }} while (0)
#endif
#if defined(__clang__) || !(defined(__GNUC__) || defined(_MSC_VER)) /* those two do not know it */
#define {prefix}_EXACT _Pragma("STDC FP_CONTRACT OFF")
#else
#define {prefix}_EXACT
#endif
static inline double {name}_times(double a, double b)
{{
    double product = a * b;
    {prefix}_ROUNDED(product);
    return product;
}}
"""


def exactly(name: str) -> str:
    """First line of a function that adds products: standard C's way to say that nothing is to be fused."""
    return f"{name.upper()}_EXACT"


def gate_loop(mixture: BaseMixture, kind: str, product: Callable[[str, str], str] = "{} * {}".format) -> str:
    """Find the expert of largest logit; ``product`` writes a product."""
    gate = np.hstack([mixture.gate_bias[:, None], mixture.gate_weights])
    rows = [f"{{{', '.join(number(value, kind) for value in row)}}}," for row in gate.tolist()]
    return f"""\
/* per expert: bias, then one weight per feature */
{array(f"{kind} gate[{gate.shape[0]}][{gate.shape[1]}]", *rows)}
int expert = 0;
{kind} top = gate[0][0];
for (int j = 0; j < {mixture.n_experts}; j++) {{
    {kind} logit = gate[j][0];
    for (int k = 0; k < {mixture.n_features}; k++) {{
        logit += {product("gate[j][k + 1]", "x[k]")};
    }}
    if (j == 0 || logit > top) {{
        top = logit;
        expert = j;
    }}
}}
return expert;"""


def inner_nodes(
    mixture: BaseMixture, answers: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
    """Roots, children, features and thresholds of all trees, without the leaves: -1 - answer stands for a leaf."""
    feature = np.concatenate([tree.feature for tree in mixture.trees])
    inner = feature != LEAF
    index = np.where(inner, np.cumsum(inner) - 1, -1 - answers)
    roots = np.cumsum([0] + [tree.n_nodes for tree in mixture.trees[:-1]])
    pairs = [np.stack([tree.left, tree.right], axis=1) + root for tree, root in zip(mixture.trees, roots, strict=True)]
    threshold = np.concatenate([tree.threshold for tree in mixture.trees])
    return index[roots], index[np.concatenate(pairs)[inner]], feature[inner], threshold[inner]


def integer(low: int, high: int) -> str:
    """Smallest C type that holds low..high."""
    if low >= 0:
        return next(f"uint{bits}_t" for bits in (8, 16, 32) if high < 2**bits)
    return next(f"int{bits}_t" for bits in (8, 16, 32) if low >= -(2 ** (bits - 1)) and high < 2 ** (bits - 1))


def array(declaration: str, *rows: str) -> str:
    """A constant array."""
    lines = chain.from_iterable(textwrap.wrap(row, WIDTH, break_on_hyphens=False) for row in rows)
    return "\n".join([f"static const {declaration} = {{", *(INDENT + line for line in lines), "};"])


def number(value: float, kind: str) -> str:
    """The shortest decimal number that is rounded to this value; C++ reads hexadecimal ones from 2017 on only."""
    if value == 0:
        return "0.0f" if kind == "float" else "0.0"
    return f"{decimal(value, kind)}{'f' if kind == 'float' else ''}"


def decimal(value: float, kind: str) -> str:
    """A number for people."""
    return str(np.float32(value)) if kind == "float" else repr(float(value))


def string(text: str) -> str:
    """A string literal that may also stand in a comment.

    Octal escapes are at most three digits long, so unlike hexadecimal ones they cannot swallow what follows.
    """
    octets = text.encode("utf-8", "surrogatepass")
    escaped = "".join(chr(b) if 32 <= b < 127 and chr(b) not in _UNSAFE else f"\\{b:03o}" for b in octets)
    return f'"{escaped}"'


_UNSAFE = '"\\?*'
"""Quote and backslash, and what trigraphs and both ends of a comment need."""
