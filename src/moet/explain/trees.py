"""Experts as drawn trees: what stands where, and the drawing."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from moet.errors import InputError
from moet.explain.columns import Columns
from moet.explain.reasons import path_of
from moet.explain.style import class_looks, literal, new_figure
from moet.explain.text import number, probability, threshold_digits, with_units
from moet.model.file import Model, as_model
from moet.model.regression.mixture import RegressionMixture
from moet.model.text import printable
from moet.model.tree import LEAF, BaseTree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEPTH = 3
DIGITS = 3

# inches: all sizes are, so that text has the same size in small and in large pictures
_LEVEL = 0.9
_PAGE = 12.0
_TITLE = 0.35
_LETTER = 0.075
_GAP = 0.4
_FORMULA = 30
"""Letters to a line of a formula."""
_LINE = 0.14


@dataclass(frozen=True)
class DrawnNode:
    """One box of a drawn tree.

    Attributes
    ----------
    x : float
        Centre, in leaves from the left: leaf number k stands at ``k + 0.5``.
    level : int
        Tests before it.
    kind : {"test", "leaf", "cut"}
        A cut stands for all that is below it.
    text : str
        The tested feature; or class and purity, or formulas; or what was cut.
    branch : str
        On the edge from its parent, such as ``<= 0.5``; empty at the root.
    parent : int or None
        Position of the parent among the drawn nodes.
    answer : int or None
        Number of a leaf's colour: its class, or its expert where answers are numbers.
    taken : bool
        Whether the input in question came here.
    """

    x: float
    level: int
    kind: Literal["test", "leaf", "cut"]
    text: str
    branch: str
    parent: int | None
    answer: int | None
    taken: bool


@dataclass(frozen=True)
class DrawnTree:
    """One expert.

    Attributes
    ----------
    title : str
        Which expert, how large, and to which depth it is drawn if not all of it is.
    nodes : tuple of DrawnNode
        Parents before their children.
    width : int
        Boxes without children, side by side.
    """

    title: str
    nodes: tuple[DrawnNode, ...]
    width: int

    @property
    def height(self) -> int:
        """Levels drawn."""
        return 1 + max(node.level for node in self.nodes)


def drawn_trees(
    model: object,
    *,
    experts: Sequence[int] | None = None,
    max_depth: int = DEPTH,
    at: ArrayLike | None = None,
    units: Mapping[str, str] | None = None,
) -> list[DrawnTree]:
    """Lay out the trees of the experts.

    Parameters
    ----------
    model : mixture, fitted estimator, policy, or path of a model file
    experts : sequence of int, optional
        Which ones; all by default.
    max_depth : int
        What is deeper is drawn as one box that says how many leaves it stands for.
    at : array of float, optional
        An input whose path is to be marked: in the expert that answers, or in all of them if they vote.
    units : mapping, optional
        Units by feature name.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet.explain import drawn_trees
    >>> len(drawn_trees(model))
    2
    """
    if max_depth < 0:
        raise InputError(f"max_depth must be at least 0, got {max_depth}")
    mixture = as_model(model)
    shown = range(mixture.n_experts) if experts is None else experts
    if unknown := [j for j in shown if not 0 <= j < mixture.n_experts]:
        raise InputError(f"there is no expert {unknown[0]}; they are 0 to {mixture.n_experts - 1}")
    names = with_units(mixture.feature_names, units)
    digits = threshold_digits(mixture, DIGITS)
    taken = _taken(mixture, at)
    return [_drawn(mixture, j, max_depth, names, digits, taken[j]) for j in shown]


def draw_trees(trees: Sequence[DrawnTree], class_count: int, note: str = "") -> Figure:
    """Draw trees beside and below one another: thresholds on the edges, class and purity in the leaves.

    Parameters
    ----------
    trees : sequence of DrawnTree
    class_count : int
        Classes of the model, each of which has a colour; or its experts, if it answers with numbers.
    note : str
        What the reader should know.

    Examples
    --------
    >>> from moet import Mixture, Tree
    >>> model = Mixture([[1, 2], [-1, -2]], [0, 0], [Tree.leaf([1, 0]), Tree.leaf([0, 1])], ["up", "down"])
    >>> from moet.explain import draw_trees, drawn_trees
    >>> figure = draw_trees(drawn_trees(model), class_count=2)
    >>> len(figure.axes)
    1
    """
    slot = max(_slot(tree) for tree in trees)
    rows = _packed(trees, slot)
    level = _LEVEL + _LINE * max(0, max(_lines(tree) for tree in trees) - 2)
    heights = [_TITLE + level * (max(tree.height for tree in row) - 0.25) for row in rows]
    width = max(sum(_width(tree, slot) for tree in row) + _GAP * (len(row) - 1) for row in rows) + 0.3
    height = sum(heights) + 0.1 + 0.3 * bool(note)
    figure = new_figure(width, height)
    figure.set_layout_engine("none")
    axis = figure.add_axes((0, 0, 1, 1))
    axis.set(xlim=(0, width), ylim=(height, 0))
    axis.set_axis_off()
    colours = [look.tinted.colour for look in class_looks(class_count)]
    top = 0.05 + 0.3 * bool(note)
    for row, row_height in zip(rows, heights, strict=True):
        left = 0.15
        for tree in row:
            _draw_one(axis, tree, left, top, slot, level, colours)
            left += _width(tree, slot) + _GAP
        top += row_height
    if note:
        axis.text(width / 2, 0.2, note, ha="center", va="center", fontsize=9)
    return literal(figure)


def _taken(mixture: Model, at: ArrayLike | None) -> list[set[int]]:
    """Nodes on the way of an input, by expert; those of experts without a say are left out."""
    taken: list[set[int]] = [set() for _ in mixture.trees]
    if at is None:
        return taken
    mixture.act(at)  # which checks it
    state = np.asarray(at, dtype=np.float64)
    heard = [int(mixture.expert([state])[0])] if mixture.prediction == "hard" else range(mixture.n_experts)
    for j in heard:
        path, leaf = path_of(mixture.trees[j], state)
        taken[j] = {leaf, *(check.node for check in path)}
    return taken


def _drawn(
    mixture: Model, expert: int, max_depth: int, names: list[str], digits: list[int], taken: set[int]
) -> DrawnTree:
    tree = mixture.trees[expert]
    leaves_below = _leaves_below(tree)
    columns = None if mixture.schema is None else Columns(mixture.schema)
    order: list[tuple[int, int, int | None, str]] = []  # node, level, place of its parent, branch
    stack: list[tuple[int, int, int | None, str]] = [(0, 0, None, "")]
    while stack:
        node, level, parent, branch = stack.pop()
        order.append((node, level, parent, branch))
        if tree.feature[node] != LEAF and level < max_depth:
            _, left, right = _test(tree, node, names, digits, columns)
            place = len(order) - 1
            stack.append((int(tree.right[node]), level + 1, place, right))
            stack.append((int(tree.left[node]), level + 1, place, left))
    x, width = _across([parent for _, _, parent, _ in order])
    nodes = []
    for place, (node, level, parent, branch) in enumerate(order):
        answer, text = _leaf(mixture, expert, node)
        kind: Literal["test", "leaf", "cut"] = "leaf"
        if tree.feature[node] != LEAF and level < max_depth:
            kind, text = "test", _test(tree, node, names, digits, columns)[0]
        elif tree.feature[node] != LEAF:
            most = "" if isinstance(mixture, RegressionMixture) else f",\nmostly {text}"
            kind, text = "cut", f"{leaves_below[node]} leaves{most}"
        own = answer if kind == "leaf" else None
        nodes.append(DrawnNode(x[place], level, kind, text, branch, parent, own, node in taken))
    title = f"expert {expert}" if mixture.n_experts > 1 else "decision tree"
    if tree.depth > max_depth:
        title += f": {tree.n_leaves} leaves, depth {tree.depth}, drawn to depth {max_depth}"
    return DrawnTree(title, tuple(nodes), width)


def _test(
    tree: BaseTree, node: int, names: list[str], digits: list[int], columns: Columns | None
) -> tuple[str, str, str]:
    """What stands in the box of a test, and on its two edges: in the columns of the user's table, if there are such."""
    k, threshold = int(tree.feature[node]), float(tree.threshold[node])
    told = None if columns is None else columns.tests(k, threshold)
    if columns is None or told is None:
        shown = number(threshold, digits[k]).replace("-", "−")
        return names[k], f"≤ {shown}", f"> {shown}"
    left, right = (text.removeprefix(f"{columns.name(k)} ") for text in told)
    if left.startswith("<= "):
        return names[k], f"≤ {left[3:]}", f"≥ {right[3:]}"
    return columns.name(k), left, right


