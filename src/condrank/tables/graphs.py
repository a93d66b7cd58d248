"""Graphs from tables, kernels and networkx."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from condrank.base.checks import check_choice, check_count
from condrank.frames.ages import check_half_life
from condrank.frames.columns import as_objects, canonical, checked
from condrank.frames.edge_columns import EdgeColumns
from condrank.frames.edges import EdgeList, read_edges
from condrank.frames.ids import Ids
from condrank.frames.sql import from_database
from condrank.frames.table import Table, given_kinds
from condrank.graph import RelationGraph
from condrank.nodes.store import Nodes
from condrank.nodes.views import Views
from condrank.observations import Complete, Edges
from condrank.observations.clicks import with_all_zeros, with_drawn_zeros
from condrank.tables.views import Given, SideReader

UNSTORED = ("missing", "zero")
OBJECT_ARGUMENTS = ("object_views", "object_kernel")


def read_graph(
    nodes: Any = None,
    edges: Any = None,
    *,
    objects: Any = None,
    kernel: Any = None,
    views: Any = None,
    object_views: Any = None,
    object_kernel: Any = None,
    id: str | None = None,
    object_id: str | None = None,
    source: str | None = None,
    target: str | None = None,
    value: str | None = None,
    weight: str | None = None,
    winner: str | None = None,
    loser: str | None = None,
    tie: str | None = None,
    wins: tuple[str, str] | None = None,
    mirror: str | None = "auto",
    numeric: Iterable[str] = (),
    categorical: Iterable[str] = (),
    text: Iterable[str] = (),
    drop: Iterable[str] = (),
    probabilities: bool | None = None,
    unstored: str = "missing",
    zeros: int | None = None,
    random_state: Any = 0,
    date: str | None = None,
    half_life: float | None = None,
    database: str | None = None,
    allow_missing: bool = False,
) -> RelationGraph:
    """Graph with a `Table` as its nodes, for a `TableRanker`; parameters as for `RelationGraph.from_frame`.

    Parameters
    ----------
    allow_missing : bool
        Keep missing values of the nodes' columns, for an encoder that fills them in (``impute``).

    Returns
    -------
    RelationGraph
        Its nodes are a table even if all columns are numbers; with ``kernel`` they are the kernel matrix; with
        ``views`` they have named views, tables and matrices.
    """
    return describe_tables(**locals())[0]


def describe_tables(
    nodes: Any,
    edges: Any,
    objects: Any,
    kernel: Any,
    views: Any,
    object_views: Any,
    object_kernel: Any,
    id: str | None,
    object_id: str | None,
    mirror: str | None,
    numeric: Iterable[str],
    categorical: Iterable[str],
    text: Iterable[str],
    drop: Iterable[str],
    probabilities: bool | None,
    allow_missing: bool,
    unstored: str = "missing",
    zeros: int | None = None,
    random_state: Any = 0,
    half_life: float | None = None,
    database: str | None = None,
    **named: Any,
) -> tuple[RelationGraph, EdgeColumns]:
    """The graph of `read_graph`, and the columns of the edges by their role; ``named`` are the names of the latter."""
    check_choice("unstored", unstored, UNSTORED)
    if zeros is not None and unstored != "zero":
        raise ValueError(f"zeros is for unstored='zero', got unstored={unstored!r}")
    half_life = check_half_life(named.get("date"), half_life)
    given = {"nodes": nodes, "edges": edges, "objects": objects}
    nodes, edges, objects = (from_database(source, database, what) for what, source in given.items())
    if edges is None:
        raise ValueError("edges is missing: pass the table of edges, a file or a frame")
    reader = SideReader(given_kinds(numeric, categorical, text, drop), allow_missing)
    one = Given(nodes, views, kernel, id, ("nodes", "id", "views", "kernel"))
    other = Given(objects, object_views, object_kernel, object_id, ("objects", "object_id", *OBJECT_ARGUMENTS))
    if not one.is_given:
        raise ValueError("nodes is missing: pass the table of nodes, a file or a frame, views or a kernel")
    if object_id is not None and not other.is_given:
        raise ValueError("object_id needs objects, the table of a second domain")
    first, hint = reader.read(one)
    second, object_hint = reader.read(other) if other.is_given else (first, hint)
    reader.check_kinds()
    ids = Ids(_ids(first), hint)
    object_ids = ids if second is first else Ids(_ids(second), object_hint)
    centre = 0.5 if probabilities else 0.0
    named["clicks"] = unstored == "zero"
    listed, used = read_edges(edges, ids, object_ids, mirror, centre, named, kernel is not None, half_life)
    if used.is_game and probabilities is None:
        probabilities = False
    shape = (len(first), len(second))
    relation: Any = Edges(listed.sources, listed.targets, listed.values, listed.weights, shape)
    if unstored == "zero" and zeros is None:
        relation = with_all_zeros(relation, listed.weights is not None)
    elif unstored == "zero":
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        relation = with_drawn_zeros(relation, check_count("zeros", zeros), rng)
    return RelationGraph.of_parts(first, second, relation, probabilities), used


def from_frame(nodes: Any, edges: Any, **options: Any) -> RelationGraph:
    """`RelationGraph.from_frame`: plain features if all columns are numbers."""
    check_options("RelationGraph.from_frame", options)
    return _plain(read_graph(nodes, edges, **options))


def check_options(method: str, options: dict[str, Any]) -> None:
    """Raise for an option that `read_graph` does not have; ``method`` is the caller's method."""
    known = [name for name in inspect.signature(read_graph).parameters if name not in ("nodes", "edges")]
    for name in options:
        if name not in known:
            raise TypeError(f"{method}() has no option {name!r}; its options are {', '.join(known)}")


