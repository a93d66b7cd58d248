"""Choosing a solver is a public question: which one, why, and what it will take, before any work is done."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from condrank.base.dask import is_dask
from condrank.base.memory import readable
from condrank.graph import RelationGraph
from condrank.nodes import Approximation, ExplicitFeatures, NodeKernel, Nodes
from condrank.nodes.landmarks import choice_cost
from condrank.nodes.spectrum import sampled_spectrum
from condrank.observations import Complete, Edges
from condrank.problem.settings import Settings
from condrank.products.kronecker import loops_for, product_cost
from condrank.solvers.dual_plan import CALL, FEW_EDGES, RANKS, cheapest_rank, expected_rank, rank_costs
from condrank.solvers.edge_preconditioner import n_eigenvectors
from condrank.solvers.expected import Expected, edge_strengths
from condrank.solvers.logistic_dual import BUILDS
from condrank.solvers.memory import Sizes as MemorySizes
from condrank.solvers.memory import peak_memory
from condrank.solvers.preconditioned import DENSE_FROM

# An eigendecomposition takes about as long as this many n³ floating-point operations of a matrix product.
EIGH = 13.0
# ... and this many n², which tell for hundreds of nodes.
EIGH_ENTRY = 5000.0
# Sampled products run at this share of the speed of dense ones (benchmarks/products.py).
SAMPLED_SPEED = 1 / 20
# Elementwise work on W in an iteration, for each entry, and the fixed part of any iteration.
PASSES, FIXED = 900.0, 5e7
# Products in single precision, refined to double, take this share of the time.
REFINED = 0.7
# A look at a sample of the nodes has to be cheap beside the fit: at least so many nodes and operations (milliseconds).
SMALL, WORTH_A_LOOK = 200, 5e8
# A kernel value or a cosine takes about as long as this many operations of a matrix product, beside the products.
ELEMENTWISE = 40.0
# Newton's method takes about this many times the inner iterations of one least squares, with weights of at most ¼; its
# products over the edges are in single precision but for one a step.
NEWTON, NEWTON_STEPS = 1.5, 6


@dataclass(frozen=True)
class Plan:
    """What a fit will do.

    Attributes
    ----------
    solver : str
        Name of the solver that will run.
    reason : str
        Why that one.
    coordinates : str
        How the nodes get their coordinates.
    n_coordinates : int
        Upper bound of r, the number of coordinates.
    flops : float
        Estimated floating-point operations, each kind weighted by its speed relative to a matrix product.
    memory : int
        Estimated bytes at the peak, beyond the inputs.
    alternatives : dict of str to float
        Estimated flops of the solvers that were not chosen.
    rank : int
        Expected number of features of the preconditioner over the edges; the fit does not go beyond it where that
        would take memory that was not counted.
    """

    solver: str
    reason: str
    coordinates: str
    n_coordinates: int
    flops: float
    memory: int
    alternatives: dict[str, float]
    rank: int = 0

    def __str__(self) -> str:
        others = "".join(f"; {name} would take {flops:.1e}" for name, flops in self.alternatives.items())
        return (
            f"{self.solver}: {self.reason}; {self.coordinates}, at most {self.n_coordinates} coordinates; "
            f"about {self.flops:.1e} flops and {readable(self.memory)}{others}"
        )


@dataclass(frozen=True)
class _Sizes:
    """Sizes of a problem: pairs, coordinates of both sides, what those are and what they cost to make."""

    n: int
    m: int
    r: int
    r_objects: int
    n_pairs: int
    flops: float
    exact: bool
    coordinates: str
    counts: list[int | None]

    @classmethod
    def of(cls, graph: RelationGraph, settings: Settings) -> _Sizes:
        kernel, sides = settings.kernel, [graph.nodes, graph.objects] if graph.is_two_domain else [graph.nodes]
        counts = [settings.approximation and settings.approximation.size(kernel, side) for side in sides]
        given = list(zip(sides, counts, strict=True))
        costs = [_coordinates_cost(kernel, side, settings.approximation, count) for side, count in given]
        exact = counts[0] is None and not ExplicitFeatures.applies(kernel, graph.nodes)
        described = {_described(kernel, side, settings.approximation, count): None for side, count in given}
        n_pairs = graph.relation.n_pairs if isinstance(graph.relation, Edges) else graph.n_edges
        flops, coordinates = sum(cost[1] for cost in costs), " and ".join(described)
        return cls(*graph.shape, costs[0][0], costs[-1][0], n_pairs, flops, exact, coordinates, counts)


def make_plan(graph: RelationGraph, settings: Settings, held_out: float = 0.0, itemsize: int | None = None) -> Plan:
    """Choose a solver for a graph, of whose nodes a share will be held out, and estimate its cost.

    ``itemsize`` is that of features and labels, where the memory of another than their own is asked for.

    Where primal and dual compete and the fit is not tiny, the kernel of at most 200 nodes is looked at (milliseconds);
    of a thousand nodes or more that of 300, for the memory that is needed. Nothing else is computed.
    """
    if is_dask(graph.nodes.base):
        from condrank.distributed.plan import make_distributed_plan

        return make_distributed_plan(graph, settings)
    sizes = _Sizes.of(graph, settings)
    expected = _expected(graph, settings, sizes)
    solver, reason = _choose(graph, settings, sizes, expected)
    names = _candidates(graph, settings, solver, sizes.exact)
    costs = {name: _cost(name, graph, settings, sizes, expected) for name in names}
    flops = costs.pop(solver)
    rank, steps = _rank(solver, graph, settings, sizes, expected) if solver in ("dual", "dual_newton") else (0, 0.0)
    held = MemorySizes.of(graph, settings, sizes.counts, held_out, itemsize)
    memory = peak_memory(solver, graph, settings, held, rank, steps)
    return Plan(solver, reason, sizes.coordinates, max(sizes.r, sizes.r_objects), flops, memory, costs, rank)


def _expected(graph: RelationGraph, settings: Settings, s: _Sizes) -> Expected:
    """Iterations to expect: from the sizes, or from a look at the kernel where that may change the choice."""
    expected = Expected.by_sizes(s.n_pairs, s.n * s.m, _relative_alpha(graph, settings))
    open_choice = settings.solver in ("auto", "iterative") and not (graph.is_complete and settings.solver == "auto")
    exact = s.exact and not graph.nodes.is_raw
    special = settings.clip or settings.pairwise_kernel is not None or bool(settings.compared)
    # With an edge or two a node nothing beats the dual, whatever the kernel.
    small = min(s.n, s.m) < SMALL or s.n_pairs <= 2 * max(s.n, s.m)
    if not open_choice or not exact or special or small:
        return expected
    if min(_cost(name, graph, settings, s, expected) for name in ("primal", "dual")) < WORTH_A_LOOK:
        return expected
    return _looked_at(graph, settings, s)


def _looked_at(graph: RelationGraph, settings: Settings, s: _Sizes) -> Expected:
    """Iterations to expect from the eigenvalues of a sample of the nodes."""
    sigma = sampled_spectrum(settings.kernel, graph.nodes)
    tau = sampled_spectrum(settings.kernel, graph.objects) if graph.is_two_domain else sigma
    strengths = edge_strengths(settings.relation, sigma, tau, (n_eigenvectors(s.n), n_eigenvectors(s.m)))
    ranks = (0, *(t for t in RANKS if t <= s.n_pairs // 2))
    alpha = _relative_alpha(graph, settings)
    return Expected.by_look(strengths, s.n_pairs, s.n * s.m, alpha, max(settings.tol, 1e-10), ranks)


def _relative_alpha(graph: RelationGraph, settings: Settings) -> float:
    """λ for edges of weight one; the logistic loss weighs them by at most ¼."""
    alpha = settings.alpha * (4 if settings.loss == "logistic" else 1)
    if isinstance(graph.relation, Edges) and graph.relation.n_pairs:
        alpha /= float(np.mean(graph.relation.weights))
    return alpha


def _rank(solver: str, graph: RelationGraph, settings: Settings, s: _Sizes, expected: Expected) -> tuple[int, float]:
    """Of the preconditioner over the edges, as far as a sample of the nodes tells, and iterations with it."""
    if settings.pairwise_kernel is not None or s.n_pairs < FEW_EDGES or min(s.n, s.m) < SMALL or graph.nodes.is_raw:
        return 0, 0.0
    if len(expected.ranks) == 1:
        expected = _looked_at(graph, settings, s)
    builds, tol = (BUILDS, 1e-8) if solver == "dual_newton" else (1, 1e-10)
    product = _dual_product(settings, s)
    tol, sides = max(settings.tol, tol), (s.n, s.m)
    rank = expected_rank(sides, s.n_pairs, expected, product, tol, graph.is_two_domain, builds)
    return rank, float(expected.dual[expected.ranks.index(rank)])


def _choose(graph: RelationGraph, settings: Settings, sizes: _Sizes, expected: Expected) -> tuple[str, str]:
    asked = settings.solver
    complete = graph.is_complete
    if settings.compared and asked != "early_stopping":
        each = "a block of weights each beside the first, preconditioned by closed forms of the complete graph"
        return "newton" if settings.loss == "logistic" else "primal", f"{len(settings.compared)} compared: {each}"
    if settings.loss == "logistic":
        if asked not in ("auto", "iterative", "primal", "dual"):
            raise ValueError(f"loss='logistic' is solved by Newton's method: use solver='auto', got {asked!r}")
        if asked == "dual" and settings.clip:
            raise ValueError("clip=True needs an eigendecomposition, which the dual solver spares; use solver='primal'")
        none = "the logistic loss has no closed form"
        if asked == "dual" or (asked != "primal" and _cheapest(graph, settings, sizes, expected) == "dual"):
            return "dual_newton", f"{none}: steps over the edges"
        return "newton", none
    if settings.pairwise_kernel is not None:
        if asked not in ("auto", "iterative", "dual"):
            raise ValueError(f"pairwise_kernel is solved in the dual: use solver='auto' or 'dual', got {asked!r}")
        if settings.clip:
            raise ValueError("clip=True needs an eigendecomposition, which the dual solver of pairwise_kernel spares")
        return "dual", f"the {settings.pairwise_kernel} edge kernel is solved over the edges"
    if asked == "dual" and settings.clip:
        raise ValueError("clip=True needs an eigendecomposition, which the dual solver spares; use solver='primal'")
    if asked == "closed_form" and not complete:
        raise ValueError(
            f"solver='closed_form' needs a complete graph, but {graph.density:.2%} of the pairs are observed "
            "(or some of them repeatedly or with other weights); use solver='auto'"
        )
    if asked not in ("auto", "iterative"):
        return asked, "as asked for"
    if complete and asked == "auto":
        dense = isinstance(graph.relation, Complete)
        return "closed_form", "the graph is complete" if dense else "the relation is factored: every pair is known"
    best = _cheapest(graph, settings, sizes, expected)
    why = {
        "primal": "the closed form of the complete graph preconditions it well",
        "dual": "iterating over the edges is cheaper than an eigendecomposition",
    }
    return best, f"{graph.density:.2%} of the pairs are observed: {why[best]}"


def _cheapest(graph: RelationGraph, settings: Settings, sizes: _Sizes, expected: Expected) -> str:
    """Primal or dual, or what Newton's method has for them."""
    if not sizes.exact or settings.clip:
        return "primal"
    primal, dual = ("newton", "dual_newton") if settings.loss == "logistic" else ("primal", "dual")
    costs = [_cost(name, graph, settings, sizes, expected) for name in (primal, dual)]
    # A small logistic fit keeps to W: there is nothing to win.
    tiny = settings.loss == "logistic" and sizes.n < SMALL
    return "primal" if tiny or costs[0] < costs[1] else "dual"


