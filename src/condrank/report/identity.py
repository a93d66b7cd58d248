"""Fingerprints: the same for the same model and the same data, from any file."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from scipy import sparse

from condrank.frames.table import Table
from condrank.graph import RelationGraph
from condrank.nodes import Nodes
from condrank.nodes.views import Views
from condrank.observations import Complete, Edges, Factored
from condrank.persistence.layout import checksum
from condrank.rankers.saving import Saved
from condrank.tables.ranker import TableRanker


def model_fingerprint(ranker: TableRanker) -> str | None:
    """SHA-256 of what a fitted ranker would save: settings and arrays. None if it cannot be saved."""
    fitted = ranker.ranker_
    if not isinstance(fitted, Saved):
        return None
    try:
        manifest, arrays = fitted.to_state()
    except ValueError:  # the kernel is a function of the user, or parameters changed
        return None
    # The plan of the fit does not change predictions, and a later version of the library may plan differently.
    kept = {
        name: manifest[name] for name in ("params", "settings", "model", "prepared", "baseline") if name in manifest
    }
    sums = {name: checksum(array) for name, array in arrays.items()}
    return _digest(json.dumps([kept, sums], sort_keys=True, default=str).encode())


def data_fingerprint(graph: RelationGraph) -> str:
    """SHA-256 of ids, columns or features, and observed relation values of a graph."""
    parts: list[bytes] = []
    for nodes in (graph.nodes, graph.objects)[: 1 + graph.is_two_domain]:
        parts += _of_nodes(nodes)
    relation = graph.relation
    if isinstance(relation, Edges):
        arrays = (relation.sources, relation.indices, relation.values, relation.weights)
    elif isinstance(relation, Factored):
        arrays = (relation.A, relation.S, relation.B)
    else:
        arrays = (relation.Y if isinstance(relation, Complete) else relation.to_dense(),)
    return _digest(*parts, repr(graph.shape).encode(), *(_bytes(array) for array in arrays))


def _of_nodes(nodes: Nodes) -> list[bytes]:
    ids = [] if nodes.ids is None else nodes.ids.tolist()
    parts = [repr(ids).encode(errors="backslashreplace")]
    if isinstance(nodes.base, Views):
        for view in nodes.base.parts:
            parts += [view.encode(errors="backslashreplace"), *_of_nodes(nodes.view(view))]
        return parts
    if isinstance(nodes.base, Table):
        table = nodes.rows
        return parts + [
            repr((name, table.columns[name].tolist())).encode(errors="backslashreplace") for name in table.kinds
        ]
    return [*parts, _bytes(nodes.rows)]


def _bytes(array: Any) -> bytes:
    if sparse.issparse(array):
        array = sparse.coo_array(array)
        return b"".join(_bytes(part) for part in (array.row, array.col, array.data))
    array = np.asarray(array)
    if array.dtype == object:
        return repr(array.tolist()).encode(errors="backslashreplace")
    # The same numbers give the same digest on every platform.
    return np.ascontiguousarray(array, dtype="<f8" if array.dtype.kind == "f" else "<i8").tobytes()


def _digest(*parts: bytes) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "little"))
        whole.update(part)
    return whole.hexdigest()
