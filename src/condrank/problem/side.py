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
from condrank.kernels import Cosine, Kernel, Linear, Polynomial
from condrank.nodes import Approximation, ExplicitFeatures, Nodes
from condrank.nodes.feature_maps import OwnFeatures, count_features, is_sparse
from condrank.nodes.landmarks import choice_cost
from condrank.nodes.spectrum import KernelSample


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
        kernel: Kernel,
        approximation: Approximation | None,
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
        kernel : Kernel
            Their kernel.
        approximation : Approximation or None
            How the kernel is approximated.
        sample : KernelSample or None
            The kernel of some of the nodes, if it was computed.
        n_factors : int
            Number of factors of a factored relation.
        size : int
            Bytes of a number.
        n : int, optional
            Number of nodes that are left after some are held out.
        """
        n, d = len(nodes) if n is None else n, count_features(kernel, nodes)
        count = None if approximation is None else approximation.size(kernel, nodes)
        largest = 0.0 if sample is None else sample.largest(n)
        if approximation is not None and count is not None:
            described, r = approximation.described(kernel, count), count + bool(kernel.constant)
            flops = _approximate_flops(approximation, kernel, n, d, count)
            memory = _approximate_bytes(approximation, kernel, n, d, count, size)
            return cls(n, r, r, flops, described, *memory, False, False, largest)
        p = d + bool(kernel.constant)
        if ExplicitFeatures.applies(kernel, nodes):
            stays, memory = is_sparse(kernel, nodes), _explicit_bytes(kernel, nodes, n, n_factors, size)
            flops = 2.0 * n * p**2 + EIGH_FLOPS_PER_CUBED_NODE * p**3
            return cls(n, p, p, flops, "explicit features", *memory, False, stays, largest)
        rank = n if sample is None else sample.rank(n, np.dtype(f"f{size}"))
        flops = 2.0 * n**2 * p + EIGH_FLOPS_PER_CUBED_NODE * n**3 + EIGH_FLOPS_PER_SQUARED_NODE * n**2
        r, peak = min(rank, n, product_features(kernel, nodes)), _exact_bytes(kernel, n, size)
        return cls(n, r, n, flops, f"exact {kernel.label} kernel", peak, size * n**2, 0, True, False, largest)


def product_features(kernel: Kernel, nodes: Nodes) -> int:
    """The largest number of coordinates that a kernel on these nodes can have."""
    total = int(bool(kernel.constant))
    for weight, one in kernel.summands():
        if one.is_constant or not weight:
            continue
        if not isinstance(one, Linear | Cosine | Polynomial):
            return np.iinfo(np.int64).max
        d, degree = nodes.view(one.view).base.shape[1], one.degree if isinstance(one, Polynomial) else 1.0
        if not (float(degree).is_integer() and 0 <= degree <= 6):
            return np.iinfo(np.int64).max
        total += comb(d + int(degree), int(degree)) if isinstance(one, Polynomial) else d
    return total


def _exact_bytes(kernel: Kernel, n: int, size: int) -> int:
    """Bytes at the peak of an eigendecomposition of the kernel of n nodes."""
    # Divide and conquer needs a workspace of two more arrays, the driver for larger matrices a workspace of one.
    # NumPy's LAPACK, used for small matrices, gets a copy and copies its result.
    arrays = 5 if n <= NUMPY_EIGH_MOST_NODES else 3 if n <= DIVIDE_AND_CONQUER_MOST_NODES else 2
    # Distances in double precision, and their copy in single precision before it becomes the kernel.
    distances = 12 * min(n**2, DISTANCE_UPCAST_ENTRIES) if size == 4 and has_distances(kernel) else 0
    # Every summand beside the first is computed into an array of its own.
    more = len([one for weight, one in kernel.summands() if weight and not one.is_constant]) > 1
    return max(size * n**2 * arrays, size * n**2 * (2 if more else 1) + distances)


def has_distances(kernel: Kernel) -> bool:
    """Whether scikit-learn computes squared distances, in double precision, for a part of the kernel."""
    return any(leaf.name == "rbf" for leaf in kernel.leaves())


def _explicit_bytes(kernel: Kernel, nodes: Nodes, n: int, n_factors: int, size: int) -> tuple[int, int, int]:
    """Bytes of explicit features: `Side.peak`, `Side.kept` and `Side.block`."""
    d = count_features(kernel, nodes)
    p = d + bool(kernel.constant)
    own = OwnFeatures(kernel, nodes)
    if is_sparse(kernel, nodes):
        bases = [nodes.view(one.view).base for _, one in own.summands]
        index_size = max(base.indices.itemsize for base in bases if sparse.issparse(base))
        nnz = sum(base.nnz if sparse.issparse(base) else base.size for base in bases)
        stored = nnz * (size + index_size) * n // max(1, nodes.base.shape[0])
        share = nnz / max(1, nodes.base.shape[0] * d)
        block = stored * min(n, SPARSE_FEATURES_BLOCK_ROWS) // n
        filled = (size + index_size) * p**2 * min(1.0, n * share**2)
        adding = block + max(block + 8 * p**2 + filled, 8 * 2 * p**2 + filled, 8 * 3 * p**2)
    else:
        changed = own.alone is None
        weighted = any(one.feature_weights is not None for _, one in own.summands)
        copies = changed + weighted + bool(kernel.constant)
        part = size * p * min(n, max(DENSE_FEATURES_BLOCK_ENTRIES // p, 2 * p))
        block = min(copies, 2) * part
        # Features minus their mean, and three p×p arrays: scatter, products and the outer product of sums.
        adding = part + max(block, min(copies, 1) * part + 8 * 3 * p**2)
    adding += 8 * n_factors * p
    return int(max(adding, 8 * 4 * p**2)), 16 * p**2, int(block)


def _approximate_flops(approximation: Approximation, kernel: Kernel, n: int, d: int, m: int) -> float:
    r = m + bool(kernel.constant)
    flops = n * m * (2.0 * d + KERNEL_VALUE_FLOPS) + 2.0 * n * r**2 + EIGH_FLOPS_PER_CUBED_NODE * r**3
    if approximation.name == "nystroem":
        choosing = choice_cost(approximation.landmarks, n, d, m)[0]
        flops += 2.0 * n * m**2 + EIGH_FLOPS_PER_CUBED_NODE * m**3 + choosing
    return flops


def _approximate_bytes(
    approximation: Approximation, kernel: Kernel, n: int, d: int, m: int, size: int
) -> tuple[int, int, int]:
    """Bytes of approximate coordinates: `Side.peak`, `Side.kept` and `Side.block`.

    A block of nodes holds kernel values or angles, features, and features minus their mean.
    """
    r = m + bool(kernel.constant)
    rows = min(n, max(DENSE_FEATURES_BLOCK_ENTRIES // r, 2 * r))
    part, kept, choosing = size * rows * r, 8 * m * d, 0
    if approximation.name == "nystroem":
        kept = (0 if kernel.matrices else size * m * d) + 8 * m**2
        choosing = max(24 * m**2, size * choice_cost(approximation.landmarks, n, d, m)[1])
        distances = 8 * min(rows * m, DISTANCE_UPCAST_ENTRIES) if size == 4 and has_distances(kernel) else 0
        making = 2 * size * rows * m + distances + (4 * m**2 if size == 4 else 0)
    else:
        making = size * rows * m * 3 // 2
    making += part * bool(kernel.constant)
    sums = 8 * r**2
    peak = max(choosing, kept + sums + part + making, kept + 3 * sums + 2 * part, kept + 4 * sums)
    return peak, kept + 2 * sums, making
