"""The model card: what the ranker is, which data it was measured on, and what it is not for."""

from __future__ import annotations

import platform
from importlib.metadata import version
from inspect import signature
from typing import Any

import numpy as np

from condrank._version import __version__
from condrank.explorer.markup import Markup, join, tag
from condrank.graph import RelationGraph
from condrank.objective.relations import RELATIONS
from condrank.plots.predictions import query_names, ranks_incoming
from condrank.report.identity import data_fingerprint, model_fingerprint
from condrank.report.markup import facts
from condrank.report.measured import SETTINGS, Measured
from condrank.tables.ranker import TableRanker

# Parameters that have lines of their own.
NAMED = ("relation", "loss", "alpha", "alphas", "kernel", "object_kernel", "solver", "rank_by", "fit_intercept")


def known_share(ranker: TableRanker, graph: RelationGraph) -> float | None:
    """Share of the graph's conditioning nodes that were in training; None if there are no ids to compare."""
    if getattr(ranker, "graph_", None) is graph:
        return 1.0
    first = graph.objects if ranks_incoming(ranker.ranker_) else graph.nodes
    if first.ids is None or ranker.queries_.nodes.ids is None:
        return None
    trained = set(ranker.query_ids_.tolist())
    return float(np.mean([one in trained for one in query_names(ranker.ranker_, graph).tolist()]))


def describe_known(share: float | None) -> str:
    """What the loss of the model itself on the graph means."""
    if share is None:
        return "Whether the model was trained on these nodes is not known."
    if share == 0:
        return "None of these conditioning nodes was in training."
    who = "These conditioning nodes were" if share == 1 else f"{100 * share:.0f} % of these conditioning nodes were"
    return f"{who} in training: the model's loss on them says how well it fits, not how well it will do on new nodes."


def describe_model(fitted: Any) -> str:
    """The model in a few words."""
    relation, loss = getattr(fitted, "relation", None), getattr(fitted, "loss", None)
    if relation is None:
        return type(fitted).__name__
    return f"{relation} relation, {loss} loss" + (f", λ = {fitted.alpha_:.3g}" if hasattr(fitted, "alpha_") else "")


def model_facts(ranker: TableRanker, graph: RelationGraph) -> Markup:
    """Settings of the model, sizes, fingerprints and versions."""
    fitted = ranker.ranker_
    pairs: list[tuple[str, Any]] = [("ranker", type(fitted).__name__)]
    relation = getattr(fitted, "relation", None)
    if relation is not None:
        pairs.append(("relation", f"{relation}: {RELATIONS[relation].says}"))
    pairs += [(name, getattr(fitted, name)) for name in ("loss",) if hasattr(fitted, name)]
    kernels = ((name, getattr(fitted, name, None)) for name in ("kernel", "object_kernel"))
    pairs += [(name.replace("_", " "), str(kernel)) for name, kernel in kernels if kernel is not None]
    if hasattr(fitted, "alpha_"):
        pairs.append(("λ", f"{fitted.alpha_:.6g}"))
    if getattr(fitted, "fit_intercept", False):
        pairs.append(("intercept", f"{fitted.intercept_:.6g}"))
    pairs += _sureness(fitted)
    if hasattr(fitted, "solver_"):
        steps = getattr(fitted, "n_iter_", None)
        pairs.append(("solver", fitted.solver_ + ("" if steps is None else f", {steps} iterations")))
    pairs += [("ranks over", f"{fitted.rank_by} edges"), ("other settings", _others(fitted))]
    pairs += [("nodes known by id", _sizes(ranker)), ("features of a node", f"{fitted.n_features_in_:,}")]
    pairs += [("data of this report", repr(graph).removeprefix("RelationGraph(").removesuffix(")"))]
    pairs += [("fingerprint of the model", _code(model_fingerprint(ranker)))]
    pairs += [("fingerprint of the data", _code(data_fingerprint(graph)))]
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    pairs.append(("versions", f"condrank {__version__}, Python {platform.python_version()}, {packages}"))
    return facts(pairs)


def limits(ranker: TableRanker, measured: list[Measured], share: float | None) -> Markup:
    """What the model is for and what it is not for, from what was measured."""
    ordered = "over the edges that end at it" if ranks_incoming(ranker.ranker_) else "over the edges that start at it"
    lines = [
        f"For ranking objects for a conditioning node, {ordered}, best first. Compare the scores of one conditioning "
        "node with each other. Under a ranking loss, scores of different conditioning nodes and their distances mean "
        "little.",
        "For nodes of the same kind and with the same columns as in training. A category or a word that was not in "
        "training says nothing.",
    ]
    done = [one for one in measured if one.model is not None]
    for one in done:
        assert one.model is not None
        loss, error = one.model.mean(), one.model.standard_error()
        if loss + 2 * (0 if np.isnan(error) else error) >= 0.5:
            lines.append(f"Not shown to be better than chance for {SETTINGS[one.setting]} (setting {one.setting}).")
        if one.comparison is not None and one.comparison.high >= 0:
            lines.append(
                f"Not shown to be better than similarity alone for {SETTINGS[one.setting]} (setting {one.setting})."
            )
    absent = [f"{number} ({what})" for number, what in SETTINGS.items() if number not in {one.setting for one in done}]
    if absent:
        lines.append(f"Not measured: setting {', '.join(absent)}.")
    if done and not hasattr(ranker.ranker_, "cv_losses_"):
        lines.append(
            "λ and the other settings were taken from the model. If they were chosen on these data, the "
            "cross-validated losses are a little too good."
        )
    lines.append(describe_known(share))
    return tag("ul", *(tag("li", line) for line in lines))


def _sureness(fitted: Any) -> list[tuple[str, Any]]:
    """Noise of the labels and scale of the prior, as far as they are known."""
    try:
        posterior = fitted.posterior_
        noise, scale = posterior.noise_std, posterior.scale
    except (AttributeError, ValueError):  # a baseline, early stopping, or a file without the observed pairs
        return []
    known = [] if noise is None else [("noise of a label (σ)", f"{noise:.4g}")]
    return [*known, ("scale of the prior (σ/√λ)", f"{scale:.4g}")]


def _others(fitted: Any) -> str:
    """Parameters that differ from their defaults."""
    usual = {name: one.default for name, one in signature(type(fitted).__init__).parameters.items()}
    changed = {
        name: value
        for name, value in fitted.get_params(deep=False).items()
        if name not in NAMED and not _same(value, usual.get(name, value))
    }
    return ", ".join(f"{name}={_short(value)}" for name, value in changed.items()) or "defaults"


def _same(one: Any, other: Any) -> bool:
    return one is other or (np.shape(one) == np.shape(other) and bool(np.all(one == other)))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _sizes(ranker: TableRanker) -> str:
    queries, objects = len(ranker.query_ids_), len(ranker.object_ids_)
    if ranker.queries_ is ranker.objects_:
        return f"{queries:,}"
    return f"{queries:,} conditioning nodes, {objects:,} objects"


def _code(text: str | None) -> Markup | str:
    return "none: this ranker cannot be saved" if text is None else join([tag("code", text, class_="hash")])
