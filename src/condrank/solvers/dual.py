"""The dual system on the observed edges, for very sparse graphs and kernels of full rank.

K̄ is the edge kernel at the observed edges. L is the loss: it multiplies by the weights and first subtracts the
weighted mean of each row (ranking) or of all edges (regression with an intercept); R Rᵀ = L. The minimiser of
(y - f)ᵀ L (y - f) + λ‖h‖² has edge coefficients a = R c with

    (Rᵀ K̄ R + λ I) c = Rᵀ y.

An iteration costs one product with K̄, O(n_pairs (n + m)) for Kronecker kernels. No array of size n_pairs² is made.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property

import numpy as np

from condrank.base.blocks import one_thread_a_product
from condrank.nodes.spectrum import constant_part
from condrank.objective.edge_loss import LossRoot
from condrank.objective.losses import QUADRATIC, Loss
from condrank.objective.relations import Relation
from condrank.observations.edges import Edges
from condrank.problem.coordinates import check_alpha
from condrank.problem.sizes import single_precision_pays
from condrank.products.edge_kernels import EdgeKernel
from condrank.products.kronecker import KroneckerEdges
from condrank.solvers.dual_plan import plan_preconditioner
from condrank.solvers.edge_preconditioner import EdgePreconditioner, kronecker
from condrank.solvers.krylov import Iterated, Operator
from condrank.solvers.main_effects import MainEffects
from condrank.solvers.refinement import refined
from condrank.solvers.system import Watch
from condrank.solvers.trial import Trial


class DualSystem:
    """Rᵀ K̄ R + λ I on the observed edges, for any λ.

    Parameters
    ----------
    kernel : EdgeKernel
        Any edge kernel, bound to the observed edges.
    loss : Loss
        Regression, or ranking for each starting node.
    backend : {"auto", "numba", "numpy"}
        Backend of the preconditioner's sampled products.
    weights : ndarray of shape (n_pairs,), optional
        Positive weights that replace those of the edges.
    """

    def __init__(self, kernel: EdgeKernel, loss: Loss, backend: str = "auto", weights: np.ndarray | None = None):
        if loss not in QUADRATIC:
            names = [*dict.fromkeys(one.name for one in QUADRATIC)]
            raise ValueError(f"the dual solver's loss must be one of {names}, got {loss.name!r}")
        self.kernel, self.loss, self.backend, self.edges = kernel, loss, backend, kernel.edges
        self.root = LossRoot(loss, self.edges, weights)
        self.weights = self.root.weights

    @classmethod
    def kronecker(
        cls,
        relation: Relation,
        loss: Loss,
        K: np.ndarray,
        G: np.ndarray | None,
        edges: Edges,
        backend: str = "auto",
    ) -> DualSystem:
        """The system of a relation's Kronecker kernel of K (n, n) and G (m, m); G is None in a single domain."""
        return cls(KroneckerEdges(relation, K, G, edges, backend), loss, backend)

    @cached_property
    def constants(self) -> tuple[float, float]:
        """The constants in the node kernels of both sides, for a Kronecker edge kernel."""
        kernel = kronecker(self)
        c = constant_part(kernel.K)
        return c, c if kernel.G is kernel.K else constant_part(kernel.G)

    def single(self) -> DualSystem | None:
        """The same system in single precision; None if it already is, or if its kernel has no such form."""
        if not isinstance(self.kernel, KroneckerEdges) or self.kernel.K.dtype == np.float32:
            return None
        kernel = self.kernel.astype(np.dtype(np.float32))
        return DualSystem(kernel, self.loss, self.backend, self.weights.astype(np.float32))

    def largest(self) -> float:
        """Approximately the largest eigenvalue of the weighted K̄, from one product.

        For kernels without negative values the vector used is close to the eigenvector.
        """
        roots = self.root.roots
        return float(np.linalg.norm(roots * self.kernel.product(roots)) / np.linalg.norm(roots))

    def iterating(self) -> AbstractContextManager[None]:
        """A context for iterations: if products are our own loops, threads of BLAS would only take their time."""
        kernel = self.kernel
        return one_thread_a_product() if isinstance(kernel, KroneckerEdges) and kernel.by_loops else nullcontext()

    def rhs(self, values: np.ndarray | None = None) -> np.ndarray:
        """Rᵀ y, by default for the labels y of the edges."""
        return self.root.transposed(self.edges.values if values is None else values)

    def apply(self, c: np.ndarray, alpha: float) -> np.ndarray:
        """(Rᵀ K̄ R + λ I) c, by one product with the edge kernel."""
        return self.root.transposed(self.kernel.product(self.root(c))) + c.dtype.type(alpha) * c


