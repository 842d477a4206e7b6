"""What a model must not do, as constraints of its training, such that what comes out can be proved to obey them.

- A column that is *ignored* is not there: neither gate nor trees learn from its features.
- In a column that is *monotone* the gate is blind, so that a change of it changes no expert's part; and in every tree
  that tests it, whatever is below the left branch says no more for the second class than whatever is below the right
  one (or no less). Thresholds play no role in that, so rounding them keeps it.
- A gate with a *budget* of columns is blind to all but the ones that a gate without a budget uses most.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from moet.errors import InputError
from moet.model.mixture import Mixture
from moet.model.schema import Schema
from moet.model.tree import LEAF, BaseTree, Tree

Floats = NDArray[np.float64]
Columns = dict[str | int, tuple[int, ...]]
"""The features of every column of the user's table, by its name, or its number if it has none."""


def columns_of(schema: Schema | None, names: Sequence[str] | None, n_features: int) -> Columns:
    """The columns of a table; features ``name=value`` are of one column, as `moet fit` and many encoders name them."""
    if schema is not None and any(len(features) > 1 for _, features in schema.places):
        return {column.name: tuple(features) for column, features in schema.places}
    if names is None:
        return {k: (k,) for k in range(n_features)}
    found: Columns = {}
    for k, name in enumerate(names):
        head = str(name).partition("=")[0]
        found[head] = (*found.get(head, ()), k)
    return found


def features_of(columns: Columns, wanted: Iterable[str | int], what: str) -> list[int]:
    """The features of some columns."""
    found: list[int] = []
    for name in wanted:
        if name not in columns:
            known = ", ".join(map(str, columns))
            raise InputError(f"{what} names the column {name!r}, and the table has: {known[:300]}")
        found.extend(columns[name])
    return sorted(set(found))


def kept_features(columns: Columns, ignore: Iterable[str | int] | None, n_features: int) -> NDArray[np.intp]:
    """The features of all columns that are not ignored."""
    kept = np.setdiff1d(np.arange(n_features), features_of(columns, ignore if ignore is not None else (), "ignore"))
    if len(kept) == 0:
        raise InputError("ignore names every column of the table: nothing is left to learn from")
    return kept


def among(columns: Columns, kept: NDArray[np.intp]) -> Columns:
    """The columns that some features belong to, the features counted anew."""
    place = {int(k): number for number, k in enumerate(kept)}
    found = {name: tuple(place[k] for k in features if k in place) for name, features in columns.items()}
    return {name: features for name, features in found.items() if features}


def signs_of(columns: Columns, monotone: Mapping[str | int, int], n_features: int) -> NDArray[np.int8]:
    """The direction of every feature: 1, -1, or 0 for any."""
    signs = np.zeros(n_features, dtype=np.int8)
    for name, sign in monotone.items():
        features = features_of(columns, [name], "monotone")
        if len(features) > 1:
            raise InputError(
                f"the categories of {name!r} have no order to be monotone in; ignore=[{name!r}] is possible"
            )
        if sign not in (1, -1):
            raise InputError(f"monotone says 1 or -1 of a column, got {sign!r} for {name!r}")
        signs[features] = sign
    return signs


def strongest(mixture: Mixture, spread: Floats, columns: Columns, budget: int) -> list[str | int]:
    """The columns that move the logits of a gate most, one standard deviation of every feature being ``spread``.

    Those that do not move them at all are none of them, even where the budget is not used up.
    """
    moved = (mixture.gate_weights - mixture.gate_weights.mean(axis=0)) * spread
    strength = {name: float((moved[:, list(features)] ** 2).sum()) for name, features in columns.items()}
    return sorted(filter(strength.get, strength), key=lambda name: -strength[name])[:budget]


def monotone_value(tree: BaseTree, signs: NDArray[np.int8]) -> Floats:
    """Class probabilities of a tree's nodes, of two classes, moved so that they are monotone.

    Where a tested feature has a direction, the mean of its children's shares of the second class is a bound: from above
    for all that is below the one, from below for all that is below the other. What exceeds its bounds is cut to them.
    """
    share = tree.value[:, 1].copy()
    low, high = np.zeros(len(share)), np.ones(len(share))
    for node in range(len(share)):  # children come after their parent
        share[node] = min(max(share[node], low[node]), high[node])
        if tree.feature[node] == LEAF:
            continue
        left, right = int(tree.left[node]), int(tree.right[node])
        low[[left, right]], high[[left, right]] = low[node], high[node]
        sign = signs[tree.feature[node]]
        if sign:
            middle = float(np.clip((share[left] + share[right]) / 2, low[node], high[node]))
            below, above = (left, right) if sign > 0 else (right, left)
            high[below], low[above] = middle, middle
    moved = share != tree.value[:, 1]
    return np.where(moved[:, None], np.stack([1.0 - share, share], axis=1), tree.value)


def widened(mixture: Mixture, kept: NDArray[np.intp], n_features: int) -> Mixture:
    """A mixture of some features as one of all of them, to the others of which it is blind."""
    if len(kept) == n_features:
        return mixture
    weights = np.zeros((mixture.n_experts, n_features))
    weights[:, kept] = mixture.gate_weights
    trees = [
        Tree(np.where(t.feature == LEAF, LEAF, kept[t.feature]), t.threshold, t.left, t.right, t.value)
        for t in mixture.trees
    ]
    return Mixture(
        weights,
        mixture.gate_bias,
        trees,
        mixture.classes,
        prediction=mixture.prediction,
        sharpness=mixture.sharpness,
        offset=mixture.offset,
    )
