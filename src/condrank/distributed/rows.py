"""Nodes in blocks of rows of a Dask array: their checks, and coordinates from sums over the blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from scipy import sparse

from condrank.distributed.cluster import compute, shared, total
from condrank.kernels import Kernel
from condrank.nodes.aligned import Pairs
from condrank.nodes.approximate import ApproximateKernel, Approximation
from condrank.nodes.feature_maps import FeatureMap, FeatureRows, OwnFeatures
from condrank.nodes.feature_sums import FeatureSums
from condrank.nodes.features import ExplicitFeatures, add_rows
from condrank.nodes.landmarks import choose_nodes
from condrank.nodes.store import Nodes

# Sampled nodes per landmark, among which landmarks are chosen by k-means and by pivots.
SAMPLED_PER_LANDMARK = 20


# Dask does not declare the methods and the blocks of its arrays to type checkers.
DaskArray = Any


def check_rows(X: Any, name: str) -> DaskArray:
    """Node features as a floating Dask array. Its blocks are whole rows, and their lengths are known.

    The columns of a dataframe are the features, in their order. The first sum over the values checks that they are
    finite.
    """
    if sparse.issparse(X):
        raise ValueError(f"{name} must be dense if a graph is distributed, got a sparse array; make its blocks dense")
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array(lengths=True)
    rows: Any = X if isinstance(X, da.Array) else da.from_array(np.asarray(X))
    if rows.ndim != 2:
        raise ValueError(f"{name} must be two-dimensional (nodes × features), got {rows.ndim} dimension(s)")
    if rows.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be numeric, got dtype {rows.dtype}; encode text and categories first")
    if not isinstance(rows._meta, np.ndarray):
        raise ValueError(f"{name} must be made of dense NumPy blocks, got {type(rows._meta).__name__}")
    if any(np.isnan(length) for length in rows.chunks[0]):
        rows = rows.compute_chunk_sizes()
    if 0 in rows.shape:
        raise ValueError(f"{name} must have at least one row and one column, got shape {rows.shape}")
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    return rows.rechunk({1: -1})


def bounds_of(rows: DaskArray) -> list[tuple[int, int]]:
    """First row and last row + 1 of each block."""
    return list(pairwise(np.cumsum((0, *rows.chunks[0])).tolist()))


def blocks_of(rows: DaskArray) -> list[Delayed]:
    """The blocks of rows, one task each."""
    return rows.to_delayed().ravel().tolist()


class DistributedFeatures(ExplicitFeatures):
    """Coordinates from explicit features; the training nodes are blocks of a Dask array.

    The parameters are those of `ExplicitFeatures`.

    Notes
    -----
    One pass over the blocks, O(np²) on the cluster. The p×p sums come to the client, which computes the rotation.
    """

    def __init__(
        self,
        kernel: Kernel,
        nodes: Nodes,
        weights: np.ndarray | None = None,
        features: FeatureMap | None = None,
        factors: Sequence[Any] = (),
    ):
        features = OwnFeatures(kernel, nodes) if features is None else features
        rows, given = nodes.rows, shared(features)
        tasks = []
        for number, ((start, stop), block) in enumerate(zip(bounds_of(rows), blocks_of(rows), strict=True)):
            own = [None if column is None else column[start:stop] for column in (weights, *factors)]
            tasks.append(delayed(_block_sums)(block, given, kernel.constant, shared(own), (number, start)))
        sums = total(tasks, _joined)
        super().__init__(kernel, nodes, weights, features, sums=sums)
        self._known = list(zip(factors, sums.factors, strict=True))

    def _rows(self, nodes: Nodes) -> Any:
        """Φ (m, p) of some nodes. For distributed nodes it is a Dask array, computed when it is used."""
        if not isinstance(nodes.base, da.Array):
            return super()._rows(nodes)
        return features_of(self.features, nodes, self.kernel.constant)

    def rotate(self, G: Any) -> np.ndarray:
        """VᵀG. If G is on the cluster, it is copied to the client."""
        return super().rotate(np.asarray(G))

    def factor_sums(self, A: Any) -> np.ndarray:
        """AᵀΦ (k, p) for a factor matrix of the nodes: known from the fit, or by one pass over the blocks."""
        for factor, sums in self._known:
            if factor is A:
                return sums
        return DistributedFeatures(self.kernel, self.nodes, None, self.features, [A]).factor_sums(A)

    def similarity(self, nodes: Nodes | None, others: Nodes | None) -> np.ndarray:
        """The kernel itself. Rows of distributed nodes are copied to the client."""
        return super().similarity(*(_local(self.nodes if one is None else one) for one in (nodes, others)))

    def similarity_at(self, nodes: Nodes, others: Nodes, pairs: Pairs) -> np.ndarray | None:
        """The kernel at pairs of positions. Rows of distributed nodes are copied to the client."""
        return super().similarity_at(_local(nodes), _local(others), pairs)


def fit_distributed(
    kernel: Kernel,
    nodes: Nodes,
    weights: np.ndarray | None,
    approximation: Approximation | None,
    factors: Sequence[Any],
) -> DistributedFeatures:
    """Coordinates of distributed nodes, as `condrank.problem.coordinates.fit_coordinates` makes them for other nodes.

    Landmarks are chosen on the client: uniform ones as for local nodes, others from a uniform sample.
    """
    m = None if approximation is None else approximation.size(kernel, nodes)
    if approximation is None or m is None:
        return DistributedFeatures(kernel, nodes, weights, None, factors)
    if approximation.name == "nystroem":
        n_sampled = m if approximation.landmarks == "uniform" else min(len(nodes), SAMPLED_PER_LANDMARK * m)
        chosen = choose_nodes("uniform", kernel, nodes, n_sampled, np.random.default_rng(approximation.seed))
        sample = Nodes(compute([nodes.take(np.sort(chosen)).rows])[0])
        return DistributedFeatures(kernel, nodes, weights, approximation.fit(kernel, sample, m, False), factors)
    return DistributedFeatures(kernel, nodes, weights, approximation.fit(kernel, nodes, m, False), factors)


def gathered_coordinates(coordinates: Any) -> ExplicitFeatures:
    """The same coordinates with the training nodes on the client, as after a local fit."""
    kind = ExplicitFeatures if isinstance(coordinates.features, OwnFeatures) else ApproximateKernel
    twin: Any = kind.__new__(kind)
    vars(twin).update(vars(coordinates), nodes=_local(coordinates.nodes))
    return twin


def features_of(features: FeatureMap, nodes: Nodes, constant: float) -> DaskArray:
    """Φ (n, p) of distributed nodes, in the same blocks."""
    rows, given = nodes.rows, shared(features)
    p = features.n_features + bool(constant)
    parts = [
        da.from_delayed(delayed(block_features)(block, given, constant), (stop - start, p), dtype=rows.dtype)
        for (start, stop), block in zip(bounds_of(rows), blocks_of(rows), strict=True)
    ]
    return da.concatenate(parts)


def block_features(X: np.ndarray, features: FeatureMap, constant: float) -> np.ndarray:
    """Features (b, p) of a block of rows, on a worker."""
    return np.asarray(FeatureRows(features, Nodes(X), constant).part(slice(None)))


def check_block(X: np.ndarray, block: tuple[int, int], name: str) -> None:
    """Raise if a block of rows is not finite. The error names its number and its first row."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum()):
            return
    bad = ~np.isfinite(X)
    if bad.any():
        number, start = block
        row, col = (int(place) for place in np.argwhere(bad)[0])
        raise ValueError(
            f"{name} must be finite: {int(bad.sum())} entries of block {number} (from row {start} on) are NaN or "
            f"infinite, the first in row {start + row}, column {col}; impute or drop them first"
        )


def _block_sums(
    X: np.ndarray, features: FeatureMap, constant: float, own: list[Any], block: tuple[int, int]
) -> FeatureSums:
    """Sums over a block of nodes; ``own`` holds their weights and factors."""
    check_block(X, block, "the features of the nodes")
    weights, *factors = own
    rows = FeatureRows(features, Nodes(X), constant)
    sums = FeatureSums(rows.shape[1], [A.shape[1] for A in factors])
    add_rows(sums, rows, weights, factors)
    return sums.close()


def _joined(parts: Sequence[FeatureSums]) -> FeatureSums:
    """Sums over the nodes of several blocks. Empty blocks are left out, as they have no mean."""
    first, *others = [part for part in parts if part.total] or parts[:1]
    sizes = [len(counts) for counts in first.counts]
    for part in others:
        first = first.joined(part, [np.arange(k) for k in sizes], sizes)
    return first


def _local(nodes: Nodes) -> Nodes:
    """Distributed nodes with their rows copied to the client; other nodes unchanged."""
    return Nodes(compute([nodes.rows])[0], None, nodes.ids) if isinstance(nodes.base, da.Array) else nodes
