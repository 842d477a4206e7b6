"""
The paper's Gridworld
=====================

An optimal rule that cuts a grid along its diagonals is one gate for a mixture and a staircase for a tree (Table 1 of
Vasić et al., 2022).
"""

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from moet import MoETClassifier
from moet.explain import Axis, decision_regions, draw_regions
from moet.teachers import load

size = 8
rule = load(f"gridworld-{size}")
cells = np.indices((size, size)).reshape(2, -1).T.astype(float)
cells = cells[cells.sum(axis=1) != size - 1]  # nobody stands on the wall
actions = rule.act(cells)

mixture = MoETClassifier(n_experts=2, max_depth=0, prediction="hard", random_state=0).fit(cells, actions)
tree = DecisionTreeClassifier(random_state=0).fit(cells, actions)
print(f"mixture: {mixture.mixture_.size.leaves} leaves, right in {mixture.score(cells, actions):.0%} of the cells")
print(f"tree: {tree.get_n_leaves()} leaves, right in {tree.score(cells, actions):.0%} of the cells")

# %%
# What both answer between the cells, too:

x, y = (Axis(k, name, -0.5, size - 0.5) for k, name in enumerate(("column", "row")))
policies = {"mixture of two leaves": mixture.predict, f"tree of {tree.get_n_leaves()} leaves": tree.predict}
picture = draw_regions(decision_regions(policies, x, y, held=[0, 0]), [f"action {k}" for k in range(4)])
