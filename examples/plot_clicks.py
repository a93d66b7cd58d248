"""
Search: learn from clicks on texts
==================================

For a search engineer with texts and a log of clicks. Nobody has said what is irrelevant: a click is a 1 and
everything else is a zero. Readers who never clicked are served by what they say they like.
"""

# %%
# 150 readers who say in a few words what they like, 250 articles, and a log of clicks. Readers use other words than
# articles do ("football" against "goal"), so that comparing texts does not find all that they like.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from condrank import ConditionalRanker, TableRanker

SAID = {
    "sport": "football tennis running team",
    "food": "cooking bread cheese dinner",
    "space": "astronomy planets stars",
}
WRITTEN = {
    "sport": "goal match coach season league score player",
    "food": "recipe oven flour butter taste kitchen",
    "space": "rocket orbit telescope galaxy launch moon",
}
COMMON = "new today report people world time week best"
TOPICS = list(SAID)
rng = np.random.default_rng(0)


def text(words, extra, n_words):
    """A text of some words, most of them of a topic."""
    return " ".join(rng.choice([*words.split()] * 3 + extra.split(), n_words))


likes = rng.dirichlet([0.4] * 3, 150)
about = rng.integers(0, 3, 250)
readers = {
    "id": [f"reader {i}" for i in range(150)],
    "likes": [" ".join(text(SAID[TOPICS[rng.choice(3, p=one)]], "the a", 3) for _ in range(3)) for one in likes],
}
articles = {
    "id": [f"article {j}" for j in range(250)],
    "body": [text(WRITTEN[TOPICS[one]], COMMON, 15) for one in about],
}
appeal = rng.gamma(3.0, 1 / 3, 250)
chance = np.clip(0.2 * likes[:, about] * appeal, 0, 0.9)
clicked = rng.random(chance.shape) < chance
print(f"{clicked.sum()} clicks, {clicked.mean():.1%} of all pairs; {readers['likes'][0]!r} → {articles['body'][0]!r}")

# %%
# The first hundred readers are known. The log has no column of values and no zeros: ``unstored="zero"``. Texts are
# encoded inside the ranker and compared by cosines.


def some(table, rows):
    """Some rows of a table."""
    return {name: [column[row] for row in rows] for name, column in table.items()}


old, new = range(100), range(100, 150)
i, j = np.nonzero(clicked[:100])
clicks = {"reader": [readers["id"][one] for one in i], "article": [articles["id"][one] for one in j]}
columns = {"objects": articles, "text": ["likes", "body"], "unstored": "zero"}
model = ConditionalRanker(
    loss="ranking", alpha=1.0, kernel="Cosine() + 0.1 * Constant()", object_kernel="Cosine() + Identity()"
)
ranker = TableRanker(model).fit(some(readers, old), clicks, **columns)
drawn = TableRanker(model).fit(some(readers, old), clicks, **columns, zeros=5)  # for logs whose zeros are too many

# %%
# How often is one of the ten first articles clicked by a reader who was not in the log? Beside it: the most clicked
# articles for everyone, and the articles whose words are most like the reader's.

words = TfidfVectorizer().fit(readers["likes"] + articles["body"])
shown = {
    "most clicked": np.tile(clicked[:100].sum(axis=0), (50, 1)),
    "similar words": (words.transform(some(readers, new)["likes"]) @ words.transform(articles["body"]).T).toarray(),
    "learned, 5 zeros a click": drawn.predict(some(readers, new)),
    "learned": ranker.predict(some(readers, new)),
}
precision = {}
for name, scores in shown.items():
    first = np.argsort(-scores + 1e-9 * rng.random(scores.shape), axis=1)[:, :10]
    precision[name] = np.take_along_axis(clicked[100:], first, axis=1).mean(axis=1)
    print(f"{name:<26} clicked among the first ten: {precision[name].mean():.1%}")

# %%
# A known reader does not get again what was clicked. An index keeps the articles ready, and articles of today can be
# added.

index = ranker.index()
index.add({"id": ["rocket launch"], "body": ["rocket launch orbit moon today"]})
known = ["reader 0", "reader 1"]
print(index.top(known, k=3, exclude="known"))

# %%
# For the colleague: what it gains, with the standard error over new readers.

figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
means = [precision[name].mean() for name in shown]
errors = [precision[name].std(ddof=1) / np.sqrt(len(precision[name])) for name in shown]
axes.barh(list(shown), means, xerr=errors, color=["#bbbbbb", "#bbbbbb", "#86b6d9", "#2a7ab8"])
for place, mean in enumerate(means):
    axes.text(0.002, place, f"{mean:.1%}", va="center")
axes.set_xlabel("clicked articles among the first ten, for readers without any click")
axes.spines[["top", "right"]].set_visible(False)
plt.show()
