"""Values of a kernel expression, from the values of its leaves, in as few passes over them as possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from condrank.base.blocks import row_blocks
from condrank.base.measured import CACHED_ENTRIES
from condrank.kernels.composed import Power, Product, Sum, Unit, Weighted
from condrank.kernels.expression import Kernel

#: Values (n, m) of a leaf; a read-only array is somebody else's and is copied before it is changed.
LeafValues = Callable[[Any], np.ndarray]
#: k(v, v) (n,) of a leaf for the nodes of the rows (0) or of the columns (1).
LeafDiagonal = Callable[[Any, int], np.ndarray]


def combine(kernel: Kernel, values: LeafValues, diagonal: LeafDiagonal) -> np.ndarray:
    """Values (n, m) of an expression as an array of its own. O(nm) for each operator beyond the leaves."""
    return _own(_combined(kernel, values, diagonal))


def _combined(kernel: Kernel, values: LeafValues, diagonal: LeafDiagonal) -> np.ndarray:
    if isinstance(kernel, Sum):
        return _added(kernel.summands(), values, diagonal)
    if isinstance(kernel, Weighted):
        K = _own(_combined(kernel.kernel, values, diagonal))
        K *= K.dtype.type(kernel.weight)
        return K
    if isinstance(kernel, Product):
        K = _own(_combined(kernel.kernels[0], values, diagonal))
        for part in kernel.kernels[1:]:
            K *= _combined(part, values, diagonal)
        return K
    if isinstance(kernel, Power):
        return _raised(_own(_combined(kernel.kernel, values, diagonal)), kernel)
    if isinstance(kernel, Unit):
        K = _own(_combined(kernel.kernel, values, diagonal))
        for side, shape in ((0, (-1, 1)), (1, (1, -1))):
            K *= _inverse_length(combine_diagonal(kernel.kernel, diagonal, side), kernel).reshape(shape).astype(K.dtype)
        return K
    return values(kernel)


def _added(summands: list[tuple[float, Kernel]], values: LeafValues, diagonal: LeafDiagonal) -> np.ndarray:
    """A weighted sum. Constants are added as numbers, in the pass of another summand or in one of their own."""
    constant = sum(weight for weight, kernel in summands if kernel.is_constant)
    rest = [(weight, kernel) for weight, kernel in summands if not kernel.is_constant and weight]
    if not rest:
        weight, kernel = summands[0]
        K = _own(_combined(kernel, values, diagonal))
        K[...] = constant
        return K
    weight, kernel = rest[0]
    K = _own(_combined(kernel, values, diagonal))
    if weight != 1.0:
        K *= K.dtype.type(weight)
    for weight, kernel in rest[1:]:
        part = _combined(kernel, values, diagonal)
        for block in row_blocks(*K.shape, budget=CACHED_ENTRIES):
            K[block] += part[block] if weight == 1.0 else part[block] * K.dtype.type(weight)
    if constant:
        K += K.dtype.type(constant)
    return K


def _raised(K: np.ndarray, kernel: Power) -> np.ndarray:
    """An elementwise power in place. Whole exponents by repeated squares, which is much faster than a general power."""
    if isinstance(kernel.exponent, int):
        result, square, left = None, K, kernel.exponent
        while left:
            if left == 1 and result is None:
                return square  # a power of two needs no second array
            if left % 2:
                result = square.copy() if result is None else np.multiply(result, square, out=result)
            left //= 2
            if left:
                np.multiply(square, square, out=square)
        assert result is not None
        return result
    least = float(K.min(initial=0.0))
    if least < 0:
        raise ValueError(
            f"the kernel {kernel.kernel.label} has negative values, the least {least:.3g}, and no power "
            f"{kernel.exponent!r} of them; use a whole exponent"
        )
    return np.power(K, K.dtype.type(kernel.exponent), out=K)


def combine_diagonal(kernel: Kernel, diagonal: LeafDiagonal, side: int) -> np.ndarray:
    """k(v, v) (n,) of an expression, in double precision. O(n) for each operator beyond the leaves."""
    if isinstance(kernel, Sum):
        parts = [weight * combine_diagonal(part, diagonal, side) for weight, part in kernel.summands()]
        return np.sum(parts, axis=0)
    if isinstance(kernel, Weighted):
        return kernel.weight * combine_diagonal(kernel.kernel, diagonal, side)
    if isinstance(kernel, Product):
        return np.prod([combine_diagonal(part, diagonal, side) for part in kernel.kernels], axis=0)
    if isinstance(kernel, Power):
        return combine_diagonal(kernel.kernel, diagonal, side) ** kernel.exponent
    if isinstance(kernel, Unit):
        return (combine_diagonal(kernel.kernel, diagonal, side) > 0).astype(np.float64)
    return diagonal(kernel, side)


def _inverse_length(squares: np.ndarray, kernel: Unit) -> np.ndarray:
    """1/√k(v, v), 0 where k(v, v) is 0."""
    if (squares < 0).any():
        raise ValueError(
            f"{kernel.label} needs k(v, v) ≥ 0, but the least is {float(squares.min()):.3g}; the kernel is not "
            "positive semi-definite"
        )
    roots = np.sqrt(squares)
    return np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)


def _own(K: np.ndarray) -> np.ndarray:
    """The array itself if it may be changed, otherwise a copy."""
    return K if K.flags.writeable else K.copy()
