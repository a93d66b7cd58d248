"""From a plan to a system that can be solved: coordinates of the nodes, and the observations over them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from condrank.base.dask import is_dask
from condrank.exceptions import RelationWarning
from condrank.models.compared import ComparedModel
from condrank.models.edge import EdgeModel
from condrank.models.model import Model
from condrank.nodes import Nodes
from condrank.nodes.values import KernelValues
from condrank.observations import Factored, Observations
from condrank.problem.coordinates import fit_coordinates
from condrank.problem.settings import Settings
from condrank.solvers.closed_form import ClosedForm
from condrank.solvers.compared import ComparedSystem
from condrank.solvers.dual_fit import DualFit
from condrank.solvers.early_stopping import EarlyStopping
from condrank.solvers.explicit import ExplicitSystem, all_edges
from condrank.solvers.logistic import PrimalLogistic
from condrank.solvers.logistic_dual import DualLogistic
from condrank.solvers.preconditioned import PrimalSystem
from condrank.solvers.solution import System

# Degrees count as uneven from this coefficient of variation on; no node weighs less than this share of the mean.
UNEVEN, LEAST_WEIGHT = 0.3, 0.1


def make_system(
    solver: str,
    settings: Settings,
    first: Nodes,
    second: Nodes,
    observed: Observations,
    coordinates: Any = None,
    rank: int | None = None,
) -> System:
    """The system of a solver, for conditioning nodes, objects and the relation with a row for each of the former.

    ``coordinates`` of both, where an earlier fit has made them; ``rank`` of the dual's preconditioner, where planned.
    """
    if solver == "dual":
        rows, cols = coordinates or _kernel_values(settings, first, second)
        name = settings.pairwise_kernel or settings.relation.name
        edges = all_edges(observed)
        return DualFit(name, settings.loss, rows, cols, edges, settings.prior_weight, settings.centre, rank)
    if solver == "dual_newton":
        rows, _ = coordinates or _kernel_values(settings, first, second)
        edges = all_edges(observed)
        return DualLogistic(rows, edges.with_values(outcomes(edges.values, settings.centre)), rank)
    if coordinates is None:
        weights = degree_weights(observed, first is second) if solver in ("primal", "newton") else (None, None)
        kernel, clip, approximation = settings.kernel, settings.clip, settings.approximation
        factors = (), ()
        if solver == "closed_form" and isinstance(observed, Factored):
            factors = observed.factors_of(first is second)
        rows = fit_coordinates(kernel, first, clip, weights[0], approximation, factors[0])
        cols = rows
        if second is not first:
            cols = fit_coordinates(kernel, second, clip, weights[1], approximation, factors[1])
    else:
        rows, cols = coordinates
    relation, loss, prior_weight = settings.relation, settings.loss, settings.prior_weight
    compared = settings.compared
    if solver == "newton":
        edges = all_edges(observed)
        if compared:
            system = ComparedSystem("regression", rows, edges, compared, dense=False)
        else:
            system = PrimalSystem(relation, "regression", rows, cols, edges, dense=False)
        return PrimalLogistic(system, outcomes(edges.values, settings.centre))
    if solver == "explicit":
        return ExplicitSystem(relation, loss, rows, cols, observed, prior_weight, settings.centre)
    if compared:
        system = ComparedSystem(loss, rows, all_edges(observed), compared, settings.centre)
    elif solver == "closed_form" or (solver == "early_stopping" and observed.is_complete):
        system = ClosedForm(relation, loss, rows, cols, observed, prior_weight)
    else:
        system = _primal_system(settings, rows, cols, observed)
    return EarlyStopping(system, settings.method) if solver == "early_stopping" else system


def _primal_system(settings: Settings, rows: Any, cols: Any, observed: Any) -> PrimalSystem:
    options = settings.prior_weight, settings.centre
    if is_dask(rows.nodes.base):
        from condrank.distributed.system import DistributedSystem

        return DistributedSystem(settings.relation, settings.loss, rows, cols, observed, *options)
    return PrimalSystem(settings.relation, settings.loss, rows, cols, all_edges(observed), *options)


def make_model(system: System, settings: Settings) -> Model | EdgeModel | ComparedModel:
    """The model that a system's solution completes; without weights."""
    common = {"prior_weight": settings.prior_weight, "offset": settings.centre}
    logistic = settings.loss == "logistic"
    if isinstance(system, DualFit | DualLogistic):
        return EdgeModel(system.rows, system.cols, system.kernel, None, **common, logistic=logistic)
    if settings.compared:
        return ComparedModel(system.rows, settings.compared, None, settings.centre, logistic)
    return Model(system.rows, system.cols, None, **common, logistic=logistic)


def _kernel_values(settings: Settings, first: Nodes, second: Nodes) -> tuple[KernelValues, KernelValues]:
    rows = KernelValues(settings.kernel, first)
    return rows, rows if second is first else KernelValues(settings.kernel, second)


def degree_weights(observed: Observations, one_domain: bool) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Node weights, proportional to their observed degrees, of the conditioning nodes and of the objects.

    The preconditioner takes every pair as observed with weight ρ ω_v ω_v'. Where degrees are uneven this halves the
    iterations (docs/decisions.md) at no cost; where they are even, None leaves the coordinates as they are.
    """
    degrees = [degree.astype(np.float64) for degree in observed.degrees()]
    if one_domain:
        degrees = [degrees[0] + degrees[1]] * 2
    weights = []
    for degree in degrees:
        if degree.std() < UNEVEN * degree.mean():
            weights.append(None)
            continue
        floored = np.maximum(degree / degree.mean(), LEAST_WEIGHT)
        weights.append(floored / floored.mean())
    return weights[0], weights[1]


def outcomes(labels: np.ndarray, centre: float) -> np.ndarray:
    """Labels as shares of wins: those on the 0..1 scale as they are, those on the -1..1 scale moved to it."""
    share = labels if centre == 0.5 else (1 + labels) / 2
    if share.min(initial=0.0) < 0 or share.max(initial=1.0) > 1:
        raise ValueError(
            "loss='logistic' needs outcomes: 1 win, 0 tie, -1 loss, or winning probabilities within 0..1; "
            f"got labels from {labels.min():.3g} to {labels.max():.3g}"
        )
    if centre == 0.0 and labels.min(initial=1.0) == 0 and labels.max(initial=0.0) > 0:
        warnings.warn(
            "no label is negative, so 0 is read as a tie; if it is a loss, say so with RelationGraph(..., "
            "probabilities=True)",
            RelationWarning,
            stacklevel=5,
        )
    return share
