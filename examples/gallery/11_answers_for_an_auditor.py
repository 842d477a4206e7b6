"""
Answers for an auditor, and for the applicant
=============================================

A model decides about loans. Does it look at sex? Does a longer loan ever help? What is the cheapest change that gets
this applicant a yes? Each answer is about every *possible* row, and comes with a certificate.
"""

import numpy as np
import pandas as pd

from moet import MoETClassifier, verify
from moet.explain import Axis, decision_regions, draw_regions, rules

rng = np.random.default_rng(0)
n = 2000
loans = pd.DataFrame(
    {
        "Age": rng.integers(19, 76, n),
        "Sex": rng.choice(["female", "male"], n),
        "Housing": rng.choice(["own", "rent", "free"], n, p=[0.7, 0.2, 0.1]),
        "Duration": rng.integers(4, 73, n),
        "Amount": rng.integers(250, 18_425, n),
    }
)
risk = 0.06 * loans.Duration + loans.Amount / 4000 - 0.02 * loans.Age - 1.2 * (loans.Housing == "own")
answer = np.where(risk + rng.normal(0, 0.7, n) > risk.median(), "bad", "good")

model = MoETClassifier(n_experts=2, max_depth=2, prediction="hard", random_state=0).fit(loans, answer)
print(rules(model))

# %%
# Are two people who differ in nothing but sex answered alike? If not, here they are:

verdict = verify.ignores(model, ["Sex"])
print(type(verdict).__name__)
if not verdict:
    print(*verdict.rows, verdict.answers, sep="\n")
    print(f"{verdict.share:.1%} of possible rows would be answered otherwise")

# %%
# A longer loan never turns bad into good:

verdict = verify.monotone(model, "Duration", direction="increasing", answer="bad")
print(type(verdict).__name__)

# %%
# The cheapest change that gets this applicant a yes, age and sex being as they are:

row = loans[answer == "bad"].iloc[0]
way = verify.recourse(model, row, answer="good", fixed=["Sex", "Age"])
print(row.to_dict())
print({column: f"{old} -> {new}" for column, (old, new) in way.changes.items()})

# %%
# Where this applicant stands (the cross), all else being as it is, and where the change leads (the dot):

names = model.mixture_.feature_names
months, amount = names.index("Duration"), names.index("Amount")
held = model.mixture_.schema.encode_row(row.to_dict())
axes = Axis(months, "Duration [months]", 4, 72), Axis(amount, "Amount", 250, 18_424)
figure = draw_regions(decision_regions({"answers": model.mixture_.predict}, *axes, held=held), list(model.classes_))
figure.axes[0].plot(row.Duration, row.Amount, "kx", markersize=9)
figure.axes[0].plot(way.row["Duration"], way.row["Amount"], "ko")

# %%
# What was proved, as one signs it:

print(way.claim)
