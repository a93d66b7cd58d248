"""How unevenly the pairs are known, as far as the kernels can see it: from the pairs among a sample of the nodes.

The preconditioner of iterations on W takes every pair (v, v') as known with the density ρ ω_v ω_v', where ω are the
degrees of the nodes relative to their mean. On a random sample of the pairs that is right up to noise. If they are
known in blocks, such as families of targets that were measured on families of drugs, directions of the edge kernel that
live in full or empty blocks are observed more or less often than ρ ω ω' says, and take the iteration longer.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from condrank.base.measured import (
    KNOWN_DIRECTIONS_LEAST,
    KNOWN_GROWTH_POWER,
    KNOWN_LANCZOS_STEPS,
    KNOWN_NOISE_VARIANCE,
    LEAST_NODE_WEIGHT_SHARE,
    UNEVEN_DEGREES_VARIATION,
)
from condrank.nodes.spectrum import KernelSample
from condrank.objective.relations import Relation
from condrank.observations import Edges, Observations


def degree_weights(observed: Observations, one_domain: bool) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Node weights ω of the conditioning nodes and of the objects, proportional to their observed degrees.

    The preconditioner treats every pair as observed with weight ρ ω_v ω_v'. If degrees are uneven, this halves the
    iterations (docs/decisions.md) at no cost. If they are even, None leaves the coordinates unchanged.
    """
    degrees = [degree.astype(np.float64) for degree in observed.degrees()]
    if one_domain:
        degrees = [degrees[0] + degrees[1]] * 2
    weights = []
    for degree in degrees:
        if degree.std() < UNEVEN_DEGREES_VARIATION * degree.mean():
            weights.append(None)
            continue
        floored = np.maximum(degree / degree.mean(), LEAST_NODE_WEIGHT_SHARE)
        weights.append(floored / floored.mean())
    return weights[0], weights[1]


def unevenly_known(edges: Edges) -> bool:
    """Whether the degrees of a side vary more than those of a random sample of the pairs may."""
    return any(
        degree.var() > (UNEVEN_DEGREES_VARIATION * degree.mean()) ** 2 + degree.mean() for degree in edges.degrees()
    )


