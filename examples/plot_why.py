"""
Why is it ranked there?
=======================

A score is a sum. `explain` writes it as contributions of what is known (labels), of whom it is known (nodes), of
features, and of parts of the model. All sums are exact. Here we ask why one film is ranked above another one for a
person.
"""

# %%
# People and films are two tables, and some people have rated some films. Young people like films with action.

import matplotlib.pyplot as plt
import numpy as np

from condrank import ConditionalRanker, TableRanker

rng = np.random.default_rng(0)
people = {"id": [f"person {i}" for i in range(40)], "age": rng.integers(15, 80, 40).tolist()}
films = {
    "id": [f"film {j}" for j in range(30)],
    "year": rng.integers(1960, 2024, 30).tolist(),
    "genre": rng.choice(["action", "drama", "comedy"], 30).tolist(),
}
rated = [(i, j) for i in range(40) for j in range(30) if rng.random() < 0.3]
values = []
for i, j in rated:
    likes = (50 - people["age"][i]) / 25 * (films["genre"][j] == "action") + 0.02 * (films["year"][j] - 1990)
    values.append(round(float(np.clip(3 + likes + rng.normal() / 3, 1, 5)), 1))
ratings = {
    "source": [people["id"][i] for i, _ in rated],
    "target": [films["id"][j] for _, j in rated],
    "value": values,
}
ranker = TableRanker(ConditionalRanker(loss="regression", constant=True, fit_intercept=True))
ranker.fit(people, ratings, objects=films)

# %%
# The best and the worst film for the youngest person. Printed, an explanation is a sentence with the ids and columns of
# the tables.

young = people["id"][int(np.argmin(people["age"]))]
ranking = ranker.rank([young], top=30)
best, worst = ranking.ids[0, 0], ranking.ids[0, -1]
why = ranker.explain(young, best, worst)
print(why)

# %%
# As a waterfall: bars from zero to the difference of the two scores. With a linear kernel a score is a sum of products
# of a column of the person and a column of the film, and each gets one half.

ax = plt.subplots(figsize=(8, 3), layout="constrained")[1]
why.plot("features", ax=ax)

# %%
# The same difference as a sum over ratings: influence times what a rating differs from the mean.

why.to_frame("labels", top=5)

# %%
# And over everybody whose ratings it comes from. All three have the same sum.

ax = plt.subplots(figsize=(8, 4), layout="constrained")[1]
why.plot("nodes", top=8, ax=ax)

# %%
for by in ("labels", "nodes", "features", "parts"):
    print(f"{by:9} {why.terms(by).total:.4f} of {why.total:.4f}")
