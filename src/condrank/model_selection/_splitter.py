"""What is the same for every splitter: which edges of a graph go where, once some nodes (or pairs) are held out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from condrank.graph import RelationGraph
from condrank.nodes import Nodes
from condrank.observations import Edges
from condrank.settings import check_choice

SETTINGS = (1, 2, 3, 4)

Fold = tuple[np.ndarray, np.ndarray]
"""Positions kept for training, and positions held out."""
Graphs = tuple[RelationGraph, RelationGraph]
"""Training graph and test graph."""


@dataclass(frozen=True, eq=False)
class Splitter:
    """What splitters share: which edges of a graph go where, once some nodes (or pairs) are held out."""

    setting: int = 4
    n_splits: Any = 5
    _: KW_ONLY
    groups: Any = None
    stratify: Any = None
    rank_by: str = "outgoing"
    both_directions: bool | None = None
    random_state: Any = None

    def __post_init__(self) -> None:
        check_choice("setting", self.setting, SETTINGS)
        check_choice("rank_by", self.rank_by, ("outgoing", "incoming"))
        check_choice("both_directions", self.both_directions, (None, True, False))
        for name in ("groups", "stratify"):
            if self.setting == 1 and getattr(self, name) is not None:
                raise ValueError(f"{name} are of nodes, but setting 1 holds out edges: leave {name} out")

    def split(self, graph: RelationGraph) -> Iterator[Graphs]:
        """Training and test graph of each fold, made when asked for. O(size of the relation) a fold."""
        if not isinstance(graph, RelationGraph):
            raise ValueError(f"graph must be a RelationGraph, got {type(graph).__name__}")
        if self.setting == 1:
            parts = self._split_edges(graph)
        elif graph.is_two_domain:
            parts = self._split_domains(graph)
        else:
            parts = self._split_nodes(graph)
        return with_edges(parts)

    def get_n_splits(self, graph: RelationGraph | None = None) -> int:
        """Number of folds in all."""
        raise NotImplementedError

    def indices(self, graph: RelationGraph) -> list[Fold]:
        """Positions of training and held-out nodes, for ``cv=`` of scikit-learn's searches; setting 4, one domain."""
        if self.setting != 4 or graph.is_two_domain:
            raise ValueError(
                "indices are for setting 4 of a single domain, where a fold is a set of nodes; "
                f"got setting={self.setting} and {graph!r}"
            )
        return list(self._node_folds(graph))

    # A splitter holds out in rounds: the folds of one round are disjoint.

    @property
    def _n_rounds(self) -> int:
        raise NotImplementedError

    def _folds(self, n: int, groups: np.ndarray | None, classes: np.ndarray | None, seed: int) -> Iterable[Fold]:
        """The folds of one round over ``n`` nodes, or pairs of nodes."""
        raise NotImplementedError

    def _seeds(self) -> Iterator[tuple[int, int]]:
        """Two random seeds a round: for the rows (or pairs), and for the columns of a second domain."""
        random = check_random_state(self.random_state)
        for _ in range(self._n_rounds):
            first, second = random.randint(np.iinfo(np.int32).max, size=2)
            yield int(first), int(second)

    @property
    def _holds_out(self) -> tuple[bool, bool]:
        """Whether rows, and whether columns of the relation are held out."""
        conditioning, objects = self.setting in (2, 4), self.setting in (3, 4)
        return (conditioning, objects) if self.rank_by == "outgoing" else (objects, conditioning)

    def _node_folds(self, graph: RelationGraph) -> Iterator[Fold]:
        groups, classes = (per_node(getattr(self, name), graph.nodes, name) for name in ("groups", "stratify"))
        for seed, _ in self._seeds():
            yield from self._folds(len(graph), groups, classes, seed)

    def _split_nodes(self, graph: RelationGraph) -> Iterator[Graphs]:
        of_rows, of_cols = self._holds_out
        for train, test in self._node_folds(graph):
            yield graph._cut(train, train), graph._cut(test if of_rows else train, test if of_cols else train)

    def _split_domains(self, graph: RelationGraph) -> Iterator[Graphs]:
        groups, classes = self._per_domain("groups", graph), self._per_domain("stratify", graph)
        for seeds in self._seeds():
            folds = [
                self._folds(n, groups[side], classes[side], seeds[side])
                if self._holds_out[side]
                else [(np.arange(n), np.arange(n))]
                for side, n in enumerate(graph.shape)
            ]
            for (train_rows, test_rows), (train_cols, test_cols) in product(*folds):
                yield graph._cut(train_rows, train_cols), graph._cut(test_rows, test_cols)

    def _per_domain(self, name: str, graph: RelationGraph) -> list[np.ndarray | None]:
        """Groups or classes of rows and of columns; those of one side alone are of the side that is held out."""
        values = getattr(self, name)
        if not (isinstance(values, tuple) and len(values) == 2):
            if values is not None and self.setting == 4:
                raise ValueError(f"{name} must be a pair, of graph.nodes and of graph.objects: both domains are split")
            values = tuple(values if held_out else None for held_out in self._holds_out)
        return [per_node(one, nodes, name) for one, nodes in zip(values, (graph.nodes, graph.objects), strict=True)]

    def _split_edges(self, graph: RelationGraph) -> Iterator[Graphs]:
        edges = listed(graph)
        pair = self._pairs(graph, edges)
        for seed, _ in self._seeds():
            for _, test in self._folds(n_distinct(pair), None, None, seed):
                held_out = np.isin(pair, test)
                yield (
                    graph._part(graph.nodes, graph.objects, edges.where(~held_out)),
                    graph._part(graph.nodes, graph.objects, edges.where(held_out)),
                )

    def _pairs(self, graph: RelationGraph, edges: Edges) -> np.ndarray:
        """Number of the pair that each edge belongs to: its own, or one for both directions."""
        together = self.both_directions
        if together is None:
            together = graph.is_symmetric or graph.is_reciprocal
        if not together or graph.is_two_domain:
            return np.arange(edges.n_pairs)
        low, high = np.minimum(edges.sources, edges.indices), np.maximum(edges.sources, edges.indices)
        return np.unique(low * edges.shape[1] + high, return_inverse=True)[1]


