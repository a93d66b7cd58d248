"""A fitted ranker as a manifest of plain values and named arrays, and back."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy import sparse

from condrank._version import __version__
from condrank.compared_model import ComparedModel
from condrank.edge_model import EdgeModel
from condrank.model import Model
from condrank.nodes import ExactKernel, ExplicitFeatures, NodeKernel, Nodes
from condrank.nodes.values import KernelValues
from condrank.observations import Edges
from condrank.relations import get_relation
from condrank.settings import Settings
from condrank.solvers.edge_kernels import edge_kernel
from condrank.solvers.plan import Plan

COORDINATES = {cls.__name__: cls for cls in (ExactKernel, ExplicitFeatures, KernelValues)}
MODELS = {cls.__name__: cls for cls in (Model, EdgeModel, ComparedModel)}
# Fitted arrays of coordinates; the rest of a coordinate map follows from the nodes and these.
FITTED = {
    "ExactKernel": ("sigma", "ones", "basis"),
    "ExplicitFeatures": ("sigma", "ones", "rotation"),
    "KernelValues": (),
}

Arrays = dict[str, np.ndarray]


def to_state(ranker: Any, params: dict[str, Any]) -> tuple[dict[str, Any], Arrays]:
    """Manifest and arrays of a fitted ranker, whose parameters are given."""
    arrays: Arrays = {}
    model = ranker._fitted()
    settings: Settings = ranker._settings
    manifest = {
        "condrank": __version__,
        "params": {name: plain(f"parameter {name}", value) for name, value in params.items()},
        "settings": _settings_to(settings),
        "plan": dataclasses.asdict(ranker.plan_),
        "fitted": {
            name: plain(name, getattr(ranker, name))
            for name in ("alpha_", "n_iter_", "n_features_in_", "solver_", "history_")
            if hasattr(ranker, name)
        },
        "model": _model_to(model, arrays),
        "objects": _ids_to("objects", ranker._objects, arrays),
    }
    return manifest, arrays


def from_state(ranker: Any, manifest: dict[str, Any], arrays: Arrays) -> None:
    """Give a ranker, made with the manifest's parameters, its fitted attributes."""
    settings = _settings_from(manifest["settings"])
    model = _model_from(manifest["model"], arrays, settings)
    cols = model.rows if isinstance(model, ComparedModel) else model.cols
    objects = Nodes(cols.nodes.base, cols.nodes.index, _ids_from("objects", manifest["objects"], arrays))
    vars(ranker).update(
        manifest["fitted"],
        plan_=Plan(**manifest["plan"]),
        _settings=settings,
        _model=model,
        _objects=objects,
        _system=None,
    )


