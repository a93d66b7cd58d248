"""Coordinates of nodes, of the kind that costs least for the kernel and the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from condrank.base.dask import is_dask
from condrank.kernels import Kernel
from condrank.nodes import (
    ApproximateKernel,
    Approximation,
    Coordinates,
    ExactKernel,
    ExplicitFeatures,
    Nodes,
)
from condrank.nodes.similarity import check_kernel
from condrank.nodes.values import KernelValues
from condrank.problem.problem import Problem


def fit_coordinates(
    kernel: Kernel,
    nodes: Nodes,
    clip: bool = False,
    weights: np.ndarray | None = None,
    approximation: Approximation | None = None,
    factors: Sequence[Any] = (),
) -> Coordinates:
    """Fit coordinates of nodes: explicit features if the kernel has fewer of them than nodes, else the exact kernel.

    An approximation replaces both if it has fewer coordinates. ``factors`` are factors of the nodes whose sums over the
    basis will be needed; with explicit features these sums are made in the same pass.
    """
    check_kernel(kernel, nodes)
    if is_dask(nodes.base):
        from condrank.distributed.rows import fit_distributed

        return fit_distributed(kernel, nodes, weights, approximation, factors)
    m = None if approximation is None else approximation.size(kernel, nodes)
    if approximation is not None and m is not None:
        return ApproximateKernel(kernel, nodes, weights, approximation.fit(kernel, nodes, m, clip), factors)
    if ExplicitFeatures.applies(kernel, nodes):
        return ExplicitFeatures(kernel, nodes, weights, factors=factors)
    return ExactKernel(kernel, nodes, clip, weights)


def fit_both(
    problem: Problem,
    weights: tuple[np.ndarray | None, np.ndarray | None] = (None, None),
    factors: tuple[Sequence[Any], Sequence[Any]] = ((), ()),
) -> tuple[Coordinates, Coordinates]:
    """Fit the coordinates of the conditioning nodes and of the objects; one instance for both in a single domain."""
    settings, (queries, objects, _) = problem.settings, problem.conditioned
    (first, second), clip, approximation = settings.kernels, settings.clip, settings.approximation
    if settings.alpha:
        check_alpha(settings.alpha, queries.dtype)  # before the work
    with np.errstate(over="ignore"):  # what overflows is refused here or below
        rows = fit_coordinates(first, queries, clip, weights[0], approximation, factors[0])
        cols = rows
        if objects is not queries:
            cols = fit_coordinates(second, objects, clip, weights[1], approximation, factors[1])
    if not len(rows.sigma) or not len(cols.sigma):
        raise ValueError(
            "all kernel values of the nodes are zero, or too small to be represented: nothing can be learned from them"
        )
    check_product(float(rows.sigma[-1]), float(cols.sigma[-1]), rows.sigma.dtype)
    return rows, cols


def check_product(one: float, other: float, dtype: np.dtype, squared: bool = False) -> None:
    """Raise if the product of the largest eigenvalues of the two kernels, or its square, overflows in a precision."""
    most = float(np.finfo(dtype).max) / 16
    most = most**0.5 if squared else most
    if other > most / one:
        excess = np.sqrt(one / most) * np.sqrt(other)
        raise ValueError(
            f"{'the square of ' * squared}the product of the largest eigenvalues of the kernels, {one:.3g} and "
            f"{other:.3g}, overflows in {dtype}; "
            f"divide the kernel by at least {2 * excess:.3g} (the features of a linear kernel by {2 * excess**0.5:.3g})"
        )


def check_alpha(alpha: float, dtype: np.dtype, largest: float = 1.0) -> None:
    """Raise if λ is not representable in a precision beside σσ', the product of the largest eigenvalues.

    The closed forms divide by D = σσ' + λ and by sums over λ/D, so λ/D has to be a normal number. An iteration squares
    residuals times λ, which leaves a margin at the upper end.
    """
    numbers = np.finfo(dtype)
    least = 4 * float(numbers.tiny) * max(1.0, largest)
    most = float(numbers.max) * float(numbers.eps) ** 2
    if not least <= alpha <= most:
        beside = f" beside kernel eigenvalues with the product {largest:.3g}" if largest > 1 else ""
        raise ValueError(f"alpha must be within {least:.3g}..{most:.3g} in {numbers.dtype}{beside}, got {alpha!r}")


def kernel_values(problem: Problem) -> tuple[KernelValues, KernelValues]:
    """Kernel values of the conditioning nodes and of the objects; one instance for both in a single domain."""
    (first, second), (queries, objects, _) = problem.settings.kernels, problem.conditioned
    check_alpha(problem.settings.alpha, queries.dtype)  # before the work
    clip = problem.settings.clip
    rows = KernelValues(first, queries, clip)
    cols = rows if objects is queries else KernelValues(second, objects, clip)
    # The trace bounds the largest eigenvalue. What a preconditioner saves is estimated from squares.
    one, other = (max(1.0, float(np.trace(side.K, dtype=np.float64))) for side in (rows, cols))
    check_product(one, other, np.dtype(np.float64), squared=True)
    return rows, cols
