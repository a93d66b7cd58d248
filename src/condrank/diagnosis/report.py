"""The diagnosis of a relation as one result object, and the function that makes it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condrank.base.html import lines_of
from condrank.diagnosis.choice import MAX_NODES, measure
from condrank.diagnosis.cycles import CyclicTriads, HodgeSplit, cyclic_triads, hodge_split, skew_flow
from condrank.diagnosis.degrees import Degrees, Rows, describe_degrees
from condrank.diagnosis.reading import read_labels
from condrank.diagnosis.recommendation import (
    Loss,
    Relation,
    further_advice,
    recommend_constant,
    sample_advice,
)
from condrank.diagnosis.relation import RelationParts, Values
from condrank.diagnosis.summary import summarise
from condrank.diagnosis.transitivity import (
    StochasticTransitivity,
    TTransitivity,
    stochastic_transitivity,
    t_transitivity,
)


@dataclass(frozen=True)
class Diagnosis:
    """What was measured on the labels of a relation, and the recommended relation and loss.

    Attributes
    ----------
    recommended_relation : {"ordinary", "symmetric", "reciprocal"}
        For ``ConditionalRanker(relation=...)``.
    recommended_loss : {"ranking", "regression", "logistic"}
        For ``ConditionalRanker(loss=...)``.
    recommended_constant : bool
        For ``ConditionalRanker(constant=...)``: whether nodes of a reciprocal relation need strengths.
    reasons : list of str
        Reasons of the recommendation as sentences, and what else the measurements suggest.
    loss_reasons : list of str
        The part of ``reasons`` that is about the loss.
    shape : tuple of (int, int)
        Number of rows (conditioning nodes) and columns (objects).
    two_domain : bool
        Whether rows and columns are different nodes.
    n_edges : int
        Observed edges of the whole graph, repeated ones counted each time.
    density : float
        Observed share of all edges, loops included.
    shape_used : tuple of (int, int)
        Number of rows and columns on which the following was measured; smaller than ``shape`` if nodes were
        sampled.
    nodes_used : array or None
        Positions of the sampled nodes (two domains: of the rows); None if all were used.
    n_edges_used : int
        Different observed edges between the nodes used.
    n_duplicates : int
        Repeated edges between the nodes used, which were averaged.
    values : Values
        Levels of the labels.
    degrees : Degrees
        Edges per node, loops, isolated nodes.
    rows : Rows
        What a ranking loss can learn from the rows.
    parts : RelationParts or None
        Symmetric and skew energy; None for two domains.
    read_as_reciprocal : bool
        Whether ``hodge``, ``triads`` and ``stochastic`` count pairs seen in one direction as known in both.
    hodge : HodgeSplit or None
        How much one order explains and how much is cyclic; None for symmetric relations and two domains.
    triads : CyclicTriads or None
        Cyclic triads; None as for ``hodge``.
    stochastic : StochasticTransitivity or None
        Stochastic transitivity; None as for ``hodge``.
    t_norms : TTransitivity or None
        T-transitivity, only for symmetric relations.
    """

    recommended_relation: Relation
    recommended_loss: Loss
    recommended_constant: bool
    reasons: list[str]
    loss_reasons: list[str]
    shape: tuple[int, int]
    two_domain: bool
    n_edges: int
    density: float
    shape_used: tuple[int, int]
    nodes_used: NDArray[np.int_] | None = field(compare=False, repr=False)
    n_edges_used: int
    n_duplicates: int
    values: Values
    degrees: Degrees
    rows: Rows
    parts: RelationParts | None
    read_as_reciprocal: bool
    hodge: HodgeSplit | None
    triads: CyclicTriads | None
    stochastic: StochasticTransitivity | None
    t_norms: TTransitivity | None

    @property
    def n_nodes(self) -> int:
        """Nodes of the graph, both domains together."""
        return sum(self.shape) if self.two_domain else self.shape[0]

    @property
    def n_nodes_used(self) -> int:
        """Nodes that were measured, both domains together."""
        return sum(self.shape_used) if self.two_domain else self.shape_used[0]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python objects (None for what could not be measured), ready for JSON."""
        plain = _plain(self)
        plain["n_nodes"], plain["n_nodes_used"] = self.n_nodes, self.n_nodes_used
        return plain

    def summary(self) -> str:
        """What was measured, then the recommendation with its reasons, as text."""
        return summarise(self)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        """The summary for notebooks."""
        return lines_of(self.summary())


