"""The coordinates of one side of a problem: how many there are, and the flops and bytes that they take."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from scipy import sparse

from condrank.base.measured import (
    DENSE_FEATURES_BLOCK_ENTRIES,
    DISTANCE_UPCAST_ENTRIES,
    DIVIDE_AND_CONQUER_MOST_NODES,
    EIGH_FLOPS_PER_CUBED_NODE,
    EIGH_FLOPS_PER_SQUARED_NODE,
    KERNEL_VALUE_FLOPS,
    NUMPY_EIGH_MOST_NODES,
    SPARSE_FEATURES_BLOCK_ROWS,
)
from condrank.nodes import Approximation, ExplicitFeatures, NodeKernel, Nodes
from condrank.nodes.landmarks import choice_cost
from condrank.nodes.spectrum import KernelSample
from condrank.problem.settings import Settings


@dataclass(frozen=True)
class Side:
    """Sizes and costs of the coordinates of n nodes.

    Attributes
    ----------
    n, r : int
        Number of nodes, and number of coordinates as estimated from a sample.
    most : int
        Upper bound of the number of coordinates.
    flops : float
        Floating-point operations to compute the coordinates.
    described : str
        The kind of coordinates, for messages.
    peak, kept : int
        Bytes of the map from nodes to coordinates: at the peak while it is fitted, and afterwards.
    block : int
        Bytes of features that a pass over the nodes holds at a time; 0 if the data are used in place.
    exact : bool
        The coordinates are those of a kernel matrix.
    sparse : bool
        The features stay sparse.
    largest : float
        Largest eigenvalue of the kernel, approximately; 0 without a sample.
    """

    n: int
    r: int
    most: int
    flops: float
    described: str
    peak: int
    kept: int
    block: int
    exact: bool
    sparse: bool
    largest: float

    @classmethod
    def of(
        cls,
        nodes: Nodes,
        settings: Settings,
        sample: KernelSample | None,
        n_factors: int = 0,
        size: int = 8,
        n: int | None = None,
    ) -> Side:
        """The coordinates of n of the given nodes (all by default).

        Parameters
        ----------
        nodes : Nodes
            The nodes.
        settings : Settings
            Kernel and approximation.
        sample : KernelSample or None
            The kernel of some of the nodes, if it was computed.
        n_factors : int
            Number of factors of a factored relation.
        size : int
            Bytes of a number.
        n : int, optional
            Number of nodes that are left after some are held out.
        """
        kernel, approximation = settings.kernel, settings.approximation
        n, d = len(nodes) if n is None else n, nodes.base.shape[1]
        count = None if approximation is None else approximation.size(kernel, nodes)
        largest = 0.0 if sample is None else sample.largest(n)
        if approximation is not None and count is not None:
            described, r = approximation.described(kernel, count), count + kernel.constant
            flops = _approximate_flops(approximation, kernel, n, d, count)
            memory = _approximate_bytes(approximation, kernel, n, d, count, size)
            return cls(n, r, r, flops, described, *memory, False, False, largest)
        p = d + kernel.constant
        if ExplicitFeatures.applies(kernel, nodes):
            stays, memory = sparse.issparse(nodes.base), _explicit_bytes(kernel, nodes, n, n_factors, size)
            flops = 2.0 * n * p**2 + EIGH_FLOPS_PER_CUBED_NODE * p**3
            return cls(n, p, p, flops, "explicit features", *memory, False, stays, largest)
        rank = n if sample is None else sample.rank(n, np.dtype(f"f{size}"))
        flops = 2.0 * n**2 * p + EIGH_FLOPS_PER_CUBED_NODE * n**3 + EIGH_FLOPS_PER_SQUARED_NODE * n**2
        r, peak = min(rank, n, product_features(kernel, d)), _exact_bytes(kernel, n, size)
        return cls(n, r, n, flops, f"exact {kernel.label} kernel", peak, size * n**2, 0, True, False, largest)


def product_features(kernel: NodeKernel, d: int) -> int:
    """The largest number of coordinates that a kernel on d features can have."""
    if kernel.name in ("linear", "cosine"):
        return d + kernel.constant
    if kernel.name == "poly" and float(kernel.degree).is_integer() and 0 <= kernel.degree <= 6:
        return comb(d + int(kernel.degree), int(kernel.degree)) + kernel.constant
    return np.iinfo(np.int64).max


def _exact_bytes(kernel: NodeKernel, n: int, size: int) -> int:
    """Bytes at the peak of an eigendecomposition of the kernel of n nodes."""
    # Divide and conquer needs a workspace of two more arrays, the driver for larger matrices a workspace of one.
    # NumPy's LAPACK, used for small matrices, gets a copy and copies its result.
    arrays = 5 if n <= NUMPY_EIGH_MOST_NODES else 3 if n <= DIVIDE_AND_CONQUER_MOST_NODES else 2
    # Distances in double precision, and their copy in single precision before it becomes the kernel.
    distances = 12 * min(n**2, DISTANCE_UPCAST_ENTRIES) if size == 4 and kernel.name == "rbf" else 0
    return max(size * n**2 * arrays, size * n**2 + distances)


def _explicit_bytes(kernel: NodeKernel, nodes: Nodes, n: int, n_factors: int, size: int) -> tuple[int, int, int]:
    """Bytes of explicit features: `Side.peak`, `Side.kept` and `Side.block`."""
    d = nodes.base.shape[1]
    p = d + kernel.constant
    if sparse.issparse(nodes.base):
        index_size = nodes.base.indices.itemsize
        stored = nodes.base.nnz * (size + index_size) * n // max(1, nodes.base.shape[0])
        share = nodes.base.nnz / max(1, nodes.base.shape[0] * d)
        block = stored * min(n, SPARSE_FEATURES_BLOCK_ROWS) // n
        filled = (size + index_size) * p**2 * min(1.0, n * share**2)
        adding = block + max(block + 8 * p**2 + filled, 8 * 2 * p**2 + filled, 8 * 3 * p**2)
    else:
        copies = (kernel.name == "cosine") + (kernel.weights is not None) + kernel.constant
        part = size * p * min(n, max(DENSE_FEATURES_BLOCK_ENTRIES // p, 2 * p))
        block = min(copies, 2) * part
        # Features minus their mean, and three p×p arrays: scatter, products and the outer product of sums.
        adding = part + max(block, min(copies, 1) * part + 8 * 3 * p**2)
    adding += 8 * n_factors * p
    return int(max(adding, 8 * 4 * p**2)), 16 * p**2, int(block)


def _approximate_flops(approximation: Approximation, kernel: NodeKernel, n: int, d: int, m: int) -> float:
    r = m + kernel.constant
    flops = n * m * (2.0 * d + KERNEL_VALUE_FLOPS) + 2.0 * n * r**2 + EIGH_FLOPS_PER_CUBED_NODE * r**3
    if approximation.name == "nystroem":
        choosing = choice_cost(approximation.landmarks, n, d, m)[0]
        flops += 2.0 * n * m**2 + EIGH_FLOPS_PER_CUBED_NODE * m**3 + choosing
    return flops


def _approximate_bytes(
    approximation: Approximation, kernel: NodeKernel, n: int, d: int, m: int, size: int
) -> tuple[int, int, int]:
    """Bytes of approximate coordinates: `Side.peak`, `Side.kept` and `Side.block`.

    A block of nodes holds kernel values or angles, features, and features minus their mean.
    """
    r = m + kernel.constant
    rows = min(n, max(DENSE_FEATURES_BLOCK_ENTRIES // r, 2 * r))
    part, kept, choosing = size * rows * r, 8 * m * d, 0
    if approximation.name == "nystroem":
        kept = (0 if kernel.is_precomputed else size * m * d) + 8 * m**2
        choosing = max(24 * m**2, size * choice_cost(approximation.landmarks, n, d, m)[1])
        distances = 8 * min(rows * m, DISTANCE_UPCAST_ENTRIES) if size == 4 and kernel.name == "rbf" else 0
        making = 2 * size * rows * m + distances + (4 * m**2 if size == 4 else 0)
    else:
        making = size * rows * m * 3 // 2
    making += part * kernel.constant
    sums = 8 * r**2
    peak = max(choosing, kept + sums + part + making, kept + 3 * sums + 2 * part, kept + 4 * sums)
    return peak, kept + 2 * sums, making
