"""Rankers of every kind that can be saved, and what tests of their files share."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from condrank import ConditionalRanker, RelationGraph
from condrank.persistence import write_file

RNG = np.random.default_rng(0)
N = 20
X = RNG.normal(size=(N, 4))
NEW = RNG.normal(size=(5, 4))
Y = X @ RNG.normal(size=(4, 4)) @ X.T
HOLES = np.where(RNG.random((N, N)) < 0.4, Y, np.nan)
SKEW = np.where(np.isnan(HOLES) | np.isnan(HOLES.T), np.nan, Y - Y.T)
GAMES = np.sign(SKEW)
OBJECTS = RNG.normal(size=(7, 3))

RANKERS = {
    "closed form": (ConditionalRanker("symmetric", kernel="rbf", constant=True), X, Y + Y.T),
    "explicit features": (ConditionalRanker(loss="regression"), X, Y),
    "sparse cosine": (ConditionalRanker(kernel="cosine"), sparse.csr_array(np.abs(X)), Y),
    "prior": (ConditionalRanker("symmetric", kernel="rbf", prior="similarity", prior_weight=0.3), X, Y + Y.T),
    "incoming": (ConditionalRanker(kernel="poly", degree=2, rank_by="incoming"), X, Y),
    "primal": (ConditionalRanker(kernel="rbf", solver="primal"), X, HOLES),
    "dual": (ConditionalRanker(kernel="rbf", solver="dual"), X, HOLES),
    "reciprocal dual": (ConditionalRanker("reciprocal", kernel="rbf", solver="dual"), X, SKEW),
    "pairwise kernel": (ConditionalRanker(kernel="rbf", pairwise_kernel="poly2D"), X, HOLES),
    "logistic": (ConditionalRanker("reciprocal", "logistic", constant=True), X, GAMES),
    "logistic dual": (ConditionalRanker("reciprocal", "logistic", kernel="rbf", constant=True), X, GAMES),
    "compared": (ConditionalRanker("reciprocal", kernel="rbf", compared=[1, 3]), X, SKEW),
    "feature weights": (ConditionalRanker(kernel="rbf", feature_weights=np.array([1.0, 0, 2, 0.5])), X, Y),
    "early stopping": (ConditionalRanker(solver="early_stopping", alpha=0.0, random_state=0, max_iter=5), X, Y),
    "float32": (ConditionalRanker(kernel="rbf"), X.astype(np.float32), Y.astype(np.float32)),
    "nystroem": (ConditionalRanker(kernel="rbf", n_components=6, random_state=0), X, Y),
    "fourier": (ConditionalRanker(kernel="rbf", approximation="fourier", n_components=7, random_state=0), X, Y),
}

# One ranker for each kind of model, of coordinates and of ids.
KINDS = ["two domains", "dates", "explicit features", "sparse cosine", "prior", "reciprocal dual", "compared"]
KINDS += ["logistic", "early stopping", "nystroem", "fourier"]


def fitted(name: str) -> ConditionalRanker:
    """A fitted ranker of one of the kinds."""
    if name == "two domains":
        graph = RelationGraph(X, Y[:, :7], objects=OBJECTS, object_ids=list("abcdefg"))
        return ConditionalRanker(kernel="rbf", rank_by="outgoing").fit(graph)
    if name == "dates":
        ids = np.datetime64("2020-01-01") + np.arange(N)
        return ConditionalRanker(solver="primal").fit(RelationGraph(X, HOLES, ids=ids))
    ranker, features, labels = RANKERS[name]
    return ConditionalRanker(**ranker.get_params()).fit(RelationGraph(features, labels, probabilities=False))


def new_nodes(features: Any) -> Any:
    """Conditioning nodes like those with these features."""
    return sparse.csr_array(np.abs(NEW)) if sparse.issparse(features) else NEW.astype(features.dtype)


def assert_same(loaded: Any, before: Any) -> None:
    """Equal but for rounding: arrays are written in one order, and sums over the other differ in the last digits."""
    loaded, before = (one.toarray() if sparse.issparse(one) else np.asarray(one) for one in (loaded, before))
    assert loaded.dtype == before.dtype
    tolerance = 1e-4 if loaded.dtype == np.float32 else 1e-11
    np.testing.assert_allclose(loaded, before, rtol=tolerance, atol=tolerance * np.abs(before).max())


def assert_refused(path: Any, manifest: dict[str, Any], arrays: dict[str, np.ndarray], match: str) -> None:
    """A file with these contents is refused by a ValueError that names the file."""
    write_file(path, manifest, arrays)
    with pytest.raises(ValueError, match=match) as error:
        ConditionalRanker.load(path)
    assert str(path) in str(error.value)


def loads_finite(path: Any, mmap: bool, new: Any) -> bool:
    """Whether a file loads, with finite predictions; otherwise a ValueError has to name the file."""
    try:
        loaded = ConditionalRanker.load(path, mmap=mmap)
    except ValueError as error:
        if str(path) not in str(error):
            pytest.fail(f"the file is not named: {error}")
        return False
    assert np.isfinite(loaded.predict(new)).all()
    assert str(loaded.plan_)
    assert str(loaded.rank(new, top=2))
    return True


SILLY = [
    None, True, False, -1, 0, 1, 3, 0.5, 1e308, float("inf"), float("nan"), 10**30, 10**400, 2**63, "", "rbf", "linear",
    "reciprocal", "object", "<f2", "predict", "\ud800", [], {}, [[]], [1, 3], [0.0] * N, list("abcdefghijklmnopqrst"),
]  # fmt: skip


def mutated(tree: Any, rng: np.random.Generator) -> Any:
    """A tree of plain values with one place changed, taken away, put elsewhere, or added."""
    tree = copy.deepcopy(tree)
    places = list(_places(tree))
    container, key = places[rng.integers(len(places))]
    kind = rng.integers(5)
    if kind == 0:
        del container[key]
    elif kind == 1:
        other, name = places[rng.integers(len(places))]
        container[key] = copy.deepcopy(other[name])
    elif kind == 2 and isinstance(container, dict):
        container[["fit", "__class__", "_model", "kernel", "names"][rng.integers(5)]] = SILLY[rng.integers(len(SILLY))]
    else:
        container[key] = SILLY[rng.integers(len(SILLY))]
    return tree


def _places(tree: Any) -> Any:
    """Every container of a tree with each of its keys."""
    if isinstance(tree, dict | list):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            yield tree, key
            yield from _places(tree[key])
