"""Twins of left-out residuals and their quantiles: explicit refits, and the definition of a quantile."""

from __future__ import annotations

import numpy as np

import reference_shortcuts


def node_out_residuals(K, Y, alpha, setting, **options):
    """|y - h| of each row (setting 2) or column (3) of node i by the model without node i; NaN on the diagonal."""
    labels = Y if setting == 2 else Y.T
    scores = reference_shortcuts.leave_node_out(K, labels, alpha, **options)
    out = np.abs(labels - scores)
    np.fill_diagonal(out, np.nan)
    return out if setting == 2 else out.T


def pair_out_residuals(K, Y, alpha, **options):
    """|y - h| of each pair of different nodes by the model without both nodes; NaN on the diagonal."""
    out = np.full(Y.shape, np.nan)
    for i, j in np.ndindex(*Y.shape):
        if i != j:
            kept = np.ones(Y.shape, dtype=bool)
            kept[[i, j]] = kept[:, [i, j]] = False
            out[i, j] = abs(Y[i, j] - reference_shortcuts.refit(K, Y, kept, alpha, **options)[i, j])
    return out


def unit_quantile(residuals, units, coverage):
    """The smallest residual r such that P(|residual| ≤ r) ≥ coverage, where one more unit is infinite.

    P draws one of the units (each as likely as the others, and as the infinite one), then one of its residuals.
    """
    names = sorted(set(units))
    for r in sorted(residuals):
        shares = [
            np.mean([one <= r for one, unit in zip(residuals, units, strict=True) if unit == name]) for name in names
        ]
        if sum(shares) / (len(names) + 1) >= coverage - 1e-12:
            return r
    return np.inf
