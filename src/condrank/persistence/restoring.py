"""A fitted ranker from the manifest and the arrays of a file, which are checked against each other."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from scipy import sparse

from condrank.base.checks import check_choice, check_count, check_number, check_numbers
from condrank.fitting.fitted import FittedRanker
from condrank.fitting.plan import Plan
from condrank.models.compared import ComparedModel
from condrank.models.edge import EdgeModel
from condrank.models.model import Model
from condrank.nodes import ApproximateKernel, ExactKernel, ExplicitFeatures, Nodes
from condrank.nodes.checking import check_ids
from condrank.nodes.feature_maps import own_features
from condrank.nodes.fourier import FourierFeatures
from condrank.nodes.nystroem import NystroemFeatures
from condrank.nodes.similarity import NodeSimilarity
from condrank.nodes.values import KernelValues
from condrank.observations import Edges
from condrank.persistence.settings import FITTED, OPTIONAL, agreed_settings, check_same
from condrank.persistence.sums import sums_from
from condrank.problem.settings import Settings
from condrank.products.edge_kernels import edge_kernel
from condrank.solvers import SOLVERS

NUMBERS = re.compile(r"[<>|=]([iufbmM])\d+(\[\w+\])?")  # types of ids


def from_state(ranker: Any, manifest: dict[str, Any], arrays: dict[str, np.ndarray], mmap: bool) -> FittedRanker:
    """The fitted state of a ranker that is made with the manifest's parameters.

    With ``mmap`` only types and shapes of the big arrays are checked, as looking at their values would read them.
    """
    held, given = Held(arrays, mmap), manifest["model"]
    two_domains = given.get("cols") is not None
    rows = _nodes("rows", given["rows"], held)
    cols = _nodes("cols", given["cols"], held) if two_domains else rows
    settings = agreed_settings(ranker, manifest["settings"], rows, two_domains)
    plan = Plan.from_state(manifest["plan"])
    n_iter, history = _fitted(manifest["fitted"], settings, plan, rows)
    model = _model(given, rows, cols, settings, plan.solver, held)
    sums = sums_from(manifest.get("sums"), model, held)
    objects = Nodes(cols.base, None, ids_from("objects", manifest["objects"], len(cols), held))
    if held.arrays:
        raise ValueError(f"it holds arrays that no part of the model asks for: {sorted(held.arrays)}")
    return FittedRanker(model, objects, rows.base.shape[1], settings, plan, n_iter, history, sums=sums)


class Held:
    """The arrays of a file, each taken once, and checked as it is taken."""

    def __init__(self, arrays: dict[str, np.ndarray], mmap: bool):
        self.arrays, self.mmap = dict(arrays), mmap

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def take(self, name: str, kind: str, *shape: int | None) -> np.ndarray:
        """An array of a kind of numbers and a shape; None: any length but 0."""
        array = self.arrays.pop(name)
        fits = array.ndim == len(shape) and all(
            length == expected if expected is not None else length > 0
            for length, expected in zip(array.shape, shape, strict=True)
        )
        if not fits or array.dtype.kind != kind:
            wanted = {"f": "floating", "i": "whole", "b": "boolean"}[kind]
            lengths = ", ".join("any" if length is None else str(length) for length in shape)
            raise ValueError(f"{name} must be {wanted} of shape ({lengths}), got {array.dtype} of shape {array.shape}")
        return array

    def floats(self, name: str, *shape: int | None) -> np.ndarray:
        """A floating array, finite."""
        array = self.take(name, "f", *shape)
        if not self.mmap and not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite")
        return array

    def positive(self, name: str, length: int | None) -> np.ndarray:
        """A floating vector, finite and greater than zero."""
        array = self.floats(name, length)
        if not (array > 0).all():
            raise ValueError(f"{name} must be greater than zero")
        return array

    def places(self, name: str, length: int | None, n: int) -> np.ndarray:
        """Positions of nodes, within 0..n - 1."""
        array = self.take(name, "i", length)
        if array.min(initial=0) < 0 or array.max(initial=0) >= n:
            raise ValueError(f"{name} must lie within 0..{n - 1}")
        return array

    def matrix(self, name: str, least_rows: int = 1) -> Any:
        """A dense or sparse matrix, floating and finite."""
        if name in self:
            empty = least_rows == 0 and len(self.arrays[name]) == 0
            return self.floats(name, 0 if empty else None, None)
        n, d = self.take(f"{name}.shape", "i", 2).tolist()
        if n < 1 or d < 1:
            raise ValueError(f"{name} must have at least one row and one column, got shape {(n, d)}")
        indptr = self.take(f"{name}.indptr", "i", n + 1)
        indices = self.take(f"{name}.indices", "i", int(indptr[-1]))
        matrix = sparse.csr_array((self.floats(f"{name}.data", len(indices)), indices, indptr), shape=(n, d))
        matrix.check_format()
        return matrix


def _nodes(side: str, given: dict[str, Any], held: Held) -> Nodes:
    base = held.matrix(f"{side}.nodes", least_rows=0)
    return Nodes(base, None, ids_from(side, given["ids"], base.shape[0], held))


def ids_from(side: str, given: dict[str, Any] | None, n: int, held: Held) -> np.ndarray | None:
    """Ids of n nodes, as `condrank.persistence.state.ids_to` put them."""
    if given is None:
        return None
    name, kind = f"ids of {side}", given["dtype"]
    if "names" in given:
        check_choice(f"type of {name}", kind, ("str", "object"))
        allowed = str if kind == "str" else str | int | float | bool
        if not isinstance(given["names"], list) or not all(isinstance(one, allowed) for one in given["names"]):
            raise ValueError(f"{name} must be strings (or numbers, of type object), got {given['names']!r:.100}")
        return check_ids(np.array(given["names"], dtype=kind), n, name)
    match = NUMBERS.fullmatch(kind)
    if match is None:
        raise ValueError(f"{name} must be numbers or dates, got type {kind!r}")
    dtype = np.dtype(kind)
    numbers = held.take(f"{side}.ids", match[1] if match[1] in "fb" else "i", n)
    if dtype.kind in "mM":
        return check_ids(numbers.view(dtype), n, name)
    return check_ids((numbers.view(np.uint64) if dtype.kind == "u" else numbers).astype(dtype), n, name)


def _fitted(
    given: dict[str, Any], settings: Settings, plan: Plan, rows: Nodes
) -> tuple[int | None, tuple[float, ...] | None]:
    """Iterations and history, from fitted attributes that agree with the rest."""
    if not set(FITTED) <= set(given) <= {*FITTED, *OPTIONAL}:
        raise ValueError(f"fitted attributes must be {[*FITTED]} and, for early stopping, history_, got {[*given]}")
    check_same("alpha_", given["alpha_"], settings.alpha)
    check_same("solver_", given["solver_"], plan.solver)
    check_same("n_features_in_", given["n_features_in_"], rows.base.shape[1])
    n_iter = given["n_iter_"]
    if n_iter is not None and (type(n_iter) is not int or n_iter < 0):
        raise ValueError(f"n_iter_ must be a whole number of at least 0 or None, got {n_iter!r}")
    return n_iter, tuple(check_numbers("history_", given["history_"])) if "history_" in given else None


def _model(given: dict[str, Any], rows: Nodes, cols: Nodes, settings: Settings, solver: str, held: Held) -> Any:
    in_dual = SOLVERS[solver].over_edges
    kind = EdgeModel if in_dual else ComparedModel if settings.compared else Model
    logistic = not settings.loss.is_quadratic
    follows: dict[str, Any] = {"class": kind.__name__, "shape": [len(rows), len(cols)]}
    if len(rows) == len(cols) == 0:  # nodes that partial_fit has not kept
        follows["shape"] = [check_count("number of nodes", n) for n in given["shape"]]
    follows |= {"offset": settings.centre, "logistic": logistic}
    if kind is not ComparedModel:
        follows["prior_weight"] = settings.prior_weight
    if in_dual:
        follows["kernel"] = settings.pairwise_kernel or settings.relation.name
    for name, expected in follows.items():
        check_same(f"{name} of the model", given[name], expected)
    first = _coordinates("rows", given["rows"], rows, settings, in_dual, held)
    second = first if cols is rows else _coordinates("cols", given["cols"], cols, settings, in_dual, held)
    first.n_nodes, second.n_nodes = follows["shape"]
    if in_dual:
        return _edge_model(first, second, follows["kernel"], settings, held)
    r = len(first.sigma)
    if settings.compared:
        W = held.floats("W", 1 + len(settings.compared), r, r)
        return ComparedModel(first, settings.compared, W, settings.centre, logistic)
    W = held.floats("W", r, len(second.sigma))
    return Model(first, second, W, settings.prior_weight, settings.centre, logistic)


def _edge_model(rows: KernelValues, cols: KernelValues, name: str, settings: Settings, held: Held) -> EdgeModel:
    labels = held.floats("labels", None)
    n_pairs, shape = len(labels), (rows.n_nodes, cols.n_nodes)
    sources, targets = (held.places(end, n_pairs, n) for end, n in zip(("sources", "targets"), shape, strict=True))
    edges = Edges(sources, targets, labels, held.positive("label_weights", n_pairs), shape)
    W = held.floats("W", n_pairs)
    if edges.n_pairs != n_pairs:
        raise ValueError(f"sources and targets must be {n_pairs} different pairs, got {edges.n_pairs}")
    kernel = edge_kernel(name, rows.K, None if cols is rows else cols.K, edges)
    return EdgeModel(rows, cols, kernel, W, settings.prior_weight, settings.centre, not settings.loss.is_quadratic)


def _coordinates(side: str, given: dict[str, Any], nodes: Nodes, settings: Settings, in_dual: bool, held: Held) -> Any:
    kernel = settings.kernel
    kinds: dict[str, Any] = {ExactKernel.__name__: ExactKernel}
    if kernel.name in ("linear", "cosine"):
        kinds[ExplicitFeatures.__name__] = ExplicitFeatures
    if settings.approximation is not None:
        kinds[ApproximateKernel.__name__] = ApproximateKernel
    if len(nodes) == 0 and (in_dual or given["class"] == ExactKernel.__name__):
        raise ValueError(f"coordinates of {side} need training nodes, and there are none")
    check_choice(f"coordinates of {side}", given["class"], (KernelValues.__name__,) if in_dual else tuple(kinds))
    if in_dual:
        return KernelValues(kernel, nodes)  # the kernel matrix is made anew
    n, d = nodes.base.shape
    kind = kinds[given["class"]]
    coordinates: Any = kind.__new__(kind)
    coordinates.kernel, coordinates.nodes, coordinates.n_nodes = kernel, nodes, n
    coordinates.sigma = held.positive(f"{side}.sigma", None)
    r = len(coordinates.sigma)
    coordinates.ones = held.floats(f"{side}.ones", r)
    coordinates.outside = check_number(f"outside of {side}", given["outside"], at_least=0.0)
    coordinates.weights = held.positive(f"{side}.weights", n) if f"{side}.weights" in held else None
    if kind is not ExactKernel:
        approximate = kind is ApproximateKernel
        features = _features(side, given, nodes, settings, held) if approximate else own_features(kernel, d)
        coordinates.rotation = held.floats(f"{side}.rotation", features.n_features + kernel.constant, r)
        coordinates.features = features
        return coordinates
    NodeSimilarity(kernel, nodes)  # refuses a kernel matrix that is none
    coordinates.basis = held.floats(f"{side}.basis", n, r)
    if not held.mmap and not np.isfinite(coordinates.similarity(nodes.block(slice(1)), None)).all():
        raise ValueError("the kernel values of the nodes overflow")
    return coordinates


def _features(side: str, given: dict[str, Any], nodes: Nodes, settings: Settings, held: Held) -> Any:
    """Features of an approximate kernel."""
    kernel, (n, d), approximation = settings.kernel, nodes.base.shape, settings.approximation
    assert approximation is not None
    if approximation.name == "fourier":
        m = int(approximation.n_components)
        phase = check_number(f"phase of {side}", given["phase"], at_least=0.0)
        return FourierFeatures(kernel, held.floats(f"{side}.frequencies", d, (m + 1) // 2), phase, m)
    if kernel.is_precomputed:
        NodeSimilarity(kernel, nodes)
        landmarks: Any = held.places(f"{side}.landmarks", None, n)
        m = len(landmarks)
    else:
        landmarks = held.matrix(f"{side}.landmarks")
        m = landmarks.shape[0]
        check_same(f"number of features of the landmarks of {side}", landmarks.shape[1], d)
    return NystroemFeatures(kernel, landmarks, held.floats(f"{side}.whitening", m, None))
