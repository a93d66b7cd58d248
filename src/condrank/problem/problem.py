"""A problem: a graph seen from its conditioning nodes, the settings, and what is known before the fit."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from condrank.base.blocks import one_thread_a_product
from condrank.base.dask import is_dask
from condrank.base.measured import (
    EIGENVECTORS_LEAST,
    EIGENVECTORS_MOST,
    EIGENVECTORS_SHARE_OF_NODES,
    NUMPY_EIGH_MOST_NODES,
    PRECONDITIONER_RANKS,
    SAMPLE_FOR_MEMORY_LEAST_NODES,
    SAMPLE_LEAST_NODES,
    SAMPLE_LEAST_OBJECTS,
    UNEVEN_ITERATIONS_FACTOR,
    UNEVEN_MEAN_SQUARES_FACTOR,
)
from condrank.graph import RelationGraph
from condrank.graph.relation_graph import Conditioned
from condrank.nodes import Nodes
from condrank.nodes.spectrum import KernelSample
from condrank.observations import Edges, Factored, Observations
from condrank.problem.expected import Expected, Strengths, dual_steps, edge_strengths, moment_steps
from condrank.problem.known_pairs import KnownShares, degree_weights, unevenly_known
from condrank.problem.settings import Settings
from condrank.problem.side import Side
from condrank.problem.sizes import Sizes

# Number of observed pairs whose other direction is looked up.
SAMPLED_PAIRS = 300


@dataclass(frozen=True)
class Problem:
    """A graph and the settings of a fit to it. Everything else is derived from them, when it is first needed.

    Attributes
    ----------
    graph : RelationGraph
        Nodes and observed relation.
    settings : Settings
        Checked parameters.
    held_out : float
        Share of the conditioning nodes that will be held out before the fit; 0 if that is done already.
    itemsize : int, optional
        Bytes of a number, to estimate the memory of a precision other than the data's.
    """

    graph: RelationGraph
    settings: Settings
    held_out: float = 0.0
    itemsize: int | None = None

    @cached_property
    def conditioned(self) -> Conditioned:
        """Conditioning nodes, objects and relation. ``rank_by`` is resolved here, and nowhere else in a fit."""
        return self.graph.conditioned(self.settings.rank_by)

    @property
    def queries(self) -> Nodes:
        """The conditioning nodes."""
        return self.conditioned.queries

    @property
    def objects(self) -> Nodes:
        """The objects; in a single domain, the conditioning nodes themselves."""
        return self.conditioned.objects

    @property
    def observed(self) -> Observations:
        """The relation, with a row for each conditioning node."""
        return self.conditioned.observed

    @property
    def is_complete(self) -> bool:
        """Every pair is observed exactly once, with weight one."""
        return self.graph.is_complete

    @property
    def is_distributed(self) -> bool:
        """The nodes are in Dask collections."""
        return is_dask(self.graph.nodes.base)

    @property
    def n_blocks(self) -> int:
        """Number of weight matrices: W, and one for each compared feature."""
        return 1 + len(self.settings.compared)

    @cached_property
    def relative_alpha(self) -> float:
        """λ relative to edges of weight one; the logistic loss weights edges by at most ¼."""
        alpha = self.settings.alpha * (1 if self.settings.loss.is_quadratic else 4)
        if isinstance(self.observed, Edges) and self.observed.n_pairs:
            alpha /= float(np.mean(self.observed.weights))
        return alpha

    def at(self, alpha: float) -> Problem:
        """The same problem with another λ. It shares what does not depend on λ."""
        other, _ = replace(self, settings=replace(self.settings, alpha=alpha)), self.sizes
        looked_at = ("samples", "samples_of_rest", "spectra", "spectra_of_rest")
        shared = ("conditioned", "sizes", "both_ways", "known_pairs", *looked_at)
        other.__dict__.update({name: self.__dict__[name] for name in shared if name in self.__dict__})
        return other

    @cached_property
    def samples(self) -> tuple[KernelSample, KernelSample]:
        """The kernel of a few conditioning nodes and objects: the only kernel values computed before a fit."""
        first, second = self.settings.kernels
        # More threads hardly help, and would wait for further work beside SciPy's eigendecomposition.
        large = max(len(self.queries), len(self.objects)) > NUMPY_EIGH_MOST_NODES
        with one_thread_a_product() if large else nullcontext():
            rows = KernelSample(first, self.queries)
            return rows, rows if self.objects is self.queries else KernelSample(second, self.objects)

    @cached_property
    def samples_of_rest(self) -> tuple[KernelSample | None, KernelSample | None]:
        """The same without the constants of the node kernels; None for a kernel without one."""
        rows, cols = self.samples
        left = rows.without_constant()
        return left, left if cols is rows else cols.without_constant()

    @cached_property
    def sizes(self) -> Sizes:
        """Sides, pairs and precision. From a thousand nodes on, a sample of the kernel is computed for this."""
        graph = self.graph
        size = self.itemsize or graph.nodes.dtype.itemsize
        n_factors = self.observed.S.shape[0] if isinstance(self.observed, Factored) else 0
        left = 1 - self.held_out
        rows = self._side(0, n_factors, size, round(left * len(self.queries)))
        cols = self._side(1, n_factors, size, len(self.objects)) if graph.is_two_domain else rows
        n_pairs = self.observed.n_pairs if isinstance(self.observed, Edges) else graph.n_edges
        share = left ** (1 if graph.is_two_domain else 2)
        return Sizes(rows, cols, round(share * n_pairs), size, self.held_out)

    def _side(self, number: int, n_factors: int, size: int, n: int) -> Side:
        nodes = (self.queries, self.objects)[number]
        looks = n >= SAMPLE_FOR_MEMORY_LEAST_NODES and not nodes.is_raw
        kernel, sample = self.settings.kernels[number], self.samples[number] if looks else None
        return Side.of(nodes, kernel, self.settings.approximation, sample, n_factors, size, n)

    @property
    def can_be_sampled(self) -> bool:
        """There are enough nodes for a sample of their kernel to represent the rest."""
        shape = self.sizes.shape
        enough = max(shape) >= SAMPLE_LEAST_NODES and min(shape) >= SAMPLE_LEAST_OBJECTS
        return enough and not self.graph.nodes.is_raw

    @cached_property
    def expected_by_sizes(self) -> Expected:
        """Expected iterations, from sizes alone."""
        n, m = self.sizes.shape
        return Expected.by_sizes(self.sizes.n_pairs, n * m, self.relative_alpha)

    @cached_property
    def both_ways(self) -> float:
        """Share of the observed pairs whose other direction is observed too, from a sample of a few hundred."""
        edges = self.observed
        if not isinstance(edges, Edges):
            return 1.0
        if self.sizes.two_domains or not edges.n_pairs:
            return 0.0
        found = 0
        sample = np.unique(np.linspace(0, edges.n_pairs - 1, SAMPLED_PAIRS).astype(int))
        starts = np.searchsorted(edges.indptr, sample, side="right") - 1
        for start, end in zip(starts.tolist(), edges.indices[sample].tolist(), strict=True):
            row = edges.indices[edges.indptr[end] : edges.indptr[end + 1]]
            place = int(np.searchsorted(row, start))
            found += place < len(row) and row[place] == start
        return found / len(sample)

    @property
    def distinct(self) -> float:
        """Share of the pairs that is left if both directions of a pair count as one, for symmetric and reciprocal."""
        return 1 - self.both_ways / 2 if self.settings.relation.sign else 1.0

    @cached_property
    def known_pairs(self) -> KnownShares | None:
        """The known pairs among sampled nodes; None if degrees are even, as those of a random sample of pairs are."""
        if not isinstance(self.observed, Edges) or not unevenly_known(self.observed):
            return None
        weights = degree_weights(self.observed, not self.sizes.two_domains)
        # Main effects of the nodes, which constants add, are known from many pairs each.
        rows, cols = (rest or sample for rest, sample in zip(self.samples_of_rest, self.samples, strict=True))
        return KnownShares(self.settings.relation, self.observed, rows, cols, weights, self.distinct)

    @cached_property
    def spectra(self) -> Strengths:
        """Eigenvalues of the edge kernel over all pairs, from samples of the nodes."""
        sigma, tau = (sample.spectrum() for sample in self.samples)
        k = tuple(n_eigenvectors(n) for n in self.sizes.shape)
        return edge_strengths(self.settings.relation, sigma, tau, (k[0], k[1]))

    @cached_property
    def expected_by_sample(self) -> Expected:
        """Expected iterations, from the kernel eigenvalues of a sample of the nodes."""
        (n, m), n_pairs = self.sizes.shape, self.sizes.n_pairs
        strengths = self.spectra
        ranks = (0, *(t for t in PRECONDITIONER_RANKS if t <= n_pairs // 2))
        tol = max(self.settings.tol, 1e-10)
        distinct, known = self.distinct, self.known_pairs
        extremes = (1.0, 1.0) if known is None else known.extremes(self.relative_alpha)
        found = Expected.by_look(strengths, n_pairs, n * m, self.relative_alpha, tol, ranks, distinct, extremes)
        rest, alpha, pairs, size = self.spectra_of_rest, self.relative_alpha, distinct * n_pairs, distinct * n * m
        if rest is not None:
            found = replace(found, without_effects=float(dual_steps(rest, pairs, size, alpha, tol)[0]))
        if known is None:
            return found
        found = found.over_edges(UNEVEN_ITERATIONS_FACTOR)
        if rest is None:
            return found
        # As in the fit, which also counts by mean squares.
        steps = UNEVEN_MEAN_SQUARES_FACTOR * moment_steps(rest.trace / size, rest.square, pairs, size, alpha, tol)
        return replace(found, without_effects=min(found.without_effects, steps))

    @cached_property
    def spectra_of_rest(self) -> Strengths | None:
        """Eigenvalues of the edge kernel over all pairs without the constants of the node kernels; None without any."""
        left, right = self.samples_of_rest
        if left is None or right is None:
            return None
        return edge_strengths(self.settings.relation, left.spectrum(), right.spectrum(), self.sizes.shape)


def n_eigenvectors(n: int) -> int:
    """Number of eigenvectors of a kernel of n nodes that the features of the dual preconditioner are made of."""
    return min(n, max(EIGENVECTORS_LEAST, min(EIGENVECTORS_MOST, int(EIGENVECTORS_SHARE_OF_NODES * n))))
