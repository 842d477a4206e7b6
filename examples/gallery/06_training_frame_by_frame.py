"""
How a mixture is trained, frame by frame
========================================

Each round asks who explains which rows, grows every expert on its share, and moves the gate. Three
snapshots of one fit.
"""

import numpy as np
from matplotlib.figure import Figure

from moet import MoETClassifier

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (4000, 2))
angle = np.degrees(np.arctan2(X[:, 1], X[:, 0])) % 360
y = np.select([angle < 75, angle < 160, angle < 250], [X[:, 0] > 0.3, X[:, 1] > 0.5, X[:, 0] > -0.4], X[:, 1] < -0.5)

frames = []
MoETClassifier(
    n_experts=4,
    max_depth=1,
    prediction="hard",
    init="random",
    gate_solver="adam",  # as in the paper; the default takes fewer rounds
    n_init=1,
    max_iter=30,
    hard_iter=0,
    tol=0,
    random_state=3,
    callback=lambda epoch, likelihood, mixture: frames.append((epoch, likelihood, mixture)),
).fit(X, y)
print(f"{len(frames)} rounds, likelihood from {frames[0][1]:.3f} to {frames[-1][1]:.3f}")

# %%
# The gate's borders (dashed) turn until each part is easy for a tree with one split:

chosen = [frames[0], frames[len(frames) // 2], frames[-1]]
figure = Figure(figsize=(9, 3.2), layout="constrained")
ticks = np.linspace(-1, 1, 300)
grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
for axis, (epoch, _, mixture) in zip(figure.subplots(1, 3, sharey=True), chosen, strict=True):
    axis.contourf(ticks, ticks, mixture.predict(grid).reshape(300, 300), levels=1, colors=["C0", "C1"], alpha=0.5)
    owners = mixture.expert(grid).reshape(300, 300)
    axis.contour(ticks, ticks, owners, levels=[0.5, 1.5, 2.5], colors="k", linestyles="dashed")
    accuracy = (mixture.predict(X) == y).mean()
    axis.set(title=f"round {epoch}: accuracy {accuracy:.3f}", xlabel="x0")
