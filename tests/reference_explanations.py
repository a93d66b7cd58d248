"""Naive twins of explanations: the whole edge kernel, every label and every product of features by itself."""

from __future__ import annotations

import numpy as np

from reference import edge_kernel, loss_root


def naive_influence(train, new, sources, weights, alpha, loss):
    """∂ score/∂ label (n_edges,) of h = kᵀa, from the edge kernel (E, E) and its values k (E,) at what is asked."""
    root = loss_root(sources, weights, loss)
    return root @ np.linalg.solve(root.T @ train @ root + alpha * np.eye(len(new)), root.T @ new)


def edges_with_pair(K, K_domain, sources, targets, k, g, relation):
    """The edge kernel among edges (E, E), and between them and a pair (E,) with kernel rows k and g of its ends."""
    one_domain = relation != "ordinary"
    train = edge_kernel(
        K[np.ix_(sources, sources)],
        K_domain[np.ix_(targets, targets)],
        K[np.ix_(sources, targets)] if one_domain else None,
        K[np.ix_(targets, sources)] if one_domain else None,
        relation,
    )
    ends = (k[targets], g[sources]) if one_domain else (None, None)
    return train, edge_kernel(k[sources], g[targets], *ends, relation)


def naive_labels(
    K,
    sources,
    targets,
    values,
    alpha,
    k,
    g,
    *,
    relation,
    loss,
    weights=None,
    centre=0.0,
    prior_weight=0.0,
    K_domain=None,
):
    """Contributions (E,) of labels to h of a pair, and their influence: c (y - b), one edge at a time."""
    weights = np.ones(len(values)) if weights is None else weights
    train, new = edges_with_pair(K, K if K_domain is None else K_domain, sources, targets, k, g, relation)
    c = naive_influence(train, new, sources, weights, alpha, loss)
    expected = np.full(len(values), centre) + (prior_weight * K[sources, targets] if prior_weight else 0.0)
    contributions = []
    for e in range(len(values)):
        alike = np.ones(len(values), bool) if loss == "intercept" else sources == sources[e]
        left = (values - expected)[alike]
        mean = 0.0 if loss == "regression" else weights[alike] @ left / weights[alike].sum()
        contributions.append(c[e] * (values[e] - expected[e] - mean))
    return np.array(contributions), c


def naive_nodes(contributions, sources, targets, n):
    """Sums over the labels of each node of one domain, one half for each end."""
    sums = np.zeros(n)
    for value, start, end in zip(contributions, sources, targets, strict=True):
        sums[start] += value / 2
        sums[end] += value / 2
    return sums


def naive_features(features, M, x, others):
    """Halves of all products φ_j M_jk φ'_k: of the features of the node, and of the object or the difference of two."""
    x, difference = features(x[None])[0], features(others[:1])[0]
    if len(others) > 1:
        difference = difference - features(others[1:])[0]
    products = x[:, None] * M * difference
    return products.sum(axis=1) / 2, products.sum(axis=0) / 2
