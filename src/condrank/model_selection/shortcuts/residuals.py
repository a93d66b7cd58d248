"""Residuals of the rows (and columns) left out of a single domain, for all nodes at once and one λ.

A matrix of residuals that is zero outside row and column i is u xᵀ + y uᵀ in the eigenbasis, u = U_i. With
p = x + s y and q = x - s y for a symmetric (s = 1) or reciprocal (s = -1) relation, t = Λu² and κ = Λ(uβ), row i of
λR(u xᵀ + y uᵀ) has a part within the relation and one outside of it,

    ½[t p + s u Λ(u p)]     and     ½[q - s (uᵀq) u],

and column i the same two, times s and -s. The ranking loss takes o = T⁻¹ f off, f = λR(u xᵀ + y uᵀ)β being
½[u Λ(p β) + s p κ] + ½[u (qᵀβ) - s q]; its two parts are ½[β Λ(u o) + s o κ] and ½[(uᵀo) β - s o].
Products with Λ are thin, so an iteration costs O(n r p) with p of a few dozen.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from condrank._blocks import row_blocks
from condrank.model_selection.shortcuts.basis import WidenedBasis
from condrank.model_selection.shortcuts.batched import solve_directly, solve_rows
from condrank.model_selection.shortcuts.damping import Damping
from condrank.model_selection.shortcuts.offsets import Offsets

# Rows that are solved together: enough for fast products, few enough for the processor's cache.
ROWS = 2**18


class RowSystems:
    """The systems [λR]_SS of one λ, where S is a row or a row and a column.

    Parameters
    ----------
    wide : WidenedBasis
        Coordinates that the rows see.
    sign : {0, 1, -1}
        Of the relation.
    ranking : bool
        Rows have free offsets.
    alpha : float
        λ.
    """

    def __init__(self, wide: WidenedBasis, sign: int, ranking: bool, alpha: float):
        self.wide, self.sign = wide, sign
        self.damping = Damping(wide.sigma, wide.sigma, alpha)
        self.offsets = Offsets(self.damping, wide.sums, wide.n, sign) if ranking else None
        self.n_iter = self.n_direct = 0

    def within(self, c: np.ndarray) -> np.ndarray:
        """p for row and column left out, regression: ½[t p + s u Λ(u p)] = c."""

        def system(u: np.ndarray) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
            t = self.damping(u * u)
            return lambda p: self._within(u, t, p), t / 2

        return self._solve(system, c)

    def row(self, c: np.ndarray) -> np.ndarray:
        """x for a row left out of a symmetric or reciprocal relation (y = 0, so that p = q = x)."""

        def system(u: np.ndarray) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
            t, kappa = self.damping(u * u), self._kappa(u)

            def apply(x: np.ndarray) -> np.ndarray:
                inner, outer = self._both(u, t, kappa, x, x)
                return inner + outer

            return apply, (1 + t) / 2

        return self._solve(system, c)

    def row_and_column(self, c: np.ndarray, c_other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The two unknowns of the ranking loss: p and q, or x and y of the ordinary relation."""
        width = c.shape[1]

        def system(u: np.ndarray) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
            t, kappa = self.damping(u * u), self._kappa(u)

            def apply(both: np.ndarray) -> np.ndarray:
                first, second = both[:, :width], both[:, width:]
                if self.sign:
                    return np.hstack(self._both(u, t, kappa, first, second))
                return np.hstack(self._ordinary(u, t, kappa, first, second))

            return apply, np.hstack([t / 2, np.full_like(t, 0.5)] if self.sign else [t, t])

        both = self._solve(system, np.hstack([c, c_other]))
        return both[:, :width], both[:, width:]

    def taken_off(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """By how much row i's own offset changes, (n,)."""
        assert self.offsets is not None
        out = np.empty(self.wide.n, dtype=first.dtype)
        for block in row_blocks(*first.shape, budget=ROWS):
            u = self.wide.U[block]
            o = self._offset(u, self._kappa(u), first[block], second[block])
            out[block] = np.einsum("ij,ij->i", u, o)
        return out

    def _kappa(self, u: np.ndarray) -> np.ndarray:
        return self.damping(u * self.wide.sums) if self.offsets is not None else u

    def _within(self, u: np.ndarray, t: np.ndarray, p: np.ndarray) -> np.ndarray:
        out = self.damping(u * p)
        out *= u
        out *= self.sign
        out += t * p
        out *= 0.5
        return out

    def _both(self, u: np.ndarray, t: np.ndarray, kappa: np.ndarray, p: np.ndarray, q: np.ndarray) -> tuple:
        s = self.sign
        inner = self._within(u, t, p)
        outer = 0.5 * (q - s * _dots(u, q) * u)
        if self.offsets is not None:
            o, sums = self._offset(u, kappa, p, q), self.wide.sums
            inner -= 0.5 * (sums * self.damping(u * o) + s * o * kappa)
            outer -= 0.5 * (_dots(u, o) * sums - s * o)
        return inner, outer

    def _ordinary(self, u: np.ndarray, t: np.ndarray, kappa: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple:
        o = self._offset(u, kappa, x, y)
        row = t * x + u * self.damping(u * y) - self.wide.sums * self.damping(u * o)
        return row, u * self.damping(u * x) + t * y - o * kappa

    def _offset(self, u: np.ndarray, kappa: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        assert self.offsets is not None
        s, sums = self.sign, self.wide.sums
        f = self.damping(first * sums)
        f *= u
        if not s:
            return self.offsets(f + second * kappa)
        f += s * first * kappa
        f += np.multiply.outer(second @ sums, np.ones_like(sums)) * u - s * second
        f *= 0.5
        return self.offsets(f)

    def _solve(self, system: Callable[..., tuple], c: np.ndarray) -> np.ndarray:
        out = np.empty_like(c)
        for block in row_blocks(*c.shape, budget=ROWS):
            apply, diagonal = system(self.wide.U[block])
            out[block], failed, n_iter = solve_rows(apply, c[block], diagonal)
            self.n_iter = max(self.n_iter, n_iter)
            self.n_direct += int(failed.sum())
            for i in block.start + np.flatnonzero(failed):
                apply, _ = system(np.broadcast_to(self.wide.U[i], (c.shape[1], self.wide.U.shape[1])))
                out[i] = solve_directly(apply, c[i])
        return out


def _dots(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", u, v)[:, None]
