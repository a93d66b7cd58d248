"""
Drugs and targets: two kinds of nodes, and holes
================================================

For those who rank targets for a drug, items for a user, or anything else of two kinds. The drug is the *conditioning
node*, the targets are the *objects*. The relation is *ordinary*: nothing is assumed about it. Most pairs were never
measured (holes), and how well a ranker does depends on what is new.
"""

# %%
# 80 drugs and 60 targets, each kind with its own features, and affinities that depend on both. A third of the pairs was
# measured, with noise. The others are NaN.

import matplotlib.pyplot as plt
import numpy as np

from condrank import ConditionalRanker, RelationGraph
from condrank.baselines import NearestNeighbours
from condrank.model_selection import SettingSplit, cross_validate_settings
from condrank.plots import CoordinatesDisplay, RelationDisplay

rng = np.random.default_rng(0)
drugs, targets = rng.standard_normal((80, 6)), rng.standard_normal((60, 5))
affinity = np.tanh(drugs @ rng.standard_normal((6, 5)) @ targets.T / 2) + 0.5 * targets[:, 0]
measured = np.where(rng.random(affinity.shape) < 0.33, affinity + 0.3 * rng.standard_normal(affinity.shape), np.nan)
graph = RelationGraph(
    drugs,
    measured,
    objects=targets,
    ids=[f"drug{i}" for i in range(80)],
    object_ids=[f"target{i}" for i in range(60)],
)
print(graph)

# %%
# The plan names the solver, the reason and the cost, before any work is done:

ranker = ConditionalRanker(relation="ordinary", loss="ranking", alpha=3.0, kernel="rbf", gamma=0.05, constant=True)
print(ranker.plan(graph))

# %%
# Say which setting a number is for: a new pair of a known drug and a known target (1), new drugs (2), new targets (3),
# both new (4). The last is the hardest. ``constant=True`` allows a target to be strong for all drugs.

print(cross_validate_settings(ranker, graph, cv=SettingSplit(4, 3, random_state=0)))

# %%
# For nearest neighbours, too, one number is not enough.

print(cross_validate_settings(NearestNeighbours(), graph, settings=(1, 2), cv=SettingSplit(4, 3, random_state=0)))

# %%
# Targets for new drugs:

ranker.fit(graph)
print(ranker.rank(rng.standard_normal((2, 6)), top=5))

# %%
# Left: measured and predicted values, strong drugs and targets first. Right: drugs (filled) and targets (hollow) in the
# two coordinates that matter most. A target ranks high for the drugs in its direction.

figure = plt.figure(figsize=(12, 4.4), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=(1.6, 1))
RelationDisplay.from_estimator(ranker, graph, order="score").plot(ax=left.subplots(1, 2), show="scores", colourbar=True)
CoordinatesDisplay.from_estimator(ranker, graph).plot(ax=right.subplots())
plt.show()
