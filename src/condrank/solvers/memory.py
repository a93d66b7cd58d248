"""Bytes at the peak of a fit beyond its inputs, counted array by array, and what to do where they are not there.

Each solver goes through phases (coordinates, reduction or labels at the edges, iteration); the peak is the largest sum
of the arrays that live together in one of them. r is the number of coordinates, E that of observed pairs, and an array
is counted in its own precision: explicit features have their r×r arithmetic in double, whatever theirs is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from condrank.base.blocks import CACHED, ENTRIES, n_processors
from condrank.graph import RelationGraph
from condrank.observations import Complete, Edges, Factored
from condrank.problem.settings import Settings
from condrank.products.kronecker import loops_for
from condrank.products.sampled import GATHER
from condrank.solvers.coordinate_memory import Side
from condrank.solvers.dual_memory import DualTask
from condrank.solvers.explicit import explicit_bytes
from condrank.solvers.preconditioned import DENSE_FROM
from condrank.solvers.refinement import LONGEST, pays

# Arrays of conjugate gradients beside the right-hand side: x, r, p, z and the product.
CG = 5
# Those of BiCGSTAB: x, r, r̃, p, v, s and t, and the iterate that is noted after each step.
BICGSTAB = 8
LOOKED_AT = 300


@dataclass(frozen=True)
class Sizes:
    """What the memory of a fit depends on: coordinates of both sides, pairs, and the precision."""

    rows: Side
    cols: Side
    n_pairs: int
    itemsize: int
    held_out: float

    @classmethod
    def of(
        cls,
        graph: RelationGraph,
        settings: Settings,
        counts: list[int | None],
        held_out: float = 0.0,
        itemsize: int | None = None,
    ) -> Sizes:
        """From a graph.

        Parameters
        ----------
        graph : RelationGraph
            Nodes and observed relation.
        settings : Settings
            Of the fit.
        counts : list of int or None
            Numbers of components of an approximation of each side; None for exact coordinates.
        held_out : float
            Share of the conditioning nodes that will be held out of the graph.
        itemsize : int, optional
            Bytes of a number, where they are not to be those of the nodes.
        """
        size = itemsize or graph.nodes.dtype.itemsize
        by_rows, by_cols = graph.nodes, graph.objects
        if settings.rank_by == "incoming":
            by_rows, by_cols, counts = by_cols, by_rows, counts[::-1]
        n_factors = graph.relation.S.shape[0] if isinstance(graph.relation, Factored) else 0
        rows = Side.of(by_rows, settings, counts[0], n_factors, size, round((1 - held_out) * len(by_rows)))
        cols = Side.of(by_cols, settings, counts[-1], n_factors, size, len(by_cols)) if graph.is_two_domain else rows
        n_pairs = graph.relation.n_pairs if isinstance(graph.relation, Edges) else graph.n_edges
        share = (1 - held_out) ** (1 if graph.is_two_domain else 2)
        return cls(rows, cols, round(share * n_pairs), size, held_out)

    @property
    def both(self) -> tuple[Side, ...]:
        """The sides that have coordinates of their own."""
        return (self.rows,) if self.cols is self.rows else (self.rows, self.cols)

    @property
    def square(self) -> int:
        """Entries of W."""
        return self.rows.r * self.cols.r

    @property
    def kept(self) -> int:
        """Bytes of the coordinate maps after they are fitted."""
        return sum(side.kept for side in self.both)

    @property
    def making(self) -> int:
        """Bytes at the peak of fitting the coordinates, one side after the other."""
        return max(self.rows.peak, self.rows.kept + self.cols.peak if self.cols is not self.rows else 0)

    def pays(self, alpha: float) -> bool:
        """Whether iterations will run in single precision: λ beside the largest eigenvalue, nearly."""
        largest = self.rows.largest * self.cols.largest * self.n_pairs / (self.rows.n * self.cols.n)
        return self.itemsize == 8 and pays(alpha, largest)

    @property
    def training(self) -> int:
        """Entries of Z and Z'."""
        return sum(side.n * side.r for side in self.both)


def peak_memory(
    solver: str, graph: RelationGraph, settings: Settings, sizes: Sizes, rank: int = 0, steps: float = 0.0
) -> int:
    """Bytes at the peak of a fit by a solver; the dual's preconditioner has a rank, and leaves so many steps."""
    if solver in ("dual", "dual_newton"):
        listed, listing = _listed(graph, sizes)
        shape, kernel = (sizes.rows.n, sizes.cols.n), settings.pairwise_kernel
        folded = settings.relation.sign != 0 if kernel is None else kernel == "mlpk"
        share = _observed_both_ways(graph) if folded else 0.0
        single = sizes.pays(settings.alpha) and not steps > LONGEST
        task = DualTask(shape, sizes.n_pairs, sizes.itemsize, graph.is_two_domain, share, settings, rank, single)
        return max(task.kernels + listing, listed + task.peak(newton=solver == "dual_newton"))
    complete = graph.is_complete and not settings.compared
    if solver == "closed_form" or (solver == "early_stopping" and complete):
        after = _reduced(graph, settings, sizes, solver == "early_stopping")
    elif solver == "explicit":
        after = _listed(graph, sizes)[0] + explicit_bytes(settings.relation, sizes.rows.r, sizes.cols.r, sizes.n_pairs)
        after += sizes.itemsize * sizes.training + 8 * sizes.training * (sizes.itemsize < 8)
    else:
        after = _iterated(solver, graph, settings, sizes)
    kept, making = _trained_on(graph, sizes)
    return max(making, kept + sizes.making, kept + sizes.kept + after)


