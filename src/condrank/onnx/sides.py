"""Each side of a bilinear model as a map from features to a vector, so that a score is an inner product of two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from condrank.kernels.on_features import RBF, Linear
from condrank.models.model import Model
from condrank.nodes import ExplicitFeatures
from condrank.nodes.exact import ExactKernel
from condrank.nodes.feature_maps import OwnFeatures
from condrank.nodes.nystroem import NystroemFeatures
from condrank.nodes.views import Views


@dataclass(frozen=True)
class Affine:
    """The vector xM + b of features x (n, d).

    Attributes
    ----------
    M : ndarray of shape (d, p)
    b : ndarray of shape (p,)
    """

    M: np.ndarray
    b: np.ndarray

    @property
    def n_features(self) -> int:
        """d."""
        return len(self.M)


@dataclass(frozen=True)
class Radial:
    """The vector kM + b with k_j = exp(-γ‖ωx - l_j‖²), of features x (n, d).

    Attributes
    ----------
    weights : ndarray of shape (d,)
        ω, the feature weights.
    points : ndarray of shape (m, d)
        l, weighted landmarks or training nodes.
    gamma : float
    M : ndarray of shape (m, p)
    b : ndarray of shape (p,)
    """

    weights: np.ndarray
    points: np.ndarray
    gamma: float
    M: np.ndarray
    b: np.ndarray

    @property
    def n_features(self) -> int:
        """d."""
        return self.points.shape[1]


Side = Affine | Radial


def sides_of(model: Model) -> tuple[Side, Side]:
    """Vectors of the conditioning nodes and of the objects, whose inner products are the scores without the offset.

    Raises a ValueError for kernels and features that an ONNX file is not made for.
    """
    rows, cols = (_basis(one) for one in (model.rows, model.cols))
    if not model.prior_weight:
        return _side(*rows, model.W), _side(*cols, np.eye(model.W.shape[1]))
    if not isinstance(model.cols, ExplicitFeatures):
        raise ValueError(
            "a similarity prior of an exact kernel cannot be exported; use a linear kernel, or approximate the kernel "
            "by n_components"
        )
    # One vector of features φ for both sides: φᵀ(V W Vᵀ + τ I)φ' includes what is outside the span of training.
    V = np.asarray(model.cols.rotation, dtype=np.float64)
    inner = V @ model.W @ V.T + model.prior_weight * np.eye(len(V))
    leaf, points, to_features = _features(model.cols)
    return _side(leaf, points, to_features, inner), _side(leaf, points, to_features, np.eye(len(V)))


#: The kernel, the points it is taken at (None: the features themselves), and (T, t) with kT + t.
_Basis = tuple[Any, np.ndarray | None, tuple[np.ndarray, np.ndarray]]


def _basis(coordinates: Any) -> _Basis:
    """Coordinates z = kT + t of any node."""
    if isinstance(coordinates, ExplicitFeatures):
        leaf, points, (T, t) = _features(coordinates)
        V = np.asarray(coordinates.rotation, dtype=np.float64)
        return leaf, points, (T @ V, t @ V)
    if isinstance(coordinates, ExactKernel):
        leaf, weight = _leaf(coordinates.kernel)
        points = _dense(coordinates.nodes, leaf)
        basis = np.asarray(coordinates.basis, dtype=np.float64)
        return leaf, points, (weight * basis, coordinates.kernel.constant * basis.sum(axis=0))
    raise ValueError(f"coordinates of class {type(coordinates).__name__} cannot be exported")


def _features(coordinates: ExplicitFeatures) -> _Basis:
    """Explicit features φ = kT + t, the last of them the constant."""
    kernel, features = coordinates.kernel, coordinates.features
    leaf, weight = _leaf(kernel)
    root = np.full(int(bool(kernel.constant)), kernel.constant**0.5)
    if isinstance(features, OwnFeatures):
        _dense(coordinates.nodes, leaf, some=True)
        d = features.n_features
        T, points = weight**0.5 * np.eye(d), None
    elif isinstance(features, NystroemFeatures):
        points, T = _dense(features.landmarks, leaf), weight * np.asarray(features.whitening, dtype=np.float64)
    else:
        raise ValueError("approximation='fourier' cannot be exported; use approximation='nystroem'")
    t = np.concatenate([np.zeros(T.shape[1]), root])
    return leaf, points, (np.hstack([T, np.zeros((len(T), len(root)))]), t)


def _leaf(kernel: Any) -> tuple[Any, float]:
    """The only kernel of a sum beside a constant, and its weight."""
    found = [(weight, one) for weight, one in kernel.summands() if not one.is_constant and weight]
    if len(found) != 1 or not isinstance(found[0][1], Linear | RBF):
        raise ValueError(f"kernel must be linear or rbf (and a constant) to be exported, got {kernel!r}")
    return found[0][1], float(found[0][0])


def _dense(nodes: Any, leaf: Any, some: bool = False) -> np.ndarray:
    """Weighted features of nodes, in double precision; ``some`` only checks that they are dense."""
    if isinstance(nodes.base, Views) or sparse.issparse(nodes.base):
        kind = "views" if isinstance(nodes.base, Views) else "sparse features"
        raise ValueError(f"only rankers of one dense array of features can be exported, got {kind}")
    rows = nodes.block(slice(0, 0)).rows if some else nodes.rows
    return np.asarray(leaf.weighted(np.asarray(rows)), dtype=np.float64)


def _side(leaf: Any, points: np.ndarray | None, coordinates: tuple[np.ndarray, np.ndarray], inner: Any) -> Side:
    """The map to coordinates times ``inner``, as one step after the kernel."""
    T, t = (part @ np.asarray(inner, dtype=np.float64) for part in coordinates)
    if isinstance(leaf, Linear):
        T = T if points is None else points.T @ T
        return Affine(T if leaf.feature_weights is None else T * np.asarray(leaf.feature_weights)[:, None], t)
    assert points is not None
    d = points.shape[1]
    weights = np.ones(d) if leaf.feature_weights is None else np.asarray(leaf.feature_weights)
    return Radial(weights, points, 1.0 / d if leaf.gamma is None else float(leaf.gamma), T, t)
