"""Coordinates of nodes, of the kind that fits the kernel and the data best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from condrank.base.dask import is_dask
from condrank.nodes import (
    ApproximateKernel,
    Approximation,
    Coordinates,
    ExactKernel,
    ExplicitFeatures,
    NodeKernel,
    Nodes,
)
from condrank.nodes.similarity import refuse_kernel_values


def fit_coordinates(
    kernel: NodeKernel,
    nodes: Nodes,
    clip: bool = False,
    weights: np.ndarray | None = None,
    approximation: Approximation | None = None,
    factors: Sequence[Any] = (),
) -> Coordinates:
    """Explicit features where the kernel has fewer of them than there are nodes, the exact kernel otherwise.

    An approximation takes the place of either where it has fewer coordinates. ``factors`` of the nodes are those
    whose sums over the basis will be asked for: over explicit features they are made in the same pass.
    """
    refuse_kernel_values(kernel, nodes)
    if is_dask(nodes.base):
        from condrank.distributed.rows import fit_distributed

        return fit_distributed(kernel, nodes, weights, approximation, factors)
    m = None if approximation is None else approximation.size(kernel, nodes)
    if approximation is not None and m is not None:
        return ApproximateKernel(kernel, nodes, weights, approximation.fit(kernel, nodes, m, clip), factors)
    if ExplicitFeatures.applies(kernel, nodes):
        return ExplicitFeatures(kernel, nodes, weights, factors=factors)
    return ExactKernel(kernel, nodes, clip, weights)
