"""A fitted ranker as a manifest of plain values and named arrays; `condrank.persistence.restoring` is the way back."""

from __future__ import annotations

from datetime import date
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse

from condrank._version import __version__
from condrank.base.dask import is_dask
from condrank.models.compared import ComparedModel
from condrank.models.edge import EdgeModel
from condrank.nodes import Nodes
from condrank.nodes.fourier import FourierFeatures
from condrank.persistence.settings import FITTED, OPTIONAL, agreed_settings, plain, settings_to
from condrank.persistence.sums import sums_to
from condrank.rankers.base import fitted_of

# Fitted arrays of coordinates; the rest of a coordinate map follows from the nodes and these.
ARRAYS = {
    "ExactKernel": ("sigma", "ones", "basis"),
    "ExplicitFeatures": ("sigma", "ones", "rotation"),
    "ApproximateKernel": ("sigma", "ones", "rotation"),
    "KernelValues": (),
}

Arrays = dict[str, np.ndarray]


def to_state(ranker: Any, params: dict[str, Any]) -> tuple[dict[str, Any], Arrays]:
    """Manifest and arrays of a fitted ranker, whose parameters are given."""
    arrays: Arrays = {}
    fitted = fitted_of(ranker)
    model = fitted.model
    if is_dask(model.rows.nodes.base):
        model = model.gathered()
    params = {name: plain(f"parameter {name}", value) for name, value in params.items()}
    settings = settings_to(fitted.settings)
    try:
        agreed_settings(SimpleNamespace(**params), settings, model.rows.nodes, model.cols is not model.rows)
    except ValueError as error:
        raise ValueError(f"the parameters were changed since the fit, fit again before saving: {error}") from None
    manifest = {
        "condrank": __version__,
        "params": params,
        "settings": settings,
        "plan": fitted.plan.to_state(),
        "fitted": {name: plain(name, getattr(ranker, name)) for name in (*FITTED, *OPTIONAL) if hasattr(ranker, name)},
        "model": _model_to(model, arrays),
        "objects": ids_to("objects", fitted.objects, arrays),
        "sums": sums_to(fitted.sums, arrays),
    }
    return manifest, arrays


def _model_to(model: Any, arrays: Arrays) -> dict[str, Any]:
    kind = type(model).__name__
    manifest: dict[str, Any] = {"class": kind, "rows": _coordinates_to("rows", model.rows, arrays)}
    if not isinstance(model, ComparedModel):
        same = model.cols is model.rows
        manifest["cols"] = None if same else _coordinates_to("cols", model.cols, arrays)
        manifest["prior_weight"] = float(model.prior_weight)
    if isinstance(model, EdgeModel):
        edges = model.kernel.edges
        manifest["kernel"] = model.kernel.name
        arrays |= {"sources": edges.sources.astype(np.int64), "targets": edges.indices.astype(np.int64)}
        arrays |= {"labels": edges.values, "label_weights": edges.weights}
    arrays["W"] = np.asarray(model.W)
    shape = [model.rows.n_nodes, model.cols.n_nodes]
    return manifest | {"shape": shape, "offset": float(model.offset), "logistic": bool(model.logistic)}


def _coordinates_to(side: str, coordinates: Any, arrays: Arrays) -> dict[str, Any]:
    kind = type(coordinates).__name__
    nodes = coordinates.nodes
    rows = nodes.kernel_with(nodes) if coordinates.kernel.is_precomputed else nodes.rows
    put(f"{side}.nodes", rows, arrays)
    for name in ARRAYS[kind]:
        arrays[f"{side}.{name}"] = getattr(coordinates, name)
    manifest = {"class": kind, "ids": ids_to(side, nodes, arrays)}
    if kind == "ApproximateKernel":
        manifest |= _features_to(side, coordinates, arrays)
    if ARRAYS[kind]:
        manifest["outside"] = float(coordinates.outside)
        if coordinates.weights is not None:
            arrays[f"{side}.weights"] = coordinates.weights
    return manifest


def _features_to(side: str, coordinates: Any, arrays: Arrays) -> dict[str, Any]:
    """Landmarks (of a precomputed kernel their places) and what multiplies their values, or random frequencies."""
    features = coordinates.features
    if isinstance(features, FourierFeatures):
        arrays[f"{side}.frequencies"] = features.frequencies
        return {"phase": features.phase}
    arrays[f"{side}.whitening"] = features.whitening
    places = coordinates.kernel.is_precomputed
    put(f"{side}.landmarks", coordinates.landmark_places() if places else features.landmarks, arrays)
    return {}


def put(name: str, matrix: Any, arrays: Arrays) -> None:
    """A dense or sparse matrix."""
    if not sparse.issparse(matrix):
        arrays[name] = np.asarray(matrix)
        return
    matrix = sparse.csr_array(matrix)
    arrays |= {f"{name}.{part}": getattr(matrix, part) for part in ("data", "indices", "indptr")}
    arrays[f"{name}.shape"] = np.array(matrix.shape, dtype=np.int64)


def ids_to(side: str, nodes: Nodes, arrays: Arrays) -> dict[str, Any] | None:
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
        hint = "; make dates an array of numpy.datetime64" if isinstance(strange, date) else ""
        raise ValueError(f"ids must be strings, numbers or numpy.datetime64 to be saved, got {strange!r}{hint}")
    return {"dtype": "object" if ids.dtype.kind == "O" else "str", "names": ids.tolist()}