def _leaf(mixture: Model, expert: int, node: int) -> tuple[int, str]:
    """Number of a leaf's colour, and what stands in it: class and purity, or a formula per output."""
    if isinstance(mixture, RegressionMixture):
        tree = mixture.trees[expert]
        slopes = np.zeros((mixture.n_outputs, mixture.n_features)) if tree.slope is None else tree.slope[node]
        parts = zip(mixture.outputs, tree.value[node].tolist(), slopes.tolist(), strict=True)
        return expert, "\n".join(line for name, value, slope in parts for line in _formula(mixture, name, value, slope))
    probabilities = mixture.trees[expert].value[node]
    best = int(probabilities.argmax())
    return best, f"{printable(str(mixture.classes.tolist()[best]))}\n{probability(probabilities[best])}"


def _formula(mixture: RegressionMixture, name: str, value: float, slope: list[float]) -> list[str]:
    """An output as a sum, in lines that are no longer than others in a box."""
    terms = [
        f"{'−' if s < 0 else '+'}\N{NO-BREAK SPACE}{number(abs(s), DIGITS)}·{printable(feature)}"
        for feature, s in zip(mixture.feature_names, slope, strict=True)
        if s
    ]
    first = number(value, DIGITS).replace("-", "−")
    return textwrap.wrap(" ".join([f"{printable(name)} =", first, *terms]), _FORMULA, subsequent_indent="  ")


