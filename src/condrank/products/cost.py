"""Cost of K S G at some pairs of nodes, for a sparse S, and which of its two products should be dense."""

from __future__ import annotations

from condrank.base.measured import (
    AT_EDGES_FLOPS_PER_MULTIPLICATION,
    NUMBA_LEAST_MULTIPLICATIONS,
    SINGLE_TIME_PER_DOUBLE_TIME,
    TIMES_FLOPS_PER_MULTIPLICATION,
    TRANSPOSED_FLOPS_PER_ENTRY,
)
from condrank.products.sampled import has_numba


def loops_for(backend: str, n_pairs: int, width: int) -> str:
    """Which loops `SampledProducts` will run, "numba" or "numpy"."""
    small = backend == "auto" and n_pairs * width < NUMBA_LEAST_MULTIPLICATIONS
    return "numpy" if backend == "numpy" or small or not has_numba() else "numba"


def dense_products(shape: tuple[int, int], n_entries: int, n_pairs: int, loops: str) -> tuple[bool, bool]:
    """For each of the two products of K S G at n_pairs pairs, S (n, m), whether it is faster dense than sampled."""
    times, at_edges = TIMES_FLOPS_PER_MULTIPLICATION[loops], AT_EDGES_FLOPS_PER_MULTIPLICATION[loops]
    size = shape[0] * shape[1]
    return times * n_entries >= size, at_edges * n_pairs >= size


def product_cost(shape: tuple[int, int], n_entries: int, n_pairs: int, loops: str) -> float:
    """Cost of K S G at n_pairs pairs, S (n, m), in single precision, in multiplications of a dense product."""
    n, m = shape
    times, at_edges = TIMES_FLOPS_PER_MULTIPLICATION[loops], AT_EDGES_FLOPS_PER_MULTIPLICATION[loops]
    dense = n * m
    first = min(times * n_entries, dense) * m
    second = min(at_edges * n_pairs * n + TRANSPOSED_FLOPS_PER_ENTRY * n * m, dense * n)
    return SINGLE_TIME_PER_DOUBLE_TIME * float(first + second)
