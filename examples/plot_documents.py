"""
Documents: texts in, rankings out
=================================

For those who search texts by a text. The relation of two documents is 2 for the same topic, 1 for the same field and 0
otherwise. It is *symmetric*: the same in both directions. New documents are ranked for new documents.
"""

# %%
# Short texts. Each mixes the words of a topic, of its field and of everything.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from condrank import ConditionalRanker, NodeTransformer, RelationGraph
from condrank.baselines import SimilarityRanker
from condrank.model_selection import SettingSplit, cross_validate
from condrank.plots import RelationDisplay

FIELDS = {
    "sport": ("team season coach score", {"hockey": "puck goalie rink skate", "baseball": "pitch inning bat base"}),
    "science": ("study theory data result", {"space": "orbit moon rocket probe", "medicine": "patient dose cell drug"}),
    "computing": (
        "file code version user",
        {"graphics": "pixel image render colour", "crypto": "key cipher hash sign"},
    ),
}
COMMON = "the of and to a in that it for was on with as be at by this had not are but from or have an they"
ANYTHING = [word for words, topics in FIELDS.values() for text in (words, *topics.values()) for word in text.split()]
rng = np.random.default_rng(0)
texts, levels = [], []
for field, (of_field, topics) in FIELDS.items():
    for topic, of_topic in topics.items():
        for _ in range(40):
            words = [
                *rng.choice(COMMON.split(), 20),
                *rng.choice(ANYTHING, 8),
                *rng.choice(of_field.split(), 2),
                *rng.choice(of_topic.split(), 2),
            ]
            texts.append(" ".join(rng.permutation(words)))
            levels.append((field, topic))
levels = np.array(levels)
print(texts[0])

# %%
# Texts can be nodes. ``from_classes`` with two columns is a taxonomy: the relation is the number of leading levels that
# two documents share. The pipeline learns the vocabulary from the training documents only.

graph = RelationGraph.from_classes(texts, levels)
learned = make_pipeline(NodeTransformer(TfidfVectorizer()), ConditionalRanker("symmetric", alpha=0.1))
cosine = make_pipeline(NodeTransformer(TfidfVectorizer()), SimilarityRanker("linear"))
for name, ranker in {"cosine similarity": cosine, "learned": learned}.items():
    print(name, cross_validate(ranker, graph, cv=SettingSplit(4, 3, random_state=0)), sep="\n")

# %%
# The texts that are most like a new text, and their field and topic.

learned.fit(graph)
(best,) = np.argsort(-learned.predict(["a goalie and a coach in this season"]), axis=1)[:, :5]
for position in best:
    print(levels[position], texts[position][:60], "…")

# %%
# Train on half of the documents and rank the other half. Rows are documents, in the order of their topics.

half = rng.permutation(len(texts))
train, test = graph[half[:120]], graph[half[120:]]
topics = levels[half[120:]]
RelationDisplay.from_estimator(
    learned.fit(train), test, order=np.lexsort(topics.T[::-1]), groups=[topic[:4] for topic in topics[:, 1]]
).plot(ax=plt.subplots(1, 2, figsize=(9, 4.8), layout="constrained")[1])
plt.show()
