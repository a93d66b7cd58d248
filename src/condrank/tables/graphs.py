"""Graphs from tables, kernels and networkx."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from condrank.frames.columns import Columns, as_objects, canonical, checked, read_table
from condrank.frames.edges import EdgeList, read_edges
from condrank.frames.ids import Ids, read_ids
from condrank.frames.kernels import read_kernel
from condrank.frames.table import Table, given_kinds
from condrank.graph import RelationGraph
from condrank.nodes.store import Nodes
from condrank.observations import Complete, Edges

ID_NAMES = ("id", "node", "name")
NO_IDS = (
    "the kernel has no ids, so its nodes are 0 to {}; pass a table with their ids, in the same order, as nodes=, or an "
    "npz file with arrays named kernel and ids"
)


def read_graph(
    nodes: Any = None,
    edges: Any = None,
    *,
    objects: Any = None,
    kernel: Any = None,
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
) -> RelationGraph:
    """Graph with a `Table` as its nodes, for a `TableRanker`; parameters as for `RelationGraph.from_frame`.

    Returns
    -------
    RelationGraph
        Its nodes are a table even if all columns are numbers; with ``kernel`` they are the kernel matrix.
    """
    if edges is None:
        raise ValueError("edges is missing: pass the table of edges, a file or a frame")
    if nodes is None and kernel is None:
        raise ValueError("nodes is missing: pass the table of nodes, a file or a frame, or a kernel")
    if kernel is not None and objects is not None:
        raise ValueError("kernel needs a single domain: leave objects out")
    if object_id is not None and objects is None:
        raise ValueError("object_id needs objects, the table of a second domain")
    given = given_kinds(numeric, categorical, text, drop)
    hint = ""
    if kernel is not None:
        first, hint = _kernel_nodes(kernel, nodes, id)
        second = first
    else:
        tables = [read_table(nodes, "nodes")] + ([] if objects is None else [read_table(objects, "objects")])
        for name in given:
            if not any(name in table for table in tables):
                raise ValueError(f"{given[name] or 'drop'} has {name!r}, which is not a column of {tables[0].origin}")
        sides = [
            _table_nodes(table, given, name, argument)
            for table, name, argument in zip(tables, (id, object_id), ("id", "object_id"), strict=False)
        ]
        first, second = sides[0], sides[-1]
    ids = Ids(_ids(first), hint)
    object_ids = ids if second is first else Ids(_ids(second))
    named: dict[str, Any] = {"source": source, "target": target, "value": value, "weight": weight}
    named |= {"winner": winner, "loser": loser, "tie": tie, "wins": wins}
    centre = 0.5 if probabilities else 0.0
    listed, used = read_edges(edges, ids, object_ids, mirror, centre, named, kernel is not None)
    if used.is_game and probabilities is None:
        probabilities = False
    shape = (len(first), len(second))
    relation = Edges(listed.sources, listed.targets, listed.values, listed.weights, shape)
    return RelationGraph.of_parts(first, second, relation, probabilities)


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


def _table_nodes(columns: Columns, given: dict[str, str | None], name: str | None, argument: str) -> Nodes:
    hint = ""
    if name is None:
        name = _guess_id(columns, argument)
        hint = f"; it was read as the ids, name another column with {argument}="
    columns.column(name, argument)
    if given.get(name):
        raise ValueError(f"{argument}={name!r} has the ids, it cannot be a {given[name]} column as well")
    ids = read_ids(columns, name, hint)
    here = {column: kind for column, kind in given.items() if column in columns and column != name}
    kinds = {kind: [one for one in here if here[one] == kind] for kind in ("numeric", "categorical", "text", None)}
    table = Table.read(
        columns,
        numeric=kinds["numeric"],
        categorical=kinds["categorical"],
        text=kinds["text"],
        drop=kinds[None],
        id_name=name,
    )
    return Nodes(table, None, ids)


def _guess_id(columns: Columns, argument: str) -> str:
    """A column with a usual name, or else the first column if it is not of floating-point numbers."""
    named = {name.lower(): name for name in columns.names}
    for usual in ID_NAMES:
        if usual in named:
            return named[usual]
    first = columns.names[0]
    if columns.values[first].dtype.kind == "f":
        raise ValueError(f"{columns.origin} must have a column of ids, named with {argument}=, it has {columns.names}")
    return first


def _kernel_nodes(kernel: Any, nodes: Any, id: str | None) -> tuple[Nodes, str]:
    """Nodes of a kernel, and advice for the error if an id is not found."""
    K, ids = read_kernel(kernel)
    if nodes is None and ids is None:
        return Nodes(K, None, np.arange(len(K)), is_kernel=True), NO_IDS.format(len(K) - 1)
    if nodes is None:
        return Nodes(K, None, ids, is_kernel=True), ""
    columns = read_table(nodes, "nodes")
    name = _guess_id(columns, "id") if id is None else id
    columns.column(name, "id")
    own = read_ids(columns, name)
    if len(own) != len(K):
        raise ValueError(f"the kernel must be of the {len(own)} nodes of {columns.origin}, got {len(K)}")
    if ids is not None:
        order = Ids(ids).find(own, columns.where, "row of the kernel")
        K = K[np.ix_(order, order)]
    return Nodes(K, None, own, is_kernel=True), ""


def _ids(nodes: Nodes) -> np.ndarray:
    assert nodes.ids is not None
    return nodes.ids


def _plain(graph: RelationGraph) -> RelationGraph:
    """The graph with plain features instead of tables, if all their columns are numbers."""
    tables = [nodes.base for nodes in (graph.nodes, graph.objects)]
    if not all(isinstance(table, Table) and table.is_numeric for table in tables):
        return graph
    first = Nodes(tables[0].to_numpy(), None, graph.nodes.ids)
    second = Nodes(tables[1].to_numpy(), None, graph.objects.ids) if graph.is_two_domain else first
    return RelationGraph.of_parts(first, second, graph.relation, graph.probabilities)


def as_graph_of_tables(method: str, nodes: Any, edges: Any, options: dict[str, Any]) -> RelationGraph:
    """The graph itself, or a graph read from tables; ``method`` is the caller's method in errors."""
    check_options(method, options)
    if not isinstance(nodes, RelationGraph):
        return read_graph(nodes, edges, **options)
    if edges is not None or options:
        raise ValueError("edges and options must be left out when nodes is a RelationGraph, which has its own")
    return nodes
