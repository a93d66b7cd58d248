"""Parameters and settings in a file: one follows from the other, so that a change of either is noticed."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

from sklearn.utils import check_random_state

from condrank.base.checks import check_choice, check_count, check_number
from condrank.persistence.plain import check_same, plain
from condrank.problem.settings import Settings, read_settings

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

# Fitted attributes that are plain values; early stopping has its history beside them.
FITTED, OPTIONAL = ("alpha_", "n_iter_", "n_features_in_", "solver_"), ("history_",)


def settings_to(settings: Settings) -> dict[str, Any]:
    """Settings as plain values."""
    fields = _fields(settings) | {"relation": settings.relation.name, "kernel": _fields(settings.kernel)}
    if settings.approximation is not None:
        # What was drawn is in the arrays; the seed of a random_state that is None means nothing later.
        compared = [field.name for field in dataclasses.fields(settings.approximation) if field.compare]
        fields["approximation"] = {name: getattr(settings.approximation, name) for name in compared}
    return plain("settings", fields)


def agreed_settings(ranker: Any, given: dict[str, Any], n_features: int, two_domains: bool) -> Settings:
    """Settings that follow from a ranker's parameters, which have to be valid and to agree with those of the fit.

    Parameters
    ----------
    ranker : object
        Has the parameters of `ConditionalRanker` as attributes.
    given : dict
        Settings of the fit, as `settings_to` gives them.
    n_features : int
        Of the conditioning nodes of training.
    two_domains : bool
        Objects are other nodes.
    """
    check_number("validation_fraction", ranker.validation_fraction)
    for name in ("constant", "clip", "warm_start"):
        check_choice(name, getattr(ranker, name), (False, True))
    check_count("n_iter_no_change", ranker.n_iter_no_change)
    check_random_state(ranker.random_state)
    centre = check_number("centre", given["centre"])
    graph: Any = SimpleNamespace(is_two_domain=two_domains, n_features_in_=n_features, n_edges=1, centre=centre)
    settings = read_settings(ranker, graph, draw=False)
    plain_settings = settings_to(settings)
    for name in MEANING:
        check_same(f"{name} of the fit", given[name], plain_settings[name])
    return settings


def _fields(instance: Any) -> dict[str, Any]:
    return {field.name: getattr(instance, field.name) for field in dataclasses.fields(instance)}