def _leaves_below(tree: BaseTree) -> np.ndarray:
    leaves = (tree.feature == LEAF).astype(np.int64)
    for node in np.flatnonzero(tree.feature != LEAF)[::-1]:  # children come after their parents
        leaves[node] = leaves[tree.left[node]] + leaves[tree.right[node]]
    return leaves


def _across(parents: list[int | None]) -> tuple[list[float], int]:
    """Places from left to right: what has no children one beside the other, parents above the middle of theirs."""
    children: list[list[int]] = [[] for _ in parents]
    for place, parent in enumerate(parents):
        if parent is not None:
            children[parent].append(place)
    x = [0.0] * len(parents)
    width = 0
    for place in range(len(parents)):  # depth first from the left, so the leaves are in order
        if not children[place]:
            x[place] = width + 0.5
            width += 1
    for place in reversed(range(len(parents))):
        if children[place]:
            x[place] = sum(x[child] for child in children[place]) / 2
    return x, width


def _slot(tree: DrawnTree) -> float:
    """Inches for a leaf, so that neither boxes nor the text on edges collide."""
    ends = [len(line) for node in tree.nodes if node.kind != "test" for line in node.text.split("\n")]
    tests = [len(node.text) / 2 for node in tree.nodes if node.kind == "test"]
    branches = [len(node.branch) for node in tree.nodes]
    return _LETTER * max(*ends, *tests, *branches) + 0.2


def _lines(tree: DrawnTree) -> int:
    """Lines of the box that has most."""
    return max(node.text.count("\n") + 1 for node in tree.nodes)


def _width(tree: DrawnTree, slot: float) -> float:
    """Inches for a tree: its boxes, and its title."""
    return max(tree.width * slot, _LETTER * len(tree.title))


def _packed(trees: Sequence[DrawnTree], slot: float) -> list[list[DrawnTree]]:
    """Trees in as few rows as fit on a page, and these about equally long."""
    fewest = len(_rows(trees, slot, _PAGE))
    narrower = (_rows(trees, slot, _PAGE * share / 20) for share in range(1, 20))
    return next((rows for rows in narrower if len(rows) == fewest), _rows(trees, slot, _PAGE))


def _rows(trees: Sequence[DrawnTree], slot: float, page: float) -> list[list[DrawnTree]]:
    rows: list[list[DrawnTree]] = [[]]
    used = 0.0
    for tree in trees:
        width = _width(tree, slot) + _GAP
        if rows[-1] and used + width > page:
            rows.append([])
            used = 0.0
        rows[-1].append(tree)
        used += width
    return rows


def _draw_one(
    axis: Any, tree: DrawnTree, left: float, top: float, slot: float, level: float, colours: Sequence[str]
) -> None:
    middle = left + _width(tree, slot) / 2
    first = middle - tree.width * slot / 2
    places = [(first + slot * node.x, top + _TITLE + level * (node.level + 0.2)) for node in tree.nodes]
    axis.text(middle, top + 0.18, tree.title, ha="center", va="center", fontsize=10, weight="bold")
    for node, (x, y) in zip(tree.nodes, places, strict=True):
        if node.parent is not None:
            from_x, from_y = places[node.parent]
            bend = from_y + 0.27 * _LEVEL
            weight = {"linewidth": 2.4, "zorder": 2} if node.taken else {"linewidth": 0.8, "zorder": 1}
            axis.plot([from_x, from_x, x, x], [from_y, bend, bend, y], color="black", **weight)
            blank = {"boxstyle": "square,pad=0.15", "facecolor": "white", "edgecolor": "none"}
            axis.text(
                x, from_y + 0.52 * _LEVEL, node.branch, ha="center", va="center", fontsize=8, bbox=blank, zorder=3
            )
    for node, (x, y) in zip(tree.nodes, places, strict=True):
        box = {
            "boxstyle": "square,pad=0.3" if node.answer is None else "round,pad=0.3",
            "facecolor": "white" if node.answer is None else colours[node.answer],
            "edgecolor": "black",
            "linewidth": 2.4 if node.taken else 0.8,
            "linestyle": "--" if node.kind == "cut" else "-",
        }
        axis.text(x, y, node.text, ha="center", va="center", fontsize=8, bbox=box, zorder=4)
