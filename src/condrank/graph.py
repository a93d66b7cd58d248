"""RelationGraph: nodes with features and an observed relation between them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from condrank.nodes.store import Nodes
from condrank.observations import Complete, Edges, Factored, Observations
from condrank.validation import check_features, check_ids, check_labels, check_node_data, choose, positions


class RelationGraph:
    """Nodes with features, or a kernel between them, and the relation values observed between them.

    An edge (v, v') starts at its conditioning node v (row) and ends at an object v' (column). The graph is immutable;
    subsets share the node data with it, so it can be split, searched over and cross-validated without copies.

    Parameters
    ----------
    X : array-like or scipy sparse array of shape (n_nodes, n_features)
        Features of the nodes; or their kernel matrix (n_nodes, n_nodes) for a ranker with ``kernel="precomputed"``; or
        a list of texts, one a node, to be encoded by a `NodeTransformer`.
    Y : array-like or scipy sparse array of shape (n_nodes, n_objects)
        Relation values. NaN, or (sparse) an entry that is not stored, means not observed.
    objects : array-like of shape (n_objects, n_features), optional
        Features or kernel of the objects when they are of another domain than the conditioning nodes; by default the
        objects are the nodes themselves and Y is square.
    unstored : {"unobserved", "zero"}
        What the unstored entries of a sparse Y are: not observed, or known to be zero.
    ids, object_ids : array-like of shape (n_nodes,) and (n_objects,), optional
        Names of the nodes and of the objects, each different.
    probabilities : bool, optional
        Whether a reciprocal relation is on the 0..1 scale (the probability that v beats v'; centred at ½). By
        default it is when every value lies within 0..1 and every two directions sum to one.

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
        nodes, others = _check_domains(X, objects, ids, object_ids)
        self._set(nodes, others, _observe(Y, unstored, nodes.dtype), probabilities)

    def _set(self, nodes: Nodes, others: Nodes, relation: Observations, probabilities: bool | None) -> RelationGraph:
        if isinstance(relation, Edges) and relation.n_edges and relation.is_complete:
            relation = Complete(relation.to_dense())  # holes that a subgraph leaves behind are holes no more
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
        raise ValueError("a RelationGraph stands where nodes are expected as an array: pass their features")

    @classmethod
    def _of(cls, nodes: Nodes, others: Nodes, relation: Observations, probabilities: bool | None) -> RelationGraph:
        return cls.__new__(cls)._set(nodes, others, relation, probabilities)

    @classmethod
    def from_edges(
        cls,
        X: Any,
        sources: Any,
        targets: Any,
        values: Any,
        weights: Any = None,
        *,
        objects: Any = None,
        ids: Any = None,
        object_ids: Any = None,
        probabilities: bool | None = None,
    ) -> RelationGraph:
        """Graph from a list of edges; a pair may occur more than once.

        Parameters
        ----------
        X, objects, ids, object_ids, probabilities
            As for `RelationGraph`.
        sources, targets : array-like of shape (n_edges,)
            Starting and ending node of each edge: ids where the nodes have ids, otherwise positions.
        values : array-like of shape (n_edges,)
            Relation value of each edge.
        weights : array-like of shape (n_edges,), optional
            Weight ≥ 0 of each edge; 0 means not observed.
        """
        nodes, others = _check_domains(X, objects, ids, object_ids)
        source, target = positions(sources, nodes, "sources"), positions(targets, others, "targets")
        value = check_labels(np.asarray(values), "values", nodes.dtype)
        weight = None if weights is None else check_labels(np.asarray(weights), "weights", nodes.dtype)
        for name, column in (("targets", target), ("values", value), ("weights", weight)):
            if column is not None and column.shape != source.shape:
                raise ValueError(
                    f"{name} must have one entry for each of the {len(source)} sources, got {column.shape}"
                )
        if np.isnan(value).any():
            raise ValueError(f"values must not be NaN: edge {int(np.argmax(np.isnan(value)))} is; leave such edges out")
        if weight is not None and not (weight >= 0).all():
            edge = int(np.argmin(weight >= 0))
            raise ValueError(f"weights must not be negative or NaN: edge {edge} has weight {weight[edge]}")
        edges = Edges(source, target, value, weight, (len(nodes), len(others)))
        return cls._of(nodes, others, edges, probabilities)

    @classmethod
    def from_classes(cls, X: Any, labels: Any, similarity: Any = None, *, ids: Any = None) -> RelationGraph:
        """Complete graph whose relation follows from the nodes' classes; the n×n matrix is never built.

        Parameters
        ----------
        X, ids
            As for `RelationGraph`.
        labels : array-like of shape (n_nodes,) or (n_nodes, n_levels)
            Class of each node; or, for a taxonomy, its class on every level from the root down.
        similarity : array-like, optional
            (n_classes, n_classes), in sorted order of the classes: the relation between two classes; by default 1 for
            the same class and 0 otherwise. For a taxonomy (n_levels + 1,): the relation's value for 0, 1, … leading
            levels shared; by default that number.
        """
        nodes, _ = _check_domains(X, None, ids, None)
        labels = np.asarray(labels)
        if labels.ndim not in (1, 2) or len(labels) != len(nodes):
            raise ValueError(
                f"labels must have shape ({len(nodes)},) for classes or ({len(nodes)}, n_levels) for a taxonomy, "
                f"got {labels.shape}"
            )
        make = Factored.from_classes if labels.ndim == 1 else Factored.from_taxonomy
        return cls._of(nodes, nodes, make(labels, similarity, nodes.dtype), None)

    @classmethod
    def from_factors(
        cls,
        X: Any,
        A: Any,
        S: Any,
        B: Any = None,
        *,
        objects: Any = None,
        ids: Any = None,
        object_ids: Any = None,
    ) -> RelationGraph:
        """Complete graph with the relation Y = A S Bᵀ, which is never built.

        Parameters
        ----------
        X, objects, ids, object_ids
            As for `RelationGraph`.
        A, B : array-like or scipy sparse array of shapes (n_nodes, k) and (n_objects, l)
            Factors of the conditioning nodes and of the objects; B is A by default.
        S : array-like of shape (k, l)
            Relation between the factors.
        """
        nodes, others = _check_domains(X, objects, ids, object_ids)
        A = check_features(A, "A")
        B = A if B is None else check_features(B, "B")
        S = check_features(S.toarray() if sparse.issparse(S) else S, "S")
        if S.shape != (A.shape[1], B.shape[1]):
            raise ValueError(f"S must have shape {(A.shape[1], B.shape[1])} to fit A and B, got {S.shape}")
        return cls._of(nodes, others, Factored(A, S, B), None)

    # Facts

    @property
    def shape(self) -> tuple[int, int]:
        """Number of conditioning nodes and of objects."""
        return self.relation.shape

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def n_nodes(self) -> int:
        """Number of nodes; of both domains together where there are two."""
        return sum(self.shape) if self.is_two_domain else self.shape[0]

    @property
    def n_edges(self) -> int:
        """Number of observed edges, repeated ones counted each time."""
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
        """Every ordered pair, loops included, is observed exactly once, with weight one."""
        return self.relation.is_complete

    @property
    def is_two_domain(self) -> bool:
        """Conditioning nodes and objects are of different domains."""
        return self.objects is not self.nodes

    @cached_property
    def has_loops(self) -> bool:
        """Some node's relation to itself is observed."""
        return not self.is_two_domain and self.relation.count_loops() > 0

    @cached_property
    def is_symmetric(self) -> bool:
        """Every two directions that are both observed agree."""
        return not self.is_two_domain and self._agrees(+1, 0.0)

    @cached_property
    def is_reciprocal(self) -> bool:
        """Every two directions that are both observed are opposite, or (as probabilities) sum to one."""
        return not self.is_two_domain and self._agrees(-1, self.centre)

    @cached_property
    def centre(self) -> float:
        """Value of an even contest in a reciprocal relation: ½ for probabilities, otherwise 0."""
        if self.probabilities is not None or self.is_two_domain:
            return 0.5 if self.probabilities else 0.0
        low, high = self.relation.extremes()
        within = 0 <= low <= high <= 1 and high > 0  # all zeros are opposite already
        return 0.5 if within and self.relation.two_way and self.disagreement(-1, 0.5, loops=False) <= 1e-6 else 0.0

    def _agrees(self, sign: int, centre: float) -> bool:
        return self.disagreement(sign, centre) <= 1e-6

    def disagreement(self, sign: int, centre: float = 0.0, loops: bool = True) -> float:
        """How far the two directions are from y_ij - c = sign (y_ji - c), relative to the largest label; loops too?"""
        worst = self.relation.disagreement(sign, centre, loops)
        if worst == 0.0:
            return 0.0
        low, high = self.relation.extremes()
        return worst / (max(abs(low - centre), abs(high - centre)) or 1.0)

    def to_dense(self) -> np.ndarray:
        """The relation as an array of `shape`: NaN where not observed, repeated edges averaged. O(n²) memory."""
        return self.relation.to_dense()

    # Subgraphs

    def __getitem__(self, index: Any) -> RelationGraph:
        """The induced subgraph on some nodes: positions, a mask, a slice, or ids (whole numbers are positions).

        A single domain keeps these nodes as conditioning nodes and as objects. Two domains keep these conditioning
        nodes and all objects; ``graph[rows, columns]`` chooses both.
        """
        rows, cols = index if isinstance(index, tuple) and len(index) == 2 else (index, Ellipsis)
        if isinstance(index, tuple) and len(index) != 2:
            raise IndexError(f"a graph takes one index, or two for two domains, got {len(index)}")
        chosen = choose(rows, self.nodes)
        if self.is_two_domain:
            return self._cut(chosen, choose(cols, self.objects))
        if cols is not Ellipsis and not (isinstance(cols, slice) and cols == slice(None)):
            raise IndexError("a single-domain graph takes one index, for its conditioning nodes and objects alike")
        return self._cut(chosen, chosen)

    def _cut(self, rows: np.ndarray, cols: np.ndarray) -> RelationGraph:
        """Some conditioning nodes and some objects, by position; a rectangle of a single domain reads as two."""
        nodes = self.nodes.take(rows)
        others = nodes if rows is cols and not self.is_two_domain else self.objects.take(cols)
        return self._part(nodes, others, self.relation.take(rows, cols))

    def _part(self, nodes: Nodes, others: Nodes, relation: Observations) -> RelationGraph:
        # A part keeps the scale of the whole: a few edges among probabilities need not show what they are.
        scale = self.probabilities if self.is_two_domain else self.centre == 0.5
        return RelationGraph._of(nodes, others, relation, scale)

    def __repr__(self) -> str:
        size = f"{self.shape[0]} × {self.shape[1]} nodes" if self.is_two_domain else f"{self.n_nodes} nodes"
        kind = "symmetric" if self.is_symmetric else "reciprocal" if self.is_reciprocal else "ordinary"
        extent = "complete" if self.is_complete else f"density {self.density:.3g}"
        return f"RelationGraph({size}, {self.n_edges} edges, {extent}, {kind})"


def _check_domains(X: Any, objects: Any, ids: Any, object_ids: Any) -> tuple[Nodes, Nodes]:
    nodes = _check_nodes(X, ids, "X", "ids")
    if objects is None:
        if object_ids is not None:
            raise ValueError("object_ids needs objects: a single-domain graph names its nodes by ids")
        return nodes, nodes
    return nodes, _check_nodes(objects, object_ids, "objects", "object_ids")


def _check_nodes(X: Any, ids: Any, name: str, ids_name: str) -> Nodes:
    base = check_node_data(X, name)
    return Nodes(base, None, None if ids is None else check_ids(ids, base.shape[0], ids_name))


def _observe(Y: Any, unstored: str, dtype: np.dtype) -> Observations:
    """The form of observations that fits a label matrix."""
    if sparse.issparse(Y):
        Y = sparse.csr_array(Y)
        if not Y.has_canonical_format:
            Y = Y.copy()  # the entries may be the caller's
            Y.sum_duplicates()
        data = check_labels(Y.data, "Y", dtype)
        if np.isnan(data).any():
            raise ValueError("a sparse Y must not store NaN: leave entries that are not observed unstored")
        Y = sparse.csr_array((data, Y.indices, Y.indptr), shape=Y.shape)
        return Complete(Y) if unstored == "zero" else Edges.from_stored(Y)
    if unstored != "unobserved":
        raise ValueError("unstored='zero' is for a sparse Y; in a dense Y, NaN is unobserved and 0 is known to be zero")
    Y = np.asarray(Y)
    if Y.ndim != 2:
        raise ValueError(f"Y must be two-dimensional (nodes × objects), got {Y.ndim} dimension(s)")
    Y = check_labels(Y, "Y", dtype)
    return Edges.from_holes(Y) if np.isnan(Y.sum()) and np.isnan(Y).any() else Complete(Y)