def solve_dual(
    system: DualSystem,
    alpha: float,
    *,
    values: np.ndarray | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    start: np.ndarray | None = None,
    watch: Watch | None = None,
    preconditioner: EdgePreconditioner | MainEffects | str | None = "auto",
    rank: int | None = None,
) -> tuple[np.ndarray, Iterated]:
    """Edge coefficients a (n_pairs,) by conjugate gradients, and the result of the iteration.

    Parameters
    ----------
    system : DualSystem
        The system, with any edge kernel.
    alpha : float
        λ > 0, or 0 with early stopping.
    values : ndarray of shape (n_pairs,), optional
        Labels that replace those of the edges.
    tol : float
        Residual relative to Rᵀ y at which to stop.
    max_iter : int
        Largest number of iterations.
    start : ndarray, optional
        Start for c, such as the ``x`` of an `Iterated` at another λ.
    watch : callable, optional
        Called with the number of an iteration and its a; True stops.
    preconditioner : EdgePreconditioner, MainEffects, "auto" or None
        "auto" builds one if it is expected to save time (`plan_preconditioner`), and drops it if it does not
        (`condrank.solvers.trial`). None iterates without one, in the
        precision of the system.
    rank : int, optional
        Planned number of features of the preconditioner, a limit for "auto".
    """
    if alpha:
        check_alpha(alpha, system.weights.dtype)
    roughly, expected = preconditioner is not None, None
    if preconditioner == "auto":
        plan = plan_preconditioner(system, alpha, tol, rank=rank)
        expected = plan.expected
        preconditioner, roughly = plan.build(), plan.in_single_precision
    if not isinstance(preconditioner, EdgePreconditioner | MainEffects | None):
        raise ValueError(f"preconditioner must be an EdgePreconditioner, 'auto' or None, got {preconditioner!r}")
    stopped = False

    def seen(count: int, c: np.ndarray) -> bool:
        nonlocal stopped
        stopped = watch is not None and watch(count, system.root(c))
        return stopped or (trial is not None and trial.failed)

    def iterate(precondition: Operator | None, start: np.ndarray | None, before: int = 0) -> Iterated:
        return refined(
            lambda c: system.apply(c, alpha),
            rough,
            system.rhs(values),
            precondition=precondition,
            start=start,
            tol=tol,
            max_iter=max_iter - before,
            watch=None if watch is None and precondition is None else lambda count, c: seen(before + count, c),
        )

    precondition = None if preconditioner is None else preconditioner.at(alpha)
    with system.iterating():
        single = system.single() if roughly else None
        if single is not None and not single_precision_pays(alpha, single.largest()):
            single = None
        rough = None if single is None else lambda c: single.apply(c, alpha)
        trial = None if precondition is None or expected is None else Trial(precondition, expected, tol)
        found = iterate(trial or precondition, start)
        if trial is not None and trial.failed and not (found.converged or stopped) and found.n_iter < max_iter:
            trial.failed, before = False, found.n_iter
            rest = iterate(None, found.x, before)
            found = replace(rest, n_iter=before + rest.n_iter)
    return system.root(found.x), found