def listed(graph: RelationGraph) -> Edges:
    """The observed edges of a graph as a list. O(n²) for a complete one."""
    relation = graph.relation
    return relation if isinstance(relation, Edges) else Edges.from_holes(relation.to_dense())


def n_distinct(values: np.ndarray) -> int:
    return len(np.unique(values))


def per_node(values: Any, nodes: Nodes, name: str) -> np.ndarray | None:
    """A number for the group or class of each node, whichever way they were given."""
    if values is None:
        return None
    if isinstance(values, Mapping):
        if nodes.ids is None:
            raise ValueError(f"{name} as a dict needs nodes with ids: give the graph ids, or {name} as an array")
        ids = nodes.ids.tolist()
        absent = [one for one in ids if one not in values]
        if absent:
            raise ValueError(f"{name} must have every node's id, {len(absent)} are missing, the first is {absent[0]!r}")
        values = [values[one] for one in ids]
    values, n_base = np.asarray(values), nodes.base.shape[0]
    if values.shape == (n_base,):
        values = values[nodes.positions]
    elif values.shape != (len(nodes),):
        whole = "" if n_base == len(nodes) else f" (or of the {n_base} that they are a subset of)"
        raise ValueError(f"{name} must have one entry for each of the {len(nodes)} nodes{whole}, got {values.shape}")
    return np.unique(values, return_inverse=True)[1]


def with_edges(graphs: Iterator[Graphs]) -> Iterator[Graphs]:
    """Refuse a fold in which there is nothing to learn from, or nothing to test on."""
    for number, (train, test) in enumerate(graphs):
        for graph, what in ((train, "training"), (test, "test")):
            if graph.n_edges == 0:
                raise ValueError(
                    f"the {what} graph of fold {number} has no observed edge ({train.shape} nodes for training, "
                    f"{test.shape} for testing): take other folds, or a setting that holds out less"
                )
        yield train, test
