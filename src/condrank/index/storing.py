"""An index as one file: its ranker's, as `condrank.persistence` writes it, and beside that the objects."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from condrank.index.approximate import Graph, GraphSettings
from condrank.index.objects import Held, ObjectIndex
from condrank.index.vectors import InnerProducts
from condrank.nodes import Nodes
from condrank.persistence import read_file, write_file
from condrank.persistence import restoring as files
from condrank.persistence.layout import checksum, model_file
from condrank.persistence.state import ids_to, put
from condrank.rankers.base import fitted_of
from condrank.rankers.saving import Saved, whole

VERSION = 1
FILE_NAME = "index.safetensors"
PREFIX = "index."


def save_index(index: ObjectIndex, path: Any) -> None:
    """Write an index; one whose ranker cannot be saved is refused."""
    if not isinstance(index.ranker, Saved):
        raise ValueError(f"an index is saved with its ranker, and a {type(index.ranker).__name__} cannot be saved")
    manifest, arrays = index.ranker.to_state()
    with index._changing:
        held, graph = index._held, index._graph
        stored = None if graph is None else graph.to_bytes()
    about: dict[str, Any] = {"version": VERSION, "n": held.n, "n_gone": len(held.gone), "graph": None}
    own: dict[str, np.ndarray] = {}
    parts = [_part(part, index) for part in (held.objects if isinstance(held.objects, tuple) else (held.objects,))]
    about["stored"] = [part is not None for part in parts]
    for number, part in enumerate(parts):
        if part is not None:
            put(f"index.objects.{number}", part, own)
    own["index.gone"] = held.gone.astype(np.int64)
    # A name may have been given again: only those of the objects that are there differ from each other.
    names = None if held.ids is None else np.delete(held.ids, held.gone)
    about["ids"] = ids_to("index", Nodes(np.empty((held.n - len(held.gone), 0)), None, names), own)
    if graph is not None and stored is not None:
        about["graph"] = dataclasses.asdict(graph.settings)
        own |= {"index.mean": graph.mean, "index.to_object": graph.to_object, "index.to_query": graph.to_query}
        own["index.graph"] = stored  # last, as its length need not be a multiple of anything
    write_file(model_file(path, FILE_NAME), manifest | {"index": about}, arrays | own)


def load_index(kind: type[ObjectIndex], path: Any, mmap: bool) -> ObjectIndex:
    """The index of a file, whose parts are checked against each other."""
    file = model_file(path, FILE_NAME)
    manifest, arrays = read_file(file, mmap)
    about = manifest.get("index")
    if not isinstance(about, dict):
        raise ValueError(f"{file} holds a ranker, but no index")
    if about.get("version") != VERSION:
        raise ValueError(f"{file} has version {about.get('version')!r} of an index; this condrank reads {VERSION}")
    own = {name: array for name, array in arrays.items() if name.startswith(PREFIX)}
    with whole(file, "index"):
        index = kind.__new__(kind)
        index.ranker = Saved.from_state(manifest, {name: arrays[name] for name in arrays if name not in own}, mmap)
        scorer, held = fitted_of(index.ranker).model, files.Held(own, mmap)
        products = InnerProducts(scorer) if InnerProducts.applies(scorer) else None
        objects, n = _objects(about, products, index.ranker, held)
        gone = held.places("index.gone", about["n_gone"], n).astype(np.intp)
        if about["n"] != n or (np.diff(gone) <= 0).any():
            raise ValueError(f"{about['n']} positions and {len(gone)} removed ones do not agree with {n} objects")
        names = files.ids_from("index", about["ids"], n - len(gone), held)
        graph = None if about["graph"] is None else _graph(about["graph"], objects, manifest["sha256"], held)
        if held.arrays:
            raise ValueError(f"it holds arrays that no part of the index asks for: {sorted(held.arrays)}")
        index._set(products, Held(objects, n, gone, _spread(names, gone, n)), graph)
    return index


def _part(objects: Any, index: ObjectIndex) -> Any:
    """What is stored of some objects: None for training objects, which the ranker's part of the file has."""
    cols = getattr(fitted_of(index.ranker).model, "cols", None)
    if objects is None or cols is None:
        return None
    if not isinstance(objects, Nodes):
        training = cols.nodes.rows
        return None if objects is training or (cols.nodes.is_view and _same_memory(objects, training)) else objects
    # Of a precomputed kernel only values against the training nodes keep their meaning in a file.
    return cols._look_up(objects, cols.nodes) if cols.kernel.is_precomputed else objects.rows


def _same_memory(one: Any, other: Any) -> bool:
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray) or one.dtype != other.dtype:
        return False
    return one.shape == other.shape and one.strides == other.strides and one.ctypes.data == other.ctypes.data


def _objects(about: dict[str, Any], products: InnerProducts | None, ranker: Any, held: files.Held) -> tuple[Any, int]:
    """Objects as an index holds them, and their number."""
    stored = [held.matrix(f"index.objects.{number}") if there else None for number, there in enumerate(about["stored"])]
    if products is None:
        parts = tuple(None if part is None else Nodes(part) for part in stored)
        return parts, sum(len(fitted_of(ranker).objects if part is None else part) for part in parts)
    (vectors,) = stored
    if vectors is None:
        if not products.in_node_data:
            raise ValueError("the vectors of its objects are missing")
        vectors = products.of_objects(None)
    if vectors.shape[1] != products.length:
        raise ValueError(f"objects must have vectors of length {products.length}, got {vectors.shape[1]}")
    return vectors, vectors.shape[0]


def _graph(given: dict[str, Any], objects: np.ndarray, sums: dict[str, str], held: files.Held) -> Graph:
    # A damaged graph could lead a search anywhere in memory: its checksum is compared even if others are not.
    stored = held.arrays.pop("index.graph")
    if checksum(stored) != sums.get("index.graph"):
        raise ValueError("the checksum of its graph does not match")
    n, p = objects.shape
    to_object = held.floats("index.to_object", p, None)
    maps = held.floats("index.mean", p), to_object, held.floats("index.to_query", *to_object.shape)
    return Graph(GraphSettings(**given).checked(), *maps, stored=stored, n=n)


def _spread(names: np.ndarray | None, gone: np.ndarray, n: int) -> np.ndarray | None:
    """Names at the positions of their objects."""
    if names is None or len(gone) == 0:
        return names
    spread = np.zeros(n, dtype=names.dtype)
    spread[np.delete(np.arange(n), gone)] = names
    return spread
