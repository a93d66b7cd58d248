"""Bytes that fitting the coordinates of nodes takes, at its peak and afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from scipy import sparse

from condrank.nodes import Approximation, ExplicitFeatures, NodeKernel, Nodes
from condrank.nodes.exact import COPIED, noise_level
from condrank.nodes.feature_maps import DENSE_BLOCK, SPARSE_BLOCK
from condrank.nodes.landmarks import choice_cost
from condrank.nodes.similarity import NodeSimilarity
from condrank.problem.settings import Settings

# From so many nodes on a sample of their kernel is looked at: it tells how many eigenvalues are rounding noise.
LOOK_FROM, LOOK = 1000, 300
# Most numbers in double precision that scikit-learn's distances hold beside those in single precision.
UPCAST = 10 * 2**17


@dataclass(frozen=True)
class Side:
    """The coordinates of n nodes.

    Attributes
    ----------
    n, r : int
        Number of nodes, and of coordinates as far as a sample tells.
    peak, kept : int
        Bytes at the peak of making the map from nodes to coordinates, and of the map.
    block : int
        Bytes of features that a pass over the nodes holds; 0 where they are there as they are.
    exact : bool
        The coordinates are those of a kernel matrix.
    sparse : bool
        Features that stay sparse.
    largest : float
        Of the kernel's eigenvalues, about; 0 where that was not looked at.
    """

    n: int
    r: int
    peak: int
    kept: int
    block: int
    exact: bool
    sparse: bool
    largest: float

    @classmethod
    def of(
        cls, nodes: Nodes, settings: Settings, count: int | None, n_factors: int, size: int, n: int | None = None
    ) -> Side:
        """Of n of some nodes (all by default), in numbers of ``size`` bytes, with so many factors of a relation.

        ``count`` is the number of components of an approximation, None for exact coordinates.
        """
        kernel, n, d = settings.kernel, len(nodes) if n is None else n, nodes.base.shape[1]
        rank, largest = n, 0.0
        if n >= LOOK_FROM and not nodes.is_raw:
            rank, largest = look(kernel, nodes, n, size)
        if settings.approximation is not None and count is not None:
            peak, kept, block = _approximate(settings.approximation, kernel, n, d, count, size)
            return cls(n, count + kernel.constant, peak, kept, block, False, False, largest)
        if not ExplicitFeatures.applies(kernel, nodes):
            r = min(rank, n, product_features(kernel, d))
            # Divide and conquer has a workspace of two more arrays, the driver of larger matrices of one; NumPy's
            # LAPACK, for small ones, is given a copy and copies what it gives.
            arrays = 5 if n <= COPIED else 3 if n <= 32_000 else 2
            # Distances in double precision and, on their way into the kernel, in single.
            distances = 12 * min(n**2, UPCAST) if size == 4 and kernel.name == "rbf" else 0
            peak = max(size * n**2 * arrays, size * n**2 + distances)
            return cls(n, r, peak, size * n**2, 0, True, False, largest)
        p = d + kernel.constant
        stays = sparse.issparse(nodes.base)
        if stays:
            stored = nodes.base.nnz * (size + nodes.base.indices.itemsize) * n // max(1, nodes.base.shape[0])
            share = nodes.base.nnz / max(1, nodes.base.shape[0] * d)
            block = stored * min(n, SPARSE_BLOCK) // n
            filled = (size + nodes.base.indices.itemsize) * p**2 * min(1.0, n * share**2)
            adding = block + max(block + 8 * p**2 + filled, 8 * 2 * p**2 + filled, 8 * 3 * p**2)
        else:
            copies = (kernel.name == "cosine") + (kernel.weights is not None) + kernel.constant
            part = size * p * min(n, max(DENSE_BLOCK // p, 2 * p))
            block = min(copies, 2) * part
            # Features shifted to their mean, and p×p: scatter, products and the outer product of sums.
            adding = part + max(block, min(copies, 1) * part + 8 * 3 * p**2)
        adding += 8 * n_factors * p
        return cls(n, p, int(max(adding, 8 * 4 * p**2)), 16 * p**2, int(block), False, stays, largest)


def _approximate(
    approximation: Approximation, kernel: NodeKernel, n: int, d: int, m: int, size: int
) -> tuple[int, int, int]:
    """Peak, kept and block: kernel values or angles of a block of nodes, features, and these shifted."""
    r = m + kernel.constant
    rows = min(n, max(DENSE_BLOCK // r, 2 * r))
    part, kept, choosing = size * rows * r, 8 * m * d, 0
    if approximation.name == "nystroem":
        kept = (0 if kernel.is_precomputed else size * m * d) + 8 * m**2
        choosing = max(24 * m**2, size * choice_cost(approximation.landmarks, n, d, m)[1])
        distances = 8 * min(rows * m, UPCAST) if size == 4 and kernel.name == "rbf" else 0
        making = 2 * size * rows * m + distances + (4 * m**2 if size == 4 else 0)
    else:
        making = size * rows * m * 3 // 2
    making += part * kernel.constant
    sums = 8 * r**2
    peak = max(choosing, kept + sums + part + making, kept + 3 * sums + 2 * part, kept + 4 * sums)
    return peak, kept + 2 * sums, making


def product_features(kernel: NodeKernel, d: int) -> int:
    """Most coordinates that a kernel of d features can have."""
    if kernel.name in ("linear", "cosine"):
        return d + kernel.constant
    if kernel.name == "poly" and float(kernel.degree).is_integer() and 0 <= kernel.degree <= 6:
        return comb(d + int(kernel.degree), int(kernel.degree)) + kernel.constant
    return np.iinfo(np.int64).max


def look(kernel: NodeKernel, nodes: Nodes, n: int, size: int) -> tuple[int, float]:
    """How many eigenvalues of n such nodes are above rounding noise, about, and the largest: from a sample."""
    some = nodes.take(np.sort(np.random.default_rng(0).permutation(len(nodes))[:LOOK]))
    K = NodeSimilarity(kernel, some).similarity(None, None).astype(np.float64)
    half, whole = (np.linalg.eigvalsh(K[::step, ::step]) for step in (2, 1))
    dtype = np.dtype(f"f{size}")
    counts = [int(np.count_nonzero(sigma > noise_level(float(sigma[-1]), dtype))) for sigma in (half, whole)]
    # What doubling the nodes adds, it adds less of with each further doubling.
    power = np.log2(max(counts[1], 1) / max(counts[0], 1))
    return min(n, round(counts[1] * (n / len(K)) ** power)), float(whole[-1]) * n / len(K)
