"""The kernel at single pairs is an entry of the kernel of all pairs; equal nodes are found once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from condrank.kernels import RBF, Chi2, Constant, Cosine, Custom, Identity, Laplacian, Linear, Polynomial, Sigmoid
from condrank.nodes import Nodes, aligned
from condrank.nodes.aligned import distinct_nodes, kernel_at, products_at

KERNELS = [
    Linear(),
    Cosine(),
    RBF(),
    RBF(gamma=0.7) + Constant(),
    RBF(feature_weights=(0.5, 2.0, 1.0)),
    Laplacian(gamma=0.3),
    Polynomial(degree=2, coef0=0.5),
    Sigmoid(gamma=0.1),
    0.5 * RBF() + 2.0 * Linear() + 3.0,
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_kernel_of_a_pair_is_an_entry_of_the_kernel_matrix(kernel, dtype, monkeypatch):
    monkeypatch.setattr(aligned, "GATHERED_ENTRIES", 20)  # several blocks
    rng = np.random.default_rng(0)
    X, B = rng.normal(size=(9, 3)).astype(dtype), rng.normal(size=(7, 3)).astype(dtype)
    X[2] = 0
    pairs = rng.integers(0, 9, 40), rng.integers(0, 7, 40)
    found = kernel_at(kernel, Nodes(X), Nodes(B), pairs)
    assert found is not None
    assert found.dtype == dtype
    np.testing.assert_allclose(found, kernel(X, B)[pairs], rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-6)


def test_other_kernels_and_sparse_features_need_all_pairs():
    X, pairs = np.ones((3, 2)), (np.array([0]), np.array([1]))
    for kernel in (Chi2(), Custom(lambda a, b: a @ b), Identity(), Linear() + Identity(), RBF() * Linear(), Constant()):
        assert kernel_at(kernel, Nodes(X), Nodes(X), pairs) is None
    assert kernel_at(RBF(), Nodes(sparse.csr_array(X)), Nodes(X), pairs) is None
    assert products_at(sparse.csr_array(X), X, pairs) is None


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 40), st.integers(1, 6), st.sampled_from([np.float64, np.float32]), st.integers(0, 2**32 - 1))
def test_different_nodes_and_where_they_are_give_all_nodes_back(n, n_different, dtype, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n_different, 3)).astype(dtype)[rng.integers(0, n_different, n)]
    X[rng.random(X.shape) < 0.1] = -0.0
    found, place = distinct_nodes(Nodes(X))
    np.testing.assert_array_equal(found.rows[place], X)
    n_bits = len(np.unique(np.signbit(X) * 10 + X, axis=0))
    assert len(found) == n or len(np.unique(X, axis=0)) <= len(found) <= n_bits
    taken, place = distinct_nodes(Nodes(X).take(rng.integers(0, n, 3 * n)))
    assert len(taken) <= n


def test_rows_with_the_same_hash_are_not_taken_for_equal(monkeypatch):
    monkeypatch.setattr(aligned, "_hashes", lambda X: np.zeros(len(X), dtype=np.uint64))
    X = np.repeat([[1.0], [2.0]], 3, axis=0)
    found, place = distinct_nodes(Nodes(X))
    assert len(found) == 6
    assert place.tolist() == list(range(6))


def test_sparse_nodes_and_nodes_that_are_not_repeated_stay():
    nodes = Nodes(sparse.csr_array(np.ones((4, 2))))
    assert distinct_nodes(nodes)[0] is nodes
    nodes = Nodes(np.arange(8.0).reshape(4, 2))
    assert distinct_nodes(nodes)[0] is nodes
    nodes = Nodes(np.ones((4, 2)))
    assert distinct_nodes(nodes, by_values=False)[0] is nodes
    assert len(distinct_nodes(nodes)[0]) == 1
