"""
Two kernels: which target for a new drug
========================================

For a bioinformatician with a similarity matrix of drugs, one of targets, and affinities that were measured for some
pairs. The matrices and the affinities are labelled frames; everything is aligned by label.
"""

# %%
# 90 drugs with fingerprints, compared by the Tanimoto coefficient, and 40 targets of five families. Similar drugs have
# similar affinities to similar targets. A third of them was measured. Rows and columns of the three tables are in
# different orders, as they are when they come from different people.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from condrank import ConditionalRanker, RelationGraph
from condrank.baselines import NearestNeighbours
from condrank.model_selection import SettingSplit, cross_validate_settings

rng = np.random.default_rng(1)
drugs, targets = [f"D{i:02d}" for i in range(90)], [f"kinase {j:02d}" for j in range(40)]
scaffold = rng.integers(0, 6, 90)
fingerprints = rng.random((90, 64)) < np.where(rng.random((6, 64)) < 0.3, 0.8, 0.1)[scaffold]
shared = fingerprints.astype(float) @ fingerprints.T
drug_kernel = shared / (fingerprints.sum(axis=1)[:, None] + fingerprints.sum(axis=1) - shared)
family = rng.integers(0, 5, 40)
sequence = rng.normal(size=(5, 8))[family] + 0.4 * rng.normal(size=(40, 8))
target_kernel = np.exp(-((sequence[:, None] - sequence) ** 2).sum(axis=2) / 10)
roots = [np.linalg.cholesky(kernel + 1e-6 * np.eye(len(kernel))) for kernel in (drug_kernel**2, target_kernel)]
affinity = 6 + 1.5 * roots[0] @ rng.normal(size=(90, 40)) @ roots[1].T + 0.3 * rng.normal(size=(90, 40))
measured = pd.DataFrame(np.where(rng.random(affinity.shape) < 0.33, affinity, np.nan), drugs, targets)
of_drugs = pd.DataFrame(drug_kernel, drugs, drugs).sample(frac=1, random_state=0)  # in another order
of_targets = pd.DataFrame(target_kernel, targets, targets)

# %%
# Labels that do not fit would be refused, with the first of them.

graph = RelationGraph(of_drugs.loc[:, of_drugs.index], measured, objects=of_targets)
print(graph, graph.ids[:3])
ranker = ConditionalRanker(loss="ranking", alpha=0.1, kernel="precomputed")

# %%
# A number without its setting says little: what is new can be a pair of known nodes (1), the drug (2),
# the target (3), or both (4). Here new drugs are the hard part. Nearest neighbours cannot rank new targets.

folds = SettingSplit(4, 3, random_state=0)
ours = cross_validate_settings(ranker, graph, cv=folds)
theirs = cross_validate_settings(NearestNeighbours(kernel="precomputed"), graph, settings=(1, 2), cv=folds)
print(ours)

# %%
# A drug that nobody has measured: its similarity to the 90 drugs is enough.

fitted = ConditionalRanker(loss="regression", fit_intercept=True, alpha=0.1, kernel="precomputed").fit(graph)
new_drug = drug_kernel[[7]] * 0.9  # like D07, but not quite
new_drug = pd.DataFrame(new_drug, ["new drug"], drugs)[graph.ids]
best = fitted.rank(new_drug, top=5).to_frame()
print(best.round(2).to_string(index=False))

# %%
# For the colleague: the loss in each setting, and the affinities to expect for the new drug beside all that was
# measured.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
shown = {"two kernels": (ours, "#2a7ab8"), "nearest neighbours": (theirs, "#888888")}
for number, (name, (found, colour)) in enumerate(shown.items()):
    losses = found.to_frame().groupby("setting")["rank_loss"].agg(["mean", "sem"])
    left.errorbar(
        losses.index + 0.12 * number, losses["mean"], losses["sem"], fmt="o", color=colour, label=name, capsize=3
    )
left.axhline(0.5, color="black", linewidth=0.8, linestyle=":")
left.set(xticks=[1, 2, 3, 4], xlabel="setting: what is new", ylabel="pairs in the wrong order", ylim=(0, 0.55))
left.set_xticklabels(["pairs", "drugs", "targets", "both"])
left.legend(frameon=False, loc="lower right")
right.boxplot([measured[name].dropna() for name in best["object"]], orientation="horizontal", widths=0.5)
right.plot(best["score"], np.arange(1, 6), "D", color="#c2452d", label="expected for the new drug")
right.set_yticks(np.arange(1, 6), best["object"])
right.invert_yaxis()
right.set_xlabel("affinity (boxes: all measured drugs)")
right.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0))
plt.show()
