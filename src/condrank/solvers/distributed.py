"""The system of a distributed edge list: the cluster sums over the edges, the client solves the r×r system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed
from dask.sizeof import sizeof

from condrank.base.measured import NUMBA_LEAST_MULTIPLICATIONS
from condrank.distributed.cluster import alive, one_thread, persist, preferably_at, shared, total, worker_threads
from condrank.distributed.edges import DistributedEdges
from condrank.distributed.partition import EdgePartition, wanted
from condrank.distributed.rows import DistributedFeatures, block_features, blocks_of, bounds_of
from condrank.nodes.feature_maps import FeatureMap
from condrank.objective.losses import REGRESSION, Loss
from condrank.objective.relations import ORDINARY, Relation
from condrank.solvers.intercept import Means
from condrank.solvers.krylov import krylov
from condrank.solvers.primal import PrimalSystem
from condrank.solvers.system import DEFAULTS, Options, Solution


class DistributedSystem(PrimalSystem):
    """The system of an incomplete graph with edges in partitions: a product is a sum over the partitions.

    Every partition keeps its edges and the features of their nodes, before the rotation V. A product is
    Vᵀ [Σ Φᵀ L(Φ (V W Vᵀ) Φᵀ) Φ] V + λW; the cluster computes the sum. An iteration sends p×p numbers out and back.

    Parameters
    ----------
    relation, loss, prior_weight, centre
        As for `PrimalSystem`.
    rows, cols : DistributedFeatures
        Features of the conditioning nodes and of the objects.
    edges : DistributedEdges of shape (n, m)
        The observed pairs.
    """

    def __init__(
        self,
        relation: Relation,
        loss: Loss,
        rows: DistributedFeatures,
        cols: DistributedFeatures,
        edges: DistributedEdges,
        prior_weight: float = 0.0,
        centre: float = 0.0,
    ):
        self.relation, self.loss, self.rows, self.cols = relation, loss, rows, cols
        self.prior_weight, self.offset = prior_weight, centre
        n, m = edges.shape
        self.density = edges.facts.weight / (n * m)
        # One product with a small partition is not worth compiled loops, but there is one in every iteration.
        backend = "numba" if edges.n_pairs * len(cols.rotation) >= NUMBA_LEAST_MULTIPLICATIONS else "auto"
        # The mean over the edges of all partitions is subtracted here, not by the workers.
        of_edges = REGRESSION if loss.fits_intercept else loss
        maps, options = shared((rows.features, cols.features)), (of_edges, prior_weight, centre, backend)
        blocks = [list(zip(bounds_of(X), blocks_of(X), strict=True)) for X in (rows.nodes.rows, cols.nodes.rows)]
        tasks, threads, constants = [], worker_threads(), (rows.kernel.constant, cols.kernel.constant)
        for number, (partition, run) in enumerate(zip(edges.partitions, edges.runs, strict=True)):
            picked = [_picked(partition, "rows", blocks[0], run), _picked(partition, "cols", blocks[1], (0, m))]
            with preferably_at(threads[number % len(threads)]):  # the same turns as the edges, if no worker is new
                tasks.append(delayed(system_of)(partition, *picked, maps, constants, options))
        self.partitions = persist(tasks)
        self.places = [threads[number % len(threads)] for number in range(len(tasks))]
        self.means = None
        if loss.fits_intercept:
            reduced = total([delayed(right_hand_side_and_sums)(one) for one in self.partitions])
            p = len(reduced) // 2
            weight, sums = edges.facts.weight, self._rotated(reduced[p : 2 * p])
            self.means = Means(float(reduced[-1, 0]) / weight, sums, weight)
            self.rhs = self._rotated(reduced[:p]) - self.means.label * sums
        else:
            self.rhs = self._rotated(total([delayed(right_hand_side)(one) for one in self.partitions]))

    def _rotated(self, G: np.ndarray) -> np.ndarray:
        """Π[VᵀGV']."""
        return self.relation.project(np.ascontiguousarray(self.cols.rotate(self.rows.rotate(G).T).T))

    def apply(self, W: np.ndarray, alpha: float) -> np.ndarray:
        """Π[Zᵀ L_Ω(Z W Z'ᵀ) Z'] + λW."""
        weights = self.rows.rotation @ W @ self.cols.rotation.T
        given = shared(weights.astype(self.rows.nodes.dtype, copy=False))
        tasks = []
        for partition, place in zip(self.partitions, alive(self.places), strict=True):
            # Otherwise a worker that has finished early would be sent the partition of another one.
            with preferably_at(place):
                tasks.append(delayed(product)(partition, given))
        out = self._rotated(total(tasks))
        if self.means is not None:
            out -= self.means.value(W) * self.means.sums
        out += alpha * W
        return out

    def intercept(self, W: Any) -> float:
        """c for weights W, from the sums over all partitions."""
        return 0.0 if self.means is None else self.means.intercept(W)

    def solve(self, alpha: float, options: Options = DEFAULTS, rhs: np.ndarray | None = None) -> Solution:
        """W for one λ > 0, to a relative residual of ``options.tol``. CG runs on the client, in double precision."""
        dtype = self.rows.nodes.dtype
        found = krylov(
            lambda W: self.apply(W, alpha),
            self.rhs if rhs is None else rhs,
            precondition=self.preconditioner(self.loss, alpha, self.density),
            start=None if options.start is None else options.start.astype(np.float64),
            tol=max(options.tol, 20 * float(np.finfo(dtype).eps)),
            max_iter=options.max_iter,
            watch=options.watch,
        )
        return Solution(found.x.astype(dtype, copy=False), found.n_iter, found.converged)


def _picked(
    partition: Delayed, side: str, blocks: list[tuple[tuple[int, int], Delayed]], run: tuple[int, int]
) -> list[Delayed]:
    """The node data that a partition needs from each block with nodes of a run; only these rows are sent."""
    nodes = delayed(getattr)(partition, side)
    pick = delayed(np.take)
    return [
        pick(X, delayed(wanted)(nodes, start, stop), axis=0)
        for (start, stop), X in blocks
        if start < run[1] and run[0] < stop
    ]


@sizeof.register(PrimalSystem)
def system_size(system: PrimalSystem) -> int:
    """Bytes of the edges of a partition and of the features of their nodes."""
    return system.edges.nbytes + system.weights.nbytes + system.Z.nbytes + system.Z_objects.nbytes


class GivenRows:
    """Given coordinates, for a `PrimalSystem` over them."""

    def __init__(self, Z: np.ndarray):
        self.Z = Z

    def training(self) -> np.ndarray:
        """Z, (n, r)."""
        return self.Z


def system_of(
    partition: EdgePartition,
    rows: Sequence[np.ndarray],
    cols: Sequence[np.ndarray],
    maps: tuple[FeatureMap, FeatureMap],
    constants: tuple[float, float],
    options: tuple[Loss, float, float, str],
) -> PrimalSystem:
    """The part of the system that one partition computes, over features before their rotation.

    Parameters
    ----------
    partition : EdgePartition
        The edges of the partition.
    rows, cols : list of ndarray
        Node data of its rows and columns, in pieces.
    maps : (FeatureMap, FeatureMap)
        Feature maps of rows and columns.
    constants : (float, float)
        Weights of the constants of both kernels.
    options : (Loss, float, float, str)
        Loss, weight of the prior, centre of the labels, and backend of the products.
    """
    loss, prior_weight, centre, backend = options
    left: Any = GivenRows(block_features(np.concatenate(rows), maps[0], constants[0]))
    right: Any = GivenRows(block_features(np.concatenate(cols), maps[1], constants[1]))
    with one_thread():
        system = PrimalSystem(ORDINARY, loss, left, right, partition.edges, prior_weight, centre)
    system.products.backend = backend
    return system


def right_hand_side(system: PrimalSystem) -> np.ndarray:
    """Φᵀ L(Y) Φ' over the edges of a partition."""
    return system.rhs.astype(np.float64, copy=False)


def right_hand_side_and_sums(system: PrimalSystem) -> np.ndarray:
    """Φᵀ(M∘Y)Φ' and ΦᵀMΦ' over the edges of a partition, and Σmy in the first place of one more row."""
    sums = system.reduce(system.weights)
    last = np.zeros((1, sums.shape[1]))
    labels = system.edges.values.astype(np.float64)
    if system.prior_weight:
        labels -= system.prior_weight * system.similarity()
    last[0, 0] = system.weights.astype(np.float64) @ labels
    return np.concatenate([system.rhs, sums, last])


def product(system: PrimalSystem, W: np.ndarray) -> np.ndarray:
    """Φᵀ L(Φ W Φ'ᵀ) Φ' over the edges of a partition."""
    with one_thread():
        return system.apply(W, 0.0).astype(np.float64, copy=False)
