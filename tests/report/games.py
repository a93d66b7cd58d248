"""Games between players with names that try to be markup, and how a page is read."""

import json
import re
from html.parser import HTMLParser

import numpy as np

from condrank import ConditionalRankerCV, TableRanker

NASTY = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    '"><b id=x>',
    "<!--",
    "$\\frac$",
    "a & b",
]

COLUMN = "<i>hand</i>"


def make_games(n=40, games=900, seed=0):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet([1, 1, 1], n)
    ids = [NASTY[i] if i < len(NASTY) else f"player {i}" for i in range(n)]
    first = rng.integers(n, size=games)
    second = (first + rng.integers(1, n, size=games)) % n
    beats = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
    chance = 0.5 + 0.5 * np.einsum("ij,jk,ik->i", shares[first], beats, shares[second])
    won = rng.random(games) < chance
    names = np.array(ids, dtype=object)
    players = {"id": ids, "rock": shares[:, 0], "paper": shares[:, 1], COLUMN: rng.choice(["<u>left", "$right$"], n)}
    return players, {
        "winner": names[np.where(won, first, second)].tolist(),
        "loser": names[np.where(won, second, first)].tolist(),
    }


def fit_games():
    """A fitted ranker of these games."""
    params = {"relation": "reciprocal", "loss": "regression", "kernel": "rbf", "random_state": 0}
    search = ConditionalRankerCV([0.1, 1.0, 10.0, 1000.0], 2, **params)
    return TableRanker(search).fit(*make_games())


class Reader(HTMLParser):
    """Elements, and text outside scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.words, self._quiet = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._quiet = tag in ("script", "style")

    def handle_endtag(self, tag):
        self._quiet = False

    def handle_data(self, data):
        if not self._quiet:
            self.words.append(data)

    def named(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def embedded(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])