def _candidates(graph: RelationGraph, settings: Settings, solver: str, exact: bool) -> list[str]:
    names = {solver}
    one_block = settings.pairwise_kernel is None and not settings.compared
    if settings.loss != "logistic" and solver != "early_stopping" and one_block:
        names |= {"closed_form"} if graph.is_complete else {"primal", "dual"}
    if settings.loss == "logistic" and one_block and exact:
        names |= {"newton", "dual_newton"}
    if not exact and settings.approximation is not None:
        names -= {"dual", "dual_newton"}
    return sorted(names)


def _cost(solver: str, graph: RelationGraph, settings: Settings, s: _Sizes, expected: Expected) -> float:
    """Weighted flops."""
    dense = not isinstance(graph.relation, Edges)
    reduction = 2.0 * s.n * s.m * s.r_objects * isinstance(graph.relation, Complete) + 2.0 * s.n * s.r * s.r_objects
    square = s.r * s.r_objects
    if solver == "closed_form" or (solver == "early_stopping" and dense and not settings.compared):
        steps = settings.max_iter * 10.0 * square if solver == "early_stopping" else 0.0
        ranking = settings.loss == "ranking" and settings.relation.sign != 0
        return s.flops + reduction + steps + ranking * s.r**3 / 3
    if solver == "explicit":
        return s.flops + float(min(square, s.n_pairs)) ** 3
    if solver in ("dual", "dual_newton"):
        return _dual_cost(solver, settings, s, expected)
    if s.n_pairs >= DENSE_FROM * s.n * s.m and solver != "newton":
        product = 4.0 * s.n * s.m * s.r_objects
    else:
        product = 4.0 * s.n_pairs * s.r_objects / SAMPLED_SPEED
    product = (1 + len(settings.compared)) * (product + (4.0 * s.n + PASSES) * square) + FIXED
    if solver == "primal":
        product *= REFINED
    iterations = expected.primal
    if solver == "newton":
        iterations = NEWTON * expected.primal + NEWTON_STEPS
    elif solver == "early_stopping":
        iterations = settings.max_iter * (2 if settings.method == "bicgstab" else 1)
    return s.flops + iterations * product