class KnownShares:
    """The known pairs among the sampled nodes, relative to ρ ω ω', in the eigenvectors of the weighted kernels. O(m³).

    Parameters
    ----------
    relation : Relation
        Projects weights onto those that the model can have.
    edges : Edges of shape (n, n')
        The observed pairs.
    rows, cols : KernelSample
        Samples of m and m' nodes; one instance for both in a single domain.
    weights : (ndarray or None, ndarray or None)
        ω of all nodes, from `degree_weights`.
    distinct : float
        Share of the pairs that is left if both directions of a pair count as one.
    """

    def __init__(
        self,
        relation: Relation,
        edges: Edges,
        rows: KernelSample,
        cols: KernelSample,
        weights: tuple[np.ndarray | None, np.ndarray | None],
        distinct: float = 1.0,
    ):
        self.relation, (n, m) = relation, edges.shape
        self.density = edges.n_pairs / (n * m)
        roots = [
            np.ones(len(side.places)) if one is None else np.sqrt(one[side.places])
            for one, side in zip(weights, (rows, cols), strict=True)
        ]
        self.sigma, self.U = _eigenvectors(rows, roots[0])
        self.tau, self.V = (self.sigma, self.U) if cols is rows else _eigenvectors(cols, roots[1])
        known = edges.matrix(edges.weights / edges.weights.mean())[rows.places][:, cols.places].toarray()
        self.share = known / (self.density * np.multiply.outer(roots[0] ** 2, roots[1] ** 2))
        self.n_pairs = distinct * self.density * known.size
        self.n_all_pairs = distinct * edges.n_pairs

    def extremes(self, alpha: float) -> tuple[float, float]:
        """Least and most share of its expected density with which a direction of the edge kernel is known, at λ.

        These are the extremes of `shares` for l directions, less the spread (1 ± √y)², y = (1 - ρ) l/n_pairs, of a
        random sample: (1, 1) if that explains them. l is such that y is small; if it is too few directions, the sample
        says nothing, and (1, 1) is returned. All nodes have more such directions than the sample. The extremes of l
        random numbers grow as a power of log l, and so are the logarithms of the extreme shares taken to do.
        """
        twice = 2 if self.relation.sign else 1
        wanted = int(twice * KNOWN_NOISE_VARIANCE * self.n_pairs / max(1 - self.density, 1e-3))
        if wanted < KNOWN_DIRECTIONS_LEAST:
            return 1.0, 1.0
        found, kept = self.shares(alpha, min(wanted, self.share.size), KNOWN_LANCZOS_STEPS)
        n_directions = kept / twice
        noise = np.sqrt((1 - self.density) * n_directions / self.n_pairs)
        least, most = np.sqrt(max(0.0, float(found[0]))) + noise, np.sqrt(float(found[-1])) - noise
        more = np.log(n_directions * self.n_all_pairs / self.n_pairs) / np.log(n_directions)
        grown = more**KNOWN_GROWTH_POWER
        return float(min(1.0, least) ** (2 * grown)), float(max(1.0, most) ** (2 * grown))

    def shares(self, alpha: float, wanted: int, n_steps: int) -> tuple[np.ndarray, int]:
        """Ritz values of √s (UᵀMU/ρωω') √s + 1 - s over the strongest directions, ascending, and their number.

        s = σσ'/(σσ' + λ/ρ). Ties at the end are included. Each Lanczos step costs four products of O(m² p), for
        the p eigenvectors of each side that are in these directions.
        """
        strength = np.multiply.outer(self.sigma, self.tau)
        kept = strength >= np.partition(strength, -wanted, axis=None)[-wanted]
        p, q = (int(np.flatnonzero(kept.any(axis=axis))[-1]) + 1 for axis in (1, 0))
        U, V, kept = self.U[:, :p], self.V[:, :q], kept[:p, :q]
        s = strength[:p, :q] / (strength[:p, :q] + alpha / self.density)
        root, rest = np.where(kept, np.sqrt(s), 0.0), np.where(kept, 1 - s, 0.0)

        def product(X: np.ndarray) -> np.ndarray:
            F = self.share * (U @ (root * X) @ V.T)
            return self.relation.project(root * (U.T @ F @ V)) + rest * X

        start = np.where(kept, np.random.default_rng(0).standard_normal(kept.shape), 0.0)
        return ritz_values(product, self.relation.project(start), n_steps), int(np.count_nonzero(kept))


def _eigenvectors(sample: KernelSample, roots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, as of all nodes, and eigenvectors of √ω K √ω, strongest first."""
    values, vectors = np.linalg.eigh(sample.K * np.multiply.outer(roots, roots))
    return values[::-1].clip(0) * (sample.n / len(roots)), vectors[:, ::-1]


def ritz_values(product: Callable[[np.ndarray], np.ndarray], start: np.ndarray, n_steps: int) -> np.ndarray:
    """Approximate eigenvalues of a symmetric linear function, ascending, from Lanczos steps without a stored basis.

    The smallest and the largest are the accurate ones, and inside of the true ones. One product for each step.
    """
    size = float(np.linalg.norm(start))
    last, v, beside = np.zeros_like(start), start / size, 0.0
    diagonal, besides = [], []
    for _ in range(n_steps):
        w = product(v) - beside * last
        diagonal.append(float(np.vdot(v, w)))
        w -= diagonal[-1] * v
        beside = float(np.linalg.norm(w))
        if not beside > 1e-12 * abs(diagonal[0]):
            break
        besides.append(beside)
        last, v = v, w / beside
    T = np.diag(diagonal) + np.diag(besides[: len(diagonal) - 1], 1) + np.diag(besides[: len(diagonal) - 1], -1)
    return np.linalg.eigvalsh(T)
