"""Holdouts of the setting that is asked for: whole groups or classes where there are any, with something to rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from condrank.fitting.judging import rankable
from condrank.graph import RelationGraph
from condrank.model_selection._splitter import Graphs, Labels, per_node
from condrank.model_selection.splits import SettingShuffleSplit
from condrank.nodes import Nodes
from condrank.nodes.views import Views
from condrank.observations import Factored

# Draws for each holdout that is needed: some have nothing to rank.
DRAWS = 10
FEWEST_GROUPS = 2
# One or two holdouts choose badly; "auto" takes more where they are cheap.
FEWEST_HOLDOUTS, AUTO = 3, "auto"
# With so many holdouts their losses give a standard error, and each of them may be small.
ENOUGH_HOLDOUTS = 6


def share_of(n_holdouts: int) -> float:
    """The share of the nodes (groups, edges) that each holdout holds out.

    With many holdouts a quarter: training graphs are then nearer to the whole graph, and the noise of small holdouts
    averages out. With few a third.
    """
    return 1 / 4 if n_holdouts >= ENOUGH_HOLDOUTS else 1 / 3


class Holdouts:
    """Draws holdouts of one setting.

    Parameters
    ----------
    graph : RelationGraph
        The whole graph. Its subgraphs are split by `draw`.
    setting : {1, 2, 3, 4}
        What is new in the held-out part.
    rank_by : {"outgoing", "incoming"}
        ``rank_by`` of the rankers.
    groups : array-like, dict, pair of them, or None
        Groups of nodes that are held out whole, as for `SettingShuffleSplit`. None takes the classes of a graph that
        was made from classes.
    random : RandomState
        Draws the holdouts.

    Attributes
    ----------
    by : {"groups", "classes", "nodes", "edges"}
        What is held out whole.
    """

    def __init__(self, graph: RelationGraph, setting: int, rank_by: str, groups: Any, random: np.random.RandomState):
        self.setting, self.rank_by, self.random = setting, rank_by, random
        self.by = "edges" if setting == 1 else "nodes"
        self._drawn: set[tuple[bytes, bytes]] = set()
        self._groups: Labels = [None, None]
        if groups is not None:
            if setting == 1:
                raise ValueError("groups are for new nodes, but setting=1 holds out edges: leave groups out")
            self._groups, self.by = _given_groups(graph, groups, setting), "groups"
        elif setting != 1:
            classes = classes_of(graph)
            if classes is not None:
                self._groups = [_on_base(classes, graph.nodes), _on_base(classes, graph.nodes)]
                self.by = "classes"

    def draw(
        self, graph: RelationGraph, n: int, share: float, max_nodes: int | None = None, again: bool = True
    ) -> list[Graphs]:
        """n pairs of a training graph and a held-out graph, both with something to rank; fewer if there are no more.

        Each is of another random sample of at most ``max_nodes`` nodes of each side. Of groups in a single domain at
        least two are held out, because the nodes of one class have nothing to rank. Of four classes there are only six
        such holdouts: ``again=False`` draws none twice, in all calls with it.
        """
        found: list[Graphs] = []
        groups = None if graph.is_two_domain else self._groups[0]
        held_out: float | int = share
        if groups is not None:
            held_out = max(FEWEST_GROUPS, round(share * len(np.unique(groups[graph.nodes.positions]))))
        for _ in range(DRAWS * n):
            splitter = SettingShuffleSplit(
                self.setting,
                1,
                test_size=held_out,
                groups=self._of_splitter(graph),
                rank_by=self.rank_by,
                random_state=self.random.randint(np.iinfo(np.int32).max),
            )
            try:
                ((train, test),) = splitter.split(_sample(graph, max_nodes, self.random))
            except ValueError:  # the splitter's, for too few nodes or a graph without an edge
                continue
            if not all(rankable(part.conditioned(self.rank_by).observed) for part in (train, test)):
                continue
            if not again and self.setting != 1:
                held = test.nodes.positions.tobytes(), test.objects.positions.tobytes()
                if held in self._drawn:
                    continue
                self._drawn.add(held)
            found.append((train, test))
            if len(found) == n:
                break
        return found

    def by_nodes(self) -> bool:
        """Hold out nodes instead of classes from now on; whether that changes anything."""
        if self.by != "classes":
            return False
        self._groups = [None, None]
        self.by = "nodes"
        return True

    def units(self, test: RelationGraph) -> np.ndarray:
        """What each conditioning node of a held-out graph counts as in a standard error: itself, or its group."""
        queries = test.conditioned(self.rank_by).queries
        groups = self._groups[self.rank_by != "outgoing"]
        return queries.positions if groups is None else groups[queries.positions]

    def _of_splitter(self, graph: RelationGraph) -> Any:
        if self._groups[0] is None and self._groups[1] is None:
            return None
        if not graph.is_two_domain:
            return self._groups[0]
        if self.setting == 4:
            return tuple(self._groups)
        conditioning = (self.setting == 2) == (self.rank_by == "outgoing")
        return self._groups[0 if conditioning else 1]


def _given_groups(graph: RelationGraph, groups: Any, setting: int) -> Labels:
    """Numbers of the groups of all nodes of both bases; -1 for nodes that are not in the graph."""
    if not graph.is_two_domain:
        found = per_node(groups, graph.nodes, "groups")
        return [None if found is None else _on_base(found, graph.nodes)] * 2
    if not (isinstance(groups, tuple) and len(groups) == 2):
        raise ValueError(
            "groups of a graph of two domains must be a pair, for graph.nodes and graph.objects (None for a side "
            f"without groups), got {type(groups).__name__}"
        )
    sides = (graph.nodes, graph.objects)
    found = [per_node(one, nodes, "groups") for one, nodes in zip(groups, sides, strict=True)]
    return [None if one is None else _on_base(one, nodes) for one, nodes in zip(found, sides, strict=True)]


def _on_base(groups: np.ndarray, nodes: Nodes) -> np.ndarray:
    found = np.full(nodes.base.shape[0], -1)
    found[nodes.positions] = groups
    return found


def classes_of(graph: RelationGraph) -> np.ndarray | None:
    """The class of each node of a graph that was made from classes (the finest one of a taxonomy); otherwise None."""
    relation = graph.relation
    if graph.is_two_domain or not isinstance(relation, Factored) or relation.names is None:
        return None
    A = relation.A
    if not sparse.issparse(A) or (np.diff(A.indptr) == 0).any():
        return None
    # The columns of a taxonomy are ordered by level, so that the last one of a node is its finest class.
    return np.maximum.reduceat(A.indices, A.indptr[:-1])


def _sample(graph: RelationGraph, max_nodes: int | None, random: np.random.RandomState) -> RelationGraph:
    if max_nodes is None or max(graph.shape) <= max_nodes:
        return graph
    chosen = [np.sort(random.permutation(n)[:max_nodes]) for n in graph.shape]
    return graph.cut(*chosen) if graph.is_two_domain else graph.cut(chosen[0], chosen[0])


def in_single(graph: RelationGraph) -> RelationGraph:
    """The graph with its node data in single precision, as one base for all of its subgraphs."""
    nodes = _in_single(graph.nodes)
    return graph.part(nodes, _in_single(graph.objects) if graph.is_two_domain else nodes, graph.relation)


def _in_single(nodes: Nodes) -> Nodes:
    base = nodes.base if nodes.dtype == np.float32 else nodes.base.astype(np.float32)
    kernel = nodes.is_kernel and not isinstance(base, Views)
    return Nodes(base, nodes.index, nodes.base_ids, kernel, nodes.columns)
