"""
To a microcontroller
====================

A model as C99 without allocation or libraries, with the answers of the model to the bit.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

from moet import MoETClassifier, export
from moet.explain import Axis, decision_regions, draw_regions

X, y = load_iris(return_X_y=True, as_frame=True)
model = MoETClassifier(n_experts=2, max_depth=1, prediction="hard", random_state=0).fit(X, y)
header = export.c(model, name="iris")
print(header)

# %%
# What the header answers, for sepals of middling size:

length, width = Axis(2, "petal length [cm]", 1, 7), Axis(3, "petal width [cm]", 0, 2.6)
regions = decision_regions({"iris.h": model.mixture_.predict}, length, width, held=X.median().tolist())
figure = draw_regions(regions, ["setosa", "versicolor", "virginica"])

# %%
# A program that reads rows and prints answers, compiled where there is a compiler:

PROGRAM = """
#include <stdio.h>
#include "iris.h"
int main(void)
{
    double x[IRIS_FEATURES];
    while (scanf("%lf %lf %lf %lf", x, x + 1, x + 2, x + 3) == 4) printf("%d\\n", iris_predict(x));
}
"""
if compiler := shutil.which("cc"):
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "iris.h").write_text(header)
        (Path(folder) / "main.c").write_text(PROGRAM)
        subprocess.run([compiler, "-Os", "-ffp-contract=off", "-o", "iris", "main.c"], cwd=folder, check=True)
        rows = "\n".join(" ".join(map(repr, row)) for row in X.to_numpy().tolist())
        out = subprocess.run([f"{folder}/iris"], input=rows, capture_output=True, text=True, check=True).stdout
    print("equal answers:", bool((np.array(out.split(), dtype=int) == model.predict(X)).all()))
