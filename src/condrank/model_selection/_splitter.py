"""The base class of splitters: makes training and test graphs once some nodes or pairs are chosen to be held out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from condrank.base.checks import check_choice
from condrank.graph import RelationGraph
from condrank.nodes import Nodes
from condrank.observations import Edges

SETTINGS = (1, 2, 3, 4)

Fold = tuple[np.ndarray, np.ndarray]
"""Positions kept for training, and positions held out."""
Graphs = tuple[RelationGraph, RelationGraph]
"""Training graph and test graph."""
Labels = list[np.ndarray | None]
"""Numbers of the groups, or of the classes, of the rows and of the columns."""
NOT_GIVEN: Any = object()
"""Default of arguments that only scikit-learn passes, to tell its None from a missing argument."""


@dataclass(frozen=True, eq=False)
class Splitter(ABC):
    """Base class of splitters. Subclasses say which nodes or pairs are held out; the graphs are made here."""

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
                raise ValueError(f"{name} is for nodes, but setting 1 holds out edges: leave {name} out")

    def split(self, graph: RelationGraph, y: Any = NOT_GIVEN, groups: Any = NOT_GIVEN) -> Iterator[Graphs]:
        """Training and test graph of each fold, made one at a time. O(size of the relation) per fold.

        scikit-learn passes ``y`` and ``groups`` to a splitter. It cannot use graphs, so they raise a ValueError.
        """
        refuse_samples(y, groups)
        check_graph(graph)
        if self.setting == 1:
            return with_edges(self._split_edges(graph))
        split = self._split_domains if graph.is_two_domain else self._split_nodes
        # Read here and not in the generator, so that errors are raised at once.
        return with_edges(split(graph, self._per_side("groups", graph), self._per_side("stratify", graph)))

    def get_n_splits(self, graph: RelationGraph | None = None, y: Any = NOT_GIVEN, groups: Any = NOT_GIVEN) -> int:
        """Total number of folds; ``y`` and ``groups`` as for `split`."""
        refuse_samples(y, groups)
        if graph is not None:
            check_graph(graph)
        return self._count_folds(graph)

    def indices(self, graph: RelationGraph) -> list[Fold]:
        """Positions of training and held-out nodes, for ``cv=`` of scikit-learn's searches. Setting 4, one domain."""
        check_graph(graph)
        if self.setting != 4 or graph.is_two_domain:
            raise ValueError(
                "indices are for setting 4 of a single domain, where a fold is a set of nodes; "
                f"got setting={self.setting} and {graph!r}"
            )
        return list(self._node_folds(graph, self._per_side("groups", graph), self._per_side("stratify", graph)))

    def tests_single_objects(self, graph: RelationGraph) -> bool:
        """Whether each conditioning node of a test graph has at most one object, because of how folds are made."""
        return False

    # A splitter holds out in rounds: the folds of one round are disjoint.

    @property
    @abstractmethod
    def _n_rounds(self) -> int:
        """Number of rounds."""

    @abstractmethod
    def _count_folds(self, graph: RelationGraph | None) -> int:
        """Total number of folds."""

    @abstractmethod
    def _folds(self, n: int, groups: np.ndarray | None, classes: np.ndarray | None, seed: int) -> Iterable[Fold]:
        """The folds of one round over n nodes, or over n pairs of nodes."""

    def _seeds(self) -> Iterator[tuple[int, int]]:
        """Two random seeds per round: for the rows (or pairs), and for the columns of a second domain."""
        random = check_random_state(self.random_state)
        for _ in range(self._n_rounds):
            first, second = random.randint(np.iinfo(np.int32).max, size=2)
            yield int(first), int(second)

    @property
    def _holds_out(self) -> tuple[bool, bool]:
        """Whether rows of the relation are held out, and whether columns are."""
        conditioning, objects = self.setting in (2, 4), self.setting in (3, 4)
        return (conditioning, objects) if self.rank_by == "outgoing" else (objects, conditioning)

    def _node_folds(self, graph: RelationGraph, groups: Labels, classes: Labels) -> Iterator[Fold]:
        for seed, _ in self._seeds():
            yield from self._folds(len(graph), groups[0], classes[0], seed)

    def _split_nodes(self, graph: RelationGraph, groups: Labels, classes: Labels) -> Iterator[Graphs]:
        of_rows, of_cols = self._holds_out
        for train, test in self._node_folds(graph, groups, classes):
            yield graph.cut(train, train), graph.cut(test if of_rows else train, test if of_cols else train)

    def _split_domains(self, graph: RelationGraph, groups: Labels, classes: Labels) -> Iterator[Graphs]:
        for seeds in self._seeds():
            folds = [
                self._folds(n, groups[side], classes[side], seeds[side])
                if self._holds_out[side]
                else [(np.arange(n), np.arange(n))]
                for side, n in enumerate(graph.shape)
            ]
            for (train_rows, test_rows), (train_cols, test_cols) in product(*folds):
                yield graph.cut(train_rows, train_cols), graph.cut(test_rows, test_cols)

    def _per_side(self, name: str, graph: RelationGraph) -> Labels:
        """Groups or classes of rows and of columns. If only one of two domains is held out, they may be given alone."""
        values = getattr(self, name)
        if not graph.is_two_domain:
            return [per_node(values, graph.nodes, name)] * 2
        if not (isinstance(values, tuple) and len(values) == 2):
            if values is not None and self.setting == 4:
                raise ValueError(f"{name} must be a pair, for graph.nodes and graph.objects: both domains are split")
            values = tuple(values if held_out else None for held_out in self._holds_out)
        return [per_node(one, nodes, name) for one, nodes in zip(values, (graph.nodes, graph.objects), strict=True)]

    def _split_edges(self, graph: RelationGraph) -> Iterator[Graphs]:
        edges = listed(graph)
        pair, n_pairs = self._pairs(graph, edges)
        for seed, _ in self._seeds():
            for _, test in self._folds(n_pairs, None, None, seed):
                chosen = np.zeros(n_pairs, dtype=bool)
                chosen[test] = True
                held_out = chosen[pair]
                yield (
                    graph.part(graph.nodes, graph.objects, edges.where(~held_out)),
                    graph.part(graph.nodes, graph.objects, edges.where(held_out)),
                )

    def _pairs(self, graph: RelationGraph, edges: Edges) -> tuple[np.ndarray, int]:
        """The number of each edge's pair, and how many pairs there are. Both directions may be one pair."""
        together = self.both_directions
        if together is None:
            together = graph.is_symmetric or graph.is_reciprocal
        if not together or graph.is_two_domain:
            return np.arange(edges.n_pairs), edges.n_pairs
        low, high = np.minimum(edges.sources, edges.indices), np.maximum(edges.sources, edges.indices)
        distinct, pair = np.unique(low * edges.shape[1] + high, return_inverse=True)
        return pair, len(distinct)


