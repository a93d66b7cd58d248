"""Random calls of the library: every combination gives what the naive twin gives, or a clear ValueError."""

from __future__ import annotations

import importlib.util
import warnings
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from benchmarks.soaking.trials import Found, clear_refusals
from condrank import ConditionalRanker, ObjectIndex, RelationGraph

ROOT = Path(__file__).resolve().parents[2]
FORMS = ("complete", "holes", "edges", "zeros", "classes", "two domains")
KERNELS = ("linear", "rbf", "poly", "cosine", "laplacian")
SOLVERS = ("auto", "auto", "closed_form", "iterative", "primal", "dual", "explicit")
# Parameters that make no sense, or hardly any: an error has to say so, or the answers have to be right.
ODD: tuple[dict[str, Any], ...] = (
    {"alpha": 0.0}, {"alpha": -1.0}, {"alpha": np.nan}, {"alpha": np.inf}, {"alpha": 1e300}, {"alpha": 1e-300},
    {"alpha": "1"}, {"alpha": None}, {"alpha": True}, {"gamma": -1.0}, {"gamma": np.nan}, {"gamma": 0.0},
    {"gamma": 1e300}, {"degree": -1}, {"degree": 0}, {"degree": 60}, {"coef0": np.inf}, {"kernel": "nothing"},
    {"kernel": "precomputed"}, {"kernel": 3}, {"n_components": 0}, {"n_components": 10**9}, {"n_components": "many"},
    {"n_components": 1}, {"n_components": 2.5}, {"approximation": "none"}, {"landmarks": "none"}, {"prior": "none"},
    {"prior_weight": np.inf}, {"prior_weight": -2.0}, {"compared": [99]}, {"compared": [0, 0]}, {"compared": "x"},
    {"feature_weights": [1.0]}, {"feature_weights": [-1.0] * 3}, {"feature_weights": [0.0] * 3}, {"rank_by": "both"},
    {"solver": "none"}, {"pairwise_kernel": "none"}, {"method": "none"}, {"tol": 0.0}, {"tol": -1.0}, {"tol": np.nan},
    {"max_iter": 0}, {"max_iter": 1}, {"max_iter": -3}, {"max_iter": 1.5}, {"random_state": "x"}, {"relation": "none"},
    {"loss": "none"}, {"loss": None}, {"clip": "yes"}, {"constant": 2}, {"kernel_params": {"p": 1}},
)  # fmt: skip
BAD_DATA = ("nan feature", "inf feature", "nan labels", "text", "one node", "wrong shape", "empty", "huge", "tiny")


