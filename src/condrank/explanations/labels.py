"""Contributions of the labels, and of the nodes that have them.

The weights that minimise a squared loss are linear in the labels: W = S⁻¹ Π[Zᵀ L(y - b) Z], where b is what the model
expects without labels. So a score is Σ_e c_e (y_e - b_e) plus what is in it anyway, and c = L(values of S⁻¹T) at the
observed edges, for the T with h = ⟨T, W⟩: one adjoint solve for all labels.
A logistic fit is not linear in its labels. There h = Σ_e a_e k̄(e, ·) with a = m(t - p)/λ, t outcomes, p probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from condrank.explanations.asked import Asked
from condrank.explanations.terms import Terms
from condrank.models import ComparedModel, EdgeModel
from condrank.models.placed import similarity_at
from condrank.nodes import Nodes
from condrank.objective.edge_loss import EdgeLoss
from condrank.objective.relations import RECIPROCAL, SYMMETRIC
from condrank.observations import Edges
from condrank.solvers.closed_form import ClosedForm
from condrank.solvers.early_stopping import EarlyStopping
from condrank.solvers.logistic import PrimalLogistic
from condrank.solvers.system import Options

# More pairs of a complete graph are not listed: five arrays of this many numbers take about 4 GB.
MOST_PAIRS = 100_000_000
# Tolerance of the adjoint solve relative to that of the fit, whose solution is exact to about that many digits only.
LOOSER = 10.0
INSTEAD = 'ask by="features" or by="parts" instead'


@dataclass(frozen=True)
class Labels:
    """Contributions of all known labels, in the order of rows of the relation.

    Attributes
    ----------
    shape : (int, int)
        Number of conditioning nodes and of objects.
    pairs : ndarray of int, shape (n_pairs,), or None
        Row · number of objects + column of each label; None if every pair has one.
    values, influence, contributions : ndarray of shape (n_pairs,)
        Labels y, c and c (y - b), where b is what the model expects without labels; for the logistic loss outcomes t,
        m k̄/λ, and a k̄ = m k̄ (t - p)/λ.
    baseline : ndarray of shape (n_pairs,), or one that NumPy broadcasts to the shape
        b, or (logistic loss) the probabilities p.
    """

    shape: tuple[int, int]
    pairs: np.ndarray | None
    values: np.ndarray
    influence: np.ndarray
    contributions: np.ndarray
    baseline: np.ndarray

    def baseline_at(self, places: np.ndarray) -> np.ndarray:
        """The baseline of the labels at some places."""
        return (
            self.baseline[places]
            if self.pairs is not None
            else np.broadcast_to(self.baseline, self.shape)[self.ends(places)]
        )

    def ends(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Conditioning node and object of the labels at some places."""
        return np.divmod(places if self.pairs is None else self.pairs[places], self.shape[1])


def contributions_of_labels(asked: Asked) -> Labels:
    """Contributions of all labels: one adjoint solve, O(n_pairs) beyond it. Raises if there is no such sum."""
    fitted = asked.fitted
    if not fitted.settings.loss.is_quadratic:
        return _of_coefficients(asked)
    _check(asked)
    observed = fitted.observed
    if observed is None and isinstance(fitted.model, EdgeModel):
        observed = fitted.model.kernel.edges
    system = fitted.solvable()
    if isinstance(system, EarlyStopping):
        raise ValueError(
            "contributions of labels need a solver for a given λ, got early stopping: where it stops depends on the "
            f"labels, so its scores are no sum over them; fit with solver='auto', or {INSTEAD}"
        )
    assert observed is not None
    influence = np.asarray(_influence(asked, system), dtype=np.float64)
    if isinstance(observed, Edges):
        values = observed.values.astype(np.float64, copy=False)
        baseline = _baseline_of_edges(asked, observed, values)
        pairs = observed.sources * observed.shape[1] + observed.indices
        return Labels(observed.shape, pairs, values, influence, influence * (values - baseline), baseline)
    Y = np.asarray(observed.to_dense(), dtype=np.float64)
    baseline = _baseline_of_all(asked, Y)
    contributions = np.subtract(Y, baseline, order="C")
    contributions *= influence.reshape(Y.shape)
    return Labels(Y.shape, None, Y.ravel(), influence.ravel(), contributions.ravel(), baseline)


def _check(asked: Asked) -> None:
    """Refuse before work what has no labels, or too many to list."""
    fitted = asked.fitted
    n, m = fitted.model.rows.n_nodes, fitted.model.cols.n_nodes
    if fitted.system is not None and fitted.observed is None:
        why = "a fit on a cluster" if fitted.sums is None else "partial_fit"
        raise ValueError(f"contributions of labels need the labels, which {why} does not keep; {INSTEAD}")
    if fitted.observed is not None and not isinstance(fitted.observed, Edges) and n * m > MOST_PAIRS:
        raise ValueError(f"{n * m:,} pairs have labels, too many to list; {INSTEAD}")


def _influence(asked: Asked, system: Any) -> np.ndarray:
    """∂h/∂y of all labels, by one solve with the system of the fit."""
    settings, model = asked.fitted.settings, asked.model
    options = Options(LOOSER * settings.tol, settings.max_iter)
    if isinstance(model, EdgeModel):
        return system.solve(settings.alpha, options, rhs=asked.edge_values()).W
    left, others = asked.coordinates
    if isinstance(model, ComparedModel):
        rhs = _compared(left, others, asked)
    elif isinstance(system, ClosedForm):
        return system.influence(settings.alpha, left, asked.difference(others))
    else:
        rhs = settings.relation.project(np.multiply.outer(left, asked.difference(others)))
    return system.influence(system.solve(settings.alpha, options, rhs=rhs).W)