def plain(name: str, value: Any) -> Any:
    """A value of JSON; anything else is refused by name."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(name, item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: plain(name, item) for key, item in value.items()}
    what = "a function, and loading a model must run no code" if callable(value) else f"a {type(value).__name__}"
    raise ValueError(
        f"{name} cannot be saved: it is {what}; numbers, strings, lists and dicts can. A callable kernel can be "
        "evaluated beforehand (kernel='precomputed')"
    )


def _settings_to(settings: Settings) -> dict[str, Any]:
    fields = {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}
    fields["relation"] = settings.relation.name
    fields["kernel"] = _kernel_to(settings.kernel)
    return {name: plain(name, value) for name, value in fields.items()}


def _settings_from(given: dict[str, Any]) -> Settings:
    fields: dict[str, Any] = dict(given)
    fields |= {"relation": get_relation(given["relation"]), "kernel": _kernel_from(given["kernel"])}
    fields["compared"] = tuple(given["compared"])
    return Settings(**fields)


def _kernel_to(kernel: NodeKernel) -> dict[str, Any]:
    fields = {field.name: getattr(kernel, field.name) for field in dataclasses.fields(kernel)}
    return {name: plain(f"kernel {name}", value) for name, value in fields.items()}


def _kernel_from(given: dict[str, Any]) -> NodeKernel:
    fields: dict[str, Any] = dict(given)
    fields["weights"] = None if given["weights"] is None else tuple(given["weights"])
    return NodeKernel(**fields)


def _model_to(model: Any, arrays: Arrays) -> dict[str, Any]:
    kind = type(model).__name__
    manifest: dict[str, Any] = {"class": kind, "rows": _coordinates_to("rows", model.rows, arrays)}
    if not isinstance(model, ComparedModel):
        same = model.cols is model.rows
        manifest["cols"] = None if same else _coordinates_to("cols", model.cols, arrays)
        manifest["prior_weight"] = float(model.prior_weight)
    if isinstance(model, EdgeModel):
        edges = model.kernel.edges
        manifest |= {"kernel": model.kernel.name, "shape": list(edges.shape)}
        arrays |= {"sources": edges.sources.astype(np.int64), "targets": edges.indices.astype(np.int64)}
        arrays |= {"labels": edges.values, "label_weights": edges.weights}
    arrays["W"] = np.asarray(model.W)
    return manifest | {"offset": float(model.offset), "logistic": bool(getattr(model, "logistic", False))}


def _model_from(given: dict[str, Any], arrays: Arrays, settings: Settings) -> Any:
    rows = _coordinates_from("rows", given["rows"], arrays, settings.kernel)
    common: dict[str, Any] = {"offset": given["offset"]}
    if "logistic" in {field.name for field in dataclasses.fields(MODELS[given["class"]])}:
        common["logistic"] = given["logistic"]
    if given["class"] == "ComparedModel":
        return ComparedModel(rows, settings.compared, arrays["W"], **common)
    cols = rows if given["cols"] is None else _coordinates_from("cols", given["cols"], arrays, settings.kernel)
    common["prior_weight"] = given["prior_weight"]
    if given["class"] == "Model":
        return Model(rows, cols, arrays["W"], **common)
    n, m = given["shape"]
    edges = Edges(arrays["sources"], arrays["targets"], arrays["labels"], arrays["label_weights"], (n, m))
    kernel = edge_kernel(given["kernel"], rows.K, None if cols is rows else cols.K, edges)
    return EdgeModel(rows, cols, kernel, arrays["W"], **common)


def _coordinates_to(side: str, coordinates: Any, arrays: Arrays) -> dict[str, Any]:
    kind = type(coordinates).__name__
    nodes = coordinates.nodes
    rows = nodes.kernel_with(nodes) if coordinates.kernel.is_precomputed else nodes.rows
    _put(f"{side}.nodes", rows, arrays)
    for name in FITTED[kind]:
        arrays[f"{side}.{name}"] = getattr(coordinates, name)
    manifest = {"class": kind, "ids": _ids_to(side, nodes, arrays)}
    if FITTED[kind]:
        manifest["outside"] = float(coordinates.outside)
        if coordinates.weights is not None:
            arrays[f"{side}.weights"] = coordinates.weights
    return manifest


def _coordinates_from(side: str, given: dict[str, Any], arrays: Arrays, kernel: NodeKernel) -> Any:
    kind = COORDINATES[given["class"]]
    nodes = Nodes(_take(f"{side}.nodes", arrays), None, _ids_from(side, given["ids"], arrays))
    if kind is KernelValues:
        return KernelValues(kernel, nodes)  # the kernel matrix is made anew
    coordinates: Any = kind.__new__(kind)
    coordinates.kernel, coordinates.nodes, coordinates.n_nodes = kernel, nodes, len(nodes)
    coordinates.weights, coordinates.outside = arrays.get(f"{side}.weights"), given["outside"]
    for name in FITTED[given["class"]]:
        setattr(coordinates, name, arrays[f"{side}.{name}"])
    if kind is ExplicitFeatures:
        coordinates.basis = coordinates._raw(nodes)
    return coordinates


def _put(name: str, matrix: Any, arrays: Arrays) -> None:
    """A dense or sparse matrix."""
    if not sparse.issparse(matrix):
        arrays[name] = np.asarray(matrix)
        return
    matrix = sparse.csr_array(matrix)
    arrays |= {f"{name}.{part}": getattr(matrix, part) for part in ("data", "indices", "indptr")}
    arrays[f"{name}.shape"] = np.array(matrix.shape, dtype=np.int64)


def _take(name: str, arrays: Arrays) -> Any:
    if name in arrays:
        return arrays[name]
    data, indices, indptr, shape = (arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr", "shape"))
    matrix = sparse.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
    matrix.check_format()
    return matrix


def _ids_to(side: str, nodes: Nodes, arrays: Arrays) -> dict[str, Any] | None:
    """Ids of numbers go into an array, dates as the numbers they are, others as they are if JSON has them."""
    ids = nodes.ids
    if ids is None:
        return None
    if ids.dtype.kind in "iufbmM":
        numbers = ids.view(np.int64) if ids.dtype.kind in "mM" else ids.astype(f"{ids.dtype.kind}8", copy=False)
        numbers = ids if ids.dtype.kind == "b" else numbers
        arrays[f"{side}.ids"] = numbers.view(np.int64) if numbers.dtype.kind == "u" else numbers
        return {"dtype": ids.dtype.str}
    if not all(isinstance(one, str | int | float | bool) for one in ids.tolist()):
        strange = next(one for one in ids.tolist() if not isinstance(one, str | int | float | bool))
        raise ValueError(f"ids must be strings, numbers or dates to be saved, got {strange!r}")
    return {"dtype": "object" if ids.dtype.kind == "O" else "str", "names": ids.tolist()}


def _ids_from(side: str, given: dict[str, Any] | None, arrays: Arrays) -> np.ndarray | None:
    if given is None:
        return None
    if "names" in given:
        return np.array(given["names"], dtype=object if given["dtype"] == "object" else str)
    dtype, numbers = np.dtype(given["dtype"]), arrays[f"{side}.ids"]
    if dtype.kind in "mM":
        return numbers.view(dtype)
    return numbers.view(np.uint64).astype(dtype) if dtype.kind == "u" else numbers.astype(dtype)
