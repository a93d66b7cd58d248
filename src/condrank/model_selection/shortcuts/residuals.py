"""Residuals of the rows (and columns) left out of a single domain, for all nodes at once and one λ.

A matrix of residuals that is zero outside row and column i is u xᵀ + y uᵀ in the eigenbasis, with u = U_i. With
p = x + s y and q = x - s y for a symmetric (s = 1) or reciprocal (s = -1) relation, t = Λu² and κ = Λ(uβ), row i of
λR(u xᵀ + y uᵀ) has a part within the relation and a part outside,

    ½[t p + s u Λ(u p)]     and     ½[q - s (uᵀq) u],

and column i has the same two, times s and -s. The ranking loss subtracts o = T⁻¹ f, where f = λR(u xᵀ + y uᵀ)β is
½[u Λ(p β) + s p κ] + ½[u (qᵀβ) - s q]. It thus subtracts the two parts
½[β Λ(u o) + s o κ] and ½[(uᵀo) β - s o].
Products with Λ are thin, so an iteration costs O(n r p), where p is a few dozen.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from condrank.base.blocks import in_threads, row_blocks
from condrank.base.measured import CACHED_ENTRIES
from condrank.model_selection.shortcuts.basis import WidenedBasis
from condrank.model_selection.shortcuts.batched import solve_directly, solve_rows
from condrank.solvers.offsets import Offsets
from condrank.solvers.thin_damping import Damping


class RowSystems:
    """The systems [λR]_SS of one λ, where S is a row, or a row and a column.

    Parameters
    ----------
    wide : WidenedBasis
        Coordinates of the rows.
    sign : {0, 1, -1}
        Sign s of the relation.
    ranking : bool
        Whether rows have free offsets.
    alpha : float
        λ.
    leaves_failed : bool
        Whether rows on which the iteration fails become NaN. Otherwise each is solved directly, O(n³). It is for single
        precision, of which the iteration takes all digits.
    """

    def __init__(self, wide: WidenedBasis, sign: int, ranking: bool, alpha: float, leaves_failed: bool = False):
        self.wide, self.sign, self.alpha, self.leaves_failed = wide, sign, alpha, leaves_failed
        self.damping = Damping(wide.sigma, wide.sigma, alpha)
        self.offsets: Offsets | None = None
        if ranking:
            damped = self.damping((wide.sums**2)[None])[0]
            self.offsets = Offsets(wide.sigma, wide.sums, damped, wide.n, 0.0, sign, alpha)
        # Scores are labels minus residuals: for large λ this is a small difference, which needs all digits.
        self.precision = 512.0 if alpha < wide.sigma.max() ** 2 and not leaves_failed else 32.0
        self.n_iter = self.n_direct = 0

    def within(self, c: np.ndarray) -> np.ndarray:
        """p for a row and a column left out of regression: ½[t p + s u Λ(u p)] = c."""

        def system(u: np.ndarray) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
            t = self.damping(u * u)
            return lambda p: self._within(u, t, p), t / 2

        return self._solve(system, c)

    def row(self, c: np.ndarray) -> np.ndarray:
        """x for a row left out of a symmetric or reciprocal relation (y = 0, so p = q = x).

        Twice the system is (1 + t)x + s u[Λ(u x) - uᵀx], for ranking minus ½[β(Λ(u o) + uᵀo) + s (κ - 1)o] with
        T o = u[Λ(x β) + xᵀβ] + s (κ - 1)x.
        """

        def system(u: np.ndarray) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
            s, sums, offsets = self.sign, self.wide.sums, self.offsets
            t = self.damping(u * u)
            t += 1
            turned = s * u
            change = s * (self._kappa(u) - 1)

            def apply(x: np.ndarray) -> np.ndarray:
                weighted = u * x
                out = self.damping(weighted)
                out -= weighted.sum(axis=1)[:, None]
                out *= turned
                out += np.multiply(t, x, out=weighted)
                if offsets is None:
                    return out
                f = self.damping(np.multiply(x, sums, out=weighted))
                f += (x @ sums)[:, None]
                f *= u
                f += np.multiply(change, x, out=weighted)
                o = offsets(f)
                np.multiply(u, o, out=weighted)
                back = self.damping(weighted)
                back += weighted.sum(axis=1)[:, None]
                back *= sums
                back += np.multiply(change, o, out=weighted)
                back *= 0.5
                out -= back
                return out

            return apply, t

        return self._solve(system, 2 * c, self.wide.sums)

    def row_and_column(self, c: np.ndarray, c_other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The two unknowns of the ranking loss: p and q, or x and y for the ordinary relation."""
        width = c.shape[1]
        apply = self._both if self.sign else self._ordinary

        def system(u: np.ndarray) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
            t, kappa = self.damping(u * u), self._kappa(u)
            diagonal = np.hstack([t / 2, np.full_like(t, 0.5)] if self.sign else [t, t])
            return lambda both: apply(u, t, kappa, both), diagonal

        # Row i has a free offset, so p = q = β, or x = β, changes nothing.
        free = np.append(self.wide.sums, self.wide.sums * abs(self.sign))
        both = self._solve(system, np.hstack([c, c_other]), free)
        return both[:, :width], both[:, width:]

    def offset_changes(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """How much the own offset of each row changes, (n,)."""
        assert self.offsets is not None
        out = np.empty(len(first), dtype=first.dtype)

        def work(block: slice) -> None:
            u = self.wide.U[block]
            o = self._offset(u, self._kappa(u), first[block], second[block])
            out[block] = np.einsum("ij,ij->i", u, o)

        in_threads(work, row_blocks(*first.shape, budget=CACHED_ENTRIES), products=True)
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

    def _both(self, u: np.ndarray, t: np.ndarray, kappa: np.ndarray, both: np.ndarray) -> np.ndarray:
        """The parts within and outside the relation, side by side, from p and q side by side."""
        s, sums, out, width = self.sign, self.wide.sums, np.empty_like(both), u.shape[1]
        p, q, inner, outer = both[:, :width], both[:, width:], out[:, :width], out[:, width:]
        o, work = self._offset(u, kappa, p, q), np.multiply(u, p)
        part = self.damping(work)
        part *= u
        part -= np.multiply(o, kappa, out=work)
        part *= s
        part += np.multiply(t, p, out=work)
        back = self.damping(np.multiply(u, o, out=work))
        along = work.sum(axis=1)[:, None]
        back *= sums
        np.subtract(part, back, out=inner)
        inner *= 0.5
        np.multiply(-s * np.vecdot(u, q)[:, None], u, out=outer)
        outer += q
        outer -= np.multiply(along, sums, out=work)
        o *= s
        outer += o
        outer *= 0.5
        return out

    def _ordinary(self, u: np.ndarray, t: np.ndarray, kappa: np.ndarray, both: np.ndarray) -> np.ndarray:
        """Row t x + u Λ(u y) - β Λ(u o) and column u Λ(u x) + t y - o κ, side by side, from x and y side by side."""
        sums, out, width = self.wide.sums, np.empty_like(both), u.shape[1]
        x, y, row, col = both[:, :width], both[:, width:], out[:, :width], out[:, width:]
        o, work = self._offset(u, kappa, x, y), np.multiply(u, y)
        part = self.damping(work)
        part *= u
        back = self.damping(np.multiply(u, o, out=work))
        back *= sums
        part -= back
        np.multiply(t, x, out=row)
        row += part
        part = self.damping(np.multiply(u, x, out=work))
        part *= u
        part -= np.multiply(o, kappa, out=work)
        np.multiply(t, y, out=col)
        col += part
        return out

    def _offset(self, u: np.ndarray, kappa: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        assert self.offsets is not None
        s, sums = self.sign, self.wide.sums
        work = first * sums
        f = self.damping(work)
        if not s:
            f *= u
            f += np.multiply(second, kappa, out=work)
            return self.offsets(f)
        f += (second @ sums)[:, None]
        f *= u
        np.multiply(first, kappa, out=work)
        work -= second
        work *= s
        f += work
        f *= 0.5
        return self.offsets(f)

    def _solve(self, system: Callable[..., tuple], c: np.ndarray, free: np.ndarray | None = None) -> np.ndarray:
        """Solve for all rows, in blocks. ``free`` is the direction of a row's offset, which ranking ignores."""
        out = np.empty_like(c)
        null = None if self.offsets is None or free is None else free / np.linalg.norm(free)
        counts: list[tuple[int, int]] = []

        def work(block: slice) -> None:
            apply, diagonal = system(self.wide.U[block])
            out[block], failed, n_iter = solve_rows(apply, c[block], diagonal, null, self.precision)
            if self.leaves_failed:
                out[block][failed] = np.nan
                failed[:] = False
            for i in block.start + np.flatnonzero(failed):
                apply, _ = system(np.broadcast_to(self.wide.U[i], (c.shape[1], self.wide.U.shape[1])))
                out[i] = solve_directly(apply, c[i])
            counts.append((n_iter, int(failed.sum())))

        in_threads(work, row_blocks(*c.shape, budget=CACHED_ENTRIES), products=True)
        self.n_iter = max(self.n_iter, *(n_iter for n_iter, _ in counts))
        self.n_direct += sum(n_direct for _, n_direct in counts)
        return out