def _trained_on(graph: RelationGraph, s: Sizes) -> tuple[int, int]:
    """Bytes of the labels without those held out: kept, and at the peak of taking them."""
    if not s.held_out or isinstance(graph.relation, Factored):
        return 0, 0
    if isinstance(graph.relation, Edges):
        # Pairs, labels and weights; while they are taken, numbers of the edges in compressed rows, three times.
        kept = (8 + 2 * s.itemsize) * s.n_pairs
        return kept, kept + 60 * s.n_pairs
    kept = round(graph.relation.nbytes * s.n_pairs / graph.n_edges)
    return kept, kept + round((1 - s.held_out) * graph.relation.nbytes)


def _reduced(graph: RelationGraph, settings: Settings, s: Sizes, early: bool) -> int:
    """Closed forms beside the coordinates: the labels reduced to r×r', rotated, and W."""
    rows, cols, size = s.rows, s.cols, s.itemsize
    own = size if rows.exact else 8
    relation = graph.relation
    reducing = own * s.square
    if isinstance(relation, Complete):
        sparse_side = rows.sparse or cols.sparse
        if sparse.issparse(relation.Y) or sparse_side:
            # The sum, a block of rows times Z' (of which SciPy makes a copy for sparse features), its product with Z.
            block = min(rows.n, max(1, ENTRIES // max(cols.n, cols.r)))
            reducing = (8 + size) * s.square + size * block * (cols.r + cols.n * sparse_side)
        elif cols.block:
            # YΦ' is summed up over blocks of Φ', each product as large as the sum.
            reducing = max(2 * size * rows.n * cols.r + cols.block, size * rows.n * cols.r + 16 * s.square + rows.block)
        else:
            reducing = size * (rows.n * cols.r + s.square)
    rotating = 0 if rows.exact else 2 * own * s.square
    ranking = settings.loss == "ranking"
    # A block of 1/D in each thread and, of ranking, the right-hand side's or (not of all at once) their product.
    threads = min(n_processors(), max(1, s.square // CACHED))
    blocks = own * min(s.square, CACHED) * threads * (2 if ranking else 1)
    solving = own * s.square + max(own * s.square + blocks, (own + size) * s.square * (own > size))
    if early:
        vectors = CG - 1 if settings.method == "cg" else BICGSTAB
        # The best iterate is kept; a product has one temporary beside its result.
        solving = own * s.square * (1 + vectors + 1 + 2)
    return max(reducing, rotating, solving)


def _listed(graph: RelationGraph, s: Sizes) -> tuple[int, int]:
    """Bytes of the list of pairs that a complete relation is turned into: kept, and at the peak of making it."""
    if isinstance(graph.relation, Edges):
        return 0, 0
    kept = (8 + 2 * s.itemsize) * s.n_pairs
    # Both ends of each pair, and the key by which they are sorted; the labels themselves, where they are not an array.
    return kept, kept + 24 * s.n_pairs + (s.itemsize * s.n_pairs if _made(graph) else 0)


def _made(graph: RelationGraph) -> bool:
    return not isinstance(graph.relation, Complete) or sparse.issparse(graph.relation.Y)


def _iterated(solver: str, graph: RelationGraph, settings: Settings, s: Sizes) -> int:
    """Iterations on W, beside the coordinates."""
    rows, cols, size, newton = s.rows, s.cols, s.itemsize, solver == "newton"
    n, m, pairs = rows.n, cols.n, s.n_pairs
    listed, listing = _listed(graph, s)
    n_blocks = 1 + len(settings.compared)
    weights = n_blocks * s.square
    dense = pairs >= DENSE_FROM * n * m and not newton
    single = solver == "primal" and s.pays(settings.alpha)
    held = size * s.training + listed + size * n * m * dense + (len(settings.compared) * size * pairs)
    held += (4 * s.training + 4 * pairs + 4 * n * m * dense + 4 * len(settings.compared) * pairs) * single
    # The right-hand side, and CG with its preconditioner; W and the gradients at the start and now of Newton's method.
    vectors = 1 + CG + 3 * newton
    if solver == "early_stopping":
        vectors = 1 + (CG - 1 if settings.method == "cg" else BICGSTAB) + 1
    elif not newton and settings.loss == "ranking" and settings.relation.sign:
        held += size * s.square  # of the preconditioner
    # A product: ZW, and all values of the model or those of a block of pairs; W from the preconditioner, also scaled.
    values = n * m * (2 if settings.compared else 1)
    if not dense:
        numba = loops_for("auto", pairs, cols.r) == "numba"
        values = pairs if numba else 2 * min(GATHER, pairs * cols.r) + 2 * pairs
    product = n * cols.r + values + 5 * pairs * newton
    if single:
        # In single precision beside the residual of a round, x and its sum with the last step; and in double between
        # two rounds: right-hand side, residual, x before and after, the step and its sum.
        rough = size * (vectors + 3) * weights + max(4 * (product + weights), 2 * size * weights)
        held += max(rough, size * (6 * weights + product))
    else:
        held += size * (vectors * weights + max(product, 2 * weights))
    return int(max(listing + size * s.training, held))


def _observed_both_ways(graph: RelationGraph) -> float:
    """Share of the observed pairs whose other direction is observed too, from a few hundred of them."""
    edges = graph.relation
    if not isinstance(edges, Edges):
        return 1.0
    if graph.is_two_domain or not edges.n_pairs:
        return 0.0
    found = 0
    looked = np.unique(np.linspace(0, edges.n_pairs - 1, LOOKED_AT).astype(int))
    starts = np.searchsorted(edges.indptr, looked, side="right") - 1
    for start, end in zip(starts.tolist(), edges.indices[looked].tolist(), strict=True):
        row = edges.indices[edges.indptr[end] : edges.indptr[end + 1]]
        place = int(np.searchsorted(row, start))
        found += place < len(row) and row[place] == start
    return found / len(looked)
