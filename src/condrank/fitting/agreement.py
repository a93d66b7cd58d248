"""Parameters, settings and model of a stored fit: each follows from the others, so that a change of one is noticed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sklearn.utils import check_random_state

from condrank.base.checks import check_choice, check_count, check_number
from condrank.fitting.plan import Plan
from condrank.fitting.reading import read_settings
from condrank.models import ComparedModel, EdgeModel, Model
from condrank.persistence.plain import check_same
from condrank.problem.settings import Settings
from condrank.solvers import SOLVERS

# Settings that predictions depend on; the others say how the solution was found.
MEANING = (
    "relation",
    "loss",
    "alpha",
    "kernel",
    "prior_weight",
    "rank_by",
    "pairwise_kernel",
    "centre",
    "compared",
    "approximation",
)


def agreed_settings(params: dict[str, Any], given: dict[str, Any], n_features: int, two_domains: bool) -> Settings:
    """Settings that follow from a ranker's parameters, which have to be valid and to agree with those of the fit.

    Parameters
    ----------
    params : dict
        Parameters of a `ConditionalRanker`.
    given : dict
        Settings of the fit, as `Settings.to_state` gives them.
    n_features : int
        Of the conditioning nodes of training.
    two_domains : bool
        Objects are other nodes.
    """
    ranker = SimpleNamespace(**params)
    check_number("validation_fraction", ranker.validation_fraction)
    for name in ("constant", "clip", "warm_start"):
        check_choice(name, getattr(ranker, name), (False, True))
    check_count("n_iter_no_change", ranker.n_iter_no_change)
    check_random_state(ranker.random_state)
    centre = check_number("centre", given["centre"])
    graph: Any = SimpleNamespace(is_two_domain=two_domains, n_features_in_=n_features, n_edges=1, centre=centre)
    settings = read_settings(ranker, graph, draw=False)
    stored = settings.to_state()
    for name in MEANING:
        check_same(f"{name} of the fit", given[name], stored[name])
    return settings


def check_model(given: dict[str, Any], settings: Settings, plan: Plan) -> None:
    """Refuse a model that is not of the kind and scale that the settings and the solver of its fit give."""
    over_edges = SOLVERS[plan.solver].over_edges
    kind = EdgeModel if over_edges else ComparedModel if settings.compared else Model
    follows: dict[str, Any] = {"class": kind.__name__, "offset": settings.centre}
    follows["logistic"] = not settings.loss.is_quadratic
    if kind is not ComparedModel:
        follows["prior_weight"] = settings.prior_weight
    if over_edges:
        follows["kernel"] = settings.pairwise_kernel or settings.relation.name
    for name, expected in follows.items():
        check_same(f"{name} of the model", given[name], expected)