def _dual_cost(solver: str, settings: Settings, s: _Sizes, expected: Expected) -> float:
    """Flops over the edges with the preconditioner that will be chosen."""
    scale, steps = (NEWTON / 2, NEWTON_STEPS) if solver == "dual_newton" else (1.0, 0)
    step = _dual_product(settings, s) + CALL
    k = n_eigenvectors(max(s.n, s.m))
    costs = rank_costs((s.n, s.m), s.n_pairs, k, expected.ranks, scale * expected.dual, step, builds=max(1, steps))
    rank = cheapest_rank(expected.ranks, costs)
    return 2 * (float(costs[expected.ranks.index(rank)]) + steps * step)


def _dual_product(settings: Settings, s: _Sizes) -> float:
    """Flops of a product with the edge kernel."""
    loops, entries = loops_for("auto", s.n_pairs, min(s.n, s.m)), s.n_pairs * (2 if settings.relation.sign else 1)
    return min(product_cost(sides, entries, s.n_pairs, loops) for sides in ((s.n, s.m), (s.m, s.n)))


def _described(kernel: NodeKernel, nodes: Nodes, approximation: Approximation | None, count: int | None) -> str:
    if approximation is not None and count is not None:
        return approximation.described(kernel, count)
    return "explicit features" if ExplicitFeatures.applies(kernel, nodes) else f"exact {kernel.label} kernel"


def _coordinates_cost(
    kernel: NodeKernel, nodes: Nodes, approximation: Approximation | None, count: int | None
) -> tuple[int, float]:
    """Number of coordinates and weighted flops of making them."""
    n, d = len(nodes), nodes.base.shape[1]
    if approximation is not None and count is not None:
        r = count + kernel.constant
        flops = n * count * (2.0 * d + ELEMENTWISE) + 2.0 * n * r**2 + EIGH * r**3
        if approximation.name == "nystroem":
            flops += 2.0 * n * count**2 + EIGH * count**3 + choice_cost(approximation.landmarks, n, d, count)[0]
        return r, flops
    d += kernel.constant
    if ExplicitFeatures.applies(kernel, nodes):
        return d, 2.0 * n * d**2 + EIGH * d**3
    return n, 2.0 * n**2 * d + EIGH * n**3 + EIGH_ENTRY * n**2
