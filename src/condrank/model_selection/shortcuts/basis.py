"""Orthonormal bases of the span of the nodes, and the part of each node outside the span."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from condrank.base.blocks import row_blocks
from condrank.nodes import Coordinates

# Some rows by their positions, or all of them.
Rows = slice | np.ndarray
EVERY_ROW = slice(None)


class Basis:
    """Eigenvectors U (n, r) and eigenvalues σ of the node kernel on its training nodes.

    Attributes
    ----------
    U : ndarray of shape (n, r)
        Orthonormal columns.
    sigma : ndarray of shape (r,)
        Positive eigenvalues.
    sums : ndarray of shape (r,)
        β = Uᵀ1.
    outside : ndarray of shape (n,)
        ω_i = 1 - ‖U_i‖², the part of node i outside the span; exactly zero if it is only rounding noise.
    one_outside : ndarray of shape (n,)
        1 - UUᵀ1.
    """

    def __init__(self, coordinates: Coordinates):
        self.U = coordinates.training()
        dtype = self.U.dtype
        self.sigma = coordinates.sigma.astype(dtype, copy=False)
        self.U /= np.sqrt(self.sigma)
        self.sums = self.U.sum(axis=0)
        self.full = self.U.shape[0] == self.U.shape[1]
        self.outside = _outside(self.U)
        self.one_outside = np.zeros(len(self.U), dtype=dtype)
        if coordinates.outside > 0 and not self.full:
            self.one_outside = 1 - self.U @ self.sums

    def project_out(self, M: np.ndarray) -> np.ndarray:
        """(I - UUᵀ)M; zero for a full basis."""
        return np.zeros_like(M) if self.full else M - self.U @ (self.U.T @ M)


class WidenedBasis:
    """A basis with two more coordinates of eigenvalue zero: for the parts of 1 and of each node outside the span.

    A system over row i depends on only these two directions outside the span. The second differs from node to node, but
    only its length matters.
    """

    def __init__(self, basis: Basis):
        self.basis, self.n = basis, len(basis.U)
        self.rank = len(basis.sigma)
        self.U, self.sigma, self.sums = basis.U, basis.sigma, basis.sums
        self.direction: np.ndarray | None = None
        if basis.full:
            return
        length = float(np.linalg.norm(basis.one_outside))
        direction = basis.one_outside / length if length > 0 else basis.one_outside
        rest = np.sqrt(np.maximum(basis.outside - direction**2, 0))
        # Below this, the difference of the two is only rounding noise.
        rest[rest**2 <= 100 * np.finfo(rest.dtype).eps * basis.outside] = 0
        self.U = np.column_stack([basis.U, direction, rest])
        self.direction = direction
        self.sigma = np.append(basis.sigma, [0, 0]).astype(basis.sigma.dtype)
        self.sums = np.append(basis.sums, [length, 0]).astype(basis.sums.dtype)

    def taking(self, rows: Rows) -> WidenedBasis:
        """The same with some of the nodes that are left out."""
        some = copy(self)
        some.U = self.U[rows]
        return some

    def rows(self, M: np.ndarray) -> np.ndarray:
        """Coordinates of each row i of M (n, n) in the basis of row i."""
        inner = M @ self.basis.U
        return inner if self.direction is None else self._widen(inner, M @ self.direction, M.diagonal())

    def vector(self, v: np.ndarray) -> np.ndarray:
        """Coordinates of one vector in the basis of each row."""
        inner = self.basis.U.T @ v
        inner = np.broadcast_to(inner, (self.n, self.rank))
        return inner if self.direction is None else self._widen(inner, np.full(self.n, v @ self.direction), v)

    def _widen(self, inner: np.ndarray, along: Any, own: np.ndarray) -> np.ndarray:
        known = np.column_stack([inner, along])
        rest = self.U[:, -1]
        left = own - np.einsum("ij,ij->i", known, self.U[:, :-1])
        last = np.divide(left, rest, out=np.zeros_like(left), where=rest > 0)
        return np.column_stack([known, last])


def complete_basis(basis: Basis) -> tuple[np.ndarray, np.ndarray]:
    """U (n, n) and σ (n,), with an orthonormal basis of the complement appended, with eigenvalue zero. O(n³)."""
    if basis.full:
        return basis.U, basis.sigma
    n, r = basis.U.shape
    Q, _ = np.linalg.qr(basis.U, mode="complete")
    sigma = np.append(basis.sigma, np.zeros(n - r, dtype=basis.sigma.dtype))
    return np.column_stack([basis.U, Q[:, r:]]), sigma


def centred_basis(basis: Basis) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvectors V and eigenvalues g > 0 of CKC, and VᵀK1/n.

    One eigendecomposition of size r, or r + 1 if 1 is outside the span.
    """
    n = len(basis.U)
    U, sigma, sums = basis.U, basis.sigma, basis.sums
    length = np.linalg.norm(basis.one_outside)
    if length > 0:
        U = np.column_stack([U, basis.one_outside / length])
        sigma, sums = np.append(sigma, 0).astype(U.dtype), np.append(sums, length).astype(U.dtype)
    p = sums / np.linalg.norm(sums)
    # (I - ppᵀ) diag(σ) (I - ppᵀ)
    M = -np.multiply.outer(sigma * p, p)
    M += M.T
    M += (sigma @ p**2) * np.multiply.outer(p, p)
    np.einsum("ii->i", M)[:] += sigma
    values, Q = np.linalg.eigh(M)
    kept = values > 4 * np.finfo(values.dtype).eps * sigma.max()
    Q = Q[:, kept]
    return U @ Q, values[kept], Q.T @ (sigma * sums) / n


def _outside(U: np.ndarray) -> np.ndarray:
    n, r = U.shape
    if r == n:
        return np.zeros(n, dtype=U.dtype)
    energy = np.maximum(1 - np.einsum("ij,ij->i", U, U), 0)
    # If little is left, it is computed as the length of a residual, which keeps its digits.
    small = np.flatnonzero(energy < 1e-3)
    for block in row_blocks(len(small), n):
        picked = small[block]
        left = -(U[picked] @ U.T)
        left[np.arange(len(picked)), picked] += 1
        energy[picked] = np.einsum("ij,ij->i", left, left)
    energy[energy <= n * (1000 * np.finfo(U.dtype).eps) ** 2] = 0
    return energy
