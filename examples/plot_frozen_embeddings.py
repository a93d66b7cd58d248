"""
Adapt frozen embeddings to graded relevance
===========================================

For those whose texts are already in a store of vectors. A few judged pairs adapt the embeddings to what counts as
relevant, and the stored vectors stay as they are: only the vector of a query changes.
"""

# %%
# Short texts, and their frozen embeddings: tf-idf, reduced to 40 directions of length 1. A topic takes fewer words of a
# text than its style, which says nothing about relevance but fills much of the embedding.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from condrank import ConditionalRanker, RelationGraph
from condrank.baselines import SimilarityRanker
from condrank.metrics import ndcg

N_FIELDS, N_TOPICS, N_STYLES, PER_TOPIC = 4, 3, 6, 50
rng = np.random.default_rng(0)


def words(kind, number, count):
    """Some of the ten words of a field, a topic or a style."""
    return [f"{kind}{number}x{one}" for one in rng.integers(10, size=count)]


texts, levels = [], []
for topic in np.repeat(np.arange(N_FIELDS * N_TOPICS), PER_TOPIC):
    field, style = topic // N_TOPICS, rng.integers(N_STYLES)
    texts.append(" ".join(words("style", style, 12) + words("field", field, 3) + words("topic", topic, 3)))
    levels.append((f"field {field}", f"topic {topic}"))
levels = np.array(levels)
svd = TruncatedSVD(40, random_state=0)
embeddings = make_pipeline(TfidfVectorizer(), svd, Normalizer()).fit_transform(texts)
print(embeddings.shape)

# %%
# Graded relevance: 2 for the same topic, 1 for the same field, 0 otherwise. One in four texts is judged. The prior
# starts from the similarity of the embeddings, and learns corrections to it.

order = rng.permutation(len(texts))
judged, queries, objects = np.split(order, [150, 300])
graph = RelationGraph.from_classes(embeddings, levels)
ranker = ConditionalRanker("symmetric", alpha=1.0, prior="similarity").fit(graph[judged])

# %%
# The vectors of the objects are the embeddings, bit for bit: nothing has to be embedded or stored again. A query gets a
# new vector, and the store is asked for the largest inner products.

assert np.array_equal(ranker.object_vectors(embeddings[objects]), embeddings[objects])
adapted = ranker.query_vectors(embeddings[queries])
scores = adapted @ embeddings[objects].T
assert np.allclose(scores, ranker.predict(embeddings[queries], embeddings[objects]))

# %%
# How good the first ten places are, for texts that were not judged.

frozen = SimilarityRanker("linear").fit(graph[judged]).predict(embeddings[queries], embeddings[objects])
relevance = (levels[queries][:, None] == levels[objects][None]).sum(axis=2).astype(float)
quality = {
    "frozen": ndcg(relevance, frozen, average=None, k=10),
    "adapted": ndcg(relevance, scores, average=None, k=10),
}
for name, values in quality.items():
    print(f"{name:8} NDCG@10 {np.mean(values):.3f}")

fig, ax = plt.subplots(figsize=(4.5, 4.5), layout="constrained")
ax.plot([0, 1], [0, 1], color="0.7")
ax.scatter(quality["frozen"], quality["adapted"], s=12)
ax.set(xlabel="NDCG@10 of the frozen embeddings", ylabel="NDCG@10 of the adapted queries", title="One dot per query")
plt.show()
