"""Learning from blocks of nodes: the closed form follows from sums over the nodes, so the nodes are not kept."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from condrank.base.dask import is_dask
from condrank.fitting.fitted import FittedRanker
from condrank.fitting.plan import Plan
from condrank.graph import RelationGraph
from condrank.kernels import Kernel
from condrank.kernels.shorthand import shorthand_of
from condrank.models.sums import FactoredSums, sums_over
from condrank.nodes import ApproximateKernel, ExplicitFeatures, Nodes
from condrank.nodes.feature_maps import FeatureMap, OwnFeatures, has_features
from condrank.objective.relations import RECIPROCAL
from condrank.observations import Factored, Observations
from condrank.problem.problem import Problem
from condrank.problem.settings import Settings
from condrank.solvers.closed_form import ClosedForm, ClosedFormSolver
from condrank.solvers.system import System


def held_sums(system: System, observed: Observations) -> FactoredSums | None:
    """The sums of a fit to which `add_nodes` can add, or None if it has none."""
    if not isinstance(system, ClosedForm) or not isinstance(observed, Factored):
        return None
    rows, cols = system.rows, system.cols
    if not isinstance(rows, ExplicitFeatures) or not isinstance(cols, ExplicitFeatures) or not rows.sums.factors:
        return None
    return FactoredSums.of(rows.sums, cols.sums, observed)


def add_nodes(last: FittedRanker | None, problem: Problem) -> FittedRanker:
    """Add the nodes of a problem to those of the last fit (if any), and solve again.

    The result is the same as a fit to all nodes together. Costs O(bp²) for b new nodes of p features, plus the closed
    form.
    """
    settings, graph = problem.settings, problem.graph
    _check(settings, graph)
    (first, second, observed), outgoing = problem.conditioned, settings.rank_by == "outgoing"
    assert isinstance(observed, Factored)
    before = None
    if last is not None:
        before = _check_before(last, settings, first, second)
        features = last.model.rows.features, last.model.cols.features
        dtype = min(first.dtype, last.model.rows.nodes.dtype)  # the least precise block sets the rounding noise
    else:
        dtype = first.dtype
        by_rows = _features(settings, 0, first)
        features = by_rows, by_rows if second is first else _features(settings, 1, second)
    constants = [kernel.constant for kernel in settings.kernels]
    sums = sums_over(features, first, second, observed, constants)
    if last is not None and before is not None:
        sums = before.joined(sums)
        settings = replace(settings, centre=_centre(settings, graph, sums, before, last.settings.centre))
    rows = _coordinates(settings.kernels[0], features[0], sums.rows, first, dtype)
    cols = rows if sums.one_domain else _coordinates(settings.kernels[1], features[1], sums.cols, second, dtype)
    options = settings.prior_weight, settings.centre
    system = ClosedForm(settings.relation, settings.loss, rows, cols, sums, *options)
    return FittedRanker(
        model=system.model(system.solve(settings.alpha).W),
        objects=cols.nodes,
        n_features=first.base.shape[1],
        settings=settings,
        plan=_plan(rows, len(first)),
        trained_on=(rows.nodes, cols.nodes) if outgoing else (cols.nodes, rows.nodes),
        system=system,
        sums=sums,
    )


def _check(settings: Settings, graph: RelationGraph) -> None:
    """Refuse a graph or settings for which no sums can be updated."""
    what = None
    if is_dask(graph.nodes.base):
        what = "Dask arrays are already in blocks, and fit computes the same sums over them at once"
    elif not isinstance(graph.relation, Factored):
        what = "a relation given as a matrix or by edges says nothing about pairs with nodes of other blocks"
    elif settings.solver not in ClosedFormSolver.serves or not settings.loss.is_quadratic:
        given = f"solver={settings.solver!r}" if settings.loss.is_quadratic else "loss='logistic'"
        what = f"only the closed form can be computed from sums, not {given}"
    elif settings.compared or settings.pairwise_kernel is not None:
        what = "compared features and pairwise kernels have no closed form"
    for kernel in settings.kernels if what is None else ():
        if kernel.matrices:
            what = "a kernel matrix between all nodes cannot be given in blocks"
        elif not has_features(kernel) and settings.approximation is None:
            what = f"the exact {kernel.label} kernel has as many coordinates as nodes; set n_components"
    if what is not None:
        raise ValueError(
            f"partial_fit cannot do this: {what}. It takes RelationGraph.from_classes and from_factors, with "
            "kernel='linear' or 'cosine' or with n_components; use fit for everything else"
        )


def _check_before(last: FittedRanker, settings: Settings, nodes: Nodes, objects: Nodes) -> FactoredSums:
    """The sums so far, if nodes can be added to them."""
    sums = last.sums
    if sums is None:
        raise ValueError(
            f"this ranker was fitted by solver {last.solver!r} without sums over explicit features, so no nodes can be "
            "added; fit it to all nodes together, or call partial_fit on a new ranker"
        )
    before = last.settings
    for name in ("kernel", "object_kernel", "approximation", "rank_by"):
        one, other = getattr(before, name), getattr(settings, name)
        # A change from one domain to two, or back, is refused elsewhere, with its own message.
        if one != other and (name != "object_kernel" or None not in (one, other)):
            name, one, other = _difference(name, one, other)
            raise ValueError(f"{name} must be {one!r}, as for the nodes before, got {other!r}; fit again to change it")
    sides = [(last.model.rows, nodes), (last.model.cols, objects)]
    by_name = zip(("X", "objects"), sides if settings.rank_by == "outgoing" else sides[::-1], strict=True)
    for name, (coordinates, given) in by_name:
        expected, d = coordinates.nodes.base.shape[1], given.base.shape[1]
        # A change from one domain to two, or back, is refused elsewhere, with its own message.
        if d != expected and sums.one_domain == (objects is nodes):
            raise ValueError(f"{name} must have {expected} features, as before, got {d}")
    return sums


def _difference(name: str, one: Any, other: Any) -> tuple[str, Any, Any]:
    """The parameter in which two settings differ, and its two values. A kernel or an approximation has several."""
    if isinstance(one, Kernel) and isinstance(other, Kernel):
        before, now = shorthand_of(one), shorthand_of(other)
        if before is None or now is None or name != "kernel":
            return name, one, other
        changed = next(key for key in before if before[key] != now[key])
        return {"params": "kernel_params"}.get(changed, changed), before[changed], now[changed]
    if not is_dataclass(one) and not is_dataclass(other):
        return name, one, other
    filled: Any = other if one is None else one
    compared = [field.name for field in fields(filled) if field.compare]
    for field in compared:
        values = getattr(one, field, None), getattr(other, field, None)
        if values[0] != values[1]:
            return {"name": name}.get(field, field), *values
    return name, one, other


def _centre(settings: Settings, graph: RelationGraph, sums: FactoredSums, before: FactoredSums, centre: float) -> float:
    """The value of an even contest among all nodes so far. A single block, of one node say, may not determine it."""
    if settings.relation is not RECIPROCAL:
        return 0.0
    given = graph.probabilities is not None
    relation = None if given else sums.between_classes()
    if relation is not None:
        nodes = Nodes(np.empty((relation.shape[0], 0)))
        return RelationGraph.of_parts(nodes, nodes, relation, None).centre
    if not given and not graph.relation.two_way:
        return centre
    if settings.centre != centre and min(before.shape) > 1:
        raise ValueError(
            f"the scale of the relation must be the same as for the nodes before, with {centre!r} for an even contest, "
            f"got {settings.centre!r}; fit again to change it"
        )
    return settings.centre


def _features(settings: Settings, side: int, nodes: Nodes) -> FeatureMap:
    """Features from the first block: the kernel's own, or an approximation. Later blocks use the same features."""
    kernel, approximation = settings.kernels[side], settings.approximation
    if approximation is not None:
        m = approximation.size(kernel, nodes)
        if m is not None:
            return approximation.fit(kernel, nodes, m, settings.clip)
        if not has_features(kernel):
            raise ValueError(
                f"the first block must have more nodes than the {approximation.n_components} components, which are "
                f"chosen from it, got {len(nodes)}"
            )
    return OwnFeatures(kernel, nodes)


def _coordinates(kernel: Kernel, features: FeatureMap, sums: Any, like: Nodes, dtype: Any) -> ExplicitFeatures:
    """Coordinates fitted to the sums over all nodes so far, without the nodes."""
    kind = ExplicitFeatures if isinstance(features, OwnFeatures) else ApproximateKernel
    return kind(kernel, like.emptied(dtype), None, features, sums=sums)


def _plan(rows: ExplicitFeatures, n_new: int) -> Plan:
    p = rows.features.n_features + bool(rows.kernel.constant)
    reason = f"sums over {rows.n_nodes} nodes, {n_new} of them new"
    return Plan(
        ClosedFormSolver.name, reason, f"{p} explicit features", p, 2.0 * n_new * p**2 + 9.0 * p**3, 32 * p**2, {}
    )
