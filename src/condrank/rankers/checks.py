"""Checks of what a ranker is given: a graph, or arrays to make one; and warnings about fits that learn nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.base.warn import warn
from condrank.exceptions import RelationWarning
from condrank.fitting.judging import NOTHING_TO_RANK, rankable
from condrank.graph import RelationGraph
from condrank.objective.relations import ORDINARY, RECIPROCAL, Relation
from condrank.observations import Edges, Observations

# The part that a relation learns, and the other kind of relation with how the two directions of a pair are in it.
OTHERS = {"symmetric": ("symmetric", "reciprocal", "opposite"), "reciprocal": ("skew", "symmetric", "the same")}
#: With fewer pairs, the labels may be of one kind by chance.
FEW_PAIRS = 10
#: A complete relation with more labels is not searched for something to rank: that would take too long.
FEW_LABELS = 1_000_000
#: What to do where a search has returned a ranker that has nothing but scores, and more is asked for.
LEARN = "a search may return another; condrank fit --quick (time_limit=0) fits a ConditionalRanker without a search"


def as_graph(X: Any, Y: Any) -> RelationGraph:
    """The graph itself, or a graph made from features and relation values."""
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
    """Refuse texts and tables, because a ranker needs numbers. The error says how to encode them."""
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
    """Warn if no conditioning node has two different labels, as the ranking loss then learns nothing."""
    size = observed.shape[0] * observed.shape[1]
    ranks = (not isinstance(observed, Edges) and size > FEW_LABELS) or rankable(observed)
    if not ranks:
        warn(
            f"{NOTHING_TO_RANK}, so loss='ranking' learns nothing; use loss='regression', or 'logistic' for games",
            RelationWarning,
        )


def warn_of_no_scores(W: Any, relation: Relation) -> None:
    """Warn if W is skew-symmetric with a single coordinate: it is then zero for any data."""
    if relation is RECIPROCAL and W.shape == (1, 1):
        warn(
            "a reciprocal relation of a single linear feature has only zero scores, because h(v, v') = w x x' must be "
            "-h(v', v); use constant=True, which adds strengths, or another kernel",
            RelationWarning,
        )


def check_agreement(graph: RelationGraph, relation: Relation, *, whole: bool = True) -> None:
    """Warn if a relation is not quite symmetric or reciprocal. As in the paper, its symmetric or skew part is used.

    Raises if that part is nothing at all: every pair is known in both directions, and all are of the other kind. A
    block of a larger graph, which is not ``whole``, does not show that.
    """
    if relation is ORDINARY:
        return
    gap = graph.disagreement(relation.sign, graph.centre if relation is RECIPROCAL else 0.0)
    if gap > 1e-6:
        if whole and opposes(graph, relation):
            part, other, how = OTHERS[relation.name]
            raise ValueError(
                f"relation={relation.name!r} does not suit these labels: the two directions of every pair are {how}, "
                f"so they have no {part} part to learn; use relation={other!r}"
            )
        part = "symmetric" if relation.sign > 0 else "skew-symmetric"
        warn(
            f"relation={relation.name!r}, but the two directions of some pairs disagree by up to {gap:.2g} of the "
            f"largest label; the {part} part is learned",
            RelationWarning,
        )


def opposes(graph: RelationGraph, relation: Relation) -> bool:
    """Whether every pair is known in both directions and all are of the other kind, so that there is no part to learn.

    A few pairs, or labels that are all alike, do not show it.
    Then the symmetric part (Y + Yᵀ)/2 of a reciprocal relation, or the skew part of a symmetric one, is zero.
    """
    if relation is ORDINARY or graph.is_two_domain:
        return False
    is_own, is_other = graph.is_symmetric, graph.is_reciprocal
    if relation is RECIPROCAL:
        is_own, is_other = is_other, is_own
    if not is_other or is_own:
        return False
    low, high = graph.relation.extremes()
    if low == high:  # labels that are all alike say nothing about the two directions
        return False
    if isinstance(graph.relation, Edges):
        return graph.relation.only_two_way and graph.n_edges >= 2 * FEW_PAIRS
    return len(graph) * (len(graph) - 1) >= 2 * FEW_PAIRS
