"""
A table, and the reasons for one answer
=======================================

A mixture learns to tell tumours apart, and says why it thinks so of one of them, and what would have changed its mind.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from moet import MoETClassifier, simplify
from moet.explain import draw_trees, drawn_trees, rules, why

data = load_breast_cancer(as_frame=True)
X = data.data[["mean radius", "mean texture", "mean concavity", "worst area"]]
y = data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

model = MoETClassifier(n_experts=2, max_depth=2, prediction="hard", random_state=0).fit(X_train, y_train)
print(f"held-out accuracy {model.score(X_test, y_test):.3f}")

# %%
# As few digits as keep every answer on the training rows; what is printed is the model.

short = simplify(model, X_train)
print(rules(short))

# %%
# The same as trees, with the path of one patient marked:

patient = X_test.iloc[0]
figure = draw_trees(drawn_trees(short, at=patient), len(short.classes))

# %%
# That patient: the gate, the path, and the nearest input with the other answer.

print(why(short, patient))
