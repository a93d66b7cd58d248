"""Parameters and settings in a file: one follows from the other, so that a change of either is noticed."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from condrank.base.checks import check_choice, check_count, check_number
from condrank.fitting.reading import read_settings
from condrank.nodes import Nodes
from condrank.problem.settings import Settings

# Settings that predictions depend on; the others tell how the solution was found.
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
    fields = _fields(settings) | {
        "relation": settings.relation.name,
        "loss": settings.loss.name,
        "kernel": _fields(settings.kernel),
    }
    if settings.approximation is not None:
        # What was drawn is in the arrays; the seed of a random_state that is None means nothing later.
        told = [field.name for field in dataclasses.fields(settings.approximation) if field.compare]
        fields["approximation"] = {name: getattr(settings.approximation, name) for name in told}
    return plain("settings", fields)


def agreed_settings(ranker: Any, given: dict[str, Any], nodes: Nodes, two_domains: bool) -> Settings:
    """Settings that follow from a ranker's parameters, which have to be valid and agree with those of the fit.

    Parameters
    ----------
    ranker : object
        Has the parameters of `ConditionalRanker` as attributes.
    given : dict
        Settings of the fit, as `settings_to` gives them.
    nodes : Nodes
        The conditioning nodes of training.
    two_domains : bool
        Objects are other nodes.
    """
    check_number("validation_fraction", ranker.validation_fraction)
    for name in ("constant", "clip", "warm_start"):
        check_choice(name, getattr(ranker, name), (False, True))
    check_count("n_iter_no_change", ranker.n_iter_no_change)
    check_random_state(ranker.random_state)
    centre = check_number("centre", given["centre"])
    graph: Any = SimpleNamespace(
        is_two_domain=two_domains, n_features_in_=nodes.base.shape[1], n_edges=1, centre=centre
    )
    settings = read_settings(ranker, graph, draw=False)
    plain_settings = settings_to(settings)
    for name in MEANING:
        check_same(f"{name} of the fit", given[name], plain_settings[name])
    return settings


def check_same(name: str, given: Any, expected: Any) -> None:
    """Refuse a value that contradicts the one that follows from the rest."""
    if given != expected:
        raise ValueError(f"{name} is {given!r}, which contradicts the {expected!r} that follows from the rest")


def plain(name: str, value: Any) -> Any:
    """A value of JSON; anything else is refused by name."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(name, item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: plain(name, item) for key, item in value.items()}
    if isinstance(value, np.random.RandomState):
        raise ValueError(f"{name} cannot be saved: it is a RandomState; give a whole number as seed instead")
    what = "a function, and loading a model must run no code" if callable(value) else f"a {type(value).__name__}"
    raise ValueError(
        f"{name} cannot be saved: it is {what}; numbers, strings, lists and dicts can. A callable kernel can be "
        "evaluated beforehand (kernel='precomputed')"
    )


def _fields(instance: Any) -> dict[str, Any]:
    return {field.name: getattr(instance, field.name) for field in dataclasses.fields(instance)}
