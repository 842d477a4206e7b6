"""
A sweep, and its fronts
=======================

How large must a student be? A sweep distils trees and mixtures of many sizes from one teacher and keeps them all; on a
front are those that no other beats in reward, fidelity and size at once. The extra ``sweep`` is needed.
"""

import tempfile

from matplotlib.figure import Figure

from moet.study import Plan, Sweep
from moet.study.report import findings, task_reports

plan = Plan(
    tree_depths=(1, 3, 5),
    mixtures=((2, 0), (2, 2)),
    iterations=4,
    rollouts=5,
    selection_episodes=10,
    episodes=20,
)
with tempfile.TemporaryDirectory() as folder:
    found = Sweep("cartpole", plan=plan, storage=folder).run(workers=1)

# %%
# What the numbers say, in sentences:

report = task_reports(found)[0]
print(*findings(report), sep="\n")

# %%
# Every student by its size and by how often it does what its teacher would have done:

figure = Figure(figsize=(5.5, 3.5), layout="constrained")
axis = figure.subplots()
for family, marker in zip(("VIPER", "MoËT", "MoËT_h"), "so^", strict=True):
    some = [outcome for outcome in found if outcome.family == family]
    axis.plot([o.leaves for o in some], [o.after.fidelity for o in some], marker, label=family)
axis.set(xscale="log", xlabel="leaves", ylabel="fidelity on fresh episodes")
axis.legend()
