"""The posterior of the weights of a complete graph, by formula from the eigenvalues that the fit has.

With z = z(u), z' = z(v), D = σσ'ᵀ + λ and b = Zᵀ1, the variance φᵀH⁻¹φ of a score, in units of σ², is

    regression      q = Σ z_i² z'_j² / D_ij
    intercept       q + (1 - zᵀ(bb'ᵀ/D)z')² / (N - Σ b_i² b'_j²/D_ij)
    ranking         q + Σ_i z_i² (σ_i/γ_i) κ_i²,      κ = (1/D)(b'z'),  γ = ω + (λ/D)(b'²/σ')

for the ordinary relation: two products for all pairs, or four. For W = sWᵀ, q is the mean of this and of s times
Σ (z_i z'_i)(z_j z'_j)/D_ij. As 1/D = Σ_t ε_t w_t w_tᵀ with few terms (`condrank.solvers.thin_damping`), that is
Σ_t ε_t (zᵀ diag(w_t) z')², one product for each term. Ranking then adds cᵀT⁻¹c with c = ½√σ(z κ' + s z' κ) and the
matrix T of the closed form, which is diagonal plus thin as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from condrank.objective.losses import REGRESSION, Loss
from condrank.objective.relations import Relation
from condrank.solvers.complete_inverse import CompleteInverse
from condrank.solvers.thin_damping import Damping
from condrank.uncertainty.functionals import Functionals


class CompletePosterior:
    """Variances, covariances and draws of the weights of a complete graph, in units of σ².

    Parameters
    ----------
    relation, loss, rows, cols
        As for `condrank.solvers.closed_form.ClosedForm`.
    alpha : float
        λ.
    """

    way = "formula"

    def __init__(self, relation: Relation, loss: Loss, rows: Any, cols: Any, alpha: float):
        self.relation, self.loss, self.rows, self.cols, self.alpha = relation, loss, rows, cols, alpha
        self.sigma, self.sigma_objects = (side.sigma.astype(np.float64, copy=False) for side in (rows, cols))
        self.b, self.b_objects = (side.ones.astype(np.float64, copy=False) for side in (rows, cols))

    @cached_property
    def inverse(self) -> np.ndarray:
        """1/D, (r, r')."""
        D = np.multiply.outer(self.sigma, self.sigma_objects)
        D += self.alpha
        return np.reciprocal(D, out=D)

    @cached_property
    def thin(self) -> tuple[np.ndarray, np.ndarray]:
        """w (r, k) and ε (k,) with 1/D = w diag(ε) wᵀ."""
        W, values = Damping(self.sigma, self.sigma_objects, self.alpha).symmetric()
        return W, values / self.alpha

    @cached_property
    def _even(self) -> tuple[np.ndarray, float]:
        """bb'ᵀ/D, and N - Σ b²b'²/D of an intercept."""
        inverse = CompleteInverse(self.relation, self.loss, self.rows, self.cols, self.alpha)
        return np.multiply.outer(self.b, self.b_objects) * self.inverse, inverse.gap

    @cached_property
    def _gamma(self) -> np.ndarray:
        """γ of ordinary ranking, as a sum of positive terms."""
        return self.cols.outside + self.alpha * (self.inverse @ (self.b_objects**2 / self.sigma_objects))

    @cached_property
    def _coupled(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """T⁻¹ = diag(first) + second diag(third) secondᵀ, of ranking with W = sWᵀ."""
        return CompleteInverse(self.relation, self.loss, self.rows, self.cols, self.alpha).offsets.factors()

    def all_pairs(self, Z: np.ndarray, Z_objects: np.ndarray) -> np.ndarray:
        """Variances of all pairs, (n, m)."""
        out = _bilinear(Z * Z, self.inverse, Z_objects * Z_objects)
        if self.relation.sign:
            W, values = self.thin
            out += _squares(Z, W, Z_objects, self.relation.sign * values)
            out *= 0.5
        if self.loss.fits_intercept:
            even, gap = self._even
            left = _bilinear(Z, even, Z_objects)
            np.subtract(1.0, left, out=left)
            left *= left
            left /= gap
            out += left
        elif self.loss.centres_rows and not self.relation.sign:
            kappa = (Z_objects * self.b_objects) @ self.inverse.T
            kappa *= kappa
            out += (Z * Z * (self.sigma / self._gamma)) @ kappa.T
        elif self.loss.centres_rows:
            out += self._coupled_pairs(Z, Z_objects)
        return out

    def _coupled_pairs(self, Z: np.ndarray, Z_objects: np.ndarray) -> np.ndarray:
        s, (diagonal, T, weights) = self.relation.sign, self._coupled
        kappa, kappa_objects = self._kappa(Z), self._kappa(Z_objects)
        out = (Z * Z * diagonal) @ (kappa_objects * kappa_objects).T
        out += (kappa * kappa * diagonal) @ (Z_objects * Z_objects).T
        out += 2 * s * ((Z * kappa * diagonal) @ (Z_objects * kappa_objects).T)
        for t, weight in zip(T.T, weights, strict=True):
            part = (Z * t) @ kappa_objects.T
            part += s * ((kappa * t) @ Z_objects.T)
            part *= part
            part *= weight
            out += part
        return 0.25 * out

    def _kappa(self, Z: np.ndarray) -> np.ndarray:
        """√σ κ of nodes."""
        return ((Z * self.b) @ self.inverse) * np.sqrt(self.sigma)

    def quadratic(self, asked: Functionals, prior: Any = 0.0) -> np.ndarray:
        """Variances of functionals, (P,). O(Prk + Pr²)."""
        ((left, right, _),) = asked.products()
        out = np.einsum("ij,ij->i", (left * left) @ self.inverse, right * right)
        s = self.relation.sign
        if s:
            W, values = self.thin
            out = 0.5 * (out + s * (((left * right) @ W) ** 2 @ values))
        if self.loss.fits_intercept:
            even, gap = self._even
            out += (asked.constants - np.einsum("ij,ij->i", left @ even, right)) ** 2 / gap
        elif self.loss.centres_rows and not s:
            kappa = (right * self.b_objects) @ self.inverse.T
            out += np.einsum("ij,ij->i", left * left * (self.sigma / self._gamma), kappa * kappa)
        elif self.loss.centres_rows:
            diagonal, T, weights = self._coupled
            c = 0.5 * (left * self._kappa(right) + s * right * self._kappa(left))
            out += (c * c) @ diagonal + ((c @ T) ** 2) @ weights
        return out

    def gram(self, asked: Functionals) -> np.ndarray:
        """Covariances of functionals, (P, P). O(P²r²)."""
        products = asked.products()
        loss = REGRESSION if self.loss.fits_intercept else self.loss
        inverse = CompleteInverse(self.relation, loss, self.rows, self.cols, self.alpha)
        out = np.empty((len(asked), len(asked)))
        for place in range(len(asked)):
            W = inverse(asked.weights(place, products, 1))
            out[place] = asked.values(W.astype(np.float64, copy=False))
        if self.loss.fits_intercept:
            even, gap = self._even
            along = asked.constants - asked.values(even)
            out += np.multiply.outer(along, along) / gap
        return (out + out.T) / 2

    def query_root(self, z: np.ndarray) -> np.ndarray:
        """S (r', k) with SSᵀ the covariance of Wᵀz, from which scores of one conditioning node are drawn.

        O(rr') for the ordinary relation, O(r³) for the others. Without an intercept's constant, which no order needs.
        """
        spread = (z * z) @ self.inverse
        further = []
        if self.loss.fits_intercept:
            even, gap = self._even
            further.append((z @ even)[:, None] / gap**0.5)
        if not self.relation.sign:
            if self.loss.centres_rows:
                further.append((self.inverse * self.b_objects).T * (z * np.sqrt(self.sigma / self._gamma)))
            return np.hstack([np.diag(np.sqrt(spread)), *further])
        s = self.relation.sign
        covariance = 0.5 * (np.diag(spread) + s * np.multiply.outer(z, z) * self.inverse)
        if self.loss.centres_rows:
            # c of a score with coordinates z' is G z', so cᵀT⁻¹c is z'ᵀ(GᵀT⁻¹G)z'.
            diagonal, T, weights = self._coupled
            G = 0.5 * (
                (z * np.sqrt(self.sigma))[:, None] * (self.inverse * self.b) + s * np.diag(self._kappa(z[None])[0])
            )
            TG = T.T @ G
            covariance += G.T @ (diagonal[:, None] * G) + TG.T @ (weights[:, None] * TG)
        values, Q = np.linalg.eigh(covariance)
        return np.hstack([Q * np.sqrt(np.maximum(values, 0.0)), *further])

    def draws(self, n: int, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, float]]:
        """Weights with covariance H⁻¹ and the constant that belongs to them, n times. O(rr') each.

        H⁻¹ times a draw of covariance H, which is √λ ξ for the penalty plus ZᵀL^½ηZ' for the labels.
        """
        inverse = CompleteInverse(self.relation, self.loss, self.rows, self.cols, self.alpha)
        n_pairs = self.rows.n_nodes * self.cols.n_nodes
        root, root_objects = np.sqrt(self.sigma), np.sqrt(self.sigma_objects)
        p, p_objects = self.b / root, self.b_objects / root_objects
        for _ in range(n):
            labels = rng.standard_normal(self.inverse.shape)
            if self.loss.centres_rows:
                # (I - γppᵀ)² = I - ppᵀ/m
                size = float(p_objects @ p_objects)
                labels -= _root_factor(size, self.cols.n_nodes) * np.multiply.outer(labels @ p_objects, p_objects)
            elif self.loss.fits_intercept:
                size = float(p @ p) * float(p_objects @ p_objects)
                along = float(p @ labels @ p_objects)
                labels -= _root_factor(size, n_pairs) * along * np.multiply.outer(p, p_objects)
            labels *= np.multiply.outer(root, root_objects)
            labels += np.sqrt(self.alpha) * rng.standard_normal(labels.shape)
            W = inverse(self.relation.project(labels)).astype(np.float64, copy=False)
            constant = 0.0
            if self.loss.fits_intercept:
                constant = float(rng.standard_normal()) / n_pairs**0.5 - float(self.b @ W @ self.b_objects) / n_pairs
            yield W, constant


def _root_factor(size: float, n: int) -> float:
    """γ with (I - γppᵀ)² = I - ppᵀ/n for |p|² = size ≤ n."""
    return (1 - np.sqrt(max(0.0, 1 - size / n))) / size if size else 0.0


def _bilinear(left: np.ndarray, M: np.ndarray, right: np.ndarray) -> np.ndarray:
    """left M rightᵀ in the cheaper order."""
    return (left @ M) @ right.T if len(left) <= len(right) else left @ (M @ right.T)


def _squares(left: np.ndarray, W: np.ndarray, right: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Σ_t values_t (left diag(w_t) rightᵀ)²."""
    out = np.zeros((len(left), len(right)))
    for w, value in zip(W.T, values, strict=True):
        part = (left * w) @ right.T
        part *= part
        part *= value
        out += part
    return out