def from_networkx(G: Any, features: Any = None, value: str | None = "weight") -> RelationGraph:
    """`RelationGraph.from_networkx`."""
    if not hasattr(G, "nodes") or not hasattr(G, "is_directed"):
        raise ValueError(f"G must be a networkx graph, got {type(G).__name__}")
    if G.number_of_nodes() == 0:
        raise ValueError("G must have at least one node, got none")
    names = canonical(as_objects(list(G.nodes)), "nodes of G")
    nodes = Nodes(_node_attributes(G, features), None, names)
    place = {one: position for position, one in enumerate(G.nodes)}
    ends = [(place[one], place[other], one, other, data) for one, other, data in G.edges(data=True)]
    sources, targets = (np.array([edge[i] for edge in ends], dtype=np.int64) for i in (0, 1))
    numbers = np.ones(len(ends))
    if value is not None:
        for row, (_, _, one, other, data) in enumerate(ends):
            number = data.get(value)
            if not isinstance(number, int | float | np.number) or not np.isfinite(number):
                raise ValueError(f"edge {one!r} → {other!r} must have a finite number as {value!r}, got {number!r}")
            numbers[row] = float(number)
    listed = EdgeList(sources, targets, numbers, None)
    if not G.is_directed():
        listed = listed.both_ways(0.0, 1)
    shape = (len(nodes), len(nodes))
    if value is not None:
        return _plain(RelationGraph.of_parts(nodes, nodes, Edges(*_fields(listed), shape), None))
    links = sparse.csr_array((listed.values, (listed.sources, listed.targets)), shape=shape)
    links.sum_duplicates()
    links.data[:] = 1.0
    return _plain(RelationGraph.of_parts(nodes, nodes, Complete(links), None))


def _fields(listed: EdgeList) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    return listed.sources, listed.targets, listed.values, listed.weights


def _node_attributes(G: Any, features: Any) -> Any:
    """A table of the nodes' attributes, or the array of features if the caller gives one."""
    if isinstance(features, np.ndarray) or sparse.issparse(features):
        from condrank.base.arrays import check_features

        X = check_features(features, "features")
        if X.shape[0] != G.number_of_nodes():
            raise ValueError(f"features must have a row for each of the {G.number_of_nodes()} nodes, got {X.shape[0]}")
        return X
    records = [data for _, data in G.nodes(data=True)]
    names = list(dict.fromkeys(name for record in records for name in record)) if features is None else list(features)
    if not names:
        raise ValueError(
            "the nodes of G have no attributes: pass features, one row for each node in the order of G.nodes"
        )
    columns = checked({name: as_objects([record.get(name) for record in records]) for name in names}, "nodes of G")
    return Table.read(columns)


def _ids(nodes: Nodes) -> np.ndarray:
    assert nodes.ids is not None
    return nodes.ids


def _plain(graph: RelationGraph) -> RelationGraph:
    """The graph with plain features instead of tables, if all their columns are numbers."""
    sides = (graph.nodes, graph.objects)
    if not all(table.is_numeric and not table.has_gaps for nodes in sides for table in _tables(nodes)):
        return graph
    first = _numbers(graph.nodes)
    second = _numbers(graph.objects) if graph.is_two_domain else first
    return RelationGraph.of_parts(first, second, graph.relation, graph.probabilities)


def _tables(nodes: Nodes) -> list[Table]:
    parts = nodes.base.parts.values() if isinstance(nodes.base, Views) else [nodes.base]
    return [part for part in parts if isinstance(part, Table)]


def _numbers(nodes: Nodes) -> Nodes:
    """Nodes with the numbers of their tables as features."""
    if not isinstance(nodes.base, Views):
        return Nodes(nodes.base.to_numpy(), None, nodes.ids) if isinstance(nodes.base, Table) else nodes
    parts = {view: one.to_numpy() if isinstance(one, Table) else one for view, one in nodes.base.parts.items()}
    return Nodes(Views(parts, nodes.base.kernels), None, nodes.ids)


def as_graph_of_tables(method: str, nodes: Any, edges: Any, options: dict[str, Any]) -> RelationGraph:
    """The graph itself, or a graph read from tables; ``method`` is the caller's method in errors."""
    check_options(method, options)
    if not isinstance(nodes, RelationGraph):
        return read_graph(nodes, edges, **options)
    if edges is not None or options:
        raise ValueError("edges and options must be left out when nodes is a RelationGraph, which has its own")
    return nodes
