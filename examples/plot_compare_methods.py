"""
Researchers: compare methods fairly
===================================

For those who want to know whether one method is better than another. All methods get the same folds, hyperparameters
are chosen inside the training graphs, the setting is named, and a test checks the difference.
"""

# %%
# Objects of six classes in three groups. The relation is 2 within a class, 1 within a group, 0 otherwise. Classes
# overlap.

import warnings

import matplotlib.pyplot as plt
import numpy as np

from condrank import ConditionalRanker, ConditionalRankerCV, SelectionWarning
from condrank.baselines import NearestNeighbours, SimilarityRanker, TwoStepRidge
from condrank.datasets import make_classes
from condrank.model_selection import SettingSplit, compare, cross_validate
from condrank.plots import LossCurveDisplay, QueryLossDisplay

graph = make_classes(150, 10, 6, n_groups=3, class_sep=1.0, random_state=0)
kernel = {"kernel": "rbf", "gamma": 0.03}
alphas = np.logspace(-3, 3, 5)
warnings.simplefilter("ignore", SelectionWarning)  # no new classes will come, so single nodes may be left out

# %%
# Every method gets the same folds of setting 4: both the conditioning node (the node we rank for) and the objects are
# new. Choosing λ, the strength of the regularisation, is part of the method, so it is repeated in each training graph.

methods = {
    "similarity": SimilarityRanker(**kernel),
    "nearest neighbours": NearestNeighbours(**kernel),
    "two-step ridge": TwoStepRidge(**kernel),
    "regression": ConditionalRankerCV(alphas, "leave-node-out", relation="symmetric", loss="regression", **kernel),
    "ranking": ConditionalRankerCV(alphas, "leave-node-out", relation="symmetric", loss="ranking", **kernel),
    "ranking, ordinary": ConditionalRankerCV(alphas, 3, relation="ordinary", loss="ranking", random_state=0, **kernel),
}
folds = SettingSplit(4, 3, random_state=0)
results = {
    name: cross_validate(method, graph, cv=folds, scoring=["rank_loss", "ndcg"]) for name, method in methods.items()
}
for name, result in results.items():
    loss, error = result.mean("rank_loss"), result.standard_error("rank_loss")
    print(f"{name:<20} rank loss {loss:.4f} ± {error:.4f}   NDCG {result.mean('ndcg'):.4f}")

# %%
# A mean hides the single queries (conditioning nodes). Their distribution shows them.

axes = plt.subplots(figsize=(6, 4), layout="constrained")[1]
for name in ("similarity", "two-step ridge", "ranking"):
    queries = results[name].queries
    QueryLossDisplay.from_values(queries["rank_loss"], queries["query"]).plot(ax=axes, kind="ecdf", name=name, worst=0)

# %%
# Is the difference real? It is paired by conditioning node, with an interval and a sign-flip test. The answer is about
# these training graphs, not about other data.

print(compare(results["ranking"], results["regression"], random_state=0))

# %%
# Left: the loss by λ. Right: the loss by number of iterations at λ = 0, for early stopping, which the paper uses
# instead.

left, right = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained", sharey=True)[1]
for loss in ("regression", "ranking"):
    LossCurveDisplay.from_estimator(methods[loss].fit(graph)).plot(ax=left, name=loss)
    early = ConditionalRanker(
        "symmetric", loss, 0.0, solver="early_stopping", validation_fraction=0.3, max_iter=40, random_state=0, **kernel
    )
    LossCurveDisplay.from_estimator(early.fit(graph)).plot(ax=right, name=loss)

# %%
# For the paper: each method beside "ranking", paired by conditioning node, with the interval of the difference. There
# are five comparisons, so each p-value is multiplied by five (Bonferroni).

others = [name for name in methods if name != "ranking"]
found = {name: compare(results[name], results["ranking"], random_state=0) for name in others}
print(f"{'method':<20} {'rank loss':>9} {'difference':>11} {'95 % interval':>18} {'p':>7}")
print(f"{'ranking':<20} {found[others[0]].mean_b:>9.4f}")
for name, one in found.items():
    interval, p = f"[{one.low:+.4f}, {one.high:+.4f}]", min(1.0, len(others) * one.p_value)
    print(f"{name:<20} {one.mean_a:>9.4f} {one.difference:>+11.4f} {interval:>18} {p:>7.4f}")
figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
means = np.array([one.difference for one in found.values()])
bounds = np.array([[one.low, one.high] for one in found.values()])
axes.errorbar(means, range(len(others)), xerr=[means - bounds[:, 0], bounds[:, 1] - means], fmt="o", capsize=3)
axes.axvline(0, color="black", linewidth=0.8)
axes.set_yticks(range(len(others)), others)
axes.set_xlabel("rank loss above that of the ranking loss, with 95 % intervals")
axes.spines[["top", "right"]].set_visible(False)
plt.show()
