"""Checks that the parameters, settings and model of a stored fit agree, so that a change of one of them is noticed."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from sklearn.utils import check_random_state

from condrank.base.checks import check_choice, check_count, check_number
from condrank.fitting.plan import Plan
from condrank.fitting.reading import read_settings, with_widths
from condrank.kernels import Kernel
from condrank.models import ComparedModel, EdgeModel, Model
from condrank.persistence.plain import check_same
from condrank.problem.settings import Settings, kernel_from
from condrank.solvers import SOLVERS

# The settings that predictions depend on. The others only say how the solution was found.
SCORING_SETTINGS = (
    "relation",
    "loss",
    "alpha",
    "prior_weight",
    "rank_by",
    "pairwise_kernel",
    "centre",
    "compared",
    "approximation",
)


def agreed_settings(params: dict[str, Any], given: dict[str, Any], n_features: int, two_domains: bool) -> Settings:
    """The settings of a ranker's parameters. A ValueError says which are invalid or differ from those of the fit.

    Parameters
    ----------
    params : dict
        Parameters of a `ConditionalRanker`.
    given : dict
        Settings of the fit, as `Settings.to_state` gives them.
    n_features : int
        Number of features of the conditioning nodes in training.
    two_domains : bool
        Whether the objects are nodes of another domain.
    """
    ranker = SimpleNamespace(**{"object_kernel": None, "fit_intercept": False} | params)
    check_number("validation_fraction", ranker.validation_fraction)
    for name in ("fit_intercept", "clip", "warm_start"):
        check_choice(name, getattr(ranker, name), (False, True))
    check_count("n_iter_no_change", ranker.n_iter_no_change)
    check_random_state(ranker.random_state)
    centre = check_number("centre", given["centre"])
    graph: Any = SimpleNamespace(
        is_two_domain=two_domains, n_features_in_=n_features, n_edges=1, centre=centre, nodes=None, objects=None
    )
    settings = read_settings(ranker, graph, draw=False)
    stored = settings.to_state()
    for name in SCORING_SETTINGS:
        check_same(f"{name} of the fit", given[name], stored[name])
    check_same("fit_intercept of the fit", given.get("fit_intercept", False), settings.loss.fits_intercept)
    kernels = {"kernel": settings.kernel, "object_kernel": settings.object_kernel}
    # A file has a kernel of the objects only if it is another one.
    fitted = {"object_kernel": given["kernel"] if two_domains else None} | given
    return replace(settings, **{name: _agreed_kernel(name, fitted[name], asked) for name, asked in kernels.items()})


def _agreed_kernel(name: str, given: Any, asked: Kernel | None) -> Kernel | None:
    """The kernel of a fit, which is the one of the parameters with its widths fitted."""
    given = None if given is None else kernel_from(given)
    if given is None or asked is None:
        check_same(f"{name} of the fit", given, asked)
        return None
    check_same(f"{name} of the fit", given, with_widths(asked, given))
    return given


def check_model(given: dict[str, Any], settings: Settings, plan: Plan) -> None:
    """Refuse a model whose kind or scale does not follow from the settings and the solver of its fit."""
    over_edges = SOLVERS[plan.solver].over_edges
    kind = EdgeModel if over_edges else ComparedModel if settings.compared else Model
    follows: dict[str, Any] = {"class": kind.__name__}
    if not settings.loss.fits_intercept:
        follows["offset"] = settings.centre
    follows["logistic"] = not settings.loss.is_quadratic
    if kind is not ComparedModel:
        follows["prior_weight"] = settings.prior_weight
    if over_edges:
        follows["kernel"] = settings.pairwise_kernel or settings.relation.name
    for name, expected in follows.items():
        check_same(f"{name} of the model", given[name], expected)
