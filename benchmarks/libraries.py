"""Scores of the training pairs by other libraries that fit the same model, or trees on the same edges."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

from condrank import RelationGraph


@dataclass(frozen=True)
class Peer:
    """The name of a row, the module it needs, and a function from a graph and λ to scores of all training pairs."""

    name: str
    module: str
    scores: Callable[[RelationGraph, float], np.ndarray]


def missing(module: str) -> str:
    """Why a module cannot be used, or nothing if it can."""
    return f"{module} is not importable here" if importlib.util.find_spec(module) is None else ""


def edge_features(graph: RelationGraph) -> np.ndarray:
    """Features (n², 2 d) of every pair: those of both nodes. An RBF kernel of them is the Kronecker kernel of pairs."""
    X, n = graph.nodes.rows, len(graph)
    return np.hstack([np.repeat(X, n, axis=0), np.tile(X, (n, 1))])


def kernel_ridge(graph: RelationGraph, alpha: float) -> np.ndarray:
    """scikit-learn's KernelRidge, with every edge as an example."""
    K = rbf_kernel(graph.nodes.rows)
    edges = np.kron(K, K)
    y = graph.to_dense().ravel()
    return KernelRidge(alpha=alpha, kernel="precomputed").fit(edges, y).predict(edges).reshape(graph.shape)


def gaussian_process(graph: RelationGraph, alpha: float) -> np.ndarray:
    """scikit-learn's GaussianProcessRegressor, with every edge as an example and noise of variance λ."""
    edges = edge_features(graph)
    kernel = RBF(np.sqrt(graph.nodes.rows.shape[1] / 2), length_scale_bounds="fixed")
    learner = GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None)
    return np.asarray(learner.fit(edges, graph.to_dense().ravel()).predict(edges)).reshape(graph.shape)


def himalaya(graph: RelationGraph, alpha: float) -> np.ndarray:
    """himalaya's KernelRidge by its default solver, with every edge as an example."""
    library = importlib.import_module("himalaya.kernel_ridge")
    K = rbf_kernel(graph.nodes.rows)
    edges = np.kron(K, K)
    learner = library.KernelRidge(alpha=alpha, kernel="precomputed")
    return np.asarray(learner.fit(edges, graph.to_dense().ravel()).predict(edges)).reshape(graph.shape)


def boosted(graph: RelationGraph, module: str) -> np.ndarray:
    """Gradient-boosted trees on the features of both nodes, with edges as examples."""
    edges = edge_features(graph)
    library = importlib.import_module(module)
    learner = library.LGBMRegressor(verbose=-1) if module == "lightgbm" else library.XGBRegressor()
    return np.asarray(learner.fit(edges, graph.to_dense().ravel()).predict(edges)).reshape(graph.shape)


# A kernel matrix between all edges has n⁴ entries, so these stay small.
ON_EDGES = (
    Peer("scikit-learn KernelRidge on edges, regression", "sklearn", kernel_ridge),
    Peer("scikit-learn GaussianProcessRegressor on edges, regression", "sklearn", gaussian_process),
    Peer("himalaya KernelRidge on edges, regression", "himalaya", himalaya),
)
# Another model: only times and losses are comparable.
TREES = (
    Peer("LightGBM on edges", "lightgbm", lambda graph, _: boosted(graph, "lightgbm")),
    Peer("XGBoost on edges", "xgboost", lambda graph, _: boosted(graph, "xgboost")),
)


class KronRLS:
    """RLScore's closed form for a complete graph; a fit includes the kernel matrix."""

    def __init__(self, graph: RelationGraph, alpha: float):
        self.shape, self.K = graph.shape, rbf_kernel(graph.nodes.rows)
        library: Any = importlib.import_module("rlscore.learner")
        Y = graph.to_dense().ravel(order="F")
        self.learner = library.KronRLS(K1=self.K, K2=self.K, Y=Y, regparam=alpha)

    def again(self, alpha: float) -> KronRLS:
        """Solve for another λ from the same decompositions."""
        self.learner.solve(alpha)
        return self

    def scores(self) -> np.ndarray:
        """Scores of all training pairs."""
        return np.asarray(self.learner.predict(self.K, self.K)).reshape(self.shape, order="F")


def cg_kron_rls(graph: RelationGraph, alpha: float, iterations: int) -> Callable[[], np.ndarray]:
    """Some iterations of RLScore's solver for incomplete graphs; returns a function that scores the observed edges."""
    library: Any = importlib.import_module("rlscore.learner")
    K, edges = rbf_kernel(graph.nodes.rows), graph.relation
    places = {"label_row_inds": edges.sources.astype(np.int32), "label_col_inds": edges.indices.astype(np.int32)}
    learner = library.CGKronRLS(K1=K, K2=K, Y=edges.values, regparam=alpha, maxiter=iterations, **places)
    return lambda: np.asarray(learner.predict(K, K, *places.values())).ravel()
