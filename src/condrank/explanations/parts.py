"""Contributions of the parts of a kernel: the coordinates of a sum of kernels are sums over its parts.

z(v) = Pᵀk_v is linear in the kernel values, so k = Σ_a w_a k_a gives z = Σ_a z_a, and zᵀWz' = Σ_ab z_aᵀ W z'_b.
Compared features, prior, intercept and the centre of the scale are further parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from condrank.base.dense import dense
from condrank.explanations.asked import Asked
from condrank.explanations.terms import Terms
from condrank.kernels import Kernel
from condrank.models import ComparedModel, EdgeModel
from condrank.nodes import ExplicitFeatures, Nodes
from condrank.nodes.exact import ExactKernel
from condrank.nodes.feature_maps import OwnFeatures
from condrank.nodes.nystroem import NystroemFeatures
from condrank.nodes.similarity import NodeSimilarity
from condrank.products.kronecker import KroneckerEdges

# What the parts of scores with an edge kernel that is not a Kronecker kernel belong to.
MAIN = (("query", ""), ("", "object"))
OWN_PARTS = {"linear": MAIN, "ranking": MAIN, "poly2D": (*MAIN, ("query", "object"))}


@dataclass(frozen=True)
class Part:
    """One summand of a node kernel, and what it adds to the coordinates of some nodes.

    Attributes
    ----------
    name : str
        The view, or the kernel as text.
    kernel : Kernel
        The summand without its weight.
    coordinates : ndarray of shape (m, r)
        What it adds to the coordinates.
    features : ndarray or scipy sparse array of shape (m, d), or None
        Explicit features φ of the nodes, if the summand has them.
    pull : callable or None
        u (r,) to g (d,) with z_aᵀu = φᵀg.
    """

    name: str
    kernel: Kernel
    coordinates: np.ndarray
    features: Any = None
    pull: Callable[[np.ndarray], np.ndarray] | None = None


def parts_of(coordinates: Any, nodes: Nodes) -> list[Part]:
    """The parts of the coordinates of some nodes; their sum is ``coordinates.transform(nodes)``."""
    kernel: Kernel = coordinates.kernel
    summands: list[tuple[float, Any]] = [(w, one) for w, one in kernel.summands() if w and not one.is_constant]
    names = _names([one for _, one in summands])
    if isinstance(coordinates, ExplicitFeatures):
        found, last = _of_features(coordinates, summands, names, nodes)
    else:
        if isinstance(coordinates, ExactKernel):
            linear = Linear.by(coordinates.basis)
        else:
            linear = Linear(coordinates.projected, lambda u: coordinates.projected(u[None])[0])
        found = _of_kernel(coordinates, coordinates.nodes, linear, summands, names, nodes)
        last = linear.forward(np.full((1, coordinates.n_nodes), kernel.constant))[0]
    if kernel.constant:
        constant = next(one for _, one in kernel.summands() if one.is_constant)
        found.append(Part("constant", constant, np.repeat(last[None], len(nodes), axis=0)))
    return found


def parts_of_objects(asked: Asked) -> list[Part]:
    """The parts of the coordinates of the objects, one row for each."""
    sides = [parts_of(asked.model.cols, one) for one in asked.objects]
    return [_stacked(one) for one in zip(*sides, strict=True)]


def _stacked(parts: tuple[Part, ...]) -> Part:
    """One part of several nodes."""
    rows = [part.features for part in parts]
    if any(one is None for one in rows):
        features = None
    else:
        stack = sparse.vstack if any(map(sparse.issparse, rows)) else np.vstack
        features = stack(rows)
    return replace(parts[0], coordinates=np.vstack([part.coordinates for part in parts]), features=features)


class Linear(NamedTuple):
    """A linear map of kernel values (m, n) to coordinates (m, r), and its transpose, of one vector (r,)."""

    forward: Callable[[np.ndarray], np.ndarray]
    back: Callable[[np.ndarray], np.ndarray]

    @classmethod
    def by(cls, basis: np.ndarray) -> Linear:
        """The product with a matrix (n, r)."""
        return cls(lambda K: K @ basis, lambda u: basis @ u)


def _of_features(
    coordinates: ExplicitFeatures, summands: list[tuple[float, Any]], names: list[str], nodes: Nodes
) -> tuple[list[Part], np.ndarray]:
    """Parts of Vᵀφ, whose features belong to one summand each; and the row of V that the constant has."""
    V, features = coordinates.rotation, coordinates.features
    constant = coordinates.kernel.constant
    body = V[: len(V) - bool(constant)]
    if isinstance(features, NystroemFeatures):
        linear = Linear.by(features.whitening @ body)
        found = _of_kernel(features.similarity, features.landmarks, linear, summands, names, nodes)
    elif isinstance(features, OwnFeatures):
        found, start = list[Part](), 0
        for name, (weight, one) in zip(names, summands, strict=True):
            X = one.features(nodes.view(one.view).rows) * weight**0.5
            own = body[start : start + X.shape[1]]
            found.append(Part(name, one, dense(X @ own), X, own.__matmul__))
            start += X.shape[1]
    else:
        whole = coordinates.kernel.body
        found = [Part(whole.label, whole, np.asarray(features(nodes)) @ body)]
    return found, constant**0.5 * V[-1]


def _of_kernel(
    similarity: NodeSimilarity,
    others: Nodes,
    linear: Linear,
    summands: list[tuple[float, Any]],
    names: list[str],
    nodes: Nodes,
) -> list[Part]:
    """Parts of a linear map of kernel values, from the values of each summand against some nodes."""
    found = []
    for name, (weight, one) in zip(names, summands, strict=True):
        values = weight * similarity.part(one, nodes, others)
        features = pull = None
        if hasattr(one, "features"):
            features, known = (one.features(each.view(one.view).rows) for each in (nodes, others))
            pull = _pull(known, weight, linear)
        found.append(Part(name, one, linear.forward(values), features, pull))
    return found


def _pull(known: Any, weight: float, linear: Linear) -> Callable[[np.ndarray], np.ndarray]:
    return lambda u: weight * np.asarray(known.T @ linear.back(u)).ravel()


def _names(kernels: list[Kernel]) -> list[str]:
    """The views of kernels, or the kernels as text where views do not tell them apart."""
    views = [getattr(one, "view", None) for one in kernels]
    return [view if view and views.count(view) == 1 else one.label for view, one in zip(views, kernels, strict=True)]


def terms_of_parts(asked: Asked, rest: dict[str, float], feature_names: Callable[[int], str]) -> Terms:
    """Contributions of pairs of parts. ``feature_names`` gives the names of compared features."""
    model = asked.model
    if isinstance(model, EdgeModel) and not isinstance(model.kernel, KroneckerEdges):
        rows = _own_parts(asked)
    else:
        rows, queries, objects = [], parts_of(model.rows, asked.query), parts_of_objects(asked)
        W = model.dual() if isinstance(model, EdgeModel) else model.W
        W = W[0] if isinstance(model, ComparedModel) else W
        for one in queries:
            left = np.asarray(W.T @ one.coordinates[0]).ravel()
            rows += [(one.name, other.name, asked.difference(other.coordinates @ left)) for other in objects]
        if isinstance(model, ComparedModel):
            rows += [("compared", feature_names(f), value) for f, value in compared_parts(asked)]
    rows += [(name, "", value) for name, value in rest.items()]
    first, second = (np.array([row[side] for row in rows], dtype=object) for side in (0, 1))
    values = np.array([row[2] for row in rows], dtype=np.float64)
    return Terms("parts", values, {}, lambda at: {"query_part": first[at], "object_part": second[at]})


def compared_parts(asked: Asked) -> list[tuple[int, float]]:
    """Contribution of each compared feature, by its index."""
    model, (left, others) = asked.model, asked.coordinates
    return [
        (feature, float(asked.difference(signs * (others @ (W.T @ left)))))
        for feature, signs, W in zip(model.compared, asked.compared_signs(), model.W[1:], strict=True)
    ]


def _own_parts(asked: Asked) -> list[tuple[str, str, float]]:
    """Parts of an edge kernel that is itself a sum over the ends of an edge; otherwise the whole score is one part."""
    model, kernel = asked.model, asked.model.kernel
    if kernel.name not in OWN_PARTS:
        return [("pair", "pair", float(asked.edge_values() @ model.W))]
    k, others = asked.coordinates
    X = kernel.edges.matrix(model.W)
    out, into = np.asarray(X.sum(axis=1)).ravel(), np.asarray(X.sum(axis=0)).ravel()
    count = float(asked.signs.sum())
    if kernel.name == "linear":
        values = [count * (k @ out), asked.difference(others @ into)]
    elif kernel.name == "ranking":
        values = [count * (k @ (out - into)), -asked.difference(others @ (out - into))]
    else:
        both = asked.difference(others @ np.asarray(X.T @ k).ravel())
        values = [count * (k**2 @ out), asked.difference(others**2 @ into), 2 * both]
    return [(*ends, float(value)) for ends, value in zip(OWN_PARTS[kernel.name], values, strict=True)]
