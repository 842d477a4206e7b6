"""Minimal cost-complexity pruning (Breiman et al., 1984)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from moet.model.tree import LEAF, Tree, subtree

Criterion = Literal["gini", "entropy", "error"]


def cost_complexity_prune(tree: Tree, weight: NDArray[np.float64], ccp_alpha: float, criterion: Criterion) -> Tree:
    """Return the smallest subtree of least risk, where every leaf costs ``ccp_alpha``.

    The same subtree as scikit-learn's ``ccp_alpha``, unless ``ccp_alpha`` is, up to rounding, the exact value at which
    a branch goes. As there, 0 prunes nothing.

    Parameters
    ----------
    tree : Tree
        Its ``value`` are the class frequencies of the training rows at *every* node.
    weight : array of float, shape (n_nodes,)
        Sum of the weights of the training rows that reached each node.
    ccp_alpha : float
        What a leaf costs, in units of impurity averaged over all training weight.
    criterion : {"gini", "entropy", "error"}
        Impurity (entropy in bits, or the share of wrong answers); a node's risk is its impurity times its share of the
        training weight.
    """
    if ccp_alpha == 0:
        return tree
    # risks and costs are both in units of weight: no division by a total that may be 0
    risk = (weight * _impurity(tree.value, criterion)).tolist()  # lists: elements of arrays are slow to get
    leaf_cost = float(weight[0] * ccp_alpha)
    left, right = tree.left.tolist(), tree.right.tolist()
    leaves = [1] * tree.n_nodes
    leaf_risk = risk.copy()
    # children come after their parent, so backwards every branch is settled before the node above it is judged
    for node in np.flatnonzero(tree.feature != LEAF)[::-1].tolist():
        n_leaves = leaves[left[node]] + leaves[right[node]]
        branch_risk = leaf_risk[left[node]] + leaf_risk[right[node]]
        if risk[node] - branch_risk <= leaf_cost * (n_leaves - 1):
            left[node] = right[node] = LEAF
        else:
            leaves[node], leaf_risk[node] = n_leaves, branch_risk
    return subtree(tree, 0, np.array(left, np.int32), np.array(right, np.int32), np.arange(tree.n_nodes))


def _impurity(value: NDArray[np.float64], criterion: Criterion) -> NDArray[np.float64]:
    if criterion == "gini":
        return 1.0 - (value**2).sum(axis=1)
    if criterion == "error":
        return 1.0 - value.max(axis=1)
    return -(value * np.log2(np.where(value > 0, value, 1.0))).sum(axis=1)
