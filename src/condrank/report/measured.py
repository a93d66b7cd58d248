"""The four settings, cross-validated: the ranker beside similarity, which learns nothing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from condrank.base.checks import check_choice, check_count
from condrank.baselines import SimilarityRanker
from condrank.graph import RelationGraph
from condrank.model_selection import Comparison, CrossValidation, SettingSplit, compare, cross_validate
from condrank.model_selection.folds import ties_directions
from condrank.plots.axes import draw_nodes
from condrank.plots.predictions import ranks_incoming
from condrank.tables.ranker import TableRanker

SETTINGS = {
    1: "new pairs of known nodes",
    2: "new conditioning nodes, known objects",
    3: "known conditioning nodes, new objects",
    4: "new conditioning nodes and new objects",
}

#: Observed share of the pairs from which on a sample of the nodes is still as dense as the graph needs to be.
DENSE = 0.25
#: Folds that are measured of a sparse graph with very many nodes.
FEW_FOLDS = 2

#: Called with the name of each step.
Step = Callable[[str], None]


class IncomingSimilarityRanker(SimilarityRanker):
    """Similarity for rankings over incoming edges: the kernel is symmetric, so the scores are the same."""

    rank_by = "incoming"


@dataclass(frozen=True)
class Measured:
    """One setting.

    Attributes
    ----------
    setting : int
        1 to 4.
    model, similarity : CrossValidation or None
        Losses of the ranker, and of ranking by similarity on the same folds.
    comparison : Comparison or None
        The first minus the second, for each conditioning node.
    why_not : str
        Why something was not measured.
    """

    setting: int
    model: CrossValidation | None
    similarity: CrossValidation | None
    comparison: Comparison | None
    why_not: str = ""


def unfitted(ranker: TableRanker) -> TableRanker:
    """An unfitted ranker with the same settings; a loaded one has those of its encoder only in the fitted encoder."""
    return TableRanker(ranker.ranker_, encoder=ranker.encoder_, object_encoder=ranker.object_encoder_)


def similarity_of(ranker: TableRanker) -> Any:
    """`similarity_ranker` of the model's nodes, encoded like them."""
    baseline = similarity_ranker(ranker.ranker_)
    return baseline if ranker.encoder_ is None else TableRanker(baseline, encoder=ranker.encoder_)


def similarity_ranker(fitted: Any) -> SimilarityRanker:
    """Ranking by a ranker's own node kernel; by the cosine if it is linear, because long vectors would come first."""
    kind = IncomingSimilarityRanker if ranks_incoming(fitted) else SimilarityRanker
    names = ("kernel", "gamma", "degree", "coef0", "kernel_params")
    given: dict[str, Any] = {name: getattr(fitted, name) for name in names if hasattr(fitted, name)}
    if given.get("kernel", "linear") == "linear":
        given["kernel"] = "cosine"
    return kind(**given)


def measure_settings(
    ranker: TableRanker,
    graph: RelationGraph,
    settings: Iterable[int],
    *,
    folds: int,
    max_nodes: int,
    step: Step,
    max_folds: int | None = None,
) -> tuple[list[Measured], RelationGraph, list[str]]:
    """Cross-validate in each setting, in ``max_folds`` of the folds if that is given.

    A setting for which the graph has too little data is reported as such, and does not stop the others. Also returns
    the graph that was measured and the warnings of all folds, each once. It is the whole graph unless it has more than
    ``max_nodes`` nodes. Then it is a sample of the nodes if the relation is dense. A sample of a sparse relation would
    have few edges left for each node, and would say nothing about the model: there only `FEW_FOLDS` folds are measured.
    """
    check_count("folds", folds, at_least=2)
    if max_folds is not None:
        check_count("max_folds", max_folds)
    chosen = list(dict.fromkeys(settings))
    for setting in chosen:
        check_choice("settings", setting, tuple(SETTINGS))
    part = _sampled(graph, max_nodes)
    most = max_folds
    if max(part.shape) > max_nodes:
        most = FEW_FOLDS if max_folds is None else min(FEW_FOLDS, max_folds)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        found = [_measure(ranker, part, setting, folds, most, step) for setting in chosen]
    return found, part, list(dict.fromkeys(str(one.message) for one in caught))


def _sampled(graph: RelationGraph, max_nodes: int) -> RelationGraph:
    check_count("max_nodes", max_nodes)
    if max(graph.shape) <= max_nodes or graph.density < DENSE:
        return graph
    rows = draw_nodes(graph.shape[0], max_nodes)
    return graph[rows, draw_nodes(graph.shape[1], max_nodes)] if graph.is_two_domain else graph[rows]


def _measure(
    ranker: TableRanker, graph: RelationGraph, setting: int, folds: int, most: int | None, step: Step
) -> Measured:
    rank_by = "incoming" if ranks_incoming(ranker.ranker_) else "outgoing"
    # The baseline ignores directions, but must be measured on the same pairs.
    tied = True if ties_directions(ranker.ranker_) else None
    split = SettingSplit(setting, folds, rank_by=rank_by, both_directions=tied, random_state=0)

    def run(one: Any, name: str) -> CrossValidation:
        n_folds = split.get_n_splits(graph)
        few = n_folds if most is None else min(most, n_folds)
        report = lambda done, _: step(f"setting {setting}, {name}: fold {done} of {few}")  # noqa: E731
        chosen = split if few == n_folds else islice(split.split(graph), few)
        return cross_validate(one, graph, setting, cv=chosen, progress=report)

    try:
        model = run(unfitted(ranker), "model")
    except ValueError as error:
        return Measured(setting, None, None, None, str(error))
    if graph.is_two_domain:
        return Measured(setting, model, None, None, "there is no similarity across two domains")
    try:
        similarity = run(similarity_of(ranker), "similarity")
    except ValueError as error:
        return Measured(setting, model, None, None, str(error))
    try:
        return Measured(setting, model, similarity, compare(model, similarity, n_resamples=1999))
    except ValueError as error:
        return Measured(setting, model, similarity, None, str(error))


def held_out_losses(measured: list[Measured]) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Ids and mean losses of the conditioning nodes that have a loss, by setting."""
    found = {}
    for one in measured:
        if one.model is None:
            continue
        queries, losses = one.model.queries["query"], one.model.queries["rank_loss"]
        known = ~np.isnan(losses)
        found[one.setting] = (queries[known], losses[known])
    return found
