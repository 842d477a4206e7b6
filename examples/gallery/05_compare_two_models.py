"""
Comparing two models
====================

A model was trained anew. Where does it answer otherwise than the old one, and how much of the input space is that?
"""

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from moet import Box, MoETClassifier, verify

X, y = make_moons(600, noise=0.2, random_state=0)
old = MoETClassifier(n_experts=2, max_depth=1, prediction="hard", random_state=0).fit(X[:300], y[:300])
new = MoETClassifier(n_experts=2, max_depth=1, prediction="hard", random_state=0).fit(X, y)
domain = Box(x0=(-2, 3), x1=(-1.5, 2))

verdict = verify.equivalent(old, new, domain)
print(type(verdict).__name__)
found = verify.differences(old, new, domain)
print(f"{len(found)} regions, {found.share:.2%} of the domain; all of them: {found.complete}")

# %%
# The regions, each with a point at which the deployed models were asked:

figure = Figure(figsize=(5, 4), layout="constrained")
axis = figure.subplots()
grid = np.stack(np.meshgrid(np.linspace(-2, 3, 400), np.linspace(-1.5, 2, 400)), axis=-1)
answers = [model.predict(grid.reshape(-1, 2)).reshape(400, 400) for model in (old, new)]
axis.contourf(grid[..., 0], grid[..., 1], answers[0] != answers[1], levels=[0.5, 1.5], colors=["C3"], alpha=0.5)
for model, answer in zip(("old", "new"), answers, strict=True):
    axis.contour(grid[..., 0], grid[..., 1], answer, levels=[0.5], colors="k" if model == "new" else "0.6")
axis.plot(*found.points.T, "k.", label="a point of each region")
axis.set(xlabel="x0", ylabel="x1", title="where the answers differ")
axis.legend()