def _compared(left: np.ndarray, others: np.ndarray, asked: Asked) -> np.ndarray:
    """T (1 + n_compared, r, r) with h = ⟨T, W⟩ for the blocks of compared features."""
    blocks = [RECIPROCAL.project(np.multiply.outer(left, asked.difference(others)))]
    for signs in asked.compared_signs().astype(left.dtype):
        blocks.append(SYMMETRIC.project(np.multiply.outer(left, asked.difference(signs[:, None] * others))))
    return np.stack(blocks)


def _baseline_of_edges(asked: Asked, edges: Edges, values: np.ndarray) -> np.ndarray:
    """What the model expects of each label: centre, prior, and the mean that the loss subtracts."""
    settings, model = asked.fitted.settings, asked.model
    baseline = np.full(len(values), float(settings.centre))
    if settings.prior_weight:
        rows = model.rows.nodes
        baseline += settings.prior_weight * similarity_at(model.rows, rows, rows, edges)
    if settings.loss.centres is not None:
        weights = edges.weights.astype(np.float64, copy=False)
        left = values - baseline
        baseline += left - EdgeLoss(settings.loss, edges, weights)(left) / weights
    return baseline


def _baseline_of_all(asked: Asked, Y: np.ndarray) -> np.ndarray:
    """The same for a complete graph, in as few numbers as differ: (1, 1), (n, 1) or, with a prior, (n, m)."""
    settings, model = asked.fitted.settings, asked.model
    baseline = np.full((1, 1), float(settings.centre))
    if settings.prior_weight:
        baseline = baseline + settings.prior_weight * model.rows.similarity(None, None)
    if settings.loss.centres is not None:
        axis = 1 if settings.loss.centres_rows else None
        mean = Y.mean(axis=axis, keepdims=True) - np.broadcast_to(baseline, Y.shape).mean(axis=axis, keepdims=True)
        baseline = baseline + mean
    return baseline


def _of_coefficients(asked: Asked) -> Labels:
    """Contributions a k̄ of the games of a logistic fit."""
    fitted, model = asked.fitted, asked.model
    if isinstance(model, EdgeModel):
        edges, a, kernel = model.kernel.edges, model.W, asked.edge_values()
        weights, shares = edges.weights, edges.values
    else:
        _check(asked)
        system = fitted.solvable()
        assert isinstance(system, PrimalLogistic)
        edges, weights, shares = system.system.edges, system.weights, system.outcomes
        left, others = asked.coordinates
        if isinstance(model, ComparedModel):
            T = _compared(left, others, asked)
        else:
            T = RECIPROCAL.project(np.multiply.outer(left, asked.difference(others)))
        a = weights * (shares - expit(system.values(model.W))) / fitted.alpha
        kernel = system.values(T)
    kernel = np.asarray(kernel, dtype=np.float64)
    pairs = edges.sources * edges.shape[1] + edges.indices
    expected = shares - fitted.alpha * a / weights  # p, as a = m (t - p)/λ
    influence = weights * kernel / fitted.alpha
    return Labels(edges.shape, pairs, np.asarray(shares, dtype=np.float64), influence, a * kernel, expected)


def terms_of_labels(labels: Labels, rest: dict[str, float], queries: np.ndarray, objects: np.ndarray) -> Terms:
    """Contributions of labels with the names of their nodes."""

    def describe(places: np.ndarray) -> dict[str, np.ndarray]:
        rows, cols = labels.ends(places)
        found = {"query": queries[rows], "object": objects[cols]}
        found |= {"label": labels.values[places], "baseline": labels.baseline_at(places)}
        return found | {"influence": labels.influence[places]}

    return Terms("labels", labels.contributions, rest, describe)


def terms_of_nodes(
    labels: Labels, rest: dict[str, float], queries: np.ndarray, objects: np.ndarray, one_domain: bool
) -> Terms:
    """Contributions of the labels of each training node; half of a label's belongs to each of its two nodes.

    For two domains, the conditioning nodes come first, then the objects. O(n_pairs).
    """
    n, m = labels.shape
    half = labels.contributions / 2
    if labels.pairs is None:
        by_rows, by_cols = half.reshape(n, m).sum(axis=1), half.reshape(n, m).sum(axis=0)
        counts = np.full(n, m), np.full(m, n)
    else:
        rows, cols = np.divmod(labels.pairs, m)
        by_rows, by_cols = np.bincount(rows, half, minlength=n), np.bincount(cols, half, minlength=m)
        counts = np.bincount(rows, minlength=n), np.bincount(cols, minlength=m)
    if one_domain:
        sums, found = by_rows + by_cols, counts[0] + counts[1]
        columns = {"node": queries, "n_labels": found, "as_query": by_rows, "as_object": by_cols}
    else:
        sums = np.concatenate([by_rows, by_cols])
        sides = np.repeat(np.array(["query", "object"], dtype=object), [n, m])
        names = np.concatenate([queries.astype(object), objects.astype(object)])
        columns = {"node": names, "side": sides, "n_labels": np.concatenate(counts)}
    seen = np.flatnonzero(columns["n_labels"])  # a node without labels contributes nothing

    def describe(places: np.ndarray) -> dict[str, np.ndarray]:
        return {name: values[seen[places]] for name, values in columns.items()}

    return Terms("nodes", sums[seen], rest, describe)


def names_of(nodes: Nodes, n: int) -> np.ndarray:
    """Ids of nodes, or their positions."""
    return np.arange(n) if nodes.ids is None else nodes.ids
