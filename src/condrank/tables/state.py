"""A ranker of tables in the file of its ranker: encoders and columns beside, as plain values and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from condrank.frames.packing import pack_table, unpack_table
from condrank.graph.transformer import NodeTransformer
from condrank.nodes import Nodes
from condrank.persistence.layout import model_file, read_file, write_file
from condrank.persistence.restoring import Held, ids_from
from condrank.persistence.state import ids_to, put
from condrank.rankers.base import fitted_of
from condrank.rankers.saving import Saved, refuse_index, whole
from condrank.tables.encoder import TableEncoder
from condrank.tables.known import KnownNodes

Arrays = dict[str, np.ndarray]
PREFIX = "tables."
SIDES = ("queries", "objects")


def save(ranker: Any, path: Any, columns: bool) -> None:
    """Write a fitted `TableRanker`."""
    fitted = ranker.ranker_
    if not isinstance(fitted, Saved):
        raise ValueError(f"a {type(fitted).__name__} cannot be saved; a ConditionalRanker can")
    manifest, arrays = fitted.to_state()
    model = fitted_of(ranker.ranker_).model
    known = (ranker._queries, ranker._objects)
    sides = known[: 1 if known[0] is known[1] else 2]
    held = (model.rows.nodes, model.cols.nodes)
    parts: dict[str, Any] = {}
    for side, one, nodes in zip(SIDES, sides, held, strict=False):
        parts[side] = _side_to(f"{PREFIX}{side}.", one, nodes, columns, arrays)
    write_file(path, manifest | {"tables": parts}, arrays)


def load(cls: Any, path: Any, mmap: bool) -> Any:
    """The `TableRanker` of a file; a plain ranker in a file is one without encoders."""
    manifest, arrays = read_file(path, mmap)
    with whole(model_file(path), "model"):
        refuse_index(manifest)
        parts = manifest.pop("tables", {})
        own = {name: arrays.pop(name) for name in [*arrays] if name.startswith(PREFIX)}
        ranker = Saved.from_state(manifest, arrays, mmap)
        model, held = fitted_of(ranker).model, Held(own, mmap)
        sides = SIDES if model.cols is not model.rows else SIDES[:1]
        if parts and set(parts) != set(sides):
            raise ValueError(f"its tables must be those of {list(sides)}, got {sorted(parts)}")
        is_kernel = ranker.kernel == "precomputed"
        known = []
        for side, coordinates in zip(sides, (model.rows, model.cols), strict=False):
            known.append(_side_from(f"{PREFIX}{side}.", parts.get(side), coordinates.nodes, is_kernel, held))
        if held.arrays:
            raise ValueError(f"it holds arrays that no part of the tables asks for: {sorted(held.arrays)}")
        loaded = cls(ranker)
        loaded.ranker_ = ranker
        loaded._queries, loaded._objects = known[0], known[-1]
        loaded._transformer = _transformer(*(known if ranker.rank_by == "outgoing" else reversed(known)))
        return loaded


def _side_to(name: str, known: KnownNodes, held: Nodes, columns: bool, arrays: Arrays) -> dict[str, Any]:
    part: dict[str, Any] = {"id_name": known.id_name, "encoder": None, "columns": None, "nodes": None}
    if known.encoder is not None:
        if not isinstance(known.encoder, TableEncoder):
            raise ValueError(f"a {type(known.encoder).__name__} cannot be saved as an encoder; a TableEncoder can")
        part["encoder"], own = known.encoder.to_state()
        arrays |= {f"{name}encoder.{key}": array for key, array in own.items()}
    if known.table is not None and columns:
        part["columns"], own = pack_table(known.table)
        arrays |= {f"{name}columns.{key}": array for key, array in own.items()}
    if len(held) != len(known.nodes):
        # Early stopping held some nodes out of training, which are known by id all the same.
        put(f"{name}nodes", known.nodes.rows, arrays)
        part["nodes"] = {"ids": ids_to(name + "ids", known.nodes, arrays)}
    return part


def _side_from(name: str, part: dict[str, Any] | None, nodes: Nodes, is_kernel: bool, held: Held) -> KnownNodes:
    if part is None:
        return KnownNodes(nodes, None, None, None, is_kernel)
    id_name, encoder, table = part["id_name"], None, None
    if id_name is not None and not isinstance(id_name, str):
        raise ValueError(f"the name of the column of ids must be a string, got {id_name!r}")
    if part["nodes"] is not None:
        base = held.matrix(f"{name}nodes")
        nodes = Nodes(base, None, ids_from(f"{name}ids", part["nodes"]["ids"], base.shape[0], held))
    if part["encoder"] is not None:
        encoder = TableEncoder.from_state(part["encoder"], _taken(f"{name}encoder.", held))
        if encoder.n_features_out_ != nodes.base.shape[1]:
            raise ValueError(f"the encoder must give {nodes.base.shape[1]} features, got {encoder.n_features_out_}")
    if part["columns"] is not None:
        table = unpack_table(part["columns"], _taken(f"{name}columns.", held))
        if len(table) != len(nodes) or (encoder is not None and table.kinds != encoder.kinds_):
            raise ValueError("the columns must be those of the training nodes")
    return KnownNodes(nodes, encoder, table, id_name, is_kernel)


def _taken(prefix: str, held: Held) -> Arrays:
    """Arrays of a prefix, without it; whoever asked for them checks them."""
    names = [name for name in held.arrays if name.startswith(prefix)]
    return {name.removeprefix(prefix): held.arrays.pop(name) for name in names}


def _transformer(nodes: KnownNodes, objects: KnownNodes | None = None) -> NodeTransformer | None:
    """What encodes other graphs, as when the ranker was fitted."""
    objects = nodes if objects is None else objects
    if nodes.encoder is None:
        return None
    transformer = NodeTransformer(nodes.encoder, objects.encoder)
    transformer.transformer_, transformer.object_transformer_ = nodes.encoder, objects.encoder
    return transformer