def diagnose(graph: Any | ArrayLike, *, max_nodes: int = MAX_NODES, random_state: Any = 0) -> Diagnosis:
    """Measure the labels of a relation, and recommend a relation and a loss; features are not used.

    Time O(n³) and memory O(n²) in the number n ≤ ``max_nodes`` of nodes measured: a Cholesky factorisation
    and a few products. Larger graphs are measured on the induced subgraph of a random sample of nodes. A very
    sparse graph keeps few edges there, and then a larger ``max_nodes`` says more. If there are more than 300³
    triples, they are counted on a smaller sample.

    Parameters
    ----------
    graph : RelationGraph, or array of shape (n, n) or (n, m)
        The relation, row = conditioning node. In an array NaN means unobserved, and an array that is not square
        has two domains.
    max_nodes : int
        Largest number of nodes to measure, for each domain.
    random_state : int, Generator or None
        Seed of the samples.

    Returns
    -------
    Diagnosis
    """
    if isinstance(max_nodes, bool) or not isinstance(max_nodes, (int, np.integer)) or max_nodes < 1:
        raise ValueError(f"max_nodes must be a positive integer, got {max_nodes!r}.")
    rng = np.random.default_rng(random_state)
    labels = read_labels(graph, int(max_nodes), rng)
    Y, two_domain = labels.Y, labels.two_domain
    found = measure(labels)
    values, rows, parts, relation = found.values, found.rows, found.parts, found.relation

    hodge = triads = stochastic = t_norms = None
    read_as_reciprocal = False
    if parts is not None and relation == "symmetric":
        t_norms = t_transitivity((Y + Y.T) / 2, random_state=rng)
    elif parts is not None:
        # Labels of one sign, with each pair once, may be half of a symmetric matrix: then there is no flow.
        signed = values.minimum is not None and values.maximum is not None and values.minimum < 0 < values.maximum
        complete = relation == "reciprocal" or (parts.n_pairs == 0 and signed)
        if complete or parts.n_pairs:
            centre = parts.offset + (parts.mean or 0.0)
            flow = skew_flow(Y, centre=centre, complete=complete)
            read_as_reciprocal = complete and found.n_one_way > 0
            hodge, triads = hodge_split(flow), cyclic_triads(flow)
            stochastic = stochastic_transitivity(flow, random_state=rng)
    reasons = found.relation_reasons + found.loss_reasons + further_advice(relation, values, hodge, triads, t_norms)
    reasons += sample_advice(rows, found.edges_per_row) if found.sampled else []
    return Diagnosis(
        recommended_relation=relation,
        recommended_loss=found.loss,
        recommended_constant=recommend_constant(relation, hodge),
        reasons=reasons,
        loss_reasons=found.loss_reasons,
        shape=labels.shape,
        two_domain=two_domain,
        n_edges=labels.n_edges,
        density=labels.density,
        shape_used=(Y.shape[0], Y.shape[1]),
        nodes_used=labels.nodes,
        n_edges_used=int(np.isfinite(Y).sum()),
        n_duplicates=labels.n_duplicates,
        values=values,
        degrees=describe_degrees(Y, two_domain=two_domain),
        rows=rows,
        parts=parts,
        read_as_reciprocal=read_as_reciprocal,
        hodge=hodge,
        triads=triads,
        stochastic=stochastic,
        t_norms=t_norms,
    )


def _plain(thing: Any) -> Any:
    if is_dataclass(thing) and not isinstance(thing, type):
        return {entry.name: _plain(getattr(thing, entry.name)) for entry in fields(thing)}
    if isinstance(thing, np.ndarray):
        return thing.tolist()
    if isinstance(thing, (tuple, list)):
        return [_plain(entry) for entry in thing]
    return thing
