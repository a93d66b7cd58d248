"""Incomplete graphs with the shapes of texts, drugs and battles: generated, and read if the data are found."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from condrank import RelationGraph
from condrank.datasets import load_metz, load_newsgroups, load_pokemon
from condrank.datasets.files import VARIABLE


@dataclass(frozen=True)
class Shape:
    """A graph and the parameters of the ranker that suits it."""

    name: str
    make: Callable[[], RelationGraph]
    params: dict[str, Any]


TEXTS = {"relation": "symmetric", "loss": "ranking", "kernel": "cosine"}
DRUGS = {"relation": "ordinary", "loss": "regression", "kernel": "rbf"}
BATTLES = {"relation": "reciprocal", "loss": "regression", "kernel": "rbf", "constant": True}


def shapes(quick: bool) -> list[Shape]:
    """Generated graphs of the three shapes, and the real ones if the environment variable says where they are."""
    sizes = ((60, 300), (40, 15), (50, 400)) if quick else ((2000, 60_000), (1421, 156), (800, 46_000))
    found = [
        Shape("texts, generated", lambda: texts(*sizes[0]), TEXTS),
        Shape("drugs, generated", lambda: drugs(*sizes[1], share=0.42), DRUGS | {"gamma": 0.05}),
        Shape("battles, generated", lambda: battles(*sizes[2]), BATTLES | {"gamma": 0.1}),
    ]
    if quick or not os.environ.get(VARIABLE):
        return found
    return [
        *found,
        Shape("20 Newsgroups", newsgroups, TEXTS),
        Shape("Metz", metz, DRUGS | {"gamma": 0.05}),
        Shape("Pokémon", lambda: load_pokemon().graph, BATTLES | {"gamma": 0.1}),
    ]


def graded(levels: np.ndarray, n_pairs: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random pairs of two different nodes, mirrored, with the number of levels that they share as value."""
    rng, n = np.random.default_rng(seed), len(levels)
    key = np.unique(rng.integers(n * n, size=int(1.1 * n_pairs)))
    first, second = np.divmod(rng.permutation(key)[:n_pairs], n)
    apart = first != second
    first, second = first[apart], second[apart]
    value = (levels[first] == levels[second]).sum(axis=1).astype(float)
    return np.append(first, second), np.append(second, first), np.append(value, value)


def texts(n: int, n_pairs: int, seed: int = 0) -> RelationGraph:
    """Documents of 20 groups in 6 topics: sparse word counts, drawn from the words of group, topic and language."""
    rng, n_words = np.random.default_rng(seed), 20_000
    group = rng.integers(20, size=n)
    topic = group % 6
    rows, cols = [], []
    for i in range(n):
        length = int(rng.lognormal(4.5, 0.8)) + 5
        source = rng.choice(3, size=length, p=(0.75, 0.1, 0.15))
        word = (n_words * rng.random(length) ** 3).astype(int)
        word = np.where(source == 1, (word + 997 * (topic[i] + 1)) % n_words, word)
        word = np.where(source == 2, (word + 409 * (group[i] + 7)) % n_words, word)
        rows.append(np.full(length, i))
        cols.append(word)
    ones = np.ones(sum(map(len, rows)))
    counts = sparse.csr_array((ones, (np.concatenate(rows), np.concatenate(cols))), shape=(n, n_words))
    X = sparse.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(counts))
    return RelationGraph.from_edges(X, *graded(np.column_stack([topic, group]), n_pairs, seed))


def newsgroups(n: int = 2000, n_pairs: int = 60_000) -> RelationGraph:
    """Documents of all newsgroups with tf-idf, and graded pairs of them."""
    data = load_newsgroups("all")
    chosen = np.sort(np.random.default_rng(0).permutation(len(data.labels))[:n])
    X = sparse.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(data.X)[chosen])
    return RelationGraph.from_edges(X, *graded(data.levels[chosen], n_pairs))


def drugs(n: int, m: int, share: float, uneven: float = 1.0, seed: int = 0) -> RelationGraph:
    """Drugs in clusters, measured on targets in families; which pairs are known depends on both.

    ``uneven`` 0 draws pairs at random; 1 like a collection of assays; larger values leave blocks almost empty.
    """
    rng, d, d_objects = np.random.default_rng(seed), 20, 15
    cluster, family = rng.integers(max(2, n // 40), size=n), rng.integers(max(2, m // 12), size=m)
    X = rng.normal(size=(cluster.max() + 1, d))[cluster] + 0.5 * rng.normal(size=(n, d))
    G = rng.normal(size=(family.max() + 1, d_objects))[family] + 0.5 * rng.normal(size=(m, d_objects))
    log_odds = rng.normal(size=(cluster.max() + 1, family.max() + 1))[cluster][:, family]
    log_odds = uneven * (log_odds + rng.normal(size=(n, 1)) + rng.normal(size=(1, m)))
    known = log_odds + 0.5 * rng.logistic(size=(n, m))
    known = known > np.quantile(known, 1 - share)
    B = rng.normal(size=(d, d_objects)) / 10
    Y = np.tanh(X @ B @ G.T) + 0.5 * np.sin(X @ rng.normal(size=d) / 3)[:, None] + 0.3 * rng.normal(size=(n, m))
    return RelationGraph(X, np.where(known, Y, np.nan), objects=G)


def metz() -> RelationGraph:
    """The affinities of Metz; rows of the similarities are features, because they are not kernels."""
    data = load_metz()
    return RelationGraph(data.K_drug, data.Y, objects=data.K_target)


def battles(n: int, n_games: int, seed: int = 0) -> RelationGraph:
    """Games decided by strengths and a cyclic part, both directions of each."""
    rng, d = np.random.default_rng(seed), 24
    X = rng.normal(size=(n, d))
    first, second = rng.integers(n, size=(2, n_games))
    first, second = first[first != second], second[first != second]
    M = rng.normal(size=(d, d)) / d
    score = np.einsum("ij,ij->i", X[first] @ (M - M.T), X[second]) + 2 * (X[first, 0] - X[second, 0])
    won = np.where(score + 0.5 * rng.logistic(size=len(score)) > 0, 1.0, -1.0)
    return RelationGraph.from_edges(X, np.append(first, second), np.append(second, first), np.append(won, -won))
