"""RelationGraph: nodes with features and an observed relation between them."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from condrank.base.dask import is_dask
from condrank.base.html import table_of
from condrank.graph.making import GraphConstructors, check_domains, observe
from condrank.nodes.checking import choose
from condrank.nodes.reading import label_relation
from condrank.nodes.store import Nodes
from condrank.observations import Complete, Edges, Observations


class Conditioned(NamedTuple):
    """A graph as a ranker uses it: conditioning nodes (rows), objects to rank (columns) and the observed relation."""

    queries: Nodes
    objects: Nodes
    observed: Observations


class RelationGraph(GraphConstructors):
    """Nodes with features (or a kernel between them), and the observed relation values between them.

    An edge (v, v') starts at v, the node for which objects are ranked (the *conditioning node*, a row of Y). It ends
    at an object v' (a column). The graph is immutable. Subsets share its node data, so it can be split, searched over
    and cross-validated without copies.

    Parameters
    ----------
    X : array-like or scipy sparse array of shape (n_nodes, n_features)
        Features of the nodes; or their kernel matrix (n_nodes, n_nodes) for a ranker with ``kernel="precomputed"``; or
        a list of texts, one per node, which a `NodeTransformer` encodes; or a dict of several of them, named views.
        The labels of a pandas frame are ids (except those of a plain ``RangeIndex``): all frames, also Y, may have the
        same labels in any order.
    Y : array-like or scipy sparse array of shape (n_nodes, n_objects)
        Relation values. NaN means not observed; in a sparse Y, so does an entry that is not stored.
    objects : array-like of shape (n_objects, n_features), optional
        Features or kernel of the objects, if they are of another kind (domain) than the conditioning nodes. By default
        the objects are the nodes themselves, and Y is square.
    unstored : {"unobserved", "zero"}
        What the unstored entries of a sparse Y mean: not observed, or zero.
    ids, object_ids : array-like of shape (n_nodes,) and (n_objects,), optional
        Unique names of the nodes and of the objects; by default the labels of frames.
    probabilities : bool, optional
        Whether a reciprocal relation is on the 0..1 scale (the probability that v beats v'; centred at ½). The default
        is yes if every value lies within 0..1 and the two directions of every pair sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from condrank import RelationGraph
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> graph = RelationGraph(X, [[0, 1, np.nan], [-1, 0, 1], [np.nan, -1, 0]], ids=["ann", "bob", "cyd"])
    >>> graph
    RelationGraph(3 nodes, 7 edges, density 0.778, reciprocal)
    >>> graph[["ann", "bob"]].is_complete
    True
    """

    nodes: Nodes
    objects: Nodes
    relation: Observations
    probabilities: bool | None

    def __init__(
        self,
        X: Any,
        Y: Any,
        *,
        objects: Any = None,
        unstored: str = "unobserved",
        ids: Any = None,
        object_ids: Any = None,
        probabilities: bool | None = None,
    ):
        if unstored not in ("unobserved", "zero"):
            raise ValueError(f"unstored must be 'unobserved' or 'zero', got {unstored!r}")
        nodes, others = check_domains(X, objects, ids, object_ids, is_dask(Y))
        Y, nodes, others = label_relation(Y, nodes, others)
        self._set(nodes, others, observe(Y, unstored, nodes), probabilities)

    def _set(self, nodes: Nodes, others: Nodes, relation: Observations, probabilities: bool | None) -> RelationGraph:
        if isinstance(relation, Edges) and relation.n_edges and relation.is_complete:
            relation = Complete(relation.to_dense())  # a subgraph may have no holes left
        expected = (len(nodes), len(others))
        if relation.shape != expected:
            what = "nodes × nodes" if others is nodes else "nodes × objects"
            raise ValueError(f"Y must have shape {expected} ({what}), got {relation.shape}")
        if probabilities:
            low, high = relation.extremes()
            if low < 0 or high > 1:
                raise ValueError(f"probabilities=True needs values within 0..1, got {low:.3g} to {high:.3g}")
        vars(self).update(nodes=nodes, objects=others, relation=relation, probabilities=probabilities)
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a RelationGraph is immutable: make a new one instead of setting {name}")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise ValueError("expected nodes as an array, got a RelationGraph: pass their features")

    @classmethod
    def of_parts(cls, nodes: Nodes, others: Nodes, relation: Observations, probabilities: bool | None) -> RelationGraph:
        """A graph of parts that are already checked."""
        return cls.__new__(cls)._set(nodes, others, relation, probabilities)

    # Facts

    @property
    def shape(self) -> tuple[int, int]:
        """Number of conditioning nodes and of objects."""
        return self.relation.shape

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ids(self) -> np.ndarray | None:
        """Ids of the nodes; None if they have none."""
        return self.nodes.ids

    @property
    def object_ids(self) -> np.ndarray | None:
        """Ids of the objects, in a single domain those of the nodes; None if they have none."""
        return self.objects.ids

    @property
    def n_nodes(self) -> int:
        """Number of nodes, of both domains together if there are two."""
        return sum(self.shape) if self.is_two_domain else self.shape[0]

    @property
    def n_edges(self) -> int:
        """Number of observed edges; repeated edges are counted each time."""
        return self.relation.n_edges

    @property
    def n_features_in_(self) -> int:
        """Number of features of the conditioning nodes."""
        return self.nodes.base.shape[1]

    @cached_property
    def density(self) -> float:
        """Share of the ordered pairs that are observed."""
        return float(self.relation.degrees()[0].sum() / max(1, self.shape[0] * self.shape[1]))

    @property
    def is_complete(self) -> bool:
        """Whether every ordered pair, including loops, is observed exactly once, with weight one."""
        return self.relation.is_complete

    @property
    def is_two_domain(self) -> bool:
        """Whether conditioning nodes and objects are of different kinds (domains)."""
        return self.objects is not self.nodes

    @cached_property
    def has_loops(self) -> bool:
        """Whether the relation of some node to itself is observed."""
        return not self.is_two_domain and self.relation.count_loops() > 0

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether the two directions agree in every pair that has both."""
        return not self.is_two_domain and self._agrees(+1, 0.0)

    @cached_property
    def is_reciprocal(self) -> bool:
        """Whether the two directions are opposite, or (probabilities) sum to one, in every pair that has both."""
        return not self.is_two_domain and self._agrees(-1, self.centre)

    @cached_property
    def centre(self) -> float:
        """Value of an even contest in a reciprocal relation: ½ for probabilities, otherwise 0."""
        if self.probabilities is not None or self.is_two_domain:
            return 0.5 if self.probabilities else 0.0
        low, high = self.relation.extremes()
        within = 0 <= low <= high <= 1 and high > 0  # zeros alone are opposite already
        return 0.5 if within and self.relation.two_way and self.disagreement(-1, 0.5, loops=False) <= 1e-6 else 0.0

    def _agrees(self, sign: int, centre: float) -> bool:
        return self.disagreement(sign, centre) <= 1e-6

    def disagreement(self, sign: int, centre: float = 0.0, loops: bool = True) -> float:
        """How far the two directions are from y_ij - c = sign (y_ji - c), relative to the largest ``|y - c|``.

        Only pairs that are observed in both directions count, and loops if ``loops``.
        """
        worst = self.relation.disagreement(sign, centre, loops)
        if worst == 0.0:
            return 0.0
        low, high = self.relation.extremes()
        return worst / (max(abs(low - centre), abs(high - centre)) or 1.0)

    def to_dense(self) -> np.ndarray:
        """The relation as an array of `shape`: NaN if not observed; repeated edges are averaged. O(n²) memory."""
        return self.relation.to_dense()

    def conditioned(self, rank_by: str = "outgoing") -> Conditioned:
        """Conditioning nodes, objects and the relation with a row for each conditioning node.

        ``rank_by="incoming"`` conditions on the nodes where edges end. All code that depends on ``rank_by`` calls this
        method.
        """
        if rank_by == "outgoing":
            return Conditioned(self.nodes, self.objects, self.relation)
        return Conditioned(self.objects, self.nodes, self.relation.transpose())

    # Subgraphs

    def __getitem__(self, index: Any) -> RelationGraph:
        """The subgraph of some nodes, given by positions, a mask, a slice, or ids (whole numbers are positions).

        In one domain, these nodes are kept as conditioning nodes and as objects. In two domains, these conditioning
        nodes and all objects are kept; ``graph[rows, columns]`` chooses both.
        """
        rows, cols = index if isinstance(index, tuple) and len(index) == 2 else (index, Ellipsis)
        if isinstance(index, tuple) and len(index) != 2:
            raise IndexError(f"a graph takes one index, or two for two domains, got {len(index)}")
        chosen = choose(rows, self.nodes)
        if self.is_two_domain:
            return self.cut(chosen, choose(cols, self.objects))
        if cols is not Ellipsis and not (isinstance(cols, slice) and cols == slice(None)):
            raise IndexError("a graph of one domain takes one index, for both its conditioning nodes and its objects")
        return self.cut(chosen, chosen)

    def cut(self, rows: np.ndarray, cols: np.ndarray) -> RelationGraph:
        """Some conditioning nodes and some objects, by position. If they differ, the result has two domains."""
        nodes = self.nodes.take(rows)
        others = nodes if rows is cols and not self.is_two_domain else self.objects.take(cols)
        return self.part(nodes, others, self.relation.take(rows, cols))

    def part(self, nodes: Nodes, others: Nodes, relation: Observations) -> RelationGraph:
        """A graph with other nodes or another relation, on the same scale of labels."""
        # A part keeps the scale of the whole, because a few edges may not show that they are probabilities.
        scale = self.probabilities if self.is_two_domain else self.centre == 0.5
        return RelationGraph.of_parts(nodes, others, relation, scale)

    def _repr_html_(self) -> str:
        """What `repr` says, as a table for notebooks."""
        name, _, facts = repr(self).removesuffix(")").partition("(")
        return table_of((name,), [(fact,) for fact in facts.split(", ")])

    def __repr__(self) -> str:
        size = f"{self.shape[0]} × {self.shape[1]} nodes" if self.is_two_domain else f"{self.n_nodes} nodes"
        if is_dask(self.nodes.base):  # more would need sums over the cluster
            return f"RelationGraph({size} in {self.nodes.base.numblocks[0]} blocks, {self.n_edges} edges, distributed)"
        kind = "ordinary"
        if not self.is_two_domain and self.relation.two_way:  # otherwise the data do not show it
            kind = "symmetric" if self.is_symmetric else "reciprocal" if self.is_reciprocal else "ordinary"
        extent = "complete" if self.is_complete else f"density {self.density:.3g}"
        return f"RelationGraph({size}, {self.n_edges} edges, {extent}, {kind})"
