"""Twins of the shortcuts: rows, nodes or edges are really taken out, and the whole edge kernel is solved anew."""

from __future__ import annotations

import numpy as np

import reference


def refit(K, Y, kept, alpha, K_domain=None, **options):
    """Scores of all pairs by the model of the kept ones, the others never shown to it."""
    if not kept.any():
        prior = options.get("prior_weight", 0.0)
        return prior * K if prior else np.zeros_like(Y)
    return reference.naive_observed(K, np.where(kept, Y, np.nan), alpha, K_domain=K_domain, **options)


def leave_query_out(K, Y, alpha, **options):
    """Row i by the model without row i."""
    out = np.empty_like(Y)
    for i in range(len(Y)):
        kept = np.ones(Y.shape, dtype=bool)
        kept[i] = False
        out[i] = refit(K, Y, kept, alpha, **options)[i]
    return out


def leave_node_out(K, Y, alpha, **options):
    """Row i by the model without row i and column i."""
    out = np.empty_like(Y)
    for i in range(len(Y)):
        kept = np.ones(Y.shape, dtype=bool)
        kept[i] = kept[:, i] = False
        out[i] = refit(K, Y, kept, alpha, **options)[i]
    return out


def leave_edge_out(K, Y, alpha, relation="ordinary", **options):
    """Entry (i, j) by the model without it, and without (j, i) for a symmetric or reciprocal relation."""
    out = np.empty_like(Y)
    for i, j in np.ndindex(*Y.shape):
        kept = np.ones(Y.shape, dtype=bool)
        kept[i, j] = False
        if relation != "ordinary":
            kept[j, i] = False
        out[i, j] = refit(K, Y, kept, alpha, relation=relation, **options)[i, j]
    return out


def two_step(K, G, Y, alpha, alpha_objects, k=None, g=None, fit_intercept=False):
    """Two-step ridge from its definition: scores of nodes with kernel values k (q, n) and objects with g (o, m)."""
    k, g = K if k is None else k, G if g is None else g
    mean = Y.mean() if fit_intercept else 0.0
    left = np.linalg.solve(K + alpha * np.eye(len(K)), Y - mean)
    return k @ np.linalg.solve(G + alpha_objects * np.eye(len(G)), left.T).T @ g.T + mean


def two_step_without(K, G, Y, alpha, alpha_objects, rows=(), cols=(), **options):
    """The same trained without some rows and some columns, for all nodes and objects."""
    r, c = np.delete(np.arange(len(K)), rows), np.delete(np.arange(len(G)), cols)
    return two_step(
        K[np.ix_(r, r)], G[np.ix_(c, c)], Y[np.ix_(r, c)], alpha, alpha_objects, K[:, r], G[:, c], **options
    )