def check_graph(graph: Any) -> None:
    """Refuse anything but a graph."""
    if not isinstance(graph, RelationGraph):
        raise ValueError(f"graph must be a RelationGraph, got {type(graph).__name__}")


def refuse_samples(y: Any, groups: Any) -> None:
    """Refuse a call by scikit-learn, which passes y and groups (even as None) and expects positions."""
    if y is not NOT_GIVEN or groups is not NOT_GIVEN:
        raise ValueError(
            "a splitter of graphs was called with y or groups, as scikit-learn does, which needs positions of nodes: "
            "give its cv the splitter's .indices(graph) (setting 4), or use cross_validate of condrank.model_selection"
        )


def listed(graph: RelationGraph) -> Edges:
    """The observed edges of a graph as a list. O(n²) for a complete graph."""
    relation = graph.relation
    return relation if isinstance(relation, Edges) else Edges.from_holes(relation.to_dense())


def per_node(values: Any, nodes: Nodes, name: str) -> np.ndarray | None:
    """A number for the group or class of each node, from an array or a dict."""
    if values is None:
        return None
    given = _by_id(values, nodes, name) if isinstance(values, Mapping) else _by_position(values, nodes, name)
    missing = [i for i, one in enumerate(given.tolist()) if _is_missing(one)]
    if missing:
        raise ValueError(f"{name} must not be None or NaN, {len(missing)} are, the first is that of node {missing[0]}")
    try:
        return np.unique(given, return_inverse=True)[1]
    except TypeError:
        raise ValueError(f"{name} must be of one type, all numbers or all strings, got a mixture") from None


def _by_id(values: Mapping[Any, Any], nodes: Nodes, name: str) -> np.ndarray:
    if nodes.ids is None:
        raise ValueError(f"{name} as a dict needs nodes with ids: give the graph ids, or {name} as an array")
    ids = nodes.ids.tolist()
    absent = [one for one in ids if one not in values]
    if absent:
        raise ValueError(f"{name} must have every node's id, {len(absent)} are missing, the first is {absent[0]!r}")
    given = _as_array([values[one] for one in ids])
    if given.ndim != 1:
        raise ValueError(f"{name} must have one number or string for each id, got arrays of shape {given.shape[1:]}")
    return given


def _by_position(values: Any, nodes: Nodes, name: str) -> np.ndarray:
    """Entries of an array that is as long as the graph, or as the graph from which it was taken."""
    given, n_base, positions = _as_array(values), nodes.base.shape[0], nodes.positions
    if given.shape == (n_base,):
        if len(nodes) == n_base and (np.diff(positions) <= 0).any():
            raise ValueError(
                f"{name} as an array is ambiguous for a graph in another order than the graph it was taken from: give "
                f"the graph ids, and {name} as a dict from id to value"
            )
        return given[positions]
    if given.shape != (len(nodes),):
        whole = "" if n_base == len(nodes) else f" (or of the {n_base} nodes from which they were taken)"
        raise ValueError(
            f"{name} must have one entry for each of the {len(nodes)} nodes{whole}, got {given.shape}; inside nested "
            "cross-validation give a dict from id to value, or an array for the graph from which all are taken"
        )
    return given


def _as_array(values: Any) -> np.ndarray:
    """Values as an array, of dtype object if NumPy would turn numbers or NaN into strings."""
    given = np.asarray(values)
    return np.asarray(values, dtype=object) if given.dtype.kind in "US" and given is not values else given


def _is_missing(one: Any) -> bool:
    return one is None or type(one).__name__ == "NAType" or one != one


def with_edges(graphs: Iterator[Graphs]) -> Iterator[Graphs]:
    """Refuse a fold whose training or test graph has no edge."""
    for number, (train, test) in enumerate(graphs):
        for graph, what in ((train, "training"), (test, "test")):
            if graph.n_edges == 0:
                raise ValueError(
                    f"the {what} graph of fold {number} has no observed edge ({train.shape} nodes for training, "
                    f"{test.shape} for testing): use other folds, or a setting that holds out less"
                )
        yield train, test
