"""Contributions of features and parts against products written out; what is not linear is refused."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import normalize

from builders import refused
from condrank import ConditionalRanker, RelationGraph
from condrank.kernels import RBF, Constant, Cosine, Identity, Linear, Precomputed
from reference import error
from reference_explanations import naive_features

N, D = 10, 4
RNG = np.random.default_rng(7)
X, NEW = RNG.normal(size=(N, D)), RNG.normal(size=(2, D))
Y = RNG.normal(size=(N, N))
HOLES = np.where(RNG.random((N, N)) < 0.6, Y, np.nan)
MAPS = {"linear": lambda rows: rows, "cosine": normalize}
WEIGHTS = (1.0, 0.0, 2.0, 0.5)
FITS = {
    "explicit features": ({}, X, Y),
    "exact kernel": ({}, X[:4], Y[:4, :4]),
    "primal": ({"solver": "primal"}, X, HOLES),
    "dual": ({"solver": "dual"}, X, HOLES),
    "nystroem": ({"n_components": 3, "random_state": 0}, X, Y),
    "sparse": ({}, sparse.csr_array(np.where(np.abs(X) > 0.4, X, 0)), Y),
}


def sides(terms):
    """Contributions by side and feature."""
    return {(row["side"], row["feature"]): row["contribution"] for row in terms.rows()}


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("kernel", MAPS)
def test_features_are_halves_of_all_products(fit, kernel):
    params, rows, labels = FITS[fit]
    ranker = ConditionalRanker(kernel=kernel, **params).fit(RelationGraph(rows, labels))
    dense = rows.toarray() if sparse.issparse(rows) else rows
    query, other = (sparse.csr_array(NEW[:1]), 2) if sparse.issparse(rows) else (NEW[0], 2)
    explained = ranker.explain(query, 1, other)
    units = np.eye(D) if dense is rows else sparse.csr_array(np.eye(D))
    found, M = sides(explained.features), ranker.predict(units, units)  # scores of features of length one
    expected = naive_features(MAPS[kernel], M, NEW[0], dense[[1, 2]])
    for side, values in zip(("query", "object"), expected, strict=True):
        given = np.array([found.get((side, f"feature {j}"), 0.0) for j in range(D)])
        assert error(given, values) <= 1e-9
    assert explained.features.total == pytest.approx(explained.total, abs=1e-12)


def test_feature_weights_constant_identity_and_names_are_kept():
    import pandas as pd

    frame = pd.DataFrame(X, columns=list("pqrs"), index=[f"n{i}" for i in range(N)])
    kernel = Linear(feature_weights=WEIGHTS) + 0.5 * Constant() + 0.2 * Identity()
    ranker = ConditionalRanker(kernel=kernel).fit(RelationGraph(frame, Y))
    explained = ranker.explain("n3", "n5", "n1")
    found = sides(explained.features)
    assert {name for _, name in found} == {*"pqrs", "identity"}  # the constant of two objects is the same
    assert found["object", "q"] == 0.0
    assert explained.features.total == pytest.approx(explained.total, abs=1e-12)
    row = next(row for row in explained.features.rows() if (row["side"], row["feature"]) == ("object", "r"))
    assert (row["value"], row["other_value"]) == (X[5, 2], X[1, 2])
    parts = explained.parts
    assert len(parts) == 9
    assert parts.total == pytest.approx(explained.total, abs=1e-12)
    assert "n5 is ranked" in str(explained)


def test_products_with_the_constant_belong_to_the_other_feature():
    ranker = ConditionalRanker(constant=2.0).fit(X, Y)
    zero, units = np.zeros((1, D)), np.eye(D)
    both = ranker.predict(zero, zero)[0, 0]
    first, second = ranker.predict(units, zero)[:, 0] - both, ranker.predict(zero, units)[0] - both
    M = ranker.predict(units, units) - first[:, None] - second - both
    query, one = NEW
    found = sides(ranker.explain(query, one).features)
    assert found.pop(("both", "constant")) == pytest.approx(both)
    halves = naive_features(MAPS["linear"], M, query, one[None])
    expected = np.concatenate([halves[0] + query * first, halves[1] + one * second])
    np.testing.assert_allclose([*found.values()], expected[np.argsort(-np.abs(expected))], atol=1e-12)


def test_parts_are_products_of_the_parts_of_both_kernels():
    K = X @ X.T + np.eye(N)
    views = {"text": X, "given": K}
    kernel = RBF(0.3, view="text") + 0.5 * Precomputed("given") + 2.0 * Constant()
    for labels in (Y, HOLES):
        for solver in ("auto", "dual"):
            ranker = ConditionalRanker(kernel=kernel, solver=solver).fit(RelationGraph(views, labels))
            explained = ranker.explain(3, 6)
            A = ranker.dual_coef_
            A = A.toarray() if sparse.issparse(A) else A
            squares = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
            values = {"text": np.exp(-0.3 * squares), "given": 0.5 * K, "constant": np.full((N, N), 2.0)}
            for row in explained.parts.rows():
                expected = values[row["query_part"]][3] @ A @ values[row["object_part"]][6]
                assert row["contribution"] == pytest.approx(expected, abs=1e-9)
            assert len(explained.parts) == 9


def test_parts_have_prior_intercept_and_compared_features():
    ranker = ConditionalRanker("symmetric", "regression", kernel="rbf", prior="similarity", fit_intercept=True)
    ranker.fit(X, Y + Y.T)
    explained = ranker.explain(NEW[0], NEW[1])
    found = {row["query_part"]: row["contribution"] for row in explained.parts.rows()}
    assert found["intercept"] == pytest.approx(ranker.intercept_)
    assert found["prior"] == pytest.approx(np.exp(-((NEW[0] - NEW[1]) ** 2).sum() / D))
    assert explained.parts.total == pytest.approx(explained.total)
    ranker = ConditionalRanker("reciprocal", kernel="linear", compared=[1, 2]).fit(X, Y - Y.T)
    explained = ranker.explain(NEW[0], 3, 4)
    found = {row["object_part"]: row["contribution"] for row in explained.parts.rows()}
    assert {"feature 1", "feature 2"} < set(found)
    assert explained.parts.total == pytest.approx(explained.total)
    assert explained.features.total == pytest.approx(explained.total)
    assert sides(explained.features)["both", "who has more feature 2"] == pytest.approx(found["feature 2"])


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [("linear", 2), ("ranking", 2), ("poly2D", 3), ("cartesian", 1), ("mlpk", 1)],
)
def test_pairwise_kernels_have_parts_of_their_own(kernel, expected):
    ranker = ConditionalRanker(loss="regression", kernel="rbf", pairwise_kernel=kernel).fit(X, HOLES)
    explained = ranker.explain(3, 5, 2)
    assert len(explained.parts) == expected
    assert explained.parts.total == pytest.approx(explained.total, abs=1e-10)
    refused("are no sum over features", lambda: explained.features)


def test_the_strengths_of_games_are_parts():
    ranker = ConditionalRanker("reciprocal", "regression", kernel="rbf", constant=True).fit(X, Y - Y.T)
    parts = {(row["query_part"], row["object_part"]): row["contribution"] for row in ranker.explain(3, 6).parts.rows()}
    first, second = ranker.strengths([3, 6])
    assert parts["rbf", "constant"] == pytest.approx(first)
    assert parts["constant", "rbf"] == pytest.approx(-second)
    assert parts["constant", "constant"] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "poly", Linear() + RBF(0.1), Linear() * Cosine()])
def test_kernels_that_are_not_linear_are_refused_with_advice(kernel):
    explained = ConditionalRanker(kernel=kernel).fit(X, Y).explain(1, 2)
    refused('by="parts" instead, or fit with kernel="linear"', lambda: explained.features)
    assert explained.by == "nodes"
    fourier = ConditionalRanker(kernel="rbf", n_components=5, approximation="fourier", random_state=0).fit(X, Y)
    assert fourier.explain(1, 2).parts.total == pytest.approx(fourier.predict([1], [2])[0, 0])
