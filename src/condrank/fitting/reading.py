"""Reads the parameters of a ranker and checks them against the graph to learn from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from condrank.base.checks import check_choice, check_count, check_number
from condrank.graph import RelationGraph
from condrank.kernels import Kernel, read_kernel
from condrank.nodes import Approximation, Nodes
from condrank.nodes.approximate import APPROXIMATIONS
from condrank.nodes.fourier import check_fourier
from condrank.nodes.landmarks import LANDMARKS, check_approximable, refuse_means
from condrank.nodes.similarity import check_kernel, fit_widths
from condrank.nodes.views import Views
from condrank.objective.losses import get_loss
from condrank.objective.relations import ORDINARY, RECIPROCAL, Relation, get_relation
from condrank.problem.settings import Settings
from condrank.products.edge_kernels import EDGE_KERNELS
from condrank.solvers import SOLVERS, solvers_for
from condrank.solvers.dual_fit import DualSolver
from condrank.solvers.early_stopping import EarlyStoppingSolver
from condrank.solvers.krylov import METHODS
from condrank.solvers.primal import PrimalSolver

RANK_BY = ("outgoing", "incoming")


def solver_words() -> tuple[str, ...]:
    """Values of the parameter ``solver``: "auto" first, then the words of the solvers."""
    return tuple(dict.fromkeys(["auto", *(word for solver in SOLVERS.values() for word in solver.serves)]))


def stops_early(solver: str) -> bool:
    """Whether the solver regularises by stopping early, by the loss on held-out nodes."""
    return solver == EarlyStoppingSolver.name


def read_settings(ranker: Any, graph: RelationGraph, draw: bool = True, before: Settings | None = None) -> Settings:
    """Check every parameter of a ranker for a graph. A ValueError names the first that is wrong.

    ``draw=False`` does not draw from the ranker's ``random_state``: for settings that are not used in a fit. Kernels
    keep the widths that were fitted ``before``, to other nodes.
    """
    relation = get_relation(ranker.relation)
    # The constant of a reciprocal relation is fixed: the two directions of a pair sum to twice its centre.
    loss = get_loss(ranker.loss, bool(ranker.fit_intercept) and relation is not RECIPROCAL)
    choices = {
        "rank_by": RANK_BY,
        "prior": (None, "similarity"),
        "solver": solver_words(),
        "pairwise_kernel": (None, *EDGE_KERNELS),
        "method": tuple(METHODS),
        "approximation": APPROXIMATIONS,
        "landmarks": LANDMARKS,
    }
    for name, allowed in choices.items():
        check_choice(name, getattr(ranker, name), allowed)
    if stops_early(ranker.solver):
        alpha = check_number("alpha", ranker.alpha, at_least=0.0)
    else:
        alpha = check_number("alpha", ranker.alpha, above=0.0)
    kernel, object_kernel = _read_kernels(ranker, graph, before)
    if graph.is_two_domain and relation is not ORDINARY:
        raise ValueError(
            f"relation={ranker.relation!r} needs conditioning nodes and objects of one domain, but the graph has two; "
            "use relation='ordinary'"
        )
    if not loss.is_quadratic and relation is not RECIPROCAL:
        raise ValueError(f"loss='logistic' is for relation='reciprocal' (who beats whom), got {ranker.relation!r}")
    solvers_for(loss, ranker.solver)
    if ranker.pairwise_kernel is not None and (relation is not ORDINARY or not loss.is_quadratic):
        raise ValueError(
            f"pairwise_kernel={ranker.pairwise_kernel!r} replaces the relation's Kronecker kernel: use "
            "relation='ordinary', with loss 'ranking' or 'regression'"
        )
    if ranker.pairwise_kernel in ("ranking", "mlpk") and graph.is_two_domain:
        raise ValueError(f"pairwise_kernel={ranker.pairwise_kernel!r} needs nodes of one domain, but the graph has two")
    if graph.n_edges == 0:
        raise ValueError("the graph has no observed edge: there is nothing to learn from")
    return Settings(
        relation=relation,
        loss=loss,
        alpha=alpha,
        kernel=kernel,
        prior_weight=_check_prior(ranker, relation, graph),
        rank_by=ranker.rank_by,
        clip=bool(ranker.clip),
        solver=ranker.solver,
        pairwise_kernel=ranker.pairwise_kernel,
        tol=check_number("tol", ranker.tol, at_least=0.0),
        max_iter=check_count("max_iter", ranker.max_iter),
        method=ranker.method,
        centre=graph.centre if relation is RECIPROCAL else 0.0,
        compared=_check_compared(ranker, relation, graph, kernel),
        approximation=_check_approximation(ranker, kernel, alpha, draw),
        object_kernel=object_kernel,
    )


def _read_kernels(ranker: Any, graph: RelationGraph, before: Settings | None) -> tuple[Kernel, Kernel | None]:
    """The kernels of the nodes and of the objects (None in a single domain), with widths for the nodes of the graph."""
    for name in ("degree", "coef0"):
        check_number(name, getattr(ranker, name))
    if ranker.gamma is not None and ranker.gamma != "median":
        check_number("gamma", ranker.gamma)
    given = ranker.gamma, ranker.degree, ranker.coef0, ranker.kernel_params
    kernel = read_kernel(ranker.kernel, *given, ranker.constant)
    if ranker.feature_weights is not None:
        weights = _check_weights(ranker, graph, kernel)
        kernel = read_kernel(ranker.kernel, *given, ranker.constant, weights)
    kernel = fitted_kernel(kernel if before is None else with_widths(kernel, before.kernel), graph.nodes)
    if not graph.is_two_domain:
        if ranker.object_kernel is not None:
            raise ValueError("object_kernel is for the objects of a second domain, but the graph has one domain")
        return kernel, None
    objects = read_kernel(
        ranker.kernel if ranker.object_kernel is None else ranker.object_kernel, *given, ranker.constant
    )
    if before is not None and before.object_kernel is not None:
        objects = with_widths(objects, before.object_kernel)
    return kernel, fitted_kernel(objects, graph.objects)


def with_widths(kernel: Kernel, fitted: Kernel) -> Kernel:
    """A kernel with the widths of a fitted one, wherever its own are to be found from nodes."""
    others = iter(fitted.leaves())

    def with_width(leaf: Any) -> Any:
        width = getattr(next(others, None), "gamma", None)
        return replace(leaf, gamma=width) if leaf.depends_on_training and isinstance(width, float) else leaf

    return kernel.mapped(with_width)


def fitted_kernel(kernel: Kernel, nodes: Nodes | None) -> Kernel:
    """A kernel for nodes: they have its views, and every width is a number. Without nodes it is left as it is."""
    if nodes is None or nodes.is_raw:
        return kernel
    check_kernel(kernel, nodes)
    return fit_widths(kernel, nodes)


def _check_approximation(ranker: Any, kernel: Kernel, alpha: float, draw: bool) -> Approximation | None:
    m = ranker.n_components
    if m is None:
        return None
    if not isinstance(m, str):
        m = check_count("n_components", m)
    elif m != "auto":
        raise ValueError(f"n_components must be None, 'auto' or a whole number of at least 1, got {m!r}")
    over_edges = ranker.solver == DualSolver.name
    if over_edges or ranker.pairwise_kernel is not None:
        what = f"solver={ranker.solver!r}" if over_edges else f"pairwise_kernel={ranker.pairwise_kernel!r}"
        raise ValueError(f"n_components approximates coordinates, but {what} is solved over the edges and has none")
    check_approximable(kernel)
    if ranker.approximation == "fourier":
        check_fourier(kernel)
        if m == "auto":
            raise ValueError(
                "n_components='auto' counts eigenvalues, which gives the number of landmarks needed but not of Fourier "
                "features; give a number, or use approximation='nystroem'"
            )
    if ranker.landmarks == "kmeans":
        refuse_means(kernel)
    random = check_random_state(ranker.random_state)
    seed = int(random.randint(2**31 - 1)) if draw else 0
    return Approximation(m, ranker.approximation, ranker.landmarks, seed, alpha)


def _check_prior(ranker: Any, relation: Relation, graph: RelationGraph) -> float:
    if ranker.prior is None:
        return 0.0
    if relation is RECIPROCAL:
        raise ValueError("prior='similarity' is symmetric and cannot be the prior of a reciprocal relation")
    if graph.is_two_domain:
        raise ValueError("prior='similarity' needs a single domain: there is no similarity between two domains")
    return check_number("prior_weight", ranker.prior_weight)


def _check_weights(ranker: Any, graph: RelationGraph, kernel: Kernel) -> tuple[float, ...]:
    without = "a precomputed kernel has no features" if kernel.matrices else f"the kernel {kernel.label} takes none"
    if graph.is_two_domain or not kernel.feature_views:
        what = "the graph has two domains" if graph.is_two_domain else without
        raise ValueError(f"feature_weights are for the features of one domain, but {what}")
    views = _several_views(graph)
    if views:
        raise ValueError(
            f"feature_weights do not say for which of the views {views} they are; give them to a part of the kernel, "
            f"as in RBF(view={views[0]!r}, feature_weights=...)"
        )
    weights, d = _check_array("feature_weights", ranker.feature_weights), graph.n_features_in_
    if weights.shape != (d,) or weights.dtype.kind not in "fiub":
        raise ValueError(f"feature_weights must be {d} numbers, one per feature, got shape {weights.shape}")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise ValueError(f"feature_weights must be finite, not negative and not all zero, got {weights}")
    return tuple(weights.astype(float).tolist())


def _several_views(graph: RelationGraph) -> list[str]:
    """Names of the views of the nodes, if there are several."""
    base = None if graph.nodes is None else graph.nodes.base  # a stored fit is checked without its nodes
    return [*base.parts] if isinstance(base, Views) and len(base.parts) > 1 else []


def _check_compared(ranker: Any, relation: Relation, graph: RelationGraph, kernel: Kernel) -> tuple[int, ...]:
    if ranker.compared is None:
        return ()
    if relation is not RECIPROCAL:
        raise ValueError(
            "compared features are for relation='reciprocal', where a comparison changes sign with the direction of a "
            f"pair, got {ranker.relation!r}"
        )
    views = _several_views(graph)
    if views:
        raise ValueError(f"compared features are columns of the nodes, but the nodes have several views: {views}")
    if kernel.matrices:
        raise ValueError("compared needs features, but a precomputed kernel has none")
    if ranker.solver not in PrimalSolver.serves and not stops_early(ranker.solver):
        raise ValueError(f"compared features are solved iteratively in W: use solver='auto', got {ranker.solver!r}")
    compared, d = _check_array("compared", ranker.compared), graph.n_features_in_
    if compared.size == 0:
        return ()
    whole = compared.ndim == 1 and compared.dtype.kind in "iu"
    if not whole or compared.min() < 0 or compared.max() >= d or len(np.unique(compared)) < len(compared):
        raise ValueError(f"compared must be different feature indices within 0..{d - 1}, got {ranker.compared!r}")
    return tuple(compared.tolist())


def _check_array(name: str, values: Any) -> np.ndarray:
    try:
        return np.asarray(values)
    except ValueError:  # from numpy, for nested sequences of different lengths
        raise ValueError(f"{name} must be a sequence of numbers, got {values!r}") from None
