"""
Proteins with kernel matrices
=============================

For those who have similarities between objects, such as sequences or structures, and no features. The relation is the
number of levels that two proteins share in a taxonomy, like the digits of EC numbers. It is *symmetric*: the same in
both directions.
"""

# %%
# Sequences of a small taxonomy, made by mutating a common ancestor: 2 superfamilies of 3 families of 2 functions each.
# The similarity counts common runs of two and three amino acids (a spectrum kernel), scaled to 1 for a sequence and
# itself.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from condrank import ConditionalRanker, ConditionalRankerCV, RelationGraph, SelectionWarning
from condrank.baselines import SimilarityRanker
from condrank.model_selection import SettingSplit
from condrank.plots import QueryLossDisplay, RelationDisplay

rng = np.random.default_rng(0)
AMINO_ACIDS = np.array(list("ACDEFGHIKLMNPQRSTVWY"))


def mutate(sequence, share):
    """A copy in which a share of the positions is drawn again."""
    drawn = rng.choice(AMINO_ACIDS, size=len(sequence))
    return np.where(rng.random(len(sequence)) < share, drawn, sequence)


ancestor = rng.choice(AMINO_ACIDS, size=120)
sequences, taxonomy = [], []
for superfamily in range(2):
    of_superfamily = mutate(ancestor, 0.9)
    for family in range(3):
        of_family = mutate(of_superfamily, 0.5)
        for function in range(2):
            of_function = mutate(of_family, 0.3)
            for _ in range(25):
                sequences.append("".join(mutate(of_function, 0.55)))
                taxonomy.append((superfamily, family, function))
taxonomy = np.array(taxonomy)
counts = normalize(CountVectorizer(analyzer="char", ngram_range=(2, 3)).fit_transform(sequences))
K = (counts @ counts.T).toarray()

# %%
# A graph from the kernel matrix and the taxonomy. The relation itself is never built. Subgraphs know the kernel values
# between each other, so you pass the kernel once, for all proteins.

graph = RelationGraph.from_classes(K, taxonomy)
order = rng.permutation(len(K))
known, new = graph[order[:200]], graph[order[200:]]
print(known)

# %%
# λ, the strength of the regularisation, is chosen by leaving proteins out. This is exact and needs no refitting,
# because all pairs are known. The new proteins are of known families; a warning would tell that the choice does not
# see new ones, which come below. For comparison we rank by the similarity itself, which needs no training.

warnings.simplefilter("ignore", SelectionWarning)
ranker = ConditionalRankerCV(
    np.logspace(-4, 2, 7), "leave-node-out", relation="symmetric", loss="ranking", kernel="precomputed"
).fit(known)
similarity = SimilarityRanker("precomputed").fit(known)
print(f"pairs of new proteins in the right order: {ranker.score(new):.1%}, by similarity {similarity.score(new):.1%}")

# %%
# Each row is one protein and shows its true values in the predicted order. A perfect ranking would repeat the left
# image.

family = np.array([f"{a}.{b}" for a, b, _ in taxonomy[order[200:]]])
RelationDisplay.from_estimator(ranker, new, order=np.lexsort(taxonomy[order[200:]].T[::-1]), groups=family).plot(
    ax=plt.subplots(1, 2, figsize=(8, 4.2), layout="constrained")[1]
)

# %%
# For which proteins does learning help?

axes = plt.subplots(figsize=(5.4, 3.6), layout="constrained")[1]
QueryLossDisplay.from_estimator(ranker, new).plot(ax=axes, kind="ecdf", name="learned", worst=0)
QueryLossDisplay.from_estimator(similarity, new).plot(ax=axes, kind="ecdf", name="similarity", worst=0)

# %%
# Whole families that were never seen are harder: a model that learned from other families may rank worse than the
# similarity. ``prior="similarity"`` starts from the kernel and learns corrections. λ and the weight of the prior are
# chosen together, on families that are held out inside the training graph. If nothing can be learned, it loses little
# compared with the similarity, whereas the plain model loses much.

families = 3 * taxonomy[:, 0] + taxonomy[:, 1]
inner = SettingSplit(4, 4, groups=families, random_state=1)
settings = {"relation": "symmetric", "loss": "ranking", "kernel": "precomputed"}
for name, candidate in {
    "similarity": SimilarityRanker("precomputed"),
    "learned": ConditionalRanker(alpha=1.0, **settings),
    "with prior": ConditionalRankerCV(
        np.logspace(-6, 4, 6), inner, prior_weights=[1, 10, 100], prior="similarity", **settings
    ),
}.items():
    folds = SettingSplit(4, 3, groups=families, random_state=0).split(graph)
    print(f"{name:>12}: {np.mean([candidate.fit(train).score(test) for train, test in folds]):.1%}")
plt.show()
