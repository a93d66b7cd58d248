"""What stands beside the measures of a model: similarity and strengths on the same edges, and a legend."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from condrank.graph import RelationGraph
    from condrank.tables import TableRanker


def has_similarity(graph: RelationGraph) -> bool:
    """Whether a kernel compares the conditioning nodes with the objects, in one array of features or one table."""
    from condrank.nodes.views import Views

    return not graph.is_two_domain and not isinstance(graph.nodes.base, Views)


def of_order(measures: Mapping[str, Any]) -> dict[str, Any]:
    """The measures that need nothing but an order. Similarities are not on the scale of the relation."""
    from condrank.model_selection.scoring import measures_order

    return {name: measure for name, measure in measures.items() if measures_order(measure)}


def similarity_values(ranker: TableRanker, graph: RelationGraph, measures: Mapping[str, Any]) -> dict[str, float]:
    """Measures of ranking by the model's node kernel (the cosine if it is linear), which learns nothing."""
    measures = of_order(measures)
    if not measures or not has_similarity(graph):
        return {}
    from condrank.model_selection.scoring import judged
    from condrank.nodes.views import Views
    from condrank.report.measured import similarity_ranker

    encoded = ranker.encode(graph)
    # Fitted to the nodes of training, whose median distance may be the kernel's width.
    rows = ranker.queries_.nodes.rows
    baseline = similarity_ranker(ranker.ranker_).fit(rows.parts if isinstance(rows, Views) else rows)
    truth, scores = judged(baseline, encoded)
    return {name: float(measure(truth, scores)) for name, measure in measures.items()}


def strength_values(
    ranker: TableRanker, graph: RelationGraph, truth: Any, measures: Mapping[str, Any]
) -> dict[str, float]:
    """Measures of the strengths alone, f(v) - f(v'): what is better in the model is its cyclic part. Games only."""
    from scipy import sparse

    from condrank.rankers.base import fitted_of
    from condrank.rankers.contests import strengths_of

    fitted = ranker.ranker_
    state = fitted_of(fitted)
    if (
        fitted.relation != "reciprocal"
        or not hasattr(state, "settings")
        or not state.settings.kernel.constant
        or not hasattr(state.model, "strengths")
    ):
        return {}
    f = strengths_of(fitted, ranker.encode(graph).nodes) * (1 if fitted.rank_by == "outgoing" else -1)
    offset = 0.0 if state.model.logistic else state.model.offset
    if sparse.issparse(truth):
        rows = np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr))
        scores: Any = truth.copy()
        scores.data = f[rows] - f[truth.indices] + offset
    else:
        scores = f[:, None] - f + offset
    return {name: float(measure(truth, scores)) for name, measure in measures.items()}


def legend(measures: Mapping[str, Any], columns: tuple[str, ...] = ()) -> list[str]:
    """One line for each measure and each column beside the model: what it is, and which values are good."""
    from condrank.metrics import LOWER_IS_BETTER, MEASURES

    lines = []
    for shown, measure in measures.items():
        func = measure.func if isinstance(measure, partial) else measure
        name = next((name for name, one in MEASURES.items() if one is func), None)
        if name is not None:
            said = " ".join((inspect.getdoc(func) or "").split("\n\n")[0].split()).rstrip(".")
            lines.append(f"{shown}: {said}; {'lower' if name in LOWER_IS_BETTER else 'higher'} is better")
    told = {
        "similarity": "similarity: the same edges, ranked by the node kernel alone, which learns nothing",
        "strengths": "strengths: the same edges, scored by the model's strengths alone, without its cyclic part",
    }
    return lines + [told[column] for column in columns]
