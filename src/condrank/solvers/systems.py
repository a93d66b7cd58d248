"""From a plan to a system that can be solved: coordinates of the nodes, and the observations over them."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.nodes import Coordinates, ExactKernel, ExplicitFeatures, Nodes
from condrank.observations import Observations
from condrank.settings import Settings
from condrank.solvers.closed_form import ClosedForm
from condrank.solvers.early_stopping import EarlyStopping
from condrank.solvers.explicit import ExplicitSystem, all_edges
from condrank.solvers.logistic import LogisticSystem
from condrank.solvers.preconditioned import PrimalSystem
from condrank.solvers.solution import System


def make_system(solver: str, settings: Settings, first: Nodes, second: Nodes, observed: Observations) -> System:
    """The system of a solver, for conditioning nodes, objects and the relation with a row for each of the former."""
    rows = make_coordinates(settings, first)
    cols = rows if second is first else make_coordinates(settings, second)
    common: tuple[Any, ...] = (settings.relation, settings.loss, rows, cols)
    if solver == "closed_form":
        return ClosedForm(*common, observed, settings.prior_weight)
    if solver == "early_stopping":
        if observed.is_complete:
            return EarlyStopping(ClosedForm(*common, observed, settings.prior_weight), settings.method)
        return EarlyStopping(_primal(common, settings, observed), settings.method)
    if solver == "explicit":
        return ExplicitSystem(*common, observed, settings.prior_weight, settings.centre)
    if solver == "newton":
        edges = all_edges(observed)
        system = PrimalSystem(settings.relation, "regression", rows, cols, edges, dense=False)
        return LogisticSystem(system, outcomes(edges.values, settings.centre))
    return _primal(common, settings, observed)


def make_coordinates(settings: Settings, nodes: Nodes) -> Coordinates:
    """Explicit features where the kernel has fewer of them than there are nodes, the exact kernel otherwise."""
    if ExplicitFeatures.applies(settings.kernel, nodes):
        return ExplicitFeatures(settings.kernel, nodes)
    return ExactKernel(settings.kernel, nodes, settings.clip)


def _primal(common: tuple[Any, ...], settings: Settings, observed: Observations) -> PrimalSystem:
    return PrimalSystem(*common, all_edges(observed), settings.prior_weight, settings.centre)


def outcomes(labels: np.ndarray, centre: float) -> np.ndarray:
    """Labels as shares of wins: those on the 0..1 scale as they are, those on the -1..1 scale moved to it."""
    share = labels if centre == 0.5 else (1 + labels) / 2
    if share.min(initial=0.0) < 0 or share.max(initial=1.0) > 1:
        raise ValueError(
            "loss='logistic' needs outcomes: 1 win, 0 tie, -1 loss, or winning probabilities within 0..1; "
            f"got labels from {labels.min():.3g} to {labels.max():.3g}"
        )
    return share