@cache
def reference() -> ModuleType:
    """The naive twins of the tests."""
    spec = importlib.util.spec_from_file_location("reference", ROOT / "tests" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def trial(seed: int, folder: Path, found: Found) -> None:
    """One draw: fit, compare with the twin, and ask the same in every other way."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("error", ConvergenceWarning)
        kind = rng.choice(["sound", "odd parameter", "bad data"], p=[0.6, 0.25, 0.15])
        draw = Draw(rng)
        if kind == "sound":
            _sound(draw, folder, found)
        else:
            _odd(draw, rng, str(kind), found)


class Draw:
    """A random graph, the parameters of a ranker, and the scores that the twin gives."""

    def __init__(self, rng: np.random.Generator):
        self.n, self.d = int(rng.integers(3, 13)), int(rng.integers(1, 5))
        self.form, self.kernel = str(rng.choice(FORMS)), str(rng.choice(KERNELS))
        relations = ["ordinary"] if self.form == "two domains" else ["ordinary", "symmetric", "reciprocal"]
        self.relation, self.loss = str(rng.choice(relations)), str(rng.choice(["ranking", "regression"]))
        self.X = rng.normal(size=(self.n, self.d)) + (1.0 if self.kernel == "cosine" else 0.0)
        if rng.random() < 0.2:  # nodes that are the same
            self.X[rng.integers(self.n)] = self.X[0]
        if rng.random() < 0.1:  # a feature that says nothing
            self.X[:, 0] = 1.0
        self.new = np.vstack([self.X, rng.normal(size=(2, self.d)) + 1.0])
        self.alpha = float(10.0 ** rng.uniform(-2, 3))
        self.params: dict[str, Any] = {"solver": str(rng.choice(SOLVERS)), "tol": 1e-12, "max_iter": 5000}
        self.params["gamma"] = float(10.0 ** rng.uniform(-1, 0.3))
        self.params["constant"] = bool(rng.random() < 0.3)
        self.params["rank_by"] = "incoming" if rng.random() < 0.3 else "outgoing"
        self.prior = 0.0
        if self.relation != "reciprocal" and self.form != "two domains" and rng.random() < 0.2:
            self.prior = float(rng.uniform(0.1, 2))
            self.params |= {"prior": "similarity", "prior_weight": self.prior}
        self._draw_labels(rng)

    def _draw_labels(self, rng: np.random.Generator) -> None:
        n, X = self.n, self.X
        m = int(rng.integers(2, 9)) if self.form == "two domains" else n
        Y = rng.normal(size=(n, m)) * float(10.0 ** rng.integers(-3, 4))
        if self.form != "two domains" and rng.random() < 0.5:
            Y = Y + Y.T if self.relation != "reciprocal" else Y - Y.T
        self.objects, self.weights = None, None
        if self.form == "two domains":
            self.objects = rng.normal(size=(m, self.d)) + 1.0
            Y = np.where(rng.random((n, m)) < 0.7, Y, np.nan)
            Y[0, 0] = 1.0
            self.graph = RelationGraph(X, Y, objects=self.objects)
        elif self.form == "edges":
            count = int(rng.integers(2, 40))
            self.edges = rng.integers(0, n, count), rng.integers(0, n, count)
            self.values, self.weights = rng.normal(size=count), rng.uniform(0.2, 3, count)
            self.graph = RelationGraph.from_edges(X, *self.edges, self.values, self.weights)
            return
        elif self.form == "classes":
            similarity = rng.normal(size=(3, 3))
            self.graph = RelationGraph.from_classes(X, rng.permutation(np.arange(n) % 3), similarity)
            Y = self.graph.to_dense()
        elif self.form == "zeros":
            Y = np.where(rng.random((n, n)) < 0.4, Y, 0.0)
            Y[0, 1] = 1.0
            self.graph = RelationGraph(X, sparse.csr_array(Y), unstored="zero")
        else:
            if self.form == "holes":
                Y = np.where(rng.random((n, n)) < 0.6, Y, np.nan)
                Y[0, 1] = 1.0
            self.graph = RelationGraph(X, Y)
        self.edges = np.nonzero(~np.isnan(Y))
        self.values = Y[self.edges]

    def ranker(self, **other: Any) -> ConditionalRanker:
        """The ranker that is drawn, with other parameters if given."""
        given = {"relation": self.relation, "loss": self.loss, "alpha": self.alpha, "kernel": self.kernel}
        return ConditionalRanker(**given | self.params | other)

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes to rank for, and objects to rank: training nodes, and new ones where there is one domain."""
        if self.objects is None:
            return self.new, self.new
        return (self.X, self.objects) if self.params["rank_by"] == "outgoing" else (self.objects, self.X)

    def expected(self) -> tuple[np.ndarray, float]:
        """Scores by the twin, and how far rounding may move them."""
        twin, (sources, targets) = reference(), self.edges
        outgoing = self.params["rank_by"] == "outgoing"
        starts = self.X if outgoing or self.objects is None else self.objects
        finish = self.objects if outgoing and self.objects is not None else self.X
        if not outgoing:
            sources, targets = targets, sources
        K, G = self._kernel(starts, starts), self._kernel(finish, finish)
        queries, objects = self.ends()
        options = {"relation": self.relation, "loss": self.loss, "weights": self.weights, "prior_weight": self.prior}
        scores = twin.naive_scores(
            K, sources, targets, self.values, self.alpha, K_domain=G, K_queries=self._kernel(queries, starts),
            K_objects=self._kernel(objects, finish), K_new=self._kernel(queries, objects), **options,
        )  # fmt: skip
        largest = float(np.linalg.norm(K, 2) * np.linalg.norm(G, 2))
        return scores, 1e-7 + 1e-10 * largest * len(sources) / self.alpha

    def _kernel(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        values = reference().kernel_values(self.kernel, first, second, gamma=self.params["gamma"])
        return values + self.params["constant"]


def _sound(draw: Draw, folder: Path, found: Found) -> None:
    """Compare a sound draw with the twin; a solver may still refuse a graph that it cannot solve."""
    ranker = None
    with clear_refusals(found):
        try:
            ranker = draw.ranker().fit(draw.graph)
        except ConvergenceWarning:  # said, so nothing is promised
            found.refused += 1
    if ranker is None:
        return
    queries, objects = draw.ends()
    scores = ranker.predict(queries, objects)
    expected, allowed = draw.expected()
    scale = max(float(np.abs(expected).max()), float(np.abs(draw.values).max()) * 1e-3, 1e-300)
    off = float(np.abs(scores - expected).max()) / scale
    assert off <= allowed, f"scores are off by {off:.1e} of the largest, {allowed:.1e} allowed: {ranker}"
    _same_answers(ranker, queries, objects, scores, folder)


def _same_answers(ranker: Any, queries: Any, objects: Any, scores: np.ndarray, folder: Path) -> None:
    """All other ways to ask give the scores of `predict`, also after saving and loading."""
    close = {"rtol": 1e-7, "atol": 1e-9 * max(1e-300, float(np.abs(scores).max()))}
    n = min(len(queries), len(objects))
    np.testing.assert_allclose(ranker.predict_edges(queries[:n], objects[:n]), scores[:n, :n].diagonal(), **close)
    best = np.sort(scores, axis=1)[:, ::-1]
    for found in (ranker.rank(queries, objects, top=3), ranker.index(objects).top(queries, 3)):
        np.testing.assert_allclose(found.scores, best[:, : found.scores.shape[1]], **close)
    ranker.save(folder / "model")
    loaded = ConditionalRanker.load(folder / "model")
    np.testing.assert_allclose(loaded.predict(queries, objects), scores, **close)
    ranker.index(objects).save(folder / "index")
    np.testing.assert_allclose(ObjectIndex.load(folder / "index").top(queries, 1).scores, best[:, :1], **close)


def _odd(draw: Draw, rng: np.random.Generator, kind: str, found: Found) -> None:
    """Anything may be refused clearly; what is not refused must give finite scores."""
    with clear_refusals(found), np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
        try:
            if kind == "odd parameter":
                fitted = draw.ranker(**ODD[rng.integers(len(ODD))]).fit(draw.graph)
                queries, objects = draw.ends()
            else:
                draw.params["rank_by"] = "outgoing"
                X, Y, queries = _spoiled(draw, rng, str(rng.choice(BAD_DATA)))
                fitted = draw.ranker().fit(X, Y)
                objects = queries
        except ConvergenceWarning:
            found.refused += 1
            return
        scores = fitted.predict(queries, objects)
        assert np.isfinite(scores).all(), "scores that are not finite were returned"
        assert np.isfinite(fitted.rank(queries, objects, top=2).scores).all()


def _spoiled(draw: Draw, rng: np.random.Generator, how: str) -> tuple[Any, Any, Any]:
    """Features, labels and new nodes with something wrong in them."""
    X, queries = draw.X.copy(), draw.X[:2].copy()
    Y: Any = rng.normal(size=(draw.n, draw.n))
    if how in ("nan feature", "inf feature"):
        value = np.nan if how == "nan feature" else np.inf
        (X if rng.random() < 0.5 else queries)[0, 0] = value
    elif how == "nan labels":
        Y = np.full_like(Y, np.nan)
    elif how == "text":
        X = X.astype(str)
    elif how == "one node":
        X, Y = X[:1], Y[:1, :1]
    elif how == "wrong shape":
        X, Y = [(X, Y[:-1]), (X[:, 0], Y), (X, Y[0]), (X, Y[:, :, None])][rng.integers(4)]
    elif how == "empty":
        X, Y = [(X[:0], Y[:0, :0]), (X[:, :0], Y)][rng.integers(2)]
    else:
        scale = 10.0 ** float(rng.uniform(150, 307) if how == "huge" else rng.uniform(-307, -150))
        which = rng.integers(3)
        X, Y, queries = (
            (X * scale if which == 0 else X),
            (Y * scale if which == 1 else Y),
            (queries * scale if which == 2 else queries),
        )
    return X, Y, queries
