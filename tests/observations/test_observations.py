"""Each form of observations against the dense label matrix it stands for."""

import numpy as np
import pytest
from scipy import sparse

from condrank.observations import Complete, Edges, Factored

N = 9


def tree_similarity(paths, values):
    """The value for the number of leading levels shared, pair by pair."""
    n = len(paths)
    Y = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            differing = np.flatnonzero(paths[i] != paths[j])
            Y[i, j] = values[differing[0] if len(differing) else paths.shape[1]]
    return Y


def forms():
    """Observations and the label matrix, NaN where not observed."""
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(N, N)).round(1)
    few = np.where(rng.random((N, N)) < 0.3, Y, 0)
    holes = np.where(rng.random((N, N)) < 0.6, Y, np.nan)
    labels = np.array(["b", "a", "d", "a", "c", "b", "b", "a", "d"])
    S = rng.normal(size=(4, 4)).round(1)
    paths = np.column_stack([np.arange(N) % 2, np.arange(N) % 3, np.arange(N) // 4])
    A, B = rng.normal(size=(N, 2)), rng.normal(size=(N, 3))
    order = np.searchsorted(["a", "b", "c", "d"], labels)
    return {
        "dense": (Complete(Y), Y),
        "dense, symmetric": (Complete(Y + Y.T), Y + Y.T),
        "dense, skew": (Complete(Y - Y.T), Y - Y.T),
        "zeros": (Complete(sparse.csr_array(few)), few),
        "zeros, symmetric": (Complete(sparse.csr_array(few + few.T)), few + few.T),
        "classes": (Factored.from_classes(labels, None, np.float64), (labels[:, None] == labels).astype(float)),
        "classes with values": (Factored.from_classes(labels, S, np.float64), S[np.ix_(order, order)]),
        "taxonomy": (Factored.from_taxonomy(paths, None, np.float64), tree_similarity(paths, [0, 1, 2, 3])),
        "taxonomy with values": (
            Factored.from_taxonomy(paths, np.array([0.5, -1, 2, 1.5]), np.float64),
            tree_similarity(paths, [0.5, -1, 2, 1.5]),
        ),
        "factors": (Factored(A, S[:2, :2], A), A @ S[:2, :2] @ A.T),
        "two factors": (Factored(A, S[:2, :3], B), A @ S[:2, :3] @ B.T),
        "sparse factors": (Factored(sparse.csr_array(A), S[:2, :3], sparse.csr_array(B)), A @ S[:2, :3] @ B.T),
        "holes": (Edges.from_holes(holes), holes),
        "stored entries": (Edges.from_stored(sparse.csr_array(few)), np.where(few == 0, np.nan, few)),
    }


every = pytest.mark.parametrize("form", forms().keys())
complete = pytest.mark.parametrize("form", [name for name, (seen, _) in forms().items() if seen.is_complete])


@every
def test_the_facts_are_those_of_the_dense_labels(form):
    seen, Y = forms()[form]
    known = ~np.isnan(Y)
    assert seen.shape == Y.shape
    assert seen.n_edges == known.sum()
    assert seen.is_complete == known.all()
    assert seen.dtype == np.float64
    assert seen.nbytes > 0
    assert seen.count_loops() == np.diagonal(known).sum()
    np.testing.assert_array_equal(seen.degrees()[0], known.sum(axis=1))
    np.testing.assert_array_equal(seen.degrees()[1], known.sum(axis=0))
    np.testing.assert_allclose(seen.extremes(), [np.nanmin(Y), np.nanmax(Y)], atol=1e-12)


@every
def test_dense_blocks_and_the_transpose_are_those_of_the_dense_labels(form):
    seen, Y = forms()[form]
    for rows in (slice(None), slice(2, 5), slice(7, 20), slice(0, 0), slice(-2, None)):
        np.testing.assert_allclose(seen.to_dense(rows), Y[rows], atol=1e-12)
        np.testing.assert_allclose(seen.transpose().to_dense(rows), Y.T[rows], atol=1e-12)


@every
@pytest.mark.parametrize(
    ("rows", "cols"),
    [([3, 1, 8], [0, 2, 4, 5]), ([5, 5, 0], [7, 7, 7, 1]), (np.arange(N)[::-1], np.arange(N)), ([], [1]), ([4], [4])],
    ids=["distinct", "repeated", "reversed", "none", "one"],
)
def test_a_part_is_dense_indexing(form, rows, cols):
    seen, Y = forms()[form]
    rows, cols = np.asarray(rows, dtype=int), np.asarray(cols, dtype=int)
    np.testing.assert_allclose(seen.take(rows, cols).to_dense(), Y[np.ix_(rows, cols)], atol=1e-12)
    np.testing.assert_allclose(seen.take(rows, rows).to_dense(), Y[np.ix_(rows, rows)], atol=1e-12)
    assert seen.take(rows, cols).n_edges == np.isfinite(Y[np.ix_(rows, cols)]).sum()


@every
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("offset", [0.0, 0.5])
def test_the_disagreement_is_that_of_the_dense_labels(form, sign, offset):
    seen, Y = forms()[form]
    gaps = np.abs((Y - offset) - sign * (Y.T - offset))
    largest, rms = np.nanmax(gaps), np.sqrt(np.nanmean(gaps**2))
    # Between classes and for observed pairs the largest; for other factors the root mean square.
    exact = isinstance(seen, (Complete, Edges)) or form.startswith("classes")
    np.testing.assert_allclose(seen.disagreement(sign, offset), largest if exact else rms, atol=1e-6)
    if largest < 1e-12:
        assert seen.disagreement(sign, offset) == 0


@complete
def test_reductions_are_those_of_the_dense_labels(form):
    seen, Y = forms()[form]
    rng = np.random.default_rng(1)
    Z, Z_objects = rng.normal(size=(N, 4)), rng.normal(size=(N, 3))
    for left in (Z, sparse.csr_array(Z)):
        for right in (Z_objects, sparse.csr_array(Z_objects)):
            np.testing.assert_allclose(seen.reduce(left, right), Z.T @ Y @ Z_objects, atol=1e-12)
        np.testing.assert_allclose(seen.reduce(left, left), Z.T @ Y @ Z, atol=1e-12)
    np.testing.assert_allclose(seen.row_sums(), Y.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(seen.transpose().row_sums(), Y.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(seen.transpose().reduce(Z, Z_objects), Z.T @ Y.T @ Z_objects, atol=1e-12)


@complete
def test_reductions_follow_the_precision_of_the_coordinates(form):
    seen, Y = forms()[form]
    Z = np.random.default_rng(2).normal(size=(N, 2)).astype(np.float32)
    assert seen.reduce(Z, Z).dtype == np.float32
    assert seen.row_sums().dtype == np.float64
    np.testing.assert_allclose(seen.reduce(Z, Z), Z.T @ Y @ Z, atol=1e-3)
