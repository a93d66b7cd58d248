"""Naive twins of condrank.metrics: every pair looked at, every order of ties enumerated, one query at a time."""

from __future__ import annotations

from itertools import permutations, product
from math import exp, log, log2, sqrt

import numpy as np


def observed(y, h):
    """Observed relevances and their scores as lists of Python floats."""
    return zip(*[(float(a), float(b)) for a, b in zip(y, h, strict=True) if not np.isnan(a)], strict=True)


def pair_counts(y, h):
    wrong, comparable = 0.0, 0
    for a in range(len(y)):
        for b in range(len(y)):
            if y[a] < y[b]:  # false for NaN
                comparable += 1
                wrong += 1.0 if h[a] > h[b] else 0.5 if h[a] == h[b] else 0.0
    return wrong, comparable


def rank_loss(y, h):
    wrong, comparable = pair_counts(y, h)
    return wrong / comparable if comparable else np.nan


def concordance_index(y, h):
    return 1 - rank_loss(y, h)


def auc(y, h, relevant=0.0):
    return 1 - rank_loss([np.nan if np.isnan(v) else float(v > relevant) for v in y], h)


def kendall_tau(y, h):
    pairs = [(a, b) for a in range(len(y)) for b in range(a) if not (np.isnan(y[a]) or np.isnan(y[b]))]
    sign = [(np.sign(float(y[a]) - float(y[b])), np.sign(float(h[a]) - float(h[b]))) for a, b in pairs]
    size = sqrt(sum(abs(s) for s, _ in sign) * sum(abs(t) for _, t in sign))
    return sum(s * t for s, t in sign) / size if size else np.nan


def _expected(y, h, measure):
    """Mean of measure(relevances in ranked order) over all orders that agree with the scores."""
    if all(np.isnan(v) for v in y):
        return np.nan
    y, h = observed(y, h)
    groups = [[a for a, b in zip(y, h, strict=True) if b == score] for score in sorted(set(h), reverse=True)]
    orders = product(*[list(permutations(group)) for group in groups])
    return float(np.mean([measure([a for group in order for a in group]) for order in orders]))


def ndcg(y, h, k=None, gain="linear"):
    def dcg(ranked):
        gains = [2**v - 1 if gain == "exponential" else v for v in ranked[:k]]
        return sum(g / log2(rank + 1) for rank, g in enumerate(gains, start=1))

    ideal = dcg(sorted((float(v) for v in y if not np.isnan(v)), reverse=True))
    return _expected(y, h, dcg) / ideal if ideal > 0 else np.nan


def mean_reciprocal_rank(y, h, relevant=0.0):
    def reciprocal_rank(ranked):
        return 1 / next(rank for rank, v in enumerate(ranked, start=1) if v > relevant)

    return _expected(y, h, reciprocal_rank) if any(v > relevant for v in y) else np.nan


def average_precision(y, h, relevant=0.0):
    def precision(ranked):
        ranks = [rank for rank, v in enumerate(ranked, start=1) if v > relevant]
        return sum(hits / rank for hits, rank in enumerate(ranks, start=1)) / len(ranks)

    return _expected(y, h, precision) if any(v > relevant for v in y) else np.nan


def precision_at_k(y, h, k=10, relevant=0.0):
    def share(ranked):
        return sum(v > relevant for v in ranked[:k]) / len(ranked[:k])

    return _expected(y, h, share) if any(v > relevant for v in y) else np.nan


def recall_at_k(y, h, k=10, relevant=0.0):
    n_relevant = sum(v > relevant for v in y)

    def share(ranked):
        return sum(v > relevant for v in ranked[:k]) / n_relevant

    return _expected(y, h, share) if n_relevant else np.nan


def hit_rate_at_k(y, h, k=10, relevant=0.0):
    def is_hit(ranked):
        return float(any(v > relevant for v in ranked[:k]))

    return _expected(y, h, is_hit) if any(v > relevant for v in y) else np.nan


def pooled_concordance_index(Y, H):
    """Of matrices: every pair of observed entries, of the same row or not."""
    return concordance_index(np.ravel(Y), np.ravel(H))


def mean_squared_error(y, h):
    seen = [(a - b) ** 2 for a, b in zip(y, h, strict=True) if not np.isnan(a)]
    return sum(seen) / len(seen) if seen else np.nan


def rm_squared(y, h):
    if all(np.isnan(v) for v in y):
        return np.nan
    y, h = observed(y, h)
    if len(set(y)) == 1 or len(set(h)) == 1:
        return np.nan
    r2 = np.corrcoef(y, h)[0, 1] ** 2
    slope = sum(a * b for a, b in zip(y, h, strict=True)) / sum(b * b for b in h)
    mean = sum(y) / len(y)
    r02 = 1 - sum((a - slope * b) ** 2 for a, b in zip(y, h, strict=True)) / sum((a - mean) ** 2 for a in y)
    return r2 * (1 - sqrt(abs(r2 - r02)))


def _played(y, h, scale):
    """Shares won and probabilities of winning of the observed games; ``y`` from -1 to 1."""
    for a, b in zip(y, h, strict=True):
        if not np.isnan(a):
            p = {"log-odds": lambda b: 1 / (1 + exp(-b)), "probability": float, "outcome": lambda b: (1 + b) / 2}
            yield (1 + a) / 2, min(max(p[scale](b), 0.0), 1.0)


def log_loss(y, h, scale="log-odds"):
    games = list(_played(y, h, scale))
    eps = np.finfo(float).eps
    games = [(won, min(max(p, eps), 1 - eps)) for won, p in games]
    return sum(-won * log(p) - (1 - won) * log(1 - p) for won, p in games) / len(games) if games else np.nan


def brier_score(y, h, scale="log-odds"):
    games = list(_played(y, h, scale))
    return sum((won - p) ** 2 for won, p in games) / len(games) if games else np.nan


def accuracy(y, h, scale="log-odds"):
    games = [(won, p) for won, p in _played(y, h, scale) if won != 0.5]
    return (
        sum(0.5 if p == 0.5 else float((p > 0.5) == (won > 0.5)) for won, p in games) / len(games) if games else np.nan
    )
