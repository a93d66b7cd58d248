"""Dense labels to diagnose, from a graph or an array. If there are too many nodes, a sample is taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Energies are sums of squares: the largest label and its inverse must not exceed this.
LARGEST = 1e140


@dataclass(frozen=True)
class Labels:
    """Dense labels to measure, and sizes of the whole graph that they come from.

    Attributes
    ----------
    Y : array
        Labels of the sample, NaN = unobserved.
    shape, two_domain, n_edges, density
        Properties of the whole graph.
    nodes : array or None
        Sampled rows; None if no sample was taken.
    n_duplicates : int
        Repeated edges that were averaged in Y.
    pairs : (values, weights, repeats) or None
        Edges of a graph that lists them, merged by pair; None for arrays and other graphs.
    """

    Y: NDArray[np.float64]
    shape: tuple[int, int]
    two_domain: bool
    n_edges: int
    density: float
    nodes: NDArray[np.int_] | None
    n_duplicates: int
    pairs: tuple[Any, Any, Any] | None = None


def read_labels(graph: Any | ArrayLike, max_nodes: int, rng: np.random.Generator) -> Labels:
    """Take the labels of a RelationGraph (anything with ``to_dense``) or of an array. O(max_nodes²)."""
    labels = _from_graph(graph, max_nodes, rng) if hasattr(graph, "to_dense") else _from_array(graph, max_nodes, rng)
    largest = float(np.nanmax(np.abs(labels.Y), initial=0.0))
    if largest and not 1 / LARGEST <= largest <= LARGEST:
        raise ValueError(
            f"graph must have labels whose squares are representable, the largest within {1 / LARGEST:g}..{LARGEST:g}; "
            f"got {largest:.3g}: multiply the labels by a constant, which changes no ranking"
        )
    return labels


def _from_graph(graph: Any, max_nodes: int, rng: np.random.Generator) -> Labels:
    n_rows, n_columns = map(int, graph.shape)
    two_domain = bool(graph.is_two_domain)
    nodes = _sample(n_rows, max_nodes, rng)
    columns = _sample(n_columns, max_nodes, rng) if two_domain else None
    # Sample before to_dense: a factored or sparse graph may not fit in memory as a dense matrix.
    if columns is not None:
        measured = graph[np.arange(n_rows) if nodes is None else nodes, columns]
    else:
        measured = graph if nodes is None else graph[nodes]
    Y = np.array(measured.to_dense(), dtype=float)
    n_duplicates = max(int(measured.n_edges) - int(np.isfinite(Y).sum()), 0)
    density, n_edges = float(graph.density), int(graph.n_edges)
    edges: Any = getattr(measured, "relation", None)
    pairs = (edges.values, edges.weights, edges.repeats) if hasattr(edges, "repeats") else None
    return Labels(Y, (n_rows, n_columns), two_domain, n_edges, density, nodes, n_duplicates, pairs)


def _from_array(labels: ArrayLike, max_nodes: int, rng: np.random.Generator) -> Labels:
    if hasattr(labels, "tocsr"):
        raise ValueError(
            "graph must be a RelationGraph or a dense array, got a sparse matrix. Make a RelationGraph "
            "of it, which says whether entries that are not stored are unobserved or zero."
        )
    Y = np.array(labels, dtype=float)
    if Y.ndim != 2 or Y.size == 0:
        raise ValueError(f"graph must be a RelationGraph or an (n, n) or (n, m) array, got shape {Y.shape}.")
    n_infinite = int(np.isinf(Y).sum())
    if n_infinite:
        raise ValueError(f"graph must have finite labels, or NaN for unobserved, got {n_infinite} infinite.")
    n_rows, n_columns = Y.shape
    two_domain, n_edges = n_rows != n_columns, int(np.isfinite(Y).sum())
    density = n_edges / Y.size
    nodes = _sample(n_rows, max_nodes, rng)
    columns = _sample(n_columns, max_nodes, rng) if two_domain else nodes
    Y = Y if nodes is None else Y[nodes]
    Y = Y if columns is None else Y[:, columns]
    return Labels(Y, (n_rows, n_columns), two_domain, n_edges, density, nodes, 0)


def _sample(n: int, size: int, rng: np.random.Generator) -> NDArray[np.int_] | None:
    return None if n <= size else np.sort(rng.choice(n, size=size, replace=False))
