"""What a ranker is given: a graph, or what makes one; and warnings before a fit that learns nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.base.warn import warn
from condrank.exceptions import RelationWarning
from condrank.fitting.judging import NOTHING_TO_RANK, rankable
from condrank.graph import RelationGraph
from condrank.objective.relations import ORDINARY, RECIPROCAL, Relation
from condrank.observations import Edges, Observations

#: Most labels of a complete relation that are searched for something to rank; searching more takes too long.
FEW_LABELS = 1_000_000


def as_graph(X: Any, Y: Any) -> RelationGraph:
    """The graph itself, or one made of features and relation values."""
    if isinstance(X, RelationGraph):
        if Y is not None:
            raise ValueError("Y must be left out when X is a RelationGraph, which has its own relation")
        refuse_raw(X)
        return X
    if Y is None:
        raise ValueError("Y is missing: pass the relation values between the nodes, or a RelationGraph as X")
    graph = RelationGraph(X, Y)
    refuse_raw(graph)
    return graph


def refuse_raw(graph: RelationGraph) -> None:
    """A ranker needs numbers: say how texts and tables become some."""
    for nodes in (graph.nodes, graph.objects):
        if not nodes.is_raw:
            continue
        if not isinstance(nodes.base, np.ndarray):
            raise ValueError(
                "the nodes are a table, and a ranker needs features: use a TableRanker(ranker), or encode them in a "
                "pipeline, make_pipeline(NodeTransformer(TableEncoder()), ranker)"
            )
        raise ValueError(
            "the nodes are texts, and a ranker needs features: encode them in a pipeline, for example "
            "make_pipeline(NodeTransformer(TfidfVectorizer()), ranker)"
        )


def warn_of_nothing_to_rank(observed: Observations) -> None:
    """Say that the ranking loss sees nothing where no conditioning node has two different labels."""
    if isinstance(observed, Edges):
        starts = observed.indptr[:-1][np.diff(observed.indptr) > 0]
        ranks = np.any(np.maximum.reduceat(observed.values, starts) > np.minimum.reduceat(observed.values, starts))
    else:
        ranks = observed.shape[0] * observed.shape[1] > FEW_LABELS or rankable(observed)
    if not ranks:
        warn(
            f"{NOTHING_TO_RANK}, so that loss='ranking' learns nothing; use loss='regression', or 'logistic' for games",
            RelationWarning,
        )


def warn_of_no_scores(W: Any, relation: Relation) -> None:
    """Say that a skew-symmetric W of a single coordinate is zero, whatever the data."""
    if relation is RECIPROCAL and W.shape == (1, 1):
        warn(
            "a reciprocal relation of a single linear feature has no scores but zero, as h(v, v') = w x x' must be "
            "-h(v', v); use constant=True, which adds strengths, or another kernel",
            RelationWarning,
        )


def warn_of_disagreement(graph: RelationGraph, relation: Relation) -> None:
    """As in the paper, the symmetric or skew part is learned of a relation that is not quite so."""
    if relation is ORDINARY:
        return
    gap = graph.disagreement(relation.sign, graph.centre if relation is RECIPROCAL else 0.0)
    if gap > 1e-6:
        part = "symmetric" if relation.sign > 0 else "skew-symmetric"
        warn(
            f"relation={relation.name!r}, but the two directions of some pairs disagree by up to {gap:.2g} of the "
            f"largest label; the {part} part is learned",
            RelationWarning,
        )
